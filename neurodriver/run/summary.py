"""What a notebook shows of an LPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .. import html
from ..circuit.drawn import Drawn
from ..circuit.uids import Uids
from ..errors import quoted

if TYPE_CHECKING:
    from .lpu import LPU

TargetUids = tuple[str, Uids | None]


def lpu_html(lpu: LPU) -> str:
    """Return tables of an LPU: its circuit, what enters it, and what is recorded."""
    settings = lpu.settings
    caption = f"LPU at {lpu.time:g} s: dt {lpu.dt:g} s, {settings.dtype}, seed {lpu.seed}"
    rows = [_row("input", type(one).__name__, one.targets) for one in lpu.inputs]
    rows += [_row("recorder", type(one).__name__, one.record) for one in lpu.recorders]
    parts = html.table(caption, ("part", "class", "what"), rows)
    return parts + html.table(repr(lpu.circuit), ("model", "components"), _groups(lpu))


def lpu_text(lpu: LPU) -> str:
    """Return a line about an LPU: its circuit, where it stands, and what advances it."""
    settings, simulation = lpu.settings, vars(lpu).get("_advanced")  # waits for no steps
    step = 0 if simulation is None else simulation.step
    state = "closed" if lpu.closed else f"step {step:,} ({step * lpu.dt:g} s)"
    models = ", ".join(f"{count:,} {name}" for name, count in _groups(lpu))
    what = f"LPU of circuit {quoted(lpu.circuit.name)}: {models}; {_connections(lpu)}"
    how = f"{settings.dtype}, seed {lpu.seed}, {settings.choice.name}"
    return f"{what}; dt {lpu.dt:g} s, {state}; {how}"


def _connections(lpu: LPU) -> str:
    """Return how many connections there are, as far as nothing has to be drawn for it."""
    counts = [
        one.projection.rule.edges(one.ends) if isinstance(one, Drawn) else len(one)
        for one in lpu.circuit.connections
    ]
    drawn = counts.count(None)
    more = f" and those of {drawn:,} projections" if drawn else ""
    return f"{sum(filter(None, counts)):,} connections{more}"


def _groups(lpu: LPU) -> list[tuple[str, int]]:
    return [(group.name, group.count) for group in lpu.circuit.groups]


def _row(part: str, kind: str, targets: Iterable[TargetUids]) -> tuple[str, str, str]:
    said = [f"{v} of {'all' if uids is None else format(len(uids), ',')}" for v, uids in targets]
    return part, kind, html.some(said, len(said))
