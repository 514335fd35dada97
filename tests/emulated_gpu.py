"""A GPU of plain Python: what the backend sends to it, and gets from it, is what a GPU would see.

Addresses are those of host memory. Copies and launches are done late, at the next wait, from what
page-locked memory holds then; new memory holds garbage; a copy beyond an allocation fails. The
models are a few that need exact arithmetic only, so the CPU backend gives the same bits.
"""

from __future__ import annotations

import ctypes as ct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from neurodriver import Circuit, Connections, NDComponent, Parameter, State, StepInput
from neurodriver.backends.cuda import (
    backend,
    binding,
    event_lists,
    executors,
    moves,
    peers,
    warp_items,
)
from neurodriver.backends.cuda import device as device_module
from neurodriver.backends.cuda import timers as timers
from neurodriver.backends.cuda.transfers import Tables, at
from neurodriver.circuit.circuit import Group, Port
from neurodriver.codegen.simt.device import TIMER_ROWS
from neurodriver.plan.edges import edges_of
from neurodriver.plan.program import Program

_GARBAGE = 0xA5
WAIT = 20.0
"""Seconds that a kernel waits for words of others at most; a test fails then."""

_ITEM = np.dtype([(name, np.int32) for name in ("what", "first", "end", "which")])


class Halving(NDComponent):
    """Halves its potential and adds the current; from 1 on it spikes and loses 1."""

    accesses = ("I",)
    updates = ("spike_state", "V")
    params = {"start": Parameter("mV", default=0.0, doc="potential at the beginning")}
    states = {"V": State("mV", "start", doc="potential")}
    update = "V = V * 0.5 + I; if (V >= 1) { V = V - 1; spike_state = 1; }"


class Twitch(NDComponent):
    """Turns spikes into a current."""

    accesses = ("spike_state",)
    updates = ("I",)
    states = {"I": State("1", doc="current")}
    update = "I = 0.375 * spike_state;"


class Share(NDComponent):
    """Turns a potential into a current."""

    accesses = ("V",)
    updates = ("I",)
    states = {"I": State("1", doc="current")}
    update = "I = 0.125 * V;"


MODELS = Halving, Twitch, Share


def random_circuit(neurons: int, seed: int) -> tuple[Circuit, list[Any]]:
    """Return neurons joined by currents of their spikes and potentials, and input for them."""
    rng = np.random.default_rng(seed)
    links = 3 * neurons
    index = neurons + np.arange(2 * links, dtype=np.int32)
    ends = rng.integers(0, neurons, (4, links)).astype(np.int32)
    delays = rng.integers(1, 6, (4, links)) * 1e-4
    groups = [
        (Halving, neurons, {"start": rng.integers(0, 8, neurons) / 8}, None),
        (Twitch, links, {}, None),
        (Share, links, {}, None),
    ]
    joined = [
        Connections("spike_state", "spike_state", ends[0], index[:links], delays[0]),
        Connections("V", "V", ends[1], index[links:], delays[1]),
        Connections("I", "I", index[:links], ends[2], delays[2]),
        Connections("I", "I", index[links:], ends[3], delays[3]),
    ]
    circuit = Circuit.from_arrays(groups, joined)
    currents = rng.integers(1, 8, neurons) / 8
    return circuit, [StepInput("I", circuit.uids[:neurons], currents, 0.0005, 0.02)]


