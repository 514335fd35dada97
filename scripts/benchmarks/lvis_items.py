"""Axon's ``benchlvis`` with 16 items side by side, in one process and divided between two ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neurodriver.backends.cuda.device import device_count

from . import table as tables
from .lvis import MANY, rows
from .measure import on_ranks

TARGET = 0.6
"""Of the time of one GPU, on two."""


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return the rows of the case, small, on the CPU."""
    return [*_rows("cpu", rounds, True)]


def table(table: tables.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of the case."""
    yield from _rows(table.backend, table.rounds, table.small)


def _rows(backend: str, rounds: int, small: bool) -> Iterator[dict[str, Any]]:
    """Yield the row of one process, and that of two ranks where each has a GPU or a core."""
    for row in rows(backend, rounds, small, MANY):
        yield row
        if backend == "cuda" and device_count() < 2:
            continue
        asked = backend, str(int(small)), str(rounds)
        found = on_ranks(2, "benchmarks.lvis_ranks", *asked)
        trial, alone = found.pop("trial"), 1e3 * row["seconds"]
        met = "yes" if trial <= TARGET * alone else "no"
        told = {"target": f"<= {TARGET:g} of one GPU", "met": met} if backend == "cuda" else {}
        yield {
            "case": f"{row['case']}, two ranks with half of the items each",
            "us a step": trial * row["us a step"] / alone, "seconds": trial / 1e3,
            "peer": f"one process in the same run: {alone:.3g} ms", "ratio": trial / alone, **told,
            "floor": ", ".join(f"{name} {ms:.3g} ms" for name, ms in found.items()),
        }  # fmt: skip
