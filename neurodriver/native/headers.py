"""Texts of C++ and CUDA that kernels and the step loop are put together from."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath

INLINE = "static inline __attribute__((always_inline))"
"""What ``ND_FN``, the qualifiers of a function in a header, stands for in C++ for the CPU."""

_PACKAGE = Path(__file__).parents[1]
_INCLUDE = re.compile(r'^#include "([^"\n]+)"$', re.MULTILINE)


@cache
def header(name: str) -> str:
    """Return the text of a file, by its path within the package: ``native/math.h``.

    A file that it includes in quotes, by its path from the file's folder, is pasted in. So
    compilers get one text, which says all that a kernel depends on.
    """
    text = (_PACKAGE / name).read_text(encoding="utf-8")
    folder = PurePosixPath(name).parent
    return _INCLUDE.sub(lambda found: header(str(folder / found[1])).rstrip("\n"), text)
