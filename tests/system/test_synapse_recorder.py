"""Numbers of synapses over time: in memory, in files, over several runs, after a kill."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from learning_networks import (
    DT,
    SYNAPSES,
    Cell,
    Counting,
    Pairs,
    equal,
    learning,
    network,
    state_of,
    trains,
)

import neurodriver as nd

STEPS, EVERY = 200, 25


def recorded(*recorders: Any, seed: int = 0, **options: Any) -> nd.LPU:
    """Return an LPU of the network with some recorders."""
    circuit = network(Counting(), seed)
    return nd.LPU(circuit, DT, trains(circuit), list(recorders), backend="cpu", **options)


def read_by_hand() -> dict[str, Any]:
    """Return all numbers of the synapses after each interval, read by calls."""
    with learning(Counting()) as lpu:
        rows = []
        for _ in range(STEPS // EVERY):
            lpu.run(EVERY)
            rows.append(state_of(lpu))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize("file", [False, True])
def test_a_row_holds_what_is_read_at_its_step(tmp_path: Path, file: bool) -> None:
    """All synapses, some, and a random choice, at several intervals."""
    expected = read_by_hand()
    assert np.ptp(expected["weight"], axis=0).any()
    path = tmp_path / "w.h5" if file else None
    all_of_them = nd.SynapseRecorder(
        path, "learning", ["weight", "seen", "lag"], interval=EVERY * DT
    )
    some = nd.SynapseRecorder(None, "learning", "weight", [7, 0, 7], interval=2 * EVERY * DT)
    drawn = nd.SynapseRecorder(None, "learning", count=11, seed=3, interval=EVERY * DT)
    with recorded(all_of_them, some, drawn, threads=2) as lpu:
        lpu.run(STEPS)
        part = lpu["learning"]
        ends = part.sources.tolist(), part.targets.tolist()
    recording = all_of_them.recording
    for name, values in expected.items():
        assert np.array_equal(recording[name][:], values), name
    assert recording.ends("weight") == ends
    assert np.allclose(recording.time, (np.arange(1, STEPS // EVERY + 1) * EVERY - 1) * DT)
    uids = recording.uids("weight")
    assert len(set(uids)) == SYNAPSES and uids[0] == f"{ends[0][0]} -> {ends[1][0]}"
    assert any(uid.endswith("(2)") for uid in uids)
    assert recording.unit("lag") == "ms" and recording.unit("weight") == ""
    assert np.array_equal(recording.weight[uids[5]][:].reshape(-1), expected["weight"][:, 5])
    assert np.array_equal(some.recording.weight[:], expected["weight"][1::2, [7, 0, 7]])
    which = drawn.chosen(SYNAPSES)
    assert len(set(which.tolist())) == 11 and (np.diff(which) > 0).all()
    assert np.array_equal(drawn.recording.weight[:], expected["weight"][:, which])
    if file:
        with nd.open(path) as again, h5py.File(path, locking=False) as plain:
            assert again.complete and np.array_equal(again.weight[:], expected["weight"])
            assert plain["weight/pre"][0] == ends[0][0].encode()


@pytest.mark.parametrize("file", [False, True])
def test_counts_alone(tmp_path: Path, file: bool) -> None:
    """Of all synapses, and of some; between given edges, or between the bounds of the rule."""
    expected, edges = read_by_hand()["weight"], [0.2, 0.5, 0.6, 1.0]
    path = tmp_path / "w.h5" if file else None
    counts = nd.SynapseRecorder(path, "learning", bins=edges, interval=EVERY * DT)
    some = nd.SynapseRecorder(None, "learning", synapses=[1, 5], bins=edges, interval=EVERY * DT)
    with recorded(counts, some) as lpu:
        lpu.run(STEPS)
    found = counts.recording.weight
    assert list(found.uids) == ["0.2 to 0.5", "0.5 to 0.6", "0.6 to 1"]
    wanted = np.array([np.histogram(row, edges)[0] for row in expected])
    assert np.array_equal(found[:], wanted) and wanted.sum() > 100
    wanted = np.array([np.histogram(row[[1, 5]], edges)[0] for row in expected])
    assert np.array_equal(some.recording.weight[:], wanted)
    circuit = network(Pairs())
    bound = nd.SynapseRecorder(None, "learning", bins=4, interval=EVERY * DT)
    with nd.LPU(circuit, DT, trains(circuit), bound, backend="cpu") as lpu:
        lpu.run(EVERY)
        assert np.array_equal(bound.recording.weight[0], lpu["learning"].histogram(4)[0])


def test_recording_changes_no_bit_and_stands_beside_others() -> None:
    """The run is that without the recorder; neurons are recorded as well."""
    with learning(Counting()) as lpu:
        lpu.run(STEPS)
        v, synapses = lpu.recorders[0].get("V"), state_of(lpu)
    neurons = nd.MemoryRecorder([("V", None), ("spike_state", None)], sample_interval=7)
    weights = nd.SynapseRecorder(None, "learning", interval=3 * DT)
    with recorded(weights, neurons) as lpu:
        lpu.run(STEPS)
        assert np.array_equal(neurons.get("V"), v[6::7])
        assert equal(state_of(lpu), synapses)
        assert len(weights.recording.weight) == STEPS // 3


def test_a_recording_goes_on_in_the_next_runs(tmp_path: Path) -> None:
    """Runs end between two rows; the circuit is compiled anew; a checkpoint is resumed."""
    expected = read_by_hand()["weight"]
    path = tmp_path / "w.h5"
    stored = nd.SynapseRecorder(path, "learning", interval=EVERY * DT)
    memory = nd.SynapseRecorder(None, "learning", interval=EVERY * DT)
    with recorded(stored, memory) as lpu:
        for steps in (10, 30, 35):
            lpu.run(steps)
        lpu.run(45, inputs=lpu.inputs)
        lpu.save(tmp_path / "c.h5")
        lpu.run(13)
        assert np.array_equal(memory.recording.weight[:], expected[:5])
    goes_on = nd.SynapseRecorder(path, "learning", interval=EVERY * DT)
    with recorded(goes_on) as lpu:
        lpu.resume(tmp_path / "c.h5")
        lpu.run(STEPS - lpu.step)
    assert np.array_equal(goes_on.recording.weight[:], expected)


def test_a_recording_of_a_restored_lpu_begins_there(tmp_path: Path) -> None:
    """Its first row is the first one due."""
    expected = read_by_hand()["weight"]
    with learning(Counting()) as lpu:
        lpu.run(60)
        lpu.save(tmp_path / "c.h5")
    weights = nd.SynapseRecorder(None, "learning", interval=EVERY * DT)
    inputs = [trains(network(Counting()))]
    with nd.LPU.restore(tmp_path / "c.h5", inputs, [weights], models=[Cell, Counting]) as lpu:
        lpu.run(STEPS - 60)
    assert np.array_equal(weights.recording.weight[:], expected[2:])
    assert weights.recording.time[0] == pytest.approx((3 * EVERY - 1) * DT)


ENDLESS = """
import sys
import neurodriver as nd
from test_synapse_recorder import recorded
with recorded(nd.SynapseRecorder(sys.argv[1], "learning", interval=0.025)) as lpu:
    lpu.start()
    while True:
        lpu.advance(20)
        lpu.recorders[0].settle()
        print(lpu.step, flush=True)
