"""``SynapseTexts``: texts that run for each synapse of a path between two steps.

For example, a trial ends, and each weight changes by the product of two averages::

    texts = SynapseTexts(
        own=("weight",),
        numbers=("rate",),
        states={"x": None},
        texts={
            "learn": SynapseText("add(rate * pre.x * post.x);", where="post.x > 0"),
            "apply": SynapseText("weight += changed; changed = 0; send(weight);"),
        },
    )

``learn`` runs once for each copy of a batch. What it adds is rounded to a multiple of `UNIT`, and
these are summed as integers. So a sum does not depend on the order of copies, threads or ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .language import Checked, Symbol, assigned, check, parse, parse_expression, raise_faults, used
from .rule_sums import sums_of
from .rule_values import with_symbols

UNIT = 2.0**-40
"""What texts add, and their sums over the synapses of a target, are multiples of this."""

SIDES = "pre", "post"
"""Ends of a synapse, in the order of the tables of states."""

PROCEDURES = {"add": 1, "send": 1}


@dataclass(frozen=True)
class SynapseText:
    """One text, and for which synapses it runs.

    Attributes
    ----------
    text : str
        In the language of models. ``add(x)`` adds to the sum ``changed``. ``send(x)`` says what a
        spike carries from now on. The text may begin with sums over the synapses of the target,
        such as ``total = sum(weight);``.
    where : str
        A condition that reads numbers and values of the target. Nothing is read or written for
        targets that do not fulfil it. Empty: all targets.
    when : str
        A condition that reads numbers and ``changed``, for single synapses.
    """

    text: str
    where: str = ""
    when: str = ""


@dataclass(frozen=True)
class SynapseTexts:
    """Names that some texts share, and the texts.

    All numbers are in double precision. ``inputs`` is the number of synapses of the target.

    Attributes
    ----------
    own : tuple of str
        Numbers of each synapse.
    kept : tuple of str
        Numbers of each synapse in each copy of a batch.
    numbers : tuple of str
        Numbers of a set of synapses.
    vectors : mapping of str to int
        Arrays of numbers of a set of synapses -> elements.
    states : mapping of str to int or None
        States of both ends: ``pre.x``, ``post.x``. Elements of a vector; None of others.
    given : tuple of str
        Numbers of each target that the caller gives: ``post.x``.
    greatest : mapping of str to str
        Name -> state that is no vector: ``post.name`` is the greatest value of the state among all
        targets of the set, in the same copy.

    Raises
    ------
    ModelError
        With all faults of the texts.
    """

    own: tuple[str, ...]
    texts: Mapping[str, SynapseText]
    kept: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    vectors: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, int | None] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    greatest: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = [
            f"greatest: '{name}' needs a state that is no vector (got '{state}')"
            for name, state in self.greatest.items()
            if self.states.get(state, 1) is not None
        ]
        for name in self.texts:
            for checked in (self.body(name), *self.conditions(name), *self.sums(name).values()):
                faults += checked.faults
        raise_faults(faults)

    @cached_property
    def elements(self) -> tuple[tuple[str, int], ...]:
        """States with their numbers of elements; 1 of those that are no vectors."""
        return tuple((name, size or 1) for name, size in self.states.items())

    @property
    def width(self) -> int:
        """Number of elements of all states of one end."""
        return sum(size for _, size in self.elements)

    def place(self, side: str, name: str) -> int:
        """Return where the elements of a state begin in the table of both ends."""
        before = 0
        for one, size in self.elements:
            if one == name:
                break
            before += size
        return SIDES.index(side) * self.width + before

    def read(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield end and name of the states that a text reads."""
        nodes = [self.body(name).node, *(one.node for one in self.conditions(name))]
        words = used(*nodes)
        for side in SIDES:
            yield from ((side, one) for one in self.states if f"{side}_{one}" in words)

    def greatest_of(self, name: str) -> list[str]:
        """Return the names in ``greatest`` that a text reads."""
        words = used(self.body(name).node, *(one.node for one in self.conditions(name)))
        return [one for one in self.greatest if f"post_{one}" in words]

    def is_light(self, name: str) -> bool:
        """Whether a text reads no vectors of the sources, which take many registers of a GPU."""
        return not any(side == "pre" and self.states[one] for side, one in self.read(name))

    def of_copies(self, name: str) -> bool:
        """Whether a text runs for each copy: it reads states, or numbers of the copy."""
        words = used(self.body(name).node)
        return (
            any(self.read(name)) or bool(self.greatest_of(name)) or not words.isdisjoint(self.kept)
        )

    def body(self, name: str) -> Checked:
        """Return the tree of a text, without the sums at its beginning."""
        source = with_symbols(sums_of(self.texts[name].text)[1])
        known = {**self._known(), **{one: _fixed("sum") for one in self._sum_terms(name)}}
        return check(parse(source, name), known, source, name, draws=False, procedures=PROCEDURES)

    def conditions(self, name: str) -> list[Checked]:
        """Return the trees of ``where`` and ``when``, of those that there are."""
        known, found = self._known(), []
        of_target = {"inputs", *self.numbers, *self.vectors}
        of_target |= {one for one in known if one.startswith("post_")}
        one = self.texts[name]
        for source, kind in ((one.where, "where"), (one.when, "when")):
            if source:
                allowed = of_target if kind == "where" else {"changed", *self.numbers}
                symbols = {n: known[n] for n in known if n in allowed}
                found.append(self._expression(source, f"{name}, {kind}", symbols))
        return found

    def sums(self, name: str) -> dict[str, Checked]:
        """Return the sums over the synapses of a target that a text begins with."""
        allowed = {*self.own, *self.numbers, *self.vectors, "changed", "inputs"}
        known = {n: symbol for n, symbol in self._known().items() if n in allowed}
        return {
            one: self._expression(term, f"{name}, {one}", known)
            for one, term in self._sum_terms(name).items()
        }

    def numbers_of(self, name: str) -> list[str]:
        """Return the numbers of synapses, without those of copies, that a text reads or writes."""
        words = used(self.body(name).node, *(one.node for one in self.sums(name).values()))
        return [one for one in self.own if one in words]

    def writes(self, name: str) -> list[str]:
        """Return the numbers of synapses that a text writes."""
        words = assigned(self.body(name).node)
        return [one for one in (*self.own, *self.kept, "changed") if one in words]

    def _sum_terms(self, name: str) -> dict[str, str]:
        return dict(sums_of(self.texts[name].text)[0])

    @staticmethod
    def _expression(source: str, where: str, known: Mapping[str, Symbol]) -> Checked:
        text = with_symbols(source)
        return check(parse_expression(text, where), known, text, where, draws=False)

    def _known(self) -> dict[str, Symbol]:
        """Return the names that texts may use."""
        found = {n: _fixed("number") for n in (*self.numbers, "inputs")}
        found |= {n: _fixed("array of numbers", size) for n, size in self.vectors.items()}
        for side in SIDES:
            for name, size in self.states.items():
                found[f"{side}_{name}"] = _fixed("state of a unit", size)
        given = (*self.given, *self.greatest)
        found |= {f"post_{name}": _fixed("number of the target") for name in given}
        own = (*self.own, *self.kept, "changed")
        return found | {n: Symbol("number of the synapse", writable=True) for n in own}


def _fixed(kind: str, size: int | None = None) -> Symbol:
    hint = "a text writes the numbers of its synapse"
    return Symbol(kind, hint=hint, size=size)
