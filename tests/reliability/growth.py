"""What grows where an LPU runs for long, or where many LPUs come and go.

    python tests/reliability/growth.py steps 1000000
    python tests/reliability/growth.py lpus 10000

The first opens one LPU, which records into a file, and runs it a thousand steps at a time. The
second opens and closes one LPU after the other, each with an input of noise, another seed, and a
file that is recorded. Both print what the process holds as they go, and end
with status 1 where it holds more at the end than after the first third.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import astuple, dataclass, fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from seeds import circuit

import neurodriver as nd

DT = 1e-4
CALL = 1000
"""Steps of a call."""
LOOKS = 5
"""Times that threads are counted, each 10 ms after the one before; the least number counts."""

MORE = 4 << 20
"""Bytes by which the resident memory may differ: pages that the allocator keeps."""


@dataclass(frozen=True)
class Holds:
    """What a process holds.

    Attributes
    ----------
    memory : int
        Bytes that are resident.
    descriptors, threads, files : int
        ``files`` are those in the folder of temporary files and in the folder of shared memory.
    """

    memory: int
    descriptors: int
    threads: int
    files: int


def _tasks() -> int:
    """Return the threads of this process; one that was joined may be listed a moment longer."""
    found = []
    for _ in range(LOOKS):
        found.append(len(os.listdir("/proc/self/task")))
        time.sleep(0.01)
    return min(found)


def held(folder: Path) -> Holds:
    """Return what this process holds; its temporary files lie in ``folder``."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    maps = Path("/proc/self/maps").read_text().count("/dev/shm")
    return Holds(
        pages * os.sysconf("SC_PAGE_SIZE"),
        len(os.listdir("/proc/self/fd")),
        max(threading.active_count(), _tasks()),
        sum(1 for _ in folder.rglob("*")) + maps,
    )


def many_steps(steps: int, folder: Path) -> list[Holds]:
    """Run one LPU for so many steps, in many calls; return what was held after each tenth."""
    out = []
    path = folder / "long.h5"
    one = nd.HDF5Recorder(path, [("spike_state", None), ("V", ["a"])])
    with nd.LPU(circuit(), DT, [nd.StepInput("I", ["a"], 500.0)], [one]) as lpu:
        lpu.start(steps)
        while lpu.step < steps:
            lpu.advance(min(CALL, steps - lpu.step))
            if lpu.step % max(steps // 10, CALL) == 0:
                out.append(held(folder))
        lpu.finish()
    return out


def many_lpus(count: int, folder: Path) -> list[Holds]:
    """Open and close so many LPUs; return what was held after each tenth."""
    out = []
    for number in range(count):
        path = folder / "one.h5"
        one = nd.HDF5Recorder(path, [("V", None)], overwrite=True)
        noise = nd.NoiseInput("I", ["a"], 100.0)
        with nd.LPU(circuit(), DT, [noise], [one], seed=number) as lpu:
            lpu.run(20)
        if (number + 1) % max(count // 10, 1) == 0:
            out.append(held(folder))
    return out


def grown(held: list[Holds]) -> list[str]:
    """Return what the last measurement has more of than that after the first third."""
    early, late = held[len(held) // 3], held[-1]
    out = []
    for field, before, after in zip(fields(Holds), astuple(early), astuple(late), strict=True):
        if after - before > (MORE if field.name == "memory" else 0):
            out.append(f"{field.name}: {before} -> {after}")
    return out


KINDS = {"steps": many_steps, "lpus": many_lpus}


def main() -> int:
    kind, count = sys.argv[1], int(sys.argv[2])
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        found = KINDS[kind](count, Path(folder))
    for one in found:
        print(one)
    print(*grown(found) or [f"{count} {kind}: nothing has grown"], sep="\n")
    return int(bool(grown(found)))


if __name__ == "__main__":
    sys.exit(main())
