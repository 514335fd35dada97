"""The multi-area model (Schmidt et al. 2018) from its description until a run can begin.

Each round is a process with an empty cache, and one that finds in it what the first has compiled.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import neurodriver as nd

from .measure import HERE, median
from .multi_area import NAME, model
from .papers import example
from .table import Row, Table

TARGETS = {1: 20.0, 2: 15.0}
"""Devices -> seconds, where nothing has been compiled."""

STEPS = 6_000
"""Of the run that could begin."""

PHASES = ("description", "nd.LPU", "start")


def table(table: Table) -> Iterator[Row]:
    """Yield two rows for one device, and two for several: nothing compiled before, and all."""
    for devices in dict.fromkeys((1, table.devices)):
        rounds = [_round(table, devices) for _ in range(table.rounds)]
        for compiled, found in zip((False, True), zip(*rounds, strict=True), strict=True):
            yield _row(table, devices, compiled, found)


def _round(table: Table, devices: int) -> list[dict[str, Any]]:
    """Return what two processes have measured, one after the other."""
    words = [sys.executable, "-m", __name__, table.backend, str(devices), str(int(table.small))]
    with tempfile.TemporaryDirectory() as cache:
        own = {**os.environ, "NEURODRIVER_CACHE": cache}
        outs = [subprocess.check_output(words, env=own, cwd=HERE.parent) for _ in range(2)]
    return [json.loads(out.splitlines()[-1]) for out in outs]


def _row(table: Table, devices: int, compiled: bool, found: Sequence[Mapping[str, Any]]) -> Row:
    sums = [sum(one[phase] for phase in PHASES) for one in found]
    size = f"{found[0]['neurons']:,} neurons, {found[0]['connections']:,} connections"
    where = f", {devices} parts" if devices > 1 else ""
    state = "all compiled before" if compiled else "nothing compiled before"
    middle = {phase: median([one[phase] for one in found]) for phase in PHASES}
    row: Row = {
        "case": f"multi-area model, build, {size}{where}, float32, {state}",
        "build s": median(sums),
        "floor": ", ".join(f"{phase} {seconds:.3g} s" for phase, seconds in middle.items())
        + f"; rounds {', '.join(f'{one:.3g}' for one in sums)} s",
    }
    limit = TARGETS.get(devices)
    if limit is None or compiled:
        return row
    return row | table.judged(f"<= {limit:g} s", row["build s"] <= limit)


def build(backend: str, devices: int, small: bool) -> dict[str, Any]:
    """Build the model until the first step could begin; return the seconds of each phase."""
    marks = [time.perf_counter()]
    network = model(small)
    circuit, inputs, _ = example(NAME).network(seed=1, **network)
    marks.append(time.perf_counter())
    recorder = nd.MemoryRecorder([("spike_state", circuit.groups[0].uids)])
    given: dict[str, Any] = {"dtype": "float32", "backend": backend, "seed": 1}
    given |= {"devices": devices} if devices > 1 else {}
    with nd.LPU(circuit, 1e-4, inputs, [recorder], **given) as lpu:
        marks.append(time.perf_counter())
        lpu.start(STEPS)
        marks.append(time.perf_counter())
        lpu.finish()
    spent = [after - before for before, after in itertools.pairwise(marks)]
    size = {"neurons": circuit.count, "connections": circuit.edges}
    return dict(zip(PHASES, spent, strict=True)) | size


if __name__ == "__main__":
    print(json.dumps(build(sys.argv[1], int(sys.argv[2]), bool(int(sys.argv[3])))))
