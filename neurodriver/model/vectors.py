"""Parameters and states that are vectors: ``beta[2]`` of ``params = {"beta": Parameter(size=3)}``.

A vector of size n is n parameters or states: ``beta__0``, ``beta__1`` and so on. In the text of a
model, an element with a constant index, such as ``beta[1]``, becomes ``beta__1``. If the text
computes an index, it gets an array instead: this is filled at the beginning of the text, and
written back at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import ModelError
from .language import tree

MOST = 1024
"""Most elements of a vector."""


def element(name: str, place: int) -> str:
    """Return the name of an element of a vector."""
    return f"{name}__{place}"


def elements(name: str, size: int) -> list[str]:
    """Return the names of all elements."""
    return [element(name, place) for place in range(size)]


def expanded(cls: Any) -> None:
    """Give a class the elements of its vectors, in ``params`` and ``states``.

    Raises
    ------
    ModelError
        For a size that is not whole, or a state that starts at a vector of another size.
    """
    sizes: dict[str, int] = {}
    for base in reversed(cls.__mro__[1:]):
        sizes |= base.__dict__.get("vectors", {})
    for table in ("params", "states"):
        rules = getattr(cls, table)
        for name, rule in [*rules.items()]:
            if rule.size is None:
                continue
            where = f"{cls.__name__}.{table}[{name!r}]"
            if not isinstance(rule.size, int) or not 1 <= rule.size <= MOST:
                raise ModelError(f"{where}: size is a whole number from 1 to {MOST}")
            if cls.runtime.opaque:
                raise ModelError(f"{where}: a class with code of its own has no vectors")
            for old in elements(name, sizes.get(name, 0)):
                rules.pop(old, None)
            sizes[name] = rule.size
            del rules[name]
            rules |= {element(name, i): _one(rule, i, sizes, where) for i in range(rule.size)}
    cls.vectors = sizes


def _one(rule: Any, place: int, sizes: Mapping[str, int], where: str) -> Any:
    start = getattr(rule, "initial", None)
    if isinstance(start, str) and start in sizes:
        if sizes[start] <= place:
            raise ModelError(f"{where}: starts at {start!r}, which has {sizes[start]} elements")
        return replace(rule, size=None, initial=element(start, place))
    return replace(rule, size=None)


def with_vectors(node: Any, model: Any, whole: bool) -> Any:
    """Return a tree of a model in which elements of vectors are numbers, or those of an array.

    Parameters
    ----------
    whole : bool
        Whether the tree is the update, which may have arrays.
    """
    arrays = {
        one.name
        for one in node.walk()
        if isinstance(one, tree.Element) and one.name in model.vectors
        and _place(one, model.vectors) is None
    }  # fmt: skip
    arrays = arrays if whole else set()

    def change(one: Any) -> Any:
        if not isinstance(one, tree.Element) or one.name in arrays:
            return one
        place = _place(one, model.vectors)
        return one if place is None else tree.Name(element(one.name, place), at=one.at)

    made = tree.rewritten(node, change)
    if not arrays:
        return made
    begin = [_filled(name, model) for name in sorted(arrays)]
    written = {
        one.target.name
        for one in made.walk()
        if isinstance(one, tree.Assignment | tree.Increment)
        and isinstance(one.target, tree.Element)
    }
    end = [
        tree.Assignment(tree.Name(own), "=", tree.Element(name, tree.Number(str(i))))
        for name in sorted(arrays & written)
        for i, own in enumerate(elements(name, model.vectors[name]))
    ]
    return tree.Body((*begin, *made.statements, *end))


def _place(one: tree.Element, sizes: Mapping[str, int]) -> int | None:
    """Return the place of an element that is written as a number, and exists."""
    if one.name in sizes and isinstance(one.index, tree.Number) and one.index.whole:
        place = int(one.index.text)
        return place if place < sizes[one.name] else None
    return None


def _filled(name: str, model: Any) -> tree.Declaration:
    size = model.vectors[name]
    values = tuple(map(tree.Name, elements(name, size)))
    parameter = element(name, 0) in model.params
    return tree.Declaration("real", name, None, size, values, const=parameter)
