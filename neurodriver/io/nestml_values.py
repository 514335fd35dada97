"""Constants of NESTML files: numbers with units, and expressions of other constants."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Mapping
from typing import Any

from ..model.units import dimension

_UNIT_BEHIND = re.compile(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?)\s+(?=[A-Za-z])")
_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    "exp": math.exp, "ln": math.log, "log10": math.log10, "sqrt": math.sqrt, "abs": abs,
    "min": min, "max": max, "tanh": math.tanh, "cosh": math.cosh, "sinh": math.sinh,
}  # fmt: skip
DEEPEST = 50
"""Expressions within each other."""


def value_of(text: str, unit: str, known: Mapping[str, tuple[str, str]], depth: int = 0) -> float:
    """Return the value of a constant in its unit.

    Parameters
    ----------
    known : mapping of str to (str, str)
        Name of another constant -> its text and unit.

    Raises
    ------
    ValueError
        If it is no constant, or is not finite.
    """
    if depth > DEEPEST:
        raise ValueError("it leads back to itself")
    own = dimension(unit)
    if own is None:
        raise ValueError(f"'{unit}' is no unit")
    try:
        tree = ast.parse(_UNIT_BEHIND.sub(r"\1*", text.strip()), mode="eval").body
        found = _in_si(tree, known, depth) / own.scale
    except (SyntaxError, ZeroDivisionError, OverflowError, TypeError) as error:
        raise ValueError(str(error) or "no expression") from None
    if not isinstance(found, float) or not math.isfinite(found):
        raise ValueError("it is not finite")
    # numbers of SI have lost a digit or two
    return float(f"{found:.15g}")


def _in_si(node: ast.expr, known: Mapping[str, tuple[str, str]], depth: int) -> Any:
    """Return the value of a tree in base units of SI."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=one):
            return -_in_si(one, known, depth)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            pair = (_in_si(one, known, depth) for one in (left, right))
            return _OPERATORS[type(op)](*pair)
        case ast.Call(func=ast.Name(id=name), args=given) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_in_si(one, known, depth) for one in given))
        case ast.Name(id=name) if name in known:
            text, unit = known[name]
            scale: Any = dimension(unit)
            return value_of(text, unit, known, depth + 1) * scale.scale
        case ast.Name(id=name) if name == "e":
            return math.e
        case ast.Name(id=name):
            if (size := dimension(name)) is not None:
                return size.scale
    raise ValueError(f"'{ast.unparse(node)}' is not known")
