"""``RowsThere``: the rows of the projections into an access on a GPU, for all passes over them."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...circuit.drawing import native_rule
from ...circuit.drawn import Drawn
from ...circuit.rules import FixedInDegree, FixedOutDegree, FixedProbability, FixedTotal
from ...plan.spikes.drawer import Asked

ADDRESS, INTEGER, REAL = ct.c_void_p, ct.c_longlong, ct.c_double

LONGEST = 1 << 15
"""Connections of a row at most: they stand in the shared memory of a warp."""

_PIECE = np.dtype(
    [(name, np.int64) for name in ("rule", "first", "last", "solid", "room", "buckets")]
    + [(name, np.uint64) for name in ("scale", "source", "target", "length", "begin", "listed")]
)
"""``nd_piece`` of ``drawing_rows.cuh``."""

_IN_ANY_ORDER = FixedTotal, FixedInDegree, FixedOutDegree
"""Rules whose targets are sorted when they have been drawn."""


class DrawingMemory(Protocol):
    """Addresses by what lies there; zeros at first."""

    address: dict[Any, int]

    def free(self) -> None: ...


class DrawingPlace(Protocol):
    """A device, as far as drawing needs it."""

    def memory(self, wanted: Mapping[Any, int]) -> DrawingMemory: ...
    def upload(self, address: int, array: NDArray[Any]) -> None: ...
    def download(self, address: int, out: NDArray[Any]) -> None: ...
    def clear(self, address: int, size: int) -> None: ...
    def start(self, name: str, warps: int, shared: int, values: tuple[Any, ...]) -> None: ...
    def wait(self) -> None: ...
    def current(self) -> Any: ...


class RowsThere:
    """The rows of an access on the device: rules, lengths, and what is asked of them.

    Attributes
    ----------
    fit : bool
        Whether a warp has room for the longest row.
    """

    def __init__(self, place: DrawingPlace, asked: Asked) -> None:
        self.place, drawn = place, asked.drawn
        self._ends = np.cumsum([len(links.ends.source) for links in drawn], dtype=np.int64)
        self._begins = np.concatenate([[0], self._ends[:-1]]).astype(np.int64)
        self._draws = list(map(_draws, drawn))
        self._listed = [isinstance(one.projection.rule, FixedInDegree) for one in drawn]
        rules = np.frombuffer(b"".join(map(_rule, drawn)), np.uint8)
        sizes = {"rules": rules.nbytes, "lengths": 4 * int(self._ends[-1]),
                 "pieces": _PIECE.itemsize * len(drawn), "longest": 8 * len(drawn),
                 "source": asked.source.nbytes, "target": asked.target.nbytes}  # fmt: skip
        self._memory = place.memory(sizes)
        self._address = self._memory.address
        columns: dict[str, NDArray[Any]]
        columns = {"rules": rules, "source": asked.source, "target": asked.target}
        for name, column in columns.items():
            place.upload(self._address[name], column)
        for number in range(len(drawn)):
            self._draw_lengths(number, 0, 0)
        self._pieces = self._asked_of(asked)
        self.fit = self._measure(drawn)

    def free(self) -> None:
        """Give the memory back."""
        self._memory.free()

    def each(self, name: str, *given: Any) -> None:
        """Start a kernel for each projection."""
        self._send()
        rules = ADDRESS(self._address["rules"]), ADDRESS(self._address["pieces"])
        shared = 4 * (self._pieces["room"] + self._pieces["buckets"])
        sizes = zip((self._ends - self._begins).tolist(), shared.tolist(), strict=True)
        for number, (rows, size) in enumerate(sizes):
            held = self._list(number) if self._listed[number] else None
            if held is not None:
                self._pieces["begin"][number] = held.address["begin"]
                self._pieces["listed"][number] = held.address["listed"]
                self._send()
            self.place.start(name, rows, size, (*rules, INTEGER(number), *given))
            if held is not None:
                self.place.wait()
                held.free()

    def _asked_of(self, asked: Asked) -> NDArray[Any]:
        """Return what is asked of the projections, without how much memory that takes."""
        pieces = np.zeros(len(asked.drawn), _PIECE)
        ends = [(one.ends.source.start, one.ends.target.start, one.ends.target.stop)
                for one in asked.drawn]  # fmt: skip
        source, start, stop = np.array(ends, np.int64).reshape(-1, 3).T
        wanted = np.flatnonzero(asked.target >= 0)
        before, behind = np.searchsorted(wanted, (start, stop))
        some = behind > before
        pieces["first"][some] = wanted[before[some]] - start[some]
        pieces["last"][some] = wanted[behind[some] - 1] + 1 - start[some]
        pieces["solid"] = behind - before == pieces["last"] - pieces["first"]
        pieces["rule"] = np.arange(len(pieces))
        for name, first in (("source", source), ("target", start)):
            pieces[name] = self._address[name] + 4 * first
        pieces["length"] = self._address["lengths"] + 4 * self._begins
        return pieces

    def _measure(self, drawn: list[Drawn] | Any) -> bool:
        """Find how much memory a warp needs, by counting; return whether it has as much."""
        self.each("nd_longest", ADDRESS(self._address["longest"]))
        longest = np.empty((len(drawn), 2), np.int32)
        self.place.download(self._address["longest"], longest)
        room = np.maximum(longest[:, 1], 1).astype(np.int64)
        sorts = [isinstance(one.projection.rule, _IN_ANY_ORDER) for one in drawn]
        buckets = np.where(sorts, (room + 63) // 64 * 32, 0)  # two connections in each
        width = np.maximum(self._pieces["last"] - self._pieces["first"], 1)
        self._pieces["room"], self._pieces["buckets"] = room, buckets
        self._pieces["scale"] = np.left_shift(buckets, 32) // width
        return int(longest.max(initial=0)) <= LONGEST

    def _send(self) -> None:
        self.place.upload(self._address["pieces"], self._pieces.view(np.uint8))

    def _draw_lengths(self, number: int, begin: int, listed: int) -> None:
        length = self._address["lengths"] + 4 * int(self._begins[number])
        values = ADDRESS(length), ADDRESS(begin), ADDRESS(listed)
        rules, warps = ADDRESS(self._address["rules"]), -(-self._draws[number] // 32)
        self.place.start("nd_lengths", warps, 0, (rules, INTEGER(number), *values))

    def _list(self, number: int) -> DrawingMemory:
        """Return the targets of each source of a fixed in-degree."""
        first, last = int(self._begins[number]), int(self._ends[number])
        lengths = np.empty(last - first, np.int32)
        self.place.download(self._address["lengths"] + 4 * first, lengths)
        end = np.cumsum(lengths, dtype=np.int64)
        begin = np.concatenate([[0], end[:-1]]).astype(np.int64)
        held = self.place.memory({"begin": begin.nbytes, "listed": 4 * int(end[-1])})
        self.place.upload(held.address["begin"], begin)
        self.place.clear(self._address["lengths"] + 4 * first, 4 * (last - first))
        self._draw_lengths(number, held.address["begin"], held.address["listed"])
        return held


def _rule(links: Drawn) -> bytes:
    given = links.projection.rule, links.ends, links.key, links.weight, links.latency
    return bytes(native_rule(*given)[0])


def _draws(links: Drawn) -> int:
    """Return how many threads draw the lengths of the rows."""
    rule, sources = links.projection.rule, len(links.ends.source)
    if isinstance(rule, FixedProbability):
        return 32 * sources
    if isinstance(rule, FixedTotal):
        return -(-rule.edges(links.ends) // 2)
    return rule.edges(links.ends) if isinstance(rule, FixedInDegree) else sources
