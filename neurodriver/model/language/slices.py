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
from .names import assigned, used


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

    An ``if`` and a loop are kept whole where they assign to a name that is needed.
    """
    kept: list[tree.Statement] = []
    needed = set(wanted)
    for one in reversed(body.statements):
        sets = {one.name} if isinstance(one, tree.Declaration) else assigned(one)
        if needed.isdisjoint(sets):
            continue
        kept.append(one)
        if _replaces(one):
            needed -= sets
            reads = [one.value] if isinstance(one, tree.Assignment) else list(one.parts())
            needed |= used(*(part for part in reads if part is not None))
        else:
            needed |= used(one)
    return Slice(tuple(reversed(kept)), frozenset(needed))


def _replaces(node: tree.Statement) -> bool:
    """Whether a statement gives all of what it sets a new value."""
    if isinstance(node, tree.Assignment):
        return node.sign == "=" and isinstance(node.target, tree.Name)
    return isinstance(node, tree.Declaration)