class Stream:
    """Work in order; what is in it is done when somebody waits.

    Parameters
    ----------
    before : Stream, optional
        One whose work may overtake this one's: all of it is done first where ``late`` is set.
    """

    late = True

    def __init__(self, before: Stream | None = None) -> None:
        self.handle, self.before = 0, before
        self.work: list[Callable[[], Any]] = []
        self.aside: Future[None] | None = None

    def run(self, until: Any = None) -> None:
        """Do what waits, up to a piece of it."""
        if self.aside is not None:
            self.aside.result()
            self.aside = None
        self._do(until)

    def _do(self, until: Any) -> None:
        if self.before and self.late:
            self.before.run()
        while self.work and (until is None or until in self.work):
            self.work.pop(0)()

    def begin(self, until: Any) -> None:
        """Do what waits, up to a piece of it, in a thread."""
        if self.aside is not None and self.aside.done():
            self.aside.result()
            self.aside = None
        if self.aside is None:
            self.aside = Future()
            Thread(target=self._do_aside, args=(until, self.aside), daemon=True).start()

    def _do_aside(self, until: Any, told: Future[None]) -> None:
        try:
            self._do(until)
            told.set_result(None)
        except BaseException as error:
            told.set_exception(error)

    synchronize = run

    def wait_for_event(self, event: Event) -> None:
        """Do nothing more before the event."""
        self.work.append(event.synchronize)


class Event:
    """A place in a stream."""

    def record(self, stream: Stream) -> None:
        self.stream, self.mark = stream, lambda: None
        stream.work.append(self.mark)

    def synchronize(self) -> None:
        if self.mark in self.stream.work:
            self.stream.run(self.mark)

    def query(self) -> bool:
        """Whether it has happened; somebody who asks may wait for it beside other things."""
        if self.mark in self.stream.work:
            self.stream.begin(self.mark)
            return False
        return True

    def time_till(self, other: Event) -> float:
        assert other.mark not in other.stream.work, "has not happened yet"
        return 1.0


class Memory(SimpleNamespace):
    """An allocation on the device."""

    def __int__(self) -> int:
        return int(self.array.ctypes.data)

    def free(self) -> None:
        self.device.forget(int(self))


class EmulatedDevice:
    """Stands for ``Device``.

    Attributes
    ----------
    copies : list of (kind, bytes)
        Of the last call: ``to``, ``from`` and ``launch``.
    """

    arch, name, clusters, processors, busy = "sm_90", "emulated", False, 2, True

    def __init__(self, number: int = 0, yields: bool = False) -> None:
        self.number, self.yields = number, yields
        self.driver = None
        self.blocks: dict[int, int] = {}
        self.locked: dict[int, int] = {}
        self.kept: list[Any] = []
        self.copies: list[tuple[str, int]] = []
        self.answers: list[Any] = []
        self.following = False
        self.units: Callable[[int, int, int, int], None]
        self.stream = Stream()
        self.drain, self.lists = Stream(self.stream), Stream(self.stream)
        self.queue = self.stream.work
        self.before_wait: Callable[[], None] = lambda: None

    event = Event

    def at_end(self, end: Callable[[], Any]) -> None:
        """Nothing ends."""

    @contextmanager
    def current(self) -> Iterator[None]:
        yield

    def free(self) -> int:
        return 1 << 30

    def allocate(self, size: int) -> Memory:
        memory = Memory(device=self, array=np.full(size, _GARBAGE, np.uint8))
        self.blocks[int(memory)] = size
        self.kept.append(memory.array)
        return memory

    def forget(self, address: int) -> None:
        assert not self.queue, "memory is given back while something may use it"
        del self.blocks[address]

    def pinned(self, count: int, dtype: Any) -> np.ndarray:
        array = np.full(count * np.dtype(dtype).itemsize, _GARBAGE, np.uint8)
        self.locked[array.ctypes.data] = array.nbytes
        self.kept.append(array)
        return array.view(dtype)

    def _within(self, address: int, size: int, blocks: dict[int, int]) -> bool:
        return any(start <= address and address + size <= start + n for start, n in blocks.items())

    def _copy(self, to: int, source: int, size: int) -> None:
        self.wait()
        ct.memmove(to, source, size)

    def upload(self, address: int, array: np.ndarray) -> None:
        flat = np.ascontiguousarray(array)
        assert not flat.nbytes or self._within(address, flat.nbytes, self.blocks)
        self._copy(address, flat.ctypes.data, flat.nbytes)

    def download(self, address: int, out: np.ndarray) -> None:
        assert self._within(address, out.nbytes, self.blocks)
        self._copy(out.ctypes.data, address, out.nbytes)

    def send(self, address: int, source: int, size: int) -> None:
        assert self._within(address, size, self.blocks)
        self.copies.append(("to", size))
        if self._within(source, size, self.locked):
            self.queue.append(lambda: ct.memmove(address, source, size))
        else:
            now = ct.string_at(source, size)
            self.queue.append(lambda: ct.memmove(address, now, size))

    def receive(self, target: int, address: int, size: int, beside: bool = False) -> None:
        assert self._within(address, size, self.blocks)
        assert self._within(target, size, self.locked), "a copy that is not page-locked waits"
        self.copies.append(("from", size))
        work = self.drain.work if beside else self.stream.work
        work.append(lambda: ct.memmove(target, address, size))

    def moves(self, count: int, pieces: int, to: int, begin: int) -> None:
        """Move pieces between the device and page-locked memory."""
        table = at(pieces, (count, 3), np.uint64).tolist()
        for there, here, size in table:
            ends = (self.locked, self.blocks) if to else (self.blocks, self.locked)
            for address, blocks in zip((to + there, begin + here), ends, strict=True):
                assert size % 4 == 0 and self._within(address, size, blocks)
        self.copies.append(("moves", sum(size for _, _, size in table)))
        for there, here, size in table:
            self.queue.append(partial(ct.memmove, to + there, begin + here, size))

    def receive_list(self, target: int, address: int, size: int) -> None:
        assert self._within(address, size, self.blocks)
        assert self._within(target, size, self.locked)
        self.copies.append(("from", size))
        self.lists.work.append(lambda: ct.memmove(target, address, size))

    def clear(self, address: int, size: int) -> None:
        assert self._within(address, size, self.blocks)
        self.queue.append(lambda: ct.memset(address, 0, size))

    def duplicate(self, target: int, source: int, size: int) -> None:
        assert self._within(target, size, self.blocks) and self._within(source, size, self.blocks)
        self.queue.append(lambda: ct.memmove(target, source, size))

    def wait(self) -> None:
        self.before_wait()
        self.stream.run()
        self.rests()

    def rests(self) -> None:
        self.following = False

    synchronize = wait


