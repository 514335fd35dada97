"""Laws that the weights and the delays of a projection are drawn from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

FARTHEST = 8.66
"""No normal number that is drawn lies further from 0 (Box-Muller from 53 bits)."""

LEAST_SHARE = 1e-3
"""Least share of a law that its bounds must leave where draws outside are drawn again."""


@dataclass(frozen=True)
class Law:
    """How a number is drawn, as compiled code takes it: ``factor * x`` with x in [low, high]."""

    kind: int
    clip: bool
    a: float
    b: float
    low: float
    high: float
    factor: float

    @property
    def least(self) -> float:
        """No number that is drawn is less."""
        return min(self.factor * self.low, self.factor * self.high)

    @property
    def most(self) -> float:
        """No number that is drawn is greater."""
        return max(self.factor * self.low, self.factor * self.high)


@dataclass(frozen=True)
class Distribution:
    """Base of the laws below."""

    def law(self) -> Law:
        """Return what is drawn."""
        raise NotImplementedError

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the numbers given."""
        raise NotImplementedError


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
    """

    mean: float
    sd: float
    low: float = -math.inf
    high: float = math.inf
    outside: str = "redraw"

    def law(self) -> Law:
        """Return what is drawn."""
        reach = FARTHEST * self.sd
        low, high = _within(self.low, self.high, self.mean - reach, self.mean + reach)
        return Law(1, self.outside == "clip", self.mean, self.sd, low, high, 1.0)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the numbers given."""
        yield from _not_finite(mean=self.mean)
        yield from _not_finite(0.0, sd=self.sd)
        yield from _bounds(self.low, self.high, self.outside, self._below)

    def _below(self, x: float) -> float:
        """Return the share below x."""
        return _normal_below(x - self.mean, self.sd)


@dataclass(frozen=True)
class Uniform(Distribution):
    """Numbers that are equally likely from ``low`` to ``high``."""

    low: float
    high: float

    def law(self) -> Law:
        """Return what is drawn."""
        return Law(2, True, self.low, self.high, self.low, self.high, 1.0)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the numbers given."""
        yield from _not_finite(low=self.low, high=self.high)
        yield from _bounds(self.low, self.high, "clip", None)


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
    """

    mu: float
    sigma: float
    low: float = 0.0
    high: float = math.inf
    outside: str = "redraw"
    factor: float = 1.0

    def law(self) -> Law:
        """Return what is drawn."""
        reach = FARTHEST * self.sigma
        # a little wider: the exponential of compiled code differs in the last bit
        ends = _exp(self.mu - reach) * (1 - 1e-12), _exp(self.mu + reach) * (1 + 1e-12)
        low, high = _within(self.low, self.high, *ends)
        return Law(3, self.outside == "clip", self.mu, self.sigma, low, high, self.factor)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the numbers given."""
        yield from _not_finite(mu=self.mu, factor=self.factor)
        yield from _not_finite(0.0, sigma=self.sigma)
        if math.isinf(_exp(self.mu + FARTHEST * self.sigma)):
            yield f"exp({self.mu:g} + {FARTHEST} * {self.sigma:g}) is too large for a number"
        yield from _bounds(self.low, self.high, self.outside, self._below)

    def _below(self, x: float) -> float:
        return _normal_below(math.log(x) - self.mu, self.sigma) if x > 0 else 0.0


@dataclass(frozen=True)
class Exponential(Distribution):
    """Exponential numbers.

    Parameters
    ----------
    mean : float
        Before bounds.
    low, high, outside, factor
        As in `LogNormal`.
    """

    mean: float
    low: float = 0.0
    high: float = math.inf
    outside: str = "redraw"
    factor: float = 1.0

    def law(self) -> Law:
        """Return what is drawn."""
        low, high = _within(self.low, self.high, 0.0, 55 * math.log(2) * self.mean)
        return Law(4, self.outside == "clip", self.mean, 0.0, low, high, self.factor)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the numbers given."""
        yield from _not_finite(0.0, mean=self.mean)
        yield from _not_finite(factor=self.factor)
        yield from _bounds(self.low, self.high, self.outside, self._below)

    def _below(self, x: float) -> float:
        if self.mean == 0:
            return float(x >= 0)
        return -math.expm1(-x / self.mean) if x > 0 else 0.0


Value = float | Distribution


def law_of(value: Value) -> Law:
    """Return what a number or a distribution draws."""
    if isinstance(value, Distribution):
        return value.law()
    return Law(0, True, float(value), 0.0, float(value), float(value), 1.0)


def faults_of(value: object) -> Iterator[str]:
    """Yield what is wrong with a weight or a delay."""
    if isinstance(value, Distribution):
        wrong = [n for n, x in vars(value).items() if n != "outside" and not _is_number(x)]
        if wrong:
            yield f"{value}: {', '.join(wrong)} must be numbers"
            return
        for text in value.faults():
            yield f"{value}: {text}"
    elif not _is_number(value) or not math.isfinite(value):  # type: ignore[arg-type]
        yield f"must be a finite number or a distribution (got {value!r:.60})"


def _is_number(value: object) -> bool:
    """Whether a value is one real number; numpy's count, too."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        return False
    try:
        return not math.isnan(float(value))
    except (TypeError, ValueError):
        return False


def _not_finite(at_least: float = -math.inf, **given: float) -> Iterator[str]:
    for name, value in given.items():
        if not math.isfinite(value) or value < at_least:
            more = f" and at least {at_least:g}" if at_least > -math.inf else ""
            yield f"'{name}' must be finite{more} (got {value:g})"


def _bounds(low: float, high: float, outside: str, below: object) -> Iterator[str]:
    if not low <= high:
        yield f"'low' must not be above 'high' (got {low:g} and {high:g})"
        return
    if outside not in ("redraw", "clip"):
        yield f"'outside' must be 'redraw' or 'clip' (got {outside!r:.40})"
        return
    if outside == "redraw" and callable(below):
        share = below(high) - below(math.nextafter(low, -math.inf))
        if share < LEAST_SHARE:
            yield (
                f"the bounds leave {share:.1g} of the distribution, too little to draw again "
                f"until a number fits; widen them or write outside='clip'"
            )


def _within(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """Return the bounds as tight as the law itself makes them."""
    return min(max(low, least), high), max(min(high, most), low)


def _normal_below(distance: float, sd: float) -> float:
    if sd == 0:
        return float(distance >= 0)
    return 0.5 * math.erfc(-distance / (sd * math.sqrt(2.0)))


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf
