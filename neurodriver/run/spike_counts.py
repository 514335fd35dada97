"""Injected spikes are counted: whole numbers, and so many in a step at most."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitWarning, InputError, quoted
from ..inputs.base import Chunk, EventChunk, Input
from ..plan.program import Program
from ..plan.spikes.weights import MOST_SPIKES

Target = tuple[str | None, Input, int]
"""Id of an LPU, an input into it, number of the input's target."""

Columns = tuple[NDArray[np.str_], NDArray[np.bool_]]
"""Uids of a target, and which of them pass spikes on."""


class SpikeCounts:
    """Looks at what is injected as spikes into circuits whose spikes have weights.

    Kernels count `MOST_SPIKES` of a source and step at most, so that sums have a bound. What
    several inputs inject at one place is added up where the component passes spikes on.
    The ``targets`` are those that the program has slots for, in their order.
    """

    def __init__(self, program: Program, targets: Sequence[Target]) -> None:
        self._single: dict[int, _Limit] = {}
        passed: dict[tuple[str | None, str], dict[int, Columns]] = {}
        slots = zip(targets, program.slots.places, strict=True)
        for number, ((lpu, source, which), (variable, first, count)) in enumerate(slots):
            if not program.circuit.kinds.is_event(variable):
                continue
            counted, on = _counted(program, variable, first, count)
            uids = source.targets[which][1]
            if counted or on.any():
                name = getattr(source, "name", "") or type(source).__name__
                self._single[number] = _Limit(f"{name}, {quoted(variable)}", uids)
            if on.any():
                names = np.asarray(uids, dtype=np.str_)
                passed.setdefault((lpu, variable), {})[number] = names, on
        shared = (_Shared(variable, columns) for (_, variable), columns in passed.items())
        self._shared = [one for one in shared if len(one.limit.uids)]

    def check(self, number: int, chunk: Chunk | EventChunk, first: int) -> None:
        """Look at what one target gets in a chunk of steps, the first of them step ``first``.

        Raises
        ------
        InputError
            For a value that is not whole.
        """
        limit = self._single.get(number)
        if limit is None:
            return
        values = (
            chunk.value[chunk.span] if isinstance(chunk, EventChunk) else _used(chunk)
        ).ravel()
        broken = np.flatnonzero(values != np.rint(values))
        if len(broken):
            step, column = _place(chunk, int(broken[0]))
            raise InputError(
                f"{limit.source}: spikes are counted, so values must be whole numbers; got "
                f"{values[broken[0]]:g} for {limit.place(column, first + step)}"
            )
        if np.abs(values).max(initial=0) <= MOST_SPIKES:
            return
        places = np.flatnonzero(np.abs(values) > MOST_SPIKES)
        found = [(*_place(chunk, place), place) for place in places.tolist()]
        for step, column, place in sorted(found, key=lambda one: (one[1], one[2])):
            limit.warn(column, f"{values[place]:,.0f} spikes", first + step)

    def check_sums(self, chunks: Sequence[Chunk | EventChunk], first: int) -> None:
        """Look at what all targets get together in a chunk of steps."""
        for shared in self._shared:
            shared.check(chunks, first)


def _rows(chunk: Chunk) -> NDArray[np.int32]:
    """Return which rows of a table some step takes, ascending."""
    return np.unique(chunk.row_of_step[chunk.row_of_step >= 0])


def _used(chunk: Chunk) -> NDArray[np.floating]:
    """Return the rows of a table that some step takes, (rows, n)."""
    used = _rows(chunk)
    return chunk.table if len(used) == len(chunk.table) else chunk.table[used]


def _place(chunk: Chunk | EventChunk, place: int) -> tuple[int, int]:
    """Return step and column of one of the events, or of the values of `_used`, in a row."""
    if isinstance(chunk, EventChunk):
        place += int(chunk.begin[0])
        step = int(np.searchsorted(chunk.begin, place, side="right")) - 1
        return step, int(chunk.column[place])
    row, column = divmod(place, chunk.table.shape[1])
    return int((chunk.row_of_step == _rows(chunk)[row]).argmax()), column


