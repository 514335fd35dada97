"""Kinds of variables: what a model declares decides, not what its variables are called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from device_code import check_text

import neurodriver as nd
from neurodriver.circuit.cut import cut
from neurodriver.circuit.wiring import resolve
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.components.axon_hillocks.leaky_iaf import LeakyIAF
from neurodriver.components.dendrites.aggregator import Aggregator
from neurodriver.components.dendrites.gap_junctions import GapJunctions
from neurodriver.components.point_neurons.leaky_iaf_delta import LeakyIAFDelta
from neurodriver.components.synapses.alpha_synapse import AlphaSynapse
from neurodriver.errors import CircuitError, ModelError
from neurodriver.model.kinds import VariableKind, usual_unit
from neurodriver.model.linear import ARRIVED, Linear, arrival
from neurodriver.plan.arrays import Key, Kind, VariableOwner, ring
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.passes.aggregate import insert_aggregators
from neurodriver.plan.passes.merge import Recorded
from neurodriver.plan.target import TARGETS, Target

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "neurodriver"
FREE = ("model/kinds.py", "components/", "error_driven/neuron", "compat/", "pynn/")
"""Modules and folders that may use the names: the table, shipped models, the old library."""
NAMES = {"spike_state", "g", "Aggregator"}
HELP: dict[str, set[str]] = {"model/units.py": {"g"}, "io/sonata_glif.py": {"g"}}
"""Modules whose texts hold such a word and mean something else: the gram, a parameter of NEST."""

NEURON: dict[str, Any] = {
    "accesses": ("I", nd.Weighted("spike_state", receptor="kick")),
    "updates": ("spike_state", "V"),
    "states": {"V": nd.State("mV", -60.0)},
    "update": """
        V += dt_ms * (0.1 * (-60 - V) + I) + kick;
        if (V > -50) { V = -60; spike_state = 1; }
    """,
}
SYNAPSE: dict[str, Any] = {
    "accesses": ("spike_state",),
    "updates": ("g",),
    "params": {"gmax": "mS/cm^2", "tau": "ms"},
    "states": {"s": "1"},
    "terms": {ARRIVED: arrival("spike_state")},
    "update": "s = (s + arrived) * exp(-dt_ms / tau);",
    "outputs": {"g": "gmax * s"},
    "linear": Linear(("gmax",)),
}
OWN = {"spike_state": "clicks", "g": "gK", "V": "U", "I": "J"}
KINDS = {"clicks": "event", "gK": "conductance", "U": "potential", "J": "current"}
SAME = {name: name for name in OWN}


def model(name: str, given: dict[str, Any], names: dict[str, str]) -> type[nd.NDComponent]:
    """Return a model with other names for its variables; what is not usual is declared."""

    def said(text: str) -> str:
        return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)

    def access(one: Any) -> Any:
        return names[one] if isinstance(one, str) else nd.Weighted(names[one.variable], one.name)

    body = {key: said(value) if isinstance(value, str) else value for key, value in given.items()}
    body["accesses"] = [access(one) for one in given["accesses"]]
    body["updates"] = [names[v] for v in given["updates"]]
    for part in ("states", "terms", "outputs"):
        pairs = given.get(part, {}).items()
        body[part] = {said(k): said(v) if isinstance(v, str) else v for k, v in pairs}
    body["units"] = {names[v]: usual_unit(v) for v in given["updates"]}
    read = [getattr(one, "variable", one) for one in body["accesses"]]
    body["kinds"] = {v: KINDS[v] for v in [*read, *body["updates"]] if v in KINDS}
    return type(name, (nd.NDComponent,), body)


def network(names: dict[str, str]) -> nd.Circuit:
    """Return neurons that kick each other, and reach each other by synapses too."""
    neuron, synapse = model("Neuron", NEURON, names), model("Synapse", SYNAPSE, names)
    rng = np.random.default_rng(3)
    n, m, e = 60, 400, 900
    pre, post = rng.integers(0, n, m), np.arange(m) % n
    spikes, current = names["spike_state"], names["I"]
    links = [
        nd.Connections(spikes, "kick", *(rng.integers(0, n, e, np.int32) for _ in range(2)),
                       np.full(e, 1e-3), {"weight": rng.integers(-3, 9, e) * 0.25}),
        nd.Connections(spikes, spikes, pre.astype(np.int32), (n + np.arange(m)).astype(np.int32)),
        nd.Connections(names["g"], current, (n + np.arange(m)).astype(np.int32),
                       post.astype(np.int32), data={"reverse": np.zeros(m)}),
    ]  # fmt: skip
    params = {"gmax": 0.01, "tau": np.where(np.arange(m) < m // 2, 2.0, 5.0)}
    return nd.Circuit.from_arrays([(neuron, n, {}, None), (synapse, m, params, None)], links)


def recorded(names: dict[str, str], variables: list[str], **how: Any) -> list[Any]:
    """Return what a run records of variables, by their usual names; events as times and columns."""
    uids = [f"Neuron/{i}" for i in range(60)]
    drive = nd.StepInput(names["I"], uids, 1.5, 0.0, 0.1)
    recorder = nd.MemoryRecorder([(names[v], None) for v in variables])
    with nd.LPU(network(names), 1e-4, [drive], [recorder], **how) as lpu:
        lpu.run(1000)
    found = [recorder.get(names[v]) for v in variables]
    return [[x["time"], x["index"]] if isinstance(x, dict) else [x] for x in found]


@pytest.mark.parametrize("variables", [["spike_state", "V"], ["spike_state", "V", "g"]])
@pytest.mark.parametrize("how", [{}, {"plans": False}, {"merge": False}, {"dtype": "float32"}])
def test_own_names_give_the_same_bits(variables: list[str], how: dict[str, Any]) -> None:
    """Own events, conductances, potentials and currents are computed as the usual ones are."""
    usual, own = (recorded(names, variables, **how) for names in (SAME, OWN))
    assert len(usual[0]) == 2 and len(usual[0][0]) > 100  # times and columns of events
    for one, other in zip(usual, own, strict=True):
        for column, twin in zip(one, other, strict=True):
            assert np.array_equal(column, twin)


def events_of_parts(names: dict[str, str]) -> list[Any]:
    """Return times and columns of the events of two LPUs into which the network is cut."""
    circuit = network(names)
    part = np.arange(circuit.count) % 2
    part[60:] = part[np.arange(400) % 60]  # a synapse goes with its target
    pieces = cut(circuit, part, ["a", "b"])
    drive = {name: [f"Neuron/{i}" for i in range(60) if i % 2 == n] for n, name in enumerate("ab")}
    man = nd.Manager(timeout=60.0)
    for name, piece in pieces.circuits.items():
        ports = piece.groups[-1]
        assert ports.is_port and {*ports.labels["port_type"].tolist()} == {"spike"}
        step = nd.StepInput(names["I"], drive[name], 1.5, 0.0, 0.1)
        recorder = nd.MemoryRecorder([(names["spike_state"], None)])
        man.add(nd.LPU, name, piece, 1e-4, [step], [recorder])
    for (source, target), pattern in pieces.patterns().items():
        man.connect(source, target, pattern)
    man.spawn()
    man.start(steps=1000)
    man.wait()
    found = [one.recorders[0].get(names["spike_state"]) for one in man.lpus.values()]
    return [events[part] for events in found for part in ("time", "index")]


def test_own_events_cross_ports() -> None:
    """LPUs send own events through spike ports, with the bits of the usual ones."""
    usual, own = (events_of_parts(names) for names in (SAME, OWN))
    assert len(usual) == len(own) == 4 and min(map(len, usual)) > 50
    for column, twin in zip(usual, own, strict=True):
        assert np.array_equal(column, twin)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_own_names_are_planned_alike(target: Target) -> None:
    """Spikes are delivered by their sources and synapses are merged, whatever their names."""
    merging = Recorded()
    programs = [
        compile_circuit(network(names), 1e-4, target=target, merging=merging)
        for names in (SAME, OWN)
    ]
    usual, own = programs
    assert usual.spread and own.spread == usual.spread
    assert usual.merged.gone == own.merged.gone == {1}
    assert own.merged.silent == {(1, "gK")}
    forms = [{k: g.form for k, g in p.gathers.items() if k[1] == "kick"} for p in programs]
    assert forms[0] == forms[1] != {}
    kinds = {v: ring.kind for v, ring in own.layout.rings.items()}
    assert kinds == {v: VariableKind(k) for v, k in KINDS.items()}


@pytest.mark.needs("NVRTC")
def test_the_text_of_a_gpu_compiles_with_own_names() -> None:
    """It sends the own events on, and nothing is called as usual."""
    program = compile_circuit(network(OWN), 1e-4, target=TARGETS["cuda"], merging=Recorded())
    parts = [Part(task.kernel) for task in generate(program).tasks]
    text = device_text(parts, "float64", Shape(256))
    assert "nd_send_clicks<" in text and "spike_state" not in text
    check_text(text)


def test_own_names_are_fused() -> None:
    """Synapses that only an Aggregator reads are advanced while it sums them."""
    usual, own = (compile_circuit(network(names), 1e-4) for names in (SAME, OWN))
    fused = [len(unit.specs) for unit in usual.units]
    assert 2 in fused and [len(unit.specs) for unit in own.units] == fused
    assert "gK" not in own.layout.rings


def test_the_array_table_knows_the_kind() -> None:
    """The key of a ring says whether its rows are events, graded or conductances."""
    program = compile_circuit(network(OWN), 1e-4)
    (spec, *_) = program.units[0].specs
    kinds = {v: spec.ring(v).kind for v in KINDS}
    graded = dict.fromkeys(("U", "J"), Kind.GRADED)
    assert kinds == {"clicks": Kind.EVENT, "gK": Kind.CONDUCTANCE, **graded}
    assert ring("x", VariableKind.EVENT) == Key(VariableOwner("x"), Kind.EVENT, "x")


def test_a_conductance_goes_through_an_aggregator_of_its_names() -> None:
    """What is inserted reads the own conductance and potential and makes the own current."""
    full = insert_aggregators(network(OWN))
    inserted = full.groups[-1].model
    assert inserted.converts is VariableKind.CONDUCTANCE
    assert [a.variable for a in inserted.accesses] == ["U", "gK"] and [*inserted.updates] == ["J"]
    assert insert_aggregators(network(OWN)).groups[-1].model is inserted
    assert insert_aggregators(network(SAME)).groups[-1].model is Aggregator


def test_a_gap_junction_between_own_potentials() -> None:
    """An edge that carries a potential into a current goes through gap junctions."""
    cell = model("Cell", {**NEURON, "accesses": ["I"], "update": "V += dt_ms * I;"}, OWN)
    wire = resolve(cell, cell, "U")
    assert (wire.variable, wire.access, wire.fault) == ("U", "J", "")
    ends = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
    links = nd.Connections("U", "J", *ends, data={"conductance": np.full(2, 0.1)})
    circuit = nd.Circuit.from_arrays([(cell, 2, {"initU": [-60.0, -52.0]}, None)], [links])
    inserted = insert_aggregators(circuit).groups[-1].model
    assert inserted.converts is GapJunctions.converts and [*inserted.updates] == ["J"]
    with nd.LPU(circuit, 1e-4) as lpu:
        lpu.run(50)
        first, second = lpu.get("U")
    assert -60 < first < second < -52


def test_kinds_of_the_table_and_of_a_base() -> None:
    """A shared name has its kind, a subclass keeps and may change what it inherits."""
    assert LeakyIAF.kind_of("spike_state") is VariableKind.EVENT
    assert AlphaSynapse.kind_of("g") is VariableKind.CONDUCTANCE
    assert LeakyIAFDelta.kind_of("anything") is VariableKind.GRADED
    cell = model("Cell", NEURON, OWN)
    assert type("Sub", (cell,), {}).kinds == cell.kinds
    other = type("Other", (cell,), {"kinds": {"clicks": "graded"}})
    assert other.kind_of("clicks") is VariableKind.GRADED and other.kinds["U"] is cell.kinds["U"]


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ({"clicks": "evnt"}, r"Bad.kinds\['clicks'\]: 'evnt' is no kind \(did you mean 'event'"),
        ({"click": "event"}, r"neither accesses nor updates it \(did you mean 'clicks'"),
        (["clicks"], "expected a mapping"),
    ],
)
def test_wrong_kinds_are_errors(kinds: Any, said: str) -> None:
    """A kind that is none, and a kind of nothing, are told when the class is made."""
    with pytest.raises(ModelError, match=said):
        type("Bad", (nd.NDComponent,), {"updates": ["clicks"], "update": "", "kinds": kinds})


def test_two_kinds_of_one_name_are_an_error() -> None:
    """The message names both models and both kinds."""
    body = {"accesses": ["I"], "updates": ["clicks"], "update": "clicks = I;"}
    first = type("First", (nd.NDComponent,), {**body, "kinds": {"clicks": "event"}})
    second = type("Second", (nd.NDComponent,), {**body, "kinds": {"clicks": "graded"}})
    said = r"'clicks' has two kinds, of First \(event\) and of Second \(graded\)"
    with pytest.raises(CircuitError, match=said):
        nd.Circuit.from_arrays([(first, 1, {}, None), (second, 1, {}, None)])
    graph = nx.DiGraph()
    graph.add_node("a", **{"class": "First"})
    graph.add_node("b", **{"class": "Second"})
    with pytest.raises(CircuitError, match=said):
        nd.Circuit.from_graph(graph, models=[first, second])


def test_potentials_and_events_are_recorded_by_default() -> None:
    """The variables that a command records by itself are found by their kinds."""
    kinds = VariableKind.POTENTIAL, VariableKind.EVENT
    assert network(OWN).kinds.updated(*kinds) == ["U", "clicks"]
    assert network(SAME).kinds.updated(*kinds) == ["V", "spike_state"]


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of every string that is no docstring and no format such as ``:g``."""
    nodes = [*ast.walk(tree)]
    left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    formats = [n.format_spec for n in nodes if isinstance(n, ast.FormattedValue) and n.format_spec]
    left_out |= {id(node) for one in formats for node in ast.walk(one)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in left_out:
                yield node.lineno, node.value


def comparisons(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that compare something with the class of ports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Name) and side.id == "Port" for side in sides):
                yield node.lineno


def test_no_module_asks_for_a_name() -> None:
    """Outside the table and the models nothing knows what a variable or a sum is called."""
    found, seen = [], 0
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(FREE):
            continue
        seen += 1
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, text in literals(tree):
            words = {text} if text in NAMES else {"spike_state"} & {*re.findall(r"\w+", text)}
            words -= HELP.get(name, set())
            found += [f"{name}:{line}: '{word}'" for word in sorted(words)]
        found += [f"{name}:{line}: compares with Port" for line in comparisons(tree)]
    assert seen > 200
    assert not found, "ask for kinds, roles and is_port:\n" + "\n".join(found)
