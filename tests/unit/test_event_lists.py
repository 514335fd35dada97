"""Lists of events that a device makes: those of its bits, and rows of those of an input."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated_gpu import EmulatedCode, EmulatedDevice
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels_on_cpu import launcher
from numpy.typing import NDArray

from neurodriver.backends.cuda import event_lists
from neurodriver.backends.cuda.event_lists import THREADS, EnteredEvents, EventLists, before
from neurodriver.backends.cuda.feeds import NOTHING, InputStage
from neurodriver.backends.cuda.transfers import at
from neurodriver.backends.tables import InputTable
from neurodriver.inputs.base import EventChunk
from neurodriver.model.kinds import VariableKind
from neurodriver.native.headers import header
from neurodriver.plan.layout import Ring


def packed(events: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return events (steps, columns) as rows of bits, as a device leaves them."""
    wide = np.zeros((len(events), -(-events.shape[1] // 32) * 32), bool)
    wide[:, : events.shape[1]] = events
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint32).reshape(len(events), -1)


class Machine:
    """Lists of a device of one or more multiprocessors, whose kernels run on the CPU."""

    def __init__(self, dtype: str = "float64", processors: int = 1) -> None:
        self.device: Any = EmulatedDevice()
        self.device.processors = processors
        self.code: Any = EmulatedCode(self.device, b"")
        self.lists = EventLists(self.device, self.code)
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(event_lists, "launch", launcher(dtype))

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *error: object) -> None:
        self._patch.undo()

    def listed(self, tables: list[NDArray[np.bool_]], steps: int | None = None) -> Any:
        """Return what the host gets of the events of a call."""
        bits, lists = [packed(events) for events in tables], self.lists
        places = lists.room([one.shape[1] for one in bits], len(tables[0]))
        lists.clear()
        self.device.wait()
        for address, one in zip(places, bits, strict=True):
            assert not at(address, one.shape, np.uint32).any() and address % 16 == 0
            at(address, one.shape, np.uint32)[...] = one
        lists.begin_listing()
        lists.begin_receiving(beside=True)
        self.device.drain.synchronize()
        lists.fetch()
        return lists.found(len(tables[0]) if steps is None else steps)


def assert_found(found: Any, events: NDArray[np.bool_]) -> None:
    """Fail where the events are not those of the bits, in their order."""
    for got, expected in zip(found, np.nonzero(events), strict=True):
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, expected)


def test_threads_of_a_block() -> None:
    """The host starts as many as the text is made for."""
    assert f"ND_LISTING = {THREADS}," in header("codegen/simt/event_lists.cuh")


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.integers(1, 1500), min_size=1, max_size=2),
    st.lists(st.tuples(st.integers(1, 40), st.sampled_from([0.0, 1e-3, 0.05, 1.0])), min_size=1,
             max_size=3),
    st.integers(1, 2),
    st.integers(0, 1 << 30),
)  # fmt: skip
def test_lists_of_bits(
    columns: list[int], calls: list[tuple[int, float]], processors: int, seed: int
) -> None:
    """Call after call: one or two tables of any width, few or many events."""
    rng = np.random.default_rng(seed)
    with Machine(processors=processors) as machine:
        for steps, density in calls:
            tables = [rng.random((steps, n)) < density for n in columns]
            for found, events in zip(machine.listed(tables), tables, strict=True):
                assert_found(found, events)


