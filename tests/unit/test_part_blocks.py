"""What parts have recorded is put together as far as all of them have come."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from emulated_gpu import Halving
from support import DT

import neurodriver as nd
from neurodriver.parallel import event_merge
from neurodriver.parallel.part_blocks import PartRecorder
from neurodriver.parallel.part_recorders import Arrived, WholeRecording
from neurodriver.recorders.base import Block, Columns, RecordingPlan


def recorder_of(cells: int, interval: int) -> PartRecorder:
    """Return the open recorder of a part."""
    made = PartRecorder(nd.MemoryRecorder([("V", None)], interval), [("V", None)])
    uids = np.array([f"n{i}" for i in range(cells)])
    columns = tuple(Columns(name, uids, "", name != "V") for name in ("V", "spike_state"))
    made.open(RecordingPlan(DT, 100, interval, np.dtype(float), columns, {}))
    return made


@pytest.mark.parametrize("interval", [1, 3, 7])
def test_blocks_are_divided(interval: int) -> None:
    """Whatever steps a part has come to, and whatever steps are taken."""
    cells, ends, taken = 2, [4, 5, 31, 32, 70], [2, 4, 9, 33, 60, 70]
    made, found = recorder_of(cells, interval), []
    rows = np.arange(2.0 * (70 // interval)).reshape(-1, cells)
    for begin, end in zip([0, *ends], ends, strict=False):
        first, last = begin // interval, end // interval
        index = np.arange(begin, end, dtype=np.int32) % cells
        events = {"spike_state": (np.arange(begin, end) * DT, index)}
        made.append(Block(first, {"V": rows[first:last]}, events, end))
    for step in taken:
        found.append(made.take(step))
        assert found[-1][-1].step == step
        assert not made.take(step)
    every = [block for some in found for block in some]
    assert np.array_equal(np.concatenate([block.rows["V"] for block in every]), rows)
    for block in every:
        assert block.first_row + len(block.rows["V"]) == block.step // interval
    time = np.concatenate([block.events["spike_state"][0] for block in every])
    assert np.array_equal(time, np.arange(70) * DT)
    for some, end in zip(found, taken, strict=True):
        assert some[-1].events["spike_state"][0][-1] == (end - 1) * DT


def append_with(recorder: nd.MemoryRecorder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list of the steps of the blocks that a recorder will have got."""
    seen: list[int] = []
    append = recorder.append

    def noting(block: Block) -> None:
        seen.append(block.step)
        append(block)

    monkeypatch.setattr(recorder, "append", noting)
    return seen


def test_within_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder gets blocks while a slice is computed, with calls of any length of each part."""
    monkeypatch.setattr(event_merge, "MANY", 1)
    circuit = nd.Circuit.from_arrays([(Halving, 40, {}, None)])
    current = nd.StepInput("I", circuit.uids, np.linspace(0.3, 0.9, 40))
    found: list[Any] = []
    seen: list[int] = []
    for parts in (None, 3):
        recorder = nd.MemoryRecorder([("V", circuit.uids[3:30].tolist()), ("spike_state", None)], 4)
        seen = append_with(recorder, monkeypatch)
        with nd.LPU(circuit, DT, [current], [recorder], parts=parts) as lpu:
            for n, part in enumerate(getattr(lpu.simulation, "_parts", [])):
                part.simulation.length.fixed = (7, 10, 64)[n]
            lpu.run(steps=900)
            lpu.run(steps=300)
        found.append((recorder.get("V"), *recorder.get("spike_state").values()))
    assert seen == sorted(seen) and len(set(seen)) > 20
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other) and len(one)


@pytest.mark.parametrize(("runs", "many"), [(1 << 10, 1), (0, 1), (0, 1 << 60)])
def test_columns_in_any_order(runs: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of events, too: those of a step come by column, as the user has ordered the columns."""
    monkeypatch.setattr(event_merge, "MANY", many)
    monkeypatch.setattr(event_merge, "RUNS", runs)
    circuit = nd.Circuit.from_arrays([(Halving, 40, {}, None)])
    current = nd.StepInput("I", circuit.uids, np.linspace(0.3, 0.9, 40))
    uids = np.random.default_rng(1).permutation(circuit.uids)[:31].tolist()
    found = []
    for parts in (None, 3):
        recorder = nd.MemoryRecorder([("spike_state", uids)])
        with nd.LPU(circuit, DT, [current], [recorder], parts=parts) as lpu:
            lpu.run(steps=400)
        found.append(tuple(recorder.get("spike_state").values()))
        assert recorder.uids("spike_state") == uids
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other) and len(one) > 100


def test_what_cannot_be_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again in the thread of the recorder, whose failure it is if it fails there."""
    circuit = nd.Circuit.from_arrays([(Halving, 8, {}, None)])
    together = WholeRecording._together
    fails: Iterator[bool] = iter([True])

    def failing(self: WholeRecording, arrived: Arrived) -> Block:
        if arrived.step > 10 and next(fails, False):
            raise MemoryError("no room for these")
        return together(self, arrived)

    monkeypatch.setattr(WholeRecording, "_together", failing)
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    with nd.LPU(circuit, DT, recorders=[recorder], parts=2) as lpu:
        lpu.run(steps=90)
        assert recorder.get("V").shape == (90, 8)
        fails = itertools.repeat(True)
        with pytest.raises(MemoryError, match="no room for these"):
            lpu.run(steps=10)
    assert len(recorder.get("V")) == 90


def test_a_part_whose_components_are_all_named_needs_no_names() -> None:
    """Named in another order, or not all of them, a part gets their names."""
    circuit = nd.Circuit.from_arrays([(Halving, 40, {}, None)])
    uids, of = circuit.uids.tolist(), np.arange(40) % 2
    current = nd.StepInput("I", circuit.uids, np.linspace(0.3, 0.9, 40))
    whole = nd.MemoryRecorder([("V", None)])
    for named in (uids, uids[:7] + uids[8:], [*uids[::2], *uids[:0:-2]]):
        recorder = nd.MemoryRecorder([("V", named)])
        asked = [WholeRecording(recorder, circuit, of).of_part(part) for part in range(2)]
        record = [[*one.record] for one in asked if one is not None]
        expected: list[Any] = [[("V", None)]] * 2
        if len(named) < 40:
            expected[1] = [("V", (*uids[1:7:2], *uids[9::2]))]
        elif named != uids:
            expected[1] = [("V", tuple(uids[:0:-2]))]
        assert record == expected
        with nd.LPU(circuit, DT, [current], [recorder], parts=2) as lpu:
            lpu.run(steps=20)
        with nd.LPU(circuit, DT, [current], [whole]) as lpu:
            lpu.run(steps=20)
        rows = whole.recording.V[:, [uids.index(uid) for uid in named]]
        assert recorder.uids("V") == named
        assert np.array_equal(recorder.recording.V[:], rows) and np.ptp(rows) > 0


def test_names_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are made side by side share what one of them looks up."""
    circuit = nd.Circuit.from_arrays([(Halving, 40, {}, None)])
    find, asked = nd.Circuit.find, []

    def slow(self: nd.Circuit, uids: Any) -> Any:
        asked.append(len(uids))
        time.sleep(0.1)
        return find(self, uids)

    monkeypatch.setattr(nd.Circuit, "find", slow)
    recorder = nd.MemoryRecorder([("V", circuit.uids[3:30].tolist())])
    whole = WholeRecording(recorder, circuit, np.arange(40) % 2)
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(whole.of_part, (0, 1)))
    assert asked == [27]
    named = [dict(part.record)["V"] for part in parts if part is not None]
    assert [len(some or ()) for some in named] == [13, 14]
