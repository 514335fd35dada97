"""No bad input is accepted in silence, crashes, hangs or ends in a foreign traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import isolated
import mutate
import pytest
import seeds
from table import CLASSES

import neurodriver as nd

HERE = Path(__file__).parent

MOST = 150
"""About so many cases of a class are run; all of them by ``table.py``, or with RELIABILITY=all."""


@pytest.mark.parametrize("name", CLASSES)
def test_every_case_ends_as_it_may(name: str, tmp_path: Path) -> None:
    """Every case ends in a clear error, in a warning, or is legal, as it says itself."""
    module = import_module(CLASSES[name])
    cases = list(module.cases())
    assert len(cases) > 50
    some = range(0, len(cases), max(len(cases) // getattr(module, "SOME", MOST), 1))
    cases = cases if os.environ.get("RELIABILITY") == "all" else [cases[i] for i in some]
    ends = isolated.ends_of(cases, tmp_path)
    assert not isolated.faults(cases, ends)


@pytest.mark.parametrize("kind", seeds.NAMES)
def test_damaged_files(kind: str, tmp_path: Path) -> None:
    """A file with a few bytes changed, lost or doubled is refused in a sentence, or read."""
    good = seeds.make(tmp_path)
    cases = mutate.cases(kind, good[kind], 40)
    with tempfile.TemporaryDirectory() as folder:
        ends = isolated.ends_of(cases, Path(folder))
    assert not isolated.faults(cases, ends)
    assert sum(end.kind == isolated.CLEAR for end in ends) > 10


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_every_write_may_fail(tmp_path: Path) -> None:
    """Whichever write fails: exit code 1, one sentence, and what is there can be read."""
    library = tmp_path / "failing.so"
    text = HERE / "failing_calls.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", text, "-o", library, "-ldl"], check=True)
    stride, errors = ("1", ()) if os.environ.get("RELIABILITY") == "all" else ("29", ("ENOSPC",))
    program = [HERE / "failing_writes.py", tmp_path / "work", stride, *errors]
    run = subprocess.run(
        [sys.executable, *program],
        env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, text=True,
        timeout=3600,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert int(run.stdout.split()[-5]) > 25


def test_a_planted_link_is_left_alone(tmp_path: Path) -> None:
    """Temporary names are made anew: what a link of that name leads to is not touched."""
    precious = tmp_path / "precious"
    precious.write_text("text")
    circuit = seeds.circuit()
    part = tmp_path / f".c.h5.{os.getpid()}.part"
    part.symlink_to(precious)
    circuit.save(tmp_path / "c.h5")
    assert precious.read_text() == "text"
    assert nd.Circuit.from_file(tmp_path / "c.h5").digest == circuit.digest


def test_a_limit_of_the_length_of_files(tmp_path: Path) -> None:
    """A recording that is longer than the limit is refused before the first step."""
    circuit = tmp_path / "c.gexf"
    seeds.circuit().save(circuit)
    for blocks, code in ((100, 1), (100_000, 0)):
        command = (
            f"ulimit -f {blocks}; exec {sys.executable} -m neurodriver run {circuit} --dt 1e-5"
        )
        command += f" --duration 0.2 -f -o {tmp_path / 'run.h5'}"
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
        assert run.returncode == code, run.stderr
        assert ("File too large" in run.stderr) == bool(code) and "Traceback" not in run.stderr


def test_faults_are_found(tmp_path: Path) -> None:
    """The harness knows silence, tracebacks, crashes and hanging from what is allowed."""
    import ctypes
    import time

    cases = [
        isolated.Case("silent", lambda folder: None),
        isolated.Case("traceback", lambda folder: 1 // 0),
        isolated.Case("crash", lambda folder: ctypes.string_at(0)),
        isolated.Case("hang", lambda folder: time.sleep(60)),
        isolated.Case("legal", lambda folder: None, (isolated.LEGAL,)),
    ]
    ends = isolated.ends_of(cases, tmp_path, longest=1.0)
    kinds = [isolated.SILENT, isolated.TRACEBACK, isolated.CRASH, isolated.HANG, isolated.LEGAL]
    assert [end.kind for end in ends] == kinds
    assert len(isolated.faults(cases, ends)) == 4
