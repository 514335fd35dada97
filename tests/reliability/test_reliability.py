"""No bad input is accepted in silence, crashes, hangs or ends in a foreign traceback."""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path

import isolated
import mutate
import pytest
import seeds
from table import CLASSES

MOST = 400
"""About so many cases of a class are run; all of them by ``table.py``, or with RELIABILITY=all."""


@pytest.mark.parametrize("name", CLASSES)
def test_every_case_ends_as_it_may(name: str, tmp_path: Path) -> None:
    """Every case ends in a clear error, in a warning, or is legal, as it says itself."""
    cases = list(import_module(CLASSES[name]).cases())
    assert len(cases) > 50
    some = range(0, len(cases), max(len(cases) // MOST, 1))
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