def _largest(chunk: Chunk | EventChunk) -> NDArray[np.floating]:
    """Return the largest size of the values of each column, (n,)."""
    if not isinstance(chunk, EventChunk):
        return np.asarray(np.abs(_used(chunk)).max(axis=0, initial=0.0))
    largest: NDArray[np.floating] = np.zeros(chunk.count, dtype=chunk.value.dtype)
    np.maximum.at(largest, chunk.column[chunk.span], np.abs(chunk.value[chunk.span]))
    return largest


class _Limit:
    """Warns once of each place that gets more spikes in a step than are counted."""

    def __init__(self, source: str, uids: Sequence[str]) -> None:
        self.source, self.uids = source, uids
        self.reported = np.zeros(len(uids), dtype=bool)

    def place(self, column: int, step: int) -> str:
        """Return a column and a step as messages name them."""
        return f"{quoted(self.uids[column])} in step {step:,}"

    def warn(self, column: int, spikes: str, step: int) -> None:
        """Warn of a place, unless that has been done."""
        if not self.reported[column]:
            self.reported[column] = True
            message = (
                f"{self.source}: {spikes} for {self.place(column, step)}; "
                f"{MOST_SPIKES:,} of a step are counted at most, there and in later steps"
            )
            warnings.warn(message, CircuitWarning, stacklevel=4)


class _Shared:
    """Places of one variable that several inputs reach and that pass the sum on."""

    def __init__(self, variable: str, targets: dict[int, Columns]) -> None:
        names = np.concatenate([uids[on] for uids, on in targets.values()])
        uids, times = np.unique(names, return_counts=True)
        uids = uids[times > 1]
        self.limit = _Limit(f"the inputs of {quoted(variable)}", uids.tolist())
        self.columns = {i: np.flatnonzero(on & np.isin(u, uids)) for i, (u, on) in targets.items()}
        self.places = {i: np.searchsorted(uids, targets[i][0][c]) for i, c in self.columns.items()}

    def check(self, chunks: Sequence[Chunk | EventChunk], first: int) -> None:
        """Look at a chunk of steps of each input."""
        most = np.zeros(len(self.limit.uids))  # if all inputs were largest at once
        for i, columns in self.columns.items():
            np.add.at(most, self.places[i], _largest(chunks[i])[columns])
        doubtful = np.flatnonzero((most > MOST_SPIKES) & ~self.limit.reported)
        if not len(doubtful):
            return
        for place in doubtful.tolist():
            parts = [
                np.append(chunks[i].table[:, c], 0.0)[chunks[i].row_of_step]  # row -1 is zero
                for i, columns in self.columns.items()
                for c in columns[self.places[i] == place].tolist()
            ]
            total, alone = np.sum(parts, axis=0), np.abs(parts).max(axis=0)
            # what is too much alone has been reported for its input
            many = np.flatnonzero((np.abs(total) > MOST_SPIKES) & (alone <= MOST_SPIKES))
            if len(many):
                step = int(many[0])
                self.limit.warn(place, f"together {total[step]:,.0f} spikes", first + step)


def _counted(
    program: Program, variable: str, first: int, count: int
) -> tuple[bool, NDArray[np.bool_]]:
    """Whether what is injected into some slots is counted there, and which of them pass it on."""
    weighted = {key for key, gather in program.gathers.items() if gather.integer}
    circuit = program.circuit
    counted, on = False, np.zeros(count, dtype=bool)
    for links in program.slots.connections if weighted else ():
        if links.variable != variable:
            continue
        mine = (links.source >= first) & (links.source < first + count)
        group = circuit.group_of(links.target[mine])
        for g in np.unique(group).tolist():
            if (g, links.access) in weighted:
                counted = True
            elif variable in circuit.groups[g].model.updates:
                on[links.source[mine][group == g] - first] = True
    return counted, on
