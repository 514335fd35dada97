"""Ctrl-C ends whatever goes on: imports, steps that do not end, and their threads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

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


def test_steps_that_do_not_end() -> None:
    """Ctrl-C names the model and the step, and the process goes on."""
    done = subprocess.run(
        [sys.executable, HERE / "endless.py"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = dict(re.findall(r"^(\w+): (.*)$", done.stdout, re.MULTILINE))
    assert list(said) == ["again", "alone", "batch", "managed", "in_python"]
    for name in ("alone", "batch", "managed"):
        assert "step 12 was ended within Endless" in said[name], said
    assert "make a new LPU" in said["again"]
