"""Recorders of PyNN over what a running network has recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyNN import recording

from . import simulator


class NDRecorder(recording.Recorder):
    """Which variables of a population are recorded; the network has the values."""

    _simulator = simulator

    def __init__(self, population: Any, file: Any = None) -> None:
        super().__init__(population, file)
        self.from_time = 0.0

    def begin_segment(self) -> None:
        """Begin at t = 0 again."""
        self.from_time = 0.0

    def _record(self, variable: Any, new_ids: Any, sampling_interval: float | None = None) -> None:
        self.sampling_interval = sampling_interval or self._simulator.state.dt

    def _reset(self) -> None:
        """Nothing is kept here."""

    def _clear_simulator(self) -> None:
        """Forget what has been recorded so far."""
        self.from_time = self._simulator.state.t

    def _rows(self, ids: Any) -> Any:
        return np.array([int(i) for i in ids], dtype=np.int64) - int(self.population.first_id)

    def _get_spiketimes(self, ids: Any, clear: bool = False) -> dict[int, Any]:
        network = self._simulator.state.network
        rows = self._rows(ids)
        if network is None:
            return {int(i): np.empty(0) for i in ids}
        trains = network.recorded.spikes(self.population, rows)
        start = self.from_time
        return {int(i): times[times >= start] for i, times in zip(ids, trains, strict=True)}

    def _get_all_signals(self, variable: Any, ids: Any, clear: bool = False) -> tuple[Any, None]:
        state = self._simulator.state
        every = max(round(self.sampling_interval / state.dt), 1)
        first = round(self.from_time / state.dt)
        if state.network is None:
            return np.empty((0, 0)), None
        values = state.network.recorded.rows(self.population, variable.name, self._rows(ids))
        return values[first::every], None

    def _local_count(self, variable: Any, filter_ids: Any = None) -> dict[int, int]:
        ids = sorted(self.filter_recorded(variable, filter_ids))
        return {i: len(times) for i, times in self._get_spiketimes(ids).items()}
