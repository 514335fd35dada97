"""Which backend runs, on which GPU, and what is said where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from circuit_files import GOOD, gexf, save
from support import AMPA, chain, node, started

from neurodriver import mpi
from neurodriver.__main__ import main
from neurodriver.backends import choice
from neurodriver.backends.choice import Choice
from neurodriver.backends.cuda import device
from neurodriver.errors import NeurodriverError
from neurodriver.experiment import load_experiment

PAIR = {**GOOD, "s": node("SynapseAMPA", AMPA, reverse=0.0)}
WIRES = [("a", "s"), ("s", "b")]
EXPERIMENT = """
dt = 1e-4
steps = 20
backend = "cuda"
device = 1
executor = "stepwise"
[lpu.one]
circuit = "c.gexf"
"""


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the defaults, whatever backend the other tests use."""
    for name in ("BACKEND", "DEVICE", "EXECUTOR", "VALIDATE", "FUZZ"):
        monkeypatch.delenv(f"NEURODRIVER_{name}", raising=False)


@pytest.fixture
def without_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cuda-bindings be missing."""
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)


def test_arguments_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Argument, environment, default; in this order."""
    assert Choice.of() == Choice("cpu", None, "resident")
    for name, value in (("BACKEND", "cuda"), ("DEVICE", "3"), ("EXECUTOR", "stepwise")):
        monkeypatch.setenv(f"NEURODRIVER_{name}", value)
    assert Choice.of() == Choice("cuda", 3, "stepwise")
    assert Choice.of().description == "cuda 3 (stepwise)"
    assert Choice.of("cpu", 0, "resident") == Choice("cpu", 0, "resident")
    assert Choice.of("cuda", wait="yield").wait == "yield"
    with pytest.raises(NeurodriverError, match=r"^wait must be 'spin' or 'yield', got 'sleep'$"):
        Choice.of("cuda", wait="sleep")
    assert Choice("cuda", None, "resident").description == "cuda (resident)"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("BACKEND", "abacus", "backend must be 'cpu' or 'cuda', got 'abacus'"),
        ("DEVICE", "-1", "device must be the number of a GPU, got '-1'"),
        ("EXECUTOR", "fast", "executor must be 'resident' or 'stepwise', got 'fast'"),
    ],
)
def test_what_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    """A wrong value is told in one sentence, from the environment and as an argument."""
    with pytest.raises(NeurodriverError, match=message):
        started(chain(), **{name.lower(): value})
    monkeypatch.setenv(f"NEURODRIVER_{name}", value)
    with pytest.raises(NeurodriverError, match=message):
        started(chain())


@pytest.mark.parametrize(
    ("place", "count", "expected"), [(0, 1, 0), (1, 2, 1), (5, 4, 1), (3, 1, 0)]
)
def test_ranks_of_a_host_take_turns(
    monkeypatch: pytest.MonkeyPatch, place: int, count: int, expected: int
) -> None:
    """Without a number the GPU is the rank's place on its host modulo the number of GPUs."""
    here = mpi.World()
    here.local_rank = place
    monkeypatch.setattr(mpi, "world", lambda: here)
    monkeypatch.setattr(device, "device_count", lambda: count)
    monkeypatch.setattr(device, "place_of", str)
    assert choice.gpu_of(choice.Choice.of("cuda", executor="resident")) == str(expected)


@pytest.mark.usefixtures("without_bindings")
@pytest.mark.parametrize("by", ["argument", "environment"])
def test_missing_bindings_are_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    """What is missing, how to get it and what else to do; nothing is written."""
    circuit, output = save(tmp_path, gexf(PAIR, WIRES)), tmp_path / "out.h5"
    words = ["run", str(circuit), "--dt", "1e-4", "--duration", "0.01", "-o", str(output)]
    if by == "environment":
        monkeypatch.setenv("NEURODRIVER_BACKEND", "cuda")
    else:
        words += ["--backend", "cuda", "--device", "1"]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: backend 'cuda' needs cuda-bindings (")
    assert "pip install 'neurodriver[gpu]'`, or run with backend 'cpu'\n" in said
    assert len(said.splitlines()) == 1
    assert not output.exists()


@pytest.mark.usefixtures("without_bindings")
def test_experiments_name_a_backend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys of the file, replaced by options; a GPU that is missing is one line."""
    save(tmp_path, gexf(PAIR, WIRES), "c.gexf")
    file = save(tmp_path, EXPERIMENT, "e.toml")
    section = load_experiment(file).section
    assert (section.backend, section.device, section.executor) == ("cuda", 1, "stepwise")
    section = load_experiment(file, backend="cpu", device=None).section
    assert (section.backend, section.device) == ("cpu", 1)
    assert main(["run", str(file)]) == 1
    said = capsys.readouterr().err
    assert (
        said.startswith("error: backend 'cuda' needs cuda-bindings") and len(said.splitlines()) == 1
    )
    assert main(["run", str(file), "--backend", "cpu"]) == 0
    assert (tmp_path / "e.one.h5").exists()


def test_a_validated_run_says_what_it_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line tells it after the run."""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    circuit, output = save(tmp_path, gexf(PAIR, WIRES)), tmp_path / "out.h5"
    words = ["run", str(circuit), "--dt", "1e-4", "--duration", "0.01", "-o", str(output)]
    assert main(words) == 0
    assert "cpu beside the CPU: 100 steps of " in capsys.readouterr().err


def test_which_gpu_runs_many_steps_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """None where a launch is a step, or steps are compared; then nothing waits within one."""
    monkeypatch.setattr(device, "place_of", lambda number: f"host, GPU {number}")
    monkeypatch.delenv("NEURODRIVER_VALIDATE", raising=False)
    assert choice.gpu_of(choice.Choice("cuda", 3, "resident")) == "host, GPU 3"
    assert choice.gpu_of(choice.Choice("cuda", 3, "stepwise")) == ""
    assert choice.gpu_of(choice.Choice("cpu", None, "resident")) == ""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    assert choice.gpu_of(choice.Choice("cuda", 3, "resident")) == ""
