"""The units of a tree: what is added, compared and assigned has to have one unit.

A unit that is not declared fits everything. In the texts of models and of rules a number fits
everything, too, as ``V > -50`` has always meant mV; in equations (``strict``) it has no unit, but 0
fits. A name with the unit 1 fits everything in models alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..units import NONE, Dimension, dimension
from . import tree
from .check_values import Symbols
from .printer import to_text
from .tokens import message

Dimensions = Mapping[str, Dimension | None]

_PLAIN = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "tanh",
    "cosh",
    "sinh",
    "sin",
    "cos",
    "poisson",
    "asin",
    "acos",
    "atan",
)
_SAME = ("fabs", "floor", "ceil", "round", "abs")
_ALIKE = ("fmin", "fmax", "fmod")


def dimensions(symbols: Symbols, inferred: Dimensions | None = None) -> dict[str, Dimension | None]:
    """Return the unit of each name, as far as it is declared or ``inferred`` from its text."""
    found = {n: dimension(one.unit) if one.unit else None for n, one in symbols.items()}
    return {**found, **{n: d for n, d in (inferred or {}).items() if n in symbols}}


class Measures:
    """Finds the units of expressions, and what does not fit.

    Parameters
    ----------
    known : mapping of str to Dimension or None
        Unit of each name; None where it is not declared.
    source, where : str
        The text, and what messages call it.
    strict : bool
        Whether a number has no unit; otherwise it may have any.
    plain : bool
        Whether a name with the unit 1 may have any, too.
    """

    def __init__(
        self,
        known: Dimensions,
        source: str,
        where: str = "text",
        strict: bool = False,
        plain: bool = True,
    ) -> None:
        self.known = dict(known)
        self.source, self.where, self.strict = source, where, strict
        self.plain = plain and not strict
        self.faults: list[str] = []

    def of(self, node: tree.Expression) -> Dimension | None:
        """Return the unit of an expression; None where it is not known."""
        if isinstance(node, tree.Number):
            return NONE if self.strict and float(node.text) else None
        if isinstance(node, tree.Name | tree.Element):
            if isinstance(node, tree.Element):
                self.of(node.index)
            return self.known.get(node.name)
        if isinstance(node, tree.Unary):
            inner = self.of(node.value)
            return inner if node.sign in "+-" else NONE
        if isinstance(node, tree.Cast):
            return self.of(node.value)
        if isinstance(node, tree.Ternary):
            self.of(node.condition)
            said = "the two values of '?' are in {} and in {}"
            return self._alike(node, said, node.yes, node.no)
        if isinstance(node, tree.Call):
            return self._call(node)
        if isinstance(node, tree.Path | tree.Item):
            for one in node.parts():
                self.run(one)
            return None
        assert isinstance(node, tree.Binary), node
        return self._binary(node)

    def _binary(self, node: tree.Binary) -> Dimension | None:
        if node.sign in ("*", "/"):
            left, right = self.of(node.left), self.of(node.right)
            if left is None or right is None:
                return None
            return left * right if node.sign == "*" else left / right
        if node.sign in ("+", "-", "%"):
            said = f"'{to_text(node)}': '{node.sign}' between {{}} and {{}}"
            return self._alike(node, said, node.left, node.right)
        if node.sign in ("<", ">", "<=", ">=", "==", "!="):
            self._alike(node, f"'{to_text(node)}' compares {{}} and {{}}", node.left, node.right)
        else:
            self.of(node.left)
            self.of(node.right)
            return NONE if node.sign in ("&&", "||") else None
        return NONE

    def _call(self, node: tree.Call) -> Dimension | None:
        name, given = node.name, node.arguments
        if name in (*_ALIKE, "atan2") and len(given) == 2:
            unit = self._alike(node, f"{name}() is given {{}} and {{}}", *given)
            return NONE if name == "atan2" else unit
        units = [self.of(one) for one in given]
        if name in _PLAIN:
            for one, unit in zip(given, units, strict=True):
                if unit is not None and not unit.same(NONE):
                    said = f"{name}() takes a number without unit, '{to_text(one)}' is in {unit}"
                    self.fault(one, said)
                    return None
            return NONE
        if name in ("uniform", "normal"):
            return NONE
        if name in _SAME and units:
            return units[0]
        if name == "sqrt" and units:
            return None if units[0] is None else units[0] ** 0.5
        if name == "pow" and len(units) == 2:
            return self._power(node, units[0])
        return None

    def _power(self, node: tree.Call, base: Dimension | None) -> Dimension | None:
        power = _number(node.arguments[1])
        if base is None or base.same(NONE):
            return base
        if power is None and self.strict:
            said = f"a power of what is in {base} has to be a number such as 2"
            self.fault(node, said)
        return None if power is None else base**power

    def _alike(
        self, node: tree.Node, said: str, one: tree.Expression, other: tree.Expression
    ) -> Dimension | None:
        """Return the unit of two expressions that have to have the same."""
        left, right = self.of(one), self.of(other)
        if left is None or right is None:
            return left or right
        return left if self._compare(node, said, left, right) else None

    def _compare(self, node: tree.Node, said: str, left: Dimension, right: Dimension) -> bool:
        if left.same(right) or (self.plain and NONE in (left, right)):
            return True
        hint = ""
        if left.alike(right):
            hint = f"; 1 {right} is {right.scale / left.scale:g} {left}: bring both to one unit"
        elif self.strict and NONE in (left, right):
            hint = "; write a number with its unit, such as 5*mV"
        self.fault(node, said.format(left, right) + hint)
        return False

    def fault(self, node: tree.Node, said: str) -> None:
        """Note a fault at a node."""
        self.faults.append(message(self.source, self.where, node.at, said))

    def run(self, node: tree.Node) -> None:
        """Look at statements."""
        if isinstance(node, tree.Declaration):
            values = [*([] if node.value is None else [node.value]), *node.values]
            units = [self.of(one) for one in values]
            self.known[node.name] = units[0] if len(units) == 1 else None
        elif isinstance(node, tree.Assignment):
            self._assignment(node)
        elif isinstance(node, tree.Each):
            self.run(node.body)
        elif isinstance(node, tree.Expression):
            self.of(node)
        else:
            for part in node.parts():
                self.run(part)

    def _assignment(self, node: tree.Assignment) -> None:
        target, value = self.of(node.target), self.of(node.value)
        if value is None:
            return
        if node.sign in ("*=", "/="):
            target = NONE
        if target is not None and node.sign in ("=", "+=", "-=", "*=", "/=", "%="):
            said = f"'{to_text(node.target)} {node.sign} ...' takes {{}}, and is given {{}}"
            self._compare(node, said, target, value)


def _number(node: tree.Expression) -> float | None:
    """Return the value of a number that is written in a text."""
    if isinstance(node, tree.Number):
        return float(node.text)
    if isinstance(node, tree.Unary) and node.sign in "+-":
        inner = _number(node.value)
        return None if inner is None else -inner if node.sign == "-" else inner
    if isinstance(node, tree.Binary) and node.sign == "/":
        top, bottom = _number(node.left), _number(node.right)
        return top / bottom if top is not None and bottom else None
    return None
