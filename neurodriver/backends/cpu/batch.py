"""Copies of a program on the CPU: each is advanced by one thread, for many steps a call."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import settings
from ...codegen.generate import Generated
from ...errors import CircuitError, ModelError, NeurodriverError, StepInterrupted
from ...plan.arrays import Key
from ...plan.copies import shared_bytes
from ...plan.program import Program
from ...system import cores, free_memory
from ..instances import Instances
from ..memory import MemoryManager
from ..tables import EventTable, InputTable, Probe
from .backend import CPUBackend, default_threads
from .handle import Handle

SPARE = 1 << 14
"""Events of a copy that there is room for beyond those of one step."""

_ptr, _i64 = ct.c_void_p, ct.c_longlong


class CPUBatch:
    """Runs the copies of a program on threads of this machine.

    Parameters
    ----------
    programs : sequence of Program
        One for each copy; `plan.copies.programs_of_copies` makes them.
    threads : int, optional
        Worker threads, the calling one included; at most one for each copy. By default all cores.

    Attributes
    ----------
    copies : list of CPUBackend
        Memory, text and values of each copy. What reads and sets values of a copy uses these.
    """

    longest = CPUBackend.longest
    stepwise = False

    def __init__(self, programs: Sequence[Program], threads: int | None = None) -> None:
        self.program = programs[0]
        _check_memory(programs)
        asked = threads or (default_threads(self.program) if _asked() else None)
        self.threads = min(asked or cores(), len(programs))
        first = CPUBackend(programs[0], 1)
        rest = [CPUBackend(one, 1, first, copy) for copy, one in enumerate(programs[1:], 1)]
        self.copies = [first, *rest]
        self.memory: MemoryManager = first.memory
        self.generated: Generated = first.generated
        self.instances: Instances = first.instances
        self._handle: Handle | None = None

    @property
    def live(self) -> Any:
        """What changes the memory of the first copy between calls."""
        return self.copies[0].live

    @property
    def findings(self) -> Any:
        """What the kernels of the first copy have written."""
        return self.copies[0].findings

    def publish(self) -> None:
        """Fill row 0 of each copy with outputs, and every row with row 0."""
        for one in self.copies:
            one.publish()

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable, in all copies."""
        for one in self.copies:
            one.put(variable, elements, values)

    def buffer(self, count: int) -> NDArray[Any]:
        """Return zeros."""
        return self.copies[0].buffer(count)

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return the row of a step of the first copy."""
        return self.copies[0].row(variable, step)

    def array(self, key: Key) -> NDArray[Any]:
        """Return an array of the first copy."""
        return self.copies[0].array(key)

    def start(
        self,
        inputs: list[InputTable],
        probes: list[Probe],
        events: list[EventTable],
        exports: Sequence[Probe] = (),
    ) -> None:
        """Make the threads.

        Parameters
        ----------
        inputs : list
            Those of all copies, or those of one copy after the other.
        probes, events : list
            Of all copies: columns of copy b follow those of copy b - 1.
        exports : sequence
            None.
        """
        count = len(self.copies)
        window = self.program.window
        self._found = [CopyEvents(count, table, 2 * window * table.count) for table in events]
        each = len(inputs) // count if len(inputs) != self._slots() else 0
        shared: Any = (Probe * len(probes))(*probes) if probes else []
        given: Any = (InputTable * len(inputs))(*inputs) if inputs and not each else inputs
        for number, one in enumerate(self.copies):
            mine = inputs[number * each : (number + 1) * each] if each else given
            tables: list[Any] = [found.table(number) for found in self._found]
            own: Any = (EventTable * len(tables))(*tables) if tables else []
            one.start(mine, shared, own)
        entering = [one.inputs[i] for one in self.copies for i in range(each)]
        self.inputs: Any = entering or self.copies[0].inputs
        self.probes, self.events = self.copies[0].probes, self.copies[0].events
        self.exports: Any = ()
        handles = (_ptr * count)(*[one.handle for one in self.copies])
        library = self.copies[0].runtime
        made = library.nd_create_batch(handles, _i64(count), _i64(self.threads))
        self._handle = Handle(self, library, made, self.threads, "_batch")
        self._run, self._go_on = library.nd_run_batch, library.nd_go_on_with_batch

    def _slots(self) -> int:
        """Return how many tables the inputs of one copy have."""
        return len(self.program.slots.places)

    def run(self, first: int, steps: int) -> int:
        """Advance all copies by ``steps`` steps from step ``first``; return ``steps``."""
        if self._handle is None:
            raise NeurodriverError("LPU: closed; make a new one to run again")
        for found in self._found:
            found.begin()
        left = self._run(self._handle.pointer, _i64(first), _i64(steps))
        while left > 0:  # buffers for events are full: empty them
            self._collect()
            left = self._go_on(self._handle.pointer)
        if left < 0:
            ends = [end for one in self.copies if (end := one.end_of_call())]
            faults = [end for end in ends if isinstance(end, ModelError)]
            raise [*faults, *ends, StepInterrupted][0]
        self._collect()
        return steps

    def interrupt(self, seconds: float) -> bool:
        """Do what that of one copy does, for the call of all of them."""
        return self._handle is not None and self._handle.interrupt(seconds)

    def _collect(self) -> None:
        for found in self._found:
            found.collect()

    def found(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the events of one table in the last call, ordered by step, then by column.

        Returns
        -------
        steps : (n,) int64
            Counted from the first step of the call.
        columns : (n,) int32
            Those of copy b begin at b times the columns of one copy.
        """
        return self._found[number].ordered()

    def run_step(self, step: int) -> None:
        """Do nothing: classes with ``run_step`` have no copies."""

    def worked(self) -> list[int]:
        """Return how many component updates have been done for each copy."""
        return [one.worked()[0] for one in self.copies]

    def close(self) -> None:
        """End the threads."""
        if self._handle is not None:
            self._handle.close()
        for one in self.copies:
            one.close()


