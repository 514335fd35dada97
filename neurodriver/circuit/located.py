"""The ends of a projection in space, for rules of place; and the laws of its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import CircuitError, Faults
from .circuit import Circuit
from .distributions import Law, law_of
from .formula import Formula
from .native_relation import NativeRelation
from .place_formula import bound
from .place_rules import Offsets, PlaceRule
from .relation import KINDS, Relation, relation_of
from .rules import Ends
from .space import Space
from .stencils import End, Stencils, along_axes, stencils_of

if TYPE_CHECKING:
    from .projections import Projection

Laws = tuple[Law, Law]
"""Of weights and of delays."""

NO_LAWS = law_of(1.0), law_of(0.0)
"""Where there are faults."""


@dataclass(frozen=True, eq=False)
class Located:
    """A rule of place between two populations of a circuit.

    Attributes
    ----------
    firsts : (int, int)
        Component numbers of the first cells of both populations.
    formulas : (Formula or None, Formula or None)
        Of weights and of delays.
    """

    relation: Relation
    firsts: tuple[int, int]
    autapses: bool
    formulas: tuple[Formula | None, Formula | None]

    @property
    def kind(self) -> int:
        """How compiled code calls the form of the relation."""
        return KINDS[self.relation.form]

    def stencils(self, ends: Ends, end: End, stored: bool | str) -> Stencils | None:
        """Return the stencils of the cells of one end, where many cells have equal ones.

        None where the ends are parts of populations.
        """
        known: dict[End, Stencils | None] = vars(self).setdefault("_stencils", {})
        if end in known:
            return known[end]
        known[end] = None
        if any(formula is not None and formula.indexed for formula in self.formulas):
            return None
        spaces = zip(self.firsts, (self.relation.source, self.relation.target), strict=True)
        if [range(first, first + one.count) for first, one in spaces] == [ends.source, ends.target]:
            axes = along_axes(self.relation, end, not self.autapses and ends.shared > 0)
            if axes is not None:
                known[end] = stencils_of(self.relation, end, axes, stored)
        return known[end]

    def forget(self) -> None:
        """Keep no stencils."""
        vars(self).pop("_stencils", None)

    def native(self, ends: Ends) -> NativeRelation:
        """Return what compiled code takes, for parts of the two populations."""
        offsets = ends.source.start - self.firsts[0], ends.target.start - self.firsts[1]
        return NativeRelation(self.relation, offsets, self.autapses, self.formulas)


def located_of(one: Projection, ends: Ends, circuit: Circuit, faults: Faults) -> Located | None:
    """Return where the ends of a projection are, None for a rule that does not ask.

    What does not fit is noted.
    """
    rule = one.rule
    given = {"weight": one.weight, "delay": one.delay}
    formulas: dict[str, Any] = {n: v if isinstance(v, Formula) else None for n, v in given.items()}
    if not isinstance(rule, PlaceRule):
        for name, formula in formulas.items():
            if formula is not None:
                want = "a formula of places needs a rule of place, such as Within(r)"
                got = f"(got {type(rule).__name__}, {formula.text!r:.60})"
                faults.add(f"'{name}': {want}; else a finite number or a distribution {got}")
        return None
    found = {end: _space_at(circuit, numbers) for end, numbers in vars(ends).items()}
    spaces: list[Space] = []
    for end, at in found.items():
        if at is None:
            fix = "give a population with axes= or positions=, or a part of one"
            faults.add(f"'{end}' has no places, which {type(rule).__name__} asks for; {fix}")
        else:
            spaces.append(at[1])
    if faults.count:
        return None
    head = type(rule).__name__
    source, target = spaces
    wrong = list(rule.misfits(source, target))
    for text in wrong:
        faults.add(f"{head}: {text}")
    if wrong:
        return None
    try:
        relation = relation_of(rule, source, target)
    except CircuitError as error:
        faults.add(f"{head}: {error}")
        return None
    for name, formula in formulas.items():
        if formula is not None and isinstance(rule, Offsets):
            fix = "give Near or Within, or the value of each offset as its 'weights'"
            faults.add(f"'{name}': offsets have no distances, which {formula} asks for; {fix}")
            continue
        if formula is not None:
            formulas[name] = bound(formula, circuit, ends, relation)
            for text in formulas[name].faults(relation.names):
                faults.add(f"'{name}': {text}")
    firsts = tuple(at[0] for at in found.values() if at is not None)
    made = formulas["weight"], formulas["delay"]
    return Located(relation, (firsts[0], firsts[1]), bool(rule.autapses), made)


def _space_at(circuit: Circuit, numbers: range) -> tuple[int, Space] | None:
    """Return the first component of the population that holds a range, and its space."""
    for name, space in circuit.spaces.items():
        held = circuit.populations.get(name)
        if held is None or not held.count:
            continue
        span = held.span
        neighbours = len(span) == held.count == space.count
        if neighbours and span.start <= numbers.start and numbers.stop <= span.stop:
            return span.start, space
    return None
