"""Checkpoints of jobs under ``mpiexec``: kills, new processes, damaged and missing files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from launch import ROOT, environment, launcher, mpiexec

import neurodriver as nd
from neurodriver.experiment import load_experiment
from neurodriver.experiment.run import make_manager
from neurodriver.mpi import world
from neurodriver.state.checkpoint import HEAD, digest_of

LOBE = ROOT / "examples" / "optic_lobe" / "experiment.toml"
STEPS = 400


def experiment(folder: Path, steps: int) -> Path:
    """A small optic lobe as four LPUs."""
    text = LOBE.read_text().replace("duration = 3.2", f"steps = {steps}")
    text = text.replace("extent = 5", "extent = 1")
    path = folder / "lobe.toml"
    path.write_text(text.replace("arguments = { name", "sample_interval = 50\narguments = { name"))
    return path


def family(process: int) -> list[int]:
    """A process and all that it has started."""
    out = [process]
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            out += family(int(child))
    return out


def kill_all(process: int) -> None:
    """End a job at once, the launcher last."""
    for one in reversed(family(process)):
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            continue


def assert_equal_recordings(first: Path, second: Path) -> None:
    """Both are whole and hold the same rows."""
    with nd.open(first) as a, nd.open(second) as b:
        assert a.complete and b.complete and a.variables == b.variables
        for name in a.variables:
            assert np.array_equal(a.data(name)[:], b.data(name)[:]), name
            assert np.array_equal(a.time(name), b.time(name))
        assert max(float(np.ptp(a.data(name)[:])) for name in a.variables) > 0.1


def started(ranks: int, words: list[str], output: Path) -> subprocess.Popen[str]:
    """Start a run with checkpoints."""
    command = [*(launcher(ranks) if ranks > 1 else []), sys.executable, *words, str(output)]
    command += ["--checkpoint", "0.05s", "--resume"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment(), cwd=ROOT, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


def test_a_killed_job_is_resumed_on_any_number_of_ranks(tmp_path: Path) -> None:
    """All processes are killed at once, again and again; the recordings have no seam."""
    path, rng = experiment(tmp_path, 20_000), np.random.default_rng(7)
    whole, parts, saved = (tmp_path / f"{n}.h5" for n in ("whole", "parts", "parts.checkpoint"))
    words = ["-m", "neurodriver", "run", str(path), "-o"]
    alone = [sys.executable, *words, str(whole)]
    subprocess.run(alone, check=True, env=environment(), cwd=ROOT, capture_output=True, timeout=300)
    kinds = []
    for ranks in (2, 1, 3, 2):
        with started(ranks, words, parts) as process:
            before = saved.stat().st_mtime_ns if saved.exists() else 0
            while not saved.exists() or saved.stat().st_mtime_ns == before:
                assert process.poll() is None, process.communicate()[0]
                time.sleep(0.01)
            time.sleep(rng.uniform(0.0, 0.4))
            kill_all(process.pid)
        with h5py.File(saved) as file:
            kinds.append("parts" in file)
    assert kinds == [True, False, True, True]
    with started(ranks, words, parts) as process:
        said, _ = process.communicate(timeout=200)
    assert process.returncode == 0 and "goes on at step" in said, said
    assert_equal_recordings(whole, parts)
    assert len(list(tmp_path.glob("parts.checkpoint*.h5"))) == 1 + ranks


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment after a run on two ranks with checkpoints."""
    path = experiment(tmp_path_factory.mktemp("saved"), STEPS)
    done = mpiexec(2, ["-m", "neurodriver", "run", str(path), "--checkpoint", "1h"])
    assert "lobe.h5" in done.stdout
    return path


def resume(path: Path) -> int:
    """Go on in this process."""
    man = make_manager(load_experiment(path), world())
    try:
        return man.resume(path.with_name("lobe.checkpoint.h5"))
    finally:
        for lpu in man.lpus.values():
            lpu.close()


def test_every_rank_has_a_part(saved: Path) -> None:
    """One process reads the parts of two; a run that is complete has nothing left to do."""
    names = sorted(one.name for one in saved.parent.glob("lobe.checkpoint*"))
    assert names == ["lobe.checkpoint.a0.h5", "lobe.checkpoint.a1.h5", "lobe.checkpoint.h5"]
    assert resume(saved) == STEPS
    done = mpiexec(2, ["-m", "neurodriver", "run", str(saved), "--resume"])
    assert f"goes on at step {STEPS:,}" in done.stdout


def damaged(path: Path) -> None:
    """Another number in a state."""
    with h5py.File(path, "r+") as file:
        file["state/groups/0/rows/V"][0, 0] += 1e-9


def cut_short(path: Path) -> None:
    """Half of the file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def of_another_run(path: Path) -> None:
    """A whole part, whose digest is not that of the index."""
    with h5py.File(path, "r+") as file:
        state = file["state"]
        state.attrs["namespace"] = "another"
        state.attrs["digest"] = digest_of(state, HEAD)


def without_index(path: Path) -> None:
    """The index has lost a name."""
    with h5py.File(path, "r+") as file:
        del file["parts/name"]


FAULTS = [
    ("a1", Path.unlink, r"lobe.checkpoint.a1.h5: no such file, but .*lobe.checkpoint.h5 needs it: "
                        r"it holds the state of '\w+'"),
    ("a0", damaged, "lobe.checkpoint.a0.h5: damaged: the state differs from its digest"),
    ("a1", cut_short, "lobe.checkpoint.a1.h5: cannot be read as HDF5, not a whole HDF5 file"),
    ("a0", of_another_run, "a0.h5: belongs to another checkpoint than .*lobe.checkpoint.h5"),
    ("", without_index, "lobe.checkpoint.h5: damaged: the index differs from its digest"),
    ("", cut_short, "lobe.checkpoint.h5: damaged"),
    ("", Path.unlink, "lobe.checkpoint.h5: no such file"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "fault", "message"), FAULTS)
def test_what_is_wrong_is_told(
    saved: Path, part: str, fault: Callable[[Path], None], message: str
) -> None:
    """The file at fault is named, with the LPUs that it holds."""
    path = saved.with_name(f"lobe.checkpoint.{part}.h5".replace("..", "."))
    good = path.read_bytes()
    try:
        fault(path)
        with pytest.raises(nd.NeurodriverError, match=message):
            resume(saved)
    finally:
        path.write_bytes(good)
    assert resume(saved) == STEPS


def test_ranks_tell_a_fault_once(saved: Path) -> None:
    """A part that only one rank reads is missing: all ranks end, and one message tells why."""
    path = saved.with_name("lobe.checkpoint.a1.h5")
    good = path.read_bytes()
    path.unlink()
    try:
        done = mpiexec(2, ["-m", "neurodriver", "run", str(saved), "--resume"], 60, check=False)
    finally:
        path.write_bytes(good)
    assert done.returncode == 1
    assert (done.stdout + done.stderr).count("no such file, but") == 1
    assert "Traceback" not in done.stdout + done.stderr
