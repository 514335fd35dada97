"""Projections: connections of a circuit that are given by a rule instead of columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from ..errors import Faults, UnitError, quoted
from ..model.component import NDComponent, Parameter
from ..model.plasticity import Plasticity
from .bounds import check_law
from .circuit import Circuit, Column, Connections, told
from .distributions import Distribution, Law, Value, faults_of, holds_quantity, in_unit, law_of
from .drawing import Rows
from .ends import Components, end_name, numbers_of_end, with_uids
from .members import Members
from .numbers import real
from .rules import Ends, Lattice, Rule
from .summary import projection_html
from .wiring import misfits, no_route, numbers_of, routes


@dataclass(frozen=True, eq=False, init=False)
class Projection:
    """Connections between two populations, given by a rule.

    There are two forms: ``Projection(source, target, rule, receptor=...)``, in which the variable
    is found, and ``Projection(variable, access, source, target, rule)``.

    Parameters
    ----------
    source, target : Population, part of one, Selection, model, name, range or (first, stop)
        Components that are neighbours in the circuit: those of a population or of a slice of it;
        all of a model, where one group has it; or component numbers, counted through the groups in
        their order. A name is that of a model or, where no model has it, of a population.
    rule : Rule
        Who is connected with whom: `AllToAll`, `FixedProbability`, `FixedInDegree`,
        `FixedOutDegree`, `FixedTotal`, `OneToOne`, `Lattice`.
    receptor : str, optional
        Receptor of the target, or the variable that it accesses. It may be left out where the
        target takes what the source gives in one place only.
    weight : float or Distribution
        Factor of each connection, for accesses that take one.
    delay : float or Distribution
        Latency in seconds.
    variable : str, optional
        The variable that flows; found by default.
    name : str
        Its random numbers come from this name (and from the seed of the circuit), so they are the
        same whatever other projections there are. Default: made of the ends and the access.
    access : str
        In the second form: name of the access of the target (its receptor where it has one).
    plasticity : Plasticity, optional
        The rule by which the weights learn; without one they stay what they are.
    dendritic : float
        Part of the delay from the synapse to the target, in seconds; the rest of the delay lies
        between the source and the synapse. For plastic projections.
    back : float, optional
        Time in seconds after which the synapse sees a spike of its target; default: ``dendritic``.
    largest : float, optional
        Largest |value| that a synapse which learns sends; larger ones are clamped to it. Default:
        the bounds of the rule, or else 16 times the largest first weight.
    """

    variable: str | None
    access: str | None
    source: Components
    target: Components
    rule: Rule
    weight: Value
    delay: Value
    name: str
    plasticity: Plasticity | None
    dendritic: float
    back: float | None
    largest: float | None

    @overload
    def __init__(
        self,
        source: Components,
        target: Components,
        rule: Rule,
        receptor: str | None = None,
        weight: Value = 1.0,
        delay: Value = 0.0,
        variable: str | None = None,
        name: str = "",
        plasticity: Plasticity | None = None,
        dendritic: float = 0.0,
        back: float | None = None,
        largest: float | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        variable: str,
        access: str,
        source: Components,
        target: Components,
        rule: Rule,
        weight: Value = 1.0,
        delay: Value = 0.0,
        name: str = "",
        plasticity: Plasticity | None = None,
        dendritic: float = 0.0,
        back: float | None = None,
        largest: float | None = None,
    ) -> None: ...

    def __init__(self, *given: Any, **more: Any) -> None:
        between = _between_populations(given, more)
        vars(self).update((_by_receptor if between else _by_access)(*given, **more))

    @property
    def label(self) -> str:
        """Name, or what stands for it."""
        ends = " -> ".join(end_name(end) for end in (self.source, self.target))
        return str(self.name or "") or (ends if self.access is None else f"{ends}, {self.access}")

    _repr_html_ = projection_html


def _between_populations(given: tuple[Any, ...], more: Mapping[str, Any]) -> bool:
    """Whether the arguments of a projection begin with its ends, and not with the variable."""
    if len(given) > 2:
        return isinstance(given[2], Rule) or not isinstance(given[0], str)
    return "access" not in more and ("source" not in more or not given)


def _by_receptor(
    source: Components,
    target: Components,
    rule: Rule,
    receptor: str | None = None,
    weight: Value = 1.0,
    delay: Value = 0.0,
    variable: str | None = None,
    name: str = "",
    plasticity: Plasticity | None = None,
    dendritic: float = 0.0,
    back: float | None = None,
    largest: float | None = None,
) -> dict[str, Any]:
    given = source, target, rule, weight, delay, variable, name
    learning = plasticity, dendritic, back, largest
    return {"access": receptor, **_fields_of(*given, *learning)}


def _by_access(
    variable: str,
    access: str,
    source: Components,
    target: Components,
    rule: Rule,
    weight: Value = 1.0,
    delay: Value = 0.0,
    name: str = "",
    plasticity: Plasticity | None = None,
    dendritic: float = 0.0,
    back: float | None = None,
    largest: float | None = None,
) -> dict[str, Any]:
    given = source, target, rule, weight, delay, variable, name
    learning = plasticity, dendritic, back, largest
    return {"access": access, **_fields_of(*given, *learning)}


for _form in (_by_receptor, _by_access):
    _form.__qualname__ = "Projection"  # what Python's own errors call it


def _fields_of(*given: Any) -> dict[str, Any]:
    return dict(zip(_FIELDS, given, strict=True))


_FIELDS = (
    "source", "target", "rule", "weight", "delay", "variable", "name", "plasticity", "dendritic",
    "back", "largest",
)  # fmt: skip


class Drawn(Connections):
    """Connections of a projection; its columns are drawn when one of them is first looked at.

    Sources ascend, and the targets of each. ``key`` is that of the random numbers, 64 bits.
    """

    projection: Projection
    ends: Ends
    key: int

    def __init__(self, projection: Projection, ends: Ends, key: int) -> None:
        given: dict[str, Any] = {"variable": projection.variable, "access": projection.access}
        given |= {"plasticity": projection.plasticity, "name": projection.label}
        vars(self).update(given, projection=projection, ends=ends, key=key)

    def __len__(self) -> int:
        known = self.projection.rule.edges(self.ends)
        return self._drawn_length if known is None else known

    def __repr__(self) -> str:
        return f"Drawn({self.projection.label!r}, {self.projection.rule})"

    def rows(self, window: range | None = None, threads: int | None = None) -> Rows:
        """Return the rows by source, for targets in a window of component numbers."""
        return Rows(
            self.projection.rule, self.ends, self.key, self.weight, self.latency, window, threads
        )

    @property
    def weight(self) -> Law:
        """How weights are drawn."""
        return law_of(self.projection.weight)

    @property
    def latency(self) -> Law:
        """How delays are drawn."""
        return law_of(self.projection.delay)

    @property
    def filtered(self) -> bool:
        """Whether the rule itself brings weights."""
        return isinstance(self.projection.rule, Lattice)

    @cached_property
    def _drawn_length(self) -> int:
        return self.rows().edges

    @cached_property
    def _columns(self) -> Connections:
        rows = self.rows()
        first = self.ends.source.start
        every = np.arange(first, first + len(rows.count), dtype=np.int32)
        target = np.empty(rows.edges, dtype=np.int32)
        rows.place(target)
        columns: dict[str, Column] = {}
        for name in ("weight", "delay"):
            value = getattr(self.projection, name)
            if isinstance(value, Distribution) or (name == "weight" and self.filtered):
                columns[name] = np.empty(rows.edges)
                rows.values(name, columns[name])
            else:
                columns[name] = np.asarray(value, dtype=np.float64)
        delay = columns.pop("delay")
        source = np.repeat(every, rows.count)
        if self.plasticity is not None:
            columns |= {name: np.asarray(value) for name, value in self.learning.items()}
        learning = self.plasticity, self.name
        return Connections(self.variable, self.access, source, target, delay, columns, *learning)

    def equal_times(self) -> dict[str, float] | None:
        """Return delay, dendritic part and time back, in seconds, where all connections share them.

        Without drawing the connections.
        """
        law = self.latency
        if law.least != law.most:
            return None
        dendritic = float(self.projection.dendritic)
        times = {"delay": law.least, "dendritic": dendritic, "back": dendritic}
        return times | self.learning

    @property
    def learning(self) -> dict[str, float]:
        """Numbers of connections that learn: where they are on their way (s), what they send."""
        given = {name: getattr(self.projection, name) for name in ("dendritic", "back", "largest")}
        return {name: float(value) for name, value in given.items() if value is not None}

    def expanded(self) -> Connections:
        """Return the connections as columns."""
        return self._columns

    def __getattr__(self, name: str) -> Any:
        if name in ("source", "target", "delay", "data"):
            return getattr(self._columns, name)
        raise AttributeError(f"connections have no attribute {name!r}")

    def told(self) -> Iterator[bytes]:
        """Yield what the digest takes in: the rule, not what it draws."""
        given = self.projection
        # float(): a number of numpy and one of Python are the same
        fields = [(name, float(value)) for name, value in sorted(given.rule.fields.items())]
        laws = [[float(x) for x in vars(law).values()] for law in (self.weight, self.latency)]
        yield f"{self.variable}:{self.access};{self.key};{self.ends};{fields};{laws};".encode()
        if self.plasticity is not None:
            yield f"{self.plasticity.told()};{self.learning};".encode()
        for name, column in sorted(given.rule.columns.items()):
            yield told(name, column)


def bind(
    given: Sequence[Projection],
    circuit: Circuit,
    seed: int,
    faults: Faults,
    keys: Sequence[int] | None = None,
) -> list[Drawn]:
    """Return projections bound to the components of a circuit; note all that does not fit.

    The keys of their random numbers come from the seed and their names where none are given.
    """
    out: list[Drawn] = []
    names: set[str] = set()
    for number, one in enumerate(given):
        here = Faults(circuit.name)
        both, found = _bound(one, circuit, here)
        if found.label in names:
            advice = "its random numbers come from its name; give each a 'name' of its own"
            here.add(f"two projections have this name, but {advice}")
        names.add(found.label)
        if not here.count:
            key = key_of(seed, found.label) if keys is None else keys[number]
            out.append(Drawn(found, both, key))
        say = f"projection {quoted(found.label)}"
        faults.add_each((f"{say}: {text}" for text in here.messages), here.count)
    return out


def _bound(one: Projection, circuit: Circuit, faults: Faults) -> tuple[Ends, Projection]:
    """Return the component numbers of the ends, and the projection with what flows; note faults."""
    ends = [numbers_of_end(getattr(one, end), end, circuit, faults) for end in ("source", "target")]
    both = Ends(ends[0], ends[1])
    texts: dict[str, object] = {"variable": one.variable, "receptor": one.access, "name": one.name}
    for name, given in texts.items():
        if not isinstance(given, str) and (given is not None or name == "name"):
            faults.add(f"'{name}' must be a text (got {given!r:.60})")
    rule: object = one.rule
    if not isinstance(rule, Rule):
        want = "a rule, such as AllToAll() or FixedProbability(0.1)"
        faults.add(f"'rule' must be {want} (got {rule!r:.60})")
    routed = one if faults.count else _routed(one, both, circuit, faults)
    found = _in_units(routed, both, circuit, faults)
    for name in ("weight", "delay"):
        for text in faults_of(getattr(found, name)):
            faults.add(f"'{name}': {text}")
    for name, default in {"dendritic": 0.0, "back": None, "largest": None}.items():
        value = getattr(found, name)
        if value is not default and not np.isfinite(real(value)):
            faults.add(f"'{name}' must be a finite number (got {value!r:.60})")
    if faults.count:
        return both, found
    for text in found.rule.faults(both):
        faults.add(f"{type(found.rule).__name__}: {text}")
    _wiring(found, both, circuit, faults, not faults.count)
    if isinstance(found.plasticity, Plasticity) and not faults.count:
        rule = with_uids(found.plasticity, str(found.variable), circuit, faults)
        found = copy(found)
        vars(found)["plasticity"] = rule
    return both, found


def _in_units(one: Projection, ends: Ends, circuit: Circuit, faults: Faults) -> Projection:
    """Return a projection whose quantities are plain numbers; note what does not fit."""
    values = {name: getattr(one, name) for name in ("weight", "delay", "dendritic", "back")}
    if not any(map(holds_quantity, values.values())):
        return one
    if faults.count:  # the unit of the weight is not known
        values["weight"] = 0.0
    targets = models_of(circuit, ends.target)
    rules = {} if faults.count else numbers_of(circuit, str(one.variable), str(one.access), targets)
    units = dict.fromkeys(values, "s")
    units["weight"] = rules["weight"].unit if "weight" in rules else ""
    for name, value in values.items():
        try:
            values[name] = in_unit(value, units[name], f"'{name}'")
        except UnitError as error:
            faults.add(str(error))
            values[name] = 0.0
    out = copy(one)
    vars(out).update(values)
    return out


def _routed(one: Projection, ends: Ends, circuit: Circuit, faults: Faults) -> Projection:
    """Return a projection that knows its variable and access, and holds no population."""
    variable, access = one.variable, one.access
    if variable is None or access is None:
        sources, targets = models_of(circuit, ends.source), models_of(circuit, ends.target)
        found = routes(circuit, sources, targets, variable, access)
        if len(found) != 1:
            faults.add(no_route(sources, targets, variable, access, found))
            return one
        variable, access = found[0]
    elif not any(isinstance(end, Members) for end in (one.source, one.target)):
        return one
    said = " -> ".join(end_name(end) for end in (one.source, one.target))
    name = one.name or f"{said}, {access}"
    learning = one.plasticity, one.dendritic, one.back, one.largest
    return Projection(
        variable, access, ends.source, ends.target, one.rule, one.weight, one.delay, name, *learning
    )


def key_of(seed: int, name: str, what: str = "projection") -> int:
    """Return the key of the random numbers of a projection, or of something else, 64 bits."""
    digest = hashlib.blake2b(f"{what} {seed} {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def warn_of_none(links: Drawn, faults: Faults) -> None:
    """Warn of a rule that connects nothing, where that is known without drawing."""
    if links.projection.rule.edges(links.ends) == 0:
        faults.warn(f"projection {quoted(links.projection.label)} has no connections")


def _wiring(one: Projection, ends: Ends, circuit: Circuit, faults: Faults, sound: bool) -> None:
    """Note variables and accesses that models do not know, and numbers that an access refuses."""
    variable, access = str(one.variable), str(one.access)
    sources, targets = models_of(circuit, ends.source), models_of(circuit, ends.target)
    for text in misfits(circuit, variable, access, sources, targets):
        faults.add(f"{quoted(variable)} -> {quoted(access)}: {text}")
    rules = numbers_of(circuit, variable, access, targets)
    for key, rule in rules.items():
        if key != "weight" and rule.default is None:
            what = f"every connection needs '{key}' [{rule.unit}]"
            faults.add(f"{what}, which no projection has; give Connections")
    factors: Any = 1.0
    if isinstance(one.rule, Lattice) and sound:
        factors = one.rule.columns["weights"]
    check_law("weight", law_of(one.weight), factors, rules.get("weight"), faults)
    check_law("delay", law_of(one.delay), 1.0, Parameter("s", at_least=0.0), faults)


def models_of(circuit: Circuit, numbers: range) -> list[type[NDComponent]]:
    """Return the models of components with numbers in a range."""
    ends = zip(circuit.groups, circuit.starts, strict=False)
    return [g.model for g, at in ends if at < numbers.stop and at + g.count > numbers.start]
