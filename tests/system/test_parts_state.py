"""Values of a circuit in several parts are read, set, saved and restored as those of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutting import network
from learning_networks import Counting, Pairs, Rewarded, trains
from learning_networks import network as learning_network
from support import DT, IAF, POWER, model, weighted_network

import neurodriver as nd
from neurodriver import Connections
from neurodriver.circuit.partition import partition
from neurodriver.model.plasticity import Plasticity

STEPS, CUT = 250, 153


def made(kind: str) -> tuple[nd.Circuit, list[nd.Input]]:
    """Return a circuit of weighted spikes, or of synapses with graded outputs, and its inputs."""
    if kind == "synapses":
        return network(40, 1)
    circuit = weighted_network(40, 3 if kind == "late" else 1)
    uids = circuit.groups[0].uids
    return circuit, [
        nd.StepInput("I", uids, np.linspace(5.0, 30.0, 40)),
        nd.PoissonInput("spike_state", uids[::3], 300.0, seed=1),
    ]


def of(recorder: Any) -> tuple[Any, Any]:
    """Return what was recorded."""
    events = recorder.get("spike_state")
    return recorder.get("V"), np.stack([events["time"], events["index"]])


def alike(one: Any, other: Any) -> bool:
    """Whether all bits are equal, and there is something."""
    (a, s), (b, t) = of(one), of(other)
    assert s.shape[1] > 20 and (a[0] != a[-1]).any()
    return np.array_equal(a, b) and np.array_equal(s, t)


def changed(kind: str, parts: Any) -> tuple[Any, list[Any]]:
    """Read and set values between calls, in the middle of windows and at their ends."""
    circuit, inputs = made(kind)
    neurons = circuit.groups[0].uids
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    seen: list[Any] = []
    with nd.LPU(circuit, DT, inputs, recorder, parts=parts, backend="cpu") as lpu:
        for steps in (7, 9, 8):
            lpu.advance(steps)
            seen += [lpu.get("V"), lpu[neurons[5:30:4]].V, lpu.uids("V").tolist()]
            lpu[neurons[[3, 20, 11]]].set("V", [-57.0, -51.0, -52.5])
        lpu.finish()
        threshold = lpu.get("threshold")
        lpu.set("threshold", threshold + np.linspace(-1.0, 1.0, len(threshold)))
        lpu.run(20)
        lpu[neurons[4:9]].set("threshold", -53.5)
        seen += [lpu.get("threshold"), lpu.circuit.digest]
        lpu.run(STEPS)
    return recorder, seen


@pytest.mark.parametrize("kind", ["early", "late", "synapses"])
@pytest.mark.parametrize("parts", [2, 3])
def test_values_are_read_and_set(kind: str, parts: int) -> None:
    """The run goes on with the bits of the whole."""
    (one, seen), (other, found) = changed(kind, None), changed(kind, parts)
    assert len(seen) == len(found) == 11
    for a, b in zip(seen, found, strict=True):
        assert np.array_equal(a, b)
    assert alike(one, other)


@pytest.mark.parametrize("kind", ["early", "late", "synapses"])
def test_states_go_from_parts_to_parts(kind: str, tmp_path: Path) -> None:
    """What 1, 2 or 3 parts save, 1, 2 or 3 parts go on from: with the bits of one run."""
    circuit, inputs = made(kind)
    wanted = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, backend="cpu") as lpu:
        lpu.run(CUT)
        lpu.run(STEPS, record=[wanted])
    for before, after in ((2, None), (None, 2), (2, 3), (3, 2)):
        path = tmp_path / f"{before}{after}.h5"
        with nd.LPU(circuit, DT, inputs, parts=before, backend="cpu") as lpu:
            lpu.run(CUT)
            lpu.save(path)
        recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
        with nd.LPU.restore(path, inputs, recorder, parts=after, backend="cpu") as lpu:
            assert lpu.step == CUT
            lpu.run(STEPS)
        assert alike(wanted, recorder), (before, after)


def test_a_recording_goes_on(tmp_path: Path) -> None:
    """A file that two parts began is gone on with by three; reset begins anew."""
    circuit, inputs = made("late")
    files = [tmp_path / name for name in ("one.h5", "parts.h5")]
    for path, before, after in ((files[0], None, None), (files[1], 2, 3)):
        with nd.LPU(
            circuit, DT, inputs, nd.HDF5Recorder(path, [("V", None)]), parts=before, backend="cpu"
        ) as lpu:
            lpu.run(CUT)
            lpu.save(tmp_path / "state.h5")
            lpu.run(5)
        again = nd.HDF5Recorder(path, [("V", None)], overwrite=True)
        with nd.LPU(circuit, DT, inputs, again, parts=after, backend="cpu") as lpu:
            lpu.resume(tmp_path / "state.h5")
            lpu.run(STEPS)
    values = [nd.open(path)["V"][:] for path in files]
    assert len(values[0]) == CUT + STEPS and np.array_equal(*values)
    with nd.LPU(circuit, DT, inputs, parts=2, backend="cpu") as lpu:
        begin = lpu.get("V")
        lpu.run(CUT)
        lpu.reset()
        assert lpu.step == 0 and np.array_equal(lpu.get("V"), begin)


def learned(rule: type[Plasticity], parts: int | None) -> tuple[Any, dict[str, Any]]:
    """Return a recording and what was seen of synapses that were read, set, called and stopped."""
    circuit = learning_network(rule())
    of = None if parts is None else partition(circuit, parts)
    recorder, seen = nd.MemoryRecorder([("V", None), ("spike_state", None)]), {}
    with nd.LPU(circuit, 1e-3, trains(circuit), recorder, parts=of, backend="cpu") as lpu:
        synapses = lpu["learning"]
        for steps in (37, 1, 45):
            lpu.run(steps=steps)
            seen |= {(name, steps): synapses.get(name) for name in synapses.names}
        seen["sources"], seen["targets"] = synapses.sources, synapses.targets
        seen["counts"], seen["edges"] = synapses.histogram(7)
        seen["means"] = np.array([*synapses.means().values()])
        synapses.set("weight", np.linspace(0.2, 0.8, len(synapses)))
        synapses.set("weight", 0.5, at=[3, 11, 50])
        synapses.set("weight", 0.25, of=("s1", None))
        if "dopamine" in rule.modulators:
            seen["level"] = synapses.get("dopamine")
            synapses.set("dopamine", 0.75)
        lpu.run(steps=20)
        synapses.learn(False)
        assert not synapses.learning
        lpu.run(steps=20)
        synapses.learn()
        if rule.on_call:
            synapses.call("scale", by=0.5)
        lpu.run(steps=60)
        if rule.bounds is not None:
            with pytest.raises(nd.NeurodriverError, match=r"edge '[cs]\d' -> 'c\d': .* 0 to 1 "):
                synapses.set("weight", 7.0)
        seen["last"] = synapses.get()
    return recorder, seen


class Scaled(Pairs):
    """Pairs, whose weights Python scales."""

    on_call = {"scale(by)": "weight = clip(by * weight);"}


@pytest.mark.parametrize("rule", [Scaled, Counting, Rewarded])
@pytest.mark.parametrize("parts", [2, 3])
def test_synapses_that_learn_are_read_and_set(rule: type[Plasticity], parts: int) -> None:
    """All is as in the whole: numbers, tables, levels, and the bits of the run."""
    (one, seen), (other, found) = learned(rule, None), learned(rule, parts)
    assert seen.keys() == found.keys() and np.ptp(seen["last"]) > 0
    for name, values in seen.items():
        assert np.array_equal(values, found[name]), name
    assert alike(one, other)


@pytest.mark.parametrize("parts", [2, 3])
def test_synapses_are_recorded(parts: int, tmp_path: Path) -> None:
    """Weights and counts over time, beside potentials, in runs of odd lengths, and in a file."""
    circuit, found = learning_network(Counting()), []
    for given in (None, partition(circuit, parts)):
        path = tmp_path / f"{given is None}.h5"
        some = {"interval": 7e-3, "synapses": [5, 80, 2]}
        recorders = [
            nd.SynapseRecorder(path, "learning", ["weight", "lag"], interval=5e-3),
            nd.SynapseRecorder(None, "learning", ["weight"], **some),
            nd.SynapseRecorder(None, "learning", bins=[0.0, 0.3, 0.6, 2.0], interval=0.02),
            nd.MemoryRecorder([("V", None)]),
        ]
        with nd.LPU(circuit, 1e-3, trains(circuit), recorders, parts=given, backend="cpu") as lpu:
            for steps in (33, 2, 65):
                lpu.run(steps=steps)
        rows = [one.recording.weight for one in recorders[:3]]
        found.append(
            [*(row[:] for row in rows), nd.open(path).lag[:], recorders[3].get("V"),
             np.array(rows[0].uids), np.array(recorders[0].recording.ends("weight"))]
        )  # fmt: skip
    assert [len(rows) for rows in found[0][:3]] == [20, 14, 5] and np.ptp(found[0][0]) > 0.1
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("rule", [Scaled, Counting, Rewarded])
def test_what_was_learned_goes_from_parts_to_parts(rule: type[Plasticity], tmp_path: Path) -> None:
    """What 1, 2 or 3 parts save, 1, 2 or 3 parts go on from: with the bits of one run."""
    circuit = learning_network(rule())

    def begun(parts: int | None, recorder: nd.MemoryRecorder | None = None) -> nd.LPU:
        of = None if parts is None else partition(circuit, parts)
        more = [] if recorder is None else [recorder]
        return nd.LPU(circuit, 1e-3, trains(circuit), more, parts=of, backend="cpu")

    want = [("V", None), ("spike_state", None)]
    wanted = nd.MemoryRecorder(want)
    with begun(None) as lpu:
        lpu.run(steps=CUT)
        lpu.run(steps=120, record=[wanted])
        expected = {name: lpu["learning"].get(name) for name in lpu["learning"].names}
    for before, after in ((2, None), (None, 2), (2, 3), (3, 2)):
        path = tmp_path / f"{before}{after}.h5"
        with begun(before) as lpu:
            lpu.run(steps=CUT)
            lpu.save(path)
        recorder = nd.MemoryRecorder(want)
        with begun(after, recorder) as lpu:
            lpu.resume(path)
            lpu.run(steps=120)
            for name, values in expected.items():
                assert np.array_equal(values, lpu["learning"].get(name)), (before, after, name)
        assert alike(wanted, recorder), (before, after)


def test_what_parts_cannot_do(tmp_path: Path) -> None:
    """Each is an error that says so, and the LPU goes on."""
    circuit, inputs = made("late")
    with nd.LPU(circuit, DT, inputs, parts=2, backend="cpu") as lpu:
        lpu.run(5)
        with pytest.raises(nd.NeurodriverError, match=r"no variable 'W'"):
            lpu.get("W")
        with pytest.raises(nd.NeurodriverError, match="must be finite"):
            lpu.set("V", float("nan"))
        with pytest.raises(nd.NeurodriverError, match="a number or 40 of them"):
            lpu.set("V", [1.0, 2.0])
        with pytest.raises(nd.NeurodriverError, match="save between two runs"):
            lpu.run(5, checkpoint=tmp_path / "c.h5")
        lpu.run(5)


def late_circuit() -> nd.Circuit:
    """Return neurons that others read one and 20 steps later, across parts and within one."""
    neurons = {**IAF, "initV": np.array([-65.0, -60.0, -62.0])}
    groups = [
        (model("LeakyIAF"), 3, neurons, None),
        (model("PowerGPotGPot"), 3, {**POWER, "threshold": -70.0}, None),
    ]
    source, target = np.array([[0, 0, 1], [3, 4, 5]], np.int32)
    into = np.array([1, 1, 2], np.int32)
    links = [
        Connections("V", "V", source, target, np.array([20, 1, 20]) * DT),
        Connections("g", "I", target, into, data={"reverse": 0.0}),
    ]
    return nd.Circuit.from_arrays(groups, links)


@pytest.mark.parametrize("large", [1, 4096])
@pytest.mark.parametrize("how", ["state", "recorders", "reset"])
def test_rows_before_the_first_step(how: str, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of an early step has them, also where a part keeps fewer than another one reads."""
    monkeypatch.setattr("neurodriver.parallel.buffers.LARGE", large)
    found = []
    for parts in (None, np.array([0, 1, 1, 1, 1, 1])):
        recorder = nd.MemoryRecorder([("g", None)])
        inputs = [nd.StepInput("I", ["LeakyIAF/0"], 2.0)]
        with nd.LPU(late_circuit(), DT, inputs, [recorder], parts=parts, backend="cpu") as lpu:
            lpu.run(steps=5)
            if how == "state":
                lpu.restore_state(lpu.state())
            if how == "reset":
                lpu.run(steps=95)
                lpu.reset(step=0)
                lpu.run(steps=2)
            if how != "state":
                recorder = nd.MemoryRecorder([("g", None)])
                lpu.change([recorder], None)
            lpu.run(steps=25)
        found.append(np.array(recorder.get("g")))
    assert np.array_equal(*found) and (np.ptp(found[0][-25:], axis=0) > 0).any()


@pytest.mark.parametrize("kind", ["early", "late", "synapses"])
def test_values_are_set_where_rows_go_from_ring_to_ring(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of any size do so."""
    expected, seen = changed(kind, None)
    monkeypatch.setattr("neurodriver.parallel.buffers.LARGE", 1)
    monkeypatch.setattr("neurodriver.parallel.routes.LISTED", 1 << 30)
    found, others = changed(kind, 2)
    assert alike(expected, found)
    for one, other in zip(seen, others, strict=True):
        assert np.array_equal(one, other)


def test_runs_leave_no_channels() -> None:
    """Values that are set again and again do not make the next run slower."""
    with nd.LPU(weighted_network(40, 3), DT, parts=2, backend="cpu") as lpu:
        lpu.start()
        held = []
        for _ in range(5):
            lpu.set("V", -55.0)
            lpu.advance(3)
            parts: Any = lpu.simulation
            held.append(len(parts._parts[0].exchange._moving))
    assert len(set(held[1:])) == 1
