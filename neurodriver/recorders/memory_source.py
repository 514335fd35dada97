"""The arrays of a `MemoryRecorder`, as a `Recording` reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..results.variable import Times
from .base import Columns


class MemoryVariable:
    """Rows or events of a variable in memory.

    Parameters
    ----------
    data : array (rows, n), or mapping of ``time`` and ``index``
        They can be read, not written, through this object.
    time : callable
        Gives the times of rows from a first one and their number.
    steps : int
        Steps done when the data were taken.
    """

    def __init__(self, columns: Columns, data: Any, time: Times, steps: int) -> None:
        self._columns, self._time, self._steps = columns, time, steps
        self.events = columns.events
        self.unit = "" if columns.events else columns.unit
        if columns.events:
            self.data: Any = {name: _read_only(values) for name, values in data.items()}
        else:
            self.data = _read_only(data)
        self.count = len(self.data["time"]) if columns.events else len(self.data)

    @property
    def steps(self) -> int | None:
        """Steps that were searched for events."""
        return self._steps if self.events else None

    @property
    def times(self) -> Times | None:
        """Function that gives the times of rows."""
        return lambda low, high: self._time(low, high - low)

    def uids(self) -> list[str]:
        """Return the component of each column."""
        names: list[str] = self._columns.uids.tolist()
        return names

    def population(self) -> list[str] | None:
        """Return the population of each column; None without any."""
        names = getattr(self._columns, "population", None)
        return None if names is None else [str(name) for name in names]

    def ends(self) -> tuple[list[str], list[str]] | None:
        """Return the source and the target of each column; None where columns are no synapses."""
        ends = self._columns.ends
        return None if ends is None else (ends[0].tolist(), ends[1].tolist())


class MemorySource:
    """What a `MemoryRecorder` holds at a moment."""

    name = "MemoryRecorder"
    path: Path | None = None
    is_open = True

    def __init__(
        self, variables: Mapping[str, MemoryVariable], attributes: Mapping[str, Any], complete: bool
    ) -> None:
        self._variables = variables
        self.variables: Sequence[str] = tuple(variables)
        self.attributes, self.complete = attributes, complete

    def variable(self, name: str) -> MemoryVariable:
        """Return one of ``variables``."""
        return self._variables[name]

    def close(self) -> None:
        """Leave the arrays to their recorder."""


def _read_only(values: Any) -> Any:
    """Return a view that cannot be written through."""
    view = values.view()
    view.flags.writeable = False
    return view
