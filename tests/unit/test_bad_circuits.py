"""Every broken rule of a circuit is refused, by name, from a file, a graph and the command line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from circuit_files import GOOD, gexf, refused, save
from support import AMPA, IAF, graph, node

from neurodriver import LPU, Circuit, CircuitError

Capture = pytest.CaptureFixture[str]
Nodes = dict[str, dict[str, Any]]
Edges = list[tuple[Any, ...]]

PORT = {"class": "Port", "selector": "/l/in/0", "port_type": "spike", "port_io": "in"}
PAIR: Nodes = {**GOOD, "s": node("SynapseAMPA", AMPA, reverse=0.0)}
WIRES: Edges = [("a", "s"), ("s", "b")]


def iaf(**changed: Any) -> Nodes:
    """Return two neurons, the second of them changed; None removes an attribute."""
    data = {**node("LeakyIAF", IAF), **changed}
    return {"a": GOOD["a"], "bad": {k: v for k, v in data.items() if v is not None}}


def port(**changed: Any) -> Nodes:
    """Return a neuron and a port, the port changed."""
    data = {**PORT, **changed}
    return {"a": GOOD["a"], "p": {k: v for k, v in data.items() if v is not None}}


CASES: dict[str, tuple[Nodes, Edges, tuple[str, ...]]] = {
    "unknown model": (
        iaf(**{"class": "LeakyIFA"}), [],
        ("node 'bad'", "attribute 'class'", "'LeakyIFA'", "did you mean 'LeakyIAF'?"),
    ),
    "no class": (iaf(**{"class": None}), [], ("node 'bad'", "'class'")),
    "legacy": (iaf(**{"class": None, "model": "LeakyIAF"}), [], ("node 'bad'", "legacy")),
    "missing": (
        iaf(capacitance=None), [],
        ("node 'bad' (LeakyIAF)", "'capacitance' [uF/cm^2] is missing"),
    ),
    "misspelt": (
        iaf(capacitance=None, capacitence=2.0), [],
        ("node 'bad' (LeakyIAF)", "'capacitance'", "did you mean 'capacitence'?"),
    ),
    "NaN": (iaf(resistance=float("nan")), [], ("node 'bad'", "'resistance'", "finite", "nan")),
    "inf": (iaf(threshold=float("inf")), [], ("node 'bad'", "'threshold'", "finite", "inf mV")),
    "minus inf": (iaf(threshold=float("-inf")), [], ("'threshold'", "finite", "-inf mV")),
    "infinite start": (iaf(initV=float("inf")), [], ("node 'bad'", "'initV'", "finite", "inf mV")),
    "NaN start": (iaf(initV=float("nan")), [], ("node 'bad'", "'initV'", "finite", "nan")),
    "negative": (
        iaf(capacitance=-2.0), [],
        ("node 'bad' (LeakyIAF)", "'capacitance'", "must be finite and positive", "-2 uF/cm^2"),
    ),
    "zero": (iaf(resistance=0), [], ("'resistance'", "must be finite and positive", "(got 0 ")),
    "huge integer": (iaf(resistance=10**400), [], ("node 'bad'", "'resistance'", "finite")),
    "dangling": (
        PAIR, [*WIRES, ("a", "ss", {})],
        ("edge 'a' -> 'ss'", "there is no node 'ss'"),
    ),
    "dangling near": (
        {"neuron_1": GOOD["a"]}, [("neuron_2", "neuron_1")],
        ("edge 'neuron_2' -> 'neuron_1'", "no node 'neuron_2'", "did you mean 'neuron_1'?"),
    ),
    "no variable": (
        {**GOOD}, [("a", "b")],
        ("edge 'a' -> 'b'", "no variable", "LeakyIAF updates spike_state, V", "accesses I"),
    ),
    "unknown variable": (
        PAIR, [("a", "s", {"variable": "spike_stat"}), ("s", "b")],
        ("edge 'a' -> 's'", "'variable'", "'spike_stat'", "did you mean 'spike_state'?"),
    ),
    "misfit variable": (
        PAIR, [("a", "s", {"variable": "V"}), ("s", "b")],
        ("edge 'a' -> 's'", "'variable' is 'V'", "accesses spike_state"),
    ),
    "unknown receptor": (
        PAIR, [("a", "s", {"receptor": "exc"}), ("s", "b")],
        ("edge 'a' -> 's'", "'receptor' is 'exc'", "SynapseAMPA has none"),
    ),
    "negative delay": (
        PAIR, [("a", "s", {"delay": -0.001}), ("s", "b")],
        ("edge 'a' -> 's'", "'delay'", "at least 0", "-0.001 s"),
    ),
    "NaN delay": (
        PAIR, [("a", "s", {"delay": float("nan")}), ("s", "b")],
        ("edge 'a' -> 's'", "'delay'", "finite", "nan"),
    ),
    "infinite delay": (
        PAIR, [("a", "s", {"delay": float("inf")}), ("s", "b")],
        ("edge 'a' -> 's'", "'delay'", "finite", "inf s"),
    ),
    "NaN weight": (
        PAIR, [("a", "s", {"weight": float("nan")}), ("s", "b")],
        ("edge 'a' -> 's'", "'weight'", "finite", "nan"),
    ),
    "infinite reversal": (
        PAIR, [("a", "s"), ("s", "b", {"reverse": float("inf")})],
        ("edge 's' -> 'b'", "'reverse'", "finite", "inf"),
    ),
    "reversal of the node": (
        {**PAIR, "s": node("SynapseAMPA", AMPA, reverse="zero")}, WIRES,
        ("node 's'", "'reverse'", "number", "'zero'"),
    ),
    "boolean delay": (
        PAIR, [("a", "s", {"delay": True}), ("s", "b")],
        ("edge 'a' -> 's'", "'delay'", "number", "True"),
    ),
    "text delay": (
        PAIR, [("a", "s", {"delay": "1 ms"}), ("s", "b")],
        ("edge 'a' -> 's'", "'delay'", "number", "'1 ms'"),
    ),
    "selectors": (
        {"a": GOOD["a"], "p": PORT, "q": {**PORT, "selector": ""}, "r": PORT}, [],
        ("'p' and 'r'", "'selector'", "both have '/l/in/0'", "node 'q' (Port), attribute 'sel"),
    ),
    "no selector": (port(selector=None), [], ("node 'p' (Port)", "'selector' is missing")),
    "long selector": (port(selector="/x" * 5000), [], ("node 'p'", "'selector'", "1,000")),
    "port type": (
        port(port_type="spikes"), [],
        ("node 'p' (Port)", "'port_type'", "'spike' or 'gpot'", "'spikes'", "mean 'spike'?"),
    ),
    "port io": (port(port_io=None), [], ("node 'p' (Port)", "'port_io'", "'in' or 'out'", "none")),
    "port to port": (
        {"a": GOOD["a"], "p": PORT, "q": {**PORT, "selector": "/q"}}, [("p", "q")],
        ("edge 'p' -> 'q'", "port with a port"),
    ),
    "Aggregator without V": (
        {**PAIR, "g": {"class": "Aggregator"}},
        [("a", "s"), ("s", "g"), ("g", "b")],
        ("node 'g' (Aggregator)", "one edge that carries 'V'", "got 0"),
    ),
    "Aggregator with two V": (
        {**PAIR, "g": {"class": "Aggregator"}},
        [("a", "s"), ("s", "g"), ("g", "b"), ("a", "g"), ("b", "g")],
        ("node 'g' (Aggregator)", "got 2"),
    ),
    "empty uid": ({**GOOD, "": node("LeakyIAF", IAF)}, [], ("component number 2", "empty uid")),
    "long uid": (
        {**GOOD, "u" * 10_000: node("LeakyIAF", IAF)}, [],
        ("node 'uuu", "10,000 characters", "256 are allowed", "'label'"),
    ),
    "odd uid in a message": (
        {**GOOD, "x\n\ny\x7f": node("LeakyIAF", IAF, capacitance=-1.0)}, [],
        (r"node 'x\n\ny\x7f' (LeakyIAF)", "must be finite and positive"),
    ),
    "empty": ({}, [], ("the circuit is empty",)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str, tmp_path: Path, capsys: Capture) -> None:
    """File and graph are refused with the same names and allowed values."""
    nodes, edges, words = CASES[name]
    refused(save(tmp_path, gexf(nodes, edges)), capsys, *words)
    made = nx.MultiDiGraph()
    made.add_nodes_from(nodes.items())
    if "dangling" not in name:  # networkx makes such nodes itself
        made.add_edges_from((a, b, *(more or [{}])) for a, b, *more in edges)
        with pytest.raises(CircuitError) as caught:
            Circuit.from_graph(made, name="mine")
        message = str(caught.value)
        assert message.startswith("mine: ")
        for word in words:
            assert word in message


@pytest.mark.parametrize(
    ("value", "got"),
    [("two", "'two'"), (True, "True"), (None, "is missing"), ([2.0], "[2.0]"), (b"2", "b'2'")],
)
def test_no_number(value: Any, got: str) -> None:
    """Text, booleans and lists are no numbers, whichever node has them."""
    for nodes in (iaf(capacitance=value), dict(reversed(iaf(capacitance=value).items()))):
        nodes["bad"].setdefault("capacitance", value)
        with pytest.raises(CircuitError) as caught:
            Circuit.from_graph(graph(nodes))
        assert "node 'bad' (LeakyIAF)" in str(caught.value)
        assert "'capacitance' [uF/cm^2]" in str(caught.value)
        assert got in str(caught.value)
    assert Circuit.from_graph(graph(iaf(capacitance=2))).count == 2


def test_delay_of_ten_million_steps(tmp_path: Path, capsys: Capture) -> None:
    """A delay that dt makes absurd is refused before memory is asked for."""
    edges = [("a", "s", {"delay": 1000.0}), ("s", "b")]
    begin = time.perf_counter()
    words = ("edge 'a' -> 's'", "'delay'", "10,000,000 steps", "1,000,000 are allowed", "seconds")
    refused(save(tmp_path, gexf(PAIR, edges)), capsys, *words)
    assert time.perf_counter() - begin < 5


def test_repeated_ids(tmp_path: Path, capsys: Capture) -> None:
    """Node ids and edge ids are unique, also within nested nodes; parallel edges are legal."""
    twice = gexf([*PAIR.items(), ("s", PAIR["s"])], WIRES)
    message = refused(save(tmp_path, twice), capsys, "node 's'", "two components", "unique")
    assert "faults" not in message  # told once
    inner = gexf({"a": PAIR["a"]}).split("<nodes>")[1].split("</nodes>")[0]
    outer = gexf(PAIR, WIRES).replace("</node>", f"<nodes>{inner}</nodes></node>", 1)
    refused(save(tmp_path, outer), capsys, "node 'a'", "two components")
    edges = [("a", "s", {}, 'id="7"'), ("s", "b", {}, 'id="7"'), ("a", "s", {}, 'id="8"')]
    refused(save(tmp_path, gexf(PAIR, edges)), capsys, "edge id '7' stands 2 times")
    parallel = gexf(PAIR, [("a", "s"), ("a", "s"), ("s", "b", {}, 'id="1"')])
    assert Circuit.from_file(save(tmp_path, parallel)).edges == 3
    ones = nx.DiGraph()
    ones.add_nodes_from([(1, GOOD["a"]), ("1", GOOD["b"])])
    with pytest.raises(CircuitError, match="node '1': two components"):
        Circuit.from_graph(ones)


@pytest.mark.parametrize("bad", ["a\0", "\0", "a\0b", "x\ud800"])
def test_uids_that_cannot_be_stored(bad: str) -> None:
    """What a fixed-width column or UTF-8 would change is refused instead."""
    with pytest.raises(CircuitError, match="cannot be stored") as caught:
        Circuit.from_graph(graph({"a": GOOD["a"], bad: GOOD["b"]}))
    assert repr(bad) in str(caught.value)


def test_graphs_of_other_kinds() -> None:
    """Undirected graphs and what is no graph at all are refused."""
    for bad, word in ((nx.Graph([(1, 2)]), "undirected"), ({"a": 1}, "expected a networkx graph")):
        with pytest.raises(CircuitError, match=word):
            Circuit.from_graph(bad)
        with pytest.raises(CircuitError, match=word):
            LPU(bad, 1e-4)
