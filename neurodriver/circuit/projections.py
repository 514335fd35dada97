"""Projections: connections of a circuit that are given by a rule instead of columns."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import Faults, UnitError, near, quoted
from ..model.component import NDComponent, Parameter
from .circuit import Circuit, Column, Connections, told
from .distributions import Distribution, Law, Value, faults_of, holds_quantity, in_unit, law_of
from .drawing import Rows
from .numbers import whole
from .rules import Ends, Lattice, Rule
from .wiring import misfits, numbers_of

Components = range | tuple[int, int] | str | type[NDComponent]


@dataclass(frozen=True, eq=False)
class Projection:
    """Connections between two ranges of components, given by a rule.

    Parameters
    ----------
    variable : str
        The variable that flows.
    access : str
        Name of the access of the target (its receptor where it has one).
    source, target : range, (first, stop), model or its name
        Component numbers, counted through the groups in their order; or all components of a
        model, where one group has it.
    rule : Rule
        Who is connected with whom: `AllToAll`, `FixedProbability`, `FixedInDegree`,
        `FixedOutDegree`, `FixedTotal`, `OneToOne`, `Lattice`.
    weight : float or Distribution
        Factor of each connection, for accesses that take one.
    delay : float or Distribution
        Latency in seconds.
    name : str
        Its random numbers come from this name (and from the seed of the circuit), so they are the
        same whatever other projections there are. Default: made of the ends and the access.
    """

    variable: str
    access: str
    source: Components
    target: Components
    rule: Rule
    weight: Value = 1.0
    delay: Value = 0.0
    name: str = ""

    @property
    def label(self) -> str:
        """Name, or what stands for it."""
        ends = (_said(end) for end in (self.source, self.target))
        return self.name or f"{' -> '.join(ends)}, {self.access}"


class Drawn(Connections):
    """Connections of a projection; its columns are drawn when one of them is first looked at.

    Sources ascend, and the targets of each. ``key`` is that of the random numbers, 64 bits.
    """

    projection: Projection
    ends: Ends
    key: int

    def __init__(self, projection: Projection, ends: Ends, key: int) -> None:
        given = {"variable": projection.variable, "access": projection.access}
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
        return Connections(self.variable, self.access, source, target, delay, columns)

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
    out, names = [], set()
    for number, one in enumerate(given):
        here = Faults(circuit.name)
        one = _in_units(one, circuit, here)
        if one.label in names:
            advice = "its random numbers come from its name; give each a 'name' of its own"
            here.add(f"two projections have this name, but {advice}")
        names.add(one.label)
        ends = [_range(getattr(one, end), end, circuit, here) for end in ("source", "target")]
        for name in ("weight", "delay"):
            for text in faults_of(getattr(one, name)):
                here.add(f"'{name}': {text}")
        rule: object = one.rule
        if not isinstance(rule, Rule):
            want = "a rule, such as AllToAll() or FixedProbability(0.1)"
            here.add(f"'rule' must be {want} (got {rule!r:.60})")
        if not here.count:
            both = Ends(ends[0], ends[1])
            for text in one.rule.faults(both):
                here.add(f"{type(one.rule).__name__}: {text}")
            _wiring(one, both, circuit, here, not here.count)
            key = key_of(seed, one.label) if keys is None else keys[number]
            out.append(Drawn(one, both, key))
        say = f"projection {quoted(one.label)}"
        faults.add_each((f"{say}: {text}" for text in here.messages), here.count)
    return out


def _in_units(one: Projection, circuit: Circuit, faults: Faults) -> Projection:
    """Return a projection whose quantities are plain numbers; note what does not fit."""
    values = {name: getattr(one, name) for name in ("weight", "delay")}
    if not any(map(holds_quantity, values.values())):
        return one
    target = _range(one.target, "target", circuit, Faults(circuit.name))
    rules = numbers_of(circuit, one.variable, one.access, models_of(circuit, target))
    units = {"weight": rules["weight"].unit if "weight" in rules else "", "delay": "s"}
    for name, value in values.items():
        try:
            values[name] = in_unit(value, units[name], f"'{name}'")
        except UnitError as error:
            faults.add(str(error))
            values[name] = 0.0
    out = copy(one)
    vars(out).update(values)
    return out


def key_of(seed: int, name: str) -> int:
    """Return the key of a projection's random numbers, 64 bits."""
    digest = hashlib.blake2b(f"projection {seed} {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def warn_of_none(links: Drawn, faults: Faults) -> None:
    """Warn of a rule that connects nothing, where that is known without drawing."""
    if links.projection.rule.edges(links.ends) == 0:
        faults.warn(f"projection {quoted(links.projection.label)} has no connections")


def _wiring(one: Projection, ends: Ends, circuit: Circuit, faults: Faults, sound: bool) -> None:
    """Note variables and accesses that models do not know, and numbers that an access refuses."""
    sources, targets = models_of(circuit, ends.source), models_of(circuit, ends.target)
    for text in misfits(circuit, one.variable, one.access, sources, targets):
        faults.add(f"{quoted(one.variable)} -> {quoted(one.access)}: {text}")
    rules = numbers_of(circuit, one.variable, one.access, targets)
    for key, rule in rules.items():
        if key != "weight" and rule.default is None:
            what = f"every connection needs '{key}' [{rule.unit}]"
            faults.add(f"{what}, which no projection has; give Connections")
    factors: Any = 1.0
    if isinstance(one.rule, Lattice) and sound:
        factors = one.rule.columns["weights"]
    _fits("weight", law_of(one.weight), factors, rules.get("weight"), faults)
    _fits("delay", law_of(one.delay), 1.0, Parameter("s", at_least=0.0), faults)


def _fits(key: str, law: Law, factors: Any, rule: Parameter | None, faults: Faults) -> None:
    ends = np.array([law.least, law.most])[:, None] * np.asarray(factors).reshape(-1)
    if not ends.size:
        return
    least, most = float(ends.min()), float(ends.max())
    got = f"{least:g}" if least == most else f"{least:g} to {most:g}"
    if rule is None:
        if (least, most) != (1.0, 1.0):
            faults.add(f"'{key}' is {got}, but no target's access takes a weight; leave it out")
    elif least < rule.at_least or least <= rule.above or most > rule.at_most:
        hint = "; give bounds, 'low' and 'high'" if least < most else ""
        faults.add(f"'{key}' must be {rule.allowed()} (got {got} {rule.unit}{hint})")


def models_of(circuit: Circuit, numbers: range) -> list[type[NDComponent]]:
    """Return the models of components with numbers in a range."""
    ends = zip(circuit.groups, circuit.starts, strict=False)
    return [g.model for g, at in ends if at < numbers.stop and at + g.count > numbers.start]


def _said(components: object) -> str:
    if isinstance(components, range):
        return f"{components.start}:{components.stop}"
    if isinstance(components, tuple):
        return ":".join(map(str, components))
    return components.__name__ if isinstance(components, type) else str(components)


def _range(given: object, end: str, circuit: Circuit, faults: Faults) -> range:
    """Return component numbers; an empty range is a fault already noted."""
    none = range(0)
    if isinstance(given, str) or inspect.isclass(given):
        name = _said(given)
        found = [i for i, group in enumerate(circuit.groups) if group.name == name]
        if len(found) == 1:
            start, stop = circuit.starts[found[0] : found[0] + 2].tolist()
            return range(start, stop)
        if found:
            faults.add(f"'{end}': {len(found)} groups are of {name}; give component numbers")
        else:
            known = [group.name for group in circuit.groups]
            among = ", ".join(dict.fromkeys(known))
            faults.add(f"'{end}': no group is of {quoted(name)}, but of {among}{near(name, known)}")
        return none
    pair = (given.start, given.stop) if isinstance(given, range) else given
    step = given.step if isinstance(given, range) else 1
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(map(whole, pair)):
        want = "a range, (first, stop) or the name of a model"
        faults.add(f"'{end}' must be {want} (got {given!r:.60})")
    elif step != 1 or not 0 <= pair[0] < pair[1] <= circuit.count:
        want = f"neighbours from 0 to {circuit.count - 1}, at least one of them"
        faults.add(f"'{end}' must be {want} (got {given!r:.60})")
    else:
        return range(int(pair[0]), int(pair[1]))
    return none
