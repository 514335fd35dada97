"""Connections of a projection: drawn, or found by place, when they are first looked at."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, quoted
from .circuit import Circuit, Column, Connections, column_bytes
from .distributions import Distribution, Law, law_of
from .drawing import FURTHER, Rows
from .formula import KIND, Formula
from .least_pairs import check_stored
from .located import NO_LAWS, Laws, Located
from .rules import Ends
from .stencils import End, Stencils

if TYPE_CHECKING:
    from .projections import Projection


class Drawn(Connections):
    """Connections of a projection; its columns are drawn when one of them is first looked at.

    Sources ascend, and the targets of each. ``key`` is that of the random numbers, 64 bits.
    """

    projection: Projection
    ends: Ends
    key: int
    weight: Law
    latency: Law
    located: Located | None

    def __init__(
        self,
        projection: Projection,
        ends: Ends,
        key: int,
        laws: Laws,
        located: Located | None = None,
    ) -> None:
        given: dict[str, Any] = {"variable": projection.variable, "access": projection.access}
        given |= {"plasticity": projection.plasticity, "name": projection.label}
        vars(self).update(given, projection=projection, ends=ends, key=key)
        vars(self).update(weight=laws[0], latency=laws[1], located=located)

    def __len__(self) -> int:
        known = self.projection.rule.edges(self.ends)
        return self._drawn_length if known is None else known

    def __repr__(self) -> str:
        return f"Drawn({self.projection.label!r}, {self.projection.rule})"

    @property
    def sources(self) -> NDArray[np.int32]:
        """Component number of each source, (sources,); negative where it is not in the circuit."""
        return np.arange(self.ends.source.start, self.ends.source.stop, dtype=np.int32)

    @property
    def begins(self) -> range:
        """Component numbers that hold all sources."""
        return self.ends.source

    @property
    def reached(self) -> range:
        """Component numbers that hold all targets."""
        return self.ends.target

    def begin_in(self, first: int, last: int) -> bool:
        return self.begins.start < last and self.begins.stop > first

    @property
    def mean_degree(self) -> float | None:
        """Number of connections that a target is expected to have; None where targets differ."""
        rule = self.projection.rule
        if self.located is not None or rule.columns:
            return None
        known = rule.edges(self.ends)
        chance = rule.fields.get("chance", 0.0) * len(self.ends.source)
        return chance if known is None else known / max(len(self.ends.target), 1)

    def rows(self, window: range | None = None, threads: int | None = None) -> Rows:
        """Return the rows by source, for targets in a window of component numbers."""
        laws = self.weight, self.latency
        return Rows(self.projection.rule, self.ends, self.key, *laws, window, threads, self.located)

    @property
    def filtered(self) -> bool:
        """Whether the rule itself brings weights."""
        return "weights" in self.projection.rule.columns

    def counted(self) -> int:
        """Return how many connections there are, and keep nothing that was found for that."""
        number = len(self)
        if self.located is not None:
            self.located.forget()
        return number

    def not_stored(self) -> Drawn:
        """Return the same connections, which must not be stored."""
        projection, out = copy.copy(self.projection), copy.copy(self)
        object.__setattr__(projection, "stored", False)
        vars(out)["projection"] = projection
        return out

    @cached_property
    def _drawn_length(self) -> int:
        shared = self.stencils("source")
        return self.rows().edges if shared is None else shared.edges

    def stencils(self, end: End) -> Stencils | None:
        """Return the stencils of the cells of one end, where many cells have equal ones.

        None where the numbers of connections differ otherwise.
        """
        drawn = [law.kind != KIND and law.least != law.most for law in (self.weight, self.latency)]
        if self.located is None or any(drawn):
            return None
        return self.located.stencils(self.ends, end, self.projection.stored)

    def numbers(self, of: Stencils) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and delays (s) of the entries of stencils."""
        assert self.located is not None
        out = []
        laws = self.weight, self.latency
        for law, formula in zip(laws, self.located.formulas, strict=True):
            if formula is not None:
                out.append(of.computed(formula, self.located.relation.names))
            else:
                out.append(np.full(len(of.partner), law.least))
        if of.offset is not None:
            out[0] *= self.located.relation.tables["factor"][of.offset]
        return out[0], out[1]

    def check_stored(self) -> None:
        """Raise CircuitError where a rule of place makes more than memory has room for."""
        if self.located is not None:
            check_stored(self.located, self.ends, self.projection.label)

    @cached_property
    def _columns(self) -> Connections:
        self.check_stored()
        return self._as_columns(self.rows())

    def into(self, number: int) -> Connections:
        """Return the connections of one target, a component number, as columns."""
        return self._as_columns(self.rows(range(number, number + 1)))

    def _as_columns(self, rows: Rows) -> Connections:
        target = np.empty(rows.edges, dtype=np.int32)
        rows.place(target)
        columns: dict[str, Column] = {}
        for name in ("weight", "delay"):
            value = getattr(self.projection, name)
            if isinstance(value, Distribution | Formula) or (name == "weight" and self.filtered):
                columns[name] = np.empty(rows.edges)
                rows.values(name, columns[name])
            else:
                columns[name] = np.asarray(value, dtype=np.float64)
        delay = columns.pop("delay")
        source = np.repeat(self.sources, rows.count)
        if self.plasticity is not None:
            columns |= {name: np.asarray(value) for name, value in self.learning.items()}
            columns |= {name: self.column(name) for name in self.plasticity.columns}
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

    def column(self, name: str) -> Column:
        """Return a parameter of the rule by which they learn that each has a number of, (m,)."""
        assert self.plasticity is not None
        given = self.plasticity.columns[name]
        if isinstance(given, np.ndarray):
            return given
        assert isinstance(given, Distribution)
        law, number = law_of(given), [*self.plasticity.params].index(name)
        rows = Rows(self.projection.rule, self.ends, self.key, self.weight, law,
                    located=self.located)  # fmt: skip
        rows.place(np.empty(rows.edges, np.int32))
        out = np.empty(rows.edges)
        rows.values(FURTHER + number, out)
        return out

    def expanded(self) -> Connections:
        return self._columns

    def __getattr__(self, name: str) -> Any:
        if name in ("source", "target", "delay", "data"):
            return getattr(self._columns, name)
        raise AttributeError(f"connections have no attribute {name!r}")

    def digest_input(self) -> Iterator[bytes]:
        """Yield what the digest takes in: the rule, not what it draws."""
        given = self.projection
        # float(): a number of numpy and one of Python are the same
        fields = [(name, float(value)) for name, value in sorted(given.rule.fields.items())]
        laws = [
            [float(x) for name, x in vars(law).items() if x or name != "grid"]
            for law in (self.weight, self.latency)
        ]
        yield f"{self.variable}:{self.access};{self.key};{self.ends};{fields};{laws};".encode()
        if self.plasticity is not None:
            yield f"{self.plasticity.digest_input()};{self.learning};".encode()
        for said in (given.rule.text, given.weight, given.delay):
            if isinstance(said, Formula) or (isinstance(said, str) and said):
                yield f"{said};".encode()
        for name, column in sorted(given.rule.columns.items()):
            yield column_bytes(name, column)


