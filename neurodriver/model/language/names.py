"""What a tree reads, writes, calls and draws."""

from __future__ import annotations

from collections.abc import Iterable

from . import tree
from .words import DRAWS


def used(*nodes: tree.Node, prints: bool = True) -> set[str]:
    """Return the names that trees read or write, functions included.

    Without ``prints``, what ``PRINT`` and ``ERROR`` read does not count.
    """
    found = set()
    todo = list(nodes)
    while todo:
        one = todo.pop()
        if isinstance(one, tree.Name | tree.Element | tree.Call | tree.Path | tree.Item):
            found.add(one.name)
        if prints or not isinstance(one, tree.PrintCall):
            todo += one.parts()
    return found


def declared(node: tree.Node) -> set[str]:
    """Return the names that a tree declares."""
    return {one.name for one in node.walk() if isinstance(one, tree.Declaration | tree.Each)}


def assignments(node: tree.Node, name: str) -> list[tree.Expression | None]:
    """Return what a tree assigns to a name; None where it depends on the old value."""
    found: list[tree.Expression | None] = []
    for one in node.walk():
        if isinstance(one, tree.Assignment) and one.target.name == name:
            found.append(one.value if one.sign == "=" else None)
        elif isinstance(one, tree.Increment) and one.target.name == name:
            found.append(None)
    return found


def assigned(node: tree.Node) -> set[str]:
    """Return the names that a tree assigns to, without those that it declares itself."""
    targets = [one for one in node.walk() if isinstance(one, tree.Assignment | tree.Increment)]
    return {one.target.name for one in targets} - declared(node)


def draws(nodes: Iterable[tree.Node]) -> list[tree.Call]:
    """Return the random draws of trees, in the order of the text."""
    every = (one for node in nodes for one in node.walk())
    return [one for one in every if isinstance(one, tree.Call) and one.name in DRAWS]


def prints(node: tree.Node) -> list[tree.PrintCall]:
    """Return the statements ``PRINT`` and ``ERROR``, in the order of the text."""
    return [one for one in node.walk() if isinstance(one, tree.PrintCall)]
