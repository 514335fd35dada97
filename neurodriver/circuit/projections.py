"""Projections: connections of a circuit that are given by a rule instead of columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
from inspect import Signature, signature
from typing import Any, get_overloads, overload

import numpy as np

from ..errors import Faults, UnitError, quoted
from ..model.component import NDComponent, Parameter
from ..model.plasticity import Plasticity
from .bounds import check_law
from .circuit import Circuit
from .distributions import Distribution, Value, faults_of, holds_quantity, in_unit, law_of
from .drawn import Drawn, laws_of
from .ends import Components, end_name, numbers_of_end, with_uids
from .formula import Formula
from .located import NO_LAWS, Laws, Located, located_of
from .members import Members
from .numbers import real
from .place_formula import PlaceFormula
from .rules import Ends, Rule
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
        `FixedOutDegree`, `FixedTotal`, `OneToOne`, `Lattice`; or by place `Near`, `Within`,
        `Offsets`.
    receptor : str, optional
        Receptor of the target, or the variable that it accesses. It may be left out where the
        target takes what the source gives in one place only.
    weight : float, Distribution, Formula or str
        Factor of each connection, for accesses that take one. A `Formula` computes it from the
        places of its ends, under a rule of place. A text is a formula, too, such as
        ``"filters[theta, dy, dx]"``: it reads a field of the target or of the source.
    delay : float, Distribution, Formula or str
        Latency in seconds. A text is a formula, such as ``"1e-3 + 1e-4 * d"``.
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
        Largest absolute value that a synapse which learns sends; larger ones are clamped to it.
        Default: the bounds of the rule, or else 16 times the largest first weight.
    stored : bool or "auto"
        Whether the connections are stored. Those of a rule of place need not be: then they are
        found in each step. The results are the same. By default it is decided by their number.
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
    stored: bool | str

    @overload
    def __init__(
        self,
        source: Components,
        target: Components,
        rule: Rule,
        receptor: str | None = None,
        weight: Value | str = 1.0,
        delay: Value = 0.0,
        variable: str | None = None,
        name: str = "",
        plasticity: Plasticity | None = None,
        dendritic: float = 0.0,
        back: float | None = None,
        largest: float | None = None,
        stored: bool | str = "auto",
    ) -> None: ...

    @overload
    def __init__(
        self,
        variable: str,
        access: str,
        source: Components,
        target: Components,
        rule: Rule,
        weight: Value | str = 1.0,
        delay: Value = 0.0,
        name: str = "",
        plasticity: Plasticity | None = None,
        dendritic: float = 0.0,
        back: float | None = None,
        largest: float | None = None,
        stored: bool | str = "auto",
    ) -> None: ...

    def __init__(self, *given: Any, **more: Any) -> None:
        form = _forms()[_between_populations(given, more)]
        try:
            bound = form.bind(self, *given, **more)
        except TypeError as error:
            raise TypeError(f"Projection(): {error}") from None
        bound.apply_defaults()
        _, *values = bound.arguments.items()
        vars(self).update(("access", v) if name == "receptor" else (name, v) for name, v in values)
        texts = {n: vars(self)[n] for n in ("weight", "delay") if isinstance(vars(self)[n], str)}
        vars(self).update((name, Formula(text)) for name, text in texts.items())

    @property
    def label(self) -> str:
        """Name, or what stands for it."""
        ends = " -> ".join(end_name(end) for end in (self.source, self.target))
        name = self.name if isinstance(self.name, str) else ""  # others are refused later
        return name or (ends if self.access is None else f"{ends}, {self.access}")

    _repr_html_ = projection_html


def _between_populations(given: tuple[Any, ...], more: Mapping[str, Any]) -> bool:
    """Whether the arguments of a projection begin with its ends, and not with the variable."""
    if len(given) > 2:
        return isinstance(given[2], Rule) or not isinstance(given[0], str)
    return "access" not in more and ("source" not in more or not given)


@cache
def _forms() -> dict[bool, Signature]:
    """Return the arguments of both forms; the first one, between populations, is that of True."""
    first, second = map(signature, get_overloads(Projection.__init__))
    return {True: first, False: second}


class _Known:
    """What is found once for all projections of a circuit, as thousands have the same ends.

    Attributes
    ----------
    ends : dict of int to range
        id of what an end is given as -> its numbers.
    models : callable
        Numbers -> models.
    routes, misfits, numbers : callable
        Those of `wiring` (`numbers_of`), with tuples of models.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.ends: dict[int, range] = {}
        self.models = cache(lambda numbers: tuple(models_of(circuit, numbers)))
        self.routes = cache(partial(routes, circuit))
        self.misfits = cache(lambda *given: tuple(misfits(circuit, *given)))
        self.numbers = cache(partial(numbers_of, circuit))


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
    known = _Known(circuit)
    for number, one in enumerate(given):
        here = Faults(circuit.name)
        both, found, located, laws = _bound(one, circuit, here, known)
        if found.label in names:
            advice = "its random numbers come from its name; give each a 'name' of its own"
            here.add(f"two projections have this name, but {advice}")
        names.add(found.label)
        if not here.count:
            key = key_of(seed, found.label) if keys is None else keys[number]
            out.append(Drawn(found, both, key, laws, located))
        say = f"projection {quoted(found.label)}"
        faults.add_each((f"{say}: {text}" for text in here.messages), here.count)
    return out


