"""The optic lobe against SciPy's sparse product and a NumPy update."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.circuits.optic_lobe import circuit, expand, from_rules

from .measure import median, seconds_per_step, triad
from .table import Row, Table, bytes_of

DT = 5e-3
LARGE = 60
BY_RULES = f"optic lobe, extent {LARGE}, from rules"


def scipy_step(extent: int, dtype: str) -> Any:
    """Return a function that takes n steps with SciPy and returns the seconds of one."""
    import scipy.sparse

    lobe = expand(extent)
    size = lobe.cell_count
    weight = lobe.weight.astype(dtype)
    matrix = scipy.sparse.csr_matrix((weight, (lobe.target, lobe.source)), shape=(size, size))
    rate = (DT * 1e3 / np.maximum(lobe.time_constant, DT * 1e3)).astype(dtype)
    bias = lobe.bias.astype(dtype)
    light = np.zeros(size, dtype=dtype)
    light[lobe.input_cells] = 0.5
    potential = bias.copy()

    def steps(n: int) -> float:
        begin = time.perf_counter()
        for _ in range(n):
            drive = matrix @ np.maximum(potential, 0)
            potential[:] += rate * (bias - potential + drive + light)
        return (time.perf_counter() - begin) / n

    return steps


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return one row for each extent."""
    rows = []
    per_edge = {}
    for extent, n in ((15, 40), (30, 10)):
        made = circuit(extent)
        cells = [str(u) for u in made.uids if u[0] == "R"]
        other = scipy_step(extent, "float32")
        with nd.LPU(made, DT, [nd.StepInput("I", cells, 0.5)], dtype="float32") as lpu:
            ours, theirs, ratios = [], [], []
            for _ in range(rounds):
                ours.append(min(seconds_per_step(lpu, 2)))
                theirs.append(other(n))
                ratios.append(theirs[-1] / ours[-1])
            used = [k for task in lpu.backend.generated.tasks for k in task.kernel.pointers]
            moved = sum(lpu.program.arrays[k].nbytes for k in used if k in lpu.program.arrays)
            threads = lpu.backend.threads
        per_edge[extent] = median(ours) / made.edges
        speed = triad(3 * 64e6, "float32", threads)
        note = f">= 5 x; {per_edge[extent] * 1e9:.3f} ns an edge"
        if extent == 30:
            note = f"an edge costs {per_edge[30] / per_edge[15]:.2f} of extent 15 (<= 1.5)"
        rows.append(
            {
                "case": f"optic lobe, extent {extent}, {made.edges:,} edges, float32",
                "us a step": median(ours) * 1e6,
                "peer": f"SciPy {median(theirs) * 1e6:.0f} us",
                "ratio": median(ratios),
                "target": note,
                "floor": f"{moved / 1e6:.1f} MB a step: {moved / speed * 1e6:.0f} us from memory",
            }
        )
    return [*rows, by_rules(rounds)]


def by_rules(rounds: int) -> Row:
    """Return the row of connections that are stored nowhere, beside stored ones."""
    begin = time.perf_counter()
    made = from_rules(LARGE, stored=False)
    build, found = time.perf_counter() - begin, {False: [], True: []}
    both = {False: made, True: circuit(LARGE)}
    lpus = {stored: nd.LPU(one, DT, dtype="float32") for stored, one in both.items()}
    for _ in range(rounds):
        for stored, lpu in lpus.items():
            found[stored].append(min(seconds_per_step(lpu, 1)))
    sizes = {stored: arrays_of(lpu) / made.count for stored, lpu in lpus.items()}
    for lpu in lpus.values():
        lpu.close()
    ours, theirs = median(found[False]), median(found[True])
    return {
        "case": f"{BY_RULES}, {made.edges:,} edges, float32",
        "us a step": ours * 1e6,
        "build s": build,
        "peer": f"stored connections {theirs * 1e6:.0f} us",
        "ratio": theirs / ours,
        "target": "<= 3500 us on two cores, <= 60 bytes a cell",
        "floor": f"arrays: {sizes[False]:.0f} bytes a cell, stored {sizes[True]:.0f}",
    }


def arrays_of(lpu: nd.LPU) -> float:
    """Return the bytes of all arrays and rings of a program."""
    rows = (row.nbytes for row in lpu.program.arrays.values() if row.shape)
    return float(sum(rows) + sum(lpu.program.layout.nbytes().values()))


def table(table: Table) -> list[Row]:
    """Return one row for each extent on the backend."""
    rows = []
    for extent, target in ((3, 5.0), (5, 18.0)) if table.small else ((15, 5.0), (30, 18.0)):
        made = circuit(extent)
        cells = [str(u) for u in made.uids if u[0] == "R"]
        with table.lpu(made, DT, [nd.StepInput("I", cells, 0.5)], dtype="float32") as lpu:
            spent = table.timed(lpu)
            floor = table.floor(lpu, bytes_of(lpu))
            alive = float(np.std(lpu.get("V")))
        case = f"optic lobe, extent {extent}, {made.edges:,} edges, float32 (V spread {alive:.2g})"
        rows.append(table.row(case, spent, target, floor))
    made = from_rules(5 if table.small else LARGE, stored=False)
    with table.lpu(made, DT, [], dtype="float32") as lpu:
        lpu["R1"].set("V", 0.5)
        spent, size = table.timed(lpu), arrays_of(lpu) / made.count
        floor, alive = table.floor(lpu, bytes_of(lpu)), float(np.std(lpu.get("V")))
    case = f"{BY_RULES}, {made.edges:,} edges, float32 (V spread {alive:.2g})"
    more = {"activity": f"{size:.0f} bytes a cell"}
    rows.append(table.row(case, spent, 30.0, floor, **more))
    return rows
