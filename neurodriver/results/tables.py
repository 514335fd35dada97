"""What `repr` and notebooks show of a recording; no values are read for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import html
from .events import Events

if TYPE_CHECKING:
    from .batch import BatchRecording
    from .recording import Recording


def recording_text(recording: Recording) -> str:
    """Return a line for each variable of a recording, under a head."""
    if not recording.is_open:
        return f"{type(recording).__name__} '{recording.name}' (closed)"
    parts = [f"{recording.duration:g} s, dt {recording.dt:g} s"]
    parts += [] if recording.complete else ["incomplete"]
    lines = [f"Recording '{recording.name}': {', '.join(parts)}"]
    return "\n".join([*lines, *(f"  {recording[v]!r}" for v in recording.variables)])


def recording_html(recording: Recording) -> str:
    """Return a table of the variables of a recording."""
    if not recording.is_open:
        return html.table(f"{recording.name} (closed)", ("variable",), [])
    state = "" if recording.complete else ", incomplete"
    caption = f"{recording.name}: {recording.duration:g} s, dt {recording.dt:g} s{state}"
    head = ("variable", "unit", "kind", "rows or events", "uids")
    rows = [_row(recording, name) for name in recording.variables[: html.MOST_ROWS]]
    return html.table(caption, head, rows, len(recording.variables))


def _row(recording: Recording, variable: str) -> tuple[object, ...]:
    part = recording[variable]
    kind = "events" if isinstance(part, Events) else "rows"
    uids = recording.uids(variable)
    return variable, recording.unit(variable), kind, len(part), html.some(uids, len(uids))


def batch_html(recording: BatchRecording) -> str:
    """Return a table of the variables of a batch."""
    if not recording.is_open:
        return html.table(f"{recording.name} (closed)", ("variable",), [])
    caption = f"{recording.name}: {len(recording):,} copies, {recording.duration:g} s"
    head = ("variable", "unit", "uids of a copy")
    rows = [
        (name, recording.unit(name), html.some(recording.uids(name), len(recording.uids(name))))
        for name in recording.variables[: html.MOST_ROWS]
    ]
    return html.table(caption, head, rows, len(recording.variables))