class EmulatedCode:
    """Stands for ``Loaded``: kernels by name, constant memory by name."""

    def __init__(self, device: EmulatedDevice, cubin: bytes) -> None:
        self._device = device
        self.memory: dict[str, Memory] = {}
        device.code = self

    def function(self, name: str) -> str:
        return name

    def address(self, name: str) -> int:
        if name not in self.memory:
            self.memory[name] = memory = self._device.allocate(1 << 20)
            memory.array[:] = 0
        return int(self.memory[name])

    def unload(self) -> None:
        """Nothing is held."""


def is_relay(model: type[NDComponent]) -> bool:
    """Return whether components of a model hold what an input port holds."""
    return model.__name__.startswith("PortRelay")


class Kernels:
    """What the items of a launch do, as ``device.cuh`` tells it."""

    def __init__(self, own: EmulatedBackend) -> None:
        self.program, self.dtype = own.program, own.dtype
        self.owner = own
        circuit = self.program.circuit
        self.edges = {
            (n, a.name): edges_of(self.program.layout, n, a.name, a.variable)
            for n, group in enumerate(circuit.groups)
            if group.model in MODELS or is_relay(group.model)
            for a in group.model.accesses
        }
        given = own.device.code.address("nd_chunk")
        self.given = at(given, (Tables.FIRST,), np.int64)
        self.shut = False  # as the host ends a launch that waits
        columns = len(self.program.units) + len(timers.REST)
        self.timers = at(own.device.code.address("nd_timers"), (TIMER_ROWS, columns), np.uint64)

    def advance(self, items: np.ndarray, first: int, last: int, end: int, parts: int) -> None:
        """Do a launch."""
        window, gate, begin, sent = (int(word) for word in self.given[8:12])
        words = at(gate, (33,), np.int64)
        while window and (stop := first + window - (first - begin) % window) < last:
            self.go(items, first, stop, stop, parts)
            if self.shut:
                words[0] = first
                return
            words[32] = 0
            if sent >= 0:
                first = stop
                continue
            words[0] = stop
            while 0 <= words[16] < stop:
                time.sleep(1e-5)
            if words[16] < 0:  # a kernel notes events of the row it has written, too
                noted = np.isin(items["what"], (warp_items.EVENTS, warp_items.RECORDED))
                for item in items[noted]:
                    self.note_all(item, stop)
                return
            first = stop
        self.go(items, first, last, end, parts)
        if window and sent >= 0:
            words[0] = first if self.shut else last

    def go(self, items: np.ndarray, first: int, last: int, end: int, parts: int) -> None:
        """Do the steps before a gate."""
        if parts & 1:
            for item in items[items["what"] == warp_items.INJECT]:
                self.inject(item, first)
            for item in items[items["what"] == warp_items.BRING]:
                self.bring(item, first)
        if self.shut:
            return
        stage = [self.stage(int(what)) for what in items["what"][::-1]]
        order = np.argsort(stage, kind="stable")
        for k in range(first, last) if parts & 2 else []:
            for item in items[::-1][order]:
                self.do(item, k, end)
                self.count(item, 7)
            self.timers[k % TIMER_ROWS, -1] += np.uint64(100)
        if parts & 4:
            for item in items[items["what"] == warp_items.EXPORT]:
                self.publish(item, last, True)

    def stage(self, what: int) -> int:
        """Return the stage of a unit; all other items belong to the last one."""
        return self.program.units[what].stage if what >= 0 else self.program.stages - 1

    def do(self, item: Any, k: int, end: int) -> None:
        """Do an item of a step."""
        if item["what"] >= 0:
            for group in self.program.units[item["what"]].groups:
                self.unit(group, int(item["first"]), int(item["end"]), k)
        elif item["what"] == warp_items.SAMPLE:
            self.sample(item, k)
        elif item["what"] in (warp_items.EVENTS, warp_items.RECORDED):
            self.scan(item, k)
        elif item["what"] == warp_items.EXPORT:
            self.publish(item, k)
        elif k + 1 < end:
            (self.bring if item["what"] == warp_items.BRING else self.inject)(item, k + 1)

    def count(self, item: Any, cycles: int) -> None:
        """Add cycles to the row of a warp, in the column of a unit, of recording or of inputs."""
        what = int(item["what"])
        place = what if what >= 0 else (-2 if what == warp_items.INJECT else -3)
        self.timers[int(item["first"]) % TIMER_ROWS, place] += np.uint64(cycles)

    def rows(self, variable: str) -> np.ndarray:
        """Return the ring of a variable."""
        ring = self.program.layout.rings[variable]
        return at(self.owner.ring_address(variable), (ring.depth, ring.width), self.dtype)

    def active(self, variable: str) -> np.ndarray:
        """Return the notes on rows of events."""
        depth = self.program.layout.rings[variable].depth
        return at(self.owner.active_address(variable), (depth,), np.int64)

    def unit(self, number: int, first: int, end: int, k: int) -> None:
        """Advance components of a group."""
        group: Group = self.program.circuit.groups[number]
        (access,) = group.model.accesses
        edges, variable = self.edges[number, access.name], access.variable
        rows = self.rows(variable)
        step = np.broadcast_to(k - edges.back, edges.element.shape)
        values = rows[step % len(rows), edges.element].copy()
        if self.program.circuit.kinds.is_event(variable):
            values[(step > 0) & (self.active(variable)[step % len(rows)] != step)] = 0
        at_place = self.program.layout.positions.get(number, np.arange(group.count))
        total = np.zeros(int(at_place.max()) + 1, self.dtype)
        np.add.at(total, edges.target, values)  # one after the other, in this order
        mine = np.flatnonzero((at_place >= first) & (at_place < end))
        total = total[at_place]
        if group.model is Halving:
            where = self.program.layout.elements(number, "V")[mine]
            V = self.rows("V")
            new = V[k % len(V), where] * self.dtype.type(0.5) + total[mine]
            spikes = new >= 1
            V[(k + 1) % len(V), where] = np.where(spikes, new - 1, new)
            self.send("V", first, end, self.program.layout.elements(number, "V"), k + 1)
            if "spike_state" in self.program.layout.rings:
                out, place = (
                    self.rows("spike_state"),
                    self.program.layout.elements(number, "spike_state"),
                )
                out[(k + 1) % len(out), place[mine]] = spikes
                self.send("spike_state", first, end, place, k + 1)
                if spikes.any():
                    self.active("spike_state")[(k + 1) % len(out)] = k + 1
        else:
            factor = 1.0 if is_relay(group.model) else 0.375 if group.model is Twitch else 0.125
            (own,) = group.model.updates
            out, place = self.rows(own), self.program.layout.elements(number, own)
            out[(k + 1) % len(out), place[mine]] = total[mine] * self.dtype.type(factor)
            self.send(own, first, end, place, k + 1)

    def number_of(self, row: int) -> tuple[int, int]:
        """Return the number of a row among all that kernels exchange, and its place."""
        number = row + int(self.given[11]) - int(self.given[10])
        return number, number % int(self.given[12])

    def send(self, variable: str, first: int, end: int, place: Any, k: int) -> None:
        """Send what components have in row k to other GPUs: spikes 32 in a word, and values."""
        start = int(place.min()) if len(place) else 0
        row = self.rows(variable)[k % len(self.rows(variable))]
        fields = at(int(self.given[13]), (int(self.given[15]), 5), np.int64)
        for ring, words, values, slots, width in fields.tolist():
            if ring != self.owner.ring_address(variable) or self.shut:
                continue
            number, slot = self.number_of(k)
            for i in range(start + first, start + end, 32) if words else []:
                some = row[i : min(i + 32, start + end)]
                bits = int((some != 0) @ (1 << np.arange(len(some), dtype=np.int64)))
                word = at(words + 8 * (slot * slots + i // 16), (2,), np.uint32)
                word[:] = bits, number << 1
            if not words:
                size = width * self.dtype.itemsize // 4
                parts = at(values + 8 * size * slot, (size, 2), np.uint32)
                mine = slice(*(n * self.dtype.itemsize // 4 for n in (start + first, start + end)))
                parts[mine, 0] = row[start + first : start + end].view(np.uint32)
                parts[mine, 1] = number
            assert values > words and width == 16 * slots

    def bring(self, item: Any, k: int) -> None:
        """Bring what the warps of others have sent."""
        taker = at(int(self.given[14]) + 8 * 17 * int(item["which"]), (17,), np.int64).tolist()
        ring, active, width, depth, start, back, _, _, number, words, values, *rest = taker
        places, elements, _, _, slots, size = rest
        row, window = k - back, int(self.given[8])
        comes = k + 1 - window > int(self.given[10])
        _, table, actions, *_ = self.fields(0, number)
        count = self.fields(0, number)[7]
        action = int(at(actions + 4 * (k - int(self.given[4])), (1,), np.int32)[0])
        if not comes and (action == -2 or row < 0):
            return
        to = at(ring, (depth, width), self.dtype)[row % depth, start : start + count]
        sent, slot = self.number_of(k + 1 - window)
        given = np.zeros(count, self.dtype)
        if not comes and action >= 0:
            given = at(table + action * count * self.dtype.itemsize, (count,), self.dtype)
        if words or not comes:
            pass
        else:
            at_words = values + 2 * self.dtype.itemsize * size * slot
            where = at(elements, (count,), np.int32)[int(item["first"]) : int(item["end"])]
            word = self.dtype.itemsize // 4
            parts = at(at_words, (size, word, 2), np.uint32)
            self.wait(lambda: (parts[where, :, 1] == sent).all())
            given[int(item["first"]) : int(item["end"])] = np.ascontiguousarray(
                parts[where, :, 0]
            ).view(self.dtype)[:, 0]
        for i in range(int(item["first"]), int(item["end"])):
            mine = slice(i, i + 1)
            if words:
                where, mask, before, _ = at(places + 16 * i, (4,), np.int32).tolist()
                read = np.flatnonzero(mask >> np.arange(32) & 1)
                mine = slice(before, before + len(read))
            if words and comes:
                word = at(words + 8 * (slot * slots + where), (2,), np.uint32)
                self.wait(lambda word=word: word[1] >> 1 == sent)  # type: ignore[misc]
                given[mine] = int(word[0]) >> read & 1
            to[mine] = given[mine]
            if active and to[mine].any():
                at(active, (depth,), np.int64)[row % depth] = row

    def wait(self, come: Callable[[], bool]) -> None:
        """Wait for words of others, until the host ends the launch, or for too long."""
        end = time.monotonic() + WAIT
        while not self.shut and not come():
            time.sleep(1e-5)
            self.shut = bool(at(int(self.given[9]), (17,), np.int64)[16] < 0)
            assert time.monotonic() < end, "words of another GPU do not come"

    def fields(self, number: int, row: int) -> list[int]:
        """Return the fields of a row of a table."""
        fields = Tables.FIELDS[number]
        address = int(self.given[number]) + 8 * fields * row
        return [int(n) for n in at(address, (fields,), np.int64)]

    def table(self, number: int, item: Any) -> list[int]:
        """Return the fields of an item's row of a table."""
        return self.fields(number, int(item["which"]))

    def inject(self, item: Any, k: int) -> None:
        """Write values into a row of the inputs."""
        fields = self.table(0, item)
        ring, table, actions, active, width, depth, start, count, back, words, *_ = fields
        place = k - int(self.given[4])
        action, row = int(at(actions + 4 * place, (1,), np.int32)[0]), k - back
        window, begin = int(self.given[8]), int(self.given[10])
        piece = slice(int(item["first"]), int(item["end"]))
        size = count * self.dtype.itemsize
        if words and k - begin >= window:
            number, slot = self.number_of(k + 1 - window)
            at_words = words + 2 * size * slot
            values = self.awaited(at_words, count, piece, number)
            if not ring:
                return
        elif action == -2 or row < 0 or not ring:
            return
        elif action >= 0:
            values = at(table + action * size, (count,), self.dtype)
        else:
            values = np.zeros(count)
        to = at(ring, (depth, width), self.dtype)[row % depth, start : start + count]
        to[piece] = values[piece]
        if active and values[piece].any():
            at(active, (depth,), np.int64)[row % depth] = row

    def awaited(self, words: int, count: int, piece: slice, number: int) -> Any:
        """Return values when the words of all of a piece have come."""
        parts = at(words, (count * self.dtype.itemsize // 4, 2), np.uint32)
        mine = slice(*(n * self.dtype.itemsize // 4 for n in (piece.start, min(piece.stop, count))))
        self.wait(lambda: bool((parts[mine, 1] == number).all()))
        assert self.shut or number > 0
        return np.ascontiguousarray(parts[:, 0]).view(self.dtype)

    def take(self, row: list[int], item: Any, k: int, slot: int) -> None:
        """Copy a piece of a row."""
        ring, elements, out, width, depth, start, count, *_, words = row
        source = at(ring, (depth, width), self.dtype)[k % depth]
        where = at(elements, (count,), np.int32) if elements else start + np.arange(count)
        piece = slice(int(item["first"]), int(item["end"]))
        if words:
            number, slot = self.number_of(k)
            size = count * self.dtype.itemsize
            parts = at(words + 2 * size * slot, (size // 4, 2), np.uint32)
            mine = slice(*(n * self.dtype.itemsize // 4 for n in (piece.start, piece.stop)))
            parts[mine, 0] = source[where[piece]].view(np.uint32)
            parts[mine, 1] = number
            return
        to = at(out + slot * count * self.dtype.itemsize, (count,), self.dtype)
        to[piece] = source[where[piece]]

    def sample(self, item: Any, k: int) -> None:
        """Take a row for a recorder."""
        row = self.table(1, item)
        late = k - int(self.given[4]) - row[7]
        if late >= 0 and late % row[8] == 0:
            self.take(row, item, k, late // row[8])

    def publish(self, item: Any, k: int, last: bool = False) -> None:
        """Take a row for other processes."""
        window, slot = int(self.given[8]), k - int(self.given[4]) - 1
        if window:
            slot = (k - 1 - int(self.given[10])) % window
            if slot + 1 == window and not last:
                return
        if k > self.given[4]:
            self.take(self.table(3, item), item, k, slot)

    def note_all(self, item: Any, k: int) -> None:
        """Tell of an event of every element of a row, which no call has to record."""
        bits, words = (self.table(2, item)[i] for i in (2, 8))
        at(bits + (k - int(self.given[4])) * 4 * words, (words,), np.uint32)[:] = 1

    def scan(self, item: Any, k: int) -> None:
        """Note which elements of a row are not zero."""
        ring, elements, bits, active, width, depth, start, count, words, *_ = self.table(2, item)
        source = at(ring, (depth, width), self.dtype)[k % depth]
        where = at(elements, (count,), np.int32) if elements else start + np.arange(count)
        silent = k > 0 and at(active, (depth,), np.int64)[k % depth] != k
        out = at(bits + (k - int(self.given[4])) * 4 * words, (words,), np.uint32)
        for i in range(int(item["first"]), int(item["end"]), 32):
            here = source[where[i : min(i + 32, int(item["end"]))]] != 0
            out[i // 32] = 0 if silent else int(here @ (1 << np.arange(len(here), dtype=np.int64)))


def count_events(bits: int, words: int, counts: int) -> None:
    """Leave the counts to the next kernel."""
    at(counts, (1,), np.uint32)[0] = np.bitwise_count(at(bits, (words,), np.uint32)).sum()


def list_events(
    bits: int, words: int, row: int, counts: int, room: int, step: int, column: int, number: int
) -> None:
    """List events, as far as there is room."""
    flat = at(bits, (words // row, row), np.uint32)
    found = np.nonzero(np.unpackbits(flat.view(np.uint8), axis=1, bitorder="little"))
    total = len(found[0])
    assert total == at(counts, (1,), np.uint32)[0]
    for where, values in zip((step, column), found, strict=True):
        at(where, (min(total, room),), np.int32)[:] = values[:room]
    at(number, (1,), np.int64)[0] = total


def enter_events(
    begin: int, column: int, value: int, rows: int, table: int, count: int, steps: int, kind: Any
) -> None:
    """Write the events of steps into their rows."""
    ends, row = at(begin, (steps + 1,), np.int32), at(rows, (steps,), np.int32)
    out = at(table, (int(row.max()) + 1, count), kind)
    where = np.repeat(row, np.diff(ends)), at(column, (int(ends[-1]),), np.int32)
    out[where] = at(value, (int(ends[-1]),), kind)


LISTING: dict[str, Callable[..., None]] = {
    "nd_count_events": count_events, "nd_list_events": list_events,
}  # fmt: skip


def _launch(
    device: Any, function: str, blocks: int, threads: int, values: Any, types: Any, *more: Any
) -> None:
    if function == "nd_once":
        return
    if function == "nd_enter_events":
        kind = device.kernels.dtype
        device.queue.append(lambda: enter_events(*values, kind=kind))
        return
    if function in LISTING:
        device.queue.append(lambda: LISTING[function](*values))
        return
    if function == "nd_move":
        device.moves(blocks, *values)
        return
    items, offsets, first, last, end, parts = values[:6]
    device.copies.append(("launch", 0))

    def late() -> None:
        count = at(offsets, (blocks * threads // 32 + 1,), np.int32)[-1]
        device.kernels.advance(at(items, (int(count),), _ITEM), first, last, end, parts)

    device.queue.append(late)
    device.answers.append(None)
    device.following |= more[-1] is True  # the default stream waits for the others, and they for it


OWN_CLASSES = False
"""Whether there is a PyCUDA, an emulated one, by which users' classes compute themselves."""


class EmulatedBackend(backend.CUDABackend):
    """The backend of a GPU on a device of Python.

    Raises
    ------
    NotImplementedError
        For a model that the device cannot compute.
    """

    def __init__(self, program: Program, *arguments: Any, **more: Any) -> None:
        for group in program.circuit.groups:
            own = OWN_CLASSES and group.model.runtime.stepwise  # it computes itself
            if group.model not in (*MODELS, Port) and not own and not is_relay(group.model):
                known = ", ".join(model.__name__ for model in MODELS)
                raise NotImplementedError(f"{group.name}: an emulated GPU computes {known} alone")
        super().__init__(program, *arguments, **more)

    def start(self, *tables: Any) -> None:
        super().start(*tables)
        self.device.kernels = Kernels(self)


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``backend="cuda"`` run on the emulated device."""
    emulate(monkeypatch)
    monkeypatch.setattr("neurodriver.backends.cuda.gates._LOOK", 16)  # the device needs the GIL


class EmulatedPeerMemory:
    """Stands for ``PeerMemory``: all GPUs reach all memory."""

    def __init__(self, device: EmulatedDevice, size: int) -> None:
        memory = device.allocate(size)
        memory.array[:] = 0
        self.address, self.free = int(memory), memory.free
        self.offer = np.array([self.address], np.int64).view(np.uint8)


def emulated_opened(device: EmulatedDevice, offer: Any) -> tuple[int, Callable[[], Any]]:
    """Stand for ``opened``."""
    return int(offer.view(np.int64)[0]), lambda: None


class EmulatedTrial:
    """Stands for ``Trial``; ``all_reached``: whether GPUs reach each other's memory."""

    all_reached = False

    def __init__(self, number: int) -> None:
        self.offer = np.array([number], np.int64).view(np.uint8)

    def reaches(self, offers: list[Any]) -> bool:
        """Whether the GPU reaches the memory of others."""
        return self.all_reached


@pytest.fixture
def emulated_peers(emulated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each number be a GPU of its own, which reaches the memory of the others."""
    monkeypatch.setattr(device_module, "place_of", lambda number: f"here {number}")
    monkeypatch.setattr(device_module, "device_count", lambda: 8)
    monkeypatch.setattr(peers, "PeerMemory", EmulatedPeerMemory)
    monkeypatch.setattr(EmulatedTrial, "all_reached", True)
    monkeypatch.setattr(peers, "opened", emulated_opened)


def emulate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the emulated device in the place of a GPU; nothing is compared while it runs."""
    monkeypatch.delenv("NEURODRIVER_VALIDATE", raising=False)
    monkeypatch.setattr(device_module, "device_count", lambda: 2)
    monkeypatch.setattr(device_module, "place_of", lambda number: "shared by all")
    monkeypatch.setattr(backend, "Device", EmulatedDevice)
    monkeypatch.setattr(backend, "Loaded", EmulatedCode)
    monkeypatch.setattr(backend, "compile_cubin", lambda text, arch: b"")
    monkeypatch.setattr(binding, "launch", _launch)
    monkeypatch.setattr(executors, "launch", _launch)
    monkeypatch.setattr(moves, "launch", _launch)
    monkeypatch.setattr(peers, "Trial", EmulatedTrial)
    monkeypatch.setattr(event_lists, "launch", _launch)
    monkeypatch.setattr(timers, "_PEAKS", {})
    monkeypatch.setattr(timers, "copy_bandwidth", lambda nbytes, number: 1e12)
    monkeypatch.setattr(backend, "CUDABackend", EmulatedBackend)
