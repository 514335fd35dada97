"""Sums of exponentials of squared distances: products of one number for each axis.

Example: ``exp(-d2 / 8)`` is ``exp(-dy * dy / 8) * exp(-dx * dx / 8)``. The product does not have
the bits of the formula. But a weight is rounded to a whole number of units, and the product says
which number that is, unless it lies within the error from the middle between two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.language import parse_expression, tree, used
from .formula import Formula

MOST_TERMS = 4
STEEPEST = 600.0
"""Greatest exponent: beyond it numbers are subnormal."""

_ROUNDING = 2.0**-53
_NUMPY_EXP = 8
"""Roundings that an exponential of NumPy counts for."""


class _OtherError(Exception):
    """The formula is none of these sums."""


@dataclass(frozen=True)
class Gaussians:
    """The sum of ``factor * exp(-rate * d2)`` over its terms.

    Attributes
    ----------
    terms : tuple of (factor, rate)
    error : float
        How far sums of products are from the formula's values, at most.
    """

    terms: tuple[tuple[float, float], ...]
    error: float

    def shares(self, axis: int, way: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the factor of each term for ways along axis 0, 1, ...: (terms, ways)."""
        factor, rate = np.array(self.terms).T[:, :, None]
        one: NDArray[np.float64] = np.exp(-rate * (way * way))
        return one if axis else factor * one


def gaussians_of(formula: Formula, axes: int, squared: float) -> Gaussians | None:
    """Return a formula as such a sum, None where it is none.

    Parameters
    ----------
    axes : int
        Axes whose distances count.
    squared : float
        The largest squared distance.
    """
    if formula.indexed:
        return None
    node = parse_expression(formula.text, "formula")
    try:
        terms = tuple(_terms(node, formula.numbers))
    except _OtherError:
        return None
    steepest = max((rate for _, rate in terms), default=0.0) * squared
    if not 0 < len(terms) <= MOST_TERMS or not steepest <= STEEPEST:
        return None
    arguments = [_operations(one) for one in node.walk() if isinstance(one, tree.Call)]
    inner, outer = max(arguments, default=0), _operations(node)
    # of the exponents on both sides, of exponentials, products and sums; x * exp(-x) is below 0.4
    roundings = 0.4 * (2 * inner + axes + 3)
    roundings += 2 * outer + (_NUMPY_EXP + 1) * axes + len(terms) + 8
    return Gaussians(terms, _ROUNDING * roundings * sum(abs(factor) for factor, _ in terms))


def _operations(node: tree.Node) -> int:
    """Return how many results are rounded in an expression."""
    return sum(isinstance(one, tree.Binary | tree.Call) for one in node.walk())


def _number(node: tree.Node, numbers: Mapping[str, float]) -> float:
    """Return what an expression of numbers is, with the bits of compiled code."""
    match node:
        case tree.Number():
            return float(node.text)
        case tree.Name() if node.name in numbers:
            return float(numbers[node.name])
        case tree.Unary(sign="+" | "-"):
            value = _number(node.value, numbers)
            return -value if node.sign == "-" else value
        case tree.Binary(sign="+" | "-" | "*" | "/"):
            left, right = _number(node.left, numbers), _number(node.right, numbers)
            if node.sign == "/" and right == 0:
                raise _OtherError
            signs = {"+": left + right, "-": left - right, "*": left * right}
            return signs[node.sign] if node.sign in signs else left / right
    raise _OtherError


def _scaled(node: tree.Binary, numbers: Mapping[str, float]) -> tuple[tree.Node, float]:
    """Return what a number multiplies or divides, and by how much."""
    if node.sign == "*" and used(node.left) <= numbers.keys():
        return node.right, _number(node.left, numbers)
    if node.sign not in ("*", "/"):
        raise _OtherError
    by = _number(node.right, numbers)
    if node.sign == "/" and by == 0:
        raise _OtherError
    return node.left, by if node.sign == "*" else 1 / by


def _slope(node: tree.Node, numbers: Mapping[str, float]) -> float:
    """Return a of an expression a * d2."""
    match node:
        case tree.Name(name="d2"):
            return 1.0
        case tree.Unary(sign="+" | "-"):
            value = _slope(node.value, numbers)
            return -value if node.sign == "-" else value
        case tree.Binary():
            inner, by = _scaled(node, numbers)
            return by * _slope(inner, numbers)
    raise _OtherError


def _terms(node: tree.Node, numbers: Mapping[str, float]) -> Iterator[tuple[float, float]]:
    match node:
        case tree.Call(name="exp"):
            slope = _slope(node.arguments[0], numbers)
            if not slope <= 0:
                raise _OtherError
            yield 1.0, -slope
        case tree.Unary(sign="+" | "-"):
            sign = -1.0 if node.sign == "-" else 1.0
            yield from ((sign * f, rate) for f, rate in _terms(node.value, numbers))
        case tree.Binary(sign="+" | "-"):
            yield from _terms(node.left, numbers)
            sign = -1.0 if node.sign == "-" else 1.0
            yield from ((sign * f, rate) for f, rate in _terms(node.right, numbers))
        case tree.Binary():
            inner, by = _scaled(node, numbers)
            yield from ((by * f, rate) for f, rate in _terms(inner, numbers))
        case _:
            yield _number(node, numbers), 0.0
