"""Laws that the weights and the delays of a projection are drawn from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..quantities import is_quantity, magnitude
from .formula import Formula
from .numbers import real

FARTHEST = 8.66
"""No normal number that is drawn lies further from 0 (Box-Muller from 53 bits)."""

LEAST_SHARE = 1e-3
"""Least share of a law that its bounds must leave where draws outside are drawn again."""

_ANY = -math.inf


@dataclass(frozen=True)
class Law:
    """How a number is drawn, as compiled code takes it: ``factor * x`` with x in [low, high].

    Where ``grid`` is not 0, x is then rounded to a multiple of it.
    """

    kind: int
    clip: bool
    a: float
    b: float
    low: float
    high: float
    factor: float
    grid: float = 0.0

    @property
    def least(self) -> float:
        """No number that is drawn is less."""
        return min(self._ends)

    @property
    def most(self) -> float:
        """No number that is drawn is greater."""
        return max(self._ends)

    @property
    def _ends(self) -> tuple[float, float]:
        low, high = (rounded(x, self.grid) for x in (self.low, self.high))
        return self.factor * low, self.factor * high


def rounded(x: float, grid: float) -> float:
    """Return the nearest multiple of a number, halves to even; x where ``grid`` is 0."""
    return grid * float(np.rint(x / grid)) if grid and math.isfinite(x) else x


class Distribution(ABC):
    """Base of the distributions below: what the law itself gives, cut to bounds."""

    limits: ClassVar[Mapping[str, float]]
    """Numbers that must be finite, and the least value of each."""
    low: float
    high: float
    outside = "clip"
    factor = 1.0
    multiple_of: float

    @abstractmethod
    def shape(self) -> tuple[int, float, float, float, float]:
        """Return kind and two numbers of the law, the least and the greatest that it gives."""

    @abstractmethod
    def below(self, x: float) -> float:
        """Return the share of the law below x."""

    def drawn_below(self, x: float) -> float:
        """Return the share of numbers below x as they are drawn: within the bounds, and rounded.

        ``factor`` has to be above 0.
        """
        given, x = self.law(), x / self.factor
        if self.multiple_of:  # what is rounded to a lesser multiple
            x = (math.ceil(x / self.multiple_of) - 0.5) * self.multiple_of
        if not given.low < x <= given.high:
            return float(x > given.high)
        if given.clip:
            return self.below(x)
        low, high = self.below(given.low), self.below(given.high)
        return (self.below(x) - low) / (high - low) if high > low else 0.0

    def law(self) -> Law:
        """Return what is drawn, with bounds as tight as the law itself makes them."""
        kind, a, b, least, most = self.shape()
        low = min(max(self.low, least), self.high)
        high = max(min(self.high, most), self.low)
        clip = self.outside == "clip"
        return Law(kind, clip, a, b, low, high, self.factor, self.multiple_of)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the numbers given."""
        sound = True
        for name, least in self.limits.items():
            value = getattr(self, name)
            if not math.isfinite(value) or value < least:
                more = f" and at least {least:g}" if least > _ANY else ""
                sound = False
                yield f"'{name}' must be finite{more} (got {value:g})"
        if not 0 <= self.multiple_of < math.inf:
            yield f"'multiple_of' must be finite and at least 0 (got {self.multiple_of:g})"
        if not self.low <= self.high:
            yield f"'low' must not be above 'high' (got {self.low:g} and {self.high:g})"
        elif not isinstance(self.outside, str) or self.outside not in ("redraw", "clip"):
            yield f"'outside' must be 'redraw' or 'clip' (got {self.outside!r:.40})"
        elif sound and self.outside == "redraw":
            share = self.below(self.high) - self.below(math.nextafter(self.low, _ANY))
            if share < LEAST_SHARE:
                yield (
                    f"the bounds leave {share:.1g} of the distribution, too little to draw again "
                    f"until a number fits; widen them or write outside='clip'"
                )


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal numbers.

    Parameters
    ----------
    mean, sd : float
        Mean and standard deviation, before bounds.
    low, high : float
        Least and greatest number.
    outside : {"redraw", "clip"}
        What happens to a number outside: it is drawn again, or moved to the bound.
    multiple_of : float
        What is drawn is rounded to a multiple of it, if it is not 0. Weights of spikes then take
        fewer bytes. Example: with ``multiple_of=0.01`` they are 0.87 or 0.88, and not in between.
    """

    limits = {"mean": _ANY, "sd": 0.0}
    mean: float
    sd: float
    low: float = -math.inf
    high: float = math.inf
    outside: str = "redraw"
    multiple_of: float = 0.0

    def shape(self) -> tuple[int, float, float, float, float]:
        reach = FARTHEST * self.sd
        return 1, self.mean, self.sd, self.mean - reach, self.mean + reach

    def below(self, x: float) -> float:
        return _normal_below(x - self.mean, self.sd)


@dataclass(frozen=True)
class Uniform(Distribution):
    """Numbers that are equally likely from ``low`` to ``high``; ``multiple_of`` as in `Normal`."""

    limits = {"low": _ANY, "high": _ANY}
    low: float
    high: float
    multiple_of: float = 0.0

    def shape(self) -> tuple[int, float, float, float, float]:
        return 2, self.low, self.high, self.low, self.high

    def below(self, x: float) -> float:
        span = self.high - self.low
        return min(max((x - self.low) / span, 0.0), 1.0) if span else float(x > self.low)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """Numbers whose logarithm is normal.

    Parameters
    ----------
    mu, sigma : float
        Mean and standard deviation of the logarithm; exp(mu) is the median.
    low, high, outside
        As in `Normal`; they hold before ``factor``.
    factor : float
        What the number is multiplied by; -1 for inhibition.
    multiple_of
        As in `Normal`, before ``factor``.
    """

    limits = {"mu": _ANY, "factor": _ANY, "sigma": 0.0}
    mu: float
    sigma: float
    low: float = 0.0
    high: float = math.inf
    outside: str = "redraw"
    factor: float = 1.0
    multiple_of: float = 0.0

    def shape(self) -> tuple[int, float, float, float, float]:
        # a little wider: the exponential of compiled code differs in the last bit
        least = _exp(self.mu - FARTHEST * self.sigma) * (1 - 1e-12)
        most = _exp(self.mu + FARTHEST * self.sigma) * (1 + 1e-12)
        return 3, self.mu, self.sigma, least, most

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if math.isinf(_exp(self.mu + FARTHEST * self.sigma)):
            yield f"exp({self.mu:g} + {FARTHEST} * {self.sigma:g}) is too large for a number"

    def below(self, x: float) -> float:
        return _normal_below(math.log(x) - self.mu, self.sigma) if x > 0 else 0.0


@dataclass(frozen=True)
class Exponential(Distribution):
    """Exponential numbers.

    Parameters
    ----------
    mean : float
        Before bounds.
    low, high, outside, factor, multiple_of
        As in `LogNormal`.
    """

    limits = {"mean": 0.0, "factor": _ANY}
    mean: float
    low: float = 0.0
    high: float = math.inf
    outside: str = "redraw"
    factor: float = 1.0
    multiple_of: float = 0.0

    def shape(self) -> tuple[int, float, float, float, float]:
        return 4, self.mean, 0.0, 0.0, 55 * math.log(2) * self.mean

    def below(self, x: float) -> float:
        if self.mean == 0:
            return float(x >= 0)
        return -math.expm1(-x / self.mean) if x > 0 else 0.0


DISTRIBUTIONS = {one.__name__: one for one in (Normal, Uniform, LogNormal, Exponential)}

Value = float | Distribution | Formula


def holds_quantity(value: Value) -> bool:
    """Whether a number, or one of a distribution, carries a unit."""
    if isinstance(value, Formula):
        return False
    given = vars(value).values() if isinstance(value, Distribution) else [value]
    return any(map(is_quantity, given))


def in_unit(value: Value, unit: str | None, name: str) -> Value:
    """Return a number or a distribution whose quantities are numbers in a unit.

    The bounds, the mean and the standard deviation of a distribution are quantities of one
    dimension; of a `LogNormal` only its factor is one.

    Raises
    ------
    UnitError
        A quantity has another dimension.
    """
    if isinstance(value, Formula):
        return value
    if not isinstance(value, Distribution):
        plain: float = magnitude(value, unit, name)
        return plain
    given = {n: x for n, x in vars(value).items() if is_quantity(x)}
    units = {n: unit if n == "factor" or not isinstance(value, LogNormal) else "" for n in given}
    numbers = {n: magnitude(x, units[n], f"{name}, '{n}'") for n, x in given.items()}
    return replace(value, **numbers) if numbers else value  # type: ignore[type-var]


def law_of(value: float | Distribution) -> Law:
    """Return what a number or a distribution draws."""
    if isinstance(value, Distribution):
        return value.law()
    return Law(0, True, float(value), 0.0, float(value), float(value), 1.0)


def faults_of(value: object) -> Iterator[str]:
    """Yield what is wrong with a weight or a delay; formulas are looked at by their axes."""
    if isinstance(value, Formula):
        return
    if not isinstance(value, Distribution):
        if not math.isfinite(real(value)):
            shape = getattr(value, "shape", ())
            got = f"an array of shape {shape}" if shape else f"{value!r:.60}"
            yield f"must be a finite number or a distribution (got {got})"
        return
    wrong = [n for n, x in vars(value).items() if n != "outside" and math.isnan(real(x))]
    if wrong:
        yield f"{value}: {', '.join(wrong)} must be numbers"
    else:
        yield from (f"{value}: {text}" for text in value.faults())


def _normal_below(distance: float, sd: float) -> float:
    if sd == 0:
        return float(distance >= 0)
    return 0.5 * math.erfc(-distance / (sd * math.sqrt(2.0)))


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf
