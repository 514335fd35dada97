"""How C++ is compiled to a shared library on each operating system: names, compilers, flags."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass

SAME_BITS = ("-std=c++20", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""Flags for the same bits with every vector length and on every machine.

Multiplications and additions are not contracted to fused ones, and additions are not reordered.
"""

OPTIMIZED = (
    ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops", "-funswitch-loops",
     "-fsplit-paths", "-fpredictive-commoning", "-fgcse-after-reload", "-ftree-partial-pre",
     "-fipa-cp-clone"),
    ("-O3",),
)  # fmt: skip
"""Flags for fast code: those of g++, then those of other compilers.

g++ compiles a kernel in 0.8 s with the first ones, and in 1.4 s with ``-O3``, which unrolls every
loop of known length. The kernels are equally fast.
"""

NATIVE = (("-march=native",), ("-mcpu=native",))
"""Flags for all instructions of this processor; compilers name them differently."""

LANES = (("-fopenmp-simd",),)
"""Flags that obey ``#pragma omp simd``, which says that the passes of a loop are independent."""

WIDE = (("-mprefer-vector-width=512",),)
"""Flags for AVX-512 vectors of full length, if the processor has them."""

NO_GATHER = (
    ("-mno-gather",),
    ("-mtune-ctrl=^use_gather,^use_gather_2parts,^use_gather_4parts",),
)
"""Flags that load the elements of a vector one by one, without the gather instruction.

On some processors a security fix has made this instruction slow. There an indexed read in double
precision takes half the time without it. In single precision the instruction is still faster.
"""

_ENTRY = re.compile(r'extern "C" (?=[\w ]+[ *]\w+\()')


@dataclass(frozen=True)
class Platform:
    """How shared libraries are made on an operating system and a processor.

    Attributes
    ----------
    suffix : str
        End of the name of a library, such as ``.so``.
    compilers : tuple of str
        Compilers to try, in this order.
    flags : tuple of str
        Flags that make a library instead of a program.
    advice : str
        How the user installs a compiler.
    x86 : bool
        Whether the processor has the instruction set x86-64 (Intel, AMD).
    """

    suffix: str
    compilers: tuple[str, ...]
    flags: tuple[str, ...]
    advice: str
    x86: bool

    @property
    def spellings(self) -> tuple[Sequence[tuple[str, ...]], ...]:
        """Flags that a compiler is asked to take, in five groups; see the constants above.

        Each group lists alternatives. The first one that the compiler accepts is used.
        """
        return OPTIMIZED, NATIVE, LANES, *((WIDE, NO_GATHER) if self.x86 else ((), ()))

    def exported(self, text: str) -> str:
        """Return a text in C++ with its entry points exported, which Windows needs."""
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
    # no g++: on Windows it does not align vectors on the stack, and such code crashes
    "Windows": (
        ".dll", ("clang++",), ("-shared",),
        "LLVM with the build tools of Visual Studio",
    ),
}  # fmt: skip


def platform_of(system: str, machine: str) -> Platform:
    """Return how libraries are made on a system; one that is not known is treated as Linux.

    Parameters
    ----------
    system, machine : str
        As ``platform.system()`` and ``platform.machine()`` return them.
    """
    return Platform(*_SYSTEMS.get(system, _SYSTEMS["Linux"]), machine in ("x86_64", "AMD64"))


def this_platform() -> Platform:
    """Return how libraries are made on this machine."""
    return platform_of(platform.system(), platform.machine())


def step_loop_flags() -> tuple[str, ...]:
    """Return further flags of the step loop, which calls kernels and copies.

    More optimization makes it no faster. Headers of C++17 take half the time. Systems other than
    Linux need those of C++20 to let threads sleep.
    """
    return ("-O1", *(("-std=c++17",) if platform.system() == "Linux" else ()))
