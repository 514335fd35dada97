"""CPU backend: a program bound to memory, advanced K steps per call by compiled code."""

from __future__ import annotations

import ctypes as ct
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import settings
from ...codegen.finite import infinite_constants
from ...codegen.generate import Task, generate
from ...codegen.kernel import Kernel
from ...codegen.source import CPU, Dialect, source
from ...errors import NeurodriverError
from ...native.addresses import host_array
from ...native.buffers import as_aligned
from ...native.compiler import build, find_compiler
from ...native.headers import header
from ...plan.arrays import CUTS, THREADS, Key, Kind, ReceptorOwner, Role
from ...plan.program import Program
from ...plan.spikes.fanout import ThreadRanges
from ...plan.unit import Unit
from ...profiling.phases import current
from ..instances import Instances
from ..memory import MemoryManager
from ..tables import EventTable, InputTable, Probe
from .event_buffers import EventBuffers
from .findings import HostFindings
from .host import HostMemory
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


class Args(ct.Structure):
    _fields_ = [("p", _ptr), ("n", _ptr), ("u", _ptr)]


class _Kernel(ct.Structure):
    _fields_ = [("update", _ptr), ("deliver", _ptr), ("args", Args), ("cuts", _ptr)]


class _Ring(ct.Structure):
    _fields_ = [("data", _ptr), ("depth", _i64), ("width", _i64)]
    _fields_ += [(name, _ptr) for name in ("active", "dirty", "counted", "where")]


class _Plan(ct.Structure):
    _fields_ = [
        (n, _i64)
        for n in ("threads", "kernels", "rings", "inputs", "probes", "events", "exports", "window")
    ]
    _fields_ += [
        (n, _ptr) for n in ("kernel", "ring", "input", "probe", "event", "exported", "times")
    ]


