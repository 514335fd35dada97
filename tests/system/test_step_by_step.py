"""The network that is printed step by step: script and notebook, and what ``show`` prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neurodriver as nd

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "08_step_by_step.py"
NOTEBOOK = ROOT / "examples" / "09_step_by_step.ipynb"
LINE = (
    r"t = (\d+) ms  V = \[(?:-?\d+\.\d\d, ){4}\.\.\.\]  u = \[(?:-?\d+\.\d\d, ){4}\.\.\.\]"
    r"  fired = \[([\d, .]*)\]  total = (\d+)"
)


def code() -> str:
    """Return the code of the notebook."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "code")


def test_the_script(tmp_path: Path) -> None:
    """At most 25 lines; a line for each step, spikes that are counted twice, rates."""
    text = SCRIPT.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 25
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    found = [re.fullmatch(LINE, line) for line in lines]
    assert len(found) == 1000 and all(found)
    assert [int(one[1]) for one in found if one] == list(range(1, 1001))
    rates = [float(one) for one in re.findall(r"\d+\.\d", last)]
    assert 5 < rates[0] < 8 and 3 < rates[1] < 6
    total = int(found[-1][3]) if found[-1] else 0
    assert total == pytest.approx(800 * rates[0] + 200 * rates[1], abs=60)


def test_the_notebook_is_the_script() -> None:
    """Nothing is stored that a run has shown; the code is that of the script."""
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") for cell in book["cells"])
    squeezed = re.sub(r"\n+", "\n", code()).strip()
    script = re.sub(r"\n+", "\n", SCRIPT.read_text(encoding="utf-8").split("\n", 2)[2]).strip()
    assert squeezed == script


class Counting(nd.NDComponent):
    """Fires where its number of steps is even."""

    updates, states = ("spike_state",), {"n": nd.State("1", 0.0)}
    update = "n += 1; if (n - 2 * floor(n / 2) == 0) spike_state = 1;"


def test_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Events are counted in the steps that are shown, each once; long lists are cut."""
    cells = nd.Population(Counting, 12, name="cells", initn=np.arange(12.0))
    with nd.LPU(nd.Circuit([cells]), dt=1e-3) as lpu:
        for _ in range(2):
            lpu.advance(1)
            lpu["cells"].show(rows=2)
            lpu[cells[:3]].show()
        lpu["cells"].show(rows=2)
    assert capsys.readouterr().out.splitlines() == [
        "t = 1 ms  n = [1.00, 2.00, ...]  fired = [1, 3, 5, 7, 9, 11]  total = 6",
        "t = 1 ms  n = [1.00, 2.00, 3.00]  fired = [1]  total = 1",
        "t = 2 ms  n = [2.00, 3.00, ...]  fired = [0, 2, 4, 6, 8, 10]  total = 12",
        "t = 2 ms  n = [2.00, 3.00, 4.00]  fired = [0, 2]  total = 3",
        "t = 2 ms  n = [2.00, 3.00, ...]  fired = [0, 2, 4, 6, 8, 10]  total = 12",
    ]
