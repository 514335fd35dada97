"""The benchmarks can be imported, and their parts for ranks run at small sizes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from launch import ROOT, mpiexec

SCRIPTS = ROOT / "scripts"
CASES = sorted(path.stem for path in (SCRIPTS / "benchmarks").glob("[a-z]*.py"))

WORKER = f"""\
import runpy, sys
sys.path.insert(0, {str(SCRIPTS)!r})
sys.argv = [sys.argv[0], *sys.argv[2:]]
runpy.run_module({{!r}}, run_name="__main__")
"""

PARTS = [
    ("exchange_worker", ["1000", "1"]),
    ("cut_ranks", ["izhikevich", "cpu", "float64", "1", "lpus"]),
    ("cut_ranks", ["izhikevich", "cpu", "float64", "1", "parts"]),
]


def test_all_can_be_imported() -> None:
    """No benchmark names a module or a function that is gone."""
    assert len(CASES) > 15
    lines = [f"import benchmarks.{name}" for name in CASES]
    lines.append("assert benchmarks.photoreceptor._library()")
    words = [sys.executable, "-c", "\n".join(lines)]
    path = os.pathsep.join(map(str, (ROOT, SCRIPTS)))
    own = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(words, capture_output=True, text=True, env=own, check=False)
    assert done.returncode == 0, done.stderr


ROWS = """
from benchmarks import coba_lif
from benchmarks.papers import Case, row
network = {"neurons": 200}
case = Case("coba_lif", "vogels_abbott_2005", network, (), 4.0, ceilings=coba_lif.CEILINGS)
found = row(case, 1, None)
assert found["us a step"] > 0, found
assert all(one.told in found["floor"] for one in coba_lif.CEILINGS), found
"""


def test_a_row_with_ceilings() -> None:
    """A published network is measured beside the same network with less to do."""
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, SCRIPTS)))}
    words = [sys.executable, "-c", ROWS]
    done = subprocess.run(words, capture_output=True, text=True, env=own, check=False)
    assert done.returncode == 0, done.stderr


SEVERAL = """
from benchmarks.seconds import Network, _compared, rows
from benchmarks.table import Table
size = {"neurons": 4_000}
one = Network("coba_lif", "vogels_abbott_2005", {}, size, dtypes=("float32",), parts=0.6)
alone, both = rows(Table("cpu", 1, True, devices=2), one)
assert "2 parts" in both["case"] and "2 parts" not in alone["case"]
assert both["ratio"] == both["us a step"] / alone["us a step"]
for us, met in ((5.0, "yes"), (7.0, "no")):
    walls = {"us a step": 9.0, "wall us": us}, {"us a step": 9.0, "wall us": 10.0}
    told = _compared(Table("cuda"), one, *walls, "float32")
    assert told["met"] == met and told["ratio"] == us / 10
    assert _compared(Table("cuda"), one, *walls, "float64")["met"] == ""
"""


def test_several_devices_beside_one() -> None:
    """The ratio is that by the clock, and has a target of its own."""
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, SCRIPTS)))}
    done = subprocess.run([sys.executable, "-c", SEVERAL], capture_output=True, text=True, env=own,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


TARGETS = """
import math
from benchmarks.seconds import Network, _judged
from benchmarks.table import Table
both = Network("a", "b", {}, {}, 100.0, 40.0)
for clock, ratio, met in ((39.0, 1.1, "yes, yes"), (41.0, 1.1, "yes, no"), (101.0, 1.1, "no, no"),
                          (39.0, 1.2, "no, no"), (39.0, math.nan, "yes, yes")):
    found = _judged(Table("cuda", 1), both, "float32", clock, ratio, False)
    assert found["met"] == met and "<= 100, then 40 ms by the clock" in found["target"], found
assert _judged(Table("cuda", 1), both, "float64", 39.0, 1.1, False)["met"] == "yes"
assert not _judged(Table("cuda", 1), both, "float64", 39.0, math.nan, False)
one = Network("a", "b", {}, {}, 9.0, spikes=6018.0)
assert _judged(Table("cuda", 1), one, "float32", 8.0, 1.0, False)["met"] == "yes"
rated = _judged(Table("cuda", 1), one, "float32", 8.0, 1.0, True)
assert rated["target"].startswith("<= 9 ms by the clock, at 6,018 spikes per step;"), rated
"""


def test_targets_are_judged_by_the_clock() -> None:
    """Each of two targets for itself; what the host adds to the device's time counts, too."""
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, SCRIPTS)))}
    words = [sys.executable, "-c", TARGETS]
    done = subprocess.run(words, capture_output=True, text=True, env=own, check=False)
    assert done.returncode == 0, done.stderr


LONG = r"""
import re
import numpy as np
import neurodriver as nd
from benchmarks.papers import example
from benchmarks.seconds import Network, _at_rate, rows
from benchmarks.table import StepTime, Table
size = {"neurons": 4_000}
given = {"title": "c", "example": "vogels_abbott_2005", "arguments": size, "small": {}}
module = example("vogels_abbott_2005")
circuit, inputs, _ = module.network(seed=1, **size)
recorder = nd.MemoryRecorder([("spike_state", None)])
with nd.LPU(circuit, module.DT, inputs, [recorder], dtype="float32", seed=1) as lpu:
    lpu.run(duration=3.3)
times = np.rint(np.asarray(recorder.get("spike_state")["time"]) / module.DT)
second = round(1 / module.DT)
begins = [round(0.3 / module.DT) + n * second for n in range(3)]
each = np.array([((times >= a) & (times < a + second)).sum() for a in begins])
assert each.min() > 100, each
given |= {"seconds": 3.0, "before": 0.3, "dtypes": ("float32",)}
low, high = np.sort(each)[[0, -1]] / second
between = (low + high) / 2
(row,) = rows(Table("cpu", 3), Network(**given, spikes=between))
assert ", 3 s, float32" in row["case"], row
assert abs(row["spikes a second"] * 3 - each.sum()) < 0.5, (row, each)
told = re.search(r"3 seconds of (.*) to (.*) spikes per step, at most (.*) ms beside them: (.*) ms "
                 r"by the clock at (.*)$", row["floor"])
assert [float(x) for x in told.groups()[:2]] == [float(f"{x:.4g}") for x in (low, high)], row
assert 0.5 * row["ms a second"] < float(told[4]) < 2 * row["ms a second"], row
(row,) = rows(Table("cpu", 3), Network(**given, spikes=2 * high))
assert "by a line" not in row["floor"], row
each = np.array([2.0, 4.0, 9.0])
found = [StepTime(1e-5 * (1.0 + 0.5 * x)) for x in each]
ms, said = _at_rate(6.0, each, found, 1e-4)
assert abs(ms - 400.0) < 1e-6 and said.endswith(": 400 ms by the clock at 6"), said
assert _at_rate(1.0, each, found, 1e-4) is None is _at_rate(3.0, each[:2], found[:2], 1e-4)
"""


def test_a_long_run() -> None:
    """Networks whose seconds differ have one run for each, after some time that does not count."""
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, SCRIPTS)))}
    words = [sys.executable, "-c", LONG]
    done = subprocess.run(words, capture_output=True, text=True, env=own, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "arguments"), PARTS)
def test_two_ranks(name: str, arguments: list[str], tmp_path: Path) -> None:
    """A part prints one line of JSON, with times above 0."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(f"benchmarks.{name}"), encoding="utf-8")
    done = mpiexec(2, [str(script), "", *arguments], 120)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(found) >= 2 and all(value > 0 for value in found.values())