def default_threads(program: Program, copied: float = 0.0) -> int:
    """Return how many threads the circuit is worth on this machine.

    Parameters
    ----------
    program : Program
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
    cores = len(os.sched_getaffinity(0))
    if copied * WORK_PER_BYTE > work / cores:
        cores -= 1
    return max(1, min(cores, int(work // WORK_PER_THREAD) + 1))


def parts_of(program: Program) -> dict[Key, ThreadRanges]:
    """Return what each thread's shares are found from, by the key of the kernels' argument."""
    return {
        gather.key(ReceptorOwner(number, access), "parts"): gather.parts
        for (number, access), gather in program.gathers.items()
        if gather.parts is not None
    }


def free_memory() -> float:
    """Return the bytes of memory that are free for a simulation."""
    try:
        text = Path("/proc/meminfo").read_text()
        line = next(x for x in text.splitlines() if x.startswith("MemAvailable"))
        return 0.9 * 1024 * float(line.split()[1])
    except (OSError, StopIteration):
        return 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class CPUBackend:
    """Runs a program on threads of this machine.

    Parameters
    ----------
    program : Program
    threads : int, optional
        Worker threads, the calling one included; default by the circuit's size.
    """

    worker, peak_by = "thread", "a triad by as many"
    dialect: ClassVar[Dialect] = CPU

    def __init__(self, program: Program, threads: int | None = None) -> None:
        self.program = program
        self.dtype = program.dtype
        self._keep: list[Any] = []
        self.cuts: list[NDArray[np.int64]] = []
        """For each kernel the first component of each thread, and the count."""
        self._handle: int | None = None
        self.initial: list[tuple[ct.CDLL, Args]] = []
        self.scalars: list[tuple[Kernel, NDArray[np.float64]]] = []
        self.memory = MemoryManager(program, free_memory())
        self.findings = HostFindings(self.memory)
        self.instances = Instances(program, HostMemory(self.memory))
        self.generated = generate(program, self.instances.templates)
        self.threads = threads or default_threads(program)
        self.ring_number = {v: i for i, v in enumerate(program.layout.rings)}
        self.numbers = {THREADS: self.threads}
        self._parts = parts_of(program)
        real = "float" if self.dtype == np.float32 else "double"
        runtime = header("backends/cpu/runtime.cpp")
        tasks = self.generated.tasks
        texts = [source(task.kernel, self.dtype.name, self.dialect) for task in tasks]
        extra = find_compiler().no_gather if real == "double" else ()
        libraries = build([(runtime, (f"-DREAL={real}",)), *[(t, extra) for t in texts]])
        self._runtime = libraries[0]
        self._runtime.nd_create.restype = _ptr
        for name in ("nd_run", "nd_worked"):
            getattr(self._runtime, name).restype = _i64
        self._bound: list[_Kernel] = []
        self.learners: list[tuple[Any, Args, NDArray[np.int64]]] = []
        self._launched: dict[int, Launch] = {}
        for task, library in zip(tasks, libraries[1:], strict=True):
            kernel = self._bind(task, library)
            if task.groups[0] in self.instances.made:
                self._launched[task.groups[0]] = Launch(self._runtime, kernel, task.count)
            if not task.stepwise:
                self._bound.append(kernel)
        self.instances.bind(self._launched)

    def _pointer(self, array: NDArray[Any]) -> int:
        self._keep.append(array)
        return array.ctypes.data

    def _bind(self, task: Task, library: ct.CDLL) -> _Kernel:
        """Fill the tables of a kernel's arguments and compute its constants."""
        kernel, cuts = task.kernel, self._cuts(task)
        for row in kernel.scratch:
            self.memory.add(row)
        addresses = [self._address(key, cuts) for key in kernel.pointers]
        integers = [self.number(key) & 0xFFFF_FFFF_FFFF_FFFF for key in kernel.integers]
        p = np.array(addresses or [0], dtype=np.uint64)
        n = np.array(integers or [0], dtype=np.uint64).view(np.int64)
        u = np.array([float(self.number(key)) for key in kernel.scalars] or [0.0])
        args = Args(self._pointer(p), self._pointer(n), self._pointer(u))
        self.scalars.append((kernel, u))
        library.nd_constants(ct.byref(args))
        if not (np.isfinite(u).all() and self._finite_constants(kernel.pointers)):
            for spec in task.specs:
                if (key := infinite_constants(spec)) in kernel.integers:
                    n[kernel.integers.index(key)] = 1
        update = ct.cast(library.nd_update, _ptr).value
        self._keep += [args, library]
        self.initial.append((library, args))
        self.cuts.append(cuts)
        deliver = ct.cast(library.nd_deliver, _ptr).value if kernel.delivers else None
        if kernel.learns:
            self.learners.append((library.nd_catch_up, args, cuts))
        return _Kernel(update, deliver, args, self._pointer(cuts))

    def _finite_constants(self, keys: Sequence[Key]) -> bool:
        """Whether the constants among a kernel's arrays are finite."""
        constants = (key for key in keys if key.kind is Kind.CONSTANT)
        return all(np.isfinite(self.memory.array(key)).all() for key in constants)

    def _address(self, key: Key, cuts: NDArray[np.int64]) -> int:
        """Return where an argument of a kernel lies, whose threads have shares from ``cuts`` on."""
        if key == CUTS:
            return self._pointer(cuts)
        if key in self._parts:
            return self._pointer(as_aligned(self._parts[key].of(cuts)))
        if (one := self.generated.arrays.get(key)) and one.role is Role.OF_THREAD:
            return self._pointer(self.memory.of_threads(key, self.threads))
        return self._pointer(self.memory.argument(key))

    def number(self, key: Key) -> Any:
        """Return an argument that a kernel gets by value."""
        return self.numbers[key] if key in self.numbers else self.program.arrays[key].value

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
        for library, args in self.initial:
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
        rings, memory = [], self.memory
        marks = memory.active, memory.dirty, memory.counted, memory.where
        for variable, ring in memory.layout.rings.items():
            activities = [m.get(variable) for m in marks]
            activity = [None if one is None else one.ctypes.data for one in activities]
            rings.append(_Ring(memory.host_address(variable), ring.depth, ring.width, *activity))
        self.inputs = (InputTable * max(len(inputs), 1))(*inputs)
        self.probes = (Probe * max(len(probes), 1))(*probes)
        self._found = EventBuffers(self.threads, events, _SPARE_EVENTS, self.program.window)
        self.events = (EventTable * max(len(events), 1))(*events)
        self._exported = len(exports)
        self.exports = (Probe * max(len(exports), 1))(*exports)
        kernels = (_Kernel * max(len(self._bound), 1))(*self._bound)
        rows = (_Ring * max(len(rings), 1))(*rings)
        given = self.inputs, self.probes, self.events, self.exports
        tables: list[ct.Array[Any]] = [kernels, rows, *given]
        self._keep += tables
        sizes = [len(t) for t in (self._bound, rings, inputs, probes, events, exports)]
        counts = [self.threads, *sizes, self.program.window]
        self._timers = StepTimers(self.threads, self.generated.tasks, self._launched)
        times = ct.addressof(self._timers.filled) if current().on else None
        plan = _Plan(*counts, *[ct.addressof(t) for t in tables], times)
        self._keep.append(plan)
        self._handle = self._runtime.nd_create(ct.byref(plan))
        if self._handle is None:
            raise NeurodriverError(f"{self.threads} threads cannot be started; ask for fewer")
        self._run = self._runtime.nd_run
        self._run.argtypes = [_ptr, _i64, _i64]
        # threads of an LPU that is dropped without close() end with it
        self._end = weakref.finalize(self, self._runtime.nd_destroy, _ptr(self._handle))

    def run(self, first: int, steps: int) -> int:
        """Advance up to ``steps`` steps from step ``first``; return how many were done.

        Fewer are done only when a buffer for events is full. The interpreter's lock is free
        meanwhile.
        """
        if self._handle is None:
            self._open()
        self._found.clear()
        done: int = self._run(self._handle, first, steps)
        return done

    longest = 1 << 30
    """Steps of a call at most."""

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable."""
        self.memory.get_buffer(variable)[:, elements] = values

    def buffer(self, count: int) -> NDArray[Any]:
        """Return zeros."""
        return np.zeros(count, self.dtype)

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return the row of a step; not to be written to."""
        rows = self.memory.get_buffer(variable)
        out: NDArray[Any] = rows[step % len(rows)]
        return out

    def array(self, key: Key) -> NDArray[Any]:
        """Return an array of the program; what is written to it shows from the next step on."""
        return self.memory.array(key)

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
        if self._handle is None:
            raise NeurodriverError("LPU: closed; make a new one to run again")
        return _ptr(self._handle)

    def worked(self) -> list[int]:
        """Return how many component updates each thread has done."""
        handle = self._open()
        return [int(self._runtime.nd_worked(handle, _i64(t))) for t in range(self.threads)]

    def profile_times(self) -> list[tuple[str, float]]:
        """Return name and seconds of each unit, then of the rest, as `profiling.measured` says."""
        return self._timers.times()

    def profile_step(self) -> list[tuple[int, str, float, float]]:
        """Return thread, name, begin and end of the parts of one step of the last call."""
        return self._timers.step()

    def peak_bandwidth(self) -> float:
        """Return the bandwidth of the memory in bytes a second: a triad by as many threads."""
        size = min(_TRIAD_BYTES, free_memory() / 2)
        return triad(size, self.dtype, self.threads, blocks=_BLOCKS, limit=_TRIAD_SECONDS)

    def close(self) -> None:
        """End the threads."""
        if self._handle is not None:
            self._end()
            self._handle = None
