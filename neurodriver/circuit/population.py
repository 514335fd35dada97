"""Populations: components of one model with a name, and circuits that are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count as counted
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError, Faults, UnitError, near, quoted
from ..model.component import NDComponent, Parameter
from ..model.library import shipped
from .arrays import check_arguments, connected, floats, unit_of
from .bounds import out_of_bounds
from .builders import builds
from .circuit import Circuit
from .distributions import Distribution, Uniform, faults_of, in_unit
from .drawing import Rows as DrawnRows
from .groups import Column, Connections, Group, joined_params
from .members import Members, Rows, index_text, rows_of
from .node_columns import POPULATION, given_columns, joined_columns, storable
from .projections import Projection, key_of
from .rules import Ends, OneToOne
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
    count : int
        Number of components.
    name : str
        Default: the key in the mapping that is given to `Circuit`, or else the name of the model
        with a number.
    uids : (count,) str array, optional
        Names of the components; default ``<name>/<number>``.
    columns : mapping, optional
        Further attributes to select by: column -> one value or (count,) text, numbers or booleans.
    **params
        Parameters and ``init...`` values in the units that the model declares: a number, (count,)
        numbers, or a distribution (`Normal`, `Uniform`, ...). What is drawn depends on the seed of
        the circuit, the name of the population and that of the parameter, and on nothing else.

    Raises
    ------
    CircuitError
        With all faults: unknown or missing parameters, wrong lengths, numbers that the model
        refuses.
    """

    def __init__(
        self,
        model: type[NDComponent] | str,
        count: int,
        /,
        *,
        name: str = "",
        uids: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        **params: Any,
    ) -> None:
        self._name = _checked_name(name)
        known = shipped()
        if isinstance(model, str) and model not in known:
            say = f"unknown model {quoted(model)}{near(model, known)}"
            fix = "`neurodriver models` lists the known ones; give the class of your own"
            raise CircuitError(f"population {quoted(name)}: {say}; {fix}")
        found = known[model] if isinstance(model, str) else model
        label = getattr(found, "__name__", "")
        where = f"population {quoted(name)}" if name else f"population of {label}"
        check_arguments(found, count, params, columns or {}, where)
        faults = Faults(where)
        self._laws: dict[str, Distribution] = {}
        numbers = {}
        stand_ins = {}
        for key, value in params.items():
            at, unit = f"{label}.{key}", unit_of(found, key)
            if isinstance(value, Distribution):
                self._laws[key] = _in_unit(value, unit, at, faults, _rule(found, key))
                stand_ins[key] = _stand_in(found, key, self._laws[key], faults)
            else:
                before = faults.count
                numbers[key] = floats(value, at, faults, unit)
                if faults.count > before:  # it is told of once
                    numbers[key] = np.array(_rule(found, key).harmless)
        names = None if uids is None else np.asarray(uids, dtype=np.str_)
        table = given_columns(columns or {}, int(count), label, faults)
        if POPULATION in table:
            faults.add("'population' is no column here: the population's name is what it holds")
        check_group(Group(found, {**numbers, **stand_ins}, int(count), names), faults)
        faults.finish()
        self._group = Group(found, numbers, int(count), names, columns=table)

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
        """Number of components."""
        return self._group.count

    @property
    def uids(self) -> NDArray[np.str_]:
        """Names of the components, (count,) str."""
        if self._group.given_uids is not None:
            return self._group.given_uids
        return np.strings.add(f"{self.name}/", np.arange(self.count).astype("U"))

    def __getitem__(self, index: Any) -> PopulationView:
        return PopulationView(self, index)

    def numbers_in(self, circuit: Circuit) -> Rows:
        found = circuit.populations.get(self.name)
        if found is not None and found.count == self.count and found.models == (self.model,):
            if self._group.given_uids is None or np.array_equal(self.uids, found.uids):
                return found.numbers
        return super().numbers_in(circuit)

    def group(self, seed: int) -> Group:
        """Return the components as columns, with what distributions draw."""
        drawn = {k: self._drawn(k, law, seed) for k, law in self._laws.items()}
        name = np.broadcast_to(np.array(self.name), (self.count,))
        return replace(
            self._group,
            params={**self._group.params, **drawn},
            given_uids=self.uids,
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
        key = key_of(seed, f"{self.name}\0{parameter}", "parameter")
        every = range(self.count)
        rows = DrawnRows(OneToOne(), Ends(every, every), key, law.law(), law.law())
        rows.place(np.empty(self.count, dtype=np.int32))
        out = np.empty(self.count)
        rows.values("weight", out)
        return out


class PopulationView(Members):
    """Some components of a population; it holds their numbers and nothing else.

    Parameters
    ----------
    parent : Population
    index : int, slice, mask or array of int
        Which of its components; all others are refused, also one that is named twice.

    Attributes
    ----------
    parent : Population
    index : (n,) int64
        Numbers within the population.
    """

    def __init__(self, parent: Population, index: Any) -> None:
        self.parent = parent
        self.index = rows_of(index, parent.count, repr(parent))
        self._text = index_text(index)

    def __repr__(self) -> str:
        return f"<PopulationView {self.parent!r}{self._text}: {self.count:,}>"

    @property
    def name(self) -> str:
        """Name of the population, with the index."""
        return f"{self.parent.name}{self._text}"

    @property
    def model(self) -> type[NDComponent]:
        """Model of the components."""
        return self.parent.model

    @property
    def count(self) -> int:
        """Number of components."""
        return len(self.index)

    @property
    def uids(self) -> NDArray[np.str_]:
        """Names of the components, (n,) str."""
        return self.parent.uids[self.index]

    def __getitem__(self, index: Any) -> PopulationView:
        rows = rows_of(index, self.count, repr(self))
        part = PopulationView(self.parent, self.index[rows])
        part._text = f"{self._text}{index_text(index)}"
        return part

    def numbers_in(self, circuit: Circuit) -> Rows:
        found = circuit.populations.get(self.parent.name)
        whole = found is not None and found.count == self.parent.count
        return self.parent.numbers_in(circuit)[self.index] if whole else super().numbers_in(circuit)


@builds("from_populations")
def from_populations(
    populations: Mapping[str, Population] | Iterable[Population],
    projections: Iterable[Projection | Connections],
    name: str,
    seed: int,
    strict: bool,
) -> Circuit:
    """Return the circuit of ``Circuit(populations, projections)``; a model becomes one group."""
    faults = Faults(name)
    given = _named(populations, name)
    members: dict[type[NDComponent], list[Population]] = {}
    for one in given:
        members.setdefault(one.model, []).append(one)
    if isinstance(projections, Projection | Connections):
        raise CircuitError(f"{name}: give the projections as a list, got one of them")
    key = seed if isinstance(seed, int | np.integer) else 0  # what it is instead is told later
    groups = [_group([one.group(int(key)) for one in parts]) for parts in members.values()]
    return connected(groups, projections, seed, strict, faults)


def _group(parts: list[Group]) -> Group:
    """Return the populations of one model as one group."""
    if len(parts) == 1:
        return parts[0]
    model, counts = parts[0].model, [part.count for part in parts]
    return Group(
        model,
        joined_params(model, [part.params for part in parts], counts),
        sum(counts),
        np.concatenate([part.uids for part in parts]),
        columns=joined_columns([part.columns for part in parts], counts),
    )


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
    times = Counter(one.name for one in given)
    twice = {name for name in times if times[name] > 1}
    if twice:
        some = ", ".join(map(quoted, sorted(twice)))
        raise CircuitError(f"{circuit}: several populations have the name {some}; names are unique")
    return given


_OTHERS = "for columns use Circuit.from_arrays"


def _checked_name(name: object) -> str:
    if isinstance(name, str) and len(name) <= LONGEST_NAME and storable(name):
        return name
    want = f"must be a text of at most {LONGEST_NAME} characters that files can hold"
    raise CircuitError(f"the name of a population {want} (got {name!r:.60})")


def _in_unit(
    law: Distribution, unit: str | None, name: str, faults: Faults, rule: Parameter
) -> Distribution:
    """Return a distribution of plain numbers; note quantities of another dimension."""
    try:
        converted = in_unit(law, unit, name)
    except UnitError as error:
        faults.add(str(error))
        return Uniform(rule.harmless, rule.harmless)
    assert isinstance(converted, Distribution)
    return converted


def _rule(model: type[NDComponent], name: str) -> Parameter:
    return model.params.get(name) or Parameter(model.optional_unit(name))


def _stand_in(
    model: type[NDComponent], name: str, law: Distribution, faults: Faults
) -> NDArray[np.float64]:
    """Return one number that a law may draw; note what is wrong with the law or its bounds."""
    wrong = list(faults_of(law))
    for text in wrong:
        faults.add(f"{model.__name__}.{name}: {text}")
    rule = _rule(model, name)
    harmless = np.array(rule.harmless)
    if wrong:
        return harmless
    bounds = law.law()
    text = out_of_bounds(rule, bounds.least, bounds.most)
    if rule.whole:
        text = "takes whole numbers, and no distribution draws them; give an array"
    if text:
        faults.add(f"{model.__name__}.{name} {text}")
        return harmless
    return np.array(bounds.least)
