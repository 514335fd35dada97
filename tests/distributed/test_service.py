"""A script that runs on rank 0 alone, while the other ranks wait for their LPUs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from launch import ROOT, environment, launcher

HEAD = """
import warnings
from pathlib import Path
from stepping import Counter, N, ends
from led_parts import Failing, Unmade, Writing
from neurodriver.errors import LPUExecutionError, NeurodriverError
from neurodriver import Manager
warnings.simplefilter("ignore")

def managed(first=Counter, steps=6, second=Writing):
    man = Manager()
    man.add(first, "c", "c", rank=0)
    man.add(second, "e", "e", rank=1)
    man.connect("c", "e", ends(f"/c/v[0:{N}]", "e"))
    man.spawn()
    man.start(steps=steps)
    man.wait()
    return man
"""


def led(tmp_path: Path, text: str, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    """Run a script under the service."""
    pytest.importorskip("mpi4py")
    script = tmp_path / "script.py"
    script.write_text(HEAD + textwrap.dedent(text))
    own = environment()
    here = str(ROOT / "tests" / "distributed")
    own["PYTHONPATH"] = os.pathsep.join([here, own["PYTHONPATH"]])
    command = [*launcher(ranks), sys.executable, "-m", "neurodriver.parallel.service", str(script)]
    return subprocess.run(
        command, env=own, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )


def test_the_script_runs_once_and_reads_results(tmp_path: Path) -> None:
    """Two Managers after each other; the second Module runs on the other rank."""
    done = led(
        tmp_path,
        """
        for steps in (4, 6):
            man = managed(steps=steps)
            rank, *_ = Path("e.txt").read_text().split()
            assert rank == "1" and "e" not in man.modules
            lines = Path("e.txt").read_text().splitlines()[1:]
            assert len(lines) == steps
            assert lines[-1] == f"[{steps - 1.0:.0f}. {steps}. {steps + 1}.]", lines
            print("steps", steps)
        """,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "steps 4\nsteps 6\n"


@pytest.mark.parametrize("first", ["Failing", "Unmade"])
def test_a_failure_is_the_script_s_to_handle(tmp_path: Path, first: str) -> None:
    """Rank 0 has the error; the other ranks go on serving; an uncaught one ends all."""
    done = led(
        tmp_path,
        f"""
        try:
            managed({first})
        except LPUExecutionError as error:
            print(error.lpu, error.step)
        managed()
        print("again")
        managed({first})
        print("not reached")
        """,
    )
    assert done.returncode != 0
    assert done.stdout == f"c {3 if first == 'Failing' else 0}\nagain\n", done.stderr
    assert "ValueError" in done.stderr


@pytest.mark.needs("no dill")
def test_what_cannot_be_sent_is_told(tmp_path: Path) -> None:
    """A class of the script itself, a function without a name, an open file."""
    pytest.importorskip("mpi4py")
    done = led(
        tmp_path,
        """
        class Mine(Counter):
            pass

        for make in (lambda: managed(Mine), lambda: managed(second=Writing, steps=1)):
            try:
                make()
                print("sent")
            except NeurodriverError as error:
                print(error)
        man = Manager()
        man.add(Counter, "c", open("script.py"))
        try:
            man.spawn()
        except NeurodriverError as error:
            print(error)
        managed()
        """,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, second, third = done.stdout.splitlines()
    assert "Mine is defined in the script" in first
    assert "module of its own beside the script, or install dill" in first
    assert second == "sent"
    assert "cannot be sent to another rank" in third


@pytest.mark.parametrize(("end", "status"), [("raise SystemExit(4)", 4), ("1 / 0", 1), ("", 0)])
def test_the_script_s_end_is_everybody_s(tmp_path: Path, end: str, status: int) -> None:
    """With its exit status, after a run and without one."""
    for before in ("", "managed()\n"):
        done = led(tmp_path, before + end)
        assert done.returncode == status, done.stdout + done.stderr


def test_helpers_of_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function and a Manager run in processes of their own; a failure is a RuntimeError."""
    from neurodriver.compat.tools.mpi_run import mpi_run, mpi_run_manager

    launcher(2)
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "distributed"))
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(tmp_path)
    assert mpi_run(told, [helper]) == "helped 1\n"
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        mpi_run(broken)

    from led_parts import Writing
    from stepping import Counter, N, ends

    from neurodriver import Manager

    for ranks in (1, 2):
        man = Manager()
        man.add(Counter, "c", "c", rank=0)
        man.add(Writing, "e", "e", rank=ranks - 1)
        man.connect("c", "e", ends(f"/c/v[0:{N}]", "e"))
        mpi_run_manager(man, 5, ranks=ranks)
        rank, folder, *_ = Path("e.txt").read_text().split()
        assert (rank, folder) == (str(ranks - 1), str(tmp_path))
        assert len(Path("e.txt").read_text().splitlines()) == 6
    assert not list(tmp_path.glob("neurodriver_*"))


@pytest.mark.parametrize("there", ["", "ssh", "rsh"])
def test_one_host_needs_no_remote_shell(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open MPI is given a program in its place where there is none; a user's choice stays."""
    from neurodriver.compat.tools.mpi_run import _environment

    name = "OMPI_MCA_plm_rsh_agent"
    for program in filter(None, ("true", there)):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    monkeypatch.delenv(name, raising=False)
    assert _environment([""]).get(name) == (None if there else str(tmp_path / "true"))
    monkeypatch.setenv(name, "mine")
    assert _environment([""])[name] == "mine"
    assert "OMPI_COMM_WORLD_RANK" not in _environment([""])


def helper() -> int:
    """Return a number."""
    return 1


def told() -> None:
    """Print something."""
    print("helped", helper())


def broken() -> None:
    """Fail."""
    raise ZeroDivisionError
