"""The generic circuit: counts, wiring as the names tell it, seeds, and whether it is alive."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from neurodriver import LPU, ArrayInput, Circuit, CircuitError, MemoryRecorder
from neurodriver.circuits import generic

DT = 1e-4

GRADED = 10.0
"""mV of swing that a graded neuron of the first layer shows at least."""


@pytest.fixture(scope="module")
def large() -> Circuit:
    """The sizes that NeuroDriver's benchmark had."""
    return generic.circuit(spiking=203, synapses=40_479)


@pytest.fixture(scope="module")
def small() -> Circuit:
    return generic.circuit(12, 9, 7, seed=3)


def edges(circuit: Circuit, variable: str, access: str) -> list[tuple[str, str]]:
    """Return the names of both ends of all connections of a kind."""
    uids = circuit.uids
    return [
        (str(uids[s]), str(uids[t]))
        for links in circuit.connections
        if (links.variable, links.access) == (variable, access)
        for s, t in zip(links.source.tolist(), links.target.tolist(), strict=True)
    ]


def test_counts(large: Circuit) -> None:
    counts = {g.name: g.count for g in large.groups}
    assert counts["LeakyIAF"] == 203
    assert counts["MorrisLecar"] == 397
    assert counts["AlphaSynapse"] + counts["PowerGPotGPot"] == 40_479
    assert counts["Port"] == 600
    assert large.count == 41_679
    # each synapse has one edge in and one out, each output port one edge
    assert large.edges == 2 * 40_479 + 200


def test_half_by_default() -> None:
    made = generic.circuit(10, 8, 6)
    counts = {g.name: g.count for g in made.groups}
    assert counts["LeakyIAF"] == 8
    assert counts["AlphaSynapse"] + counts["PowerGPotGPot"] == (10 * 8 + 8 * 6) // 2 + 18


def test_wired_as_named(small: Circuit) -> None:
    """Each synapse leads from and to the neurons of its name; no pair of layers is left out."""
    model = {str(u): g.name for g in small.groups for u in g.uids}
    before = edges(small, "spike_state", "spike_state") + edges(small, "V", "V")
    after = dict(edges(small, "g", "I"))
    layers: Counter[tuple[str, str]] = Counter()
    assert len(before) == len(after) == len({s for _, s in before})
    for source, synapse in before:
        target = after[synapse]
        joint = "_to_" if model[source] == "Port" else "-"
        assert synapse == f"synapse_{source}{joint}{target}"
        graded = model[source] == "MorrisLecar"
        assert model[synapse] == ("PowerGPotGPot" if graded else "AlphaSynapse")
        layers[source.rstrip("0123456789"), target.rstrip("0123456789")] += 1
    assert set(layers) == {
        ("in_port", "sensory_"), ("in_port", "local_"), ("sensory_", "local_"), ("local_", "proj_"),
    }  # fmt: skip
    assert layers["in_port", "sensory_"] == 12 and layers["in_port", "local_"] == 9
    assert {u for u in model if u.startswith("local_") and model[u] != "MorrisLecar"} == set()


def test_delay_of_graded_synapses(small: Circuit) -> None:
    delays = {
        (links.variable, links.access): set(np.ravel(links.delay)) for links in small.connections
    }
    assert delays["V", "V"] == {1e-3}
    assert delays["spike_state", "spike_state"] == {0.0}


def test_inhibition_belongs_to_neurons(large: Circuit) -> None:
    """All synapses of one neuron have one reversal potential; about a fifth inhibit."""
    reverse: dict[str, set[float]] = {}
    uids = large.uids
    for links in large.connections:
        if links.variable == "g":
            names = uids[links.source].tolist()
            for name, value in zip(names, links.data["reverse"].tolist(), strict=True):
                reverse.setdefault(name.removeprefix("synapse_").split("-")[0], set()).add(value)
    inner = {k: v for k, v in reverse.items() if not k.startswith("in_port")}
    assert len(inner) == 400 and all(len(v) == 1 for v in inner.values())
    assert 50 < sum(v == {-80.0} for v in inner.values()) < 110
    assert {v for k, found in reverse.items() if k not in inner for v in found} == {0.0}


def test_ports(small: Circuit) -> None:
    ports = small.group("Port")
    model = {str(u): g.name for g in small.groups for u in g.uids}
    rows = zip(*(ports.labels[n].tolist() for n in ("port_io", "port_type", "selector")),
               strict=True)  # fmt: skip
    assert len(set(ports.labels["selector"].tolist())) == ports.count == 12 + 9 + 7
    for uid, (io, kind, selector) in zip(ports.uids.tolist(), rows, strict=True):
        if io == "in":
            assert (kind, selector) == ("spike", f"/generic/in/spk/{uid.removeprefix('in_port')}")
            continue
        spikes = model[uid.removesuffix("_port")] == "LeakyIAF"
        assert kind == ("spike" if spikes else "gpot")
        assert selector.startswith(f"/generic/out/{'spk' if spikes else 'gpot'}/")
    shown = edges(small, "spike_state", "") + edges(small, "V", "")
    assert sorted(t for _, t in shown) == sorted(f"proj_{i}_port" for i in range(7))
    assert all(t == f"{s}_port" for s, t in shown)


