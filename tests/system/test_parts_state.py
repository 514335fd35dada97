"""Values of a circuit in several parts are read, set, saved and restored as those of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutting import network
from learning_networks import RULES, trains
from learning_networks import network as learning_network
from support import DT, weighted_network

import neurodriver as nd
from neurodriver.circuit.partition import partition
from neurodriver.errors import StateError

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
    learns = learning_network(RULES[0]())
    of = partition(learns, 2)
    with nd.LPU(learns, 1e-3, trains(learns), parts=of, backend="cpu") as lpu:
        with pytest.raises(StateError, match="connections that learn"):
            lpu.save(tmp_path / "learned.h5")
