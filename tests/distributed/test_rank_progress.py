"""A rank that gets no further ends the job in time; one that is only slow does not.

``NEURODRIVER_TEST_FAULTS`` says how often each fault is tried (once by default).
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from launch import mpiexec
from test_failures import RANKS, Ended, job, jobs, recorded

TIMES = int(os.environ.get("NEURODRIVER_TEST_FAULTS", "1"))
LIMIT = 3.0
LATER = 8.0
"""Seconds from the limit to the end of every rank."""
HERE = Path(__file__).parent


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a rank have three seconds to get on."""
    monkeypatch.setenv("NEURODRIVER_TIMEOUT", str(LIMIT))


def processes(text: str) -> list[str]:
    """Return the processes of this host whose command has a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in command:
            found.append(command)
    return found


def check_end(ended: Ended, folder: Path, seconds: float) -> str:
    """The job is over in time, nothing of it is left, and one sentence says why; return that."""
    assert ended.status != 0
    fault = max(line["time"] for line in ended.of("fault"))
    assert ended.at - fault < seconds, (ended.at - fault, ended.errors)
    assert not processes(str(folder))
    names = {name for line in ended.of("segments") for name in line["names"]}
    assert names and not any(os.path.exists(name) for name in names)
    said = [line for line in ended.errors.splitlines() if line.startswith("error:")]
    assert len(said) == 1, ended.errors
    assert "Traceback" not in ended.errors
    return said[0]


KINDS = {
    "loop": "faulty_job.py",
    "loop_in_module": "faulty_job.py",
    "loop_when_made": "faulty_job.py",
}
"""Kind of fault -> what is said of it."""


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("kind", KINDS)
def test_no_progress(kind: str, tmp_path: Path) -> None:
    """The sentence names the rank; the others close their files."""
    for ended in jobs(kind, tmp_path):
        folder = ended.folder
        rank = 1 if kind == "loop_in_module" else 0
        said = check_end(ended, folder, LIMIT + LATER)
        assert f"rank {rank} has made no progress for 3 s: it" in said and KINDS[kind] in said
        assert "NEURODRIVER_TIMEOUT" in said
        if kind == "loop_when_made":
            assert "in Manager.spawn" in said
            continue
        assert len(ended.of("run")) == RANKS - 1  # the others were told, and went on to their end
        for name in "abc":
            _, closed = recorded(folder / f"{name}0.h5")
            assert closed or name == "a" or (name == "b" and kind == "loop_in_module")


def test_the_limit_by_default(tmp_path: Path) -> None:
    """All is over after 30 s."""
    for ended in jobs("stopped", tmp_path):
        said = check_end(ended, ended.folder, 30.0)
        assert "rank 0 has made no progress for 24 s: its process is stopped" in said


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize(
    ("kind", "says"), [("never", "rank 1 has not started"), ("stopped", "rank 1 is stopped")]
)
def test_a_rank_that_never_starts(kind: str, says: str, tmp_path: Path) -> None:
    """MPI itself would wait for it for ever. It is killed, and the launcher ends the other rank.

    Where the other rank ended itself, the launcher of Open MPI 5.0.11 could hang.
    """
    for _ in range(TIMES):
        begin = time.time()
        program = [str(HERE / "late_rank.py"), kind, str(tmp_path)]
        done = mpiexec(2, program, 60.0, check=False)
        assert done.returncode == 128 + signal.SIGKILL and "started" not in done.stdout
        assert done.stderr.count("error:") == 1 and says in done.stderr, done.stderr
        assert time.time() - begin < LIMIT + LATER + 3.0  # imports included
        assert not processes(str(tmp_path))


@pytest.mark.parametrize("kind", ["left", "left_with_mpi"])
def test_a_rank_that_leaves_before_the_start(kind: str, tmp_path: Path) -> None:
    """The others need not wait for the limit: it will not come."""
    for _ in range(TIMES):
        begin = time.time()
        program = [str(HERE / "late_rank.py"), kind, str(tmp_path)]
        done = mpiexec(2, program, 60.0, check=False)
        assert done.returncode and "started" not in done.stdout
        said = "error: rank 1 has ended, and the others wait for it to start MPI"
        launcher = "exiting\nimproperly"  # it may be the first to see it
        assert said in done.stderr or launcher in done.stderr, done.stderr
        assert ("ValueError: a mistake" in done.stderr) == (kind != "left")
        assert time.time() - begin < 50.0  # 240 s if nothing were known of it
        assert not processes(str(tmp_path))


@pytest.mark.usefixtures("limit")
def test_a_rank_that_starts_late() -> None:
    """It is alive, so the other waits longer than the limit."""
    done = mpiexec(2, [str(HERE / "late_rank.py"), "slow"], 60.0)
    assert done.stdout.count("started 2") == 2 and "error" not in done.stderr


DIFFERENT = {
    "circuit": "LPU: ranks differ in the circuit",
    "inputs": "LPU: ranks differ in the inputs: rank 0 has StepInput: I into 40 components, rank 1",
    "parts": "LPU: ranks differ in the parts",
    "seed": "LPU: ranks differ in seed: rank 0 has 4, rank 1 has 5",
    "run": "LPU.start: ranks differ in steps: rank 0 has 10, rank 1 has 20",
    "ids": "ranks differ in the ids of the LPUs: rank 0 has a, b, rank 1 has a, b, c",
    "delay": "ranks differ in the delay of the connection of 'a' and 'b': rank 0 has 0.001, rank 1 "
             "has 0.002",
    "steps": "Manager.start: ranks differ in steps: rank 0 has 10, rank 1 has 20",
    "calls": "rank 0 is at Manager.spawn, rank 1 at another call",
    "network": "Trainer: ranks differ in the seed of the network: rank 0 has 1, rank 1 has 2",
    "environment": "Trainer: ranks 0 and 1 are shown different items; ",
    "epochs": "a training: ranks differ in epochs: rank 0 has 1, rank 1 has 2",
}  # fmt: skip


def test_ranks_that_differ() -> None:
    """Ranks compare what they are asked for; each raises the same error, one prints its traceback.

    Another job may follow.
    """
    done = mpiexec(2, [str(HERE / "different_ranks.py"), *DIFFERENT], 120.0, check=False)
    for kind, says in DIFFERENT.items():
        for rank in range(2):
            assert f"{kind}, rank {rank}: " in done.stdout, (kind, done.stdout, done.stderr)
        assert done.stdout.count(says) == 2, (kind, done.stdout)
    assert done.returncode != 0
    assert done.stderr.count("error on rank 0: ") == done.stderr.count("Traceback") == 1


@pytest.mark.usefixtures("limit")
def test_slow_steps(tmp_path: Path) -> None:
    """The rank that is done waits for five seconds: the other one gets on."""
    ended = job("slow_steps", tmp_path)
    assert ended.status == 0 and len(ended.of("end")) == RANKS, ended.errors
