"""Smoke test: circuits from each kind of file, from graphs, arrays and rules, and cut in two."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from support import chain, graph, model, node, simulate

import neurodriver as nd
from neurodriver.circuit.cut import cut

ONE_NEURON = Path(__file__).parents[2] / "data" / "circuits" / "one_neuron.gexf"
DELTA = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
         "time_constant": 20.0}  # fmt: skip


def test_gexf() -> None:
    """A GEXF file becomes a circuit."""
    circuit = nd.Circuit.from_file(ONE_NEURON)
    assert circuit.uids.tolist() == ["neuron"] and circuit.edges == 0


def test_hdf5(tmp_path: Path) -> None:
    """A circuit comes back from HDF5 as it was."""
    circuit = chain()
    circuit.save(tmp_path / "circuit.h5")
    again = nd.Circuit.from_file(tmp_path / "circuit.h5")
    assert again.digest == circuit.digest and again.uids.tolist() == ["a", "b", "s"]


def test_graph() -> None:
    """A networkx graph becomes a circuit; its faults are told together."""
    two = {"a": node("SpikeSource", {}), "b": node("LeakyIAFDelta", DELTA)}
    circuit = nd.Circuit.from_graph(graph(two, [("a", "b", {"weight": 3.0, "delay": 2e-3})]))
    assert circuit.connections[0].data["weight"].tolist() == [3.0]
    wrong = graph({"a": node("Unheard", {}), "b": node("LeakyIAF", {})})
    with pytest.raises(nd.CircuitError, match=r"(?s)Unheard.*resistance") as caught:
        nd.Circuit.from_graph(wrong)
    assert isinstance(caught.value, nd.NeurodriverError)


def test_tables(tmp_path: Path) -> None:
    """A table of edges becomes a circuit."""
    pytest.importorskip("pyarrow")
    with (tmp_path / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("pre", "post", "count"), (11, 12, 3), (12, 13, 5)])
    circuit = nd.Circuit.from_tables(
        tmp_path / "edges.csv", model=model("LeakyIAFDelta"), source="pre", target="post",
        weight="count", weight_scale=0.5, params=DELTA,
    )  # fmt: skip
    assert circuit.uids.tolist() == ["11", "12", "13"]
    assert circuit.connections[0].data["weight"].tolist() == [1.5, 2.5]


def test_sonata(tmp_path: Path) -> None:
    """A SONATA circuit of a virtual node and a point neuron computes."""
    (tmp_path / "types.csv").write_text(
        "node_type_id model_type model_template\n1 virtual NULL\n"
        "2 point_neuron nest:iaf_psc_delta\n"
    )
    with h5py.File(tmp_path / "nodes.h5", "w") as file:
        file["nodes/p/node_type_id"] = [1, 2]
        file["nodes/p/node_group_id"] = file["nodes/p/node_group_index"] = [0, 0]
        file.create_group("nodes/p/0")
    with h5py.File(tmp_path / "edges.h5", "w") as file:
        for end, number in (("source", 0), ("target", 1)):
            file[f"edges/e/{end}_node_id"] = [number]
            file[f"edges/e/{end}_node_id"].attrs["node_population"] = "p"
        file["edges/e/edge_type_id"] = [-1]
        file["edges/e/edge_group_id"] = file["edges/e/edge_group_index"] = [0]
        file["edges/e/0/syn_weight"], file["edges/e/0/delay"] = [4.0], [1.0]
    networks = {
        "nodes": [{"nodes_file": "nodes.h5", "node_types_file": "types.csv"}],
        "edges": [{"edges_file": "edges.h5", "edge_types_file": "NULL"}],
    }
    (tmp_path / "circuit_config.json").write_text(json.dumps({"networks": networks}))
    circuit = nd.Circuit.from_sonata(tmp_path / "circuit_config.json")
    assert circuit.uids.tolist() == ["p/0", "p/1"]
    with h5py.File(tmp_path / "spikes.h5", "w") as file:
        file["spikes/p/timestamps"], file["spikes/p/node_ids"] = [1.0], [0]
    spike = nd.SonataInput(tmp_path / "spikes.h5")
    assert simulate(circuit, steps=40, inputs=spike)["V"].max() == pytest.approx(-66.0, abs=0.2)


def test_sonata_simulation(tmp_path: Path) -> None:
    """A configuration names a circuit, a current, the step and the duration."""
    params = {"resting_potential": -70.0, "reset_potential": -60.0, "threshold": -55.0}
    params |= {"time_constant": 10.0, "capacitance": 250.0}
    cells = nd.Population("LeakyIAFDelta", 2, name="p", **params)
    nd.Circuit([cells]).save(tmp_path / "circuit_config.json")
    clamp = {"input_type": "current_clamp", "module": "IClamp", "amp": 250.0}
    clamp |= {"delay": 1.0, "duration": 1.0}
    said = {"network": "circuit_config.json", "run": {"tstop": 2.0, "dt": 0.1}}
    path = tmp_path / "simulation_config.json"
    path.write_text(json.dumps({**said, "inputs": {"step": clamp}}))
    it = nd.read_sonata_simulation(path)
    V = simulate(it.circuit, dt=it.dt, steps=20, inputs=it.inputs)["V"]
    assert (V[8] == -70.0).all() and (V[-1] > -69.5).all()


def test_neuroml(tmp_path: Path) -> None:
    """A cell of a file is a model: at rest it fires at its own rate."""
    cell = 'leakReversal="-40mV" thresh="-50mV" reset="-70mV" tau="10ms"'
    path = tmp_path / "cells.nml"
    path.write_text(f'<neuroml id="all"><iafTauCell id="fires" {cell}/></neuroml>')
    cells = nd.read_neuroml(path)
    circuit = nd.Circuit([nd.Population(cells["fires"], 2, name="p")])
    found = simulate(circuit, steps=200, record=[("spike_state", None)])  # every 11 ms, from 0 on
    assert found["spike_state"].sum(axis=0).tolist() == [2, 2]


def test_nestml(tmp_path: Path) -> None:
    """A neuron of a file is a model: it leaves rest with the time constant of the file."""
    path = tmp_path / "neurons.nestml"
    path.write_text(
        "model cell:\n  state:\n    V_m mV = 0 mV\n  equations:\n    V_m' = (goal - V_m) / tau\n"
        "  parameters:\n    goal mV = 1 mV\n    tau ms = 10 ms\n  update:\n    integrate_odes()\n"
    )
    circuit = nd.Circuit([nd.Population(nd.read_nestml(path)["cell"], 2, name="p")])
    V = simulate(circuit, steps=100, dt=1e-4)["V"]
    assert V[-1] == pytest.approx(1 - np.exp(-0.99), abs=1e-6)


def test_connectome() -> None:
    """A table of a release becomes a circuit; one neuron is stimulated, another one silenced."""
    pa = pytest.importorskip("pyarrow")
    edges = pa.table({"body_pre": [1, 2], "body_post": [2, 3], "weight": [400, 400]})
    neurons = {"bodyId": [1, 2, 3], "type": ["a", "b", "c"], "consensus_nt": ["acetylcholine"] * 3}
    brain = nd.Circuit.from_connectome("male_cns", edges, pa.table(neurons))
    excited = brain.stimulate(brain.select(type="a"), rate=100.0)
    silenced = excited.copy().silence(brain.select(type="b"))
    rates = []
    for circuit in (excited, silenced):
        recorder = nd.MemoryRecorder([("spike_state", None)])
        with nd.LPU(circuit, 1e-4, recorders=[recorder]) as lpu:
            lpu.run(duration=0.2)
        rates.append([len(times) for times in recorder.recording.spikes().values()])
    assert min(rates[0]) > 3 and rates[1] == [*rates[0][:2], 0]


RULES = {
    "all": (nd.AllToAll(), 400),
    "pairs": (nd.FixedProbability(0.5), None),
    "in": (nd.FixedInDegree(3), 60),
    "out": (nd.FixedOutDegree(3), 60),
    "total": (nd.FixedTotal(77), 77),
    "one": (nd.OneToOne(), 20),
    "filter": (nd.Lattice([[1]], 1.0, np.arange(20)[:, None], np.arange(20)[:, None]), 19),
}
LAWS = {
    "normal": (nd.Normal(5.0, 1.0), (0, 10)),
    "uniform": (nd.Uniform(1.0, 2.0), (1, 2)),
    "log": (nd.LogNormal(0.0, 0.1), (0.5, 2)),
    "exponential": (nd.Exponential(2.0, high=9.0), (0, 9)),
}


def test_rules_and_distributions() -> None:
    """Every rule and every distribution is drawn as it says, and the network computes."""
    neurons = (model("LeakyIAFDelta"), 20, {**DELTA, "initV": np.linspace(-60, -49, 20)}, None)
    given = [
        nd.Projection("spike_state", "spike_state", range(20), range(20), rule, name=name)
        for name, (rule, _) in RULES.items()
    ] + [
        nd.Projection("spike_state", "spike_state", range(20), range(20), nd.AllToAll(), law,
                      name=name)
        for name, (law, _) in LAWS.items()
    ]  # fmt: skip
    circuit = nd.Circuit.from_arrays([neurons], given, seed=3)
    drawn = circuit.connections
    for links, (_, count) in zip(drawn, RULES.values(), strict=False):
        assert len(links.source) == count or (count is None and 100 < len(links.source) < 300)
    for links, (_, (low, high)) in zip(drawn[len(RULES) :], LAWS.values(), strict=True):
        weights = links.data["weight"]
        assert low <= weights.min() < weights.max() <= high
    V = simulate(circuit, steps=30)["V"]
    assert np.isfinite(V).all() and np.ptp(V) > 1


def test_arrays_and_a_cut() -> None:
    """Connections given as arrays; a circuit cut in two has ports where it was cut."""
    neurons = (model("LeakyIAFDelta"), 2, DELTA, ["a", "b"])
    links = nd.Connections("spike_state", "spike_state", [0], [1], 1e-3, {"weight": 2.0})
    circuit = nd.Circuit.from_arrays([neurons], [links])
    parts = cut(circuit, [0, 1], ["left", "right"])
    assert [c.count for c in parts.circuits.values()] == [2, 2]
    assert list(parts.patterns()) == [("left", "right")]


def test_axes() -> None:
    """A population is on axes; a look-up finds cells by position."""
    y = nd.Axis.span(4, 0, 1)
    cells = nd.Population("LeakyIAFDelta", axes={"y": y, "x": 3}, name="cells", **DELTA)
    assert cells.shape == nd.Circuit([cells]).spaces["cells"].shape == (4, 3)
    assert cells.y.near(0.4, 2).valid == range(1, 3)


def test_rules_of_place() -> None:
    """Cells are connected by place, with weights by distance."""
    y = nd.Axis.span(4, 0, 4)
    cells = nd.Population("LeakyIAFDelta", axes={"y": y}, name="cells", **DELTA)
    weight = nd.Formula("exp(-d2)")
    rules = [nd.Near(y=3), nd.Within(1.0, autapses=False), nd.Offsets([[1.0], [2.0]])]
    ways = [nd.Projection(cells, cells, rule, weight=weight if i < 2 else 1.0, name=f"way {i}")
            for i, rule in enumerate(rules)]  # fmt: skip
    circuit = nd.Circuit([cells], ways)
    assert [len(links) for links in circuit.connections] == [10, 6, 5]


def test_a_text_reads_other_cells_and_fields() -> None:
    class Held(nd.NDComponent):
        axes, updates = ("y",), {"val": "1"}

    class Reads(Held):
        sources, fields = {"image": nd.Source("val")}, {"w": nd.Field(axes="y")}
        update = "val = w[here.y] * image.val[here.y];"

    image = nd.Population(Held, name="image", axes={"y": 2}, initval=[1.0, 2.0])
    bank = nd.Value([3.0, 4.0], name="bank")
    cells = nd.Population(Reads, name="cells", axes={"y": 2}, image=image, w=bank)
    with nd.LPU(nd.Circuit([image, cells]), dt=1e-3) as lpu:
        lpu.advance(1)
        assert lpu["cells"].val.tolist() == [3.0, 8.0]


def test_cells_share_what_a_pool_makes_of_them() -> None:
    class Pooled(nd.NDComponent):
        axes, updates = ("y",), {"val": "1"}
        states = {"val": nd.State("1", 0.0)}
        pools = {"mean": nd.Reduce("mean", "val")}
        update = "val = val - here.mean;"

    cells = nd.Population(Pooled, name="cells", axes={"y": 2}, initval=[1.0, 3.0])
    with nd.LPU(nd.Circuit([cells]), dt=1e-3) as lpu:
        assert lpu["cells"].mean == 2.0
        lpu.advance(1)
        assert lpu["cells"].val.tolist() == [-1.0, 1.0]


def test_a_shipped_circuit() -> None:
    """Circuits of the examples are read by name; a wrong name is told with the right ones."""
    assert nd.example("one_neuron").uids.tolist() == ["neuron"]
    with pytest.raises(nd.CircuitError, match=r"did you mean 'one_neuron'.*optic_lobe_extent3"):
        nd.example("one_neurons")
