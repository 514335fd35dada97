"""Parameters that are whole numbers where a text needs an integer: ``bins[m]``, ``i % m``.

They are real numbers elsewhere, so ``m / 2`` is what it is of every parameter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .language import tree

_INTEGERS = ("%", "<<", ">>", "&", "|", "^")
_KEPT = ("+", "-", "*", "%")
"""Operators whose value is an integer where both sides are."""


def with_integers(node: Any, model: Any) -> Any:
    """Return a tree of a model in which whole parameters are integers where these are needed."""
    names = {name for name, rule in model.params.items() if rule.whole}
    if not names:
        return node

    def integer(one: Any) -> Any:
        if isinstance(one, tree.Name) and one.name in names:
            return tree.Cast("int", one, at=one.at)
        if isinstance(one, tree.Binary) and one.sign in _KEPT:
            return replace(one, left=integer(one.left), right=integer(one.right))
        if isinstance(one, tree.Unary) and one.sign in "+-":
            return replace(one, value=integer(one.value))
        return one

    def change(one: Any) -> Any:
        if isinstance(one, tree.Element):
            return replace(one, index=integer(one.index))
        if isinstance(one, tree.Item):
            indices = tuple(map(integer, one.indices))
            return replace(one, indices=indices, of=integer(one.of), ago=integer(one.ago))
        if isinstance(one, tree.Path):
            return replace(one, of=integer(one.of))
        if isinstance(one, tree.Binary) and one.sign in _INTEGERS:
            return replace(one, left=integer(one.left), right=integer(one.right))
        if isinstance(one, tree.Assignment) and one.sign.rstrip("=") in _INTEGERS:
            return replace(one, value=integer(one.value))
        if isinstance(one, tree.Call) and one.name == "near":
            *before, last = one.arguments
            return replace(one, arguments=(*before, integer(last)))
        return one

    return tree.rewritten(node, change)
