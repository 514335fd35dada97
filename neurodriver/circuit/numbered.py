"""``Numbered``: names that count, which are made when somebody asks for them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]

CHUNK = 1 << 16
"""Names that are made at once."""

SHORT = 100
"""Mean number of names of a population below which they are made one by one."""


@dataclass(frozen=True)
class Numbered:
    """Names that count, ``<population>/<number>``; they are made when somebody asks for them.

    Attributes
    ----------
    parts : tuple of (str, int)
        Name and number of components of each population, one after the other.
    """

    parts: tuple[tuple[str, int], ...]

    @property
    def shape(self) -> tuple[int]:
        """Number of names."""
        return (self._ends[-1] if self.parts else 0,)

    @cached_property
    def _ends(self) -> list[int]:
        """Number of names up to the end of each population."""
        return list(accumulate(count for _, count in self.parts))

    def _between(self, first: int, end: int) -> range:
        """Return the numbers of the populations to which names belong."""
        last = bisect_left(self._ends, end)
        return range(bisect_right(self._ends, first), min(last + 1, len(self.parts)))

    def are_short(self, first: int, end: int) -> bool:
        """Whether the populations of names are so small that each takes longer than its names."""
        return end - first < SHORT * len(self._between(first, end))

    def made(self) -> Column:
        """Return the names, (n,) str."""
        return self.between(0, self.shape[0])

    def between(self, first: int, end: int) -> Column:
        """Return the names ``first`` to ``end`` - 1, (end - first,) str."""
        some = []
        for part in self._between(first, end):
            name, count = self.parts[part]
            begin = self._ends[part] - count
            low, high = max(first - begin, 0), min(end - begin, count)
            if low < high:
                some.append((f"{name}/", low, high))
        if self.are_short(first, end):
            names = [f"{head}{i}" for head, low, high in some for i in range(low, high)]
            return np.array(names, np.str_)
        width = max((len(head) + len(str(high - 1)) for head, _, high in some), default=1)
        codes, row = np.zeros((end - first, width), np.uint32), 0
        for head, low, high in some:
            codes[row : row + high - low, : len(head)] = [*map(ord, head)]
            for begin, stop, digits in _alike(low, high):
                rows = codes[row : row + stop - begin, len(head) : len(head) + digits]
                _write(rows, begin)
                row += stop - begin
        return codes.view(f"U{width}")[:, 0]

    def listed(self) -> Iterator[str]:
        """Yield the names; that is faster than to make an array of them."""
        for name, count in self.parts:
            yield from map(f"{name}/".__add__, map(str, range(count)))

    def chunks(self) -> Iterator[list[str]]:
        """Yield the names in lists of ``CHUNK``: there may be millions."""
        names = self.listed()
        while some := list(islice(names, CHUNK)):
            yield some

    def joined(self) -> Iterator[bytes]:
        """Yield the parts of one text: all names, with null characters between them."""
        names = (some for name, count in self.parts for some in _joined(f"\0{name}/", count))
        for first in names:
            yield first[1:]
            break
        yield from names

    def first(self, count: int) -> list[str]:
        """Return the first names."""
        return list(islice(self.listed(), count))


def _joined(before: str, count: int) -> Iterator[bytes]:
    """Yield parts of the text of ``before`` with each number from 0 on, as UTF-8."""
    head = np.frombuffer(before.encode(), np.uint8)
    for first, end, digits in _alike(0, count):
        text = np.empty((end - first, len(head) + digits), np.uint8)
        text[:, : len(head)] = head
        _write(text[:, len(head) :], first)
        yield text.tobytes()


def _alike(first: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of at most ``CHUNK`` numbers of equal length, as (first, end, digits)."""
    while first < end:
        digits = len(str(first))
        stop = min(end, first + CHUNK, 10**digits)
        yield first, stop, digits
        first = stop


def _write(text: NDArray[Any], first: int) -> None:
    """Write numbers that count into rows of characters, a digit of all numbers at a time."""
    left = np.arange(first, first + len(text), dtype=np.uint32)
    for place in range(1, text.shape[1] + 1):
        left, text[:, -place] = left // 10, left % 10 + ord("0")
