"""GEXF in its versions and spellings, and graphs, become the same circuit."""

from __future__ import annotations

import copy
import gzip
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from circuit_files import GOOD, gexf, save
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import ALPHA, AMPA, IAF, graph, node

from neurodriver import LPU, Circuit, CircuitError

PAIR = {**GOOD, "s": node("SynapseAMPA", AMPA, reverse=0.0)}
WIRES = [("a", "s"), ("s", "b")]
TEXT = gexf(PAIR, WIRES)
QUIET = pytest.mark.filterwarnings("ignore::neurodriver.errors.CircuitWarning")


def digest(content: str | bytes, folder: Path, name: str = "c.gexf", zipped: bool = False) -> str:
    """Return the digest of a circuit in a file."""
    circuit = Circuit.from_file(save(folder, content, name, zipped))
    assert circuit.count and circuit.edges
    return circuit.digest


@pytest.mark.parametrize(
    "namespace",
    ["http://www.gexf.net/1.1draft", "http://www.gexf.net/1.2draft", "http://gexf.net/1.2draft",
     "http://www.gexf.net/1.2", "http://gexf.net/1.2", "http://gexf.net/1.3",
     "http://www.gexf.net/1.3", "https://gexf.net/1.3"],
)  # fmt: skip
def test_versions(namespace: str, tmp_path: Path) -> None:
    """GEXF 1.1 to 1.3 under all names of their namespaces give one circuit."""
    assert digest(gexf(PAIR, WIRES, namespace=namespace), tmp_path) == digest(TEXT, tmp_path)


def test_compression(tmp_path: Path) -> None:
    """Plain or compressed is seen by content, not by ending."""
    plain = digest(TEXT, tmp_path)
    for name, zipped in (("c.gexf.gz", True), ("c.gexf", True), ("c.gexf.gz", False), ("c", True)):
        assert digest(TEXT, tmp_path, name, zipped) == plain
    several = gzip.compress(TEXT[:500].encode()) + gzip.compress(TEXT[500:].encode())
    assert digest(several, tmp_path) == plain


def test_encodings_and_prefixes(tmp_path: Path) -> None:
    """Encodings, byte order marks, prefixes and pretty printing do not matter."""
    plain = digest(TEXT, tmp_path)
    body = TEXT.split("?>", 1)[1]
    prefixed = body.replace("<", "<x:").replace("<x:/", "</x:").replace("xmlns", "xmlns:x")
    wide = TEXT.replace("UTF-8", "UTF-16")
    for other in (b"\xef\xbb\xbf" + TEXT.encode(), wide.encode("utf-16"), body, prefixed,
                  body.replace("><", ">\n  <"), "<!-- a --><!DOCTYPE gexf>" + body):  # fmt: skip
        assert digest(other, tmp_path) == plain


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("version", ["1.1draft", "1.2draft"])
def test_written_by_networkx(kind: Any, version: str, tmp_path: Path) -> None:
    """What networkx writes is read as the graph itself, and as networkx reads it."""
    made = kind()
    made.add_nodes_from(PAIR.items())
    made.add_edge("a", "s", delay=0.002, weight=2.5)
    made.add_edge("s", "b", reverse=-70.0)
    if made.is_multigraph():
        made.add_edge("s", "b", reverse=-60.0)
    path = tmp_path / "c.gexf.gz"
    nx.write_gexf(made, path, version=version)
    circuit = Circuit.from_file(path)
    assert circuit.edges == made.number_of_edges()
    assert circuit.digest == Circuit.from_graph(made).digest
    assert circuit.digest == Circuit.from_graph(nx.read_gexf(path)).digest
    data = {c.variable: dict(c.data) for c in circuit.connections}
    assert data["spike_state"]["weight"].tolist() == [2.5]
    assert data["g"]["reverse"].tolist() == ([-70.0, -60.0] if kind is nx.MultiDiGraph else [-70.0])


def test_integers_are_numbers(tmp_path: Path) -> None:
    """Whole numbers anywhere, also where networkx then calls all of a column ``long``."""
    whole = node("LeakyIAF", {k: int(v) for k, v in IAF.items()}, initV=-60)
    nodes = {"a": whole, "b": node("LeakyIAF", IAF, initV=-60.5), "s": PAIR["s"]}
    path = tmp_path / "c.gexf"
    nx.write_gexf(graph(nodes, [("a", "s", {"delay": 0}), ("s", "b", {"delay": 0.01})]), path)
    circuit = Circuit.from_file(path)
    params = circuit.group("LeakyIAF").params
    assert params["initV"].tolist() == [-60.0, -60.5]
    assert {c.dtype for c in params.values()} == {np.dtype(np.float64)}
    assert sorted(c.delay.tolist()[0] for c in circuit.connections if c.delay.shape) == [0.01]
    floats = dict(nodes, a=node("LeakyIAF", IAF, initV=-60.0))
    other = graph(floats, [("a", "s", {"delay": 0.0}), ("s", "b", {"delay": 0.01})])
    assert circuit.digest == Circuit.from_graph(other).digest


