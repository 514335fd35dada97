"""``CUDABackend``: a program bound to the memory of a GPU, advanced K steps per launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.generate import generate
from ...codegen.simt.device import device_text
from ...codegen.simt.shared_texts import table_places
from ...errors import NeurodriverError
from ...plan.arrays import Key
from ...plan.program import Program
from ...profiling.phases import current
from ..instances import Instances
from ..tables import EventTable, InputTable, Probe
from . import schedule
from .binding import Binding
from .compiler import compile_cubin
from .device import Device, Loaded, held_back
from .executors import Launches, executor_of
from .findings import DeviceFindings
from .gates import Gates, Serve
from .import_delivery import senders_of
from .lane import Lane
from .live import DeviceLiveMemory
from .on_device import DeviceMemory
from .peers import Peers
from .queued import QueuedCalls
from .spike_delivery import parts_of, plan_delivery, with_learning
from .staging import Staging
from .timers import DeviceTimers, peak_bandwidth
from .transfers import Twins


class CUDABackend:
    """Runs a program on a GPU; `Backend` says what the methods do.

    Parameters
    ----------
    program : Program
        Compiled for the target ``cuda``.
    device : int
        Number of the GPU.
    executor : {"resident", "stepwise"}
        One launch for many steps, or one for each kernel and step; the results are the same.
    plan : Plan, optional
        How wide it runs; by the circuit's size when not given.
    fuzz : int
        Not 0: warps dawdle and take their work in changing orders, for tests.
    gates : bool
        Whether launches may wait for other processes; only where no other process uses the GPU.
    yields : bool
        Whether a thread that waits for the GPU leaves its core to others.

    Attributes
    ----------
    threads : int
        Warps that work side by side.
    phases_done : int
        How many phases of the next step have been advanced already.
    device_seconds : float
        Time that launches took on the device so far, without queued ones.
    completed : int
        Number of completed calls.
    queued : QueuedCalls
        Calls that wait for another library on the device.
    """

    worker, peak_by = "warp", "a copy within the memory"

    def __init__(
        self,
        program: Program,
        device: int = 0,
        executor: str = "resident",
        plan: schedule.LaunchPlan | None = None,
        fuzz: int = 0,
        gates: bool = False,
        yields: bool = False,
    ) -> None:
        how = executor_of(executor)
        self.program, self.dtype, self.executor, self.fuzz = program, program.dtype, executor, fuzz
        self.device, self._open = Device(device, yields), True
        self.binding = Binding(self.device, program)
        self.memory, self.findings = self.binding.memory, DeviceFindings(self.binding)
        self.ring_address = self.binding.ring_address
        self.active_address = self.binding.active_address
        self.delivery = plan_delivery(program, executor == "stepwise")
        with self.device.current():
            self.binding.allocate(self.delivery.wanted())
            self.instances = Instances(program, DeviceMemory(self.binding))
            self.stepwise = self.instances.stepwise
            self.generated = generate(program, self.instances.templates)
            self.binding.take(self.generated)
            gates = gates and executor == "resident" and not self.instances.stepwise
            self.gates = Gates(self.device, gates)
            self.peers = Peers(self)
        self.plan = _planned(self, plan)
        self.threads = self.plan.warps
        self.device_seconds, self._done, self.completed, self.phases_done = 0.0, 0, 0, 0
        with self.device.current():
            self.code = _built(self)
            self.twins = Twins(self.device, shared=gates)
            self._lanes = [Lane(self.device, self.code, 1, [self.binding]) for _ in range(2)]
            self._sent = self.device.event()
        self._timers = DeviceTimers(
            self.device, self.generated.tasks, self.code if current().on else None
        )
        records = any(one.kernel.record for one in self.generated.tasks)
        shared = self.plan.shape.shared(self.dtype.itemsize, records)
        self.launches = Launches(self.device, self.code, self.plan, how, shared)
        alone = ((u.groups[0], partial(self._launch_alone, n)) for n, u in enumerate(program.units))
        self.instances.bind({group: one for group, one in alone if group in self.instances.made})
        self.inputs: list[InputTable] = []
        self.probes: list[Probe] = []
        self.events: list[EventTable] = []
        self.exports: list[Probe] = []
        self.queued = QueuedCalls(self)
        self._stages: list[Staging | Lane] = []
        self._in_flight: list[Lane] = []
        self._behind: Callable[[], None] | None = None

    # -- memory ---------------------------------------------------------------------------------

    def publish(self) -> None:
        """Copy the program to the device; fill row 0 with outputs, and every row with row 0."""
        with self.device.current():
            self.binding.publish(self.code)
            self.instances.pre_run()
            self.binding.spread()

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable; before the first step."""
        with self.device.current():
            self.binding.put(variable, elements, values)

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return a copy of the row of a step."""
        self.check_open()
        with self.device.current():
            return self.binding.row(variable, step)

    def array(self, key: Key) -> NDArray[Any]:
        """Return a copy of an array of the program."""
        with self.device.current():
            return self.binding.array(key)

    @property
    def live(self) -> DeviceLiveMemory:
        """What changes the memory between calls."""
        return DeviceLiveMemory(self, self.queued.follow)

    def buffer(self, count: int) -> NDArray[Any]:
        """Return zeros in page-locked memory, which has a twin on the device."""
        with self.device.current():
            return self.twins.make(count, self.dtype)

    # -- steps ----------------------------------------------------------------------------------

    def start(
        self,
        inputs: list[InputTable],
        probes: list[Probe],
        events: list[EventTable],
        exports: Sequence[Probe] = (),
    ) -> None:
        """Distribute the work over warps.

        Their pointers may be changed between calls of ``run``.
        """
        self.inputs, self.probes, self.events = inputs, probes, events
        self.exports = list(exports)
        with self.device.current():
            self.staging = Staging(self, inputs, probes, events, self.exports)
            self._stages = [self.staging, *self.staging.reserved(self._lanes)]
            self.staging.distribute()

    @property
    def longest(self) -> int:
        """Steps of a call at most, by the memory for what they record."""
        return self.staging.longest

    def run(self, first: int, steps: int) -> int:
        """Advance ``steps`` steps from step ``first``; return how many were done."""
        with held_back(self.gates.window > 0):
            begun = self.begin(first, steps, beside=False)
            done = self.gates.pass_all(first, first + begun, self._in_flight[0].ended)
        self._collect(done)
        self.gates.settle(self.code, done < begun)
        return done

    def gate(self, window: int, serve: Serve, first: int = 0) -> bool:
        """Let calls ask ``serve`` after each ``window`` steps, if they can."""
        return self.gates.set(window, serve, first)

    def follow(self, work: Callable[[], None]) -> None:
        self._behind = work

    def begin(self, first: int, steps: int, beside: bool = True) -> int:
        """Begin what ``run`` does; ``beside``: rows come to the host while the next call runs."""
        self.check_open()
        asked, steps, device = steps, self.staging.most(steps), self.device
        behind, self._behind = self._behind if steps == asked else None, None
        lane = next(one for one in self._lanes if one not in self._in_flight)
        with device.current():
            if self._in_flight:
                self._sent.synchronize()  # what the last call sent lies where this one writes
            if not self.phases_done:
                self.staging.send(first, steps, lane)
            if beside:
                self._sent.record(device.stream)
                self.gates.hold()
            lane.begin.record(device.stream)
            self.launches.advance(first, first + steps, self.phases_done)
            self.phases_done = 0
            self.findings.receive(lane.fault)
            lane.events.begin_listing()
            lane.end.record(device.stream)
            self.twins.begin_receiving()
            lane.begin_receiving(beside)
        self.staging.expect(lane)
        lane.steps = range(first, first + steps)
        self._in_flight.append(lane)
        self._done += steps
        lane.followed = behind is not None
        if behind is not None:
            behind()
        return steps

    def run_phases(self, step: int, end: int) -> None:
        """Advance the next phases of a step up to one; ``run`` advances those that are left."""
        self.check_open()
        with self.device.current():
            if not self.phases_done:
                self.staging.send(step, self.staging.most(1), self._lanes[0])
            self.launches.advance_phases(step, self.phases_done, end)
            self.device.wait()
        self.phases_done = end

    def land(self) -> int:
        """Wait for the rows and events of the call that was begun first; return its steps."""
        lane = self._in_flight[0]
        done = self.gates.pass_all(lane.steps.start, lane.steps.stop, lane.ended)
        self._collect(done)
        if not self._in_flight and self.gates.let_go():
            self.gates.settle(self.code, True)
        return done

    def _collect(self, steps: int) -> None:
        """Take the rows and events of the call that was begun first, of so many steps."""
        lane = self._in_flight[0]
        with self.device.current():
            lane.wait()
            self.device_seconds += lane.begin.time_till(lane.end) * 1e-3
            lane.events.fetch()
        for collect in lane.rows:
            collect()
        self.findings.take(lane.fault)
        self._found = lane.events.found(steps)
        self._in_flight, self.completed = self._in_flight[1:], self.completed + 1

    def found(self, number: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
        """Return steps and columns of the events of one table in the last call."""
        return self._found[number]

    def run_step(self, step: int) -> None:
        """Let instances write row ``step + 1``."""
        with self.device.current():
            self.instances.run_step(step)
            if self.staging.exports:  # taken before that, so taken again
                self.launches.export_again(step)
                for stage in self.staging.exports:
                    stage.again()
                self.device.stream.synchronize()

    def _launch_alone(self, number: int, step: int) -> None:
        """Advance a unit by one step for its instance."""
        with self._timers.launched(number), self.instances.place.current():
            self.launches.advance_unit(number, step)

    def worked(self) -> list[int]:
        """Return how many component updates the device has done."""
        self.check_open()
        done = self._done + self.queued.steps
        return [done * sum(u.count for u in self.program.units)]

    def profile_times(self) -> list[tuple[str, float]]:
        """Return name and seconds of each unit, then of the rest, as `profiling.measured` says."""
        return self._timers.times(self.device_seconds, self.threads)

    def profile_step(self) -> list[tuple[int, str, float, float]]:
        """Return nothing: a call is in flight when this is called."""
        return []

    def peak_bandwidth(self) -> float:
        """Return the bandwidth of the device's memory in bytes a second: that of a copy."""
        return peak_bandwidth(self.device)

    def check_open(self) -> None:
        """Raise NeurodriverError where the device's memory has been given back."""
        if not self._open:
            raise NeurodriverError("LPU: closed; make a new one to run again")

    def close(self) -> None:
        """Give the device's memory back."""
        if self._open:
            self._open = False
            self.gates.let_go()
            with self.device.current():
                self.device.wait()
                self.device.drain.synchronize()
                for stage in self._stages:
                    stage.free()
                self.twins.free()
                self.binding.free()
                self.code.unload()


