"""The part of a text that a name's last value depends on: a backward slice (Weiser 1984).

    source = "real gap = goal - V; V += rate * gap; g = decay * g + input; spike = V >= peak;"
    found = backward_slice(parse(source), ["spike"])
    found.statements                    # all but that of g
    found.names                         # "goal", "V", "rate", "peak", and no "g" and no "input"

Weiser, M. Program slicing. IEEE Trans Softw Eng SE-10, 352-357 (1984).
https://doi.org/10.1109/TSE.1984.5010248
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import tree
from .names import declared, used


@dataclass(frozen=True)
class Slice:
    """Statements of a text, and what they read.

    Attributes
    ----------
    statements : tuple of Statement
        In the order of the text.
    names : frozenset of str
        Names whose values before the text are needed.
    """

    statements: tuple[tree.Statement, ...]
    names: frozenset[str]


def backward_slice(body: tree.Body, wanted: Iterable[str]) -> Slice:
    """Return the statements of a text on which the last values of names depend.

    A block, an ``if`` and a loop are kept whole where anything in them has a name that is needed,
    also one that is declared there.
    """
    kept: list[tree.Statement] = []
    needed = set(wanted)
    for one in reversed(body.statements):
        if needed.isdisjoint(_set_in(one)):
            continue
        kept.append(one)
        if isinstance(one, tree.Declaration):  # of the whole value, as is the next one
            needed = (needed - {one.name}) | used(*one.parts())
        elif isinstance(one, tree.Assignment) and (one.sign, type(one.target)) == ("=", tree.Name):
            needed = (needed - {one.target.name}) | used(one.value)
        else:
            needed |= used(one)
    return Slice(tuple(reversed(kept)), frozenset(needed))


def _set_in(node: tree.Statement) -> set[str]:
    """Return all names that a statement declares or assigns to, in inner blocks, too."""
    targets = (one for one in node.walk() if isinstance(one, tree.Assignment | tree.Increment))
    return declared(node) | {one.target.name for one in targets}
