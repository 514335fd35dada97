"""Events that are counted, beside the same ones that are kept."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DT, spiking_network

import neurodriver as nd
from neurodriver.arguments import ArgumentError
from neurodriver.errors import CircuitWarning, NeurodriverError, RecordingError
from neurodriver.recorders import Block, Columns, CountRecorder, RecordingPlan

NAME, N = "spike_state", 30


def driven() -> tuple[nd.Circuit, list[nd.Input]]:
    """Return a network that spikes, and its input."""
    circuit = spiking_network(N, 5, 2)
    strong = np.linspace(0.0, 40.0, N)
    return circuit, [nd.StepInput("I", circuit.uids[:N], strong)]


def expected(memory: nd.MemoryRecorder, every: int, intervals: int) -> Any:
    """Return the counts of events that were kept."""
    events, out = memory.get(NAME), np.zeros((intervals, len(memory.uids(NAME))), np.int32)
    step = np.rint(np.asarray(events["time"]) / DT).astype(np.int64)
    np.add.at(out, (step // every, events["index"]), 1)
    return out


@pytest.mark.parametrize("more", [{}, {"parts": 2}], ids=["whole", "parts"])
def test_two_runs(more: dict[str, Any]) -> None:
    """The last interval may be shorter, and the next run fills it; an interval may hold all."""
    circuit, inputs = driven()
    memory = nd.MemoryRecorder([NAME])
    several, one = CountRecorder(NAME, interval=0.01), CountRecorder([NAME])
    with nd.LPU(circuit, DT, inputs, [memory, several, one], **more) as lpu:
        lpu.run(steps=330)
        assert several.counts(NAME).shape == (4, N)
        assert several.edges() == pytest.approx([0.0, 0.01, 0.02, 0.03, 0.033])
        lpu.run(steps=320)
    want = expected(memory, 100, 7)
    assert want.sum() > 100 and (want > 1).any() and (want == 0).any()
    assert np.array_equal(several.counts(NAME), want) and several.uids(NAME) == memory.uids(NAME)
    assert np.array_equal(one.counts(NAME), want.sum(0)[None])
    assert np.allclose(several.rates(NAME)[-1], want[-1] / 0.005)
    assert np.allclose(one.rates(NAME)[0], want.sum(0) / 0.065)


def test_during_a_run_and_of_some() -> None:
    """Counts can be read between calls, of the columns that were asked for."""
    circuit, inputs = driven()
    asked = [circuit.uids[i] for i in (N - 1, 3)]
    recorder, memory = CountRecorder([(NAME, asked)]), nd.MemoryRecorder([(NAME, asked)])
    with nd.LPU(circuit, DT, inputs, [recorder, memory]) as lpu:
        lpu.start(400)
        lpu.advance(200)
        early = recorder.counts(NAME).copy()
        lpu.advance(200)
        lpu.finish()
    assert recorder.uids(NAME) == asked and early.shape == (1, 2)
    assert 0 < early[0, 0] < recorder.counts(NAME)[0, 0]
    assert np.array_equal(recorder.counts(NAME), expected(memory, 1_000, 1))


def test_a_run_that_begins_anew() -> None:
    """Counts of the run before are forgotten."""
    circuit, inputs = driven()
    recorder = CountRecorder(NAME)
    with nd.LPU(circuit, DT, inputs, [recorder]) as lpu:
        lpu.run(steps=300)
        first = recorder.counts(NAME)
        lpu.reset()
        lpu.run(steps=300)
    assert first.any() and np.array_equal(recorder.counts(NAME), first)


def test_after_a_checkpoint(tmp_path: Path) -> None:
    """Counts begin where the run goes on."""
    circuit, inputs = driven()
    path, whole, rest = tmp_path / "half.h5", CountRecorder(NAME, 0.01), CountRecorder(NAME, 0.01)
    with nd.LPU(circuit, DT, inputs, [whole]) as lpu:
        lpu.run(steps=200, checkpoint=path)
        lpu.run(steps=150)
    with nd.LPU(circuit, DT, inputs, [rest]) as lpu:
        lpu.resume(path)
        lpu.run(steps=150)
    assert rest.edges() == pytest.approx([0.02, 0.03, 0.035])
    assert rest.counts(NAME).any() and np.array_equal(rest.counts(NAME), whole.counts(NAME)[2:])


def plan_of(steps: int | None, first: int = 0) -> RecordingPlan:
    """Return the plan of a recording of three columns."""
    columns = (Columns(NAME, np.array(["a", "b", "c"]), "", True),)
    return RecordingPlan(DT, steps, 1, np.dtype("f4"), columns, {}, first_step=first)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_cut_into_blocks(data: st.DataObject) -> None:
    """Blocks without events, and of many intervals; recordings and counts that begin later."""
    steps = data.draw(st.integers(1, 300))
    first, every = data.draw(st.integers(0, 1_000)), data.draw(st.integers(1, 120))
    begin = data.draw(st.integers(0, first + 200))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    there = rng.random((steps, 3)) < data.draw(st.sampled_from([0.0, 0.02, 0.9]))
    cuts = sorted(data.draw(st.sets(st.integers(1, steps), max_size=8)) | {steps})
    recorder = CountRecorder(NAME, every * DT, begin * DT)
    recorder.open(plan_of(steps, first))
    assert recorder.counts(NAME).shape == recorder.rates(NAME).shape == (0, 3)
    for low, high in zip([0, *cuts], cuts, strict=False):
        step, index = np.nonzero(there[low:high])
        events = {NAME: ((first + low + step) * DT, index.astype(np.int32))}
        recorder.append(Block(first + high, {}, events, first + high))
    recorder.close()
    late = max(begin - first, 0)
    want = [there[k : k + every].sum(0) for k in range(late, steps, every)]
    assert np.array_equal(recorder.counts(NAME), np.reshape(want, (-1, 3)))
    edges = [first + late, max(first + steps, first + late)]
    assert recorder.edges()[[0, -1]] == pytest.approx(np.array(edges) * DT)
    with pytest.raises(RecordingError, match=f"no counts up to step {first + steps + 1:,}"):
        recorder.reopen(plan_of(None, first), first + steps + 1)
    assert recorder.reopen(plan_of(None, first), first + steps).step == first + steps


def test_a_start_that_does_not_count() -> None:
    """One interval from `start` on has the events after it."""
    circuit, inputs = driven()
    memory, late = nd.MemoryRecorder([NAME]), CountRecorder(NAME, start=0.02)
    with nd.LPU(circuit, DT, inputs, [memory, late]) as lpu:
        lpu.run(steps=150)
        assert late.counts(NAME).shape == (0, N) and late.edges().tolist() == [0.02]
        lpu.run(steps=200)
    assert np.array_equal(late.counts(NAME), expected(memory, 200, 2)[1:])
    assert np.allclose(late.rates(NAME), late.counts(NAME) / 0.015)


@pytest.mark.parametrize("make", [CountRecorder, nd.MemoryRecorder])
def test_a_recording_without_a_step_goes_on(make: Any) -> None:
    """It has begun at a later step, and nothing has come of it yet."""
    circuit, inputs = driven()
    recorder = make([NAME])
    with nd.LPU(circuit, DT, inputs) as lpu:
        lpu.run(steps=300)
        lpu.run(steps=0, record=[recorder])
        lpu.run(steps=200)
    if isinstance(recorder, CountRecorder):
        assert recorder.counts(NAME).sum() > 10 and recorder.edges()[0] == pytest.approx(0.03)
    else:
        assert recorder.get(NAME)["time"].min() >= 0.03


def test_the_copies_of_a_batch() -> None:
    """The columns of one copy stand behind those of the copy before."""
    circuit, _ = driven()
    given = [nd.StepInput("I", circuit.uids[:N], np.full(N, 10.0 * copy)) for copy in range(3)]
    batch = nd.Batch(3, inputs=[[one] for one in given])
    recorder, memory = CountRecorder(NAME), nd.MemoryRecorder([NAME])
    with nd.LPU(circuit, DT, [], [recorder, memory], batch=batch) as lpu:
        lpu.run(steps=300)
    want = np.bincount(memory.get(NAME)["index"], minlength=3 * N)
    assert np.array_equal(recorder.counts(NAME), want[None]) and want[:N].sum() == 0 < want[-1]


def test_one_thread_reads_while_another_one_counts() -> None:
    """Counts and edges belong together: each column has an event in each step."""
    recorder, wrong, end = CountRecorder(NAME), [], 2_000
    recorder.open(plan_of(None))

    def read() -> None:
        while recorder.edges()[-1] < (end - 0.5) * DT:
            rates = recorder.rates(NAME)
            wrong.extend(rates[~np.isclose(rates, 1 / DT, rtol=1e-9)].tolist())

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread = threading.Thread(target=read)
        thread.start()
        for step in range(end):
            every = np.full(3, step * DT), np.arange(3, dtype=np.int32)
            recorder.append(Block(step, {}, {NAME: every}, step + 1))
        thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong and recorder.counts(NAME).tolist() == [[end] * 3]


def test_what_cannot_be_counted() -> None:
    """Values have no events; an interval is a step at least; nothing is there before a run."""
    circuit, inputs = driven()
    with (
        nd.LPU(circuit, DT, inputs, [CountRecorder([NAME, "V"])]) as lpu,
        pytest.raises(
            RecordingError, match=r"'V': no events that could be counted.*MemoryRecorder"
        ),
    ):
        lpu.run(steps=5)
    with (
        nd.LPU(circuit, DT, inputs, [CountRecorder(NAME, 1e-6)]) as lpu,
        pytest.raises(RecordingError, match=r"one step of 0.1 ms at least \(got 0.001 ms\)"),
    ):
        lpu.run(steps=5)
    with pytest.raises(RecordingError, match="interval must be above 0 s"):
        CountRecorder(NAME, 0.0)
    with pytest.raises(ArgumentError, match="interval"):
        CountRecorder(NAME, "long")  # type: ignore[arg-type]
    recorder = CountRecorder(NAME, 2.5e-4)
    with pytest.raises(RecordingError, match="nothing counted yet"):
        recorder.counts(NAME)
    with (
        pytest.warns(CircuitWarning, match="2.5 steps of 0.1 ms; it becomes 0.2 ms"),
        nd.LPU(circuit, DT, inputs, [recorder]) as lpu,
    ):
        lpu.run(steps=5)
    assert recorder.counts(NAME).shape == (3, N)
    with pytest.raises(RecordingError, match=r"'spikes' was not counted.*counted are: spike_state"):
        recorder.rates("spikes")
    with pytest.raises(NeurodriverError, match="no recorder keeps values"):
        _ = lpu.recording


def test_counts_that_memory_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run does not begin."""
    circuit, inputs = driven()
    monkeypatch.setattr("neurodriver.recorders.room.free_memory", lambda: 4 * N * 9)
    few, many = CountRecorder(NAME, 0.01), CountRecorder(NAME, 0.001)
    for recorder, steps in ((few, 900), (many, 90)):
        with nd.LPU(circuit, DT, inputs, [recorder]) as lpu:
            lpu.run(steps=steps)
            say = f"{N:,} of 'spike_state' in .* intervals take .* count fewer components, or in"
            with pytest.raises(RecordingError, match=say):
                lpu.run(steps=steps)
