"""Sheets of spiking cells, connected by a difference of Gaussians, beside stored connections."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.system import free_memory

from .measure import median
from .table import Row, StepTime, Table, backend_of, one_run

DT = 1e-4
SIZE, LARGE, UNEVEN = 300, 1000, 100
"""Cells along an axis."""

SMALL = 60
"""Cells along an axis, to try the cases."""

STORED_BYTES = 8e9
"""Memory that a million cells with stored connections are sure to find room in."""

CELL = {"resting_potential": -65, "reset_potential": -65, "threshold": -50, "time_constant": 10,
        "capacitance": 250, "refractory_period": 2, "drive_rate": 5000.0,
        "drive_weight": 0.5}  # fmt: skip
WEIGHT = nd.Formula("1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50)")
DELAYS = {"0.6 to 1.7 ms": nd.Formula("5e-4 + 1e-4 * d"), "1 ms": 1e-3}

MOST = {"cpu": 2.0, "cuda": 1.5}
"""How many times the time of stored connections those of uneven axes may take."""

STEPS, WARM = 1000, 200


def connected(axes: dict[str, nd.Axis], delay: Any, stored: bool) -> nd.Circuit:
    """Return cells, each connected with those within 12."""
    sheet = nd.Population("LeakyIAFDeltaDriven", name="sheet", axes=axes, **CELL)
    rule = nd.Within(12.0, autapses=False)
    link = nd.Projection(sheet, sheet, rule, weight=WEIGHT, delay=delay, name="dog", stored=stored)
    return nd.Circuit([sheet], [link], seed=1)


def circuit(size: int, delay: Any, stored: bool) -> nd.Circuit:
    """Return cells on a torus with equal distances."""
    axis = nd.Axis.span(size, 0, size, period=size)
    return connected({"y": axis, "x": axis}, delay, stored)


def uneven(size: int, torus: bool, stored: bool) -> nd.Circuit:
    """Return cells whose distances differ."""
    number, period = np.arange(size), float(size) if torus else None
    waves = {"y": 2.3, "x": 1.7}
    axes = {
        name: nd.Axis.at(number + 0.3 * np.sin(wave * number), period=period)
        for name, wave in waves.items()
    }
    return connected(axes, next(iter(DELAYS.values())), stored)


def built(table: Table, made: nd.Circuit, dtype: str) -> tuple[nd.LPU, float]:
    """Return an LPU after its first steps, and the seconds that building it took."""
    begin = time.perf_counter()
    lpu = table.lpu(made, DT, [], dtype=dtype)
    lpu.advance(1)
    seconds = time.perf_counter() - begin
    lpu.advance(WARM - 1)
    return lpu, seconds


def megabytes(lpu: nd.LPU) -> float:
    """Return the memory of all arrays and rings of a program."""
    rows = sum(row.nbytes for row in lpu.program.arrays.values() if row.shape)
    shares = sum(g.parts.first.nbytes for g in lpu.program.gathers.values() if g.parts is not None)
    rings = sum(lpu.program.layout.nbytes().values())
    return float(rows + rings + shares * (backend_of(lpu).threads + 1)) / 1e6


def beside_stored(
    table: Table,
    what: str,
    make: Callable[[bool], nd.Circuit],
    dtype: str,
    most: float,
    ways: tuple[bool, ...] = (False, True),
) -> Row:
    """Return the row of a circuit, beside the same one with stored connections, in turn.

    Parameters
    ----------
    make : callable
        Returns the circuit, with connections that are stored or not.
    most : float
        How many times the time of stored connections it may take.
    ways : tuple of bool
        Whether connections are stored, of each circuit that is run.
    """
    lpus = {stored: built(table, make(stored), dtype) for stored in ways}
    runs: dict[bool, list[StepTime]] = {stored: [] for stored in ways}
    for _ in range(table.rounds + 1):
        for stored, (lpu, _) in lpus.items():
            runs[stored].append(one_run(lpu, STEPS))
    spent = {
        stored: StepTime(median([r.wall for r in found[1:]]), median([r.device for r in found[1:]]))
        for stored, found in runs.items()
    }
    lpu, seconds = lpus[False]
    ours, size = spent[False], {stored: megabytes(one) for stored, (one, _) in lpus.items()}
    spread = float(np.std(lpu["sheet"].get("V")))
    row = {
        "case": f"{what}, {lpu.circuit.edges:,} edges, {dtype}",
        "us a step": ours.seconds * 1e6, "build s": seconds,
        "floor": " MB, stored ".join(f"{mb:.3g}" for mb in size.values()) + " MB",
        "activity": f"V spread {spread:.2g}",
    }  # fmt: skip
    if not math.isnan(ours.device):
        row["wall us"] = ours.wall * 1e6
    if True in lpus:
        theirs, long = spent[True].seconds, lpus[True][1]
        row |= {
            "peer": f"stored connections {theirs * 1e6:.3g} us, built in {long:.1f} s",
            "ratio": theirs / ours.seconds,
        }  # fmt: skip
        met = "yes" if ours.seconds <= most * theirs else "no"
        row |= {} if table.small else {"target": f">= {1 / most:.2g} x", "met": met}
    for one, _ in lpus.values():
        one.close()
    return row


def table(table: Table) -> Iterator[Row]:
    """Yield rows of even and uneven axes, and one of a million cells."""
    size = SMALL if table.small else SIZE
    for what, delay in DELAYS.items():
        case = f"sheet of {size} x {size} cells, delays of {what}"
        yield beside_stored(table, case, lambda how, d=delay: circuit(size, d, how), "float32", 1.0)
    size = SMALL if table.small else UNEVEN
    for torus, where in ((True, "a torus"), (False, "open")):
        for dtype in ("float32", "float64"):
            yield beside_stored(
                table, f"uneven sheet of {size} x {size} cells, {where}",
                lambda how, torus=torus: uneven(size, torus, how), dtype, MOST[table.backend],
            )  # fmt: skip
    if table.small:
        return
    what, delay = next(iter(DELAYS.items()))
    roomy = table.backend == "cuda" or free_memory() > STORED_BYTES
    yield beside_stored(
        table, f"sheet of {LARGE} x {LARGE} cells, delays of {what}",
        lambda how: circuit(LARGE, delay, how), "float32", 1.0,
        (False, True) if roomy else (False,),
    )  # fmt: skip


def run(rounds: int, peers: str | None) -> list[Row]:
    """Return the rows on a CPU."""
    return [*table(Table("cpu", rounds))]
