"""Run compiled code under the compiler's sanitizers, and print what they report.

    scripts/sanitize                  a selection of the zoo, in minutes
    scripts/sanitize --all            the whole zoo, in hours
    scripts/sanitize plasticity own   the cases with one of these words in their names
    scripts/sanitize --only thread    one of the sanitizers
    scripts/sanitize --dtype float32  one of the two types
    scripts/sanitize --gpu            the tools of compute-sanitizer, on a GPU
    scripts/sanitize --jobs 8         processes that share the cases
    scripts/sanitize --program FILE [ARGUMENT ...]    another program that uses the package

The step loop and all kernels are compiled with g++ for the address and the undefined-behaviour
sanitizer (``memory``), and again for the thread sanitizer (``thread``). They have a cache of their
own. Arrays of the package end at their last value for the address sanitizer, although more memory
belongs to them. On a GPU each array is an allocation of its own, which ends there, too. The status
is 1 where something is reported, or where a run fails.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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

EXECUTORS = "resident", "stepwise"
"""On a GPU each case runs with both."""

BARRIER = "nd_block_barrier() { __syncthreads(); }"
UNALIGNED = 'nd_block_barrier() { asm volatile("barrier.sync 0;" ::: "memory"); }'
"""The barrier of a block, and the instruction whose warps may come from different places."""

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
        What starts Python; ``{logs}`` stands for the folder of reports.
    gpu : bool
        Whether it watches a GPU, so that flags and library are empty.
    """

    flags: tuple[str, ...] = ()
    library: str = ""
    options: dict[str, str] = field(default_factory=dict)
    launcher: tuple[str, ...] = ()
    gpu: bool = False


def _on_gpu(tool: str) -> Sanitizer:
    """Return a tool of compute-sanitizer; NVIDIA's documentation describes its options."""
    words = ("--tool", tool, "--show-backtrace", "no", "--launch-timeout", "100")
    words += ("--report-api-errors", "no")  # of functions that the driver is asked for in vain
    log = "--log-file", f"{{logs}}/{tool}.%p"
    return Sanitizer(launcher=("compute-sanitizer", *words, *log), gpu=True)


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
    "memcheck": _on_gpu("memcheck"),
    "racecheck": _on_gpu("racecheck"),
    "initcheck": _on_gpu("initcheck"),
    "synccheck": _on_gpu("synccheck"),
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
    if not one.gpu:
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


_BEGIN = re.compile(
    r"==\d+==ERROR: |WARNING: ThreadSanitizer|^\S+: runtime error: "
    r"|^========= (?=\S)(?!COMPUTE-SANITIZER|\w+ SUMMARY:)",
    re.MULTILINE,
)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")
_SUMMARY = re.compile(r"^SUMMARY: (.*)|^=========     at (.*)", re.MULTILINE)


def reports(logs: Path) -> Iterator[str]:
    """Yield the reports in the files of a folder."""
    for path in sorted(logs.iterdir()):
        text = path.read_text(errors="replace")
        begins = [match.start() for match in _BEGIN.finditer(text)]
        for begin, end in pairwise([*begins, len(text)]):
            yield text[begin:end].strip().strip("=\n ")


def kind_of(report: str) -> str:
    """Return what two reports of one fault have in common."""
    found = _SUMMARY.search(report)
    if found and found.group(2):  # of compute-sanitizer: what it is, and in which function
        said = f"{report.splitlines()[0]}, at {found.group(2)}"
    else:
        said = found.group(1) if found else report.splitlines()[0]
    return _NUMBERS.sub("#", said)


def run(name: str, programs: list[list[str]], shown: int, seconds: float | None) -> int:
    """Run programs of Python under a sanitizer, all at once.

    Each fault is printed once. Returns 1 where there is any, or where a program fails or is not
    done after ``seconds``.
    """
    one = SANITIZERS[name]
    _check_installed(one)
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        cache = Path(os.environ.get("NEURODRIVER_SANITIZE_CACHE", "~/.cache/neurodriver-sanitize"))
        given = environment(one, cache.expanduser() / name, logs)
        here = [*(word.format(logs=logs) for word in one.launcher), sys.executable, __file__]
        begun = []
        for number, program in enumerate(programs):
            errors = logs / f"stderr.{number}"  # some of the reports go there
            command = [*here, "--within", name, *program]
            with open(errors, "wb") as file:
                begun.append(subprocess.Popen(command, env=given, stderr=file, process_group=0))
        codes = _ended(begun, seconds)
        every = list(reports(logs))
        for number, code in enumerate(codes):
            if code:
                said = (logs / f"stderr.{number}").read_text(errors="replace")
                print(f"exit code {code}:\n{said[-4000:]}", file=sys.stderr)
    first = {kind_of(text): text for text in reversed(every)}
    count = Counter(map(kind_of, every))
    for kind, times in count.most_common():
        print(f"--- {kind} ({times} times)", *first[kind].splitlines()[:shown], sep="\n")
    failed = sum(map(bool, codes))
    ends = f"{failed} of {len(codes)} processes failed" if failed else "exit code 0"
    print(f"{name}: {len(count)} faults, {len(every)} reports, {ends}", flush=True)
    return int(bool(every or failed))


