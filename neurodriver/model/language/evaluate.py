"""Trees -> NumPy: the mathematics of a model, computed without compiling it.

Each name stands for a column of float64, one value for each component. Where a condition holds for
some of them only, both branches are computed and each component keeps its own. Random draws give
their mean. What few models use (arrays, ``break``) is refused with `NotReadError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import tree

Column = NDArray[np.float64]
Columns = dict[str, Column]
Mask = NDArray[np.bool_]

_LOOPS = 1000
"""Rounds of a loop at most."""


def _whole(a: Any) -> Any:
    return np.asarray(a).astype(np.int64)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "||": lambda a, b: (a != 0) | (b != 0),
    "&&": lambda a, b: (a != 0) & (b != 0),
    "|": lambda a, b: _whole(a) | _whole(b),
    "^": lambda a, b: _whole(a) ^ _whole(b),
    "&": lambda a, b: _whole(a) & _whole(b),
    "<<": lambda a, b: _whole(a) << _whole(b),
    ">>": lambda a, b: _whole(a) >> _whole(b),
    "==": np.equal, "!=": np.not_equal, "<": np.less, ">": np.greater,
    "<=": np.less_equal, ">=": np.greater_equal, "+": np.add, "-": np.subtract,
    "*": np.multiply, "/": np.divide, "%": np.fmod,
}  # fmt: skip

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{n: getattr(np, n) for n in ("exp", "expm1", "log", "log1p", "tanh", "cosh", "sinh", "sqrt")},
    **{n: getattr(np, n) for n in ("fabs", "fmin", "fmax", "floor", "sin", "cos")},
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "pow": np.power,
    "fmod": np.fmod,
    "ceil": np.ceil,
    "isnan": np.isnan,
    "abs": np.fabs,
    "round": lambda x: np.copysign(np.floor(np.fabs(x)) + (np.fabs(x) % 1 >= 0.5), x),
    "fma": lambda a, b, c: a * b + c,
    "uniform": lambda: np.asarray(0.5),
    "normal": lambda: np.asarray(0.0),
    "poisson": lambda mean: mean,
}


class NotReadError(Exception):
    """A text uses what this module does not know."""


class Evaluator:
    """Computes trees.

    Parameters
    ----------
    functions : sequence of Function
        What the trees may call beside the elementary functions.
    """

    def __init__(self, functions: tuple[tree.Function, ...] = ()) -> None:
        self.functions: Mapping[str, tree.Function] = {f.name: f for f in functions}

    def value(self, node: tree.Expression, names: Columns) -> Column:
        """Return the value of an expression.

        Raises
        ------
        NotReadError
            For what this module does not know.
        """
        return np.asarray(self._value(node, names), dtype=float)

    def _value(self, node: tree.Expression, names: Columns) -> Any:
        if isinstance(node, tree.Number):
            return np.asarray(float(node.text))
        if isinstance(node, tree.Name):
            if node.name in ("true", "false"):
                return np.asarray(float(node.name == "true"))
            return names[node.name]
        if isinstance(node, tree.Binary):
            left, right = self.value(node.left, names), self.value(node.right, names)
            return _OPERATORS[node.sign](left, right)
        if isinstance(node, tree.Unary):
            value = self.value(node.value, names)
            if node.sign == "~":
                return ~_whole(value)
            return {"-": -value, "+": value}.get(node.sign, value == 0)
        if isinstance(node, tree.Ternary):
            condition = self.value(node.condition, names) != 0
            return np.where(condition, self.value(node.yes, names), self.value(node.no, names))
        if isinstance(node, tree.Cast):
            value = self.value(node.value, names)
            return {"int": np.trunc(value), "bool": value != 0}.get(node.type, value)
        if isinstance(node, tree.Call):
            return self._call(node.name, [self.value(one, names) for one in node.arguments])
        raise NotReadError("arrays")

    def _call(self, name: str, given: list[Column]) -> Any:
        own = self.functions.get(name)
        if own is None:
            if name not in _FUNCTIONS:
                raise NotReadError(f"'{name}'")
            return _FUNCTIONS[name](*given)
        inner = dict(zip((p.name for p in own.parameters), given, strict=True))
        shape = np.broadcast_shapes((1,), *(np.shape(one) for one in given))
        self.run(own.body, inner, np.ones(shape, dtype=bool))
        return inner["return"]

    def run(self, node: tree.Statement, names: Columns, where: Mask) -> Mask:
        """Do what statements do to names, for the components of ``where``.

        Returns
        -------
        (n,) bool
            The components that no ``return`` has ended.
        """
        if isinstance(node, tree.Body):
            for one in node.statements:
                where = self.run(one, names, where)
        elif isinstance(node, tree.If):
            holds = self.value(node.condition, names) != 0
            then = self.run(node.then, names, where & holds)
            other = where & ~holds
            where = then | (other if node.other is None else self.run(node.other, names, other))
        elif isinstance(node, tree.While | tree.For):
            where = self._loop(node, names, where)
        elif isinstance(node, tree.Return):
            self._assign("return", self.value(node.value, names), names, where)
            where = np.zeros_like(where)
        elif isinstance(node, tree.Declaration):
            if node.size is not None:
                raise NotReadError("arrays")
            value = np.asarray(0.0) if node.value is None else self.value(node.value, names)
            self._assign(node.name, np.trunc(value) if node.type == "int" else value, names, where)
        elif isinstance(node, tree.Assignment | tree.Increment):
            self._change(node, names, where)
        elif not isinstance(node, tree.PrintCall):
            raise NotReadError(type(node).__name__)
        return where

    def _change(self, node: tree.Assignment | tree.Increment, names: Columns, where: Mask) -> None:
        if isinstance(node.target, tree.Element):
            raise NotReadError("arrays")
        name = node.target.name
        if isinstance(node, tree.Increment):
            value: Any = names[name] + (1.0 if node.sign == "++" else -1.0)
        else:
            value = self.value(node.value, names)
            if node.sign != "=":
                value = _OPERATORS[node.sign[:-1]](names[name], value)
        self._assign(name, value, names, where)

    @staticmethod
    def _assign(name: str, value: Column, names: Columns, where: Mask) -> None:
        names[name] = np.where(where, value, names.get(name, np.asarray(0.0)))

    def _loop(self, node: tree.While | tree.For, names: Columns, where: Mask) -> Mask:
        begin, after = (node.begin, node.after) if isinstance(node, tree.For) else ((), ())
        late = isinstance(node, tree.While) and node.late
        for one in begin:
            self.run(one, names, where)
        returned = np.zeros_like(where)
        for number in range(_LOOPS):
            if node.condition is not None and not (late and number == 0):
                where = where & (self.value(node.condition, names) != 0)
            if not where.any():
                return ~returned
            left = self.run(node.body, names, where)
            returned = returned | (where & ~left)
            where = left
            for one in after:
                self.run(one, names, where)
        raise NotReadError("a loop without an end")