"""


def test_a_kill_leaves_a_plain_file(tmp_path: Path) -> None:
    """All rows before the kill are there, as those of a run to its end."""
    path = tmp_path / "w.h5"
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    words = [sys.executable, "-c", ENDLESS, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        seen = [int(process.stdout.readline()) for _ in range(9)]
        process.kill()
    expected = read_by_hand()["weight"]
    with nd.open(path) as recording:
        rows = recording.weight[:]
        assert not recording.complete and len(rows) >= seen[-1] // EVERY
        most = min(len(rows), len(expected))
        assert most > 5 and np.array_equal(rows[:most], expected[:most])


@pytest.mark.parametrize(
    ("given", "more", "said"),
    [
        (("laerning",), {}, "are called 'laerning'.*mean 'learning'.*: 'learning'"),
        (("spike_state -> fixed",), {}, "connections that learn: 'learning'"),
        (("learning", ["x"]), {}, "Pairs have no 'x'; they have: weight"),
        (("learning", ["weight", "weight"]), {}, "each variable once"),
        (("learning", "weight", [0, 90]), {}, "90 synapses, from 0 on .got 90"),
        (("learning", "weight", []), {}, "at least one"),
        (("learning", "weight", [0]), {"count": 3}, "not both"),
        (("learning",), {"count": 0}, "at least 1 .got 0"),
        (("learning",), {"interval": 0.0}, "above 0 s"),
        (("learning",), {"bins": 0}, "'bins' must be at least 1"),
        (("learning",), {"bins": [0.0, 0.5, 0.5]}, "edges that ascend, two at least"),
        (("learning",), {"bins": "many"}, "'bins' must be a number, or edges"),
    ],
)
def test_what_cannot_be_recorded(given: tuple[Any, ...], more: dict[str, Any], said: str) -> None:
    """It is told before the first step."""
    circuit = network(Pairs())
    with pytest.raises(nd.NeurodriverError, match=said):
        one = nd.SynapseRecorder(None, *given, **{"interval": 0.01, **more})
        nd.LPU(circuit, DT, trains(circuit), one, backend="cpu").close()


def test_columns_of_neurons_have_no_ends() -> None:
    """They are no synapses."""
    with learning(Pairs()) as lpu:
        lpu.run(3)
        with pytest.raises(nd.NeurodriverError, match="'V' are no synapses"):
            lpu.recording.ends("V")


def test_copies_of_a_batch(tmp_path: Path) -> None:
    """Each copy has the rows that it has alone; counts, too; in memory and in a file."""
    circuit = network(Counting(), 0)

    def run(path: Path | None, scale: Any, **options: Any) -> Any:
        given: dict[str, Any] = {"interval": EVERY * DT}
        some = nd.SynapseRecorder(path, "learning", ["weight", "seen"], count=9, **given)
        counts = nd.SynapseRecorder(None, "learning", bins=[0.2, 0.5, 0.6, 1.0], **given)
        with nd.LPU(circuit, DT, trains(circuit), [some, counts], backend="cpu", **options) as lpu:
            lpu.run(60)
            lpu["learning"].set("weight", np.clip(lpu["learning"].get("weight") * scale, 0, 1))
            lpu.run(STEPS - 60)
        return some.recording, counts.recording

    batch, counted = run(tmp_path / "w.h5", SCALES[:, None], batch=len(SCALES))
    assert batch.weight.shape == (len(SCALES), STEPS // EVERY, 9)
    for number, scale in enumerate(SCALES.tolist()):
        alone, counts = run(None, scale)
        for name in ("weight", "seen"):
            assert np.array_equal(batch[number][name][:], alone[name][:])
        assert batch[number].ends("weight") == alone.ends("weight")
        assert np.array_equal(counted[number].weight[:], counts.weight[:])
    last = [batch[number].weight[:][-1] for number in range(len(SCALES))]
    assert not np.array_equal(last[0], last[1])
    with nd.open(tmp_path / "w.h5") as again:
        assert np.array_equal(again[1].weight[:][-1], last[1])


SCALES = np.array([1.0, 0.5, 0.8])
"""What the weights of each copy of a batch are multiplied by, during a run."""
