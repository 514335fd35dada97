"""A circuit in two parts on two ranks: the bits of the whole, on every rank."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from cutting import network
from learning_networks import assert_parts_learn_alike
from support import DT, example, weighted_network

import neurodriver as nd
from neurodriver.mpi import world

STEPS = 200


@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize(("large", "listed"), [(4, 1 << 30), (4096, 1 << 30), (4096, 1)])
def test_bits_of_the_whole(
    least: int, large: int, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs; recordings are those of the whole. Values go as rows, and spikes as lists."""
    monkeypatch.setattr("neurodriver.parallel.routes.LISTED", listed)
    monkeypatch.setattr("neurodriver.parallel.buffers.LARGE", large)
    monkeypatch.setattr("neurodriver.parallel.native_exchange.PATIENCE", 10**11)
    circuit = weighted_network(60, least)
    uids = circuit.groups[0].uids
    inputs: list[nd.Input] = [
        nd.StepInput("I", uids, np.linspace(5.0, 30.0, 60)),
        nd.PoissonInput("spike_state", uids[::3], 300.0, seed=1),
    ]
    found = []
    for parts in (None, "auto"):
        recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
        with nd.LPU(circuit, DT, inputs, recorder, parts=parts) as lpu:
            lpu.run(steps=STEPS // 4)
            lpu.run(steps=STEPS - STEPS // 4)
            if parts:  # compiled code exchanges by itself, but at the ends of calls
                (part,) = lpu.simulation._parts  # type: ignore[attr-defined]
                assert part.exchange.native > 10
        found.append(recorder)
    one, other = found
    assert np.array_equal(one.get("V"), other.get("V")) and one.uids("V") == other.uids("V")
    a, b = one.get("spike_state"), other.get("spike_state")
    assert len(a["time"]) > 100 and all(np.array_equal(a[key], b[key]) for key in a)


def test_rank_0_writes_the_file(tmp_path: Path) -> None:
    """The file of the whole; the other rank writes none."""
    circuit, inputs = network(50, 1)
    with nd.LPU(circuit, DT, inputs, nd.MemoryRecorder([("V", None)])) as lpu:
        lpu.run(steps=STEPS)
        expected = lpu.recorders[0].get("V")  # type: ignore[attr-defined]
    path = tmp_path / "v.h5"
    recorder = nd.HDF5Recorder(path, [("V", None)])
    with nd.LPU(circuit, DT, inputs, recorder, parts="auto") as lpu:
        lpu.run(steps=STEPS)
    assert path.exists() == (world().rank == 0)
    if world().rank == 0:
        with h5py.File(path) as file:
            assert np.array_equal(file["V"]["data"], expected)


def test_parts_are_as_many_as_ranks() -> None:
    """Another number is an error on every rank."""
    circuit, _ = network(50, 1)
    with pytest.raises(nd.CircuitError, match="3 parts do not fit 2 ranks"):
        nd.LPU(circuit, DT, parts=3)


def test_areas_of_a_cortex() -> None:
    """The multi-area model fires in the same steps, however its neurons are divided over ranks."""
    module = example("schmidt_2018")
    circuit, inputs, populations = module.network(
        module.synthetic(areas=2), sizes=0.006, indegrees=0.2
    )
    counts = [len(one) for one in populations.values()]
    own = np.repeat(np.repeat([0, 1], 8), counts)
    found = []
    for given in (None, own, "auto"):
        recorder = nd.MemoryRecorder([("spike_state", None)])
        with nd.LPU(circuit, DT, inputs, recorder, dtype="float32", parts=given, threads=1) as lpu:
            lpu.run(steps=800)
        found.append(recorder.get("spike_state"))
    one, *others = found
    assert len(one["time"]) > 300
    assert all(np.array_equal(one[key], other[key]) for other in others for key in one)


def test_synapses_learn() -> None:
    """Those between parts, too."""
    assert_parts_learn_alike(world().size)
    world().gather(None)


def test_values_and_states(tmp_path: Path) -> None:
    """Each rank reads the values of all parts, and sets them; rank 0 writes the checkpoint."""
    path = Path(world().spread(str(tmp_path))) / "state.h5"
    circuit = weighted_network(60, 2)
    inputs = [nd.StepInput("I", circuit.uids, np.linspace(5.0, 30.0, 60))]
    found = []
    for parts in (None, "auto"):
        recorder = nd.MemoryRecorder([("V", None)])
        with nd.LPU(circuit, DT, inputs, recorder, parts=parts) as lpu:
            lpu.advance(31)
            lpu[circuit.uids[10:50:3]].set("V", -52.0)
            lpu.finish()
            lpu.set("threshold", np.linspace(-55.0, -50.0, 60))
            lpu.run(STEPS)
            if parts:
                lpu.save(path)
                said = lpu.describe()
                assert sum(one.connections for one in said.parts) == circuit.edges
            found.append((lpu.get("V"), recorder.get("V"), lpu.current_circuit().digest))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    values = []
    for parts in (None, "auto"):
        with nd.LPU.restore(path, inputs, parts=parts) as lpu:
            lpu.run(STEPS)
            values.append(lpu.get("V"))
    assert np.array_equal(*values) and not np.array_equal(values[0], found[0][0])
    world().gather(None)
