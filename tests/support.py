"""Builds small circuits and runs them, for all tests."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from neurodriver import LPU, Circuit, Connections, Input, MemoryRecorder, NDComponent
from neurodriver.model.library import shipped

DT = 1e-4
"""Step in seconds where a test asks for none in particular."""

IAF = {
    "resting_potential": -70.0,
    "threshold": -45.0,
    "reset_potential": -70.0,
    "capacitance": 2.0,
    "resistance": 10.0,
}
HH2 = {"g_K": 36.0, "g_Na": 120.0, "g_L": 0.3, "E_K": -77.0, "E_Na": 50.0, "E_L": -54.387}
ML = {
    "V1": -20.0, "V2": 50.0, "V3": -40.0, "V4": 20.0, "phi": 0.001, "offset": 0.0,
    "V_L": -40.0, "V_Ca": 120.0, "V_K": -80.0, "g_L": 3.0, "g_Ca": 4.0, "g_K": 16.0,
}  # fmt: skip
ALPHA = {"gmax": 0.003, "ar": 0.11, "ad": 0.19}
AMPA = {"gmax": 0.003, "st": 20.0}
POWER = {"threshold": -55.0, "slope": 0.02, "power": 1.0, "saturation": 0.4}

Record = Sequence[tuple[str, Sequence[str] | None]]
Models = Iterable[type[NDComponent]]
Recorded = dict[str, NDArray[Any]]


def example(name: str) -> ModuleType:
    """Return an example of ``examples/papers`` as a module; examples may import one another."""
    path = Path(__file__).parents[1] / "examples" / "papers" / f"{name}.py"
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model(name: str) -> type[NDComponent]:
    """Return a shipped model."""
    return shipped()[name]


def node(name: str, given: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the attributes of a node: its class, its parameters and what differs."""
    return {"class": name, **given, **more}


def graph(
    nodes: Mapping[str, Mapping[str, Any]], edges: Iterable[tuple[Any, ...]] = ()
) -> nx.MultiDiGraph:
    """Return a graph from nodes (uid -> attributes) and edges (source, target[, attributes])."""
    made = nx.MultiDiGraph()
    for uid, data in nodes.items():
        made.add_node(uid, **data)
    for source, target, *data in edges:
        made.add_edge(source, target, **(data[0] if data else {}))
    return made


def build(
    nodes: Mapping[str, Mapping[str, Any]],
    edges: Iterable[tuple[Any, ...]] = (),
    models: Models = (),
) -> Circuit:
    """Return a circuit from nodes and edges."""
    return Circuit.from_graph(graph(nodes, edges), models)


def alone(name: str, given: Mapping[str, Any], **more: Any) -> Circuit:
    """Return a circuit of one component, ``n``."""
    return build({"n": node(name, given, **more)})


def chain(weight: float = 100.0) -> Circuit:
    """Return ``a -> s -> b``: a neuron, an AMPA synapse, a neuron."""
    eager = {**IAF, "threshold": -69.9999}
    return build(
        {
            "a": node("LeakyIAF", eager),
            "s": node("SynapseAMPA", AMPA, gmax=0.003 * weight / 100.0, reverse=0.0),
            "b": node("LeakyIAF", IAF),
        },
        [("a", "s"), ("s", "b")],
    )


FEATURE_EDGES: list[Any] = [
    ("n0", "s", {"delay": 0.0015}),
    ("s", "n1"),
    ("pi", "s2"),
    ("s2", "n1", {"delay": 0.0002}),
    ("n1", "po"),
    ("n1", "pv", {"variable": "V"}),
]


def every_feature() -> Circuit:
    """Return the minimal circuit that uses every feature of the graph format."""
    iaf = {**IAF, "initV": -65.0}
    port = {"class": "Port"}
    return build(
        {
            "n0": node("LeakyIAF", iaf),
            "n1": node("LeakyIAF", iaf),
            "s": node("AlphaSynapse", ALPHA, reverse=65.0),
            "pi": {**port, "selector": "/lpu_0/in/spk/0", "port_type": "spike", "port_io": "in"},
            "s2": node("AlphaSynapse", ALPHA, reverse=0.0),
            "po": {**port, "selector": "/lpu_0/out/spk/0", "port_type": "spike", "port_io": "out"},
            "pv": {**port, "selector": "/lpu_0/out/gpot/0", "port_type": "gpot", "port_io": "out"},
        },
        FEATURE_EDGES,
    )


