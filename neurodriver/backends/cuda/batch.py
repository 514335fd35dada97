"""Copies of a program on a GPU: one launch advances all of them, each by blocks of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.generate import generate
from ...codegen.simt.device import device_text
from ...errors import NeurodriverError
from ...plan.arrays import Key
from ...plan.diagnostics import FAULT, no_fault
from ...plan.program import Program
from ...profiling.phases import current
from ..instances import Instances
from ..tables import EventTable, InputTable, Probe
from . import schedule
from .backend import CUDABackend
from .batch_staging import BatchStaging
from .binding import Binding
from .compiler import compile_cubin
from .device import Device, Loaded, Pool
from .executors import Launches, executor_of
from .findings import DeviceFindings
from .gates import Gates
from .import_delivery import senders_of
from .lane import Lane
from .live import DeviceLiveMemory
from .on_device import DeviceMemory
from .queued import QueuedCalls
from .spike_delivery import parts_of, plan_delivery, with_learning
from .timers import DeviceTimers
from .transfers import Tables, Twins


class DeviceCopy:
    """What reads and sets the values of one copy.

    Parameters
    ----------
    binding : Binding
        Memory of the copy.
    """

    def __init__(self, owner: CUDABatch, binding: Binding) -> None:
        self.owner, self.binding, self.program = owner, binding, binding.program
        self.device, self.memory, self.threads = owner.device, binding.memory, owner.threads
        self.findings = DeviceFindings(binding)
        self.live = DeviceLiveMemory(self)  # type: ignore[arg-type]

    @property
    def code(self) -> Loaded:
        """The text of all copies."""
        return self.owner.code

    @property
    def launches(self) -> Launches:
        """What starts kernels, for all copies at once."""
        return self.owner.launches

    @property
    def delivery(self) -> Any:
        """How spikes are delivered."""
        return self.owner.delivery

    @property
    def generated(self) -> Any:
        """The text of the program."""
        return self.owner.generated

    def check_open(self) -> None:
        """Raise NeurodriverError where the memory has been given back."""
        self.owner.check_open()

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return a copy of the row of a step."""
        with self.device.current():
            return self.binding.row(variable, step)

    def array(self, key: Key) -> NDArray[Any]:
        """Return a copy of an array of the program."""
        with self.device.current():
            return self.binding.array(key)


class BatchFindings:
    """What kernels have written about the values of all copies, in one piece of memory.

    Parameters
    ----------
    pool : Pool or None
        Memory of the records; None where kernels write none.
    """

    def __init__(self, copies: Sequence[DeviceCopy], pool: Pool | None) -> None:
        self._copies, self._pool = copies, pool

    def receive(self, words: NDArray[np.int64]) -> None:
        """Begin to copy the records of faults into page-locked memory, behind a launch."""
        if self._pool is not None:
            place = self._pool.address["faults"]
            self._copies[0].device.receive(words.ctypes.data, place, words.nbytes)

    def take(self, words: NDArray[np.int64]) -> None:
        """Take the records of a completed call."""
        for copy, part in zip(self._copies, words.reshape(-1, 8), strict=True):
            copy.findings.take(part)


