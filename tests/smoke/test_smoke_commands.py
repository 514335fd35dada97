"""Smoke test: each command of the command line, as a user types it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from experiment_files import circuits, write

from neurodriver.__main__ import main

ROOT = Path(__file__).parents[2]
ONE_NEURON = ROOT / "data" / "circuits" / "one_neuron.gexf"

Capture = pytest.CaptureFixture[str]


def command(capsys: Capture, name: str, *words: object) -> str:
    """Do what ``neurodriver name words`` does; return what it prints."""
    assert main([name, *map(str, words)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_check(capsys: Capture, tmp_path: Path) -> None:
    """Circuits and experiments are described."""
    assert "1 components" in command(capsys, "check", ONE_NEURON)
    assert "2 LPUs" in command(capsys, "check", write(tmp_path))


def test_run_plot_and_info(capsys: Capture, tmp_path: Path) -> None:
    """A run is recorded, the recording is drawn and described."""
    out, figure = tmp_path / "out.h5", tmp_path / "out.png"
    words = ["--dt", 1e-4, "--duration", 0.02, "-o", out, "--profile"]
    said = command(capsys, "run", ONE_NEURON, *words)
    assert "200 steps" in said and "step loop" in said
    assert "V" in command(capsys, "info", out)
    pytest.importorskip("matplotlib")
    command(capsys, "plot", out, "-o", figure)
    assert figure.stat().st_size > 1000


def test_view(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording is served, and a run that can be watched has the same steps."""
    monkeypatch.setattr("neurodriver.cli.view.stay", lambda: None)  # nobody presses Ctrl-C
    out = tmp_path / "seen.h5"
    words = ["--dt", 1e-4, "--duration", 0.01, "-o", out, "--view"]
    assert "view: http://127.0.0.1:" in command(capsys, "run", ONE_NEURON, *words)
    assert "/?token=" in command(capsys, "view", out)


def test_run_of_an_experiment(capsys: Capture, tmp_path: Path) -> None:
    """An experiment is run, and told what it wrote."""
    said = command(capsys, "run", write(tmp_path))
    assert said.splitlines()[-1] == str(tmp_path / "experiment.h5")


def test_convert(capsys: Capture, tmp_path: Path) -> None:
    """A circuit goes from GEXF to HDF5."""
    circuits(tmp_path)
    command(capsys, "convert", tmp_path / "left.gexf", tmp_path / "left.h5")
    assert "LeakyIAF" in command(capsys, "info", tmp_path / "left.h5")


def test_models_and_machine(capsys: Capture) -> None:
    """The library, one model, and this machine are described."""
    assert "MorrisLecar" in command(capsys, "models")
    assert "doi" in command(capsys, "models", "LeakyIAF")
    assert "NEURODRIVER_CACHE" in command(capsys, "info")


def test_the_program_itself(tmp_path: Path) -> None:
    """``python -m neurodriver`` refuses what is wrong in one line, with 1."""
    words = [sys.executable, "-m", "neurodriver", "check", str(tmp_path / "none.gexf")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_rules(capsys: Capture) -> None:
    """The rules of plasticity are listed, and one is described."""
    assert "PairSTDP" in command(capsys, "rules")
    assert "send(weight)" in command(capsys, "rules", "PairSTDP")