def spiking_network(
    neurons: int, fan_in: int, seed: int, dt: float = DT, alpha: float = 0.5
) -> Circuit:
    """Return LIF neurons with random AlphaSynapse and AMPA connections and random delays.

    A share ``alpha`` of the synapses are AlphaSynapses; odd numbers make odd group sizes.
    """
    rng = np.random.default_rng(seed)
    synapses = neurons * fan_in
    first = int(alpha * synapses)
    iaf = {
        **IAF,
        "threshold": rng.uniform(-60.0, -55.0, neurons),
        "resistance": rng.uniform(8.0, 12.0, neurons),
        "initV": rng.uniform(-70.0, -60.0, neurons),
    }
    groups = [
        (model("LeakyIAF"), neurons, iaf, None),
        (model("AlphaSynapse"), first, {**ALPHA, "gmax": rng.uniform(0.01, 0.05, first)}, None),
        (model("SynapseAMPA"), synapses - first, {**AMPA, "gmax": 0.02, "st": 5.0}, None),
    ]
    synapse = neurons + np.arange(synapses, dtype=np.int32)
    source = rng.integers(0, neurons, synapses).astype(np.int32)
    target = rng.integers(0, neurons, synapses).astype(np.int32)
    reverse = np.where(rng.random(synapses) < 0.8, 0.0, -80.0)
    links = [
        Connections(
            "spike_state", "spike_state", source, synapse, rng.integers(1, 20, synapses) * dt
        ),
        Connections("g", "I", synapse, target, rng.integers(1, 4, synapses) * dt,
                    {"reverse": reverse}),
    ]  # fmt: skip
    return Circuit.from_arrays(groups, links)


def weighted_network(neurons: int, least: int, seed: int = 1, dt: float = DT) -> Circuit:
    """Return LIF neurons that jump at weighted spikes, delays of ``least`` to 20 steps."""
    rng = np.random.default_rng(seed)
    lif = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
           "time_constant": 20.0, "refractory_period": 0.5}  # fmt: skip
    target = np.repeat(np.arange(neurons, dtype=np.int32), 11)
    source = rng.integers(0, neurons, len(target)).astype(np.int32)
    delay = rng.integers(least, 21, len(target)) * dt
    data = {"weight": rng.normal(0.1, 0.5, len(target))}
    links = Connections("spike_state", "spike_state", source, target, delay, data)
    start = {"initV": rng.uniform(-60.0, -49.9, neurons)}
    return Circuit.from_arrays([(model("LeakyIAFDelta"), neurons, {**lif, **start}, None)], [links])


def converging(neurons: int, seed: int, dt: float = DT) -> Circuit:
    """Return LIF neurons, each with six to eight AlphaSynapses of the shortest output delay."""
    rng = np.random.default_rng(seed)
    degree = rng.integers(6, 9, neurons)
    count = int(degree.sum())
    iaf = {**IAF, "threshold": rng.uniform(-60.0, -55.0, neurons)}
    alpha = {"gmax": rng.uniform(0.01, 0.05, count), "ar": rng.uniform(0.5, 1.0, count), "ad": 0.3}
    groups = [
        (model("LeakyIAF"), neurons, iaf, None),
        (model("AlphaSynapse"), count, alpha, None),
    ]
    synapse = (neurons + rng.permutation(count)).astype(np.int32)
    source = rng.integers(0, neurons, count).astype(np.int32)
    target = np.repeat(np.arange(neurons, dtype=np.int32), degree)
    reverse = np.where(rng.random(count) < 0.8, 0.0, -80.0)
    delay = rng.integers(1, 20, count) * dt
    links = [
        Connections("spike_state", "spike_state", source, synapse, delay),
        Connections("g", "I", synapse, target, data={"reverse": reverse}),
    ]
    return Circuit.from_arrays(groups, links)


