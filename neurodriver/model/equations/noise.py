"""White noise in equations: how it enters, and so which method fits."""

from __future__ import annotations

import math

from ..language import tree
from .system import System, names_in


def is_noise(name: str) -> bool:
    """Whether a name is one of white noise: ``xi`` or ``xi_<name>``."""
    return name == "xi" or name.startswith("xi_")


def degree(system: System, node: tree.Expression) -> float:
    """Return the power of noise in a tree: 0 without, 1 where it is linear in it, else more."""
    if isinstance(node, tree.Name):
        if node.name in system.noise:
            return 1
        inner = system.expressions.get(node.name)
        return 0 if inner is None else degree(system, inner)
    if isinstance(node, tree.Binary) and node.sign in ("+", "-", "*", "/"):
        left, right = degree(system, node.left), degree(system, node.right)
        if node.sign == "/":
            return math.inf if right else left
        return left + right if node.sign == "*" else max(left, right)
    if isinstance(node, tree.Unary) and node.sign in "+-":
        return degree(system, node.value)
    if isinstance(node, tree.Ternary) and not degree(system, node.condition):
        return max(degree(system, node.yes), degree(system, node.no))
    return math.inf if system.below(node) & set(system.noise) else 0


def additive(system: System) -> bool:
    """Whether noise enters with factors that depend on no state."""
    return all(_additive(system, node) for node in system.states.values())


def _additive(system: System, node: tree.Node) -> bool:
    """Whether no product within a tree has noise on one side and a state on the other."""
    for one in node.walk():
        if isinstance(one, tree.Binary) and one.sign in ("*", "/"):
            sides = [system.below(one.left), system.below(one.right)]
            for noisy, other in (sides, sides[::-1]):
                if noisy & set(system.noise) and other & set(system.states):
                    return False
        if isinstance(one, tree.Ternary) and system.below(one) & set(system.noise):
            if system.below(one.condition) & set(system.states):
                return False
    inner = names_in(node) & set(system.expressions)
    return all(_additive(system, system.expressions[name]) for name in inner)
