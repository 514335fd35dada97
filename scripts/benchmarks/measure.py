"""Measuring: steps of an LPU, the triad's bandwidth, the barrier, and the machine's description."""

from __future__ import annotations

import ctypes as ct
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from neurodriver import LPU, system
from neurodriver.backends.cpu.triad import triad as triad
from neurodriver.native.compiler import build, find_compiler
from neurodriver.native.headers import header
from neurodriver.native.platforms import step_loop_flags

HERE = Path(__file__).parent
WINDOW = 0.25
"""Seconds of one timed window."""


def seconds_per_step(lpu: LPU, windows: int = 5) -> list[float]:
    """Return the time of one step in several windows; the first step was taken before."""
    if lpu.step == 0:
        lpu.advance(50)
    steps = 50
    begin = time.perf_counter()
    lpu.advance(steps)
    steps = max(20, int(WINDOW * steps / (time.perf_counter() - begin)))
    out = []
    for _ in range(windows):
        begin = time.perf_counter()
        lpu.advance(steps)
        out.append((time.perf_counter() - begin) / steps)
    return out


def barrier(threads: int) -> float:
    """Return the seconds of one barrier of the step loop, best of five."""
    text = header("backends/cpu/runtime.cpp")
    library = build([(text, ("-DREAL=double", *step_loop_flags()))])[0]
    library.nd_barrier_seconds.restype = ct.c_double
    count, rounds = ct.c_longlong(threads), ct.c_longlong(20000)
    return min(library.nd_barrier_seconds(count, rounds) for _ in range(5))


def peer(python: str, script: str, *arguments: str) -> dict[str, Any]:
    """Run a peer's script in its own environment; return what it printed."""
    command = [python, str(HERE.parent / "peers" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{script} failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def on_ranks(ranks: int, module: str, *arguments: str) -> dict[str, float]:
    """Run a module of ``scripts`` on so many ranks of this host; return what rank 0 printed."""
    beside = Path(sys.executable).parent
    launcher = shutil.which("mpiexec", path=beside) or shutil.which("mpiexec") or "mpiexec"
    command = [launcher, "--oversubscribe", "-n", str(ranks), sys.executable, "-m", module]
    allowed = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
    done = subprocess.run(
        [*command, *arguments],
        cwd=HERE.parent, env={**os.environ, **allowed}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def machine(backend: str = "cpu") -> dict[str, Any]:
    """Return what the figures were measured on."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True
    )
    model = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(x.split(":", 1)[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return _device(backend) | {
        "processor": model,
        "cores": system.cores(),
        "compiler": find_compiler().version,
        "python": platform.python_version(),
        "commit": commit.stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
        "load": round(os.getloadavg()[0], 2),
    }


def _device(backend: str) -> dict[str, Any]:
    """Return what is to be known of the GPU."""
    if backend != "cuda":
        return {}
    from neurodriver.backends.cuda.device import Device

    device = Device(0)
    return {"device": device.name, "driver": device.driver.cuDriverGetVersion()}


def median(values: list[float]) -> float:
    """Return the median."""
    return statistics.median(values)
