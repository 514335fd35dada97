"""Injected spikes are counted: whole numbers, and so many in a step at most."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitWarning, InputError, quoted
from ..plan.spikes.weights import MOST_SPIKES
from .base import Chunk


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

    def check(self, chunk: Chunk, first: int) -> None:
        """Look at the values of a chunk of steps, the first of them step ``first``.

        Raises
        ------
        InputError
            For a value that is not whole.
        """
        table = chunk.table
        used = np.unique(chunk.row_of_step[chunk.row_of_step >= 0])
        values = table[used]
        broken = np.argwhere(values != np.rint(values))
        if len(broken):
            row, column = broken[0]
            raise InputError(
                f"{self._said}: spikes are counted, so values must be whole numbers; got "
                f"{values[row, column]:g} for {self._where(chunk, int(used[row]), column, first)}"
            )
        many = np.abs(values) > MOST_SPIKES
        for column in np.flatnonzero(many.any(axis=0)).tolist():
            if column not in self._reported:
                self._reported.add(column)
                row = int(many[:, column].argmax())
                where = self._where(chunk, int(used[row]), column, first)
                message = (
                    f"{self._said}: {values[row, column]:,.0f} spikes for {where}; "
                    f"{MOST_SPIKES:,} of a step are counted at most, there and in later steps"
                )
                warnings.warn(message, CircuitWarning, stacklevel=2)

    def _where(self, chunk: Chunk, row: int, column: int, first: int) -> str:
        step = first + int((chunk.row_of_step == row).argmax())
        return f"{quoted(self._uids[column])} in step {step:,}"


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

    def check(self, chunks: Sequence[Chunk], first: int) -> None:
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

    def _most(self, chunks: Sequence[Chunk]) -> NDArray[np.float64]:
        """Return what is injected at each place at most, if all inputs were largest at once."""
        most = np.zeros(len(self.uids))
        for chunk, columns, places in zip(chunks, self._columns, self._places, strict=True):
            used = np.unique(chunk.row_of_step[chunk.row_of_step >= 0])
            values = np.abs(chunk.table[np.ix_(used, columns)])
            np.add.at(most, places, values.max(axis=0, initial=0.0))
        return most

    def _report(self, place: int, first: int, step: int, total: float) -> None:
        self._reported[place] = True
        message = (
            f"{self._said}: together {total:,.0f} spikes for {quoted(self.uids[place])} in step "
            f"{first + step:,}; {MOST_SPIKES:,} of a step are counted at most, there and in later "
            f"steps"
        )
        warnings.warn(message, CircuitWarning, stacklevel=3)