def all_to_all(neurons: int, seed: int) -> Circuit:
    """Return HodgkinHuxley2 neurons, an AlphaSynapse from each to each."""
    rng = np.random.default_rng(seed)
    count = neurons * neurons
    hh = {**HH2, "initV": rng.uniform(-70.0, -60.0, neurons), "initn": 0.3, "initm": 0.05,
          "inith": 0.6}  # fmt: skip
    groups = [
        (model("HodgkinHuxley2"), neurons, hh, None),
        (model("AlphaSynapse"), count, {**ALPHA, "gmax": rng.uniform(1e-4, 2e-4, count)}, None),
    ]
    synapse = neurons + np.arange(count, dtype=np.int32)
    pre = np.tile(np.arange(neurons, dtype=np.int32), neurons)
    post = np.repeat(np.arange(neurons, dtype=np.int32), neurons)
    links = [
        Connections("spike_state", "spike_state", pre, synapse),
        Connections("g", "I", synapse, post, data={"reverse": np.asarray(0.0)}),
    ]
    return Circuit.from_arrays(groups, links)


def started(
    circuit: Any,
    dt: float = DT,
    inputs: Sequence[Input] | Input = (),
    record: Record = (("V", None),),
    *,
    chunk: int | None = None,
    interval: int = 1,
    **settings: Any,
) -> LPU:
    """Return an LPU with a MemoryRecorder; ``chunk`` steps per call into compiled code."""
    recorders = [MemoryRecorder(record, interval)] if record else []
    lpu = LPU(circuit, dt, inputs, recorders, **settings)
    if chunk is not None:
        lpu.simulation.length.fixed = chunk
    return lpu


def simulate(
    circuit: Any,
    dt: float = DT,
    steps: int = 1000,
    inputs: Sequence[Input] | Input = (),
    record: Record = (("V", None),),
    **settings: Any,
) -> Recorded:
    """Return variable -> (steps, n) array; spikes as an array of zeros and ones, too."""
    with started(circuit, dt, inputs, record, **settings) as lpu:
        lpu.run(steps=steps)
        return recorded(lpu, steps)


def recorded(lpu: LPU, steps: int) -> Recorded:
    """Return what the first recorder of a finished run holds, events as rows."""
    recorder: Any = lpu.recorders[0]
    out: Recorded = {}
    for variable, entry in recorder.output.items():
        data = entry["data"]
        if isinstance(data, dict):
            rows = np.zeros((steps, len(entry["uids"])))
            at = np.rint(data["time"] / lpu.dt).astype(int)
            assert np.array_equal(at * lpu.dt, data["time"])
            rows[at, data["index"]] = 1
            data = rows
        out[variable] = data
    return out


def spike_rows(data: Recorded, column: int = 0) -> list[int]:
    """Return the rows in which a component spiked."""
    return np.flatnonzero(data["spike_state"][:, column]).tolist()


def assert_same_bits(one: Recorded, other: Recorded) -> None:
    """Fail unless two recordings hold the same bits, and something moved."""
    assert one.keys() == other.keys()
    for variable, data in one.items():
        assert data.dtype == other[variable].dtype
        assert data.shape == other[variable].shape
        assert data.size
        assert data.min() < data.max(), f"{variable} never moved"
        different = data.view(np.uint8) != other[variable].view(np.uint8)
        assert not different.any(), f"{variable}: {np.argwhere(data != other[variable])[:3]}"


def between_ports(into: str, out: str) -> Circuit:
    """Return a neuron whose synapse listens to one port, and whose potential leaves by another."""
    port = {"class": "Port", "port_type": "gpot"}
    power = {"threshold": -70.0, "slope": 0.02, "power": 1.0, "saturation": 0.4, "scale": 1.0}
    return build(
        {
            "in": {**port, "selector": into, "port_io": "in"},
            "s": node("PowerGPotGPot", power, reverse=-30.0),
            "n": node("LeakyIAF", IAF, initV=-65.0),
            "out": {**port, "selector": out, "port_io": "out"},
        },
        [("in", "s"), ("s", "n"), ("n", "out", {"variable": "V"})],
    )


GOLDEN = 1e-8
"""Relative. The rows of the upstream simulator are told to ten digits. Another exp and another
order of operations add a few units of the last place, also after seven spikes."""


def assert_rows(data: Recorded, variable: str, rows: Mapping[int, float]) -> None:
    """Compare single rows of the only column, of a run of 1,000 steps."""
    column = data[variable][:, 0]
    assert len(column) == 1000
    np.testing.assert_allclose(column[[*rows]], [*rows.values()], rtol=GOLDEN, atol=1e-12)


def eventually(reached: Callable[[], bool]) -> None:
    """Wait until something holds that another thread does."""
    until = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.005)
