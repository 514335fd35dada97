"""A job of three ranks in which something goes wrong: ``faulty_job.py KIND FOLDER REPEATS SEED``.

``a`` and ``b`` send each other spikes, ``c`` is connected to nobody, ``m`` is a Module that looks
at ``a``. Each rank writes a line of JSON for each run, and one when its script ends, into a file of
its own, as ``mpiexec`` may cut the output of ranks within lines when it joins them.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from stepping import Echo, wire
from support import DT, between_ports

from neurodriver import LPU, Manager, StepInput
from neurodriver.errors import LPUExecutionError
from neurodriver.inputs import UserInput
from neurodriver.mpi import world
from neurodriver.recorders import Block, HDF5Recorder

RANK = {"a": 0, "b": 1, "c": 2, "m": 1}
KIND, FOLDER, REPEATS, SEED = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
WITHIN = (
    "input",
    "exit_within",
    "two",
    "unconnected",
    "slow_peer",
    "slow_steps",
    "stopped",
    "loop",
)
CULPRITS = {"two": "ab", "unconnected": "c", "slow_peer": "b"}.get(KIND, "a")


def say(**told: Any) -> None:
    """Write a line; it stays when the process is killed."""
    rank = world().rank
    line = json.dumps({"rank": rank, "time": time.time(), **told}) + "\n"
    with open(FOLDER / f"said_{rank}.jsonl", "ab", buffering=0) as file:
        file.write(line.encode())


def segments() -> list[str]:
    """Return the files in shared memory that this process uses."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return sorted({line.split()[5] for line in maps if "/dev/shm" in line})


class Trouble(UserInput):
    """An input that does something at a step."""

    def __init__(self, uid: str, step: int) -> None:
        super().__init__([("I", [uid])])
        self.at = step

    def update_input(self) -> None:
        step = self.lpu.step
        if KIND == "slow_steps":
            time.sleep(0.05)
        elif step == self.at:
            trouble(KIND, step)
        self.variables["I"]["input"][:] = 1.0


def trouble(kind: str, step: int) -> None:
    """Do what a kind of fault does within a step."""
    say(what="fault", step=step)
    if kind == "exit_within":
        sys.exit(5)
    if kind == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    if kind in ("loop", "loop_in_module"):
        loop()
    if kind == "slow_peer":
        time.sleep(4.0)
        return
    raise ValueError(f"broken at step {step}")


def loop() -> None:
    """Never end."""
    while True:
        time.sleep(1e-3)


class Full(HDF5Recorder):
    """Finds the disk full, or its file closed, when it appends its fourth block."""

    blocks = 0

    def _append(self, block: Block, rows: int) -> None:
        self.blocks += 1
        if self.blocks == 4:
            say(what="fault", step=block.step)
            if KIND == "closed_file":
                os.close(self._file.fd)
            else:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super()._append(block, rows)


class Broken(LPU):
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        time.sleep(0.05 * (SEED % 5))
        say(what="fault", step=0)
        if KIND == "loop_when_made":
            loop()
        raise ValueError("broken when made")


class Slow(LPU):
    """Takes long to be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        time.sleep(30.0)
        super().__init__(*args, **kwargs)


class BrokenModule(Echo):
    """Raises within ``run_step``."""

    at = 0

    def run_step(self) -> None:
        if self.steps == self.at:
            trouble(KIND, self.steps)
        super().run_step()


def circuit(name: str, other: str) -> Any:
    """Return a neuron that sends its potential to the other LPU and takes that of it."""
    return between_ports(f"/{name}/from/{other}", f"/{name}/to")


def make(number: int) -> Manager:
    """Return the manager of one run."""
    rng = np.random.default_rng([SEED, number])
    step = int(rng.integers(1, 400))
    man = Manager()
    within = KIND in WITHIN
    for name, other in (("a", "b"), ("b", "a"), ("c", "nobody")):
        faulty = name in CULPRITS
        inputs = [Trouble("n", step)] if within and faulty else [StepInput("I", ["n"], 1.0, 0, 9)]
        full = KIND in ("full_disk", "closed_file") and faulty
        recorder = (Full if full else HDF5Recorder)(FOLDER / f"{name}{number}.h5", [("V", ["n"])])
        kind: type[LPU] = LPU
        if KIND in ("constructor", "slow_constructor", "loop_when_made"):
            kind = Broken if faulty else Slow if KIND == "slow_constructor" else LPU
        man.add(kind, name, circuit(name, other), DT, inputs, [recorder], rank=RANK[name])
    for source, target in ("ab", "ba"):
        man.connect(source, target, wire(f"/{source}/to", f"/{target}/from/{source}"))
    if KIND in ("module", "loop_in_module"):
        BrokenModule.at = step
        man.add(BrokenModule, "m", "m", rank=RANK["m"])
        man.connect("a", "m", wire("/a/to", "/m/in[0]"))
    return man


def around(man: Manager, here: int) -> None:
    """Do what a kind of fault does between ``start`` and ``wait``."""
    later = 0.1 + 0.05 * (SEED % 7)
    if KIND == "sigkill" and here == SEED % 3:
        threading.Timer(later, lambda: (say(what="fault"), os.kill(os.getpid(), signal.SIGKILL))
                        ).start()  # fmt: skip
    if KIND in ("exit", "uncaught") and here == SEED % 3:
        time.sleep(later)
        say(what="fault")
        if KIND == "exit":
            sys.exit(3)
        raise RuntimeError("uncaught")
    if KIND == "stop" and here == SEED % 3:
        time.sleep(later)
        say(what="fault")
        man.stop()
    if KIND == "sigint":
        os.write(1, b"ready\n")


def one(number: int) -> None:
    """Do one run and tell how it ended."""
    here = world().rank
    if KIND == "early_exit" and here == SEED % 3:
        time.sleep(0.1)
        say(what="fault")
        sys.exit(3)
    man = make(number)
    say(what="segments", names=segments())
    error = None
    try:
        man.spawn()
        steps = {"slow_peer": 2000, "slow_steps": 100}
        man.start(steps.get(KIND, float("inf")))
        around(man, here)
        man.wait()
    except LPUExecutionError as failed:
        error = [failed.lpu, failed.step, "".join(failed.traceback)]
    finally:
        steps = {name: lpu.step for name, lpu in man.lpus.items() if hasattr(lpu, "simulation")}
        say(what="run", number=number, error=error, steps=steps)
    if error and number + 1 == REPEATS:
        raise SystemExit(1)


for repeat in range(REPEATS):
    one(repeat)
say(what="end")
