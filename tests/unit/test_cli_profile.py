"""``neurodriver run --profile --trace``: tables and traces beside the same recordings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from circuit_files import GOOD, gexf, save
from experiment_files import WHOLE, write
from support import AMPA, IAF, node

import neurodriver as nd
from neurodriver.__main__ import main
from neurodriver.backends.choice import Choice

Capture = pytest.CaptureFixture[str]


def traced(path: Path, *models: str) -> None:
    """Fail where a trace lacks a phase, or the models of a step that threads have stamped."""
    names = {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
    assert "step loop" in names
    if Choice.of().name == "cpu":  # a GPU has no stamps of single steps
        assert names.issuperset(models)


@pytest.fixture
def circuit(tmp_path: Path) -> Path:
    """Return a circuit file: two neurons and a synapse between them."""
    nodes = {
        **GOOD,
        "a": node("LeakyIAF", IAF, initV=-60.0),
        "s": node("SynapseAMPA", AMPA, reverse=0.0),
    }
    return save(tmp_path, gexf(nodes, [("a", "s"), ("s", "b")]))


def run(circuit: Path, output: str, *more: str | Path) -> int:
    """Run a circuit and record beside it."""
    words = ["run", circuit, "--dt", "1e-4", "--duration", "0.01", "-o", circuit.parent / output]
    return main([str(word) for word in (*words, *more)])


def test_a_circuit(circuit: Path, capsys: Capture) -> None:
    """Phases and models are printed, the trace is written; the recording is the same."""
    trace = circuit.parent / "trace.json"
    assert run(circuit, "plain.h5") == 0
    plain = capsys.readouterr().out
    assert run(circuit, "profiled.h5", "--profile", "--trace", trace) == 0
    said = capsys.readouterr().out
    assert "phase" not in plain
    phases = ["read file", "compile", "build kernels", "stage inputs", "step loop", "hand over"]
    steps = ["LeakyIAF", "SynapseAMPA", "Aggregator", "barrier", "100 steps", "of the peak"]
    for word in (*phases, *steps):
        assert word in said, word
    traced(trace, "read file", "LeakyIAF", "SynapseAMPA")
    assert said.splitlines()[-1] == str(trace)
    rows = []
    for name in ("plain.h5", "profiled.h5"):
        with nd.open(circuit.parent / name) as recording:
            rows.append(recording["V"][:])
    assert len(rows[0]) == 100 and np.ptp(rows[0]) > 0
    np.testing.assert_array_equal(*rows)


def test_a_trace_alone(circuit: Path, capsys: Capture) -> None:
    """--trace prints no table."""
    trace = circuit.parent / "trace.json"
    assert run(circuit, "out.h5", "--trace", trace) == 0
    assert "phase" not in capsys.readouterr().out
    assert json.loads(trace.read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("circuit.gexf", "would overwrite a file of the run"),
        ("out.h5", "would overwrite a file of the run"),
        ("nowhere/trace.json", "there is no folder"),
        ("", "is a folder"),
    ],
)
def test_a_bad_place(circuit: Path, capsys: Capture, name: str, words: str) -> None:
    """A trace that has no place is refused before anything runs."""
    before = circuit.read_bytes()
    assert run(circuit, "out.h5", "--trace", circuit.parent / name) == 1
    text = capsys.readouterr().err
    assert text.startswith(f"error: {circuit.parent / name}: ") and words in text
    assert not (circuit.parent / "out.h5").exists() and circuit.read_bytes() == before


def test_a_failed_run(circuit: Path, capsys: Capture) -> None:
    """A run that fails says why, and nothing of its profile."""
    assert run(circuit, "out.h5", "--profile", "-i", circuit) == 1
    said = capsys.readouterr()
    assert "phase" not in said.out and said.err.startswith("error: ")


def test_an_experiment(tmp_path: Path, capsys: Capture) -> None:
    """An experiment is profiled as a whole: its LPUs are one circuit here."""
    path, trace = write(tmp_path, WHOLE), tmp_path / "trace.json"
    assert main(["run", str(path), "--profile", "--trace", str(trace)]) == 0
    said = capsys.readouterr().out
    for word in ("load experiment", "make patterns", "spawn", "step loop", "PowerGPotGPot"):
        assert word in said, word
    assert "rank" not in said
    traced(trace, "spawn", "PowerGPotGPot")
    master = tmp_path / "experiment.h5"
    before = master.read_bytes()
    assert main(["run", str(path), "--trace", str(master)]) == 1
    assert "would overwrite" in capsys.readouterr().err and master.read_bytes() == before
