"""Find the C++ compiler of this machine, and compile kernels to shared libraries.

The cache stores a library under a hash of its text, the compiler, the flags and the processor.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from weakref import WeakSet

from .. import settings
from ..errors import CompileError
from ..profiling.phases import phased
from ..system import end_group, instructions, start_group
from .cache import kept, refused
from .platforms import SAME_BITS, Platform, this_platform


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
        Further flags for texts in double precision; see `platforms.NO_GATHER`.
    """

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    no_gather: tuple[str, ...]


def _candidates() -> list[tuple[str, ...]]:
    given = settings.get("NEURODRIVER_CXX"), os.environ.get("CXX", "")
    out = [(text,) if shutil.which(text) else tuple(text.split()) for text in given if text]
    out += [(name,) for name in this_platform().compilers if shutil.which(name)]
    wheel = find_spec("ziglang")
    if wheel and wheel.submodule_search_locations:
        # Not `python -m ziglang`: kernels are stored by this command, and Python has several names.
        found = shutil.which("zig", path=os.pathsep.join(wheel.submodule_search_locations))
        out += [(found, "c++")] if found else []
    return out


_asking: dict[int, threading.Lock] = {}
"""Process -> its lock: one that a thread of the parent holds stays closed in a forked child."""


def find_compiler() -> Compiler:
    """Return the first compiler that works.

    The order is: the environment variables ``NEURODRIVER_CXX`` and ``CXX``, the compilers of this
    platform, the package ``ziglang``.

    Raises
    ------
    CompileError
        If none works. The message says what was tried and what to install.
    """
    with _asking.setdefault(os.getpid(), threading.Lock()):
        return _found()


@cache
def _found() -> Compiler:
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
        return _compiler(command, version, this_platform())
    found = f"; tried {', '.join(tried)}" if tried else ""
    raise CompileError(
        f'no C++ compiler found{found}. pip install "neurodriver[compiler]" brings one; or install '
        f"one of this system ({this_platform().advice}), or name one in NEURODRIVER_CXX"
    )


def _compiler(command: tuple[str, ...], version: str, platform: Platform) -> Compiler:
    """Return a compiler with those flags that it accepts."""
    with ThreadPoolExecutor() as pool:  # each asks the compiler
        ask = partial(_spelled, command, version)
        fast, native, lanes, wide, no_gather = pool.map(ask, platform.spellings)
    std, *bits = SAME_BITS
    flags = (*fast, std, *native, *platform.flags, *bits, *lanes, *wide)
    return Compiler(command, version, flags, no_gather)


TRIAL = """
#include <version>
#if __cpp_lib_atomic_wait < 201907
#error "threads cannot wait for an atomic"
#endif
int x;
"""
"""A text that every usable compiler compiles: it asks for the atomics of C++20.

To include them takes half a second.
"""


def _cached_answer(
    command: tuple[str, ...],
    version: str,
    asked: str,
    ask: Callable[[tuple[str, ...]], tuple[str, bool]],
) -> str:
    """Return the answer of a compiler to a question, from the cache or by asking.

    ``ask`` returns the answer, and whether it may be stored in the cache.
    """

    def make(path: Path) -> None:
        answer, good = ask(command)
        if not good:  # a folder may be full: it is asked again
            raise _NotStoredError(answer)
        path.write_text(answer, encoding="utf-8")

    try:
        return kept([*command, version, asked], ".txt", make).read_text(encoding="utf-8")
    except _NotStoredError as bad:
        return str(bad)


class _NotStoredError(Exception):
    """An answer that may differ next time."""


def _compiles(command: tuple[str, ...], flags: Sequence[str], text: str) -> str:
    try:
        with tempfile.TemporaryDirectory() as work:
            source, made = Path(work, "trial.cpp"), Path(work, "trial.o")
            source.write_text(text, encoding="utf-8")
            trial = [*command, *flags, "-c", str(source), "-o", str(made)]
            run = subprocess.run(trial, capture_output=True, text=True)
    except OSError as error:
        return f"no trial can be written to {tempfile.gettempdir()}: {error.strerror}"
    return "" if run.returncode == 0 else run.stderr.strip() or f"exit code {run.returncode}"


