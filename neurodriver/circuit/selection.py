"""Selections: some components of a circuit, chosen by population, model or node columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError, PopulationError, near, quoted
from ..model.component import NDComponent
from .groups import Group
from .members import Members, Rows, index_text, rows_of
from .node_columns import POPULATION, Column, joined_columns, tables_of
from .numbered import Numbered

if TYPE_CHECKING:
    from .circuit import Circuit
    from .space import Space

ALWAYS = ("uid", "model", POPULATION)
"""Columns that every circuit has."""


class Selection(Members):
    """Some components of a circuit, in its order.

    `Circuit.select` and `Circuit.populations` make it. It can be given wherever components are
    named.

    Attributes
    ----------
    circuit : Circuit
    numbers : (n,) int64
        Component numbers.
    """

    def __init__(self, circuit: Circuit, numbers: Rows | range, name: str) -> None:
        self.circuit = circuit
        self._given = numbers
        self._name = name

    def __repr__(self) -> str:
        return f"<{self.name}: {self.count:,} of {self.circuit.count:,} components>"

    @property
    def name(self) -> str:
        """Name of the population, or how the components were chosen."""
        return self._name

    @cached_property
    def numbers(self) -> Rows:
        """Component numbers, (n,) int64; they are kept once they have been asked for."""
        return self._made()

    def _made(self) -> Rows:
        given = self._given
        return np.arange(given.start, given.stop) if isinstance(given, range) else given

    @property
    def count(self) -> int:
        return len(self._given)

    @property
    def span(self) -> range:
        """From the first component to the last one; for a selection that has any."""
        given = self._given
        return given if isinstance(given, range) else range(int(given[0]), int(given[-1]) + 1)

    @property
    def uids(self) -> NDArray[np.str_]:
        """Names of the components, (n,) str."""
        return self.circuit.uids[self.numbers]

    @cached_property
    def models(self) -> tuple[type[NDComponent], ...]:
        """Models of the components, in the circuit's order."""
        return tuple(dict.fromkeys(group.model for group, _ in self._parts()))

    @property
    def model(self) -> type[NDComponent]:
        """Model of all components.

        Raises
        ------
        CircuitError
            Where they have several models, or there are none of them.
        """
        models = self.models
        if len(models) != 1:
            some = ", ".join(model.__name__ for model in models) or "none"
            raise CircuitError(f"{self.name}: the components have several models or none ({some})")
        return models[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that `select` knows here."""
        named = {n: None for group, _ in self._parts() for n in _table(group)}
        return *ALWAYS, *(name for name in named if name not in ALWAYS)

    def column(self, name: str) -> Column:
        """Return a node column, a parameter, or ``uid``, ``model`` or ``population``, (n,).

        Components without the attribute have an empty text, NaN or False.

        Raises
        ------
        CircuitError
            For an unknown column.
        """
        circuit = self.circuit
        if name == "uid":
            return self.uids
        if name == POPULATION:
            return population_names(circuit)[self.numbers]
        if name == "model":
            names = np.array([group.name for group in circuit.groups], dtype=np.str_)
            return names[circuit.group_of(self.numbers)]
        known = self.columns
        plain = name.removesuffix("_")  # class_="..." for the column 'class'
        found = name if name in known else plain
        if found not in known:
            among = ", ".join(map(str, known))
            say = f"no component has a column {quoted(name)}{near(name, known)}"
            where = "" if self.name == WHOLE else f"{self.name}: "
            raise CircuitError(f"{circuit.name}: {where}{say}; there are {among}")
        tables, counts = [], []
        for group, rows in self._parts():
            table = _table(group)
            full = {n: np.broadcast_to(c, (group.count,)) for n, c in table.items() if n == found}
            tables.append({n: c[rows] for n, c in full.items()})
            counts.append(len(rows))
        return joined_columns(tables, counts)[found]

    def select(self, mask: Any = None, **conditions: Any) -> Selection:
        """Return those of the components that fulfil all conditions.

        Parameters
        ----------
        mask : (n,) bool array, optional
            Which components.
        **conditions
            A column, and what is wanted of it: a value; a list of values, of which any fits; a
            function of the column, (n,), that returns a mask, (n,) bool; or such a mask. The
            columns are those of the circuit's nodes, the parameters, ``model``, ``population`` and
            ``uid``. For a name that is a word of Python write ``class_=...``.

        Returns
        -------
        Selection
            Empty where nothing fits.

        Raises
        ------
        CircuitError
            For an unknown column, or a condition that does not fit it.
        """
        rows = np.ones(self.count, dtype=bool)
        said = []
        if mask is not None:
            rows &= _mask(mask, self.count, f"{self.name}: the mask")
            said.append("a mask")
        for name, wanted in conditions.items():
            rows &= self._fulfil(name, wanted)
            shown = getattr(wanted, "__name__", None) or f"{wanted!r:.60}"
            said.append(f"{name}={shown}")
        text = f"select({', '.join(said)})"
        whole = self.name == WHOLE
        return Selection(self.circuit, self.numbers[rows], text if whole else f"{self.name}.{text}")

    def __getitem__(self, index: Any) -> Selection:
        rows = rows_of(index, self.count, self.name)
        return Selection(self.circuit, self.numbers[rows], f"{self.name}{index_text(index)}")

    def numbers_in(self, circuit: Circuit) -> Rows:
        return self._made() if circuit is self.circuit else super().numbers_in(circuit)

    def _fulfil(self, name: str, wanted: Any) -> NDArray[np.bool_]:
        """Return which components fulfil one condition."""
        column = self.column(name)
        where = f"{self.name}: the condition on {quoted(name)}"
        if callable(wanted) and not isinstance(wanted, type):
            return _mask(wanted(column), len(column), f"{where}: the function's result")
        if isinstance(wanted, np.ndarray) and wanted.dtype.kind == "b":
            return _mask(wanted, len(column), where)
        several = isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes | type)
        values = list(wanted) if several else [wanted]
        values = [v.__name__ if isinstance(v, type) else v for v in values]  # models
        return _any_of(column, values, where)

    def _parts(self) -> Iterator[tuple[Group, Rows]]:
        """Yield the groups that have components here, and the rows of these."""
        starts = self.circuit.starts
        if isinstance(self._given, range):
            for number, group in enumerate(self.circuit.groups):
                first = int(starts[number])
                low, high = (
                    max(self._given.start, first),
                    min(self._given.stop, first + group.count),
                )
                if low < high:
                    yield group, np.arange(low - first, high - first)
            return
        which = np.searchsorted(starts, self.numbers, side="right") - 1
        cuts = np.flatnonzero(np.diff(which)) + 1
        for rows in np.split(np.arange(self.count), cuts) if self.count else ():
            number = int(which[rows[0]])
            yield self.circuit.groups[number], self.numbers[rows] - starts[number]


WHOLE = "circuit"
"""Name of the selection of all components."""


def whole(circuit: Circuit) -> Selection:
    """Return all components of a circuit that are not hidden."""
    shown = np.repeat([not g.hidden for g in circuit.groups], [g.count for g in circuit.groups])
    return Selection(circuit, np.flatnonzero(shown).astype(np.int64), WHOLE)


class Populations(dict[str, Selection]):
    """Populations of a circuit by name."""

    def __missing__(self, name: object) -> Selection:
        there = f"there are {', '.join(self) or 'none'}"
        raise PopulationError(f"no population {quoted(name)}{near(str(name), self)}; {there}")


def named_populations(circuit: Circuit) -> Populations:
    """Return the populations of a circuit by name, in the order of their first components.

    Components without a name of a population are those of a population named after their model.
    """
    if (counted := _counted(circuit)) is not None:
        return Populations({n: Selection(circuit, range(b, e), n) for n, b, e in counted})
    numbers = whole(circuit).numbers
    labels = population_names(circuit)[numbers]
    if not len(labels):
        return Populations()
    first = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
    names, begin, code = np.unique(labels[first], return_index=True, return_inverse=True)
    codes = np.repeat(code, np.diff([*first, len(labels)]))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    parts = np.split(order, ends[:-1])
    found = {
        str(name): Selection(circuit, numbers[p], str(name))
        for name, p in zip(names, parts, strict=True)
    }
    return Populations({name: found[name] for name in names[np.argsort(begin)].tolist()})


def _counted(circuit: Circuit) -> list[tuple[str, int, int]] | None:
    """Return name, first component and end of populations whose uids count; None if some do not."""
    found = []
    for group, first in zip(circuit.groups, circuit.starts.tolist(), strict=False):
        if group.scopes or not isinstance(group.names, Numbered):
            return None
        for name, count in group.names.parts if not group.hidden else ():
            found.append((name, first, first + count))
            first += count
    return found if len({name for name, _, _ in found}) == len(found) else None


def has_populations(circuit: Circuit) -> bool:
    """Whether any component has a named population."""
    return any(POPULATION in group.columns for group in circuit.groups)


def members_of(circuit: Circuit, population: str) -> NDArray[np.int64]:
    """Return the components of a population, by the name that it has in a joint circuit.

    That is ``left/R1`` for the population R1 of the LPU ``left``.
    """
    scope, _, name = population.partition("/")
    if scope in circuit.joined_from:
        own = circuit.members(scope) & (population_names(circuit) == name)
        return np.flatnonzero(own)
    found = circuit.populations.get(population)
    return np.empty(0, np.int64) if found is None else np.asarray(found.numbers)


def space_of(circuit: Circuit, numbers: NDArray[np.int64]) -> Space | None:
    """Return where the cells of a population are; None where components are of several, or none."""
    names = population_names(circuit)[numbers[[0, -1]]]
    if names[0] != names[1]:
        return None
    scopes = [s for s in circuit.joined_from if np.isin(numbers, circuit.numbers(s)).all()]
    name = f"{scopes[0]}/{names[0]}" if scopes else str(names[0])
    return circuit.spaces.get(name)


def population_names(circuit: Circuit) -> Column:
    """Return the name of each component's population, or else of its model, (count,) str."""
    names: Column = np.repeat(*population_runs(circuit))
    return names


def population_runs(circuit: Circuit) -> tuple[Column, NDArray[np.int64]]:
    """Return the name and the length of each run of components of one population, (runs,)."""
    names, counts = [np.empty(0, "U1")], [np.empty(0, np.int64)]
    none = np.empty(0, np.int64)
    for group in circuit.groups:
        for table, count in tables_of(group.columns, group.count):
            given = table.get(POPULATION, np.broadcast_to("", (count,)))
            changes = np.flatnonzero(given[1:] != given[:-1]) + 1 if given.strides[0] else none
            begins = np.concatenate([[0], changes, [count]]).astype(np.int64)
            found = given[begins[:-1]] if count else given
            unnamed = found == ""
            names.append(np.where(unnamed, group.name, found) if unnamed.any() else found)
            counts.append(np.diff(begins)[: len(found)])
    return np.concatenate(names), np.concatenate(counts)


def _table(group: Group) -> dict[str, Column]:
    """Return the columns of a group that can be selected by; node columns come first."""
    return {**group.params, **group.labels, **group.columns}


def _mask(given: Any, count: int, where: str) -> NDArray[np.bool_]:
    mask = np.asarray(given)
    if mask.dtype.kind != "b" or mask.shape != (count,):
        got = f"{mask.dtype} of shape {mask.shape}"
        raise CircuitError(f"{where}: {count} booleans are needed, got {got}")
    return mask


def _any_of(column: Column, values: list[Any], where: str) -> NDArray[np.bool_]:
    """Return where a column has one of some values."""
    text = column.dtype.kind == "U"
    fits = _is_text if text else _is_number
    for value in values:
        if not fits(value):
            holds = "text" if text else "numbers" if column.dtype.kind != "b" else "booleans"
            want = f"a value, a list of values, a function or a mask of {len(column)} booleans"
            got = f"got {value!r:.60}"
            raise CircuitError(f"{where}: the column holds {holds}; give {want} ({got})")
    if not values:
        return np.zeros(len(column), dtype=bool)
    wanted = np.array([str(v) for v in values]) if text else np.array(values)
    return np.isin(column, wanted)


def _is_text(value: object) -> bool:
    """Whether a value can stand in a column of text: ids are often given as whole numbers."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, bool | np.bool_ | int | float | np.integer | np.floating)
