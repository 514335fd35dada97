"""Populations: components of one model with a name, and circuits that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count as counted
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError, Faults, near, quoted
from ..model.component import NDComponent
from ..model.library import shipped
from . import layer
from .arrays import check_arguments, check_model, connected, floats, uid_column, unit_of
from .axis import Axis, AxisRun
from .builders import builds
from .circuit import Circuit
from .distributions import Distribution
from .groups import Connections, Group, joined_params
from .members import Members, Rows, index_text, rows_of
from .node_columns import POPULATION, JoinedColumns, given_columns, storable
from .numbered import Column, Numbered
from .numbers_drawn import numbers_drawn
from .pace import Pace, pace_of
from .population_values import law_in_unit, rule_of, space_given, stand_in, with_elements
from .population_view import PopulationView
from .projections import Projection
from .space import AxisGrid, runs_near, runs_within
from .step_order import in_order
from .validate import check_group

LONGEST_NAME = 200
"""Longest name of a population in characters: uids begin with it."""


class Population(Members):
    """Components of one model: a part of a circuit that is not made yet.

    Indexing and slicing give a `PopulationView`. Both can be given wherever components are named:
    to inputs, recorders and projections.

    Parameters
    ----------
    model : NDComponent subclass or str
        The model, or the name of a shipped one.
    count : int, optional
        Number of components, where neither axes nor positions say it.
    name : str
        Default: the key in the mapping that is given to `Circuit`, or else the name of the model
        with a number.
    uids : (count,) str array, optional
        Names of the components; default ``<name>/<number>``.
    columns : mapping, optional
        Further attributes to select by: column -> one value or (count,) text, numbers or booleans.
    axes : mapping of str to Axis or int, optional
        Axes on which the components are, the last one fastest in memory. A number is an `Axis`
        without positions. They are attributes of the population, too: ``image.y``.
    mask : array of bool, optional
        At which points of the axes components are, in the shape of the axes; default: at all.
    positions : (count, d) array, or mapping of str to (count,) array, optional
        Places of components that are not on axes, and names of the coordinates.
    period : float, or mapping of str to float, optional
        Of positions: the length after which a closed space begins again.
    every, first : int
        The population is computed at step ``first`` and at every ``every``-th step after it, and a
        step of it is ``every`` steps long. Between, its values stay and it emits no events. Models
        that read events, or that have code of their own, are computed at each step.
    **params
        Parameters and ``init...`` values in the units that the model declares: a number, (count,)
        numbers or numbers in the population's shape, or a distribution (`Normal`, `Uniform`, ...).
        What is drawn depends on the seed of the circuit, the name of the population and that of
        the parameter, and on nothing else.

    Raises
    ------
    CircuitError
        With all faults: unknown or missing parameters, wrong lengths, numbers that the model
        refuses; or axes, a mask or positions that do not fit.
    """

    def __init__(
        self,
        model: type[NDComponent] | str,
        count: int | None = None,
        /,
        *,
        name: str = "",
        uids: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        axes: Mapping[str, Axis | int] | None = None,
        mask: ArrayLike | None = None,
        positions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        period: float | Mapping[str, float] | None = None,
        every: Any = 1,
        first: Any = 0,
        **params: Any,
    ) -> None:
        self._name = _checked_name(name)
        known = shipped()
        if isinstance(model, str) and model not in known:
            say = f"unknown model {quoted(model)}{near(model, known)}"
            fix = "`neurodriver models` lists the known ones; give the class of your own"
            raise CircuitError(f"population{' ' + quoted(name) if name else ''}: {say}; {fix}")
        found = known[model] if isinstance(model, str) else model
        label = getattr(found, "__name__", "")
        where = f"population {quoted(name)}" if name else f"population of {label}"
        check_model(found, where)
        pace, params = pace_of(found, every, first, params, where)
        space = space_given(found, count, axes, mask, positions, period, where)
        count = count if space is None else space.count
        columns = {} if columns is None else columns
        check_arguments(found, count, params, columns, where)
        assert count is not None
        self.space = space
        faults = Faults(where)
        self._given = layer.take(found, params, self._lengths, faults)
        params = with_elements(found, self._prepared(found, params, faults), faults)
        self._laws: dict[str, Distribution] = {}
        numbers = {}
        stand_ins = {}
        for key, value in params.items():
            at, unit = f"{label}.{key}", unit_of(found, key)
            if isinstance(value, Distribution):
                self._laws[key] = law_in_unit(value, unit, at, faults, rule_of(found, key))
                stand_ins[key] = stand_in(found, key, self._laws[key], faults)
            else:
                before = faults.count
                column = floats(value, at, faults, unit)
                numbers[key] = column if space is None else space.column(column)
                if faults.count > before:  # it is told of once
                    numbers[key] = np.array(rule_of(found, key).harmless)
        names = None if uids is None else uid_column(uids, where)
        table = given_columns(columns or {}, int(count), label, faults)
        if POPULATION in table:
            faults.add("'population' is no column here: the population's name is what it holds")
        check_group(Group(found, {**numbers, **stand_ins}, int(count), names), faults)
        layer.complete(found, self._given, self._lengths, faults)
        faults.finish()
        made = Group(found, numbers, int(count), names, columns=table)
        self._group = replace(made, every=pace[0], first=pace[1])

    def __repr__(self) -> str:
        return f"<Population {self._name or 'without a name'}: {self.count:,} {self._group.name}>"

    @property
    def name(self) -> str:
        """Name of the population.

        Raises
        ------
        CircuitError
            Where it has none yet.
        """
        if not self._name:
            fix = "give it name=..., or put it into a Circuit first"
            raise CircuitError(f"a population of {self._group.name} has no name yet; {fix}")
        return self._name

    @property
    def model(self) -> type[NDComponent]:
        """Model of the components."""
        return self._group.model

    @property
    def count(self) -> int:
        return self._group.count

    @property
    def pace(self) -> Pace:
        """Every how many steps the population is computed, and from which step on."""
        return self._group.every, self._group.first

    @property
    def uids(self) -> NDArray[np.str_]:
        if self._group.given_uids is not None:
            return self._group.given_uids
        return self._numbered().made()

    @property
    def axes(self) -> Mapping[str, Axis]:
        """Axes by name, in their order; none where the components are not on axes."""
        return dict(self.space.axes) if isinstance(self.space, AxisGrid) else {}

    @property
    def _lengths(self) -> dict[str, int]:
        """Number of cells along each axis."""
        return {name: axis.count for name, axis in self.axes.items()}

    def _prepared(
        self, model: type[NDComponent], params: dict[str, Any], faults: Faults
    ) -> dict[str, Any]:
        """Return the parameters with what the model computes; fields are taken."""
        if not any(isinstance(vars(b).get("prepare"), classmethod) for b in model.__mro__[:-2]):
            return params
        self._plain = params
        made: Any = model.prepare(self)
        if not isinstance(made, Mapping):
            want = "must return values of fields and parameters by name, such as {'gain': 1.0}"
            faults.add(f"{model.__name__}.prepare: {want} (got {made!r:.60})")
            return params
        known = {*model.fields, *model.params, *model.initial_names()}
        for name in made.keys() - known:
            hint = near(str(name), known)
            faults.add(f"{model.__name__}.prepare: no field or parameter {quoted(name)}{hint}")
        more = {n: v for n, v in made.items() if n in known and n not in params}
        more = {n: v for n, v in more.items() if n not in self._given.fields}
        fields = {n: more.pop(n) for n in [*more] if n in model.fields}
        for name, value in fields.items():
            rule, where = model.fields[name], f"{model.__name__}.{name}"
            self._given.fields[name] = layer.field_value(rule, value, self._lengths, where, faults)
        return {**params, **more}

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a value of each component: that of the axes, (count,) under a mask."""
        return (self.count,) if self.space is None else self.space.shape

    @property
    def positions(self) -> NDArray[np.float64]:
        """Place of each component, (count, axes); NaN along an axis without positions.

        Raises
        ------
        CircuitError
            Where the population has neither axes nor positions.
        """
        if self.space is None:
            fix = "give it axes= or positions="
            raise CircuitError(f"{self!r} has no positions; {fix}")
        return self.space.positions

    def __getattr__(self, name: str) -> Any:
        space = vars(self).get("space")
        axes = space.axes if isinstance(space, AxisGrid) else {}
        if name in axes:
            return axes[name]
        given = vars(self).get("_given")
        if given is not None and name in given.fields:
            return given.fields[name].array
        plain = vars(self).get("_plain", {})
        if name in plain:
            return plain[name]
        raise AttributeError(f"a population has no attribute or axis {name!r}{near(name, axes)}")

    def uid(self, *index: int) -> str:
        """Return the name of one component, by its index along each axis or by its number."""
        one = self[index[0] if len(index) == 1 else index]
        if one.count != 1:
            raise CircuitError(f"{one.name}: {one.count} components; give the indices of one")
        return str(one.uids[0])

    def near(self, place: Mapping[str, float], n: int) -> dict[str, AxisRun]:
        """Return the ``n`` cells nearest to a place, along each axis that it names."""
        return runs_near(self.axes, place, n, repr(self))

    def within(self, place: Mapping[str, float], r: float) -> dict[str, AxisRun]:
        """Return the cells at most ``r`` from a place, along each axis that it names."""
        return runs_within(self.axes, place, r, repr(self))

    def __getitem__(self, index: Any) -> PopulationView:
        rows, shape = (
            self._rows(index) if self.space is None else self.space.rows(index, repr(self))
        )
        return PopulationView(self, rows, index_text(index), shape)

    def _rows(self, index: Any) -> tuple[Rows, tuple[int, ...]]:
        rows = rows_of(index, self.count, repr(self))
        return rows, rows.shape

    def numbers_in(self, circuit: Circuit) -> Rows:
        found = circuit.populations.get(self.name)
        if found is not None and found.count == self.count and found.models == (self.model,):
            if self._group.given_uids is None or np.array_equal(self.uids, found.uids):
                return found.numbers_in(circuit)
        return super().numbers_in(circuit)

    def _numbered(self) -> Numbered:
        return Numbered(((self.name, self.count),))

    def group(self, seed: int) -> Group:
        """Return the components as columns, with what distributions draw."""
        drawn = {k: self._drawn(k, law, seed) for k, law in self._laws.items()}
        name = np.broadcast_to(np.array(self.name), (self.count,))
        return replace(
            self._group,
            params={**self._group.params, **drawn},
            names=self._numbered() if self._group.names is None else self._group.names,
            columns={**self._group.columns, POPULATION: name},
        )

    def named(self, name: str) -> None:
        """Take a name, where there is none yet.

        Raises
        ------
        CircuitError
            Where there is another one.
        """
        if self._name and self._name != name:
            say = f"has the name {quoted(self._name)}, so it cannot be {quoted(name)}"
            raise CircuitError(f"a population of {self._group.name} {say}; give one name")
        self._name = _checked_name(name)

    def _drawn(self, parameter: str, law: Distribution, seed: int) -> Column:
        """Return the numbers of a parameter: a function of seed, names and place."""
        return numbers_drawn(law, self.count, seed, f"{self.name}\0{parameter}", "parameter")


