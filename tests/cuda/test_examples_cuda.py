"""Every example records the same bits on the CPU and with both executors of a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from run_examples import SMALL  # noqa: E402

EXAMPLES = ROOT / "examples"
CIRCUITS = ROOT / "data" / "circuits"

OLD = ("-m", "neurodriver.compat")
CIRCUIT = ("-m", "neurodriver", "run")
PROGRAMS: dict[str, tuple[str, ...]] = {
    "01_one_neuron.py": (),
    "04_movie.py": (),
    "05_voltage_clamp.py": (),
    "07_equations.py": (),
    "old_style/custom_model.py": OLD,
    "old_style/generic.py": (*OLD, "-s", "500"),
    "old_style/hh_alpha.py": (*OLD, "-s", "2000"),
    "old_style/two_lpus.py": (*OLD, "-s", "500"),
    "papers/izhikevich_2003.py": ("--neurons", "4000", "--seconds", "0.3"),
    "papers/lappalainen_2024.py": (),
    **{f"papers/{n}": tuple(given) for n, given in SMALL.items() if n != "morrison_2007.py"},
    "optic_lobe/experiment.toml": CIRCUIT,
    "optic_lobe_extent3.gexf.gz": (*CIRCUIT, "--dt", "5e-3", "--duration", "1.0"),
}
ELSEWHERE = {
    "one_neuron.gexf", "02_moving_edge.py", "03_lamina.py", "08_step_by_step.py",
    "papers/morrison_2007.py", "papers/serre_2007.py",
}  # fmt: skip
"""What the first example runs; what writes an input and reads a recording, and runs nothing; what
needs a file that the project does not ship; what shares memory with NumPy; two that record nothing.
"""


def command(name: str) -> list[str]:
    """Return the arguments that run an example."""
    found = EXAMPLES / name
    file = str(found if found.exists() else CIRCUITS / name)
    given = PROGRAMS[name]
    if given[:2] == OLD:
        return [*OLD, file, *given[2:]]
    if given[:3] == CIRCUIT:
        return [*CIRCUIT, file, "-o", "out/recorded.h5", *given[3:]]
    return [file, *given]


def recorded(name: str, folder: Path, backend: str, executor: str) -> list[dict[str, Any]]:
    """Run an example in a folder of its own; return what its recorders took."""
    (folder / "out").mkdir()
    (folder / "data").symlink_to(ROOT / "data")
    program = str(ROOT / "tests" / "recorded_digests.py")
    own = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "NEURODRIVER_BACKEND": backend,
        "NEURODRIVER_EXECUTOR": executor,
    }
    done = subprocess.run(
        [sys.executable, program, "digests.jsonl", *command(name)],
        capture_output=True, text=True, cwd=folder, timeout=300, env=own,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (folder / "digests.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def on_cpu(name: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return recorded(name, Path(folder), "cpu", "resident")


def test_no_example_is_forgotten() -> None:
    """Each script, experiment and circuit runs here."""
    shipped = [*EXAMPLES.rglob("*.py"), *EXAMPLES.rglob("*.toml")]
    names = {str(path.relative_to(EXAMPLES)) for path in shipped}
    assert names | {path.name for path in CIRCUITS.iterdir()} == PROGRAMS.keys() | ELSEWHERE


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_example(name: str, executor: str, tmp_path: Path) -> None:
    """All that is recorded, rows and events."""
    cpu = on_cpu(name)
    assert any(one["moves"] for one in cpu)
    assert recorded(name, tmp_path, "cuda", executor) == cpu