@pytest.mark.parametrize("text", ["true", "false", "True", "False", "TRUE", "FALSE", "0", "1"])
def test_booleans(text: str, tmp_path: Path) -> None:
    """Every spelling of a boolean is read; it is no parameter and changes nothing."""
    nodes = {**PAIR, "a": {**PAIR["a"], "spiking": True}}
    assert digest(gexf(nodes, WIRES).replace('"True"', f'"{text}"'), tmp_path) == digest(
        TEXT, tmp_path
    )


def test_defaults_of_the_file(tmp_path: Path) -> None:
    """A declared default holds for nodes and edges that say nothing else."""
    less = {uid: {k: v for k, v in d.items() if k != "resistance"} for uid, d in GOOD.items()}
    declared = (
        '<attributes class="node"><attribute id="R" title="resistance" type="double">'
        "<default>12.5</default></attribute></attributes>"
        '<attributes class="edge"><attribute id="D" title="delay" type="double">'
        "<default> 0.003 </default></attribute></attributes>"
    )
    text = gexf({**less, "s": PAIR["s"]}, WIRES, declared=declared)
    end = '</attvalues></node><node id="b">'
    text = text.replace(end, f'<attvalue for="R" value="7"/>{end}')
    late = text.replace(declared, "").replace("</graph>", declared + "</graph>")
    for content in (text, late):  # declarations may stand anywhere
        circuit = Circuit.from_file(save(tmp_path, content))
        assert circuit.group("LeakyIAF").params["resistance"].tolist() == [7.0, 12.5]
        assert [c.delay.tolist() for c in circuit.connections] == [[0.003], [0.003]]


def test_missing_optional_attributes() -> None:
    """What only some nodes have is kept for these; the others start from the default."""
    nodes = {"a": node("LeakyIAF", IAF, initV=-50.0), "b": node("LeakyIAF", IAF)}
    circuit = Circuit.from_graph(graph(nodes))
    np.testing.assert_array_equal(circuit.groups[0].params["initV"], [-50.0, np.nan])
    with LPU(circuit, 1e-4) as lpu:
        assert lpu.get("V").tolist() == [-50.0, -70.0]


def test_order_is_that_of_the_file(tmp_path: Path) -> None:
    """Models, components and edges keep the order in which they stand."""
    rng = np.random.default_rng(1)
    names = [f"n{i}" for i in rng.permutation(30)]
    nodes = {n: GOOD["a"] if i % 3 else PAIR["s"] for i, n in enumerate(names)}
    synapses = [n for n in names if nodes[n] is PAIR["s"]]
    neurons = [n for n in names if nodes[n] is not PAIR["s"]]
    edges = [(str(rng.choice(neurons)), str(rng.choice(synapses))) for _ in range(100)]
    edges = [e if i % 2 else e[::-1] for i, e in enumerate(edges)]
    circuit = Circuit.from_file(save(tmp_path, gexf(nodes, edges)))
    assert circuit.uids.tolist() == synapses + neurons
    for links in circuit.connections:
        got = list(zip(circuit.uids[links.source], circuit.uids[links.target], strict=True))
        assert got == [e for e in edges if (e[0] in synapses) == (links.variable == "g")]
        assert len(got) == 50


def test_inputs_are_not_changed() -> None:
    """A graph is only read; two circuits and runs from it are equal."""
    made = graph({**PAIR, "p": {"class": "Port", "selector": "/x", "port_type": "spike",
                                "port_io": "out"}}, [*WIRES, ("a", "p")])  # fmt: skip
    made.nodes["a"]["params"] = {"capacitance": 3.0}
    made.graph["name"] = "mine"
    before = copy.deepcopy(made)
    first = Circuit.from_graph(made)
    LPU(first, 1e-4).close()
    assert Circuit.from_graph(made).digest == first.digest
    assert dict(made.nodes(data=True)) == dict(before.nodes(data=True))
    assert list(made.edges(data=True, keys=True)) == list(before.edges(data=True, keys=True))
    assert made.graph == before.graph


def test_sub_dictionaries() -> None:
    """``params``, ``states`` and ``attr_dict`` are flattened, on nodes and on edges."""
    nested = {"class": "LeakyIAF", "params": IAF, "states": {"V": -55.0}}
    flat = node("LeakyIAF", IAF, initV=-55.0)
    synapse = {"attr_dict": {"class": "AlphaSynapse", "params": ALPHA, "reverse": 5.0}}
    one = graph({"a": nested, "s": synapse}, [("a", "s", {"attr_dict": {"delay": 0.01}})])
    other = graph(
        {"a": flat, "s": node("AlphaSynapse", ALPHA, reverse=5.0)}, [("a", "s", {"delay": 0.01})]
    )
    assert Circuit.from_graph(one).digest == Circuit.from_graph(other).digest


