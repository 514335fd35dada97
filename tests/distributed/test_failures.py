"""Whatever goes wrong on one rank ends all of them soon, and leaves files that can be read.

``NEURODRIVER_TEST_FAULTS`` says how often each fault that ends its job is tried (once by default).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from launch import NOT_STARTED, ROOT, environment, launcher, start_in_foreground

TIMES = int(os.environ.get("NEURODRIVER_TEST_FAULTS", "1"))
AFTER_KILL = 30.0

RANKS = 3
RUNS = max(2, TIMES)


def within() -> float:
    """Return the seconds from a fault to the end of every rank: 5, on busy processors up to 20."""
    load = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return 5.0 * min(max(1.0, load), 4.0)


@dataclass
class Ended:
    """How a job has ended."""

    status: int
    said: list[dict[str, Any]]
    errors: str
    at: float
    folder: Path

    def of(self, what: str) -> list[dict[str, Any]]:
        """Return the lines of a kind."""
        return [line for line in self.said if line["what"] == what]


def job(kind: str, folder: Path, repeats: int = 1, seed: int = 0) -> Ended:
    """Run ``faulty_job.py``; of kind "sigint", interrupt it."""
    for _ in range(3):
        ended = one_job(kind, folder, repeats, seed)
        if NOT_STARTED not in ended.errors:
            break
    return ended


def one_job(kind: str, folder: Path, repeats: int, seed: int) -> Ended:
    """Do so, or get the message of an MPI that could not start."""
    folder.mkdir(exist_ok=True)
    program = Path(__file__).with_name("faulty_job.py")
    arguments = [str(program), kind, str(folder), str(repeats), str(seed)]
    process = start_in_foreground(
        [*launcher(RANKS), sys.executable, *arguments],
        env=environment(), cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    began = time.time()
    if kind == "sigint":
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(RANKS)]
        assert all("ready" in line for line in lines), lines
        time.sleep(0.05 * (seed % 7))
        began = time.time()
        process.send_signal(signal.SIGINT)
    try:
        out, errors = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, errors = process.communicate()
        pytest.fail(f"{kind} {seed}: no end\n{out}\n{errors}")
    at = time.time()
    lines = [line for path in folder.glob("said_*.jsonl") for line in path.read_text().splitlines()]
    said = sorted(map(json.loads, lines), key=lambda one: one["time"])
    if kind == "sigint":
        said.append({"what": "fault", "time": began, "rank": -1})
    return Ended(process.returncode, said, errors, at, folder)


AT_ONCE = max(2, len(os.sched_getaffinity(0)) // RANKS)
"""Jobs that run beside each other, where a fault is tried several times."""


def jobs(kind: str, folder: Path) -> list[Ended]:
    """Run a job that ends as a whole several times, some of them at once."""
    folder.mkdir(exist_ok=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(job, kind, folder / str(n), 1, n) for n in range(TIMES)]
        return [future.result() for future in futures]


def recorded(path: Path) -> tuple[int, bool]:
    """Open a file plainly; return the rows it holds and whether it was closed."""
    with h5py.File(path, "r") as file:
        closed = bool(file["metadata"][()])
        rows = int(file["V/valid_rows"][()]) if "V/valid_rows" in file else len(file["V/data"])
        data = file["V/data"][:rows]
        assert data.shape == (rows, 1)
        assert np.isfinite(data).all()
        assert not rows or (data < 0).all()  # a potential: no row of zeros that nobody has written
        return rows, closed


@pytest.mark.parametrize(
    ("kind", "culprits", "cause"),
    [
        ("input", "a", "ValueError: broken at step"),
        ("exit_within", "a", "SystemExit: 5"),
        ("two", "ab", "ValueError: broken at step"),
        ("unconnected", "c", "ValueError: broken at step"),
        ("module", "m", "ValueError: broken at step"),
        ("full_disk", "a", "No space left on device"),
        ("closed_file", "a", "Bad file descriptor"),
        ("constructor", "a", "ValueError: broken when made"),
    ],
)
def test_an_error_in_an_lpu(kind: str, culprits: str, cause: str, tmp_path: Path) -> None:
    """All ranks raise the same error soon, close their files, and can go on."""
    ended = job(kind, tmp_path, RUNS)
    assert ended.status != 0
    assert not ended.of("end")
    runs, faults = ended.of("run"), ended.of("fault")
    assert len(runs) == RANKS * RUNS, ended.errors
    for number in range(RUNS):
        mine = [run for run in runs if run["number"] == number]
        fault = [f for f in faults if f["time"] < mine[0]["time"]][-1]
        assert max(run["time"] for run in mine) - fault["time"] < within()
        told = mine[0]["error"]
        assert all(run["error"] == told for run in mine)
        assert told[0] in culprits
        assert cause in told[2]
        if kind in ("input", "exit_within", "two", "unconnected", "module"):
            assert fault["step"] == told[1]
        if kind == "constructor":
            continue
        for run in mine:
            for name, steps in run["steps"].items():
                rows, closed = recorded(tmp_path / f"{name}{number}.h5")
                if kind in ("full_disk", "closed_file") and name == culprits:
                    assert 0 < rows < steps  # what came before the fault
                else:
                    assert (rows, closed) == (steps, True)
    assert ended.at - faults[-1]["time"] < 2 * within()


@pytest.mark.parametrize("kind", ["exit", "uncaught", "early_exit", "slow_constructor", "sigint"])
def test_the_end_of_a_script(kind: str, tmp_path: Path) -> None:
    """Where one rank's script ends in the middle, or at Ctrl-C, the job ends and says so."""
    for ended in jobs(kind, tmp_path):
        assert ended.status != 0
        faults = ended.of("fault")
        assert faults and ended.at - faults[0]["time"] < within(), (ended.said, ended.errors)
        assert not ended.of("end")
        files = list(ended.folder.glob("?0.h5"))
        assert files or kind in ("early_exit", "slow_constructor")
        for path in files:
            recorded(path)


def test_a_killed_rank(tmp_path: Path) -> None:
    """After SIGKILL of one rank the job ends, and all files hold what was written."""
    for ended in jobs("sigkill", tmp_path):
        assert ended.status != 0
        assert ended.at - ended.of("fault")[0]["time"] < AFTER_KILL
        files = sorted(ended.folder.glob("?0.h5"))
        assert len(files) == RANKS
        assert sum(recorded(path)[0] for path in files) > 0


def test_stop(tmp_path: Path) -> None:
    """``stop`` on one rank ends the run on all ranks, also those connected to nobody."""
    for ended in jobs("stop", tmp_path):
        assert ended.status == 0, ended.errors
        runs = ended.of("run")
        assert len(runs) == RANKS
        assert max(run["time"] for run in runs) - ended.of("fault")[0]["time"] < within()
        for run in runs:
            assert run["error"] is None
            for name, steps in run["steps"].items():
                assert recorded(ended.folder / f"{name}0.h5") == (steps, True)
                assert steps > 0


def test_a_slow_peer_is_no_fault(tmp_path: Path) -> None:
    """The others wait for a rank that takes seconds over a step."""
    ended = job("slow_peer", tmp_path)
    assert ended.status == 0, ended.errors
    assert len(ended.of("end")) == RANKS
    for run in ended.of("run"):
        for name, steps in run["steps"].items():
            assert steps == 2000
            assert recorded(tmp_path / f"{name}0.h5") == (steps, True)
