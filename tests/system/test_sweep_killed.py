"""A sweep that is killed or interrupted goes on with the points that lack; and a sweep of ranks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from launch import ROOT, mpiexec, start_in_foreground
from swept import noisy_neurons

import neurodriver as nd

pytest.importorskip("xarray")

SEEDS = 40
SCRIPT = f"""
import sys
import neurodriver as nd
from swept import noisy_neurons

if __name__ == "__main__":
    axes = {{"g": [2.0], "seed": range({SEEDS})}}
    try:
        nd.sweep(noisy_neurons, axes, duration=0.02, path=sys.argv[1])
    except KeyboardInterrupt as interrupt:
        print(interrupt)
"""


def start(folder: Path, pause: float, **more: Any) -> subprocess.Popen[str]:
    """Start a sweep whose points take a while."""
    path = f"{ROOT}{os.pathsep}{ROOT / 'tests'}"
    environment = {"PYTHONPATH": path, "SWEPT_PAUSE": str(pause), "SWEPT_LOG": f"{folder}.log"}
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    command = [sys.executable, "-c", SCRIPT, folder]
    return start_in_foreground(
        command, env=os.environ | environment, start_new_session=True, **more
    )


def stored(folder: Path) -> list[Path]:
    """Return the files of finished points."""
    return sorted((folder / "points").glob("*.h5"))


def wait_for(folder: Path, points: int) -> None:
    """Wait until some points are stored."""
    deadline = time.monotonic() + 60
    while len(stored(folder)) < points:
        assert time.monotonic() < deadline, "no point was finished"
        time.sleep(0.002)


def left(group: int) -> list[str]:
    """Return the command lines of the processes of a group."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def whole() -> Any:
    """The sweep without an interruption."""
    return nd.sweep(noisy_neurons, {"g": [2.0], "seed": range(SEEDS)}, duration=0.02)


def test_a_killed_sweep_goes_on(tmp_path: Path, whole: Any) -> None:
    """SIGKILL at random moments, to all its processes or to the first one, which the others follow:
    no finished point is lost or computed again.
    """
    folder, chance = tmp_path / "sweep", random.Random(5)
    for goal in (1, 9, 18, 27):
        process = start(folder, pause=0.01)
        wait_for(folder, goal)
        time.sleep(chance.uniform(0, 0.03))
        (os.killpg if goal % 2 else os.kill)(process.pid, signal.SIGKILL)
        process.communicate()
        deadline = time.monotonic() + 10
        while left(process.pid):
            assert time.monotonic() < deadline, left(process.pid)
            time.sleep(0.01)
    before = {path.name: path.read_bytes() for path in stored(folder)}
    assert len(before) >= 27
    log = Path(f"{folder}.log")
    calls = len(log.read_text().splitlines())
    process = start(folder, pause=0.0)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert len(log.read_text().splitlines()) - calls == SEEDS - len(before)
    assert not list((folder / "points").glob(".*"))
    after = {path.name: path.read_bytes() for path in stored(folder)}
    assert len(after) == SEEDS and before.items() <= after.items()
    assert nd.open_sweep(folder).identical(whole)


@pytest.mark.parametrize("everywhere", [True, False], ids=["terminal", "one process"])
def test_an_interrupted_sweep_goes_on(tmp_path: Path, whole: Any, everywhere: bool) -> None:
    """Ctrl-C, to all processes as of a terminal or to the first one: quiet, and all is kept."""
    folder = tmp_path / "sweep"
    process = start(folder, pause=0.2)
    wait_for(folder, 3)
    begin = time.monotonic()
    (os.killpg if everywhere else os.kill)(process.pid, signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and time.monotonic() - begin < 20
    assert "Traceback" not in errors, errors
    kept = len(stored(folder))
    assert 3 <= kept < SEEDS
    assert said == (
        f"sweep: interrupted; {kept} of {SEEDS} points are done; "
        f"call again with path='{folder}' to go on\n"
    )
    assert left(process.pid) == []
    process = start(folder, pause=0.0)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert nd.open_sweep(folder).identical(whole)


def test_ranks_as_executor(tmp_path: Path, whole: Any) -> None:
    """``mpi4py.futures`` gives each rank points, and the bits are the same."""
    script = tmp_path / "ranks.py"
    script.write_text(
        f"""
import sys
sys.path[:0] = {[str(ROOT), str(ROOT / "tests")]!r}
from mpi4py.futures import MPIPoolExecutor
import neurodriver as nd
from swept import noisy_neurons

if __name__ == "__main__":
    axes = {{"g": [2.0], "seed": range({SEEDS})}}
    with MPIPoolExecutor() as executor:
        nd.sweep(noisy_neurons, axes, duration=0.02, path=sys.argv[1], executor=executor)
"""
    )
    mpiexec(3, ["-m", "mpi4py.futures", str(script), str(tmp_path / "sweep")])
    assert nd.open_sweep(tmp_path / "sweep").identical(whole)