def _check_installed(one: Sanitizer) -> None:
    """End this program where a sanitizer is not installed."""
    if one.library and not found_library(one.library):
        sys.exit(f"g++ has no {one.library}; install the sanitizers of g++")
    if one.gpu and not shutil.which(one.launcher[0]):
        sys.exit(f"there is no {one.launcher[0]} in PATH; it is part of the CUDA toolkit")


def _ended(begun: list[subprocess.Popen[bytes]], seconds: float | None) -> list[int]:
    """Return the exit codes of programs; those that run for too long are ended."""
    end = None if seconds is None else time.monotonic() + seconds
    try:
        for one in begun:
            with suppress(subprocess.TimeoutExpired):
                one.wait(None if end is None else max(end - time.monotonic(), 0.0))
    finally:  # also after Ctrl-C
        for one in begun:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
    return [one.wait() for one in begun]


# -- within a run ---------------------------------------------------------------------------------


def within(name: str, program: list[str]) -> None:
    """Run a program of Python in this process, which is watched."""
    if SANITIZERS[name].gpu:
        _end_device_arrays()
        _fill_gaps()
        _count_at_barriers()
    else:
        _end_arrays()
        _check_compiler()
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


def _check_compiler() -> None:
    """End this program where its kernels are not watched."""
    from neurodriver.native.compiler import find_compiler

    if Path(find_compiler().command[-1]).name != COMPILER:
        sys.exit("the compiler with the flags of the sanitizer does not work, so nothing is seen")


def _end_device_arrays() -> None:
    """Let each array on a GPU be an allocation of its own that ends with its last value.

    Kernels load vectors of 16 bytes, of which they ignore what lies behind the last value.
    """
    from neurodriver.backends.cuda import device

    def allocate(self: Any, on: device.Device, wanted: dict[Any, int]) -> None:
        sizes = {what: max(n, 1) + -max(n, 1) % 16 for what, n in wanted.items()}
        self.pieces = {what: on.allocate(n) for what, n in sizes.items()}
        self.address = {what: int(piece) for what, piece in self.pieces.items()}
        for what, n in sizes.items():
            on.clear(self.address[what], n)

    def free(self: Any) -> None:
        for piece in self.pieces.values():
            piece.free()

    vars(device)["Pool"].__init__, vars(device)["Pool"].free = allocate, free


def _fill_gaps() -> None:
    """Clear the bytes between the pieces of what a GPU has recorded: they are copied with it."""
    from neurodriver.backends.cuda import transfers

    plain = transfers.ChunkRecords.room

    def room(self: Any, sizes: Sequence[int]) -> list[int]:
        places = plain(self, sizes)
        for begin, size in zip(places, sizes, strict=True):
            self._device.clear(begin + size, -size % transfers.ALIGNMENT)
        return places

    vars(transfers)["ChunkRecords"].room = room


def _count_at_barriers() -> None:
    """Compile the barrier of a block as one that counts threads, wherever they come from.

    synccheck wants all threads of a block at one ``__syncthreads``, which a GPU does not: it
    counts warps. The other instruction takes more time.
    """
    from neurodriver.backends.cuda import compiler

    found = compiler.find_compiler()

    def compile_text(text: str, arch: str, flags: Sequence[str]) -> tuple[bytes, str]:
        return found.compile(text.replace(BARRIER, UNALIGNED), arch, flags)

    watched = compiler.CudaCompiler(found.name, f"{found.version}, watched", compile_text)
    vars(compiler)["find_compiler"] = lambda: watched


def programs(given: argparse.Namespace, name: str, folder: str) -> list[list[str]]:
    """Return the programs that run at once under a sanitizer, with their arguments."""
    if given.program:
        return [[str(given.program), *given.words]]
    words = [] if given.all else given.words or list(SELECTED)
    gpu = SANITIZERS[name].gpu
    out = []
    for where in EXECUTORS if gpu else ("",):
        for number in range(given.jobs):
            path = Path(folder, f"digests{where}{number}.json")
            one = [str(HERE / "digests.py"), *words, "-v", "-o", str(path)]
            one += ["--share", str(number), str(given.jobs)]
            one += ["--dtype", given.dtype] if given.dtype else []
            on = ["--backend", "cuda", "--executor", where] if gpu else ["--threads", str(THREADS)]
            out.append(one + on)
    return out


def main() -> int:
    if sys.argv[1:2] == ["--within"]:
        within(sys.argv[2], sys.argv[3:])
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only the cases with one of these in their name")
    parser.add_argument("--all", action="store_true", help="all cases of the zoo")
    parser.add_argument("--only", choices=SANITIZERS, help="one of the sanitizers")
    parser.add_argument("--dtype", choices=("float64", "float32"), help="one type alone")
    parser.add_argument("--gpu", action="store_true", help="all tools for a GPU")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the cases")
    parser.add_argument("--seconds", type=float, help="end processes that run for longer")
    parser.add_argument("--program", type=Path, metavar="FILE",
                        help="run this, not the zoo; the words are its arguments")  # fmt: skip
    parser.add_argument("--lines", type=int, default=30, help="lines of a report that are shown")
    given = parser.parse_args()
    names = [one for one, what in SANITIZERS.items() if what.gpu == given.gpu]
    with tempfile.TemporaryDirectory() as folder:
        return max(
            run(name, programs(given, name, folder), given.lines, given.seconds)
            for name in ([given.only] if given.only else names)
        )


if __name__ == "__main__":
    sys.exit(main())
