"""Bytes that a kernel must move in a step, from the arrays that it reads and writes.

An estimate of the compulsory traffic: every array of a unit counts once a step, whole, with its
padding; of the rings count the rows' segments that are written and the distinct elements that are
read. What a cache keeps from step to step is counted, what it has to load twice is not, nor are
notes of a bit for 16 components. Reads that a row without events spares are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.component import EVENT_VARIABLES
from ..model.language import step_numbers
from ..native.buffers import Blank
from ..plan.memory import LANES, padded
from ..plan.program import Program, Unit
from ..plan.sums.gather import Gather

INNER = "synapse."
"""Stands before the argument keys of the second group of a fused kernel."""

KEPT = ("state", "internal", "species", "total", "units:clock", "words")
"""Kinds of arrays that are read and written."""

FILLED = ("input",)
"""Kinds of arrays that are written before they are read: they need not come from memory."""

NOTES = ("ring", "active", "noted", "counted", "where", "written", "cuts", "drawn")
"""What is no array of the unit's own, or a note about one: rings are counted by their segments."""


class Traffic(NamedTuple):
    """Bytes a step.

    Attributes
    ----------
    read, written : int
    spared : int
        The part of ``read`` that is not read where the row of events that it belongs to is silent.
    """

    read: int
    written: int
    spared: int = 0

    @property
    def total(self) -> int:
        """Bytes read and written."""
        return self.read + self.written


def bytes_of(program: Program, unit: Unit) -> Traffic:
    """Return the bytes that one unit moves in a step, as this module's first lines define them.

    Parameters
    ----------
    program : Program
        Compiled; it need not run.
    unit : Unit
        One of its units.
    """
    parts = [Traffic(0, 0)]
    for number, prefix in zip(unit.groups, ("", INNER), strict=False):
        parts += _inputs(program, unit, number, prefix)
        parts += _segments(program, unit, number, prefix)
        parts += _own_arrays(program, unit, number, prefix)
    read, written, spared = (sum(column) for column in zip(*parts, strict=True))
    return Traffic(read, written, spared)


def _inputs(program: Program, unit: Unit, number: int, prefix: str) -> Iterator[Traffic]:
    """Yield what the sums over connections read: how they are stored, and the sources' values."""
    real = program.dtype.itemsize
    for access in program.circuit.groups[number].model.accesses:
        gather = program.gathers[number, access.name]
        key = f"{prefix}{access.name}:"
        names = [n for n in gather.arrays if key + n in unit.kernel.pointers]
        size = sum(_size(gather.arrays[n], real) for n in names)
        if gather.form == "aligned":
            size += gather.edges * real
        elif "element" in names:
            size += real * values_read(gather, program.memory.rings[access.variable].zero)
        skips = access.variable in EVENT_VARIABLES and "element" in names
        yield Traffic(size, 0, size if skips and gather.back is not None else 0)


def _segments(program: Program, unit: Unit, number: int, prefix: str) -> Iterator[Traffic]:
    """Yield what the group's segments of the rings take: the new row, of states the old one too."""
    model = program.circuit.groups[number].model
    for variable in model.updates:
        if f"{prefix}segment:{variable}" in unit.values:
            count = padded(program.memory.segment(number, variable).count)
            size = count * program.dtype.itemsize
            yield Traffic(size if variable in model.states else 0, size)


def _own_arrays(program: Program, unit: Unit, number: int, prefix: str) -> Iterator[Traffic]:
    """Yield what states and numbers take that no one else reads."""
    model = program.circuit.groups[number].model
    numbers = set(model.params if model.runtime.kernel else step_numbers(model))
    gathers = {a.name: program.gathers[number, a.name] for a in model.accesses}
    stored = {f"{access}:{name}" for access, g in gathers.items() for name in g.arrays}
    stored |= {f"{access}:calendar" for access in gathers}  # as long as there are spikes
    rows = {f"{access}:{n}": g.limits["depth"] for access, g in gathers.items() for n in g.blanks}
    for key in unit.kernel.pointers:
        value = unit.values.get(key)
        mine = key.startswith(INNER) == bool(prefix)
        if not mine or not isinstance(value, np.ndarray | Blank):
            continue
        own = key.removeprefix(prefix)
        kind, _, name = own.partition(":")
        once = kind in ("param", "constant") and name not in numbers  # to compute a constant
        if once or own in stored or kind in NOTES:
            continue
        size = _size(value, program.dtype.itemsize) // rows.get(own, 1)  # a step reads one of them
        if kind == "words":  # one of four is read, and in one of four steps all are written
            size //= 4
        kept, filled = kind in KEPT or own in KEPT, kind in FILLED
        yield Traffic(0 if filled else size, size if kept or filled else 0)


def _size(array: NDArray[Any] | Blank, real: int) -> int:
    """Return the bytes of an array in the working type."""
    if isinstance(array, Blank) or array.dtype.kind != "f":
        return array.nbytes
    return array.size * real


def values_read(gather: Gather, zero: int) -> int:
    """Return how many values of a ring the connections of an indexed form read.

    Parameters
    ----------
    gather : Gather
        In the form ``single``, ``sliced`` or ``lattice``.
    zero : int
        Element that stands for no connection.
    """
    arrays = gather.arrays
    element = arrays["element"].astype(np.int64)
    if gather.form == "lattice":
        lanes = np.arange(LANES)
        there = (arrays["mask"].astype(np.int64)[:, None] >> lanes) & 1
        stride = np.ones(len(element), np.int64)
        if "stride" in arrays:
            each = np.repeat(arrays["stride"], np.diff(arrays["start"]))
            stride[: len(each)] = each
        return len(np.unique((element[:, None] + stride[:, None] * lanes)[there == 1]))
    live = _live(arrays) if gather.form == "sliced" else element != zero
    if "back" in arrays:
        element += arrays["back"].astype(np.int64) << 32  # another row, another value
    return len(np.unique(element[live]))


def _live(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which places of the sliced form hold a connection."""
    start, degree = arrays["start"], arrays["degree"]
    place = np.arange(start[-1])
    number = np.repeat(np.arange(len(start) - 1), np.diff(start))
    turn, lane = np.divmod(place - start[number], LANES)
    live = np.ones(len(arrays["element"]), dtype=bool)  # the tails have no gaps
    live[: len(place)] = turn < degree[number * LANES + lane]
    return live
