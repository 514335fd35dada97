"""Short tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

MOST_ROWS = 12
"""Rows that a table shows; a last line counts the others."""

MOST_LETTERS = 80
"""Letters that a cell shows."""


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    count: int | None = None,
) -> str:
    """Return a table as HTML; all texts are escaped.

    Parameters
    ----------
    caption : str
        What the table shows, above it.
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Cells; numbers are written with separators. Only the first `MOST_ROWS` are taken.
    count : int, optional
        Number of rows where ``rows`` has no length.
    """
    total = len(rows) if count is None and isinstance(rows, Sequence) else count
    shown = [_row("td", [_cell(value) for value in row]) for row in islice(rows, MOST_ROWS)]
    if total is not None and total > len(shown):
        shown.append(_row("td", [f"and {total - len(shown):,} more", *[""] * (len(head) - 1)]))
    lines = [f"<caption>{escape(short(caption, 200))}</caption>", _row("th", head), *shown]
    return f"<table>{''.join(lines)}</table>"


def short(text: object, most: int = MOST_LETTERS) -> str:
    """Return a text, cut where it is too long."""
    said = str(text)
    return said if len(said) <= most else f"{said[: most - 3]}..."


def some(names: Iterable[object], count: int, most: int = 3) -> str:
    """Return the first of some names, and how many follow."""
    first = ", ".join(short(name, 24) for name in islice(names, most))
    return first if count <= most else f"{first}, ... ({count:,})"


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else short(value)


def _row(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"
