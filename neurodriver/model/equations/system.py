"""A system of equations: what its names depend on, and its trees without units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from ..language import tree

Tree = TypeVar("Tree", bound=tree.Node)
Trees = Mapping[str, tree.Expression]


@dataclass(frozen=True)
class System:
    """Equations that are checked.

    Attributes
    ----------
    states : mapping of str to Expression
        State -> its derivative by time in ms.
    expressions : mapping of str to Expression
        Name -> what it stands for, each after those that it uses.
    fixed : frozenset of str
        Names that do not change: parameters and constants.
    clamped : frozenset of str
        States that rest in the refractory period.
    noise : tuple of str
        Names of white noise.
    """

    states: Trees
    expressions: Trees
    fixed: frozenset[str]
    clamped: frozenset[str] = frozenset()
    noise: tuple[str, ...] = ()
    depends: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)

    def below(self, node: tree.Node) -> frozenset[str]:
        """Return the names that a tree depends on, through expressions too."""
        found = names_in(node)
        for name in found & set(self.expressions):
            found = found | self._below(name)
        return frozenset(found)

    def _below(self, name: str) -> frozenset[str]:
        if name not in self.depends:
            self.depends[name] = self.below(self.expressions[name])
        return self.depends[name]

    def is_fixed(self, node: tree.Node) -> bool:
        """Whether a tree never changes."""
        return self.below(node) <= self.fixed | set(self.expressions) | {"dt_ms", "true", "false"}

    @cached_property
    def moving(self) -> frozenset[str]:
        """Expressions that depend on states or on noise."""
        changing = {*self.states, *self.noise}
        return frozenset(n for n in self.expressions if self._below(n) & changing)

    def inlined(self, node: Tree, names: Iterable[str]) -> Tree:
        """Return a tree in which some expressions are written out."""
        wanted = set(names)

        def one(node: tree.Node) -> tree.Node:
            if isinstance(node, tree.Name) and node.name in wanted:
                return self.inlined(self.expressions[node.name], wanted)
            return node

        found: Tree = tree.rewritten(node, one)
        return found


def names_in(node: tree.Node) -> set[str]:
    """Return the names whose values a tree reads."""
    return {one.name for one in node.walk() if isinstance(one, tree.Name | tree.Element)}


def without_units(node: tree.Node, units: frozenset[str]) -> tree.Node:
    """Return a tree without the names of units, each of which is the number 1.

    A factor of 1 stays in the text, where it says that units change there.

    Small whole powers become products, which are exact and fast.
    """

    def is_unit(node: tree.Node) -> bool:
        if isinstance(node, tree.Name):
            return node.name in units
        if isinstance(node, tree.Binary) and node.sign in "*/":
            return is_unit(node.left) and is_unit(node.right)
        return isinstance(node, tree.Call) and node.name == "pow" and is_unit(node.arguments[0])

    def visit(node: tree.Node) -> tree.Node:
        if is_unit(node):
            return tree.Number("1", at=node.at)
        if isinstance(node, tree.Binary) and node.sign in "*/":
            if is_unit(node.right):
                return _scaled(visit(node.left))
            if node.sign == "*" and is_unit(node.left):
                return _scaled(visit(node.right))
        parts: dict[str, Any] = {
            name: visit(value)
            if isinstance(value, tree.Node)
            else tuple(visit(v) if isinstance(v, tree.Node) else v for v in value)
            for name, value in vars(node).items()
            if isinstance(value, tree.Node | tuple)
        }
        new = replace(node, **parts) if parts else node
        return _product(new) if isinstance(new, tree.Call) and new.name == "pow" else new

    return visit(node)


def _scaled(node: tree.Node) -> tree.Node:
    """Return a tree that is multiplied by a unit, which is 1: a number stands for itself."""
    assert isinstance(node, tree.Expression)
    if isinstance(node, tree.Number):
        return node
    return tree.Binary("*", node, tree.Number("1"), at=node.at)


def _product(node: tree.Call) -> tree.Expression:
    base, power = node.arguments
    plain = isinstance(base, tree.Name | tree.Number) or not _calls(base)
    if not (isinstance(power, tree.Number) and power.whole and plain):
        return node
    count = int(power.text)
    if count == 4:
        square = tree.Binary("*", base, base, at=node.at)
        return tree.Binary("*", square, square, at=node.at)
    if count not in (1, 2, 3):
        return node
    value: tree.Expression = base
    for _ in range(count - 1):
        value = tree.Binary("*", value, base, at=node.at)
    return value


def _calls(node: tree.Node) -> bool:
    return any(isinstance(one, tree.Call | tree.Ternary) for one in node.walk())
