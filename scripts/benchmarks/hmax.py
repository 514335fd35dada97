"""S1, C1, S2 and C2 of the visual cortex beside PyTorch's convolutions, one picture a step.

The sizes and the peer's script lie in ``../shared``; without them there is no row.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np

import neurodriver as nd

from .measure import median, seconds_per_step
from .papers import example
from .table import Row, Table, one_run

SHARED = Path(__file__).parents[3] / "shared"
THREADS = 2
SIZES = {"shape": (256, 256), "scales": 8, "thetas": 8, "rf": 11, "bands": 2,
         "pool": 10, "pool_step": 5, "protos": 256, "rf2": 4}  # fmt: skip
"""``LARGE`` of the peer's script: 364 million products for each picture."""

SMALL = {"shape": (48, 48), "scales": 2, "protos": 8}
CASE = "hmax, 256 x 256 pixels, 364 M products a picture, float32"


def given(small: bool = False) -> dict[str, Any]:
    """Return the sizes of the layers, filters, and a picture.

    Raises
    ------
    FileNotFoundError
        Where the sizes are not beside the repository.
    """
    folder = SHARED / "data" / "layers"
    if not folder.exists():
        raise FileNotFoundError(f"{folder}: the layers' reference is not there")
    sys.path.insert(0, str(folder))
    try:
        from hmax_reference import Case, gabors, picture
    finally:
        sys.path.remove(str(folder))
    case = Case(**(SMALL if small else SIZES))
    seen = picture(case.shape, 1).ravel() / 255.0
    return {"sizes": asdict(case), "filters": gabors(case), "picture": seen}


def model(small: bool = False) -> tuple[nd.Circuit, np.ndarray]:
    """Return the layers and a picture."""
    return layers(given(small))


def layers(given: dict[str, Any]) -> tuple[nd.Circuit, np.ndarray]:
    """Return the layers and a picture, from what `given` returns."""
    case = SimpleNamespace(**given["sizes"])
    shape = (case.protos, case.thetas, case.rf2, case.rf2)
    patterns = 0.3 * np.random.default_rng(0).random(shape)
    made = example("serre_2007").layers(case, given["filters"], patterns, np.ones(shape))
    return nd.Circuit(made, order="listed"), given["picture"]


def torch(python: str, *given: str) -> dict[str, Any]:
    """Return what the peer's script says."""
    command = [python, str(SHARED / "peers" / "hmax_torch.py"), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"peer": f"PyTorch: {done.stderr.strip().splitlines()[-1]:.60}"}
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said


def first_picture(path: str) -> None:
    """Compute one picture, from a file of what `given` returns."""
    circuit, picture = layers(np.load(path, allow_pickle=True).item())
    with nd.LPU(circuit, 1e-3, dtype="float32", threads=THREADS) as lpu:
        lpu["image"].set("val", picture)
        lpu.advance(1)
        assert np.ptp(lpu["c2"].get("val")) > 0


def starting(compiled: bool) -> float:
    """Return the seconds from the start of Python to the first picture.

    Parameters
    ----------
    compiled : bool
        Whether the kernels have been compiled before.
    """
    with TemporaryDirectory() as folder:
        paths = os.pathsep.join(map(str, Path(__file__).parents[1:3]))
        own = {**os.environ, "PYTHONPATH": paths, "NEURODRIVER_CACHE": folder}
        path = str(Path(folder, "given.npy"))
        np.save(path, given(), allow_pickle=True)  # type: ignore[arg-type]
        text = f"from benchmarks.hmax import *; first_picture({path!r})"
        command = [sys.executable, "-c", text]
        for _ in range(1 + compiled):
            begin = time.perf_counter()
            subprocess.run(command, env=own, check=True)
            seconds = time.perf_counter() - begin
    return seconds


def run(rounds: int, python: str | None) -> list[Row]:
    """Return the row of two threads: ours and the peer in turn; and that of the first picture."""
    circuit, picture = model()
    with nd.LPU(circuit, 1e-3, dtype="float32", threads=THREADS) as lpu:
        lpu["image"].set("val", picture)
        ours, theirs, said = [], [], {}
        for _ in range(rounds):
            ours.append(min(seconds_per_step(lpu, 1)))
            said = torch(python or sys.executable, "--threads", str(THREADS))
            theirs.append(said.get("eager_us", np.nan) * 1e-6)
    us = median(ours) * 1e6
    fresh, later = starting(compiled=False), starting(compiled=True)
    return [{"case": f"{CASE}, {THREADS} threads", "us a step": us,
             "peer": f"{said['peer']}: {median(theirs) * 1e6:.0f} us",
             "ratio": median(theirs) * 1e6 / us, "target": ">= 1 x"},
            {"case": "hmax: from the start of Python to the first picture, kernels compiled",
             "us a step": np.nan, "seconds": fresh, "target": "<= 3 s",
             "floor": f"{later:.2f} s where they have been compiled before"}]  # fmt: skip


def table(table: Table) -> Iterator[Row]:
    """Yield the row of the backend; on a GPU the peer's is a graph of CUDA."""
    circuit, picture = model(table.small)
    with table.lpu(circuit, 1e-3, [], dtype="float32") as lpu:
        lpu["image"].set("val", picture)
        spent = table.timed(lpu)
        alone = min(one_run(lpu, 1).wall for _ in range(9))
        spread = float(np.std(lpu["c2"].get("val")))
    more: Row = {}
    if table.backend == "cuda" and not table.small:
        said = torch(sys.executable, "--device", "cuda")
        theirs = said.get("graph_us", np.nan)
        more = {"peer": f"{said['peer']}, a graph: {theirs:.0f} us",
                "ratio": theirs / (spent.wall * 1e6)}  # fmt: skip
    products = 364e6 if not table.small else np.nan
    floor = f"four operations a product: {4 * products / 33e12 * 1e6:.0f} us at 33 T/s"
    more["activity"] = f"C2 spread {spread:.2g}; a call of one step takes {alone * 1e6:.0f} us"
    yield table.row(CASE, spent, 400.0, floor, **more)
