"""Texts of the C headers that kernels are put together from."""

from __future__ import annotations

from functools import cache
from pathlib import Path

INLINE = "static inline __attribute__((always_inline))"
"""What ``ND_FN``, the qualifiers of a function in a header, stands for in C++ for the CPU."""

_PACKAGE = Path(__file__).parents[1]


@cache
def header(name: str) -> str:
    """Return the text of a header, by its path within the package: ``native/math.h``."""
    return (_PACKAGE / name).read_text(encoding="utf-8")
