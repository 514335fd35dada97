"""What a notebook shows of a recording; no values are read for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import html
from .events import Events

if TYPE_CHECKING:
    from .recording import Recording


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