def test_digest_sees_every_value() -> None:
    """Any other number, name, label, edge or order is another digest."""
    nodes = {
        **PAIR,
        "p": {"class": "Port", "selector": "/x", "port_type": "spike", "port_io": "out"},
    }
    edges = [("a", "s", {"delay": 1e-3, "weight": 1.0}), ("s", "b"), ("a", "p")]
    seen = [Circuit.from_graph(graph(nodes, edges)).digest]
    for uid, data in nodes.items():
        for key, value in data.items():
            if key not in ("class", "port_type", "port_io"):
                new = value + 0.5 if isinstance(value, float) else "/y"
                changed = {**nodes, uid: {**data, key: new}}
                seen.append(Circuit.from_graph(graph(changed, edges)).digest)
    for other in ([*edges[:2]], [("a", "s", {"delay": 2e-3, "weight": 1.0}), *edges[1:]],
                  [("a", "s", {"delay": 1e-3, "weight": 2.0}), *edges[1:]],
                  [("b", "s", edges[0][2]), *edges[1:]], [*edges, ("a", "s")]):  # fmt: skip
        with pytest.warns() if len(other) == 2 else nullcontext():
            seen.append(Circuit.from_graph(graph(nodes, other)).digest)
    renamed = {("z" if uid == "b" else uid): data for uid, data in nodes.items()}
    seen.append(Circuit.from_graph(graph(renamed, [edges[0], ("s", "z"), edges[2]])).digest)
    seen.append(Circuit.from_graph(graph(dict(reversed(nodes.items())), edges)).digest)
    assert len(set(seen)) == len(seen) > 18


def test_ports_pass_through_a_file(tmp_path: Path) -> None:
    """Ports keep their labels, and edges the variable that they name."""
    port = {"class": "Port", "selector": "/l/é[0]", "port_type": "gpot", "port_io": "out"}
    made = graph({**PAIR, "p": port}, [*WIRES, ("a", "p", {"variable": "V"})])
    nx.write_gexf(made, tmp_path / "c.gexf")
    circuit = Circuit.from_file(tmp_path / "c.gexf")
    assert circuit.digest == Circuit.from_graph(made).digest
    labels = {name: column.tolist() for name, column in circuit.group("Port").labels.items()}
    assert labels == {"selector": ["/l/é[0]"], "port_type": ["gpot"], "port_io": ["out"]}
    assert [c.variable for c in circuit.connections] == ["spike_state", "V", "g"]


UIDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Cn"]), min_size=1
)
NUMBER = st.floats(-1e6, 1e6) | st.integers(-1000, 1000)


@st.composite
def graphs(draw: st.DrawFn) -> nx.MultiDiGraph:
    """Draw a circuit of neurons and synapses with random names, numbers and edges."""
    made = nx.MultiDiGraph()
    names = draw(st.lists(UIDS, min_size=2, max_size=8, unique=True))
    for i, uid in enumerate(names):
        if i % 2:
            made.add_node(uid, **node("SynapseAMPA", AMPA, reverse=draw(NUMBER)))
        else:
            more = {"initV": draw(NUMBER)} if draw(st.booleans()) else {}
            made.add_node(uid, **node("LeakyIAF", IAF, threshold=draw(NUMBER), **more))
    edge = st.tuples(st.sampled_from(names[::2]), st.sampled_from(names[1::2]), st.booleans())
    for a, b, swap in draw(st.lists(edge, max_size=12)):
        data = draw(st.fixed_dictionaries({}, optional={
            "delay": st.floats(0, 1), "weight": NUMBER, "reverse": NUMBER}))  # fmt: skip
        made.add_edge(*((b, a) if swap else (a, b)), **data)
    return made


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs())
def test_random_graphs_survive_networkx(tmp_path_factory: Any, made: nx.MultiDiGraph) -> None:
    """A random graph written by networkx is read as the circuit of the graph itself."""
    path = tmp_path_factory.mktemp("random") / "c.gexf.gz"
    nx.write_gexf(made, path)
    circuit = Circuit.from_file(path)
    assert circuit.uids.tolist() == Circuit.from_graph(made).uids.tolist()
    assert circuit.edges == made.number_of_edges()
    assert circuit.digest == Circuit.from_graph(made).digest


@QUIET
@settings(max_examples=400, deadline=2000)
@given(st.data())
def test_random_damage(tmp_path_factory: Any, data: st.DataObject) -> None:
    """Whatever happens to a file, it is read or refused as a circuit."""
    content = bytearray(TEXT.encode())
    if zipped := data.draw(st.booleans()):
        content = bytearray(gzip.compress(bytes(content), mtime=0))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        how = data.draw(st.sampled_from(["set", "cut", "drop", "insert", "swap"]))
        length = data.draw(st.integers(1, 40))
        if how == "set":
            content[at] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del content[max(at, 1) :]
        elif how == "drop":
            del content[max(at, 1) : max(at, 1) + length]
        elif how == "insert":
            content[at:at] = data.draw(st.binary(max_size=20))
        else:
            content[at : at + length] = content[at : at + length][::-1]
    path = tmp_path_factory.getbasetemp() / f"damaged{zipped}.gexf"
    path.write_bytes(bytes(content))
    try:
        assert Circuit.from_file(path).count > 0
    except CircuitError as error:
        assert str(error).startswith(str(path))
