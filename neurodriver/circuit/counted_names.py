"""``CountedNames``: component numbers of names that count, ``<population>/<number>``.

Such names are not made: the number of a component follows from its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .groups import Group, NamesOfSome
from .numbered import CHUNK, Column, Numbered

if TYPE_CHECKING:
    from .circuit import Circuit

Numbers = NDArray[np.int64]

MOST_DIGITS = 18
"""More have no place in 64 bits."""


def numbers_of_group(circuit: Circuit, uids: Any) -> Numbers | None:
    """Return the component numbers of a group if ``uids`` is the very array of its names.

    Such an array cannot be written to, so nobody has to look at the names.
    """
    for group, start in zip(circuit.groups, circuit.starts, strict=False):
        own = None if group.scopes else vars(group).get("uids")
        if own is not None and own is uids:
            return np.arange(start, start + group.count)
    return None


@dataclass(frozen=True)
class CountedNames:
    """The names of a circuit, all of which count.

    Attributes
    ----------
    spans : mapping of str to (int, int)
        Name of a population -> where its names begin among all that there may be, and how many.
    places : (all,) int64 or None
        Component of each of these names, -1 where there is none. None: they are in order.
    """

    spans: Mapping[str, tuple[int, int]]
    places: Numbers | None = None

    @classmethod
    def of(cls, circuit: Circuit) -> CountedNames | None:
        """Return the names of a circuit, or of a part of one; None where not all of them count."""
        spans: dict[str, tuple[int, int]] = {}
        first: dict[Group, int] = {}
        rows: list[Numbers] = []
        end = 0
        for group in circuit.groups:
            names = group.names
            whole = names.group if isinstance(names, NamesOfSome) else group
            if group.scopes or whole.scopes or not isinstance(whole.names, Numbered | None):
                return None
            if whole not in first:
                first[whole] = end
                parts = ((whole.name, whole.count),) if whole.names is None else whole.names.parts
                for name, count in parts:
                    if name in spans:
                        return None
                    spans[name] = end, count
                    end += count
            mine = names.rows if isinstance(names, NamesOfSome) else np.arange(group.count)
            rows.append(first[whole] + mine.astype(np.int64))
        order = np.concatenate(rows) if rows else np.empty(0, np.int64)
        if np.array_equal(order, np.arange(end)):
            return cls(spans)
        places = np.full(end, -1, np.int64)
        places[order] = np.arange(len(order))
        return cls(spans, places)

    def find(self, uids: Sequence[str] | Column) -> Numbers:
        """Return component numbers of names, -1 where there is none, (len(uids),) int64."""
        found = np.empty(len(uids), np.int64)
        for begin in range(0, len(uids), CHUNK):
            some = np.ascontiguousarray(uids[begin : begin + CHUNK], np.str_)
            first, last = self._find(some[[0, -1]]).tolist()
            if self._are_between(first, last + 1, some):
                found[begin : begin + CHUNK] = np.arange(first, last + 1)
            else:
                found[begin : begin + CHUNK] = self._find(some)
        if self.places is None or not len(self.places):
            return found
        return np.where(found < 0, -1, self.places[found])

    @cached_property
    def _all(self) -> Numbered:
        return Numbered(tuple((name, count) for name, (_, count) in self.spans.items()))

    def _are_between(self, first: int, end: int, text: Column) -> bool:
        """Whether these are all names from ``first`` to ``end`` - 1, in order.

        This takes less time than to read the number in each name.
        """
        if first < 0 or end - first != len(text) or self._all.are_short(first, end):
            return False
        return np.array_equal(self._all.between(first, end), text)

    def _find(self, text: Column) -> Numbers:
        """Return the numbers of some names among all that there may be."""
        none = np.full(len(text), -1, np.int64)
        width = text.dtype.itemsize // 4
        if not width:
            return none
        codes = text.view(np.uint32).reshape(len(text), width)
        small, column = np.minimum(codes, 255).astype(np.uint8), np.arange(width)
        ends = np.strings.str_len(text)
        last = width - 1 - (small[:, ::-1] == ord("/")).argmax(axis=1)
        slash = np.take_along_axis(small, last[:, None], axis=1)[:, 0] == ord("/")
        digits, value = ends - last - 1, small - np.uint8(ord("0"))
        behind = (column > last[:, None]) & (column < ends[:, None])
        good = slash & (digits > 0) & (digits <= MOST_DIGITS) & ~(behind & (value > 9)).any(axis=1)
        lead = np.take_along_axis(value, np.minimum(last + 1, width - 1)[:, None], axis=1)[:, 0]
        good &= (lead > 0) | (digits == 1)
        number = np.zeros(len(text), np.int64)
        for k in range(int(last[good].min(initial=width)) + 1, width):
            number = np.where(behind[:, k], 10 * number + value[:, k], number)
        first, count = self._spans_of(np.where(column < last[:, None], codes, 0))
        return np.where(good & (number < count), first + number, none)

    def _spans_of(self, heads: NDArray[np.uint32]) -> tuple[Numbers, Numbers]:
        """Return where the names of populations begin, and how many they are, (m,) each."""
        starts = np.flatnonzero(
            np.concatenate([[True], (heads[1:] != heads[:-1]).any(axis=1)])
        )  # neighbours mostly have one name
        names = heads[starts].view(f"U{heads.shape[1]}")[:, 0]
        known, which = np.unique(names, return_inverse=True)
        spans = np.array([self.spans.get(str(name), (0, 0)) for name in known], np.int64)
        first, count = spans[np.repeat(which, np.diff([*starts, len(heads)]))].T
        return first, count
