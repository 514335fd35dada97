"""No bad input is accepted in silence, crashes, hangs or ends in a foreign traceback."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import isolated
import pytest
from table import CLASSES


@pytest.mark.parametrize("name", CLASSES)
def test_every_case_ends_as_it_may(name: str, tmp_path: Path) -> None:
    """Every case ends in a clear error, in a warning, or is legal, as it says itself."""
    cases = list(import_module(CLASSES[name]).cases())
    assert len(cases) > 50
    ends = isolated.ends_of(cases, tmp_path)
    assert not isolated.faults(cases, ends)


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
