"""One line about some components: time, first values of their states, components that fired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import NeurodriverError, quoted
from ..model.kinds import VariableKind

if TYPE_CHECKING:
    from .live import Components
    from .live_places import Live

MOST_FIRED = 10
"""Most components that the list of those that fired has."""


def shown_line(components: Components, simulation: Live, rows: int) -> str:
    """Return a line such as ``t = 4 ms  V = [-63.07, -48.84, ...]  fired = [0, 3]  total = 4``.

    Parameters
    ----------
    rows : int
        Number of components of which values are shown. The list of those that fired is of all.
    """
    program = simulation.program
    models = [program.circuit.groups[part.number].model for part in components._parts]
    kinds = program.circuit.kinds
    names = list(dict.fromkeys(n for m in models for n in (*m.updates, *m.states)))
    common = [n for n in names if all(n in (*m.updates, *m.states) for m in models)]
    events = [n for n in common if n in {*kinds.updated(VariableKind.EVENT)}]
    parts = [f"t = {1e3 * simulation.step * program.dt:g} ms"]
    parts += [f"{name} = {_first(components.get(name), rows)}" for name in common
              if name not in events]  # fmt: skip
    for name in events:
        fired = np.flatnonzero(np.ravel(components.get(name)))
        label = "fired" if len(events) == 1 else f"fired ({name})"
        seen = _SEEN.setdefault(simulation, SeenEvents())
        total = seen.count(components._said, name, simulation.step, len(fired))
        parts.append(f"{label} = {_listed(fired, MOST_FIRED)}  total = {total}")
    return "  ".join(parts)


def event_variable(components: Components, simulation: Live, name: str | None) -> str:
    """Return ``name`` if it has events, or the only variable with events, for None.

    Raises
    ------
    NeurodriverError
        Where the name has no events, or where None could mean no variable, or several.
    """
    groups = simulation.program.circuit.groups
    updated = [groups[part.number].model.updates for part in components._parts]
    kinds = simulation.program.circuit.kinds.updated(VariableKind.EVENT)
    sent = [n for n in kinds if any(n in each for each in updated)]
    if name is None and len(sent) != 1:
        which = ", ".join(map(quoted, sent)) or "none"
        raise NeurodriverError(f"{components._said}: name one variable with events: {which}")
    if name is not None and not (isinstance(name, str) and name in sent):
        components.get(name)  # says so where nothing has the name
        raise NeurodriverError(f"{components._said}: '{name}' has no events; read it by get")
    return name or sent[0]


def _first(values: Any, rows: int) -> str:
    flat = np.ravel(values)
    return _listed([f"{value:.2f}" for value in flat[:rows]], rows, len(flat))


def _listed(values: Any, most: int, count: int | None = None) -> str:
    count = len(values) if count is None else count
    more = [*map(str, values[:most]), *(["..."] if count > most else [])]
    return f"[{', '.join(more)}]"


class SeenEvents:
    """How many events some components had in the steps that were shown."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[int, int]] = {}

    def count(self, who: str, name: str, step: int, fired: int) -> int:
        """Return the number of events so far; a step that is shown again counts once."""
        last, total = self._known.get((who, name), (-1, 0))
        total += fired if step != last else 0
        self._known[who, name] = step, total
        return total


_SEEN: WeakKeyDictionary[Live, SeenEvents] = WeakKeyDictionary()
"""What was shown of each simulation."""
