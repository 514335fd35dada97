"""A sheet of spiking cells, connected by a difference of Gaussians, beside stored connections."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.system import free_memory

from .measure import median, seconds_per_step
from .table import Row, StepTime, Table, one_run

DT = 1e-4
SIZE, LARGE = 300, 1000
STORED_BYTES = 8e9
"""Memory that a million cells with stored connections are sure to find room in."""

UNEVEN = {"cpu": 2.0, "cuda": 1.5}
"""How many times the time of stored connections those of uneven axes may take."""

DTYPES, STEPS = ("float32", "float64"), 2000

CELL = {"resting_potential": -65, "reset_potential": -65, "threshold": -50, "time_constant": 10,
        "capacitance": 250, "refractory_period": 2, "drive_rate": 5000.0,
        "drive_weight": 0.5}  # fmt: skip
WEIGHT = nd.Formula("1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50)")
DELAYS = {"0.6 to 1.7 ms": nd.Formula("5e-4 + 1e-4 * d"), "1 ms": 1e-3}


def circuit(size: int, delay: Any, stored: bool) -> nd.Circuit:
    """Return cells on a torus, each connected with those within 12."""
    axis = nd.Axis.span(size, 0, size, period=size)
    sheet = nd.Population("LeakyIAFDeltaDriven", name="sheet", axes={"y": axis, "x": axis}, **CELL)
    rule = nd.Within(12.0, autapses=False)
    link = nd.Projection(sheet, sheet, rule, weight=WEIGHT, delay=delay, name="dog", stored=stored)
    return nd.Circuit([sheet], [link], seed=1)


def built(size: int, delay: Any, stored: bool) -> tuple[nd.LPU, float]:
    """Return an LPU after its first steps, and the seconds that building it took."""
    begin = time.perf_counter()
    lpu = nd.LPU(circuit(size, delay, stored), DT, dtype="float32")
    lpu.advance(1)
    seconds = time.perf_counter() - begin
    lpu.advance(199)
    return lpu, seconds


def megabytes(lpu: nd.LPU) -> float:
    """Return the memory of all arrays and rings of a program."""
    rows = sum(row.nbytes for row in lpu.program.arrays.values() if row.shape)
    shares = sum(g.parts.first.nbytes for g in lpu.program.gathers.values() if g.parts is not None)
    rings = sum(lpu.program.layout.nbytes().values())
    return float(rows + rings + shares * (lpu.backend.threads + 1)) / 1e6


def case(size: int, what: str, edges: int) -> str:
    return f"sheet of {size} x {size} cells, delays of {what}, {edges:,} edges, float32"


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return a row for each kind of delays, and one of a million cells."""
    rows = []
    for what, delay in DELAYS.items():
        lpus = {stored: built(SIZE, delay, stored) for stored in (False, True)}
        found: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(rounds):
            for stored, (lpu, _) in lpus.items():
                found[stored].append(min(seconds_per_step(lpu, 1)))
        ours, theirs = median(found[False]), median(found[True])
        size = {stored: megabytes(lpu) for stored, (lpu, _) in lpus.items()}
        spread = float(np.std(lpus[False][0].get("V")))
        rows.append({
            "case": case(SIZE, what, lpus[False][0].circuit.edges), "us a step": ours * 1e6,
            "build s": lpus[False][1],
            "peer": f"stored connections {theirs * 1e6:.0f} us, built in {lpus[True][1]:.1f} s",
            "ratio": theirs / ours, "target": ">= 1 x, a tenth of the memory",
            "floor": f"{size[False]:.0f} MB, stored {size[True]:.0f}; V spread {spread:.2g}",
        })  # fmt: skip
        for lpu, _ in lpus.values():
            lpu.close()
    return [*rows, large(rounds), *uneven_rows(Table("cpu", rounds))]


def large(rounds: int) -> dict[str, Any]:
    """Return the row of a million cells; beside stored connections where memory holds them."""
    what, delay = next(iter(DELAYS.items()))
    ways = (False, True) if free_memory() > STORED_BYTES else (False,)
    lpus = {stored: built(LARGE, delay, stored) for stored in ways}
    found: dict[bool, list[float]] = {stored: [] for stored in ways}
    for _ in range(rounds):
        for stored, (lpu, _) in lpus.items():
            found[stored].append(min(seconds_per_step(lpu, 1)))
    lpu, seconds = lpus[False]
    ours, sizes = median(found[False]), [megabytes(lpu) for lpu, _ in lpus.values()]
    row = {
        "case": case(LARGE, what, lpu.circuit.edges), "us a step": ours * 1e6,
        "build s": seconds, "target": ">= 1 x, built in 2 s, a tenth of the memory",
        "floor": f"{' MB, stored '.join(f'{one:.0f}' for one in sizes)}",
    }  # fmt: skip
    if True in lpus:
        theirs, other = median(found[True]), lpus[True]
        said = f"stored connections {theirs * 1e6:.0f} us, built in {other[1]:.1f} s"
        row |= {"peer": said, "ratio": theirs / ours}
    for one, _ in lpus.values():
        one.close()
    return row


def uneven(torus: bool, stored: bool) -> nd.Circuit:
    """Return 100 x 100 cells whose distances differ, each connected with those within 12."""
    number, period = np.arange(100), 100.0 if torus else None
    y, x = (nd.Axis.at(number + 0.3 * np.sin(wave * number), period=period) for wave in (2.3, 1.7))
    sheet = nd.Population("LeakyIAFDeltaDriven", name="sheet", axes={"y": y, "x": x}, **CELL)
    delay = next(iter(DELAYS.values()))
    rule = nd.Within(12.0, autapses=False)
    link = nd.Projection(sheet, sheet, rule, weight=WEIGHT, delay=delay, name="dog", stored=stored)
    return nd.Circuit([sheet], [link], seed=1)


def uneven_rows(table: Table) -> Iterator[Row]:
    """Yield the rows of uneven axes, whose connections are computed when their source spikes."""
    most = UNEVEN[table.backend]
    for torus in (True, False):
        for dtype in DTYPES:
            lpus = {
                stored: table.lpu(uneven(torus, stored), DT, [], dtype=dtype)
                for stored in (False, True)
            }
            for lpu in lpus.values():
                table.timed(lpu)
            runs = [{stored: one_run(lpu, STEPS) for stored, lpu in lpus.items()}
                    for _ in range(table.rounds)]  # fmt: skip
            spent, theirs = (
                StepTime(median([r[how].wall for r in runs]), median([r[how].device for r in runs]))
                for how in (False, True)
            )
            ratio, edges = spent.seconds / theirs.seconds, lpus[False].circuit.edges
            size = {stored: megabytes(lpu) for stored, lpu in lpus.items()}
            clock = {} if math.isnan(spent.device) else {"wall us": spent.wall * 1e6}
            where = "torus" if torus else "open"
            yield {
                "case": f"uneven sheet of 100 x 100 cells, {where}, {edges:,} edges, {dtype}",
                "us a step": spent.seconds * 1e6, **clock,
                "peer": f"stored connections {theirs.seconds * 1e6:.3g} us",
                "ratio": ratio, "target": f"<= {most:g} x", "met": "yes" if ratio <= most else "no",
                "floor": f"{size[False]:.1f} MB, stored {size[True]:.0f}",
            }  # fmt: skip
            for lpu in lpus.values():
                lpu.close()


def table(table: Table) -> Iterator[Row]:
    """Yield the rows of uneven axes."""
    yield from uneven_rows(table)