class CopyEvents:
    """Events of one table that the threads find in each copy.

    Parameters
    ----------
    least : int
        Events of a copy that there is room for at least, beyond `SPARE`.
    """

    def __init__(self, copies: int, table: EventTable, least: int) -> None:
        self._given, self._room = table, least + SPARE
        self._step, self._index = (np.empty((copies, self._room), np.int32) for _ in range(2))
        self._number = np.zeros(copies, np.int64)
        self._collected: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []

    def table(self, copy: int) -> EventTable:
        """Return the table of a copy."""
        one = EventTable.from_buffer_copy(self._given)
        one.capacity = self._room
        arrays = self._step, self._index, self._number
        one.step, one.index, one.found = (array[copy:].ctypes.data for array in arrays)
        return one

    def begin(self) -> None:
        """Forget the events of the last call."""
        self._collected = []
        self._number[:] = 0

    def collect(self) -> None:
        """Take the events out of the buffers of all copies."""
        width = self._given.count
        for copy in np.flatnonzero(self._number).tolist():
            events = self._number[copy]
            columns = self._index[copy, :events] + np.int32(copy * width)
            self._collected.append((self._step[copy, :events].copy(), columns))
        self._number[:] = 0

    def ordered(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return steps and columns of the events of the last call."""
        if not self._collected:
            return np.empty(0, np.int64), np.empty(0, np.int32)
        steps = np.concatenate([part for part, _ in self._collected]).astype(np.int64)
        columns = np.concatenate([part for _, part in self._collected])
        width = self._given.count * len(self._number)
        order = np.argsort(steps * width + columns, kind="stable")
        return steps[order], columns[order]


def _asked() -> bool:
    return bool(settings.get("NEURODRIVER_THREADS"))


def _check_memory(programs: Sequence[Program]) -> None:
    """Raise CircuitError where there is no memory for all copies."""
    shared, own = shared_bytes(programs)
    need = shared + own + len(programs) * sum(programs[0].layout.nbytes().values())
    if need > (free := free_memory()):
        raise CircuitError(
            f"{len(programs):,} copies need {need / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are "
            f"free; ask for fewer copies"
        )
