"""``CUDABackend``: a program bound to the memory of a GPU, advanced K steps per launch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compile.buffers import Blank
from ...compile.memory import LANES
from ...compile.program import Program, Unit
from ...custom.instances import Instances
from ...custom.on_device import DevicePlace
from ...errors import NeurodriverError
from ...kernels.device import Part, device_text, table_name
from ..tables import Events, InputTable, Probe
from . import schedule
from .compiler import compile_cubin
from .device import INT, LONG, POINTER, UNSIGNED, Device, Loaded, Pool, launch
from .feeds import EventStage, InputStage, ProbeStage
from .lane import Lane
from .transfers import Records, Tables, Twins

EXECUTORS = ("resident", "stepwise")

_HOST_MEMORY = 1 << 40
_CHUNK = 32 << 20
"""Bytes on the device, and page-locked on the host, for what one call records."""

_BEFORE, _STEPS, _AFTER = 1, 2, 4
_TYPES = (POINTER, POINTER, LONG, LONG, LONG, INT, INT, UNSIGNED)


class CUDABackend:
    """Runs a program on a GPU.

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

    Attributes
    ----------
    device_seconds : float
        Time that launches took on the device so far.
    """

    threads = 1

    def __init__(
        self,
        program: Program,
        device: int = 0,
        executor: str = "resident",
        plan: schedule.Plan | None = None,
        fuzz: int = 0,
    ) -> None:
        if executor not in EXECUTORS:
            known = " or ".join(map(repr, EXECUTORS))
            raise NeurodriverError(f"executor must be {known}, got '{executor}'")
        self.program, self.dtype, self.executor = program, program.dtype, executor
        self.fuzz = fuzz
        self.device = Device(device)
        program.memory.allocate(_HOST_MEMORY)
        place = DevicePlace(self)
        with self.device.current():
            self.pool = Pool(self.device, self._wanted() | place.wanted())
            place.fill()
            self.instances = Instances(program, place)  # adds the kernels of templates
        chosen = plan or schedule.choose(
            program.units, self.device.processors, self.device.clusters
        )
        self.plan = schedule.with_ahead(chosen, program.units, self.dtype.itemsize)
        self._asks = any(unit.kernel.record for unit in program.units)
        parts = [
            Part(u.kernel, own, self._known(u))
            for u, own in zip(program.units, self.plan.own, strict=True)
        ]
        text = device_text(parts, self.dtype.name, self.plan.shape)
        self.device_seconds = 0.0
        self._arrivals = 0
        self._done = 0
        with self.device.current():
            self.code = Loaded(self.device, compile_cubin(text, self.device.arch))
            self._advance, self._once = map(self.code.function, ("nd_advance", "nd_once"))
            self.twins = Twins(self.device)
            self._lanes = [Lane(self.device) for _ in range(2)]
            self._sent = self.device.cuda.Event()
        self.instances.bind(
            {
                u.groups[0]: (u, partial(self._launch_alone, number))
                for number, u in enumerate(program.units)
                if u.groups[0] in self.instances.made
            }
        )
        self.inputs: list[InputTable] = []
        self.probes: list[Probe] = []
        self.events: list[Events] = []
        self.exports: list[Probe] = []
        self._stages: list[Any] = []
        self._flying: list[Lane] = []
        self._arrived = self._lanes[0]
        self._landed = 0
        self._open = True

    # -- memory ---------------------------------------------------------------------------------

    def _wanted(self) -> dict[str, int]:
        """Return the bytes of every array: key -> bytes."""
        memory = self.program.memory
        wanted = {f"ring:{v}": n for v, n in memory.nbytes().items()}
        wanted |= {f"active:{v}": a.nbytes for v, a in memory.active.items()}
        for number, unit in enumerate(self.program.units):
            for key in unit.kernel.pointers:
                value = unit.values.get(key)
                if isinstance(value, Blank):
                    wanted[f"{number}:{key}"] = value.nbytes
                elif isinstance(value, np.ndarray):
                    real = value.dtype.kind == "f"
                    size = self.dtype.itemsize if real else value.itemsize
                    wanted[f"{number}:{key}"] = value.size * size
            wanted[f"{number}:table"] = 8 * sum(self._sizes(unit))
        wanted["tables"] = 8 * max(len(self.program.units) + len(self.program.custom), 1)
        return wanted

    @staticmethod
    def _sizes(unit: Unit) -> list[int]:
        kernel = unit.kernel
        return [max(len(t), 1) for t in (kernel.pointers, kernel.integers, kernel.scalars)]

    def ring_address(self, variable: str) -> int:
        """Return where row 0 of a variable begins."""
        return self.pool.address[f"ring:{variable}"] + LANES * self.dtype.itemsize

    def active_address(self, variable: str) -> int:
        """Return the notes on rows of events of a variable, 0 where there are none."""
        return self.pool.address.get(f"active:{variable}", 0)

    def _row_bytes(self, variable: str) -> int:
        return self.program.memory.rings[variable].width * self.dtype.itemsize

    def _table(self, number: int, unit: Unit) -> NDArray[np.uint64]:
        """Return a unit's arguments as they lie in constant memory."""
        pointers = [self._address(number, key) for key in unit.kernel.pointers] or [0]
        integers = [self._integer(unit, key) for key in unit.kernel.integers] or [0]
        scalars = np.array([float(unit.values[k]) for k in unit.kernel.scalars] or [0.0])
        whole = np.array([*pointers, *integers], dtype=np.uint64)
        return np.concatenate([whole, scalars.view(np.uint64)])

    def _address(self, number: int, key: str) -> int:
        if key.startswith("ring:"):
            return self.ring_address(key[5:])
        if key.startswith("active:"):
            return self.active_address(key[7:])
        value: Any = self.program.units[number].values.get(key)
        if hasattr(value, "gpudata"):  # an instance holds it, too
            return int(value.gpudata)
        return self.pool.address[f"{number}:{key}"]

    def _known(self, unit: Unit) -> tuple[int | None, ...]:
        """Return the integers that are part of a kernel's text; the seed is not."""
        keys = unit.kernel.integers
        return tuple(None if key == "seed" else self._integer(unit, key) for key in keys)

    def _integer(self, unit: Unit, key: str) -> int:
        kind, _, name = key.partition(":")
        if kind in ("depth", "width"):
            return int(getattr(self.program.memory.rings[name], kind))
        return int(unit.values[key]) & 0xFFFF_FFFF_FFFF_FFFF

    def publish(self) -> None:
        """Bring the program to the device; fill row 0 with outputs, and every row with row 0."""
        device, units = self.device, self.program.units
        with device.current():
            for variable in self.program.memory.rings:
                device.upload(self.ring_address(variable), self._host_row(variable))
            for variable, notes in self.program.memory.active.items():
                device.upload(self.active_address(variable), notes)
            for number, unit in enumerate(units):
                self._upload_unit(number, unit)
            tables = [self.pool.address[f"{i}:table"] for i in range(len(units))]
            device.upload(self.pool.address["tables"], np.array(tables or [0], np.uint64))
            self._call_once(0)
            for number, unit in enumerate(units):
                self._take_constants(number, unit)
            self._call_once(1)
            self.instances.pre_run()
            for variable in self.program.memory.rings:
                device.download(self.ring_address(variable), self._host_row(variable))
                self._spread(variable)

    def _upload_unit(self, number: int, unit: Unit) -> None:
        for key in unit.kernel.pointers:
            value = unit.values.get(key)
            if isinstance(value, np.ndarray):
                column = value.astype(self.dtype) if value.dtype.kind == "f" else value
                self.device.upload(self._address(number, key), column)
        self.device.upload(self.pool.address[f"{number}:table"], self._table(number, unit))

    def _take_constants(self, number: int, unit: Unit) -> None:
        """Bring the shared constants, computed on the device, into constant memory."""
        table = np.empty(sum(self._sizes(unit)), np.uint64)
        self.device.download(self.pool.address[f"{number}:table"], table)
        for key, value in zip(unit.kernel.scalars, table[-self._sizes(unit)[2] :], strict=False):
            unit.values[key] = float(value.view(np.float64))
        self.device.upload(self.code.address(table_name(number)), table)

    def _call_once(self, what: int) -> None:
        most = max((u.count for u in self.program.units), default=1)
        blocks = min(-(-most // 256), 8 * self.device.processors)
        values = (self.pool.address["tables"], what)
        launch(self.device, self._once, blocks, 256, values, (POINTER, INT))
        self.device.stream.synchronize()

    def _host_row(self, variable: str) -> NDArray[Any]:
        row: NDArray[Any] = self.program.memory.get_buffer(variable)[0]
        return row

    def _spread(self, variable: str) -> None:
        """Copy row 0 into all rows."""
        ring, size = self.program.memory.rings[variable], self._row_bytes(variable)
        start, rows = self.ring_address(variable), 1
        while rows < ring.depth:
            more = min(rows, ring.depth - rows)
            self.device.cuda.memcpy_dtod(start + rows * size, start, more * size)
            rows += more

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable; before the first step."""
        self._host_row(variable)[elements] = values
        with self.device.current():
            self.device.upload(self.ring_address(variable), self._host_row(variable))
            self._spread(variable)

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return a copy of the row of a step."""
        self._check_open()
        ring, size = self.program.memory.rings[variable], self._row_bytes(variable)
        out = np.empty(ring.width, self.dtype)
        with self.device.current():
            self.device.download(self.ring_address(variable) + step % ring.depth * size, out)
        return out

    def buffer(self, count: int) -> NDArray[Any]:
        """Return zeros in page-locked memory, which has a twin on the device."""
        with self.device.current():
            return self.twins.make(count, self.dtype)

    def state(self, number: int, key: str) -> NDArray[Any]:
        """Return a copy of the array of a state of a kernel."""
        out = np.empty(len(self.program.units[number].values[key]), self.dtype)
        with self.device.current():
            self.device.download(self._address(number, key), out)
        return out

    # -- steps ----------------------------------------------------------------------------------

    def start(
        self,
        inputs: list[InputTable],
        probes: list[Probe],
        events: list[Events],
        exports: Sequence[Probe] = (),
    ) -> None:
        """Deal the work to warps.

        Parameters
        ----------
        inputs, probes, events, exports : list
            Their pointers may be changed between calls of ``run``.
        """
        self.inputs, self.probes, self.events = inputs, probes, events
        self.exports = list(exports)
        with self.device.current():
            self._inputs = [InputStage(self, t) for t in inputs]
            self._probes = [ProbeStage(self, p) for p in probes]
            self._events = [EventStage(self, e) for e in events]
            self._exports = [ProbeStage(self, p, exported=True) for p in self.exports]
            self._kept: list[Sequence[ProbeStage | EventStage]]
            self._kept = [self._probes, self._events, self._exports]
            kinds = ((schedule.INJECT, inputs), (schedule.SAMPLE, probes),
                     (schedule.EVENTS, events), (schedule.EXPORT, self.exports))  # fmt: skip
            warps = self.plan.warps
            others = [
                [schedule.pieces(what, i, t.count, warps) for i, t in enumerate(tables)]
                for what, tables in kinds
            ]
            lists = self._lists_of(others)
            self._steps = len(lists)  # those that advance a circuit; the others are launched alone
            self._lists = self._placed(lists + self._alone())
            given = self.code.address("nd_given")
            self._tables = Tables(self.device, given, [len(tables) for _, tables in kinds])
            self._stages = [*self._inputs, *self._probes, *self._events, *self._exports]
            self._stages += [self._tables, *(lane.records for lane in self._lanes)]
        rows = sum(stage.row_bytes for kind in self._kept[:2] for stage in kind)
        self._longest = max(1, _CHUNK // rows) if rows else 1 << 24

    def _lists_of(self, others: list[list[schedule.Items]]) -> list[schedule.Lists]:
        """Return the lists of the launches of a step; the first one injects the first inputs."""
        units = self.program.units
        flat = [items for kind in others for items in kind]
        if self.executor == "resident":
            return [schedule.deal(self.plan, units, flat)]
        first = [np.concatenate(others[0])] if others[0] else []
        groups = [
            schedule.unit_items(u, i, o)[0]
            for i, (u, o) in enumerate(zip(units, self.plan.own, strict=True))
            if not u.stepwise
        ]
        groups += [np.concatenate(flat)] if flat else []
        empty = [np.zeros((0, 4), np.int32)]
        return [schedule.one_each(items) for items in [*(first or empty), *groups]]

    def _alone(self) -> list[schedule.Lists]:
        """Return the lists of the units that instances launch."""
        made = [(i, u) for i, u in enumerate(self.program.units) if u.stepwise]
        self._place_of = {i: self._steps + n for n, (i, _) in enumerate(made)}
        return [schedule.one_each(schedule.unit_items(u, i, self.plan.own[i])[0]) for i, u in made]

    def _launch_alone(self, number: int, step: int) -> None:
        """Advance a unit by one step for its instance."""
        with self.instances.place.current():
            place = self._place_of[number]
            self._launch(place, step, step + 1, step + 1, _STEPS, "alone")

    def _placed(self, lists: list[schedule.Lists]) -> list[tuple[int, int, int, Any]]:
        """Bring lists to the device: addresses, warps, and what holds the memory."""
        out = []
        for one in lists:
            warps = len(one.offsets) - 1
            per_block = self.plan.shape.threads // schedule.WARP
            whole = -(-warps // per_block) * per_block  # spare warps of the last block idle
            offsets = np.concatenate([one.offsets, np.full(whole - warps, one.offsets[-1])])
            memory = self.device.cuda.mem_alloc(max(one.items.nbytes + offsets.nbytes, 16))
            items = int(memory)
            self.device.upload(items, one.items)
            self.device.upload(items + one.items.nbytes, offsets.astype(np.int32))
            out.append((items, items + one.items.nbytes, whole // per_block, memory))
        return out

    @property
    def longest(self) -> int:
        """Steps of a call at most, by the memory for what they record."""
        return self._longest

    @property
    def stepwise(self) -> bool:
        """Whether ``run_step`` has to follow each step."""
        return self.instances.stepwise

    def run(self, first: int, steps: int) -> int:
        """Advance ``steps`` steps from step ``first``; return how many were done."""
        done = self.begin(first, steps, beside=False)
        self.land()
        return done

    @property
    def landed(self) -> int:
        """How many calls have brought their rows so far."""
        return self._landed

    def begin(self, first: int, steps: int, beside: bool = True) -> int:
        """Begin to advance ``steps`` steps from step ``first``; return how many.

        Parameters
        ----------
        beside : bool
            Whether its rows come to the host while the next call runs.
        """
        self._check_open()
        steps = min(steps, self._longest)
        lane = next(one for one in self._lanes if one not in self._flying)
        device = self.device
        with device.current():
            if self._flying:
                self._sent.synchronize()  # what the last call sent lies where this one writes
            self._stage(first, steps, lane.records)
            if beside:
                self._sent.record(device.stream)
            lane.begin.record(device.stream)
            if self.executor == "resident":
                self._resident(first, steps)
            else:
                self._stepwise(first, steps)
            lane.end.record(device.stream)
            self.twins.begin_receiving()
            if beside:
                device.drain.wait_for_event(lane.end)
            lane.records.begin_receiving(beside)
            lane.here.record(device.drain if beside else device.stream)
        lane.rows = [s.collector(lane.records) for s in (*self._probes, *self._exports)]
        lane.events = [s.collector(lane.records) for s in self._events]
        self._flying.append(lane)
        self._done += steps
        return steps

    def land(self) -> None:
        """Wait for the rows and events of the call that was begun first."""
        lane = self._flying[0]
        with self.device.current():
            lane.here.synchronize()
            self.device_seconds += lane.begin.time_till(lane.end) * 1e-3
        for collect in lane.rows:
            collect()
        self._arrived = lane
        self._found = [find() for find in lane.events]
        self._flying, self._landed = self._flying[1:], self._landed + 1

    def _stage(self, first: int, steps: int, records: Records) -> None:
        """Begin to bring to the device what a chunk needs, and make room for what it gives."""
        tables = self._tables
        self.twins.forget()
        moved = tables.room(steps)
        for i, stage in enumerate(self._inputs):
            if stage.order(first, steps) or moved:
                tables.put_actions(i, stage.actions)
            tables.put(0, i, stage.bring(tables.actions_at(i)))
        sizes = [stage.expect(first, steps) for kind in self._kept for stage in kind]
        place = iter(records.room(sizes))
        for number, kind in enumerate(self._kept, 1):
            for i, one in enumerate(kind):
                tables.put(number, i, one.fields(first, next(place)))
        self.twins.begin_sending()
        tables.begin_sending(first, self.fuzz)

    def _launch(self, number: int, first: int, last: int, end: int, parts: int, width: str) -> None:
        items, offsets, blocks, _ = self._lists[number]
        values = (items, offsets, first, last, end, parts, schedule.WIDTHS.index(width))
        threads = self.plan.shape.threads
        arrivals = (*values, self._arrivals)
        shared = self.plan.shape.scratch(self.dtype.itemsize) if self._asks else 0
        launch(self.device, self._advance, blocks, threads, arrivals, _TYPES, width, shared)
        if width == "grid":
            meetings = (last - first) * bool(parts & _STEPS) + bool(parts & _BEFORE)
            self._arrivals = (self._arrivals + blocks * meetings) & 0xFFFF_FFFF

    def _resident(self, first: int, steps: int) -> None:
        end = first + steps
        self._launch(0, first, end, end, _BEFORE | _STEPS | _AFTER, self.plan.width)

    def _stepwise(self, first: int, steps: int) -> None:
        end = first + steps
        if self._lists[0][2]:
            self._launch(0, first, first, end, _BEFORE, "alone")
        for step in range(first, end):
            for number in range(1, self._steps):
                self._launch(number, step, step + 1, end, _STEPS, "alone")
        if self._exports:
            self._launch(self._steps - 1, first, end, end, _AFTER, "alone")

    def found(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return steps and columns of the events of one table in the last call."""
        return self._found[number]

    def run_step(self, step: int) -> None:
        """Let instances write row ``step + 1``."""
        with self.device.current():
            self.instances.run_step(step)
            if self._exports:  # taken before that, so taken again
                last = self._steps - 1
                self._launch(last, step, step + 1, step + 1, _AFTER, "alone")
                for stage in self._exports:
                    stage.again()
                self.device.stream.synchronize()

    def worked(self) -> list[int]:
        """Return how many component updates the device has done."""
        self._check_open()
        return [self._done * sum(u.count for u in self.program.units)]

    def _check_open(self) -> None:
        if not self._open:
            raise NeurodriverError("LPU: closed; make a new one to run again")

    def close(self) -> None:
        """Give the device's memory back."""
        if self._open:
            self._open = False
            with self.device.current():
                self.device.wait()
                self.device.drain.synchronize()
                for stage in self._stages:
                    stage.free()
                self.twins.free()
                self.pool.free()
                self.code.unload()
