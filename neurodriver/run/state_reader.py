"""``StateReader``: reads several states of all components, again and again.

A program that looks at many states between two calls spends most of its time on looking up where
they are, and on a GPU on waiting for one small copy after the other. A reader looks them up once.
From a GPU the states of all copies of a batch come at once, and the host waits once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..backends.live import StateReads
from ..plan.arrays import Key, PopulationOwner, Role
from .live import GroupPart
from .live_places import Live, Place, Rows
from .program_cache import ProgramCache

if TYPE_CHECKING:
    from .live import Components
    from .live_values import LiveValues

Values = NDArray[np.floating]


def components_of(lpu: LiveValues, name: str, populations: Sequence[str]) -> list[Components]:
    """Return some populations, or else all components that have a variable or a state."""
    return [lpu[one] for one in populations] or [lpu.having(name)]


def behind(rows: Rows, first: int) -> Rows:
    """Return places that begin ``first`` places later."""
    if isinstance(rows, slice):
        return slice(rows.start + first, rows.stop + first)
    return rows + first


@dataclass(frozen=True)
class ReadPart:
    """Values of one name, or of one element of a vector, of some components of a group.

    Attributes
    ----------
    out : slice or array
        Where they stand among those of all components.
    element : int
        Of a vector.
    rows : slice or array
        The components within the group.
    place : Place
        Where the values are.
    state : (Key, slice) or None
        The array that is read together with others. None: it is read alone, as rows of variables
        and parameters are.
    """

    out: Rows
    element: int
    rows: Rows
    place: Place
    state: tuple[Key, slice] | None


@dataclass
class NameLayout:
    """The parts of one name.

    Attributes
    ----------
    count : int
        Components that have it.
    size : int
        Elements of a vector; 0 for what is no vector.
    """

    count: int
    size: int
    parts: list[ReadPart]

    @cached_property
    def wanted(self) -> list[tuple[Key, slice]]:
        """The arrays that are read together."""
        return [part.state for part in self.parts if part.state is not None]

    @cached_property
    def together(self) -> bool:
        """Whether what is read together is the result already."""
        end = 0
        for part in self.parts:
            if part.state is None or not isinstance(part.out, slice) or part.out.start != end:
                return False
            end = part.out.stop
        return not self.size

    def filled(self, values: Values | None, copies: Sequence[Live], dtype: np.dtype) -> Values:
        """Return the values of all copies, (copies, components) or (copies, components, elements).

        Parameters
        ----------
        values : (copies, elements) array or None
            Those that were read together.
        """
        if values is not None and self.together:
            return values
        shape = (len(copies), self.count, self.size)[: 3 if self.size else 2]
        out, at = np.empty(shape, dtype), 0
        for part in self.parts:
            into = out[..., part.element] if self.size else out
            if part.state is None:
                for row, copy in zip(into, copies, strict=True):
                    row[part.out] = part.place.read(copy, part.rows)
                continue
            assert values is not None
            end = at + part.state[1].stop - part.state[1].start
            into[:, part.out] = values[:, at:end]
            at = end
        return out


class PendingRead:
    """Values that are on their way; `finish` returns them.

    Parameters
    ----------
    arrive : callable
        Returns the values that are read together, of each name that has any.
    """

    def __init__(
        self,
        reader: StateReader,
        layouts: Mapping[str, NameLayout],
        arrive: Callable[[], Sequence[Values]],
    ) -> None:
        self._reader, self._layouts, self._arrive = reader, layouts, arrive

    def finish(self) -> dict[str, Values]:
        """Return what `StateReader` returns. Call it before the next step, or a `set`."""
        simulation, together = self._reader.lpu.simulation, iter(self._arrive())
        copies: Sequence[Live] = simulation.copies
        dtype = simulation.program.dtype
        out = {
            name: one.filled(next(together) if one.wanted else None, copies, dtype)
            for name, one in self._layouts.items()
        }
        several = self._reader.lpu.variants is not None
        return out if several else {name: values[0] for name, values in out.items()}


class StateReader:
    """Reads variables, states and parameters of all components that have them.

    Parameters
    ----------
    lpu : LPU
        One that is not divided between devices.
    names : sequence of str, or mapping of str to sequence of str
        What is read, of all components that have it, or of the populations that a mapping gives for
        a name; none stands for all. States come fast from a GPU; other names are read one by one.

    Examples
    --------
    >>> read = StateReader(lpu, ["V", "w"])  # doctest: +SKIP
    >>> read()["V"].shape  # doctest: +SKIP
    (1000,)
    """

    def __init__(self, lpu: LiveValues, names: Sequence[str] | Mapping[str, Sequence[str]]) -> None:
        self.lpu, self.names, self._found = lpu, tuple(names), ProgramCache()
        self._populations = names if isinstance(names, Mapping) else {}

    def __call__(self) -> dict[str, Values]:
        """Return a copy of the present values of each name.

        Each array is what ``lpu.get`` returns: (n,), or (n, elements) for a vector; those of some
        populations one after the other. Of a batch it has an axis of copies before these.

        Raises
        ------
        NeurodriverError
            For a name that nothing has.
        """
        return self.begin().finish()

    def prepare(self) -> tuple[dict[str, NameLayout], StateReads | None]:
        """Look up where all values are, unless this was done before."""
        found: tuple[dict[str, NameLayout], StateReads | None] = self._found.get(
            self.lpu.simulation.program, "reads", self._prepared
        )
        return found

    def begin(self) -> PendingRead:
        """Begin to read; `finish` does not wait for work that a GPU gets later."""
        layouts, reads = self.prepare()
        return PendingRead(self, layouts, reads.begin() if reads else list)

    def _prepared(self) -> tuple[dict[str, NameLayout], StateReads | None]:
        """Find out where all values are."""
        layouts: dict[str, NameLayout] = {}
        for name in self.names:
            parts: list[ReadPart] = []
            count = size = 0
            for components in components_of(self.lpu, name, self._populations.get(name, ())):
                elements = components.element_names(name)
                for element, one in enumerate(elements or [name]):
                    for part, place, _ in components.placed_parts(one):
                        found = self._state(part, place)
                        out = behind(part.out, count)
                        parts.append(ReadPart(out, element, part.rows, place, found))
                count, size = count + len(components), len(elements)
            layouts[name] = NameLayout(count, size, parts)
        wanted = [layout.wanted for layout in layouts.values() if layout.wanted]
        first, *others = (copy.backend.live for copy in self.lpu.simulation.copies)
        return layouts, first.reads(wanted, others) if wanted else None

    def _state(self, part: GroupPart, place: Place) -> tuple[Key, slice] | None:
        """Return the array of a state, and which elements of it are read; None of other values."""
        array = place.array
        if array is None or array.role is not Role.STATE or place.one_for_all:
            return None
        if place.column is not None or not isinstance(array.key.owner, PopulationOwner):
            return None
        program = self.lpu.simulation.program
        ordered = part.number not in program.layout.positions and array.dtype == program.dtype
        return (array.key, part.rows) if ordered and isinstance(part.rows, slice) else None
