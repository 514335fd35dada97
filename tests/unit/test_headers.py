"""Texts of C++ and CUDA are put together from files that include each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import neurodriver
from neurodriver.native.headers import header

PACKAGE = Path(neurodriver.__file__).parent
INCLUDE = re.compile(r'#\s*include\s*"([^"]+)"')
FILES = [
    path.relative_to(PACKAGE).as_posix()
    for folder in ("native", "codegen", "backends")
    for path in sorted((PACKAGE / folder).rglob("*.[hc]*"))
    if path.suffix in (".h", ".cuh", ".cpp")
]


@pytest.mark.parametrize("name", FILES)
def test_includes_are_pasted_in(name: str) -> None:
    """A text holds each file that it includes, once and in order, and includes none of ours."""
    text = header(name)
    assert not INCLUDE.search(text)
    path = PACKAGE / name
    pieces = [header((path.parent / n).relative_to(PACKAGE).as_posix()).strip()
              for n in INCLUDE.findall(path.read_text(encoding="utf-8"))]  # fmt: skip
    places = [text.index(piece) for piece in pieces]
    assert places == sorted(places) and all(text.count(piece) == 1 for piece in pieces)


def test_some_are_put_together() -> None:
    """The elementary functions come from several files."""
    assert len(FILES) > 15
    own = (PACKAGE / "native" / "math.h").read_text(encoding="utf-8")
    assert len(INCLUDE.findall(own)) > 3
    assert "double nd_tanh(" in header("native/math.h") and "double nd_tanh(" not in own
