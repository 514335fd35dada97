"""LPUs of a Manager in one process are saved together, and go on with equal bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutting import _within, network, random_parts
from support import DT

import neurodriver as nd
from neurodriver.circuit.cut import Parts, cut

NAMES = ("a", "b", "c")
CIRCUIT, INPUTS = network(40, 3)
WANTED = ("V", "spike_state", "g")


def parts(seed: int = 5) -> Parts:
    """A spiking network with inputs, cut in three."""
    return cut(CIRCUIT, random_parts(CIRCUIT, 3, seed), NAMES)


def managed(cuts: Parts, recorder: Callable[[str], nd.MemoryRecorder | nd.HDF5Recorder]) -> Any:
    """A Manager of the parts, which are wired with a delay; and its recorders."""
    man, recorders = nd.Manager(quiet=True), {}
    for name, circuit in cuts.circuits.items():
        inputs = [i for one in INPUTS if (i := _within(one, circuit))]
        recorders[name] = recorder(name)
        man.add(nd.LPU, name, circuit, DT, inputs, [recorders[name]])
    for (source, target), pattern in cuts.patterns().items():
        man.connect(source, target, pattern, delay=7e-4)
    return man, recorders


def memory(name: str) -> nd.MemoryRecorder:
    """Records all that there is."""
    return nd.MemoryRecorder([(variable, None) for variable in WANTED])


def tail(data: Any, first: int) -> Any:
    """The rows or events from a step on."""
    if isinstance(data, dict):
        later = data["time"] >= (first - 0.5) * DT
        return np.stack([data["time"][later], data["index"][later]])
    return data[first:]


@pytest.mark.parametrize("steps", [1, 83, 250])
def test_a_job_goes_on(tmp_path: Path, steps: int) -> None:
    """In memory from the checkpoint on, and in files without a seam."""
    path, cuts = tmp_path / "job.h5", parts()

    def file(name: str) -> nd.HDF5Recorder:
        return nd.HDF5Recorder(tmp_path / f"{name}.h5", [(variable, None) for variable in WANTED])

    man, whole = managed(cuts, memory)
    man.start(steps=400)
    man.wait()
    man, _ = managed(cuts, file)
    man.start(steps=steps, checkpoint=path)
    man.wait()
    man, recorders = managed(cuts, memory)
    man.resume(path)
    man.start(steps=400 - steps)
    man.wait()
    events = 0
    for name in NAMES:
        for variable in WANTED:
            expected = tail(whole[name].get(variable), steps)
            assert np.array_equal(tail(recorders[name].get(variable), 0), expected)
            events += expected.shape[1] if variable == "spike_state" else 0
            assert variable == "spike_state" or np.ptp(expected) > 0
    assert events > 20
    man, recorders = managed(cuts, file)
    man.resume(path)
    man.start(steps=400 - steps)
    man.wait()
    for name in NAMES:
        found = recorders[name].recording
        assert np.array_equal(found.V[:], whole[name].get("V"))
        assert np.array_equal(found.spikes.time, whole[name].get("spike_state")["time"])


def test_others_are_refused(tmp_path: Path) -> None:
    """A run that has begun, another cut, a missing file, fewer LPUs; an LPU alone."""
    path = tmp_path / "job.h5"
    man, _ = managed(parts(), memory)
    man.start(steps=5, checkpoint=path)
    man.wait()
    with pytest.raises(nd.NeurodriverError, match="started already"):
        man.resume(path)
    with pytest.raises(nd.NeurodriverError, match="other ids or circuits"):
        managed(parts(6), memory)[0].resume(path)
    with pytest.raises(nd.NeurodriverError, match="no such file"):
        managed(parts(), memory)[0].resume(tmp_path / "none.h5")
    with pytest.raises(nd.NeurodriverError, match="holds no circuit"):
        nd.LPU.restore(path)
    lonely = nd.Manager(quiet=True)
    lonely.add(nd.LPU, "a", parts().circuits["a"], DT)
    with pytest.raises(nd.NeurodriverError, match="other ids"):
        lonely.resume(path)


def test_merged_synapses_have_no_states_of_their_own(tmp_path: Path) -> None:
    """What was computed as one cannot be recorded one by one afterwards, and an error says so."""

    def potentials(name: str) -> nd.MemoryRecorder:
        return nd.MemoryRecorder([("V", None)])

    path = tmp_path / "job.h5"
    man, whole = managed(parts(), potentials)
    man.start(steps=300)
    man.wait()
    man, _ = managed(parts(), potentials)
    man.start(steps=250, checkpoint=path)
    man.wait()
    with pytest.raises(nd.NeurodriverError, match=r"components of \w+ were not saved.*merge=False"):
        managed(parts(), memory)[0].resume(path)
    man, recorders = managed(parts(), potentials)
    man.resume(path)
    man.start(steps=50)
    man.wait()
    for name in NAMES:
        assert np.array_equal(recorders[name].get("V"), whole[name].get("V")[250:])
