"""What a running network has recorded, by population and cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.kinds import SPIKES
from ..recorders import MemoryRecorder

Rows = NDArray[np.int64]
Values = NDArray[np.float64]


def uid_heads(population: Any) -> str:
    """Return the name of the population's components, without their numbers."""
    return f"p{population.number}"


def uids_of(population: Any, rows: Rows) -> list[str]:
    """Return the uids of some cells of a population."""
    return [f"{uid_heads(population)}/{row}" for row in rows.tolist()]


class RecordedValues:
    """The values of a network's recorders; of those that have been replaced, too."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.before: dict[tuple[str, str], list[Values]] = {}
        self.wanted: list[tuple[str, list[str]]] = []
        self.recorder: MemoryRecorder | None = None

    def recorders(self) -> list[MemoryRecorder] | None:
        """Return new recorders where other cells are wanted than before, else None."""
        wanted: dict[str, list[str]] = {}
        for p in self.network.populations:
            for variable, ids in p.recorder.recorded.items():
                rows = np.array(sorted(int(i) for i in ids), dtype=np.int64) - int(p.first_id)
                spikes = variable.name == "spikes"
                if len(rows) and not (spikes and p.number in self.network.trains):
                    name = SPIKES if spikes else p.celltype.nd_states[variable.name][0]
                    wanted.setdefault(name, []).extend(uids_of(p, rows))
        now = sorted(wanted.items())
        if now == self.wanted:
            return None
        for key, values in self._present().items():
            self.before.setdefault(key, []).append(values)
        self.wanted, self.recorder = now, MemoryRecorder(now) if now else None
        return [self.recorder] if self.recorder else []

    def _present(self) -> dict[tuple[str, str], Values]:
        """Return what the present recorder holds: (variable, uid) -> values or times."""
        out: dict[tuple[str, str], Values] = {}
        if self.recorder is None or not self.network.state.step:
            return out
        recording = self.recorder.recording
        for name, uids in self.wanted:
            if name == SPIKES:
                out |= {(name, uid): t * 1e3 for uid, t in recording.spikes(uids).items()}
            else:
                values = recording.data(name, uids)[:]
                out |= {(name, uid): values[:, column] for column, uid in enumerate(uids)}
        return out

    def _of(self, name: str, population: Any, rows: Rows) -> list[list[Values]]:
        now, none = self._present(), np.empty(0)
        keys = [(name, uid) for uid in uids_of(population, rows)]
        return [[*self.before.get(key, []), now.get(key, none)] for key in keys]

    def spikes(self, population: Any, rows: Rows) -> list[Values]:
        """Return the times of the spikes of some cells, ms."""
        if population.number in self.network.trains:
            times, end = self.network.trains[population.number].times, self.network.state.t + 1e-9
            return [times[row][times[row] < end] for row in rows.tolist()]
        return [np.concatenate(parts) for parts in self._of(SPIKES, population, rows)]

    def rows(self, population: Any, variable: str, rows: Rows) -> Values:
        """Return a variable at all steps until now, (steps + 1, n), in PyNN's unit."""
        name, factor = population.celltype.nd_states[variable]
        last = self.network.lpu[uid_heads(population)].get(name)
        parts = self._of(name, population, rows)
        ends = [last[row : row + 1] for row in rows.tolist()]
        columns = [np.concatenate([*some, end]) for some, end in zip(parts, ends, strict=True)]
        out: Values = factor * np.stack(columns, axis=1)
        return out