class CUDABatch(CUDABackend):
    """Runs the copies of a program on a GPU.

    Parameters
    ----------
    programs : sequence of Program
        One for each copy, compiled for the target ``cuda``.
    device : int
        Number of the GPU.
    executor : {"resident"}
    fuzz : int
        Not 0: warps dawdle, for tests.
    yields : bool
        Whether a thread that waits for the GPU leaves its core to others.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        device: int = 0,
        executor: str = "resident",
        fuzz: int = 0,
        yields: bool = False,
    ) -> None:
        if executor != "resident":
            raise NeurodriverError("a batch runs in one launch: executor='resident'")
        self.program, self.dtype = programs[0], programs[0].dtype
        self.executor, self.fuzz, self._number = executor, fuzz, len(programs)
        self._pool: Pool | None = None
        self.device = Device(device, yields)
        self.binding = Binding(self.device, programs[0])
        rest = [Binding(self.device, one, self.binding) for one in programs[1:]]
        self.bindings = [self.binding, *rest]
        self.binding._shares = True  # tables are brought by launches, also those of one copy
        self.memory = self.binding.memory
        self.ring_address = self.binding.ring_address
        self.active_address = self.binding.active_address
        self.delivery = plan_delivery(self.program, False)
        with self.device.current():
            for one in self.bindings:
                one.allocate(self.delivery.wanted())
                one.draw()
            faults = self._faults()
            self.instances = Instances(self.program, DeviceMemory(self.binding))
            self.stepwise = False
            self.generated = generate(self.program, {})
            for one in self.bindings:
                one.take(self.generated)
            self.gates = Gates(self.device, False)
        self.plan = self._planned(None)
        self.threads = self.plan.warps
        self.copies = [DeviceCopy(self, one) for one in self.bindings]
        self.findings: Any = BatchFindings(self.copies, faults)
        self.device_seconds, self._done, self.phases_done = 0.0, 0, 0
        with self.device.current():
            self.code = self._built()
            self.twins = Twins(self.device)
            lanes = self.device, self.code, self._number, self.bindings
            self._lanes = [Lane(*lanes) for _ in range(2)]
            self._sent = self.device.event()
        timed = self.code if current().on else None
        self._timers = DeviceTimers(self.device, self.generated.tasks, timed)
        records = any(unit.kernel.record for unit in self.generated.tasks)
        shared = self.plan.shape.shared(self.dtype.itemsize, records)
        how = executor_of(executor)
        self.launches = Launches(self.device, self.code, self.plan, how, shared)
        self.inputs: list[InputTable] = []
        self.probes: list[Probe] = []
        self.events: list[EventTable] = []
        self.exports: list[Probe] = []
        self.queued = QueuedCalls(self)
        self._stages: list[Any] = []
        self._in_flight: list[Lane] = []
        self.completed, self._open, self._behind = 0, True, None

    def _faults(self) -> Pool | None:
        """Let the records of faults of all copies lie in one piece; None where there are none."""
        if FAULT not in self.program.arrays:
            return None
        pool = Pool(self.device, {"faults": 64 * self._number})
        self.device.upload(pool.address["faults"], np.tile(no_fault(), self._number))
        for copy, one in enumerate(self.bindings):
            one.pool.address[FAULT] = pool.address["faults"] + 64 * copy
        self._pool = pool
        return pool

    def _planned(self, given: schedule.LaunchPlan | None) -> schedule.LaunchPlan:
        """Return how wide each copy runs: its share of the device, so that all run at once."""
        units, learning = self.generated.tasks, self.generated.learning
        device, word = self.device, self.dtype.itemsize
        each = max(1, device.processors // self._number)
        plan = schedule.choose(units, each, False, word, self.delivery.load)
        if plan.blocks == 1:
            plan = replace(plan, width="block")
        self.delivery = self.delivery.ahead_in(self.generated, plan)
        marks = bool(learning) or any("nd_silent(" in u.kernel.text for u in units)
        shape = self.delivery.shaped(plan.shape)
        shape = replace(shape, marks=marks, copies=self._number)
        plan = replace(plan, shape=with_learning(shape, learning, plan.blocks))
        return schedule.finished(plan, units, word)

    def _built(self) -> Loaded:
        """Compile the text of the circuit, and write where the tables of each copy are."""
        parts = parts_of(self.generated, self.plan, self.binding)
        shape = replace(self.plan.shape, timers=current().on)
        text = device_text(parts, self.dtype.name, shape, senders_of(self.program))
        code = Loaded(self.device, compile_cubin(text, self.device.arch))
        tables = np.array([one.places for one in self.bindings], np.uint64)
        lists = np.array([self._lists(one) for one in self.bindings], np.uint64)
        sizes = {"tables": tables.nbytes, "lists": lists.nbytes}
        sizes |= {"chunks": 8 * Tables.HEAD * self._number, "arrived": 4 * self._number}
        self._places = Pool(self.device, sizes)
        at = self._places.address
        self.device.upload(at["tables"], tables)
        self.device.upload(at["lists"], lists)
        words = at["tables"], at["chunks"], at["lists"], at["arrived"], self.plan.blocks
        self.device.upload(code.address("nd_copies"), np.array(words, np.uint64))
        return code

    def _lists(self, binding: Binding) -> tuple[int, int, int]:
        """Return the words of the lists of pieces of a copy."""
        if not self.delivery.delivers:
            return 0, 0, 0
        at = binding.pool.address
        return at["pieces"], at["numbers of pieces"], self.delivery.capacity

    def chunk_address(self, copy: int) -> int:
        """Return where the tables of the chunk of a copy begin."""
        return self._places.address["chunks"] + 8 * Tables.HEAD * copy

    def publish(self) -> None:
        """Copy the programs to the device; fill row 0 with outputs, and every row with row 0."""
        with self.device.current():
            for one in self.bindings:
                one.publish(self.code)
                one.spread()

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable in all copies; before the first step."""
        with self.device.current():
            for one in self.bindings:
                one.put(variable, elements, values)

    def start(
        self,
        inputs: list[InputTable],
        probes: list[Probe],
        events: list[EventTable],
        exports: Sequence[Probe] = (),
    ) -> None:
        """Distribute the work of each copy over the warps of its blocks."""
        self.inputs, self.probes, self.events = inputs, probes, events
        with self.device.current():
            self.staging = BatchStaging(self, inputs, probes, events)
            self._stages = [self.staging, *self._lanes]
            self.staging.distribute()

    def found(self, number: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
        steps, columns = self._found[number]
        count = self.events[number].count
        row = 32 * -(-count // 32)
        return steps, columns // row * count + columns % row

    def close(self) -> None:
        if self._open:
            super().close()
            with self.device.current():
                for one in self.bindings[1:]:
                    one.free()
                self._places.free()
                if self._pool is not None:
                    self._pool.free()
