"""Port selectors: which ports are meant, listed only when somebody asks."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from ..errors import SelectorError
from .blocks import Blocks, TermBlock, expanded, merged
from .grammar import parse_text
from .identifiers import Identifiers, Mask, Rows

Text = str  # a name that the attribute `Selector.str` does not hide


class Selector:
    """Ports of an unambiguous selector, in order.

    Ranges and sets stay what they are until identifiers are asked for; then they become columns.

    Parameters
    ----------
    s : str or Selector
        Text such as ``'/foo/bar[0:3]'``.

    Raises
    ------
    SelectorError
        ``invalid selector ...`` with the place of the fault, or when it is ambiguous.
    """

    def __init__(self, s: SelectorLike = "") -> None:
        self.blocks = unambiguous(blocks_of(s), s)

    @classmethod
    def of_blocks(cls, blocks: Blocks) -> Self:
        """Return the selector of some blocks."""
        made = cls.__new__(cls)
        made.blocks = blocks
        return made

    @classmethod
    def of_identifiers(cls, ids: Identifiers) -> Self:
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
        return cls.of_blocks(merged(blocks))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of_identifiers, (self.ids,)

    @cached_property
    def ids(self) -> Identifiers:
        """The identifiers as columns."""
        return expanded(self.blocks)

    @property
    def identifiers(self) -> list[Text]:
        """Texts such as ``'/a/0'``."""
        return self.ids.texts()

    @property
    def str(self) -> Text:
        """The identifiers as one text, such as ``'/a/0,/a/1'``."""
        return ",".join(self.identifiers)

    def __add__(self, other: SelectorLike) -> Self:
        return self.of_blocks(merged([*self.blocks, *type(self)(other).blocks]))

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        return np.array_equal(self.ids.trimmed().codes, other.ids.trimmed().codes)

    def __hash__(self) -> int:
        return hash((len(self), max((len(b.levels) for b in self.blocks if len(b)), default=0)))

    def __repr__(self) -> Text:
        if len(self) <= 10:
            return f"Selector('{self.str}')"
        ids = self.ids
        ends = [ids.take(np.array([row])).texts()[0] for row in (0, 1, len(self) - 1)]
        return f"Selector('{ends[0]},{ends[1]},...,{ends[2]}', {len(self):,} ports)"


SelectorLike = str | Selector


def blocks_of(s: SelectorLike) -> Blocks:
    """Return the blocks of a text or a `Selector`.

    Raises
    ------
    SelectorError
        'invalid selector ...'.
    """
    if isinstance(s, Selector):
        return s.blocks
    if not isinstance(s, str):
        raise SelectorError(f"invalid selector: a text or a Selector is needed (got {s!r:.60})")
    try:
        return parse_text(s)
    except SelectorError as error:
        said = str(error)
        said = said if said.startswith("invalid selector") else f"invalid selector: {said}"
        raise SelectorError(said) from None


def unambiguous(blocks: Blocks, s: Any) -> Blocks:
    """Return the blocks of a selector ``s`` that can be listed.

    Raises
    ------
    SelectorError
        When it holds '*' or '[n:]'.
    """
    if any(b.ambiguous for b in blocks):
        message = f"'*' and '[n:]' select among known ports, they cannot be expanded (got {s!r})"
        raise SelectorError(f"invalid selector: {message}")
    return blocks


def matching(blocks: Blocks, ids: Identifiers) -> Rows:
    """Return the rows of all identifiers that begin as a selector says, (m,) int64 ascending."""
    mask: Mask = np.zeros(len(ids), np.bool_)
    for block in blocks:
        mask |= block.matches(ids)
    return np.flatnonzero(mask)
