"""Axon's ``benchlvis`` with 16 items side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import table as tables
from .lvis import MANY, rows


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return the rows of the case, small, on the CPU."""
    return [*rows("cpu", rounds, True, MANY)]


def table(table: tables.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of the case."""
    yield from rows(table.backend, table.rounds, table.small, MANY)
