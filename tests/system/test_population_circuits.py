"""A network of populations has the bits of the same network given as columns and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuit.cut import cut
from neurodriver.circuits import optic_lobe
from neurodriver.model.library import shipped

MODEL = "LeakyIAFExpConductance"
EXC, INH = 320, 80
PARAMS = {
    "resting_potential": -49.0,
    "threshold": -50.0,
    "reset_potential": -60.0,
    "capacitance": 200.0,
    "leak_conductance": 10.0,
    "E_exc": 0.0,
    "E_inh": -80.0,
    "tau_exc": 5.0,
    "tau_inh": 10.0,
    "refractory_period": 5.0,
}
RULE = nd.FixedProbability(0.1, autapses=False)
WEIGHTS = {"exc": 6.0, "inh": 67.0}
DELAY = nd.Uniform(5e-4, 2e-3)
START = nd.Normal(-60.0, 5.0, high=-50.0)
SEED = 11


def as_populations() -> tuple[nd.Circuit, list[nd.Input], list[Any]]:
    """The network as a user writes it: circuit, inputs, what is recorded."""
    exc = nd.Population(MODEL, EXC, initV=START, **PARAMS)
    inh = nd.Population(MODEL, INH, initV=START, **PARAMS)
    projections = [
        nd.Projection(source, target, RULE, receptor, weight=WEIGHTS[receptor], delay=DELAY)
        for source, receptor in ((exc, "exc"), (inh, "inh"))
        for target in (exc, inh)
    ]
    circuit = nd.Circuit({"exc": exc, "inh": inh}, projections, seed=SEED)
    inputs = [nd.StepInput("I", exc[:100], 150.0), nd.NoiseInput("I", inh, 50.0, 20.0, seed=3)]
    return circuit, inputs, [("V", [exc[:5], inh[5]]), ("spike_state", None)]


def as_columns(initial: Any) -> tuple[nd.Circuit, list[nd.Input], list[Any]]:
    """The same of component numbers and uids."""
    model = shipped()[MODEL]
    uids = [f"exc/{i}" for i in range(EXC)] + [f"inh/{i}" for i in range(INH)]
    ends = {"exc": range(EXC), "inh": range(EXC, EXC + INH)}
    projections = [
        nd.Projection(
            "spike_state",
            source,
            ends[source],
            ends[target],
            RULE,
            WEIGHTS[source],
            DELAY,
            f"{source} -> {target}, {source}",
        )
        for source in ("exc", "inh")
        for target in ("exc", "inh")
    ]
    group = model, EXC + INH, {**PARAMS, "initV": initial}, uids
    circuit = nd.Circuit.from_arrays([group], projections, seed=SEED)
    first = nd.StepInput("I", uids[:100], 150.0)
    inputs = [first, nd.NoiseInput("I", uids[EXC:], 50.0, 20.0, seed=3)]
    return circuit, inputs, [("V", [*uids[:5], "inh/5"]), ("spike_state", None)]


def recorded(
    circuit: nd.Circuit, inputs: list[nd.Input], record: list[Any], threads: int
) -> nd.MemoryRecorder:
    recorder = nd.MemoryRecorder(record)
    with nd.LPU(circuit, 1e-4, inputs=inputs, recorders=[recorder], threads=threads) as lpu:
        lpu.run(steps=1500)
    return recorder


def same(a: nd.MemoryRecorder, b: nd.MemoryRecorder) -> None:
    assert a.uids("V") == b.uids("V")
    assert a.get("V").tobytes() == b.get("V").tobytes()
    for part in ("time", "index"):
        np.testing.assert_array_equal(a.get("spike_state")[part], b.get("spike_state")[part])


@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_of_columns(threads: int, tmp_path: Path) -> None:
    populations = as_populations()
    columns = as_columns(populations[0].groups[0].params["initV"])
    assert populations[0].digest == columns[0].digest
    first = recorded(*populations, threads)
    assert len(first.get("spike_state")["time"]) > 100
    same(first, recorded(*columns, threads))
    populations[0].save(tmp_path / "c.h5")
    again = nd.Circuit.from_file(tmp_path / "c.h5")
    assert list(again.populations) == ["exc", "inh"]
    same(first, recorded(again, *as_populations()[1:], threads))
    spikes = np.bincount(first.get("spike_state")["index"], minlength=EXC + INH)
    named = first.output["spike_state"]["population"]
    assert spikes[named == "exc"].sum() + spikes[named == "inh"].sum() == spikes.sum()
    assert spikes[named == "inh"].sum() > 0


def test_parts_in_a_manager_record_populations() -> None:
    whole = optic_lobe.circuit(extent=1)
    parts = cut(whole, np.arange(whole.count) % 2, ["even", "odd"])
    recorders = {name: nd.MemoryRecorder([("V", None)]) for name in parts.circuits}
    man = nd.Manager()
    for name, part in parts.circuits.items():
        man.add(nd.LPU, name, part, 1e-3, recorders=[recorders[name]])
    for (source, target), pattern in parts.patterns().items():
        man.connect(source, target, pattern)
    man.spawn()
    man.start(steps=3)
    man.wait()
    for name, recorder in recorders.items():
        uids = np.array(recorder.uids("V"))
        types = [uid.split("/")[0] for uid in uids.tolist()]
        assert recorder.output["V"]["population"].tolist() == types
        assert len(uids) == len(parts.circuits[name].select(model="GradedNeuron"))
