"""Injected spikes are counted: whole numbers, and so many in a step at most."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..compile.whole import MOST_SPIKES
from ..errors import CircuitWarning, InputError, quoted
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
    members : sequence of sequence of str
        The uids of each input, in the order of its columns.
    """

    def __init__(self, variable: str, members: Sequence[Sequence[str]]) -> None:
        self._said = f"the inputs of {quoted(variable)}"
        names = [np.asarray(uids, dtype=np.str_) for uids in members]
        found, times = np.unique(np.concatenate(names), return_counts=True)
        self.uids = found[times > 1]
        self._columns = [np.flatnonzero(np.isin(one, self.uids)) for one in names]
        self._places = [
            np.searchsorted(self.uids, one[column])
            for one, column in zip(names, self._columns, strict=True)
        ]
        self._reported = np.zeros(len(self.uids), dtype=bool)

    def check(self, chunks: Sequence[Chunk], first: int) -> None:
        """Look at a chunk of steps of each input, the first of them step ``first``."""
        if self._reported.all():
            return
        total = np.zeros((len(chunks[0].row_of_step), len(self.uids)))
        for chunk, columns, places in zip(chunks, self._columns, self._places, strict=True):
            given = chunk.row_of_step >= 0
            rows = chunk.table[np.ix_(chunk.row_of_step[given], columns)]
            np.add.at(total, np.ix_(given, places), rows)
        many = np.abs(total) > MOST_SPIKES
        for place in np.flatnonzero(many.any(axis=0) & ~self._reported).tolist():
            self._reported[place] = True
            step = int(many[:, place].argmax())
            message = (
                f"{self._said}: together {total[step, place]:,.0f} spikes for "
                f"{quoted(self.uids[place])} in step {first + step:,}; {MOST_SPIKES:,} of a step "
                f"are counted at most, there and in later steps"
            )
            warnings.warn(message, CircuitWarning, stacklevel=2)
