"""Bytes that a kernel must move in a step, from the arrays that it reads and writes.

An estimate of the compulsory traffic: every array of a unit counts once a step, whole, with its
padding; of the rings count the rows' segments that are written and the distinct elements that are
read. What a cache keeps from step to step is counted, what it has to load twice is not, nor are
dirty bitmaps. Reads that a row without events saves are counted apart. ``measured`` joins the bytes
with the times of a backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codegen.generate import Task
from ..model.texts import step_numbers
from ..native.buffers import LANES, padded
from ..plan.arrays import InstanceReceptorOwner, Kind, ReceptorOwner, Role
from ..plan.program import Program
from ..plan.sums.gather import Gather
from ..plan.unit import KernelSpec
from ..profiling.measured import Measured, Row, Traffic


def bytes_of(program: Program, task: Task) -> Traffic:
    """Return the bytes that one unit moves in a step, as this module's first lines define them.

    Parameters
    ----------
    program : Program
        It need not run.
    task : Task
        One of its units, with its text.
    """
    parts = [Traffic(0, 0)]
    for spec in task.specs:
        parts += _inputs(program, task, spec)
        parts += _segments(program, spec)
        parts += _own_arrays(program, task, spec)
    read, written, spared = (sum(column) for column in zip(*parts, strict=True))
    return Traffic(read, written, spared)


def _inputs(program: Program, task: Task, spec: KernelSpec) -> Iterator[Traffic]:
    """Yield what the sums over connections read: how they are stored, and the sources' values."""
    real = program.dtype.itemsize
    for access in spec.model.accesses:
        gather = spec.gathers[access.name]
        keys = {name: spec.connection(access.name, name) for name in gather.arrays}
        names = [name for name, key in keys.items() if key in task.kernel.pointers]
        size = sum(program.arrays[keys[name]].nbytes for name in names)
        if gather.form == "aligned":
            size += gather.edges * real
        elif "element" in names:
            size += real * values_read(gather, program.layout.rings[access.variable].zero)
        skips = spec.is_event(access.variable) and "element" in names
        yield Traffic(size, 0, size if skips and gather.back is not None else 0)


def _segments(program: Program, spec: KernelSpec) -> Iterator[Traffic]:
    """Yield what the group's segments of the rings take: the new row, of states the old one too."""
    for variable in spec.published:
        count = padded(program.layout.segment(spec.number, variable).count)
        size = count * program.dtype.itemsize
        yield Traffic(size if variable in spec.model.states else 0, size)


def _own_arrays(program: Program, task: Task, spec: KernelSpec) -> Iterator[Traffic]:
    """Yield what states and numbers take that no one else reads."""
    numbers = set(spec.model.params if spec.template else step_numbers(spec.model))
    scratch = {row.key: row for row in task.kernel.scratch}
    for key in task.kernel.pointers:
        row = program.arrays.get(key) or scratch.get(key)
        if row is None or getattr(key.owner, "number", -1) != spec.number:
            continue
        size, kind = row.nbytes, key.kind
        if kind in (Kind.PARAMETER, Kind.CONSTANT) and key.name not in numbers:
            continue  # a constant is computed from it, once
        if kind is Kind.ACTIVITY or key.name.startswith("drawn"):
            continue
        if isinstance(key.owner, ReceptorOwner):
            if kind is Kind.SUM and key.name != "calendar":  # empty as long as nothing spikes
                yield Traffic(size // spec.gathers[key.owner.access].limits["depth"], 0)
        elif kind is Kind.SUM and isinstance(key.owner, InstanceReceptorOwner):
            yield Traffic(0, size)
        elif kind is Kind.RANDOM and key in scratch:  # a word of four is read; all are written
            yield Traffic(size // 4, size // 4)  # in one step of four
        else:
            yield Traffic(size, size if row.role is Role.STATE else 0)


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


def measured(backend: Any, program: Program, steps: int) -> Measured:
    """Return times, bytes and the peak of a backend that has done ``steps`` steps."""
    times = backend.profile_times()
    units = backend.generated.tasks
    rows = [
        Row(name, seconds, unit.count, bytes_of(program, unit))
        for (name, seconds), unit in zip(times, units, strict=False)
    ]
    rows += [Row(name, seconds) for name, seconds in times[len(units) :]]
    words = backend.worker, backend.peak_by
    return Measured(backend.threads, steps, rows, backend.peak_bandwidth(), *words)