@builds("from_populations")
def from_populations(
    populations: Mapping[str, Population] | Iterable[Population],
    projections: Iterable[Projection | Connections],
    name: str,
    seed: int,
    strict: bool,
    order: object = None,
    shared: Mapping[str, Any] | None = None,
) -> Circuit:
    """Return the circuit of ``Circuit(populations, projections)``.

    A model becomes one group, or one for each phase of an order; populations of a model with
    fields or sources are groups of their own.
    """
    faults = Faults(name)
    given = _named(populations, name)
    members: dict[tuple[type[NDComponent], str], list[Population]] = {}
    for one in given:
        members.setdefault((one.model, one.name if one.model.layered() else ""), []).append(one)
    values = layer.shared_values([one.model for one in given], shared or {}, faults)
    layers = {
        one.name: (one.model, one._given.layer(one, values)) for one in given if one.model.layered()
    }
    layer.check_sources(layers, {one.name: one.model for one in given}, faults)
    layer.check_values((found for _, found in layers.values()), faults)
    faults.finish(strict)
    if isinstance(projections, Projection | Connections):
        raise CircuitError(f"{name}: give the projections as a list, got one of them")
    key = seed if isinstance(seed, int | np.integer) else 0  # what it is instead is told later
    groups = [
        replace(
            _group([one.group(int(key)) for one in parts]),
            layer=layers[name][1] if name else None,
        )
        for (_, name), every in members.items()
        for _, parts in groupby(every, lambda one: one.pace)
    ]
    spaces = {one.name: one.space for one in given if one.space is not None}
    made = connected(groups, projections, seed, strict, faults, spaces)
    return made if order is None else in_order(made, order, [one.name for one in given])