def _planned(own: CUDABackend, given: schedule.LaunchPlan | None) -> schedule.LaunchPlan:
    """Return how wide a circuit runs."""
    units, learning, delivery = own.generated.tasks, own.generated.learning, own.delivery
    wide, word = (own.device.processors, own.device.clusters), own.dtype.itemsize
    plan = given or schedule.choose(units, *wide, word, delivery.load)
    own.delivery = delivery = delivery.ahead_in(own.generated, plan)
    reads = any("nd_silent(" in u.kernel.text for u in units)
    shape = replace(
        delivery.shaped(plan.shape),
        marks=bool(reads or learning or own.program.custom),
        gates=own.gates.possible,
    )
    return schedule.finished(
        replace(plan, shape=with_learning(shape, learning, plan.blocks)), units, word
    )


def _built(own: CUDABackend) -> Loaded:
    """Compile the text of the circuit; in a profile it counts what its parts take.

    Meanwhile arrays are drawn: both take seconds where a circuit has billions of connections.
    """
    parts = parts_of(own.generated, own.plan, own.binding)
    own.binding.symbols = table_places(parts)
    given = parts, own.dtype.name, replace(own.plan.shape, timers=current().on)
    text = device_text(*given, senders_of(own.program))
    with ThreadPoolExecutor(1, "neurodriver-compiler") as pool:
        made = pool.submit(copy_context().run, compile_cubin, text, own.device.arch)
        own.binding.draw()
    code = Loaded(own.device, made.result())
    own.delivery.bring(own.device, code, own.binding.pool)
    return code