def _trouble(command: tuple[str, ...]) -> tuple[str, bool]:
    """Return why a compiler cannot compile C++20, "" if it can, and whether it can."""
    if {Path(part).stem for part in command} & {"zig", "ziglang"}:
        print("note: the first use of this compiler takes up to a minute", file=sys.stderr)
    said = _compiles(command, ["-std=c++20"], TRIAL)
    return said, not said


def _spelled(
    command: tuple[str, ...], version: str, spellings: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the first alternative of some flags that a compiler accepts, or none."""

    def first(command: tuple[str, ...]) -> tuple[str, bool]:
        for flags in spellings:
            if not _compiles(command, ["-Werror", *flags], "int x;"):
                return " ".join(flags), True
        return "", not _compiles(command, ["-Werror"], "int x;")

    if not spellings:
        return ()
    return tuple(_cached_answer(command, version, str(spellings), first).split())


Source = tuple[str, tuple[str, ...]]
"""A text, and further flags for it."""

_Key = tuple[Source, str, int]
_begun: dict[_Key, Future[Path]] = {}

_at_work: dict[subprocess.Popen[str], int] = {}
"""Compilers that run -> the process that has started them."""


def _key(source: Source) -> _Key:
    """Return what `begin` knows a text by: threads of the parent do not run in a forked child."""
    return source, settings.get("NEURODRIVER_CACHE"), os.getpid()


def begin(source: Source) -> None:
    """Begin to compile a text that `build` is going to be asked for; it says what goes wrong."""
    key = _key(source)
    begun = _begun.get(key)
    if begun is None or begun.done():  # the file may have been deleted
        made = _begun[key] = Future()
        give = partial(_give, made, source)
        thread = threading.Thread(target=give, name="neurodriver-compiler", daemon=True)
        _threads.add(thread)
        thread.start()


def _give(made: Future[Path], source: Source) -> None:
    try:
        made.set_result(_library(find_compiler(), *source))
    except BaseException as error:
        made.set_exception(error)


_threads: WeakSet[threading.Thread] = WeakSet()
"""Of `begin`. Python does not wait for them at its end, so nor for what nobody asks for."""


@atexit.register
def _end_threads() -> None:
    """End compilers whose library nobody waits for any more, and let their threads clean up."""
    end_compilers()
    for thread in list(_threads):
        thread.join(2.0)


def end_compilers() -> None:
    """End all compilers of this process; what they have written is not stored."""
    for process, parent in list(_at_work.items()):
        if parent == os.getpid():
            end_group(process)


def _built(compiler: Compiler, source: Source) -> Path:
    begun = _begun.pop(_key(source), None)
    return begun.result() if begun else _library(compiler, *source)


@phased("build kernels")
def build(sources: Sequence[Source]) -> list[ctypes.CDLL]:
    """Return a loaded library for each source; new ones are compiled in parallel.

    Raises
    ------
    CompileError
        If the compiler refuses a text; the message quotes the compiler.
    """
    compiler = find_compiler()
    longest = sorted(set(sources), key=lambda source: len(source[0]), reverse=True)
    begun = sorted(longest, key=lambda source: _key(source) not in _begun)
    with ThreadPoolExecutor(max_workers=max(os.cpu_count() or 1, 1)) as pool:
        try:
            paths = dict(zip(begun, pool.map(partial(_built, compiler), begun), strict=True))
        except KeyboardInterrupt:
            end_compilers()
            raise
    return [_loaded(paths[source]) for source in sources]


def _loaded(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        advice = "name a folder in NEURODRIVER_CACHE from which programs may run"
        raise CompileError(f"{path}: this kernel cannot be loaded ({error}); {advice}") from None


def _library(compiler: Compiler, text: str, extra: tuple[str, ...]) -> Path:
    text = this_platform().exported(text)

    def make(path: Path) -> None:
        source = path.with_suffix(".cpp")
        source.write_text(text, encoding="utf-8")
        command = [*compiler.command, *compiler.flags, *extra, str(source), "-o", str(path)]
        with start_group(command) as run:
            _at_work[run] = os.getpid()
            said = run.communicate()[1]
            del _at_work[run]
        if run.returncode and os.strerror(errno.ENOSPC) in said:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if run.returncode:
            raise refused(compiler.command[0], text, said, " ".join(command))

    parts = [text, *compiler.command, compiler.version, *compiler.flags, *extra, instructions()]
    return kept(parts, this_platform().suffix, make)
