"""``SynapseSets``: numbers of synapses beside those of a program, and texts that run over them.

The numbers are in the memory of a *place*: of the host, or of a GPU. There the texts run, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError, quoted
from ..model.synapse_texts import SynapseTexts

Reals = NDArray[np.float64]
Words = NDArray[np.uint64]
Addresses = Mapping[str, Words]
"""Name of a set -> addresses."""

TextFacts = tuple[list[str], list[tuple[str, str]], bool, bool]
"""Numbers of synapses and states of a text, whether it is of copies, and whether it is light."""

_WORDS = (
    "first", "source", "own", "kept", "counts", "marks", "states", "given", "numbers", "sent",
    "place", "copies", "copies_sent", "text",
)  # fmt: skip
"""Members of ``nd_synapses``, 8 bytes each."""


class Stored(Protocol):
    """An array in the memory of a place."""

    address: int
    nbytes: int

    def read(self) -> NDArray[Any]:
        """Return a copy of the values."""

    def write(self, values: NDArray[Any]) -> None:
        """Set all values."""

    def write_first(self, values: NDArray[Any]) -> None:
        """Set the values of the first row."""


class SynapsePlace(Protocol):
    """Memory, and what runs the texts."""

    def store(self, values: NDArray[Any]) -> Stored:
        """Return an array with these values."""

    def run(
        self, sets: Stored, begin: Stored, count: int, work: NDArray[np.int64], light: bool
    ) -> None:
        """Run the texts of some sets, or begin to: all that is read later is complete.

        Parameters
        ----------
        sets : Stored
            As `nd_synapses`.
        begin : Stored of (sets + 1,) int64
            Number of the first row of each set.
        count : int
            Number of sets.
        work : (rows + 1,) int64
            Synapses before each row.
        light : bool
            Whether no text reads vectors of the sources.
        """

    def wait(self) -> None:
        """Wait until all texts have run.

        Raises
        ------
        NeurodriverError
            Where the counts of another rank are missing.
        """

    def synchronize(self) -> None:
        """Wait until all that uses the memory is done, also what others have begun."""

    def offer(self, counts: Stored, marks: Stored, first: NDArray[np.int64], ranks: int) -> bytes:
        """Return how places of other ranks reach what is packed; empty where they cannot.

        Parameters
        ----------
        counts : Stored of (synapses,) int64
        marks : Stored of (rows,) int32
            Which rows may have counts other than 0.
        first : (rows + 1,) int64
            Where the synapses of each row begin.
        """

    def reach(self, offers: Sequence[bytes], own: int) -> bool:
        """Open what all ranks offer, of which this is number ``own``; return whether it can."""

    def add(self) -> None:
        """Begin to add up the counts of all ranks, which begin the same."""

    def close(self) -> None:
        """Give the memory back."""


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
        Which of the numbers is theirs that the caller gives once for all targets of a set.
    """

    first: NDArray[np.int64]
    source: NDArray[np.int32]
    own: Mapping[str, Reals]
    numbers: Mapping[str, Any]
    keeps: bool = False
    offset: int = 0
    part: int = 0


class SynapseSets:
    """Sets of synapses in a place.

    Parameters
    ----------
    copies : int
        Of the simulation.
    targets : int
        Targets of all sets, for what the caller gives.
    """

    def __init__(
        self,
        place: SynapsePlace,
        texts: SynapseTexts,
        sets: Mapping[str, SynapseSet],
        copies: int,
        targets: int,
    ) -> None:
        self.place, self.texts, self.sets, self.copies = place, texts, sets, copies
        self._targets = targets
        sizes = [len(one.source) for one in sets.values()]
        self._begin = dict(zip(sets, np.cumsum([0, *sizes]).tolist(), strict=False))
        self._counts = place.store(np.zeros(sum(sizes), np.int64))
        rows = [len(one.first) - 1 for one in sets.values()]
        self._first_row = dict(zip(sets, np.cumsum([0, *rows]).tolist(), strict=False))
        self._marks = place.store(np.zeros(sum(rows), np.int32))
        self._parts = 1 + max((one.part for one in sets.values()), default=0)
        widths = dict.fromkeys(texts.given, targets) | dict.fromkeys(texts.given_once, self._parts)
        self._given = {name: place.store(np.zeros((copies, n))) for name, n in widths.items()}
        self._arrays = {name: self._stored(one) for name, one in sets.items()}
        self._runs: dict[tuple[tuple[str, str], ...], tuple[Stored, Stored, Any, Stored]] = {}
        self._bound: tuple[Addresses, Addresses, Mapping[str, Stored]] = {}, {}, {}
        self._known: dict[str, TextFacts] = {}
        self._reaches: bool | None = None

    def _stored(self, one: SynapseSet) -> dict[str, Stored]:
        """Return the arrays of a set by name; those of copies by (name, copy)."""
        texts, store, m = self.texts, self.place.store, len(one.source)
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
            out[f"kept {name}"] = store(np.zeros((self.copies, m)))
        return out

    # -- values ---------------------------------------------------------------------------------

    def read(self, name: str, number: str) -> Reals:
        """Return a number of each synapse of a set, (synapses,), or (copies, synapses)."""
        self.place.wait()
        kind = "own" if number in self.texts.own else "kept"
        values: Reals = self._arrays[name][f"{kind} {number}"].read()
        return values

    def write(self, name: str, number: str, values: Reals) -> None:
        """Set a number of each synapse of a set; one that they did not have is added."""
        kind, arrays = "own" if number in self.texts.own else "kept", self._arrays[name]
        given = np.asarray(values, np.float64)
        if kind == "own" and f"own {number}" not in arrays:
            arrays[f"own {number}"] = self.place.store(given)
            self._runs = {}
            return
        arrays[f"{kind} {number}"].write(given)

    def set_number(self, name: str, number: str, value: float) -> None:
        """Set a number that all synapses of a set have in common."""
        stored = self._arrays[name]["numbers"]
        numbers = stored.read()
        numbers[self.texts.numbers.index(number)] = value
        stored.write(numbers)

    @property
    def counts(self) -> NDArray[np.int64]:
        """What texts have added to all synapses, in multiples of `UNIT`; set after each other."""
        self.place.wait()
        return self._counts.read()

    @counts.setter
    def counts(self, values: NDArray[np.int64]) -> None:
        self._counts.write(values)
        self._mark_all()

    def _mark_all(self) -> None:
        """Let texts look at the counts of all rows: others have set them."""
        self._marks.write(np.ones(self._marks.nbytes // 4, np.int32))

    def reaches(self, communicator: Any) -> bool:
        """Whether the GPUs of all ranks reach the memory of each other.

        All ranks call it together.
        """
        if self._reaches is None:
            ranks, own = communicator.Get_size(), communicator.Get_rank()
            offer = self.place.offer(self._counts, self._marks, self._first_of_rows(), ranks)
            able = self.place.reach(communicator.allgather(offer), own)
            self._reaches = all(communicator.allgather(able))
        return self._reaches

    def add_over_ranks(self) -> None:
        """Begin to add up the counts of all ranks, whose GPUs reach the memory of each other.

        The GPUs wait for each other there. So a rank calls it when all others are about to.
        """
        self.place.add()

    def _first_of_rows(self) -> NDArray[np.int64]:
        """Return where the synapses of each row of all sets begin, and where the last ones end."""
        sets = self.sets.items()
        begins = [self._begin[name] + np.asarray(one.first[:-1], np.int64) for name, one in sets]
        return np.concatenate([*begins, [self._counts.nbytes // 8]])

    # -- texts ----------------------------------------------------------------------------------

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
        stored = {name: self.place.store(np.asarray(p, np.int32)) for name, p in places.items()}
        self._bound = states, sent, stored

    def run(self, texts: Mapping[str, str], given: Mapping[str, Reals]) -> None:
        """Run a text for each of some sets.

        Parameters
        ----------
        texts : mapping of str to str
            Name of a set -> name of its text.
        given : mapping of str to array
            Numbers of targets that the texts read, (targets,) or (copies, targets); in place of
            targets the parts for those that are given once.
        """
        if not texts:
            return
        of_copies = any(self._about(text)[2] for text in texts.values())
        for name, values in given.items():
            if of_copies or values.ndim > 1:
                self._given[name].write(values)
            else:  # the texts run once, and read what is given for the first copy
                self._given[name].write_first(values)
        key = tuple(texts.items())
        if key not in self._runs:
            self._runs[key] = self._prepared(texts)
        sets, begin, work, _ = self._runs[key]
        light = all(self._about(text)[3] for text in texts.values())
        self.place.run(sets, begin, len(texts), work, light)

    def _prepared(self, texts: Mapping[str, str]) -> tuple[Stored, Stored, Any, Stored]:
        """Return the tables of a run."""
        for name, text in texts.items():
            self._check(name, text)
        tables = {name: self._tables(name) for name in texts}
        flat = [part for one in tables.values() for part in one.values()]
        stored = self.place.store(np.concatenate([*flat, np.zeros(1, np.uint64)]))
        words, at = [], stored.address
        for name, text in texts.items():
            where: dict[str, int] = {}
            for part, values in tables[name].items():
                where[part], at = at, at + values.nbytes
            words.append([self._word(member, name, text, where) for member in _WORDS])
        firsts = [self.sets[name].first for name in texts]
        rows = np.cumsum([0, *(len(first) - 1 for first in firsts)])
        degrees = np.concatenate([np.diff(first) for first in firsts])
        work = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        sets = self.place.store(np.array(words, np.uint64))
        return sets, self.place.store(rows.astype(np.int64)), work, stored

    def _about(self, text: str) -> TextFacts:
        """Return what has been found out about a text."""
        if text not in self._known:
            texts = self.texts
            read = [*texts.read(text)]
            facts = texts.numbers_of(text), read, texts.of_copies(text), texts.is_light(text)
            self._known[text] = facts
        return self._known[text]

    def _check(self, name: str, text: str) -> None:
        """Raise NeurodriverError where a set or its units do not have what a text reads."""
        numbers, states, *_ = self._about(text)
        for number in numbers:
            if f"own {number}" not in self._arrays[name]:
                say = f"text {quoted(text)} needs {number}"
                raise NeurodriverError(f"{quoted(name)}: {say}, which these synapses do not have")
        bound = self._bound[0].get(name)
        for side, state in states:
            place = self.texts.place(side, state)
            if bound is None or not bound.reshape(self.copies, -1)[:, place].all():
                say = f"text {quoted(text)} reads {side}.{state}"
                raise NeurodriverError(f"{quoted(name)}: {say}, which is no state of these units")

    def _tables(self, name: str) -> dict[str, Words]:
        """Return the tables of addresses of a set."""
        texts, arrays, copies = self.texts, self._arrays[name], self.copies
        own = [arrays[f"own {n}"].address if f"own {n}" in arrays else 0 for n in texts.own]
        m = len(self.sets[name].source)
        kept = [
            arrays[f"kept {one}"].address + 8 * m * copy if f"kept {one}" in arrays else 0
            for copy in range(copies)
            for one in texts.kept
        ]
        offset, part = self.sets[name].offset, self.sets[name].part
        places = dict.fromkeys(texts.given, (self._targets, offset))
        places |= dict.fromkeys(texts.given_once, (self._parts, part))
        given = [
            self._given[one].address + 8 * (copy * width + first)
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
        arrays: Mapping[str, Stored] = self._arrays[name]
        _, sent, places = self._bound
        if member in where:
            return where[member]
        if member in ("first", "source", "numbers"):
            return arrays[member].address
        if member == "counts":
            return self._counts.address + 8 * int(self._begin[name])
        if member == "marks":
            return self._marks.address + 4 * int(self._first_row[name])
        if member == "place":
            return places[name].address if name in places else 0
        if member == "copies":
            return self.copies if self._about(text)[2] else 1
        if member == "copies_sent":
            return len(sent.get(name, ()))
        return [*self.texts.texts].index(text)

    def close(self) -> None:
        """Give the memory back."""
        self.place.close()