def test_more_events_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are listed once more in a larger place; columns of an earlier call stay as they are."""
    monkeypatch.setattr(event_lists, "_FIRST", 10)
    rng = np.random.default_rng(3)
    with Machine() as machine:
        made = [[rng.random((9, n)) < density for n in (70, 33)] for density in (0.01, 0.9, 0.5)]
        found = [machine.listed(tables) for tables in made]
    for (few, many), tables in zip(found, made, strict=True):
        for (_, columns), events in zip((few, many), tables, strict=True):
            np.testing.assert_array_equal(columns, np.nonzero(events)[1])
    assert_found(found[-1][0], made[-1][0])


def test_every_bit_alone() -> None:
    """The first, the last and any other bit of a row of three words is where it stands."""
    events = np.eye(96, dtype=bool)
    with Machine() as machine:
        assert_found(machine.listed([events])[0], events)


def test_events_of_a_call_that_ended_early() -> None:
    """Those of later rows are left out, whatever their columns are."""
    events = np.random.default_rng(4).random((8, 40)) < 0.2
    with Machine() as machine:
        for steps in (0, 1, 5, 8, 99):
            assert_found(machine.listed([events], steps)[0], events[:steps])
    found = np.array([0, 0, 3, 4, 4, 7], np.int32), np.array([5, 9, 1, 0, 8, 2], np.int32)
    for steps, count in ((0, 0), (1, 2), (4, 3), (5, 5), (8, 6), (99, 6)):
        some = before(found, steps)
        assert [len(one) for one in some] == [count, count]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("begin", [0, 7])
def test_events_are_entered_into_rows(dtype: str, begin: int) -> None:
    """Rows of the device hold the events of the steps that have some, call after call."""
    rng = np.random.default_rng(5)
    with Machine(dtype) as machine:
        entered = EnteredEvents(machine.device, machine.code)
        for steps, density in ((30, 0.05), (70, 0.01), (5, 0.0), (40, 0.3)):
            values = rng.integers(1, 4, (steps, 90)) * (rng.random((steps, 90)) < density)
            step, column = np.nonzero(values)
            ends = begin + np.searchsorted(step, np.arange(steps + 1))
            unused = np.full(begin, 99)
            columns = np.concatenate([unused, column]).astype(np.int32)
            numbers = np.concatenate([unused, values[step, column]]).astype(dtype)
            chunk = EventChunk(90, ends, columns, numbers)
            table = machine.device.allocate(max(chunk.table.nbytes, 1))
            entered.enter(chunk, entered.send(chunk, True), int(table))
            machine.device.wait()
            got = at(int(table), chunk.table.shape, np.dtype(dtype))
            np.testing.assert_array_equal(got, values[values.any(axis=1)])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1,
                         max_size=9), min_size=1, max_size=5),
       st.sampled_from([2, 4]), st.sampled_from([0, 1]))  # fmt: skip
def test_the_actions_of_events(given_chunks: list[list[list[int]]], depth: int, back: int) -> None:
    """Rows of the inputs hold the events of their step, and zeros elsewhere."""
    ring = Ring("spike_state", depth, VariableKind.EVENT)
    ring.add("inputs", 3)
    with Machine() as machine:
        owner: Any = SimpleNamespace(
            program=SimpleNamespace(
                layout=SimpleNamespace(rings={"spike_state": ring}), deliveries=(), units=()
            ),
            dtype=np.dtype(np.float64), device=machine.device, code=machine.code,
            twins=None, ring_address=lambda name: 1, active_address=lambda name: 2,
        )  # fmt: skip
        table = InputTable(0, 0, 3, None, None, 0, back)
        stage, rows, first = InputStage(owner, table), np.full((depth, 3), np.nan), 0
        for wanted in given_chunks:
            values = np.array(wanted, float)
            step, column = np.nonzero(values)
            begin = np.searchsorted(step, np.arange(len(values) + 1)).astype(np.int64)
            columns, entered = column.astype(np.int32), values[step, column]
            table.begin, table.column = begin.ctypes.data, columns.ctypes.data
            table.value = entered.ctypes.data
            stage.order(first, len(values))
            fields = stage.bring(77)
            machine.device.wait()
            held = at(fields[1], (int(values.any(axis=1).sum()), 3), np.dtype(np.float64))
            for k, action in enumerate(stage.actions, first):
                if k >= back:
                    if action != NOTHING:
                        rows[(k - back) % depth] = held[action] if action >= 0 else 0.0
                    assert np.array_equal(rows[(k - back) % depth], values[k - first])
            first += len(values)
        stage.free()
