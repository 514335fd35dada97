"""Checks of indices under ``debug``: what is said of ``image.val[y, x]`` outside an axis.

Without ``debug`` a read out of range gives 0. With it, the run ends as ``ERROR`` ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .language import to_text, tree
from .language.tokens import place
from .prints import LOOK_UPS, Print
from .texts import texts_of

if TYPE_CHECKING:
    from .component import NDComponent

FIRST = -1 - len(LOOK_UPS)
"""Number of the first check as a statement; those of others descend from it."""


@cache
def _checks(model: Any) -> tuple[Mapping[int, int], tuple[Print, ...]]:
    numbers: dict[int, int] = {}
    said: list[Print] = []
    for part in texts_of(model).drawing():
        for node in part.tree.walk():
            line, _ = place(part.source, node.at)
            for index in _indices(node):
                read = to_text(index) if isinstance(node, tree.Item) and index is node.ago else ""
                named = f"'ago' ({read})" if read else to_text(index)
                form = f"{part.where}, line {line}: {to_text(node)}: {named}".replace("%", "%%")
                numbers[id(index)] = FIRST - len(said)
                said.append(Print(True, f"{form} is %d, and has to be 0 to %d"))
    return numbers, tuple(said)


def _indices(node: tree.Node) -> Iterator[tree.Expression]:
    """Yield the expressions whose value has to be in a range."""
    if isinstance(node, tree.Element):
        yield node.index
    elif isinstance(node, tree.Path) and node.of is not None:
        yield node.of
    elif isinstance(node, tree.Item):
        if node.of is not None:
            yield node.of
        yield from node.indices
        if node.ago is not None:
            yield node.ago


def index_checks(model: type[NDComponent]) -> Mapping[int, int]:
    """Return the number of the check of each index of a model's texts, by ``id`` of its node."""
    key: Any = model  # classes can be hashed
    return _checks(key)[0]


def statement(model: type[NDComponent], number: int) -> Print:
    """Return a statement of a model's texts, or of a check under ``debug``, by its number."""
    if number >= 0:
        return model.printing[number]
    key: Any = model
    return LOOK_UPS[number] if number > FIRST else _checks(key)[1][FIRST - number]
