"""What PyNN's common code asks a simulator for: ids of cells, and the state of the simulation."""

from __future__ import annotations

from typing import Any

from pyNN import common

from .network import RunningNetwork

name = "neurodriver"


class ID(int, common.IDMixin):
    """A cell."""

    def __init__(self, n: int) -> None:
        int.__init__(n)
        common.IDMixin.__init__(self)


class SimulationState(common.control.BaseState):
    """Time, and everything that has been made since ``setup``."""

    def __init__(self) -> None:
        common.control.BaseState.__init__(self)
        self.mpi_rank, self.num_processes = 0, 1
        self.running = False
        self.projections: list[Any] = []
        self.network: RunningNetwork | None = None
        self.dt, self.min_delay, self.max_delay = 0.1, "auto", "auto"
        self.settings: dict[str, Any] = {}
        self.clear()

    def clear(self) -> None:
        """Forget the network."""
        self.close()
        self.recorders: set[Any] = set()
        self.populations: list[Any] = []
        self.projections = []
        self.current_sources: list[Any] = []
        self.id_counter = 0
        self.segment_counter = -1
        self.reset()

    def close(self) -> None:
        """End what computes the network."""
        if self.network is not None:
            self.network.close()
        self.network = None

    def reset(self) -> None:
        """Go back to t = 0 and begin another segment."""
        self.close()
        self.step, self.running, self.t_start = 0, False, 0
        self.segment_counter += 1
        for recorder in self.recorders:
            recorder.begin_segment()

    @property
    def min_delay(self) -> Any:
        """The least delay, ms; that of the connections where nobody said another one."""
        if self.least != "auto" or not self.running:
            return self.least
        delays = [p.columns["delay"].min() for p in self.projections if len(p)]
        return float(min(delays, default=self.dt))

    @min_delay.setter
    def min_delay(self, value: Any) -> None:
        self.least = value

    @property
    def t(self) -> float:
        """Time, ms."""
        return self.step * self.dt

    def run(self, simtime: float) -> None:
        """Advance by a time, ms."""
        self.run_until(self.t + simtime)

    def run_until(self, tstop: float) -> None:
        """Advance until a time, ms."""
        steps = round(tstop / self.dt) - self.step
        if self.network is None:
            self.network = RunningNetwork(self)
        self.running = True
        if steps > 0:
            self.network.advance(steps)
            self.step += steps


state = SimulationState()
