"""Host C++ compiler -> shared libraries, cached by the hash of all that goes in."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .. import settings
from ..errors import CompileError
from ..profiling.phases import phased
from .cache import kept, refused

FLAGS = (
    "-std=c++20", "-march=native", "-fPIC", "-shared", "-pthread",
    # the same bits in every lane and on every machine: no contraction, no reordering
    "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd",
)  # fmt: skip
WIDE = "-mprefer-vector-width=512"
"""Uses whole AVX-512 vectors where the processor has them."""

OPTIMIZED = (
    ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops", "-funswitch-loops",
     "-fsplit-paths", "-fpredictive-commoning", "-fgcse-after-reload", "-ftree-partial-pre",
     "-fipa-cp-clone"),
    ("-O3",),
)  # fmt: skip
"""Spellings of: as fast as can be. g++ compiles a kernel in 0.8 s by the first one, in 1.4 s with
``-O3``, which unrolls every loop of known length; the kernels are equally fast."""

NO_GATHER = (
    ("-mno-gather",),
    ("-mtune-ctrl=^use_gather,^use_gather_2parts,^use_gather_4parts",),
)
"""Spellings of: load the elements of a vector one by one. On processors whose gather instruction
is slowed by its security fix this halves the time of a double-precision indexed read; in single
precision the instruction still wins."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler that was found and tried.

    Attributes
    ----------
    command : tuple of str
    version : str
        First line of its ``--version``.
    flags : tuple of str
    no_gather : tuple of str
        Flags for texts in double precision.
    """

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    no_gather: tuple[str, ...]


def _candidates() -> list[tuple[str, ...]]:
    given = settings.get("NEURODRIVER_CXX"), os.environ.get("CXX", "")
    out = [tuple(words.split()) for words in given if words]
    out += [(name,) for name in ("g++", "clang++", "c++") if shutil.which(name)]
    if find_spec("ziglang"):
        out.append((sys.executable, "-m", "ziglang", "c++"))
    return out


@cache
def find_compiler() -> Compiler:
    """Return the first compiler that works.

    ``NEURODRIVER_CXX``, ``CXX``, then g++, clang++, c++, then the ``ziglang`` wheel.

    Raises
    ------
    CompileError
        When there is none, with what to install.
    """
    tried = []
    for command in _candidates():
        try:
            run = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, timeout=60, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            tried.append(f"{' '.join(command)} ({error})")
            continue
        version = run.stdout.splitlines()[0] if run.stdout else "unknown"
        trouble = _cached_answer(command, version, TRIAL, _trouble)
        if trouble:
            tried.append(f"{' '.join(command)} (cannot compile C++20: {trouble:.200})")
            continue
        flags = *_spelled(command, version, OPTIMIZED), *FLAGS
        if platform.machine() not in ("x86_64", "AMD64"):
            return Compiler(command, version, flags, ())
        return Compiler(command, version, (*flags, WIDE), _spelled(command, version, NO_GATHER))
    found = f"; tried {', '.join(tried)}" if tried else ""
    raise CompileError(
        f"no C++ compiler found{found}. Install one (Debian: apt install g++), or "
        f"`pip install ziglang`, or name one in NEURODRIVER_CXX"
    )


TRIAL = """
#include <atomic>
#include <thread>
int main() { std::atomic<unsigned> a{0}; std::thread t([&] { a = 1; a.notify_all(); });
             a.wait(0); t.join(); }
"""
"""What a compiler must be able to compile."""


def _cached_answer(
    command: tuple[str, ...],
    version: str,
    asked: str,
    ask: Callable[[tuple[str, ...]], tuple[str, bool]],
) -> str:
    """Return the answer of a compiler to a question; only good answers are stored in the cache."""

    def make(path: Path) -> None:
        answer, good = ask(command)
        if not good:  # a folder may be full: it is asked again
            raise _NotStoredError(answer)
        path.write_text(answer)

    try:
        return kept([*command, version, asked], ".txt", make).read_text()
    except _NotStoredError as bad:
        return str(bad)


class _NotStoredError(Exception):
    """An answer that may differ next time."""


def _compiles(command: tuple[str, ...], flags: Sequence[str], text: str) -> str:
    try:
        with tempfile.TemporaryDirectory() as work:
            source, made = Path(work, "trial.cpp"), Path(work, "trial.o")
            source.write_text(text)
            trial = [*command, *flags, "-c", str(source), "-o", str(made)]
            run = subprocess.run(trial, capture_output=True, text=True)
    except OSError as error:
        return f"no trial can be written to {tempfile.gettempdir()}: {error.strerror}"
    return "" if run.returncode == 0 else run.stderr.strip() or f"exit code {run.returncode}"


def _trouble(command: tuple[str, ...]) -> tuple[str, bool]:
    """Return why a compiler is of no use, or nothing, and whether it is of use."""
    said = _compiles(command, ["-std=c++20"], TRIAL)
    return said, not said


def _spelled(
    command: tuple[str, ...], version: str, spellings: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the first of some spellings of flags that a compiler takes, or none."""

    def first(command: tuple[str, ...]) -> tuple[str, bool]:
        for flags in spellings:
            if not _compiles(command, ["-Werror", *flags], "int x;"):
                return " ".join(flags), True
        return "", not _compiles(command, ["-Werror"], "int x;")

    return tuple(_cached_answer(command, version, str(spellings), first).split())


@cache
def _processor() -> str:
    """Return what distinguishes this processor's instruction set."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() + platform.machine()
    lines = [x for x in text.splitlines() if x.startswith(("flags", "Features", "model name"))]
    return "\n".join(sorted(set(lines)))


@phased("build kernels")
def build(sources: Sequence[tuple[str, tuple[str, ...]]]) -> list[ctypes.CDLL]:
    """Return a loaded library for each (text, extra flags), built side by side where needed.

    Raises
    ------
    CompileError
        With the compiler's own words when it refuses a text.
    """
    compiler = find_compiler()
    with ThreadPoolExecutor(max_workers=max(os.cpu_count() or 1, 1)) as pool:
        paths = list(pool.map(lambda s: _library(compiler, *s), sources))
    return [_loaded(path) for path in paths]


def _loaded(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        advice = "name a folder in NEURODRIVER_CACHE from which programs may run"
        raise CompileError(f"{path}: this kernel cannot be loaded ({error}); {advice}") from None


def _library(compiler: Compiler, text: str, extra: tuple[str, ...]) -> Path:
    def make(path: Path) -> None:
        source = path.with_suffix(".cpp")
        source.write_text(text, encoding="utf-8")
        command = [*compiler.command, *compiler.flags, *extra, str(source), "-o", str(path)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode and os.strerror(errno.ENOSPC) in run.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if run.returncode:
            raise refused(compiler.command[0], text, run.stderr, " ".join(command))

    parts = [text, *compiler.command, compiler.version, *compiler.flags, *extra, _processor()]
    return kept(parts, ".so", make)
