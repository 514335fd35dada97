"""All faults of a circuit are told together, quickly; --strict makes warnings faults."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from circuit_files import GOOD, gexf, refused, save
from support import ALPHA, AMPA, IAF, node

from neurodriver import Circuit, CircuitError
from neurodriver.errors import CircuitWarning
from neurodriver.model.loading import load_models

Capture = pytest.CaptureFixture[str]
PORT = {"class": "Port", "selector": "/l/in/0", "port_type": "spike", "port_io": "in"}
PAIR = {**GOOD, "s": node("SynapseAMPA", AMPA, reverse=0.0)}


def test_faults_are_collected(tmp_path: Path, capsys: Capture) -> None:
    """A thousand faults of five kinds: ten in full, the others counted."""
    nodes = {f"good{i}": GOOD["a"] for i in range(10)}
    for i in range(200):
        nodes[f"model{i}"] = node(f"Leaky{i}", IAF)
        nodes[f"missing{i}"] = {k: v for k, v in GOOD["a"].items() if k != "resistance"}
        nodes[f"nan{i}"] = node("LeakyIAF", IAF, threshold=float("nan"))
        nodes[f"minus{i}"] = node("LeakyIAF", IAF, capacitance=-1.0)
    edges = [(f"good{i % 10}", f"lost{i}") for i in range(200)]
    message = refused(save(tmp_path, gexf(nodes, edges)), capsys, "1000 faults", "and 990 more")
    lines = message.splitlines()
    assert len(lines) == 12
    assert lines[1].startswith("  1. node 'model0'") and lines[10].startswith("  10. ")


@pytest.mark.parametrize(
    "changed",
    [{"class": "Leaky"}, {"capacitance": -1.0}, {"threshold": float("nan")}, {"resistance": "x"},
     {"class": "Port"}, {"class": "AlphaSynapse"}],
)  # fmt: skip
def test_many_faults_are_quick(changed: dict[str, Any]) -> None:
    """20,000 faulty nodes are refused in less than two seconds."""
    made = nx.DiGraph()
    data = node("LeakyIAF", IAF, **changed)
    for i in range(20_000):
        made.add_node(
            i, **{**data, "class": f"{data['class']}{i if 'Leaky' == data['class'] else ''}"}
        )
    begin = time.process_time()
    with pytest.raises(CircuitError, match=r"and \d+ more") as caught:
        Circuit.from_graph(made)
    assert time.process_time() - begin < 2
    assert len(str(caught.value)) < 4000


def test_strict(tmp_path: Path, capsys: Capture) -> None:
    """What is only a warning otherwise is an error with --strict."""
    nodes = {**PAIR, "s": node("AlphaSynapse", ALPHA), "p": PORT}
    nodes["b"] = node("LeakyIAF", IAF, initv=-60.0)
    edges = [("a", "s", {"dealy": 0.001}), ("s", "b"), ("s", "p")]
    path = save(tmp_path, gexf(nodes, edges))
    with pytest.warns(CircuitWarning) as told:
        circuit = Circuit.from_file(path)
    assert circuit.edges == 3
    words = [
        "conductance edges without a reversal potential",
        "edges that lead to a port with port_io 'in'",
        "'initv' (did you mean 'initV'?); it is not used",
        "'dealy' (did you mean 'delay'?); it is not used",
    ]
    for word in words:
        assert any(word in str(w.message) for w in told), word
    refused(path, capsys, *words, "4 faults", "--strict", strict=True)


def test_strict_ports_and_ambiguity(tmp_path: Path, capsys: Capture) -> None:
    """Unconnected ports and ambiguous variables are told, with their number."""
    nodes = {"a": node("Both", {}), "b": node("Both", {}), "p": PORT}
    text = gexf(nodes, [("a", "b"), ("b", "a")])
    models = tmp_path / "models.py"
    models.write_text(
        "from neurodriver import NDComponent\n"
        "class Both(NDComponent):\n"
        "    accesses = ['V', 'g']\n    updates = ['g', 'V']\n"
        "    update = 'V = input_V; g = input_g;'\n"
    )
    own = load_models((models,))
    path = save(tmp_path, text)
    with pytest.warns(CircuitWarning) as told:
        circuit = Circuit.from_file(path, own)
    assert [c.variable for c in circuit.connections] == ["V"]
    said = [str(w.message) for w in told]
    assert any("could carry V, g: 'V' is taken" in s and "(2 times)" in s for s in said)
    assert any("ports that no edge touches" in s for s in said)
    with pytest.raises(CircuitError, match="2 faults") as caught:
        Circuit.from_file(path, own, strict=True)
    assert "set the attribute 'variable'" in str(caught.value)
