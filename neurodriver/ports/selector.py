"""Port selectors: which ports are meant, listed only when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from ..errors import MixedTokensError, SelectorError
from .blocks import Blocks, TermBlock, expanded, merged, pairwise, product
from .grammar import parse_sequence, parse_text
from .identifiers import Identifiers, Mask, PortIndex, Rows
from .tokens import PAD, Token

Text = str  # a name that the attribute `Selector.str` does not hide


class Selector:
    """Ports of an unambiguous selector, in order.

    Ranges and sets stay what they are until identifiers are asked for, and then they become
    columns; tuples and texts are made by the attributes that promise them.

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
        self.blocks = unambiguous(s)

    @classmethod
    def _of(cls, blocks: Blocks) -> Selector:
        made = cls.__new__(cls)
        made.blocks = blocks
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.ids,)

    @cached_property
    def ids(self) -> Identifiers:
        """The identifiers as columns."""
        return expanded(self.blocks)

    @cached_property
    def expanded(self) -> tuple[tuple[Token, ...], ...]:
        """Tuples of tokens; ``((),)`` for the empty selector."""
        return tuple(self.ids.tuples()) or ((),)

    @property
    def identifiers(self) -> list[Text]:
        """Texts such as ``'/a/0'``."""
        return self.ids.texts()

    @property
    def str(self) -> Text:
        """The identifiers as one text, such as ``'/a/0,/a/1'``."""
        return ",".join(self.identifiers)

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
        return cls._of(merged(b for s in sels for b in unambiguous(s)))

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
        for blocks in map(unambiguous, sels):
            total = blocks if total is None else pairwise(total, blocks)
        return cls._of(total or ())

    @classmethod
    def prod(cls, *sels: SelectorLike) -> Selector:
        """Return every identifier of one followed by every identifier of the next."""
        total: Blocks = ()
        for blocks in map(unambiguous, sels):
            if len(total) > 1 or len(blocks) > 1 or any(b.terms > 1 for b in (*total, *blocks)):
                total = merged(b.flat() for b in total if len(b))
            total = product(total, blocks)
        return cls._of(total)

    @classmethod
    def union(cls, *sels: SelectorLike) -> Selector:
        """Return the distinct ports of all selectors in lexicographic order.

        Raises
        ------
        MixedTokensError
            When identifiers that are equal so far go on with a string here and an integer there.
        """
        ids = cls.add(*sels).ids
        ids = ids.take(ids.order())
        if len(ids) > 1:
            differ = ids.codes[:, 1:] != ids.codes[:, :-1]
            ids = ids.take(np.concatenate([[True], differ.any(axis=0)]))
            _refuse_mixed(ids)
        return _restore(ids)

    def __add__(self, other: SelectorLike) -> Selector:
        return self.add(self, other)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[tuple[tuple[Token, ...]]]:
        return ((t,) for t in self.expanded)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        return np.array_equal(self.ids.trimmed().codes, other.ids.trimmed().codes)

    def __hash__(self) -> int:
        return hash((len(self), self.max_levels))

    def __repr__(self) -> Text:
        if len(self) <= 10:
            return f"Selector('{self.str}')"
        ids = self.ids
        ends = [ids.take(np.array([row])).texts()[0] for row in (0, 1, len(self) - 1)]
        return f"Selector('{ends[0]},{ends[1]},...,{ends[2]}', {len(self):,} ports)"


SelectorLike = str | Selector | Sequence[Any]


def _restore(ids: Identifiers) -> Selector:
    """Return the selector of some identifiers."""
    blocks = []
    depth = ids.depth
    ends = np.append(np.flatnonzero(np.diff(depth)) + 1, len(ids))
    begin = 0
    for end in ends.tolist():
        if end > begin:
            codes = ids.codes[: depth[begin], begin:end]
            blocks.append(TermBlock(end - begin, tuple(codes)).part(0, end - begin))
        begin = end
    return Selector._of(merged(blocks))


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


def is_sequence(s: object) -> TypeGuard[Sequence[Any]]:
    """Return whether something is a sequence that may hold terms."""
    return isinstance(s, Sequence | np.ndarray) and not isinstance(s, str | bytes)


def parsed(s: SelectorLike) -> Blocks:
    """Return the blocks of a text, a sequence of token sequences, or a `Selector`.

    Raises
    ------
    SelectorError
        'Cannot tokenize ...', 'Cannot parse ...' or 'invalid selector ...'.
    """
    if isinstance(s, Selector):
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


def unambiguous(s: SelectorLike) -> Blocks:
    """Return the blocks of a selector that can be listed.

    Raises
    ------
    SelectorError
        When it is invalid or holds '*' or '[n:]'.
    """
    blocks = blocks_of(s)
    if any(b.ambiguous for b in blocks):
        message = f"'*' and '[n:]' select among known ports, they cannot be expanded (got {s!r})"
        raise SelectorError(f"invalid selector: {message}")
    return blocks


def rows_of(s: SelectorLike, index: PortIndex, below: bool = False) -> Rows:
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
        mask: Mask = np.zeros(len(index.ids), np.bool_)
        for block in blocks:
            mask |= block.matches(index.ids)
        return np.flatnonzero(mask)
    ids = expanded(blocks)
    rows, asked = index.find_all(ids)
    if below and len(np.unique(asked)) < len(ids):
        rows, asked = _with_those_below(ids, index, rows, asked)
    return rows


def _with_those_below(
    ids: Identifiers, index: PortIndex, rows: Rows, asked: Rows
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
