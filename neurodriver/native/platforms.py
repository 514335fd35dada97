"""How C++ becomes a shared library on each operating system: names, compilers and flags."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass

SAME_BITS = ("-std=c++20", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""The same bits in every lane and on every machine: no contraction, no reordering."""

OPTIMIZED = (
    ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops", "-funswitch-loops",
     "-fsplit-paths", "-fpredictive-commoning", "-fgcse-after-reload", "-ftree-partial-pre",
     "-fipa-cp-clone"),
    ("-O3",),
)  # fmt: skip
"""Spellings of: as fast as can be. g++ compiles a kernel in 0.8 s by the first one, in 1.4 s with
``-O3``, which unrolls every loop of known length; the kernels are equally fast."""

NATIVE = (("-march=native",), ("-mcpu=native",))
"""Spellings of: for this processor."""

LANES = (("-fopenmp-simd",),)
"""Spellings of: take the words about loops whose passes are independent."""

WIDE = (("-mprefer-vector-width=512",),)
"""Spellings of: whole AVX-512 vectors where the processor has them."""

NO_GATHER = (
    ("-mno-gather",),
    ("-mtune-ctrl=^use_gather,^use_gather_2parts,^use_gather_4parts",),
)
"""Spellings of: load the elements of a vector one by one. On processors whose gather instruction
is slowed by its security fix this halves the time of a double-precision indexed read; in single
precision the instruction still wins."""


_ENTRY = re.compile(r'extern "C" (?=[\w ]+[ *]\w+\()')


@dataclass(frozen=True)
class Platform:
    """An operating system and a processor, as far as shared libraries are concerned.

    Attributes
    ----------
    suffix : str
        How the name of a library ends.
    compilers : tuple of str
        Programs to try, in this order.
    flags : tuple of str
        What makes a library.
    advice : str
        How to install a compiler.
    x86 : bool
        Whether the processor is of the family of Intel and AMD.
    """

    suffix: str
    compilers: tuple[str, ...]
    flags: tuple[str, ...]
    advice: str
    x86: bool

    @property
    def spellings(self) -> tuple[Sequence[tuple[str, ...]], ...]:
        """What a compiler is asked for; the first spelling that it takes is used.

        As fast as can be, for this processor, vectors of loops, whole vectors, no gathering.
        """
        return OPTIMIZED, NATIVE, LANES, *((WIDE, NO_GATHER) if self.x86 else ((), ()))

    def exported(self, text: str) -> str:
        """Return a text whose entry points a library shows, whatever the compiler."""
        return _ENTRY.sub(r"\g<0>__declspec(dllexport) ", text) if self.suffix == ".dll" else text


_SYSTEMS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], str]] = {
    "Linux": (
        ".so", ("g++", "clang++", "c++"), ("-fPIC", "-shared", "-pthread"),
        "Debian and Ubuntu: apt install g++",
    ),
    "Darwin": (
        ".dylib", ("clang++", "c++", "g++"), ("-fPIC", "-shared", "-pthread"),
        "xcode-select --install",
    ),
    # no g++: its code for Windows keeps vectors at addresses where they cannot be
    "Windows": (
        ".dll", ("clang++",), ("-shared",),
        "LLVM with the build tools of Visual Studio",
    ),
}  # fmt: skip


def platform_of(system: str, machine: str) -> Platform:
    """Return how libraries are made; other systems are like Linux.

    Parameters
    ----------
    system, machine : str
        As ``platform.system()`` and ``platform.machine()`` say.
    """
    return Platform(*_SYSTEMS.get(system, _SYSTEMS["Linux"]), machine in ("x86_64", "AMD64"))


def this_platform() -> Platform:
    """Return how libraries are made on this machine."""
    return platform_of(platform.system(), platform.machine())
