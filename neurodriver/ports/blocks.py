"""What a selector means: blocks, each a product of levels that is expanded only on demand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Final

import numpy as np

from ..errors import SelectorError
from .identifiers import Identifiers, Mask, PortIndex
from .tokens import PAD, Codes

MOST_PORTS = 10**8
"""A selector may say more ports than this, but nothing can be done with them."""


class Any_:
    """The level ``*``: any token."""

    def __repr__(self) -> str:
        return "*"


ANY: Final = Any_()

Level = int | Codes | tuple[int, ...] | range | slice | Any_
"""A code, one code per term, a set of codes, an interval, an open interval, or any token."""


@dataclass(frozen=True, slots=True, eq=False)
class TermBlock:
    """Terms of equal shape. Each term is the product of its levels, the last level fastest.

    Parameters
    ----------
    terms : int
        Number of terms.
    levels : tuple of Level
        An array holds one code per term; every other level is the same for all terms.
    """

    terms: int
    levels: tuple[Level, ...]

    @property
    def ambiguous(self) -> bool:
        """Whether some level cannot be listed."""
        return any(isinstance(level, slice | Any_) for level in self.levels)

    @property
    def listed(self) -> bool:
        """Whether every term is one identifier."""
        return all(isinstance(level, int | np.ndarray) for level in self.levels)

    def shape(self) -> tuple[int, ...]:
        """Return the number of terms and the sizes of sets and intervals."""
        sizes = [len(level) for level in self.levels if isinstance(level, tuple | range)]
        return (self.terms, *sizes)

    def __len__(self) -> int:
        return math.prod(self.shape())

    def columns(self) -> list[Codes]:
        """Return the codes of every level, in the order of the identifiers."""
        shape = self.shape()
        count = math.prod(shape)
        if count > MOST_PORTS:
            message = f"it says {count:,} ports, {MOST_PORTS:,} can be listed"
            raise SelectorError(f"invalid selector: {message}")
        out, axis = [], 0
        for level in self.levels:
            if isinstance(level, tuple | range):
                axis += 1
                values = np.asarray(level) if isinstance(level, tuple) else arange(level)
                column = values.reshape(-1, *(1,) * (len(shape) - 1 - axis))
            elif isinstance(level, np.ndarray):
                column = level.reshape(-1, *(1,) * (len(shape) - 1))
            else:
                column = np.array(level, np.int64)
            out.append(np.broadcast_to(column, shape).reshape(-1))
        return out

    def flat(self) -> TermBlock:
        """Return the same identifiers, one term each."""
        return (
            self if self.listed else TermBlock(len(self), tuple(self.columns())).part(0, len(self))
        )

    def part(self, begin: int, end: int) -> TermBlock:
        """Return some terms."""
        cut = [x[begin:end] if isinstance(x, np.ndarray) else x for x in self.levels]
        if end - begin == 1:
            cut = [int(x[0]) if isinstance(x, np.ndarray) else x for x in cut]
        return TermBlock(end - begin, tuple(cut))

    def matches(self, ids: Identifiers) -> Mask:
        """Return which identifiers begin as one of the terms, (n,)."""
        mask = np.ones(len(ids), np.bool_)
        if not self.levels or len(self.levels) > ids.levels:
            return np.zeros(len(ids), np.bool_)
        chosen = []
        for place, level in enumerate(self.levels):
            column = ids.codes[place]
            if isinstance(level, int):
                mask &= column == level
            elif isinstance(level, np.ndarray):
                chosen.append(place)
            elif isinstance(level, tuple):
                mask &= np.isin(column, level)
            elif isinstance(level, Any_):
                mask &= column != PAD
            else:
                mask &= column >= (level.start or 0)
                if level.stop is not None:
                    mask &= column < level.stop
        if chosen:
            terms = np.array([self.levels[place] for place in chosen])
            index = PortIndex(Identifiers(terms))
            mask &= index.find(Identifiers(ids.codes[chosen])) >= 0
        return mask


Blocks = tuple[TermBlock, ...]
EMPTY: Blocks = ()
"""The empty selector."""

NOTHING: Final = TermBlock(1, (range(0),))
"""What is left of a term with an empty interval."""


def arange(interval: range) -> Codes:
    """Return the integers of an interval."""
    return np.arange(interval.start, interval.stop, dtype=np.int64)


def one_identifier(blocks: Blocks) -> list[int] | None:
    """Return the codes of the only identifier, or None when there are more, or none."""
    if len(blocks) != 1 or blocks[0].terms != 1:
        return None
    codes = []
    for level in blocks[0].levels:
        if isinstance(level, tuple) and len(level) == 1:
            level = level[0]
        if not isinstance(level, int):
            return None
        codes.append(level)
    return codes


def merged(blocks: Iterable[TermBlock]) -> Blocks:
    """Return the same blocks, neighbours of single identifiers joined to one."""
    out: list[TermBlock] = []
    for key, run in groupby(blocks, lambda b: len(b.levels) if b.listed else -1):
        group = list(run)
        if key <= 0 or len(group) == 1:
            out += [b for b in group if b.levels]
        elif all(b.terms == 1 for b in group):
            codes = np.array([b.levels for b in group], np.int64).reshape(len(group), key)
            out.append(TermBlock(len(group), tuple(np.ascontiguousarray(codes.T))))
        else:
            columns = zip(*(b.columns() for b in group), strict=True)
            levels = tuple(np.concatenate(parts) for parts in columns)
            out.append(TermBlock(sum(b.terms for b in group), levels))
    return tuple(out)


def _join(a: TermBlock, b: TermBlock) -> TermBlock:
    """Return every term of ``a`` followed by every term of ``b``."""
    left = [np.repeat(x, b.terms) if isinstance(x, np.ndarray) else x for x in a.levels]
    right = [np.tile(x, a.terms) if isinstance(x, np.ndarray) else x for x in b.levels]
    return TermBlock(a.terms * b.terms, (*left, *right))


def product(left: Blocks, right: Blocks) -> Blocks:
    """Return ``left+right``: each term of the one followed by each term of the other."""
    if not left or not right:
        return left or right
    out: list[TermBlock] = []
    for a in left:
        others: Iterable[TermBlock] = right
        if len(right) > 1 and a.terms > 1 and a.listed and not any(b.ambiguous for b in right):
            others = merged(b.flat() if len(b) else b for b in right)
        others = list(others)
        if len(others) > 1 and a.terms > 1:
            singles = [a.part(i, i + 1) for i in range(a.terms)]
            out += [_join(single, b) for single in singles for b in others]
        else:
            out += [_join(a, b) for b in others]
    return merged(out)


def pairwise(left: Blocks, right: Blocks) -> Blocks:
    """Return ``left.+right``: the identifiers of both, joined one by one.

    Raises
    ------
    SelectorError
        When their numbers differ, or one is ambiguous.
    """
    if any(b.ambiguous for b in chain(left, right)):
        raise SelectorError("'.+' joins identifiers that can be listed, not '*' or '[n:]'")
    counts = sum(map(len, left)), sum(map(len, right))
    if counts[0] != counts[1]:
        message = f"'.+' joins equally many identifiers (got {counts[0]:,} and {counts[1]:,})"
        raise SelectorError(message)
    flat = [[b.flat() for b in blocks if len(b)] for blocks in (left, right)]
    ends = [np.cumsum([b.terms for b in blocks]) for blocks in flat]
    cuts = np.union1d(*ends).astype(int).tolist()
    out, begin = [], 0
    for end in cuts:
        both: list[Level] = []
        for blocks, stops in zip(flat, ends, strict=True):
            which = int(np.searchsorted(stops, begin, side="right"))
            offset = int(stops[which]) - blocks[which].terms
            both += blocks[which].part(begin - offset, end - offset).levels
        out.append(TermBlock(end - begin, tuple(both)))
        begin = end
    return merged(out) if out else (NOTHING,)


def expanded(blocks: Blocks) -> Identifiers:
    """Return the identifiers of unambiguous blocks as columns."""
    parts = [Identifiers(np.array(b.columns(), np.int64)) for b in blocks if len(b) and b.levels]
    return Identifiers.joined(parts)
