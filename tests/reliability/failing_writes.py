"""Let each call that changes a file fail in turn, in a child each.

LD_PRELOAD=failing.so python failing_writes.py FOLDER STRIDE [ERRNO ...]

Of the calls of each work every STRIDEth one fails. Prints a line for each run that does not end as
it may, and how many runs there were.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import seeds  # noqa: E402

import neurodriver as nd  # noqa: E402
from neurodriver.__main__ import main  # noqa: E402
from neurodriver.compat.array_inputs import ArrayInputProcessor, FileInputProcessor  # noqa: E402
from neurodriver.compat.simpleio import write_array  # noqa: E402
from neurodriver.errors import NeurodriverError  # noqa: E402
from neurodriver.results.joint import write_master  # noqa: E402
from neurodriver.state.checkpoint import Checkpoint  # noqa: E402

LIBRARY = ctypes.CDLL(None)
ERRORS = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT)


def attempt(work: Callable[[Path], int], folder: Path, call: int, error: int, ever: bool) -> str:
    """Do some work in a child, with one call failing; return what is wrong, or how it ended."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        said = io.StringIO()
        LIBRARY.nd_fail(str(folder).encode(), call, error, int(ever))
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            try:
                code = work(folder)
            except BaseException as failure:
                said.write(f"Traceback: {type(failure).__name__}: {failure}")
                code = 3
        hit = LIBRARY.nd_calls() > call
        os.write(write, f"{int(hit)} {said.getvalue()[-3000:]}".encode())
        os._exit(code)
    os.close(write)
    with open(read, "rb") as pipe:
        hit, _, told = pipe.read().decode(errors="replace").partition(" ")
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if hit == "0":
        return "done"
    if code < 0 or hit != "1":
        return f"crash ({code}): {told}"
    if "Traceback" in told or code not in (0, 1):
        return f"traceback: {told}"
    if code == 1 and told.count("error:") != 1:
        return f"vague: {told}"
    return unreadable(folder)


def unreadable(folder: Path) -> str:
    """Return what is wrong with the files that are there; temporary ones may not be there."""
    for path in sorted(folder.rglob("*")):
        if path.name.startswith(".") and path.is_file() and ".resized" not in path.name:
            return f"left behind: {path.name}"
        if path.suffix == ".h5" and path.name == "run.h5":
            with nd.open(path) as recording:
                for name in recording:
                    recording.is_events(name) or recording[name][:]
        elif path.name.endswith(".checkpoint.h5"):
            Checkpoint(path)
        elif path.parent.name == "points":
            nd.open_sweep(path.parent.parent)
        elif path.name in ("all.h5", "array.h5", "input.h5", "own.h5"):
            h5py.File(path, "r").close()
        elif path.parent.name == "sonata" or path.parent.name == "c":
            path.suffix == ".h5" and h5py.File(path, "r").close()
        elif path.suffix in (".h5", ".gexf") or path.name == "c.json":
            nd.Circuit.from_file(path)
    return ""


def run(folder: Path) -> int:
    """Record a short run."""
    given = [str(GOOD["gexf"]), "--dt", "1e-4", "--duration", "0.02", "-o", str(folder / "run.h5")]
    return main(["run", *given])


def save(folder: Path) -> int:
    """Save a checkpoint at the end of a run that records elsewhere, and go on from it."""
    circuit = nd.Circuit.from_file(GOOD["gexf"])
    saved = folder / "run.checkpoint.h5"
    with nd.LPU(circuit, 1e-4) as lpu:
        for _ in range(2):  # the second one replaces the first
            lpu.run(5)
            try:
                lpu.save(saved)
            except NeurodriverError as error:
                print(f"error: {error}", file=sys.stderr)
                return 1
    return 0


def sweep(folder: Path) -> int:
    """Store the points of a sweep."""
    try:
        with ThreadPoolExecutor(1) as one:
            nd.sweep(_doubled, {"x": [1.0, 2.0]}, path=folder / "sweep", executor=one)
    except NeurodriverError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _doubled(x: float) -> dict[str, float]:
    return {"y": 2 * x}


def convert(folder: Path) -> int:
    """Write circuits, as HDF5, GEXF and SONATA."""
    for kind, name in {"rules": "a.h5", "gexf": "b.gexf", "circuit": "c.json"}.items():
        if main(["convert", str(GOOD[kind]), str(folder / name)]):
            return 1
    return 0


def export(folder: Path) -> int:
    """Write a recording as SONATA, arrays of old scripts, and the file that links recordings."""
    cells, good = nd.Circuit.from_file(GOOD["circuit"]), GOOD["recording"]
    try:
        with nd.open(good) as recording:
            recording.to_sonata(folder / "sonata", circuit=cells)
            write_master(folder / "all.h5", {"lpu": good}, {"dt": 1e-4})
        write_array(np.ones((3, 2)), folder / "array.h5")
        old = ArrayInputProcessor({"I": {"uids": ["a"], "data": np.ones((3, 1))}})
        old.to_file(folder / "input.h5")
        FileInputProcessor(folder / "own.h5", "w").add_input("I", ["a"], np.ones((3, 1)))
    except NeurodriverError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


GOOD: dict[str, Path] = {}
WORKS = (run, save, sweep, convert, export)

if __name__ == "__main__":
    place = Path(sys.argv[1])
    (place / "good").mkdir(parents=True)
    GOOD.update(seeds.make(place / "good"))
    runs, bad = 0, []
    stride, names = int(sys.argv[2]), sys.argv[3:]
    for work in WORKS:
        begun = runs
        for error in [getattr(errno, name) for name in names] or ERRORS:
            for ever in (False, True):
                for call in range(0, 4000, stride):
                    end = attempt(work, place / "work", call, error, ever)
                    if end == "done":
                        break
                    runs += 1
                    if end:
                        name = f"{work.__name__}, call {call}, {errno.errorcode[error]}, {ever}"
                        bad.append(f"{name}: {end}")
        print(f"{work.__name__}: {runs - begun} runs", flush=True)
    print(*bad, sep="\n")
    print(f"{runs} runs, {len(bad)} at fault")
    sys.exit(1 if bad else 0)
