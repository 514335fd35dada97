"""What a notebook shows of an LPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .. import html

if TYPE_CHECKING:
    from .lpu import LPU

TargetUids = tuple[str, Sequence[str] | None]


def lpu_html(lpu: LPU) -> str:
    """Return tables of an LPU: its circuit, what enters it, and what is recorded."""
    settings = lpu.settings
    caption = f"LPU at {lpu.time:g} s: dt {lpu.dt:g} s, {settings.dtype}, seed {lpu.seed}"
    rows = [_row("input", type(one).__name__, one.targets) for one in lpu.inputs]
    rows += [_row("recorder", type(one).__name__, one.record) for one in lpu.recorders]
    parts = html.table(caption, ("part", "class", "what"), rows)
    return parts + html.table(repr(lpu.circuit), ("model", "components"), _groups(lpu))


def _groups(lpu: LPU) -> list[tuple[str, int]]:
    return [(group.name, group.count) for group in lpu.circuit.groups]


def _row(part: str, kind: str, targets: Iterable[TargetUids]) -> tuple[str, str, str]:
    said = [f"{v} of {'all' if uids is None else format(len(uids), ',')}" for v, uids in targets]
    return part, kind, html.some(said, len(said))
