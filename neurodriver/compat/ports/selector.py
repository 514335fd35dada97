"""Selectors with all that the old library could do: token sequences, tuples, products, unions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from ...errors import SelectorError
from ...ports import selector as core
from ...ports.blocks import EMPTY, Blocks, TermBlock, expanded, merged, pairwise, product
from ...ports.grammar import SHORT, level_of, parse_text
from ...ports.identifiers import Identifiers, PortIndex, Rows
from ...ports.labels import is_sequence
from ...ports.selector import matching, unambiguous
from ...ports.tokens import PAD, Token, encode_all
from .tuples import tuples_of


class MixedTokensError(SelectorError, TypeError):
    """Strings and integers at one level cannot be put in order."""


class Selector(core.Selector):
    """A `neurodriver.Selector` that also takes sequences and gives tuples.

    Parameters
    ----------
    s : str, Selector or sequence
        Text such as ``'/foo/bar[0:3]'``, or a sequence of token sequences whose tokens are strings,
        integers, lists of either, or slices.

    Raises
    ------
    SelectorError
        ``invalid selector ...`` with the place of the fault, or when it is ambiguous.
    """

    def __init__(self, s: SelectorLike = "") -> None:
        self.blocks = unambiguous(blocks_of(s), s)

    @cached_property
    def expanded(self) -> tuple[tuple[Token, ...], ...]:
        """Tuples of tokens; ``((),)`` for the empty selector."""
        return tuple(tuples_of(self.ids)) or ((),)

    @property
    def max_levels(self) -> int:
        """Number of levels of the longest identifier."""
        return max((len(b.levels) for b in self.blocks if len(b)), default=0)

    @property
    def nonempty(self) -> bool:
        """Whether it holds a port."""
        return any(len(b) for b in self.blocks)

    @classmethod
    def add(cls, *sels: SelectorLike) -> Selector:
        """Return the ports of all selectors, one after the other, repeats kept."""
        return cls.of_blocks(merged(b for s in sels for b in cls(s).blocks))

    @classmethod
    def add_str(cls, *sels: SelectorLike) -> Selector:
        """Return the same as `add`; texts need no `Selector` around them."""
        return cls.add(*sels)

    @classmethod
    def concat(cls, *sels: SelectorLike) -> Selector:
        """Return the identifiers joined one by one, as ``.+`` does.

        Raises
        ------
        SelectorError
            When the selectors hold different numbers of ports.
        """
        total: Blocks | None = None
        for blocks in (cls(s).blocks for s in sels):
            total = blocks if total is None else pairwise(total, blocks)
        return cls.of_blocks(total or ())

    @classmethod
    def prod(cls, *sels: SelectorLike) -> Selector:
        """Return every identifier of one followed by every identifier of the next."""
        total: Blocks = ()
        for blocks in (cls(s).blocks for s in sels):
            if len(total) > 1 or len(blocks) > 1 or any(b.terms > 1 for b in (*total, *blocks)):
                total = merged(b.flat() for b in total if len(b))
            total = product(total, blocks)
        return cls.of_blocks(total)

    @classmethod
    def union(cls, *sels: SelectorLike) -> Selector:
        """Return the distinct ports of all selectors in lexicographic order.

        Raises
        ------
        MixedTokensError
            When identifiers that are equal so far go on with a string here and an integer there.
        """
        ids = cls.add_str(*sels).ids
        ids = ids.take(ids.order())
        if len(ids) > 1:
            differ = ids.codes[:, 1:] != ids.codes[:, :-1]
            ids = ids.take(np.concatenate([[True], differ.any(axis=0)]))
            _refuse_mixed(ids)
        return cls.of_identifiers(ids)

    def __iter__(self) -> Iterator[tuple[tuple[Token, ...]]]:
        return ((t,) for t in self.expanded)


SelectorLike = str | core.Selector | Sequence[Any]


def _refuse_mixed(ids: Identifiers) -> None:
    """Raise when neighbours in order differ first by a string and an integer."""
    ahead, after = ids.codes[:, :-1], ids.codes[:, 1:]
    first = (ahead != after).argmax(axis=0)
    columns = np.arange(len(first))
    a, b = ahead[first, columns], after[first, columns]
    mixed = np.flatnonzero((a >= 0) & (b < PAD))
    if len(mixed):
        both = ids.take(mixed[0] + np.arange(2)).texts()
        message = f"'{both[0]}' and '{both[1]}' differ by a string and an integer"
        raise MixedTokensError(f"invalid selector: {message}, which have no order")


def parsed(s: SelectorLike) -> Blocks:
    """Return the blocks of a text, a sequence of token sequences, or a `Selector`.

    Raises
    ------
    SelectorError
        'Cannot tokenize ...', 'Cannot parse ...' or 'invalid selector ...'.
    """
    if isinstance(s, core.Selector):
        return s.blocks
    if isinstance(s, str):
        return parse_text(s)
    if is_sequence(s):
        return parse_sequence(s)
    message = f"a selector is a text, a sequence of token sequences, or a Selector (got {s!r})"
    raise SelectorError(f"invalid selector: {message}")


def blocks_of(s: SelectorLike) -> Blocks:
    """Return the same as `parsed`; every error begins with 'invalid selector'."""
    try:
        return parsed(s)
    except SelectorError as error:
        said = str(error)
        said = said if said.startswith("invalid selector") else f"invalid selector: {said}"
        raise SelectorError(said) from None


def parse_sequence(terms: Sequence[Any]) -> Blocks:
    """Return the blocks of a sequence of token sequences, as ``[('foo', [0, 2]), ('bar', 1)]``.

    Raises
    ------
    SelectorError
        When it is none, with the number of the term.
    """
    if len(terms) > SHORT and (quick := _listed_terms(terms)):
        return quick
    blocks = []
    for number, term in enumerate(terms):
        if isinstance(term, str) or not hasattr(term, "__iter__"):
            message = f"term {number} is not a sequence of tokens (got {term!r})"
            raise SelectorError(f"invalid selector: {message}")
        try:
            levels = [level_of(token) for token in term]
        except SelectorError as error:
            raise SelectorError(f"{error}, in term {number}") from None
        while levels and levels[-1] == PAD:
            levels.pop()
        if any(isinstance(level, int) and level == PAD for level in levels):
            message = f"an empty token stands before another in term {number}"
            raise SelectorError(f"invalid selector: {message} (got {term!r})")
        blocks.append(TermBlock(1, tuple(levels)))
    return merged(blocks)


def _listed_terms(terms: Sequence[Any]) -> Blocks:
    """Return the blocks of many tuples of strings and integers; nothing when there is more."""
    blocks = []
    if not set(map(type, terms)) <= {tuple, list}:
        return EMPTY
    for levels, run in groupby(terms, len):
        columns = list(zip(*run, strict=True))
        if not levels or any("" in c for c in columns):
            return EMPTY
        if any("*" in c or not set(map(type, c)) <= {str, int} for c in columns):
            return EMPTY
        count = len(columns[0])
        blocks.append(TermBlock(count, tuple(map(encode_all, columns))).part(0, count))
    return merged(blocks)


class Finder(PortIndex):
    """Finds every row of an identifier that stands at several rows."""

    def find_all(self, ids: Identifiers) -> tuple[Rows, Rows]:
        """Return the rows of all that equal an identifier, and which one it was.

        Returns
        -------
        rows, asked : (m,) int64
            In the order of ``ids``; equal identifiers in the order of their rows.
        """
        if not len(self._keys) or not len(ids):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        key = self._key(ids)
        first = np.searchsorted(self._keys, key, side="left")
        count = np.searchsorted(self._keys, key, side="right") - first
        asked = np.repeat(np.arange(len(ids)), count)
        place = np.arange(len(asked)) - np.repeat(np.cumsum(count) - count, count)
        place += np.repeat(first, count)
        return (place if self._rows is None else self._rows[place]), asked


def rows_of(s: SelectorLike, index: Finder, below: bool = False) -> Rows:
    """Return the rows of the ports that a selector means.

    Parameters
    ----------
    s : SelectorLike
        Unambiguous: rows in its order, unknown ports are left out. Ambiguous: rows in the order of
        the index, of all ports that begin as the selector says.
    index : PortIndex
        The known ports.
    below : bool
        An unknown identifier means all ports that begin with it.

    Returns
    -------
    (m,) int64
    """
    blocks = blocks_of(s)
    if any(b.ambiguous for b in blocks):
        return matching(blocks, index.ids)
    ids = expanded(blocks)
    rows, asked = index.find_all(ids)
    if below and len(np.unique(asked)) < len(ids):
        rows, asked = _with_those_below(ids, index, rows, asked)
    return rows


def _with_those_below(
    ids: Identifiers, index: Finder, rows: Rows, asked: Rows
) -> tuple[Rows, Rows]:
    missing = np.setdiff1d(np.arange(len(ids)), asked)
    depth = ids.depth[missing]
    for levels in np.unique(depth).tolist():
        if not 0 < levels < index.ids.levels:
            continue
        some = missing[depth == levels]
        prefixes = PortIndex(Identifiers(ids.codes[:levels, some]))
        found = prefixes.find(Identifiers(index.ids.codes[:levels]))
        held = np.flatnonzero(found >= 0)
        rows = np.concatenate([rows, held])
        asked = np.concatenate([asked, some[found[held]]])
    order = np.argsort(asked, kind="stable")
    return rows[order], asked[order]
