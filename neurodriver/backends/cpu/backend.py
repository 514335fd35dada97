"""CPU backend: a program bound to memory, advanced K steps per call by compiled code."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import settings
from ...codegen.generate import Generated, generate
from ...codegen.source import CPU, Dialect, source
from ...errors import ModelError, NeurodriverError, StepInterrupted
from ...native.addresses import host_array
from ...native.compiler import Source, begin, build, find_compiler
from ...native.headers import header
from ...native.platforms import step_loop_flags
from ...plan.arrays import Key
from ...plan.program import Program
from ...plan.unit import Unit
from ...profiling.phases import current
from ...system import cores, free_memory
from ..instances import Instances
from ..memory import MemoryManager
from ..tables import EventTable, InputTable, Probe, RingTable
from .binding import BoundKernel, HostBinding
from .event_buffers import EventBuffers
from .handle import Handle
from .host import HostFindings, HostMemory
from .live import HostLiveMemory
from .timers import Launch, StepTimers
from .triad import triad

WORK_PER_THREAD = 20_000.0
"""Estimated work of a step (in stored connections) that is worth a thread of its own."""

WORK_PER_BYTE = 1.0
"""Estimated work of writing a byte into a file, in the same unit."""

_SPARE_EVENTS = 1 << 16
"""Events of a thread that there is room for beyond those of one step."""

_TRIAD_BYTES, _BLOCKS, _TRIAD_SECONDS = 192e6, 16, 0.08

_i64, _ptr = ct.c_longlong, ct.c_void_p

_RETURN_INTEGERS = (
    "run", "run_phases", "worked", "run_batch", "go_on_with_batch", "interrupt", "interrupt_batch",
    "interrupted",
)  # fmt: skip


class _Plan(ct.Structure):
    _fields_ = [
        (n, _i64)
        for n in ("threads", "kernels", "rings", "inputs", "probes", "events", "exports", "window",
                  "copy")
    ]  # fmt: skip
    _fields_ += [
        (n, _ptr)
        for n in ("kernel", "ring", "input", "list", "probe", "event", "exported", "times")
    ]


_Serve = ct.CFUNCTYPE(ct.c_int, _i64)


class _Gate(ct.Structure):
    _fields_ = [("every", _i64), ("serve", _Serve), ("first", _i64)]


def default_threads(program: Program, copied: float = 0.0) -> int:
    """Return how many threads the circuit is worth on this machine.

    Parameters
    ----------
    copied : float
        Bytes a step that another thread writes into files. Where that takes as long as the work
        of one thread, a core is left to it: threads that share a core wait for each other at
        every step.
    """
    asked = settings.get("NEURODRIVER_THREADS")
    if asked:
        if not asked.isdigit() or not 1 <= int(asked) <= 1024:
            raise NeurodriverError(f"NEURODRIVER_THREADS must be 1 to 1024, got '{asked}'")
        return int(asked)
    work = sum(float(u.cost.sum()) for u in program.units)
    processors = cores()
    if copied * WORK_PER_BYTE > work / processors:
        processors -= 1
    return max(1, min(processors, int(work // WORK_PER_THREAD) + 1))


def begin_building(dtype: str) -> None:
    """Begin to compile what does not depend on the circuit."""
    begin(_step_loop(dtype))


def _step_loop(dtype: str) -> Source:
    real = "float" if dtype == "float32" else "double"
    return header("backends/cpu/runtime.cpp"), (f"-DREAL={real}", *step_loop_flags())


def as_table(kind: type[ct.Structure], rows: Any) -> Any:
    """Return rows as an array for compiled code; such an array stays what it is."""
    return rows if isinstance(rows, ct.Array) else (kind * max(len(rows), 1))(*rows)


class CPUBackend:
    """Runs a program on threads of this machine; `Backend` says what the methods do.

    Parameters
    ----------
    threads : int, optional
        Worker threads, the calling one included; default by the circuit's size.
    like : CPUBackend, optional
        That of another copy of the program, with which text, library and memory are shared.
    copy : int
        Number of the copy.
    gates : bool
        Whether a call may wait for other processes.
    """

    worker, peak_by = "thread", "a triad by as many"
    dialect: ClassVar[Dialect] = CPU

    def __init__(
        self,
        program: Program,
        threads: int | None = None,
        like: CPUBackend | None = None,
        copy: int = 0,
        gates: bool = False,
    ) -> None:
        self.program, self.copy, self.phases_done, self._gates = program, copy, 0, gates
        self.dtype = program.dtype
        self._keep: list[Any] = []
        self.cuts: list[NDArray[np.int64]] = []
        """For each kernel the first component of each thread, and the count."""
        self.pool: Handle | None = None
        shared = like.memory if like else None
        self.memory: MemoryManager = MemoryManager(program, free_memory(), shared)
        self.findings = HostFindings(self.memory)
        self.instances = Instances(program, HostMemory(self.memory))
        made = like.generated if like else generate(program, self.instances.templates)
        self.generated: Generated = made
        self.threads = threads or default_threads(program)
        self.ring_number = {v: i for i, v in enumerate(program.layout.rings)}
        self.binding = HostBinding(self.memory, self.threads, self.generated.arrays)
        self.libraries: list[ct.CDLL] = like.libraries if like else self._built()
        self.runtime = self.libraries[0]
        self._bound: list[BoundKernel] = []
        self._launched: dict[int, Launch] = {}
        stage = 0
        for task, library in zip(self.generated.tasks, self.libraries[1:], strict=True):
            self.cuts.append(self._cuts(task))
            kernel = self.binding.bind(task, library, self.cuts[-1])
            if task.groups[0] in self.instances.made:
                self._launched[task.groups[0]] = Launch(self.runtime, kernel, task.count)
            if not task.stepwise:
                kernel.phase, kernel.waits = task.phase, int(task.stage > stage)
                stage = task.stage
                self._bound.append(kernel)
        self.instances.bind(self._launched)

    def _built(self) -> list[ct.CDLL]:
        """Return the libraries of the step loop and of each kernel."""
        name = self.dtype.name
        texts = [source(task.kernel, name, self.dialect) for task in self.generated.tasks]
        extra = find_compiler().no_gather if name == "float64" else ()
        libraries = build([_step_loop(name), *[(t, extra) for t in texts]])
        for function in ("nd_create", "nd_create_batch"):
            getattr(libraries[0], function).restype = _ptr
        for name in _RETURN_INTEGERS:
            getattr(libraries[0], f"nd_{name}").restype = _i64
        return list(libraries)

    def _cuts(self, unit: Unit) -> NDArray[np.int64]:
        """Return the first component of each thread: equal shares of the estimated work."""
        total = np.concatenate([[0.0], np.cumsum(unit.cost)])
        wanted = total[-1] * np.arange(self.threads + 1) / self.threads
        nearest = np.searchsorted((total[1:] + total[:-1]) / 2, wanted, side="left")
        cuts = nearest * unit.grain
        cuts[0], cuts[-1] = 0, unit.count
        out: NDArray[np.int64] = np.minimum(cuts, unit.count).astype(np.int64)
        return out

    def publish(self) -> None:
        """Fill row 0 with the outputs of the initial states, and every row with row 0."""
        for library, args in self.binding.initial:
            library.nd_initial(ct.byref(args))
        self.instances.pre_run()
        for variable in self.ring_number:
            rows = self.memory.get_buffer(variable)
            rows[1:] = rows[0]

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
        inputs, probes, events, exports : list
            Their pointers may be changed between calls of ``run``. Exports take the rows that the
            steps of a call write, one each step.
        """
        rings = self.memory.ring_tables()
        self.inputs, self.probes = as_table(InputTable, inputs), as_table(Probe, probes)
        if not isinstance(events, ct.Array):  # else it has buffers
            self._found = EventBuffers(self.threads, events, _SPARE_EVENTS, self.program.window)
        self.events = as_table(EventTable, events)
        self._exported = len(exports)
        self.exports = as_table(Probe, exports)
        kernels = (BoundKernel * max(len(self._bound), 1))(*self._bound)
        rows = (RingTable * max(len(rings), 1))(*rings)
        lists = (_ptr * max(len(inputs), 1))(*self.memory.event_lists(len(inputs)))
        given = self.probes, self.events, self.exports
        tables: list[ct.Array[Any]] = [kernels, rows, self.inputs, lists, *given]
        self._keep += tables
        sizes = [len(t) for t in (self._bound, rings, inputs, probes, events, exports)]
        counts = [self.threads, *sizes, self.program.window, self.copy]
        self._timers = StepTimers(self.threads, self.generated.tasks, self._launched)
        times = ct.addressof(self._timers.filled) if current().on else None
        plan = _Plan(*counts, *[ct.addressof(t) for t in tables], times)
        self._keep.append(plan)
        made = self.runtime.nd_create(ct.byref(plan))
        self.pool = Handle(self, self.runtime, made, self.threads)
        self._run = self.runtime.nd_run
        self._run.argtypes = [_ptr, _i64, _i64]

    def run(self, first: int, steps: int) -> int:
        """Advance up to ``steps`` steps from step ``first``; return how many were done.

        Fewer are done only when a buffer for events is full. The interpreter's lock is free
        meanwhile.
        """
        handle = self._open()
        self._found.clear()
        if self.phases_done:
            self._run_phases(handle, first, self.phases_done, self.program.phases)
            self.phases_done = 0
            return 1
        done: int = self._run(handle, first, steps)
        if done < 0:
            raise self.end_of_call() or StepInterrupted
        return done

    def interrupt(self, seconds: float) -> bool:
        """Let a call in another thread raise `StepInterrupted`; return whether there was one."""
        return self.pool is not None and self.pool.interrupt(seconds)

    def end_of_call(self) -> StepInterrupted | ModelError | None:
        """Return why a call did not go on, with the step and the kernel; None if all did."""
        return self.pool.end_of_call(self.generated.tasks) if self.pool else None

    def run_phases(self, step: int, end: int) -> None:
        """Advance the next phases of a step up to one; ``run`` advances those that are left."""
        self._run_phases(self._open(), step, self.phases_done, end)
        self.phases_done = end

    def gate(self, window: int, serve: Callable[[int], bool], first: int = 0) -> bool:
        """Let calls ask ``serve`` after each ``window`` steps; return whether they will."""
        possible = self._gates and not self.stepwise
        if possible:
            self._gate = _Gate(window, _Serve(lambda step: int(serve(step))), first)
            self.runtime.nd_set_gate(self._open(), ct.byref(self._gate))
        return possible

    def _run_phases(self, handle: ct.c_void_p, step: int, low: int, high: int) -> None:
        last = high == self.program.phases
        if self.runtime.nd_run_phases(handle, *map(_i64, (step, low, high, last))) < 0:
            raise self.end_of_call() or StepInterrupted

    longest = 1 << 30
    """Steps of a call at most."""

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable."""
        self.memory.get_buffer(variable)[:, elements] = values
        if variable in self.memory.dirty:
            self.memory.mark_ports(variable)

    def buffer(self, count: int) -> NDArray[Any]:
        """Return zeros."""
        return np.zeros(count, self.dtype)

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return the row of a step; not to be written to."""
        rows = self.memory.get_buffer(variable)
        out: NDArray[Any] = rows[step % len(rows)]
        return out

    def array(self, key: Key) -> NDArray[Any]:
        """Return an array of the program, which other copies may share."""
        return self.memory.array(key)

    @property
    def handle(self) -> int:
        """Address of the step loop, once it has been started."""
        return int(self._open().value or 0)

    @property
    def live(self) -> HostLiveMemory:
        """What changes the memory between calls."""
        return HostLiveMemory(self)

    def found(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the events of one table in the last call, ordered by step, then by column.

        Returns
        -------
        steps : (n,) int64
            Counted from the first step of the call.
        columns : (n,) int32
        """
        return self._found.found(number)

    @property
    def stepwise(self) -> bool:
        """Whether `run_step` has to follow each step."""
        return self.instances.stepwise

    def run_step(self, step: int) -> None:
        """Let instances write row ``step + 1``; compiled code has done its part of the step."""
        self.instances.run_step(step)
        for probe in self.exports[: self._exported]:  # taken before that, so taken again
            ring = self.memory.get_buffer(list(self.ring_number)[probe.ring])
            elements = host_array(probe.elements, probe.count, np.int32)
            host_array(probe.rows, probe.count, self.dtype)[:] = ring[(step + 1) % len(ring)][
                elements
            ]

    def _open(self) -> ct.c_void_p:
        """Return the handle of the threads."""
        if self.pool is None:
            raise NeurodriverError("LPU: closed; make a new one to run again")
        return self.pool.pointer

    def worked(self) -> list[int]:
        """Return how many component updates each thread has done."""
        handle = self._open()
        return [int(self.runtime.nd_worked(handle, _i64(t))) for t in range(self.threads)]

    def profile_times(self) -> list[tuple[str, float]]:
        """Return name and seconds of each unit, then of the rest, as `profiling.measured` says."""
        return self._timers.times()

    def profile_step(self) -> list[tuple[int, str, float, float]]:
        return self._timers.step()

    def peak_bandwidth(self) -> float:
        """Return the bandwidth of the memory in bytes a second: a triad by as many threads."""
        size = min(_TRIAD_BYTES, free_memory() / 2)
        return triad(size, self.dtype, self.threads, blocks=_BLOCKS, limit=_TRIAD_SECONDS)

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.close()
