"""Ctrl-C ends whatever goes on: imports, steps that do not end, and their threads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import neurodriver as nd

HERE = Path(__file__).parent

FAULT = "Astray: its text uses memory that is not its own in step 5,"


class Astray(nd.NDComponent):
    """Reads far behind an array if it has an input."""

    accesses = ("I",)
    updates = ("V",)
    states = {"V": nd.State("mV", 0.0)}
    update = """
        real a[4] = {1.0, 2.0, 3.0, 4.0};
        int far = (int)(2e9 * (I > 1));
        V = a[far];
    """


AT_IMPORT = """
import importlib.abc, signal, sys
class Press(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Press())
"""
"""Presses Ctrl-C when a module is looked for; Python runs it at its start."""


@pytest.mark.parametrize("name", ["neurodriver.errors", "numpy", "click", "neurodriver.cli.models"])
def test_while_the_command_is_imported(name: str, tmp_path: Path) -> None:
    """One sentence, and the exit code of Ctrl-C."""
    tmp_path.joinpath("sitecustomize.py").write_text(AT_IMPORT.format(name=name))
    path = os.pathsep.join([str(tmp_path), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "neurodriver", "models"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path}, timeout=120,
    )  # fmt: skip
    assert (done.stdout, done.stderr.strip()) == ("", "error: interrupted")
    assert done.returncode == 130


def run_on_threads(circuit: nd.Circuit, drive: nd.Input) -> None:
    with nd.LPU(circuit, 1e-3, drive, threads=2) as lpu:
        with pytest.raises(nd.NeurodriverError, match=FAULT):
            lpu.run(40)
        with pytest.raises(nd.NeurodriverError, match="make a new LPU"):
            lpu.run(1)


def run_as_batch(circuit: nd.Circuit, drive: nd.Input) -> None:
    with nd.LPU(circuit, 1e-3, drive, batch=nd.Batch(3), threads=2) as lpu:
        with pytest.raises(nd.NeurodriverError, match=FAULT):
            lpu.run(40)


def run_by_a_manager(circuit: nd.Circuit, drive: nd.Input) -> None:
    man = nd.Manager(threads=2)
    man.add(nd.LPU, "a", circuit, 1e-3, drive)
    man.spawn()
    man.start(40)
    with pytest.raises(nd.NeurodriverError, match=FAULT):
        man.wait()


@pytest.mark.parametrize("run", [run_on_threads, run_as_batch, run_by_a_manager])
def test_kernels_that_cannot_go_on(run: Callable[..., None]) -> None:
    """A fault in one thread ends the step with an error, and the process goes on."""
    circuit = nd.Circuit.from_arrays([(Astray, 300, {}, [f"n{i}" for i in range(300)])])
    run(circuit, nd.StepInput("I", ["n299"], [20.0], start=5e-3))


def test_steps_that_do_not_end() -> None:
    """Ctrl-C names the model and the step, and the process goes on."""
    done = subprocess.run(
        [sys.executable, HERE / "endless.py"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = dict(re.findall(r"^(\w+): (.*)$", done.stdout, re.MULTILINE))
    again = ["again", "parted_again"]
    runs = ["alone", "batch", "managed", "parted"]
    assert list(said) == [again[0], *runs[:3], again[1], runs[3], "in_python"]
    for name in runs:
        assert "step 12 was ended within Endless" in said[name], said
    for name in again:
        assert "make a new LPU" in said[name]
