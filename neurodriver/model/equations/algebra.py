"""Trees and expressions of sympy, both ways.

What sympy does not know (conditions, functions of the model) goes through it as an unknown function
of the names that it reads: its derivative stays unknown, and the tree comes back as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import ModelError
from ..language import to_text, tree
from .system import names_in

_SIGNS = ("+", "-", "*", "/")
_KNOWN = ("exp", "log", "tanh", "sinh", "cosh", "sin", "cos", "sqrt", "asin", "acos", "atan")


def _imported() -> Any:
    try:
        import sympy
    except ImportError:
        methods = "euler, heun, rk2 and rk4"
        needed = (
            f"pip install 'neurodriver[equations]', or give a method that needs none ({methods})"
        )
        raise ModelError(f"equations: this method needs sympy; {needed}") from None
    return sympy


class NotFinite(Exception):
    """An equation has no finite value, whatever the names in it stand for.

    Parameters
    ----------
    state : str
        Whose equation it is.
    """

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class Algebra:
    """Converts trees to sympy and back.

    Parameters
    ----------
    states : iterable of str
        Names that matter: a function of others is one symbol, and comes back as it was.
    about : str
        State whose equation is converted.

    Raises
    ------
    NotFinite
        Where a division by zero, or an infinite number, is left in an expression.
    """

    def __init__(self, states: Iterable[str], about: str = "") -> None:
        self.sympy = _imported()
        self.states, self.about = frozenset(states), about
        self._opaque: dict[str, tree.Expression] = {}

    def symbol(self, name: str) -> Any:
        """Return the symbol of a name."""
        return self.sympy.Symbol(name)

    def of(self, node: tree.Expression) -> Any:
        """Return a tree as an expression of sympy."""
        if isinstance(node, tree.Call | tree.Binary) and self._constant(node):
            return self.symbol(self._named(node))
        if isinstance(node, tree.Number):
            return self.sympy.Rational(node.text)
        if isinstance(node, tree.Name) and node.name not in ("true", "false"):
            return self.symbol(node.name)
        if isinstance(node, tree.Unary) and node.sign in "+-":
            inner = self.of(node.value)
            return -inner if node.sign == "-" else inner
        if isinstance(node, tree.Binary) and node.sign in _SIGNS:
            left, right = self.of(node.left), self.of(node.right)
            return {"+": left + right, "-": left - right, "*": left * right}.get(
                node.sign, left / right if node.sign == "/" else None
            )
        if isinstance(node, tree.Call) and node.name in _KNOWN:
            return getattr(self.sympy, node.name)(self.of(node.arguments[0]))
        if isinstance(node, tree.Call) and node.name == "pow":
            return self.of(node.arguments[0]) ** self.of(node.arguments[1])
        return self._unknown(node)

    def _constant(self, node: tree.Expression) -> bool:
        """Whether functions are called, and of no name that matters."""
        calls = any(isinstance(one, tree.Call) for one in node.walk())
        return calls and not names_in(node) & self.states

    def _named(self, node: tree.Expression) -> str:
        name = f"opaque_{to_text(node)}"
        self._opaque[name] = node
        return name

    def _unknown(self, node: tree.Expression) -> Any:
        name = self._named(node)
        given = [self.symbol(n) for n in sorted(names_in(node))]
        return self.sympy.Function(name)(*given)

    def slope(self, value: Any, name: str) -> Any:
        """Return the derivative by a name; None where it is not known."""
        found = self.sympy.diff(self._finite(value), self.symbol(name))
        unknown = found.has(self.sympy.Derivative, self.sympy.Subs)
        return None if unknown else self._finite(self.sympy.cancel(self.sympy.together(found)))

    def _finite(self, value: Any) -> Any:
        s = self.sympy.S
        if value.has(s.ComplexInfinity, s.Infinity, s.NegativeInfinity, s.NaN):
            raise NotFinite(self.about)
        return value

    def at_zero(self, value: Any, names: list[str]) -> Any:
        """Return an expression where some names are 0."""
        found = value.subs({self.symbol(name): 0 for name in names})
        return self._finite(self.sympy.cancel(self.sympy.together(found)))

    def quotient(self, top: Any, bottom: Any) -> tuple[Any, bool]:
        """Return a quotient, and whether nothing but numbers stands below its line."""
        found = self.sympy.cancel(self.sympy.together(top / bottom))
        return found, bool(self.sympy.fraction(found)[1].is_number)

    def names(self, value: Any) -> set[str]:
        """Return the names that an expression reads."""
        return {str(one) for one in value.free_symbols}

    # -- back -----------------------------------------------------------------------------------

    def back(self, value: Any) -> tree.Expression:
        """Return an expression of sympy as a tree."""
        if value.is_Symbol:
            return self._opaque.get(str(value), tree.Name(str(value)))
        if value.is_Number:
            return self._number(value)
        if value.is_Add:
            first, *rest = value.as_ordered_terms()
            out = self.back(first)
            for one in rest:
                negative = one.could_extract_minus_sign()
                term = self.back(-one if negative else one)
                out = tree.Binary("-" if negative else "+", out, term)
            return out
        if value.is_Mul:
            return self._product(value)
        if value.is_Pow:
            return self._power(*value.as_base_exp())
        return self._function(value)

    def _function(self, value: Any) -> tree.Expression:
        name = value.func.__name__
        if name in self._opaque:
            return self._opaque[name]
        return tree.Call(name, tuple(self.back(one) for one in value.args))

    def _number(self, value: Any) -> tree.Expression:
        if value < 0:
            return tree.Unary("-", self._number(-value))
        if value.is_Integer:
            return tree.Number(str(value))
        short = repr(float(value))
        if value.is_Rational and self.sympy.Rational(short) != value:
            top = self._number(value.p * self.sympy.S.One)
            return tree.Binary("/", top, tree.Number(str(value.q)))
        return tree.Number(short)

    def _product(self, value: Any) -> tree.Expression:
        if value.could_extract_minus_sign():
            return _minus(self.back(-value))
        top, bottom = self.sympy.fraction(value)
        if bottom != 1:
            return tree.Binary("/", self.back(top), self.back(bottom))
        out: tree.Expression | None = None
        for one in value.as_ordered_factors():
            factor = self.back(one)
            out = factor if out is None else tree.Binary("*", out, factor)
        assert out is not None
        return out

    def _power(self, base: Any, power: Any) -> tree.Expression:
        if power.could_extract_minus_sign():
            return tree.Binary("/", tree.Number("1"), self.back(base**-power))
        if power == self.sympy.Rational(1, 2):
            return tree.Call("sqrt", (self.back(base),))
        inner = self.back(base)
        if power == 4 and isinstance(inner, tree.Name):
            square = tree.Binary("*", inner, inner)
            return tree.Binary("*", square, square)
        if power in (2, 3) and isinstance(inner, tree.Name):
            square = tree.Binary("*", inner, inner)
            return square if power == 2 else tree.Binary("*", square, inner)
        return tree.Call("pow", (inner, self.back(power)))


def _minus(node: tree.Expression) -> tree.Expression:
    """Return minus a tree; the sign goes to the first factor."""
    if isinstance(node, tree.Binary) and node.sign in "*/":
        return tree.Binary(node.sign, _minus(node.left), node.right)
    return tree.Unary("-", node)