def test_seed() -> None:
    made = [generic.circuit(12, 9, 7, seed=seed).digest for seed in (3, 3, 4)]
    assert made[0] == made[1] != made[2]


def test_refused() -> None:
    """All that cannot be is told at once."""
    with pytest.raises(CircuitError) as error:
        generic.circuit(3, 2, 2, spiking=6, synapses=16)
    said = str(error.value)
    assert "of 5 outer neurons 1 to 5 can spike, got 6" in said
    assert "5 ports and 10 pairs allow 6 to 15 synapses, got 16" in said
    with pytest.raises(CircuitError, match="at least one neuron, got 3, 0, 2"):
        generic.circuit(3, 0, 2)


@pytest.mark.parametrize(("spiking", "synapses"), [(1, 6), (5, 15)])
def test_least_and_most(spiking: int, synapses: int) -> None:
    made = generic.circuit(3, 2, 2, spiking=spiking, synapses=synapses)
    assert made.group("LeakyIAF").count == spiking
    with LPU(made, DT) as lpu:
        lpu.run(steps=20)
        assert np.isfinite(lpu.get("V")).all()


def as_graph(circuit: Circuit) -> nx.MultiDiGraph:
    """Return the circuit as a graph, node by node."""
    graph = nx.MultiDiGraph()
    for group in circuit.groups:
        columns = {**group.params, **group.labels}
        for i, uid in enumerate(group.uids.tolist()):
            values = {k: np.broadcast_to(v, group.count)[i].item() for k, v in columns.items()}
            graph.add_node(uid, **{"class": group.name}, **values)
    uids = circuit.uids
    for links in circuit.connections:
        ends = (uids[links.source].tolist(), uids[links.target].tolist())
        for i, (source, target) in enumerate(zip(*ends, strict=True)):
            data = {k: v[i].item() for k, v in links.data.items()}
            delay = np.broadcast_to(links.delay, len(links))[i].item()
            more = {"delay": delay} if delay else {}
            variable = {} if links.access else {"variable": links.variable}
            graph.add_edge(source, target, **data, **more, **variable)
    return graph


def recorded(circuit: Circuit, steps: int, inputs: list[ArrayInput]) -> dict[str, np.ndarray]:
    """Return V of every neuron, by name."""
    recorder = MemoryRecorder([("V", None)])
    with LPU(circuit, DT, inputs, [recorder]) as lpu:
        lpu.run(steps=steps)
        return dict(zip(lpu.uids("V").tolist(), recorder.get("V").T, strict=True))


def test_same_as_a_graph(small: Circuit) -> None:
    """What is built from columns runs like the same nodes and edges."""
    uids, values = generic.current(small, DT, 1_000)
    assert np.ptp(values, axis=0).min() > 1.0  # of 0.4 of a period
    assert uids.tolist() == [u for u in small.uids.tolist() if u.startswith("sensory_")]
    ours = recorded(small, 1_000, [ArrayInput({"I": (uids, values)})])
    other = recorded(
        Circuit.from_graph(as_graph(small)), 1_000, [ArrayInput({"I": (uids, values)})]
    )
    assert set(ours) == set(other) and len(ours) == 28
    for uid, potential in ours.items():
        np.testing.assert_allclose(potential, other[uid], rtol=1e-9, err_msg=uid)


@pytest.mark.parametrize("neurons", [30, 200])
def test_alive(neurons: int) -> None:
    """Every layer moves, neither silent nor saturated, whatever the size."""
    made = generic.circuit(neurons, neurons, neurons, seed=5)
    uids, values = generic.current(made, DT, 5_000)
    recorder = MemoryRecorder([("V", None), ("spike_state", None)])
    with LPU(made, DT, [ArrayInput({"I": (uids, values)})], [recorder]) as lpu:
        lpu.run(steps=5_000)
        names, spiking = lpu.uids("V"), lpu.uids("spike_state")
    swing = np.ptp(recorder.get("V")[2_500:], axis=0)
    counts = np.bincount(recorder.get("spike_state")["index"], minlength=len(spiking))
    for layer in generic.LAYERS:
        graded = np.strings.startswith(names, f"{layer}_") & ~np.isin(names, spiking)
        assert 2.0 < np.median(swing[graded]) < 120.0
        if layer != "local":
            rates = counts[np.strings.startswith(spiking, f"{layer}_")] / 0.5
            assert 10.0 < rates.mean() < 150.0
    sensory = np.strings.startswith(names, "sensory_")
    assert swing[sensory].min() > GRADED