def warn_of_none(links: Drawn, faults: Faults) -> None:
    """Warn of a rule that connects nothing, where that is known without drawing."""
    say = f"projection {quoted(links.projection.label)} has no connections"
    if links.projection.rule.edges(links.ends) == 0:
        faults.warn(say)
        return
    relation = None if links.located is None else links.located.relation
    if relation is None or relation.form != "offsets":
        return
    hit = np.ones(len(relation.tables["factor"]), bool)
    for d, name in enumerate(relation.names):
        leads = np.any(relation.tables[f"jump {name}"] >= 0, axis=0)
        hit &= np.asarray(leads)[relation.tables["which"][:, d]]
    if not hit.any():
        axes = getattr(relation.source, "axes", {}).items()
        steps = ", ".join(f"'{name}': {axis.step:g}" for name, axis in axes if axis.step)
        unit = f"in units of positions (cells are apart by {steps})" if steps else "in indices"
        faults.warn(f"{say}: no offset leads from a source to a target; offsets are {unit}")


def laws_of(
    one: Projection, ends: Ends, located: Located | None, circuit: Circuit, faults: Faults
) -> Laws:
    """Return the laws of weight and delay; a formula is computed for all connections.

    A value that is not finite and a negative delay are noted.
    """
    laws = []
    for name, floor in (("weight", -np.inf), ("delay", 0.0)):
        value = getattr(one, name)
        if not isinstance(value, Formula):
            laws.append(law_of(value))
            continue
        if located is None:  # it is told of already
            laws.append(NO_LAWS[len(laws)])
            continue
        known = _among_stencils(value, one.stored, ends, located, floor)
        if known is not None:
            laws.append(Law(KIND, True, known[0], 0.0, *known, 1.0))
            continue
        any_law = Law(KIND, True, 0.0, 0.0, -np.inf, np.inf, 1.0)
        rows = Rows(one.rule, ends, 0, any_law, any_law, located=located)
        least, most, bad = rows.extremes(name, floor)
        if bad is not None:
            pair = " -> ".join(f"'{circuit.uids[number]}'" for number in bad[:2])
            want = "must be finite" + (" and not negative" if name == "delay" else "")
            bound = located.formulas[len(laws)]
            if bound is not None and bound.indexed:
                want += ", and its indices within the fields"
            faults.add(f"'{name}': {value} {want} ({pair}: {bad[2]:g})")
        laws.append(Law(KIND, True, least, 0.0, least, most, 1.0))
    return laws[0], laws[1]


def _among_stencils(
    formula: Formula, stored: bool | str, ends: Ends, located: Located, floor: float
) -> tuple[float, float] | None:
    """Return the least and the greatest value of a formula; None where it has to be looked for.

    This is the case where few cells have equal stencils, and where a value is not allowed.
    """
    shared = located.stencils(ends, "source", stored)
    if shared is None or not len(shared.partner):
        return None
    values = shared.computed(formula, located.relation.names)
    if not np.isfinite(values).all() or (values < floor).any():
        return None
    return float(values.min()), float(values.max())