def _group(parts: list[Group]) -> Group:
    """Return the populations of one model as one group."""
    if len(parts) == 1:
        return parts[0]
    model, counts = parts[0].model, [part.count for part in parts]
    return Group(
        model,
        joined_params(model, [part.params for part in parts], counts),
        sum(counts),
        joined_names([part.names for part in parts], parts),
        columns=JoinedColumns([part.columns for part in parts], counts),
        every=parts[0].every,
        first=parts[0].first,
    )


def joined_names(names: list[Any], parts: list[Group]) -> Column | Numbered:
    """Return the names of several groups as those of one."""
    if all(isinstance(one, Numbered) for one in names):
        return Numbered(tuple(part for one in names for part in one.parts))
    return np.concatenate([part.uids for part in parts])


def _named(populations: object, circuit: str) -> list[Population]:
    """Return populations, each with a name of its own; those without one get it."""
    if isinstance(populations, Mapping):
        keys, given = [*populations], [*populations.values()]
    elif isinstance(populations, Iterable) and not isinstance(populations, str | Members):
        given = [*populations]
        keys = [""] * len(given)
    else:
        want = "populations must be a list of Population, or a mapping of names to them"
        raise CircuitError(f"{circuit}: {want} (got {populations!r:.60}); {_OTHERS}")
    for one in given:
        if not isinstance(one, Population):
            raise CircuitError(f"{circuit}: expected a Population, got {one!r:.60}; {_OTHERS}")
    for key, one in zip(keys, given, strict=True):
        if key != "":
            one.named(key)
    taken = {one._name for one in given}
    for one in given:
        if not one._name:
            numbered = (f"{one.model.__name__}_{number}" for number in counted())
            one.named(next(name for name in numbered if name not in taken))
            taken.add(one.name)
    _check_names(given, circuit)
    return given


_OTHERS = "for columns use Circuit.from_arrays"


def _check_names(given: list[Population], circuit: str) -> None:
    """Raise CircuitError where several populations have one name. It gives their places."""
    places: dict[str, list[int]] = {}
    for place, one in enumerate(given):
        places.setdefault(one.name, []).append(place)
    faults = Faults(circuit)
    for name, some in places.items():
        told = [f"{place} ({given[place].model.__name__})" for place in some[:4]]
        if len(some) > 4:
            told[3] = f"{len(some) - 3} others"
        where = f"{', '.join(told[:-1])} and {told[-1]}"
        if len({id(given[place]) for place in some}) < len(some):
            faults.add(f"population {quoted(name)} is given several times: {where}; give it once")
        elif len(some) > 1:
            say = f"have the name {quoted(name)}; each population needs its own name"
            faults.add(f"populations {where} {say}")
    faults.finish()


def _checked_name(name: object) -> str:
    if isinstance(name, str) and len(name) <= LONGEST_NAME and storable(name):
        return name
    want = f"must be a text of at most {LONGEST_NAME} characters that files can hold"
    raise CircuitError(f"the name of a population {want} (got {name!r:.60})")
