"""Buffers between the step loop and its inputs and recorders, for one chunk of steps at a time."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..backends.tables import EventTable, InputTable, Probe
from ..errors import CircuitWarning, InputError, RequestError, near
from ..inputs.base import Chunk, Input
from ..inputs.counts import SpikeCounts, SummedSpikes
from ..model.component import NDComponent
from ..plan.program import Program
from ..recorders.base import Block, Columns, Recorder

Found = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Steps and columns of events."""


class InputFeed:
    """Stages the values of all inputs for a chunk of steps.

    Parameters
    ----------
    program : Program
    inputs : sequence of (scope, Input)
        Each with the id of its LPU, None where there is one circuit.

    Attributes
    ----------
    asking : str or None
        Id of the LPU whose input is asked for values.
    """

    def __init__(self, program: Program, inputs: Sequence[tuple[str | None, Input]]) -> None:
        self.inputs = [one for _, one in inputs]
        self.asking: str | None = None
        self._places = iter(program.slots.places)
        self._rings = list(program.layout.rings)
        self._targets: list[tuple[Input, int, str | None]] = []
        self.tables: list[InputTable] = []
        self._held: list[Any] = []
        self._counts: list[SpikeCounts | None] = []
        passed: dict[tuple[str | None, str], dict[int, NDArray[np.bool_]]] = {}
        for scope, one in inputs:
            one.open(program.dt, program.dtype)
            for number in range(len(one.targets)):
                variable, first, count = next(self._places)
                start = program.layout.rings[variable].segments["inputs"].start
                ring = self._rings.index(variable)
                self.tables.append(InputTable(ring, start + first, count, None, None, 0, 0))
                self._targets.append((one, number, scope))
                name = getattr(one, "name", "") or type(one).__name__
                there, on = False, np.zeros(count, dtype=bool)
                if program.circuit.is_event(variable):
                    there, on = _counted(program, variable, first, count)
                uids, counted = one.targets[number][1], there or on.any()
                self._counts.append(SpikeCounts(name, variable, uids) if counted else None)
                if on.any():
                    passed.setdefault((scope, variable), {})[len(self._counts) - 1] = on
        self._sums = [
            (
                list(members),
                SummedSpikes(variable, [(self._uids(i), on) for i, on in members.items()]),
            )
            for (_, variable), members in passed.items()
        ]
        self._sums = [(members, sums) for members, sums in self._sums if len(sums.uids)]

    def _uids(self, place: int) -> Sequence[str]:
        one, number, _ = self._targets[place]
        uids: Sequence[str] = one.targets[number][1]
        return uids

    @property
    def longest(self) -> int:
        """Most steps that can be staged at once."""
        if any(one.per_step for one in self.inputs):
            return 1
        row = sum(one.row_bytes() for one in self.inputs)
        return max(1, (32 << 20) // row) if row else 1 << 30

    def stage(self, backend: Backend, first: int, steps: int) -> None:
        """Point the backend's tables at the values of the coming steps."""
        if not self._targets:
            return
        self._held.clear()
        places = zip(backend.inputs, self._targets, self._counts, strict=False)
        for table, (one, number, scope), counts in places:
            self.asking = scope
            chunk = one.chunk(number, first, steps)
            _check_chunk(chunk, table.count, steps, one)
            if counts is not None:
                counts.check(chunk, first)
            self._held.append(chunk)
            table.table = chunk.table.ctypes.data
            table.row_of_step = chunk.row_of_step.ctypes.data
            table.version = chunk.version
        self.asking = None
        for members, sums in self._sums:
            sums.check([self._held[i] for i in members], first)


def _counted(
    program: Program, variable: str, first: int, count: int
) -> tuple[bool, NDArray[np.bool_]]:
    """Whether what is injected into some slots is counted there, and which of them pass it on."""
    whole = {key for key, gather in program.gathers.items() if gather.integer}
    circuit = program.circuit
    there, on = False, np.zeros(count, dtype=bool)
    for links in program.slots.connections if whole else ():
        if links.variable != variable:
            continue
        mine = (links.source >= first) & (links.source < first + count)
        group = np.searchsorted(circuit.starts, links.target[mine], side="right") - 1
        for g in np.unique(group).tolist():
            if (g, links.access) in whole:
                there = True
            elif variable in circuit.groups[g].model.updates:
                on[links.source[mine][group == g] - first] = True
    return there, on


def _check_chunk(chunk: Chunk, count: int, steps: int, one: Input) -> None:
    """Raise where a chunk is not what compiled code can read."""
    table, rows = chunk.table, chunk.row_of_step
    name = type(one).__name__
    if table.dtype != one.dtype or table.ndim != 2 or not table.flags.c_contiguous:
        want = f"a contiguous (rows, {count}) array of {one.dtype}"
        raise InputError(f"{name}.chunk: {want} is needed, got {table.dtype} {table.shape}")
    if table.shape[1] != count or rows.dtype != np.int32 or rows.shape != (steps,):
        want = f"({count} columns, {steps} steps as int32)"
        raise InputError(f"{name}.chunk: got {table.shape} and {rows.dtype} {rows.shape}; {want}")
    if not rows.flags.c_contiguous or (rows < -1).any() or (rows >= len(table)).any():
        raise InputError(f"{name}.chunk: row_of_step must be -1 to {len(table) - 1}")


class _Spare:
    """Buffers for rows of one variable, used again when nobody holds rows of them any more.

    Memory that is new costs a page fault each 4 kB, in the middle of a step.

    Parameters
    ----------
    count : int
        Elements of a row.
    dtype : dtype
    """

    MOST = 8

    def __init__(self, count: int, dtype: np.dtype) -> None:
        self._count, self._dtype = count, dtype
        self._buffers: list[NDArray[Any]] = []

    def take(self, rows: int) -> NDArray[Any]:
        """Return room for some rows, (rows, count)."""
        for place in range(len(self._buffers)):
            # the list and the call hold it; a view of it, in a block say, would be one more
            if sys.getrefcount(self._buffers[place]) == 2:
                if len(self._buffers[place]) < rows:
                    self._buffers[place] = self._make(rows)
                return self._buffers[place][:rows]
        made = self._make(rows)
        if len(self._buffers) < self.MOST:
            self._buffers.append(made)
        return made[:rows]

    def _make(self, rows: int) -> NDArray[Any]:
        return np.empty((rows, self._count), dtype=self._dtype)


class RecorderFeed:
    """Buffers of one recorder.

    Parameters
    ----------
    program : Program
    recorder : Recorder
    scope : str, optional
        Id of the LPU it records, in a joined circuit.
    """

    def __init__(self, program: Program, recorder: Recorder, scope: str | None = None) -> None:
        self.recorder = recorder
        self.columns: list[Columns] = []
        self.probes: list[Probe] = []
        self.events: list[EventTable] = []
        self._dtype = program.dtype
        self._dt = program.dt
        self._kept: list[Any] = []
        self._buffers: dict[str, Any] = {}
        self._spare: dict[str, _Spare] = {}
        self._heads: dict[str, tuple[int, int, int, bool]] = {}
        self._rises: dict[str, bool] = {}
        for variable, uids in recorder.record:
            columns = recorded_columns(program, variable, uids, scope, recorder.lenient)
            if len(columns[0]):
                self._add(program, variable, columns)

    def _add(
        self,
        program: Program,
        variable: str,
        columns: tuple[NDArray[np.str_], NDArray[np.int64], str],
    ) -> None:
        names, elements, unit = columns
        place = np.ascontiguousarray(elements, dtype=np.int32)
        self._kept.append(place)
        ring = list(program.layout.rings).index(variable)
        straight = bool((np.diff(place) == 1).all())
        self.columns.append(Columns(variable, names, unit, program.circuit.is_event(variable)))
        self._heads[variable] = (ring, len(place), place.ctypes.data, straight)
        self._rises[variable] = bool((np.diff(place) > 0).all())

    def connect(self) -> None:
        """Make ``probes`` and ``events``."""
        for columns in self.columns:
            variable, count = columns.variable, len(columns.uids)
            head = self._heads[variable]
            if columns.events:
                self.events.append(EventTable(*head, 0, None, None, None, self._rises[variable]))
            else:
                self._spare[variable] = _Spare(count, self._dtype)
                self.probes.append(Probe(*head, self.recorder.sample_interval, None, 0))

    @property
    def copied(self) -> float:
        """Bytes a step, on average, that are copied in the writer's thread."""
        recorder = self.recorder
        elsewhere = recorder.copies and not recorder.per_step
        return self.row_bytes / recorder.sample_interval if elsewhere else 0.0

    @property
    def row_bytes(self) -> int:
        """Bytes of one recorded row."""
        dense = sum(len(c.uids) for c in self.columns if not c.events)
        return dense * self._dtype.itemsize

    def prepare(self, probes: Sequence[Probe], first: int, steps: int) -> None:
        """Make room for the rows of the coming steps; ``probes`` are the backend's own."""
        interval = self.recorder.sample_interval
        rows = (first + steps) // interval - first // interval
        dense = [c for c in self.columns if not c.events]
        for columns, probe in zip(dense, probes, strict=True):
            buffer = self.recorder.place(columns.variable, first // interval, rows)
            if buffer is None:
                buffer = self._spare[columns.variable].take(rows)
            self._buffers[columns.variable] = buffer
            probe.rows = buffer.ctypes.data
            probe.capacity = rows

    def dense(self, first: int, done: int) -> dict[str, NDArray[np.generic]]:
        """Return where the rows of ``done`` steps from ``first`` lie, as ``prepare`` made room."""
        interval = self.recorder.sample_interval
        rows = (first + done) // interval - first // interval
        return {c.variable: self._buffers[c.variable][:rows] for c in self.columns if not c.events}

    def block(
        self,
        first: int,
        done: int,
        dense: dict[str, NDArray[np.generic]],
        found: Iterable[Found],
    ) -> Block:
        """Return what was recorded in ``done`` steps from ``first``.

        Parameters
        ----------
        first, done : int
        dense : dict of str to array
            As ``dense`` gives it.
        found : iterable of (steps, columns)
            The events of ``events``, as the backend gives them.
        """
        row = first // self.recorder.sample_interval
        events = {}
        sparse = [c.variable for c in self.columns if c.events]
        for variable, (steps, places) in zip(sparse, found, strict=True):
            time: NDArray[np.float64] = np.add(steps, first, dtype=np.float64)  # exact
            time *= self._dt
            events[variable] = (time, places)
        return Block(row, dense, events, first + done)


def recorded_columns(
    program: Program,
    variable: str,
    uids: Sequence[str] | None,
    scope: str | None = None,
    lenient: bool = False,
) -> tuple[NDArray[np.str_], NDArray[np.int64], str]:
    """Return uids, elements and unit of what a request names; of one LPU where ``scope`` is given.

    Parameters
    ----------
    program : Program
    variable : str
    uids : sequence of str, optional
        In the order wanted; all that are not hidden when not given.
    scope : str, optional
        Id of the LPU in a joined circuit.
    lenient : bool
        Leave uids out that do not update the variable, with a warning that counts them; take
        hidden components, too, where no uids are given, or nothing, where the variable is only
        read.

    Raises
    ------
    RequestError
        For a variable that nothing updates, or uids that do not update it.
    """
    circuit = program.circuit
    mine = circuit.members(scope)
    groups = [
        g
        for g in range(len(circuit.groups))
        if mine[circuit.starts[g] : circuit.starts[g + 1]].any()
    ]
    owners = [g for g in groups if variable in circuit.groups[g].model.updates]
    if not owners:
        models = [circuit.groups[g].model for g in groups]
        nobody = _nobody(variable, models)
        read = any(a.variable == variable for model in models for a in model.accesses)
        if not lenient or uids is not None or not read:
            raise nobody
        warnings.warn(f"{nobody}; nothing of it is recorded", CircuitWarning, stacklevel=2)
        return np.empty(0, np.str_), np.empty(0, np.int64), ""
    unit = circuit.groups[owners[0]].model.units[variable]
    element = _places(program, variable)
    element[~mine] = -1
    if uids is None:
        shown = element >= 0
        shown[circuit.holders(variable) >= 0] = False
        for g, group in enumerate(circuit.groups):
            if group.is_port or (group.hidden and not lenient):
                shown[circuit.starts[g] : circuit.starts[g + 1]] = False
        own = circuit.numbers(scope)
        chosen = own[shown[own]]
    else:
        chosen = circuit.find(uids if scope is None else [f"{scope}/{uid}" for uid in uids])
        good = (chosen >= 0) & (element[chosen] >= 0)
        _check_uids([u for u, g in zip(uids, good, strict=True) if not g], uids, variable, lenient)
        chosen = chosen[good]
    if not len(chosen):
        raise RequestError(f"record: '{variable}' has no component to record; name the uids")
    names_of = np.concatenate([g.uids for g in circuit.groups])
    return names_of[chosen], element[chosen], unit


def _places(program: Program, variable: str) -> NDArray[np.int64]:
    """Return for each component where its value of a variable is in a row, -1: nowhere."""
    circuit = program.circuit
    element = np.full(circuit.count, -1, dtype=np.int64)
    for owner in program.layout.rings[variable].segments:
        if owner != "inputs":
            g = int(owner)
            if circuit.groups[g].is_port and not circuit.groups[g].hidden:
                continue  # a port's own place holds nothing; what other ranks send is hidden
            start = int(circuit.starts[g])
            element[start : start + circuit.groups[g].count] = program.layout.elements(g, variable)
    holder = circuit.holders(variable)
    ports = np.flatnonzero(holder >= 0)
    element[ports] = element[holder[ports]]
    return element


def _check_uids(bad: Sequence[str], uids: Sequence[str], variable: str, lenient: bool) -> None:
    """Raise, or warn, where some of the uids asked for do not update a variable."""
    if not bad:
        return
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    names = ", ".join(f"'{u}'" for u in bad[:3]) + more
    text = f"record: {names}: no such component updates '{variable}'"
    if not lenient or len(bad) == len(uids):
        raise RequestError(text)
    among = f"{len(bad)} of {len(uids)} uids are left out"
    warnings.warn(f"{text}; {among}", CircuitWarning, stacklevel=3)


def _nobody(variable: str, models: Sequence[type[NDComponent]]) -> RequestError:
    """Return the error for a variable that none of some models updates."""
    known = sorted({v for model in models for v in model.updates})
    hint = near(variable, known)
    for model in models:
        if variable in model.states:
            hint = f"; to record this state of {model.__name__}, name it in 'updates', too"
    among = ", ".join(known) or "none"
    return RequestError(f"record: no component updates '{variable}'{hint}; known are {among}")
