"""Run compiled code under the compiler's sanitizers, and print what they report.

    scripts/sanitize                  a selection of the zoo, in minutes
    scripts/sanitize --all            the whole zoo, in hours
    scripts/sanitize plasticity own   the cases with one of these words in their names
    scripts/sanitize --only thread    one of the sanitizers
    scripts/sanitize --dtype float32  one of the two types
    scripts/sanitize --program FILE   another program that uses the package

The step loop and all kernels are compiled with g++ for the address and the undefined-behaviour
sanitizer (``memory``), and again for the thread sanitizer (``thread``). They have a cache of their
own. Arrays of the package end at their last value for the address sanitizer, although more memory
belongs to them. The status is 1 where something is reported, or where a run fails.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

SELECTED = (
    "declared model, no plans", "own TemplateNeuron, TemplateSynapse", "own RawNeuron, RawSynapse",
    "plasticity", "gap junctions", "photoreceptors and buffers", "two LPUs, ports, later",
    "weights in common", "projections of graded values", "drawn delays", "in pieces",
    "input of spikes", "large, few spikes", "optic lobe",
)  # fmt: skip
"""Cases that use most of what kernels are made of."""

COMPILER = "g++-watched"
"""Name of the program that compiles for a sanitizer."""

THREADS = 3
"""Threads of each run: shares of odd sizes, and one thread that waits."""


@dataclass(frozen=True)
class Sanitizer:
    """One way to compile and to run.

    Attributes
    ----------
    flags : tuple of str
        Of the compiler.
    library : str
        Is loaded before Python.
    options : dict of str
        Variable of the environment -> options; reports go to files.
    launcher : tuple of str
        What starts Python.
    """

    flags: tuple[str, ...]
    library: str
    options: dict[str, str]
    launcher: tuple[str, ...] = ()


SANITIZERS = {
    "memory": Sanitizer(
        ("-fsanitize=address,undefined", "-fsanitize-recover=address,undefined"),
        "libasan.so",
        {"ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0:halt_on_error=0:exitcode=0",
         "UBSAN_OPTIONS": "print_stacktrace=1:color=never", "PYTHONMALLOC": "malloc"},
    ),
    # Its memory map allows no random addresses.
    "thread": Sanitizer(
        ("-fsanitize=thread", "-Wno-tsan"),
        "libtsan.so",
        {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1:report_signal_unsafe=0"
         ":die_after_fork=0"},
        ("setarch", "-R"),
    ),
}  # fmt: skip


def found_library(name: str) -> str:
    """Return the path of a library of g++, or nothing where there is none."""
    if not shutil.which("g++"):
        return ""
    command = ["g++", f"-print-file-name={name}"]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return path if os.path.isabs(path) else ""


def environment(one: Sanitizer, cache: Path, logs: Path) -> dict[str, str]:
    """Return the environment of a run under a sanitizer."""
    out = dict(os.environ)
    for name, options in one.options.items():
        log = f":log_path={logs / name}" if name.endswith("_OPTIONS") else ""
        out[name] = options + log
    out["LD_PRELOAD"] = found_library(one.library)
    out["NEURODRIVER_CACHE"] = str(cache)
    # the compiler itself runs as it is
    out["NEURODRIVER_CXX"] = f"env -u LD_PRELOAD {_compiler(one, cache)}"
    out["OPENBLAS_NUM_THREADS"] = "1"
    out["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), *filter(None, [out.get("PYTHONPATH")])])
    return out


def _compiler(one: Sanitizer, cache: Path) -> Path:
    """Return a program that compiles with the flags of a sanitizer.

    The last level of optimization counts. The address sanitizer takes three times as long to
    compile a kernel with ``-O2`` as with ``-O1``.
    """
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = cache.resolve() / COMPILER
    flags = " ".join(["-g1", *one.flags, "-O1"])
    path.write_text(f'#!/bin/sh\nexec g++ "$@" {flags}\n', encoding="utf-8")
    path.chmod(0o700)
    return path


_BEGIN = re.compile(r"==\d+==ERROR: |WARNING: ThreadSanitizer|^\S+: runtime error: ", re.MULTILINE)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


def reports(logs: Path) -> Iterator[str]:
    """Yield the reports in the files of a folder."""
    for path in sorted(logs.iterdir()):
        text = path.read_text(errors="replace")
        begins = [match.start() for match in _BEGIN.finditer(text)]
        for begin, end in pairwise([*begins, len(text)]):
            yield text[begin:end].strip().strip("=\n")


def kind_of(report: str) -> str:
    """Return what two reports of one fault have in common."""
    summary = re.search(r"^SUMMARY: (.*)", report, re.MULTILINE)
    return _NUMBERS.sub("#", summary.group(1) if summary else report.splitlines()[0])


def run(name: str, program: list[str], shown: int) -> int:
    """Run a program of Python under a sanitizer; print each fault once, return 1 where any is."""
    one = SANITIZERS[name]
    if not found_library(one.library):
        sys.exit(f"g++ has no {one.library}; install the sanitizers of g++")
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        here = [*one.launcher, sys.executable, str(Path(__file__).resolve()), "--within", *program]
        cache = Path(os.environ.get("NEURODRIVER_SANITIZE_CACHE", "~/.cache/neurodriver-sanitize"))
        given = environment(one, cache.expanduser() / name, logs)
        with open(logs / "stderr", "wb") as errors:  # some of the reports go there
            done = subprocess.run(here, env=given, stderr=errors)
        every = list(reports(logs))
        if done.returncode:
            print((logs / "stderr").read_text(errors="replace")[-4000:], file=sys.stderr)
    first = {kind_of(text): text for text in reversed(every)}
    count = Counter(map(kind_of, every))
    for kind, times in count.most_common():
        print(f"--- {kind} ({times} times)", *first[kind].splitlines()[:shown], sep="\n")
    print(f"{name}: {len(count)} faults, {len(every)} reports, exit code {done.returncode}")
    return int(bool(every or done.returncode))


# -- within a run ---------------------------------------------------------------------------------


def within(program: list[str]) -> None:
    """Run a program of Python in this process, which is watched."""
    _end_arrays()
    from neurodriver.native.compiler import find_compiler

    if Path(find_compiler().command[-1]).name != COMPILER:
        sys.exit("the compiler with the flags of the sanitizer does not work, so nothing is seen")
    sys.argv = program
    sys.path.insert(0, str(Path(program[0]).parent))
    runpy.run_path(program[0], run_name="__main__")


def _end_arrays() -> None:
    """Let arrays of the package end at their last value, if the address sanitizer watches."""
    import neurodriver  # noqa: F401
    from neurodriver.native import buffers

    try:
        poison = ctypes.CDLL(None).__asan_poison_memory_region
    except AttributeError:
        return
    poison.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    plain = buffers.aligned

    def aligned(size: int, dtype: Any) -> Any:
        out = plain(size, dtype)
        raw: Any = out
        while raw.base is not None:
            raw = raw.base
        begin, end = out.ctypes.data, out.ctypes.data + out.nbytes
        poison(raw.ctypes.data, begin - raw.ctypes.data)
        poison(end, raw.ctypes.data + raw.nbytes - end)
        return out

    for module in list(sys.modules.values()):
        if getattr(module, "aligned", None) is plain:
            vars(module)["aligned"] = aligned


def main() -> int:
    if sys.argv[1:2] == ["--within"]:
        within(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only the cases with one of these in their name")
    parser.add_argument("--all", action="store_true", help="all cases of the zoo")
    parser.add_argument("--only", choices=SANITIZERS, help="one of the sanitizers")
    parser.add_argument("--dtype", choices=("float64", "float32"), help="one type alone")
    parser.add_argument("--program", type=Path, metavar="FILE", help="run this, not the zoo")
    parser.add_argument("--lines", type=int, default=30, help="lines of a report that are shown")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        digests = ["-v", "--threads", str(THREADS), "-o", str(Path(folder, "digests.json"))]
        digests += ["--dtype", given.dtype] if given.dtype else []
        words = [] if given.all else given.words or list(SELECTED)
        zoo = [str(HERE / "digests.py"), *words, *digests]
        program = [str(given.program)] if given.program else zoo
        names = [given.only] if given.only else list(SANITIZERS)
        return max([run(name, program, given.lines) for name in names])


if __name__ == "__main__":
    sys.exit(main())