def _end(one: Projection, end: str, circuit: Circuit, faults: Faults, known: _Known) -> range:
    """Return the numbers of an end; ``known`` keeps those of each object."""
    given = getattr(one, end)
    if id(given) not in known.ends:
        found = numbers_of_end(given, end, circuit, faults)
        if not found:
            return found
        known.ends[id(given)] = found
    return known.ends[id(given)]


def _bound(
    one: Projection, circuit: Circuit, faults: Faults, known: _Known
) -> tuple[Ends, Projection, Located | None, Laws]:
    """Return the numbers of the ends, the projection with what flows, and what follows from places.

    What does not fit is noted.
    """
    both = Ends(*(_end(one, end, circuit, faults, known) for end in ("source", "target")))
    texts: dict[str, object] = {"variable": one.variable, "receptor": one.access, "name": one.name}
    for name, given in texts.items():
        if not isinstance(given, str) and (given is not None or name == "name"):
            faults.add(f"'{name}' must be a text (got {given!r:.60})")
    if one.stored not in (True, False, "auto"):
        faults.add(f"'stored' must be True, False or 'auto' (got {one.stored!r:.60})")
    rule: object = one.rule
    if not isinstance(rule, Rule):
        want = "a rule, such as AllToAll() or FixedProbability(0.1)"
        faults.add(f"'rule' must be {want} (got {rule!r:.60})")
    routed = one if faults.count else _routed(one, both, known, faults)
    found = _in_units(routed, both, known, faults)
    for name in ("weight", "delay"):
        for text in faults_of(getattr(found, name)):
            faults.add(f"'{name}': {text}{_one_by_one(name, found)}")
    for name, default in {"dendritic": 0.0, "back": None, "largest": None}.items():
        value = getattr(found, name)
        if value is not default and not np.isfinite(real(value)):
            faults.add(f"'{name}' must be a finite number (got {value!r:.60})")
    if faults.count:
        return both, found, None, NO_LAWS
    for text in found.rule.faults(both):
        faults.add(f"{type(found.rule).__name__}: {text}")
    located = located_of(found, both, circuit, faults)
    sound = not faults.count
    laws = laws_of(found, both, located if sound else None, circuit, faults)
    _wiring(found, both, known, faults, laws, sound)
    if isinstance(found.plasticity, Plasticity) and not faults.count:
        rule = _with_laws(found.plasticity, faults)
        rule = with_uids(rule, str(found.variable), circuit, faults)
        found = copy(found)
        vars(found)["plasticity"] = rule
    return both, found, located, laws


def _one_by_one(name: str, one: Projection) -> str:
    """Return what to do for numbers of single connections, where an array of them was given."""
    if not np.ndim(getattr(one, name)):
        return ""
    late = f", or set by lpu.connections['{one.label}'].weight = ..." if name == "weight" else ""
    return f"; numbers of single connections are those of nd.Connections{late}"


