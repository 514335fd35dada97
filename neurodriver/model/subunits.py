"""``SubUnits``: many small stochastic systems inside each component, which jump by reactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelError, near

LARGEST_COUNT = 65535
"""Largest ``most`` of a species: counts are stored in one or two bytes."""

LARGEST_NUMBER = 2**31 - 1
"""Most sub-units of one component."""


@dataclass(frozen=True, slots=True)
class Species:
    """A count that each sub-unit has.

    Parameters
    ----------
    initial : int
        Count before step 0.
    most : int
        Largest count, at most 65535. A reaction that would lead above it, or below 0, does not
        happen: its rate there is 0.
    doc : str
        What is counted.
    """

    initial: int = 0
    most: int = 255
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Reaction:
    """A jump of a sub-unit.

    Parameters
    ----------
    rate : str
        Expression of the rate in 1/s; what is not positive counts as 0.
    change : mapping of str to int
        What is added to the counts of species.
    doc : str
        What happens.
    """

    rate: str
    change: Mapping[str, int]
    doc: str = ""


@dataclass(frozen=True)
class SubUnits:
    """Sub-units of a component (microvilli, ion channels): counts that jump by reactions.

    During a sub-step each sub-unit is an independent Markov jump process whose rates depend on
    its own counts and on what its component is at the beginning of the sub-step; it is sampled
    exactly, event by event, and not in time steps.

    Parameters
    ----------
    per : str
        Parameter that holds how many sub-units a component has; declared ``whole`` and bounded.
    species : mapping of str to Species or int
        Counts; an int is the initial one.
    reactions : sequence of Reaction or (rate, change)
        At equal effort the rare ones come first: the choice among them is finest there.
    terms : mapping of str to str
        Expressions that the rates use, for each sub-unit.
    totals : mapping of str to str
        Name -> species: its sum over the component's sub-units at the end of the sub-step, which
        the model's ``update`` reads.

    Notes
    -----
    Rates and terms use counts, earlier terms, and the parameters, constants, terms, states and
    accesses of the model. They are computed in single precision in every run (7 digits).
    """

    per: str
    species: Mapping[str, Any]
    reactions: Sequence[Any]
    terms: Mapping[str, str] = field(default_factory=dict)
    totals: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        made = {n: Species(s) if isinstance(s, int) else s for n, s in self.species.items()}
        object.__setattr__(self, "species", made)
        jumps = tuple(r if isinstance(r, Reaction) else Reaction(*r) for r in self.reactions)
        object.__setattr__(self, "reactions", jumps)

    def symbols(self) -> list[str]:
        """Return the names that the declaration adds to those of the model."""
        return [*self.species, *self.terms, *self.totals]

    def texts(self) -> dict[str, str]:
        """Return part of the declaration -> text, in the order of computation."""
        out = {f"sub_units.terms['{name}']": text for name, text in self.terms.items()}
        out.update({f"sub_units.reactions[{i}]": r.rate for i, r in enumerate(self.reactions)})
        return out

    def check(self, where: str, params: Mapping[str, Any]) -> None:
        """Raise ModelError where the declaration contradicts itself or the model's parameters."""
        rule = params.get(self.per)
        if rule is None:
            hint = near(self.per, params)
            raise ModelError(f"{where}.per: the model has no parameter '{self.per}'{hint}")
        if not (rule.whole and rule.at_least >= 0 and rule.at_most <= LARGEST_NUMBER):
            want = f"whole=True, at_least >= 0 and at_most <= {LARGEST_NUMBER:,}"
            raise ModelError(f"{where}.per: '{self.per}' counts sub-units; declare it with {want}")
        if not self.species or not self.reactions:
            raise ModelError(f"{where}: at least one species and one reaction are needed")
        for name, kind in self.species.items():
            if not isinstance(kind, Species) or not _whole(kind.initial, kind.most):
                raise ModelError(f"{where}.species['{name}']: expected whole numbers, got {kind!r}")
            if not 0 <= kind.initial <= kind.most <= LARGEST_COUNT or kind.most < 1:
                want = f"0 <= initial <= most <= {LARGEST_COUNT}"
                raise ModelError(f"{where}.species['{name}']: expected {want}, got {kind!r}")
        for i, reaction in enumerate(self.reactions):
            for name, change in reaction.change.items():
                self._known(f"{where}.reactions[{i}]", name)
                if not _whole(change) or abs(change) > LARGEST_COUNT:
                    got = f"got {change!r} for '{name}'"
                    raise ModelError(f"{where}.reactions[{i}]: changes are whole numbers, {got}")
        for total, name in self.totals.items():
            self._known(f"{where}.totals['{total}']", name)

    def _known(self, where: str, name: str) -> None:
        if name not in self.species:
            raise ModelError(f"{where}: no species '{name}'{near(name, self.species)}")


def _whole(*values: Any) -> bool:
    return all(isinstance(v, int) and not isinstance(v, bool) for v in values)
