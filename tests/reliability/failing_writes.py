"""Let each call that changes a file fail in turn, in a child each.

LD_PRELOAD=failing.so python failing_writes.py FOLDER [ERRNO ...]

Prints a line for each run that does not end as it may, and how many runs there were.
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
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import seeds  # noqa: E402

import neurodriver as nd  # noqa: E402
from neurodriver.__main__ import main  # noqa: E402

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
        elif path.suffix in (".h5", ".gexf"):
            nd.Circuit.from_file(path)
    return ""


def run(folder: Path) -> int:
    """Record a short run, with a checkpoint."""
    given = [str(GOOD["gexf"]), "--dt", "1e-4", "--duration", "0.02", "-o", str(folder / "run.h5")]
    return main(["run", *given])


def convert(folder: Path) -> int:
    """Write circuits."""
    codes = [main(["convert", str(GOOD["rules"]), str(folder / "a.h5")])]
    codes.append(
        main(["convert", str(GOOD["gexf"]), str(folder / "b.gexf")]) if not codes[0] else 0
    )
    return max(codes)


GOOD: dict[str, Path] = {}

if __name__ == "__main__":
    place = Path(sys.argv[1])
    (place / "good").mkdir(parents=True)
    GOOD.update(seeds.make(place / "good"))
    runs, bad = 0, []
    for work in (run, convert):
        for error in [getattr(errno, name) for name in sys.argv[2:]] or ERRORS:
            for ever in (False, True):
                for call in range(400):
                    end = attempt(work, place / "work", call, error, ever)
                    if end == "done":
                        break
                    runs += 1
                    if end:
                        name = f"{work.__name__}, call {call}, {errno.errorcode[error]}, {ever}"
                        bad.append(f"{name}: {end}")
    print(*bad, sep="\n")
    print(f"{runs} runs, {len(bad)} at fault")
    sys.exit(1 if bad else 0)
