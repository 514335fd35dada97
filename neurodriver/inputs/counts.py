"""Injected spikes are counted: whole numbers, and so many in a step at most."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitWarning, InputError, quoted
from ..plan.spikes.weights import MOST_SPIKES
from .base import Chunk, EventChunk


class SpikeCounts:
    """Looks at what is injected as spikes into circuits whose spikes have weights.

    Kernels count ``MOST_SPIKES`` of a source and step at most, so that sums have a bound.

    Parameters
    ----------
    name : str
        Of the input, for messages.
    variable : str
    uids : sequence of str
    """

    def __init__(self, name: str, variable: str, uids: Sequence[str]) -> None:
        self._said = f"{name}, {quoted(variable)}"
        self._uids = uids
        self._reported: set[int] = set()

    def check(self, chunk: Chunk | EventChunk, first: int) -> None:
        """Look at the values of a chunk of steps, the first of them step ``first``.

        Raises
        ------
        InputError
            For a value that is not whole.
        """
        values = chunk.value[chunk.span] if isinstance(chunk, EventChunk) else _used(chunk)
        broken = np.flatnonzero((values != np.rint(values)).reshape(-1))
        if len(broken):
            step, column = _place(chunk, int(broken[0]))
            raise InputError(
                f"{self._said}: spikes are counted, so values must be whole numbers; got "
                f"{values.reshape(-1)[broken[0]]:g} for {self._where(first + step, column)}"
            )
        if not len(values) or np.abs(values).max(initial=0) <= MOST_SPIKES:
            return
        places = np.flatnonzero((np.abs(values) > MOST_SPIKES).reshape(-1))
        found = [(*_place(chunk, place), place) for place in places.tolist()]
        for step, column, place in sorted(found, key=lambda one: (one[1], one[2])):
            if column not in self._reported:
                self._reported.add(column)
                message = (
                    f"{self._said}: {values.reshape(-1)[place]:,.0f} spikes for "
                    f"{self._where(first + step, column)}; "
                    f"{MOST_SPIKES:,} of a step are counted at most, there and in later steps"
                )
                warnings.warn(message, CircuitWarning, stacklevel=2)

    def _where(self, step: int, column: int) -> str:
        return f"{quoted(self._uids[column])} in step {step:,}"


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


class SummedSpikes:
    """Looks at what several inputs inject at the same places, which pass the sum on.

    Parameters
    ----------
    variable : str
    members : sequence of (uids, passed on)
        Of each input, in the order of its columns: names, and which of them pass spikes on.
    """

    def __init__(
        self, variable: str, members: Sequence[tuple[Sequence[str], NDArray[np.bool_]]]
    ) -> None:
        self._said = f"the inputs of {quoted(variable)}"
        self._columns = [np.flatnonzero(on) for _, on in members]
        names = [
            np.asarray(uids, dtype=np.str_)[columns]
            for (uids, _), columns in zip(members, self._columns, strict=True)
        ]
        found, times = np.unique(np.concatenate(names), return_counts=True)
        self.uids = found[times > 1]
        shared = [np.isin(one, self.uids) for one in names]
        self._columns = [c[s] for c, s in zip(self._columns, shared, strict=True)]
        self._places = [
            np.searchsorted(self.uids, one[s]) for one, s in zip(names, shared, strict=True)
        ]
        self._reported = np.zeros(len(self.uids), dtype=bool)

    def check(self, chunks: Sequence[Chunk | EventChunk], first: int) -> None:
        """Look at a chunk of steps of each input, the first of them step ``first``."""
        doubtful = np.flatnonzero((self._most(chunks) > MOST_SPIKES) & ~self._reported)
        if not len(doubtful):
            return
        rows = np.stack([chunk.row_of_step for chunk in chunks])
        together, at = np.unique(rows, axis=1, return_index=True)
        for place in doubtful.tolist():
            given = [
                np.where(row >= 0, chunk.table[row, column], 0.0)
                for chunk, row, columns, places in zip(
                    chunks, together, self._columns, self._places, strict=True
                )
                for column in columns[places == place].tolist()
            ]
            total, alone = np.sum(given, axis=0), np.abs(given).max(axis=0)
            many = np.flatnonzero((np.abs(total) > MOST_SPIKES) & (alone <= MOST_SPIKES))
            if len(many):  # what is too much alone is told of by `SpikeCounts`
                self._report(place, first, *min((int(at[i]), float(total[i])) for i in many))

    def _most(self, chunks: Sequence[Chunk | EventChunk]) -> NDArray[np.float64]:
        """Return what is injected at each place at most, if all inputs were largest at once."""
        most = np.zeros(len(self.uids))
        for chunk, columns, places in zip(chunks, self._columns, self._places, strict=True):
            np.add.at(most, places, _largest(chunk)[columns])
        return most

    def _report(self, place: int, first: int, step: int, total: float) -> None:
        self._reported[place] = True
        message = (
            f"{self._said}: together {total:,.0f} spikes for {quoted(self.uids[place])} in step "
            f"{first + step:,}; {MOST_SPIKES:,} of a step are counted at most, there and in later "
            f"steps"
        )
        warnings.warn(message, CircuitWarning, stacklevel=3)