def _with_laws(rule: Plasticity, faults: Faults) -> Plasticity:
    """Return a rule whose laws draw plain numbers; note what is wrong with them."""
    laws: dict[str, Any] = {}
    for name, given in rule.columns.items():
        said, declared = f"{type(rule).__name__}, '{name}'", rule.params[name]
        if isinstance(given, Distribution):
            try:
                law = in_unit(given, declared.unit, said)
            except UnitError as error:
                faults.add(str(error))
                continue
            wrong = [f"{said}: {text}" for text in faults_of(law)]
            faults.add_each(wrong, len(wrong))
            if not wrong and isinstance(law, Distribution):
                check_law(name, law_of(law), 1.0, declared, faults)
                laws[name] = law
        elif not isinstance(given, np.ndarray):
            want = "a number, one of each synapse, or a distribution"
            faults.add(f"{said}: {want} is expected (got {given!r:.60})")
    return rule.changed(**laws) if laws else rule


def _in_units(one: Projection, ends: Ends, known: _Known, faults: Faults) -> Projection:
    """Return a projection whose quantities are plain numbers; note what does not fit."""
    values = {name: getattr(one, name) for name in ("weight", "delay", "dendritic", "back")}
    if not any(map(holds_quantity, values.values())):
        return one
    if faults.count:  # the unit of the weight is not known
        values["weight"] = 0.0
    flows = str(one.variable), str(one.access)
    rules = {} if faults.count else known.numbers(*flows, known.models(ends.target))
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


def _routed(one: Projection, ends: Ends, known: _Known, faults: Faults) -> Projection:
    """Return a projection that knows its variable and access, and holds no population."""
    variable, access = one.variable, one.access
    if variable is None or access is None:
        sources, targets = known.models(ends.source), known.models(ends.target)
        found = known.routes(sources, targets, variable, access)
        if len(found) != 1:
            faults.add(no_route(sources, targets, variable, access, found))
            return one
        variable, access = found[0]
    elif not any(isinstance(end, Members) for end in (one.source, one.target)):
        return one
    said = " -> ".join(end_name(end) for end in (one.source, one.target))
    named = copy(one)
    vars(named).update(
        variable=variable,
        access=access,
        source=ends.source,
        target=ends.target,
        name=one.name or f"{said}, {access}",
    )
    return named


def with_fields_of(circuit: Circuit, number: int, name: str) -> Circuit:
    """Return a circuit in which formulas read a field of a group as it is now."""
    made = list(circuit.connections)
    for at, one in enumerate(made):
        if isinstance(one, Drawn) and reads_field(one, number, name):
            faults = Faults(circuit.name)
            again = bind([one.projection], circuit, 0, faults, [one.key])
            faults.finish(True)
            made[at] = again[0]
    return circuit.changed(connections=tuple(made))


def reads_field(links: Drawn, number: int, name: str) -> bool:
    """Whether weights or delays follow from a field of a group."""
    formulas = links.located.formulas if links.located is not None else ()
    ends = (one.fields.get(name) for one in formulas if isinstance(one, PlaceFormula))
    return any(end is not None and end.group == number for end in ends)


def key_of(seed: int, name: str, what: str = "projection") -> int:
    """Return the key of the random numbers of a projection, or of something else, 64 bits."""
    digest = hashlib.blake2b(f"{what} {seed} {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _wiring(
    one: Projection, ends: Ends, known: _Known, faults: Faults, laws: Laws, sound: bool
) -> None:
    """Note variables and accesses that models do not know, and numbers that an access refuses."""
    variable, access = str(one.variable), str(one.access)
    sources, targets = known.models(ends.source), known.models(ends.target)
    for text in known.misfits(variable, access, sources, targets):
        faults.add(f"{quoted(variable)} -> {quoted(access)}: {text}")
    rules = known.numbers(variable, access, targets)
    for key, rule in rules.items():
        if key != "weight" and rule.default is None:
            what = f"every connection needs '{key}' [{rule.unit}]"
            faults.add(f"{what}, which no projection has; give Connections")
    factors = one.rule.columns.get("weights", 1.0) if sound else 1.0
    check_law("weight", laws[0], factors, rules.get("weight"), faults)
    check_law("delay", laws[1], 1.0, Parameter("s", at_least=0.0), faults)


def models_of(circuit: Circuit, numbers: range) -> list[type[NDComponent]]:
    """Return the models of components with numbers in a range."""
    ends = zip(circuit.groups, circuit.starts, strict=False)
    return [g.model for g, at in ends if at < numbers.stop and at + g.count > numbers.start]
