"""The old ``Manager``: its arguments, its names and its habits, over the new one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..parallel import manager
from ..run.progress import Progress
from .ports import RoutingTable


class RankToId(dict[int, str]):
    """A dictionary that also goes the other way: ``inv`` and ``inverse``."""

    @property
    def inv(self) -> dict[str, int]:
        """Value -> key."""
        return {value: key for key, value in self.items()}

    inverse = inv


class Manager(manager.Manager):
    """A `neurodriver.Manager` with the habits of the old one.

    Several patterns may feed one input port: the last one connected wins, with a warning.

    Parameters
    ----------
    required_args, ctrl_tag, quit_on_error
        Without effect.
    **options
        As for `neurodriver.Manager`.

    Attributes
    ----------
    rank_to_id : dict
        Number in the order of adding -> id; ``rank_to_id.inv`` goes the other way.
    routing_table : RoutingTable
        Patterns between the LPUs.
    start_time, stop_time : float
        When the steps began and ended, in seconds since 1970; 0.0 before. Both are final when
        ``wait`` has returned.
    """

    last_wins = True
    start_time = stop_time = 0.0

    def __init__(
        self,
        required_args: Sequence[str] = (),
        ctrl_tag: int = 1,
        quit_on_error: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.rank_to_id = RankToId()
        self.routing_table = RoutingTable()
        self.plan.supplied = {
            "rank_to_id": self.rank_to_id,
            "routing_table": self.routing_table,
        }

    def add(self, target: Any, id: str, *args: Any, rank: int | None = None, **kwargs: Any) -> str:
        """Add an LPU or a Module; arguments as for `neurodriver.Manager.add`."""
        super().add(target, id, *args, rank=rank, **kwargs)
        self.rank_to_id[len(self.rank_to_id)] = id
        self.routing_table.data.add_node(id)
        return id

    def connect(
        self, id_0: str, id_1: str, pat: Any, int_0: int = 0, int_1: int = 1, delay: float = 0.0
    ) -> None:
        """Wire two LPUs through their ports; arguments as for `neurodriver.Manager.connect`."""
        super().connect(id_0, id_1, pat, int_0, int_1, delay)
        self.routing_table.connect(id_0, id_1, pat, int_0, int_1)

    def spawn(self, **info: Any) -> None:
        """Construct the LPUs; ``info`` has no effect."""
        super().spawn()

    def start(
        self,
        steps: float = float("inf"),
        progress: bool | Progress | None = None,
        checkpoint: str | Path | None = None,
        every: float = 60.0,
    ) -> None:
        """Run in the background; arguments as for `neurodriver.Manager.start`."""
        super().start(steps, progress, checkpoint, every)
        self.start_time = time.time()

    def quit(self) -> None:
        """End the run, as ``stop`` does."""
        self.stop()

    def wait(self, return_timing: bool = False) -> float | None:
        """Wait until all ranks have closed their recordings; returns and raises as the base."""
        try:
            return super().wait(return_timing)
        finally:
            self.stop_time = time.time()
            self.start_time = self.stop_time - self._seconds

    def timed_wait(self) -> float:
        """Wait, print and return the seconds that the steps took."""
        self.wait()
        print(f"Execution completed in {self._seconds} seconds")
        return self._seconds

    @property
    def average_step_sync_time(self) -> float:
        """Seconds per step that exchanging took on the slowest rank; 0 in one process."""
        return max((r.seconds / r.steps for r in self.exchanged if r.steps), default=0.0)

    @property
    def average_throughput(self) -> float:
        """Bytes per second of exchanging, the mean over ranks; 0 in one process."""
        rates = [r.received / r.seconds for r in self.exchanged if r.seconds]
        return sum(rates) / len(rates) if rates else 0.0

    @property
    def total_throughput(self) -> float:
        """Bytes that all ranks took, per second of exchanging; 0 in one process."""
        longest = max((r.seconds for r in self.exchanged), default=0.0)
        return sum(r.received for r in self.exchanged) / longest if longest else 0.0
