"""The profile of a run as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .measured import Measured, Row

_SCALES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass
class Spent:
    """What all passes of one phase took.

    Attributes
    ----------
    beside : bool
        Whether another thread goes on meanwhile.
    """

    seconds: float = 0.0
    passes: int = 0
    beside: bool = False


def phases(phases: Mapping[tuple[str, ...], Spent], total: float) -> str:
    """Return the table of the phases; a phase inside another is indented."""
    rows = [("phase", "time", "share", "times")]
    top = 0.0
    entered = {path: place for place, path in enumerate(phases)}
    for path in sorted(entered, key=lambda p: [entered[p[: i + 1]] for i in range(len(p))]):
        spent = phases[path]
        name = "  " * (len(path) - 1) + path[-1] + (" (beside)" if spent.beside else "")
        rows.append(
            (name, duration(spent.seconds), share(spent.seconds, total), f"{spent.passes:,}")
        )
        top += spent.seconds * (len(path) == 1 and not spent.beside)
    rows.append(("everything else", duration(total - top), share(total - top, total), ""))
    rows.append(("together", duration(total), share(total, total), ""))
    return table(rows)


def steps(measured: Measured) -> str:
    """Return the table of the kernels: time, bytes and the share of the peak bandwidth."""
    head = ("part of the steps", "components", "time", "share", "a step", "bytes a step",
            "bandwidth", "of the peak")  # fmt: skip
    rows = [head, *(_row(measured, row) for row in measured.rows)]
    threads = f"{measured.threads:,} {measured.worker}{'s' if measured.threads > 1 else ''}"
    notes = [
        f"{measured.steps:,} steps; times are the mean of {threads}. Peak: "
        f"{amount(measured.peak)}B/s, {measured.peak_by}.",
        "Bytes are what each kernel has to read and write; above 100 % caches supplied them.",
    ]
    if any(row.traffic is not None and row.traffic.spared for row in measured.rows):
        notes.append("<=: less where no spike is read.")
    return "\n".join([table(rows), *notes])


def _row(measured: Measured, row: Row) -> tuple[str, ...]:
    seconds = row.seconds / measured.threads
    first = row.name, f"{row.count:,}" if row.traffic else "", duration(seconds)
    times = share(row.seconds, measured.seconds), duration(seconds / measured.steps)
    if row.traffic is None:
        return (*first, *times, "", "", "")
    most = "<= " if row.traffic.spared else ""
    speed = measured.bandwidth(row)
    moved = f"{most}{amount(row.traffic.total)}B", f"{most}{amount(speed)}B/s"
    return (*first, *times, *moved, most + share(speed, measured.peak))


def duration(seconds: float) -> str:
    """Return seconds with a unit that suits them."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(seconds) >= factor:
            return f"{seconds / factor:.3g} {unit}" if seconds < 1e3 else f"{seconds:,.0f} s"
    return f"{seconds * 1e9:.0f} ns"


def amount(value: float) -> str:
    """Return a number with a decimal prefix; the unit follows."""
    for factor, prefix in _SCALES:
        if value >= factor:
            return f"{value / factor:.4g} {prefix}"
    return f"{value:.4g} "


def share(part: float, whole: float) -> str:
    """Return a share in per cent."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows in columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
