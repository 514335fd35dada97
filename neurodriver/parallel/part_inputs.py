"""``PartInput``: what an input injects into the components of one part."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..errors import InputError
from ..inputs.base import Chunk, EventChunk, Input

Numbers = NDArray[np.int64]


class PartInput(Input):
    """Some columns of another input, which several parts call in turn.

    Parameters
    ----------
    whole : Input
        Opened and closed by its owner.
    columns : sequence of (n,) int64
        Of each target, ascending.
    lock : Lock
        Held while ``whole`` is called.
    """

    def __init__(self, whole: Input, columns: Sequence[Numbers], lock: threading.Lock) -> None:
        super().__init__([])
        self._whole, self._lock = whole, lock
        self._numbers = [number for number, some in enumerate(columns) if len(some)]
        self._columns = [columns[number] for number in self._numbers]
        for number, some in zip(self._numbers, self._columns, strict=True):
            variable, uids = whole.targets[number]
            self.targets.append((variable, tuple(uids[i] for i in some.tolist())))

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        columns = self._columns[number]
        with self._lock:
            found = self._whole.entering(self._numbers[number], first, steps)
            if isinstance(found, Chunk):
                table = np.ascontiguousarray(found.table[:, columns])
                return Chunk(table, found.row_of_step.copy(), found.version)
            place = np.full(found.count, -1, np.int32)
            place[columns] = np.arange(len(columns), dtype=np.int32)
            column = place[found.column[found.span]]
            mine = column >= 0
            counts = np.bincount(found.steps_of()[mine], minlength=steps)
            begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            value = found.value[found.span][mine]
            return EventChunk(len(columns), begin, column[mine], value, found.sound)

    def row_bytes(self) -> int:
        return self._whole.row_bytes()


def inputs_of_parts(
    inputs: Sequence[Input], circuit: Circuit, of: Numbers, parts: Sequence[int]
) -> list[list[Input]]:
    """Return the inputs of each of some parts; part 0 gets unknown uids, and reports them.

    Raises
    ------
    InputError
        For inputs that give their values right before each step.
    """
    out: list[list[Input]] = [[] for _ in parts]
    for one in inputs:
        if one.per_step:
            say = "is asked right before each step, but the parts of a circuit run side by side"
            raise InputError(f"{type(one).__name__}: {say}; leave out parts=")
        found = [circuit.find(uids) for _, uids in one.targets]
        where = [np.where(numbers < 0, 0, of[numbers]) for numbers in found]
        lock = threading.Lock()
        for mine, part in zip(out, parts, strict=True):
            columns = [np.flatnonzero(each == part) for each in where]
            if any(map(len, columns)):
                mine.append(PartInput(one, columns, lock))
    return out
