"""``SynapseTables``: arrays of sets of synapses, and tables by which texts reach them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError, quoted
from ..model.synapse_texts import SynapseTexts
from .synapse_place import Stored, SynapsePlace

Reals = NDArray[np.float64]
Words = NDArray[np.uint64]
Addresses = Mapping[str, Words]
"""Name of a set -> addresses."""

_WORDS = (
    "first", "source", "own", "kept", "counts", "marks", "states", "given", "numbers", "sent",
    "place", "copies", "copies_sent", "text", "row", "synapse",
)  # fmt: skip
"""Members of ``nd_synapses``, 8 bytes each."""


@dataclass(frozen=True)
class TextFacts:
    """What has been found out about a text; `SynapseTexts` says what each is.

    ``keeps``: whether it writes numbers that synapses keep in each copy.
    """

    numbers: list[str]
    states: list[tuple[str, str]]
    greatest: list[str]
    of_copies: bool
    light: bool
    keeps: bool


@dataclass(frozen=True, eq=False)
class SynapseSet:
    """The synapses of a path.

    Attributes
    ----------
    first : (targets + 1,) int64
        Where the synapses of each target begin.
    source : (synapses,) int32
        Number of the source of each synapse among the units of its layer.
    own : mapping of str to (synapses,) float64
        Initial values of the numbers that these synapses have.
    numbers : mapping of str to float or array
        Numbers and vectors of the set.
    keeps : bool
        Whether there are numbers of each synapse in each copy; they begin with 0.
    offset : int
        Number of the first target among the targets of all sets, for what the caller gives.
    part : int
        Sets with the same targets have the same number. Greatest values are kept once for each.
    """

    first: NDArray[np.int64]
    source: NDArray[np.int32]
    own: Mapping[str, Reals]
    numbers: Mapping[str, Any]
    keeps: bool = False
    offset: int = 0
    part: int = 0


@dataclass(frozen=True)
class Prepared:
    """The tables of a run, see `SynapsePlace`, what they point to, and facts of its texts."""

    sets: Stored
    begin: Stored
    work: NDArray[np.int64]
    tables: Stored
    units: Stored | None
    unit_count: int
    light: bool
    keeps: bool


class SynapseTables:
    """Arrays of sets of synapses, and tables of their addresses.

    Parameters
    ----------
    copies : int
        Of the simulation.
    targets : int
        Targets of all sets, for what the caller gives.

    Attributes
    ----------
    counts : Stored of (synapses,) int64
        What texts have added to all synapses.
    marks : Stored of (rows,) int32
        Which rows may have counts other than 0.
    given : dict of str to Stored
        What the caller gives, and greatest values.
    arrays : dict of str to dict of str to Stored
        Of each set, by name.
    """

    def __init__(
        self,
        place: SynapsePlace,
        texts: SynapseTexts,
        sets: Mapping[str, SynapseSet],
        copies: int,
        targets: int,
    ) -> None:
        self._place, self._texts, self._sets, self._copies = place, texts, sets, copies
        self._targets = targets
        sizes = [len(one.source) for one in sets.values()]
        self._begin = dict(zip(sets, np.cumsum([0, *sizes]).tolist(), strict=False))
        self.counts = place.store(np.zeros(sum(sizes), np.int64))
        rows = [len(one.first) - 1 for one in sets.values()]
        self._first_row = dict(zip(sets, np.cumsum([0, *rows]).tolist(), strict=False))
        self.marks = place.store(np.zeros(sum(rows), np.int32))
        self._parts = 1 + max((one.part for one in sets.values()), default=0)
        widths = dict.fromkeys(texts.given, targets) | dict.fromkeys(texts.greatest, self._parts)
        self.given = {name: place.store(np.zeros((copies, n))) for name, n in widths.items()}
        self.arrays = {name: self._stored(one) for name, one in sets.items()}
        self._runs: dict[tuple[tuple[str, str], ...], Prepared] = {}
        self._bound: tuple[Addresses, Addresses, Mapping[str, Stored]] = {}, {}, {}
        self._known: dict[str, TextFacts] = {}

    def _stored(self, one: SynapseSet) -> dict[str, Stored]:
        """Return the arrays of a set by name; those of copies by (name, copy)."""
        texts, store, m = self._texts, self._place.store, len(one.source)
        numbers = [np.ravel(np.asarray(one.numbers.get(n, 0.0), float)) for n in texts.numbers]
        numbers += [
            np.broadcast_to(np.asarray(one.numbers.get(n, 0.0), float), (size,))
            for n, size in texts.vectors.items()
        ]
        out = {
            "first": store(np.asarray(one.first, np.int64)),
            "source": store(np.asarray(one.source, np.int32)),
            "numbers": store(np.concatenate([*numbers, np.zeros(1)])),
        }
        for name, values in one.own.items():
            out[f"own {name}"] = store(np.asarray(values, np.float64))
        for name in texts.kept if one.keeps else ():
            out[f"kept {name}"] = store(np.zeros((self._copies, m)))
        return out

    def bind(self, states: Addresses, sent: Addresses, places: Mapping[str, Any]) -> None:
        """Say where the simulation has what texts read and send.

        Parameters
        ----------
        states : mapping of str to (copies, 2, elements) uint64
            Addresses of the states of both ends.
        sent : mapping of str to (copies,) uint64
            Addresses of what spikes carry, for sets whose spikes are in the circuit.
        places : mapping of str to (synapses,) int32
            Where each synapse stands there.
        """
        self._runs = {}
        stored = {name: self._place.store(np.asarray(p, np.int32)) for name, p in places.items()}
        self._bound = states, sent, stored

    def forget(self) -> None:
        """Make all tables anew: a set has got another array."""
        self._runs = {}

    def prepare(self, texts: Mapping[str, str]) -> Prepared:
        """Return the tables of a run; they are made once."""
        key = tuple(texts.items())
        if key not in self._runs:
            self._runs[key] = self._prepared(texts)
        return self._runs[key]

    def _prepared(self, texts: Mapping[str, str]) -> Prepared:
        """Make the tables of a run."""
        for name, text in texts.items():
            self._check(name, text)
        tables = {name: self._tables(name) for name in texts}
        flat = [part for one in tables.values() for part in one.values()]
        stored = self._place.store(np.concatenate([*flat, np.zeros(1, np.uint64)]))
        words, at = [], stored.address
        for name, text in texts.items():
            where: dict[str, int] = {}
            for part, values in tables[name].items():
                where[part], at = at, at + values.nbytes
            words.append([self._word(member, name, text, where) for member in _WORDS])
        firsts = [self._sets[name].first for name in texts]
        rows = np.cumsum([0, *(len(first) - 1 for first in firsts)])
        degrees = np.concatenate([np.diff(first) for first in firsts])
        work = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        units, store = self._units(texts), self._place.store
        return Prepared(
            store(np.array(words, np.uint64)), store(rows.astype(np.int64)), work, stored,
            store(np.array(units, np.uint64)) if units else None, len(units),
            all(self.facts(text).light for text in texts.values()),
            any(self.facts(text).keeps for text in texts.values()),
        )  # fmt: skip

    def _units(self, texts: Mapping[str, str]) -> list[tuple[int, int, int]]:
        """Return the entries of `nd_units` whose greatest values some texts read."""
        found = {}
        for name, text in texts.items():
            part, count = self._sets[name].part, len(self._sets[name].first) - 1
            for one in self.facts(text).greatest:
                place, given = self._texts.place("post", self._texts.greatest[one]), self.given[one]
                states = self._bound[0][name].reshape(self._copies, -1)[:, place].tolist()
                for copy, values in enumerate(states):
                    to = given.address + 8 * (copy * self._parts + part)
                    found[to] = values, count, to
        return [*found.values()]

    def facts(self, text: str) -> TextFacts:
        """Return what has been found out about a text."""
        if text not in self._known:
            texts, read = self._texts, [*self._texts.read(text)]
            greatest = texts.greatest_of(text)
            read += [("post", texts.greatest[one]) for one in greatest]
            self._known[text] = TextFacts(
                texts.numbers_of(text), read, greatest, texts.of_copies(text),
                texts.is_light(text), not {*texts.kept}.isdisjoint(texts.writes(text)),
            )  # fmt: skip
        return self._known[text]

    def _check(self, name: str, text: str) -> None:
        """Raise NeurodriverError where a set or its units do not have what a text reads."""
        facts = self.facts(text)
        for number in facts.numbers:
            if f"own {number}" not in self.arrays[name]:
                say = f"text {quoted(text)} needs {number}"
                raise NeurodriverError(f"{quoted(name)}: {say}, which these synapses do not have")
        bound = self._bound[0].get(name)
        for side, state in facts.states:
            place = self._texts.place(side, state)
            if bound is None or not bound.reshape(self._copies, -1)[:, place].all():
                say = f"text {quoted(text)} reads {side}.{state}"
                raise NeurodriverError(f"{quoted(name)}: {say}, which is no state of these units")

    def _tables(self, name: str) -> dict[str, Words]:
        """Return the tables of addresses of a set."""
        texts, arrays, copies = self._texts, self.arrays[name], self._copies
        own = [arrays[f"own {n}"].address if f"own {n}" in arrays else 0 for n in texts.own]
        m = len(self._sets[name].source)
        kept = [
            arrays[f"kept {one}"].address + 8 * m * copy if f"kept {one}" in arrays else 0
            for copy in range(copies)
            for one in texts.kept
        ]
        offset, part = self._sets[name].offset, self._sets[name].part
        places = dict.fromkeys(texts.given, (self._targets, offset))
        places |= dict.fromkeys(texts.greatest, (self._parts, part))
        given = [
            self.given[one].address + 8 * (copy * width + first)
            for copy in range(copies)
            for one, (width, first) in places.items()
        ]
        states, sent, _ = self._bound
        none = np.zeros(0, np.uint64)
        return {
            "own": np.array(own, np.uint64),
            "kept": np.array(kept, np.uint64),
            "given": np.array(given, np.uint64),
            "states": states.get(name, none).ravel(),
            "sent": sent.get(name, none),
        }

    def _word(self, member: str, name: str, text: str, where: Mapping[str, int]) -> int:
        """Return a member of ``nd_synapses``."""
        arrays: Mapping[str, Stored] = self.arrays[name]
        _, sent, places = self._bound
        if member in where:
            return where[member]
        if member in ("first", "source", "numbers"):
            return arrays[member].address
        if member == "counts":
            return self.counts.address + 8 * int(self._begin[name])
        if member == "marks":
            return self.marks.address + 4 * int(self._first_row[name])
        if member == "place":
            return places[name].address if name in places else 0
        if member == "copies":
            return self._copies if self.facts(text).of_copies else 1
        if member == "copies_sent":
            return len(sent.get(name, ()))
        if member in ("row", "synapse"):
            return int((self._first_row if member == "row" else self._begin)[name])
        return [*self._texts.texts].index(text)
