"""Weights of spikes as whole numbers: sums of them are exact, so no order can change a bit.

For every target the rule looks at that target's own connections alone, so that cutting a circuit
changes nothing:

* where all weights are whole multiples of one number, up to ``MOST_MULTIPLE``, they are stored as
  these multiples, in units of it: 0.1 and -0.5, or synapses counted between two neurons;
* otherwise in units of a power of two, at which the largest has ``BITS`` bits.

What arrives is the sum of (multiple x spikes), converted once, times the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...model.component import Access, NDComponent
from ...model.kinds import VariableKind
from ...native.buffers import padded

if TYPE_CHECKING:
    from ..sums.gather import Edges, Gather

Reals = NDArray[np.float64]

BITS = {"float64": 30, "float32": 24}
"""Bits of the largest multiple, by working type: it is a number of that type, too."""

MOST_MULTIPLE = 1 << 15
"""Largest multiple of a common measure."""

MOST_SPIKES = 1023
"""Spikes of one source in one step at most: Poisson numbers and injected ones are clamped."""

ALIKE = 2.0**-46
"""A ratio of weights this near to a whole number, relative to it, is that number."""

_ROUNDS = 12

APART = 2.0**-43
"""Two weights whose ratio is farther than this, relative to it, from all fractions of numbers up to
``MOST_MULTIPLE`` have no common measure: each would be within ``ALIKE`` of a multiple."""

EXACT = 2.0**53
"""Whole numbers below it are numbers of double precision."""


@dataclass(frozen=True)
class Units:
    """What the multiples of each target are multiples of.

    Attributes
    ----------
    unit : (count,) float64
        Above zero.
    most : float
        Largest sum of |multiples| of a target, times ``MOST_SPIKES``.
    """

    unit: NDArray[np.float64]
    most: float


def is_whole(model: type[NDComponent], access: Access) -> bool:
    """Whether spikes arrive at an access of a model with weights and in no other way."""
    plain = access.each == f"weight * {access.variable}" and access.accumulate == "real"
    event = model.kind_of(access.variable) is VariableKind.EVENT
    known = event and [*access.connection] == ["weight"]
    return known and plain and not model.in_old_style()


def whole_weights(edges: Edges, count: int, dtype: str) -> tuple[NDArray[np.int32], Units]:
    """Return the weights of connections as multiples, and of what.

    Parameters
    ----------
    edges : Edges
        With ``data['weight']``, ascending by target.
    count : int
        Targets.
    dtype : {"float64", "float32"}

    Returns
    -------
    multiple : (m,) int32
    units : Units
    """
    known = Known.of(edges, count)
    units = units_of(known.bounds, known.remainders, dtype)
    return multiples(edges, units), units


def multiples(edges: Edges, units: Units) -> NDArray[np.int32]:
    """Return the weights of connections as multiples of known units, (m,)."""
    weight = np.broadcast_to(edges.data["weight"], edges.target.shape)
    return np.rint(weight / units.unit[edges.target]).astype(np.int32)


@dataclass(frozen=True)
class Known:
    """What has to be known of weights to find their units.

    Attributes
    ----------
    bounds : Bounds
    remainders : callable
        As `units_of` asks for them.
    """

    bounds: Bounds
    remainders: Callable[[Reals], tuple[Reals, Reals]]

    @classmethod
    def of(cls, edges: Edges, count: int) -> Known:
        """Return it of connections that ascend by target."""
        size = np.abs(np.broadcast_to(edges.data["weight"], edges.target.shape))
        left = np.arange(len(size))

        def remainders(unit: Reals) -> tuple[Reals, Reals]:
            nonlocal left
            left = left[~np.isnan(unit[edges.target[left]])]
            target = edges.target[left]
            with np.errstate(over="ignore"):
                ratio = np.minimum(size[left] / unit[target], 2.0**60)
            whole = np.rint(ratio)
            apart = np.abs(ratio - whole)
            apart[apart <= ALIKE * whole] = np.inf
            return _each(np.minimum, target, apart, count), _each(np.maximum, target, whole, count)

        bounds = Bounds(
            np.bincount(edges.target, minlength=count),
            _each(np.minimum, edges.target, np.where(size > 0, size, np.inf), count),
            _each(np.maximum, edges.target, size, count),
            np.bincount(edges.target, size, count).astype(np.float64),
        )
        return cls(bounds, remainders)

    def together(self, other: Known) -> Known:
        """Return it of the connections of both."""
        mine, theirs = self.bounds, other.bounds

        def remainders(unit: Reals) -> tuple[Reals, Reals]:
            (a, b), (c, d) = self.remainders(unit), other.remainders(unit)
            return np.minimum(a, c), np.maximum(b, d)

        bounds = Bounds(
            mine.degree + theirs.degree,
            np.minimum(mine.least, theirs.least),
            np.maximum(mine.greatest, theirs.greatest),
            mine.total + theirs.total,
        )
        return Known(bounds, remainders)


@dataclass(frozen=True)
class Bounds:
    """What is known of the weights of each target, (count,) each.

    Attributes
    ----------
    degree : int64
    least, greatest, total : float64
        Least |weight| above zero (else infinity), greatest and summed |weight|.
    """

    degree: NDArray[np.int64]
    least: Reals
    greatest: Reals
    total: Reals


def units_of(
    bounds: Bounds, remainders: Callable[[Reals], tuple[Reals, Reals]], dtype: str
) -> Units:
    """Return what the weights of each target are stored as multiples of.

    A common measure is found as Euclid's algorithm does: as long as remainders are left, the
    least of them is tried, made a whole fraction of the least weight again.

    Parameters
    ----------
    bounds : Bounds
    remainders : callable
        Takes units, NaN where nothing is asked (and will not be again); returns of each target
        the least distance of a |weight| from whole units, in units, infinity where all are
        whole; and the greatest number of units.
    dtype : {"float64", "float32"}
    """
    least = np.where(np.isinf(bounds.least), 1.0, bounds.least)  # no weight but zero
    unit = np.where(_measurable(least, bounds.greatest), least, np.nan)
    asked = (bounds.degree > 0) & ~np.isnan(unit)
    for _ in range(_ROUNDS):
        if not asked.any():
            break
        rest, most = remainders(np.where(asked, unit, np.nan))
        unit[asked & (most > MOST_MULTIPLE)] = np.nan
        asked &= np.isfinite(rest) & ~np.isnan(unit)
        unit[asked] = least[asked] / np.rint(least[asked] / (unit[asked] * rest[asked]))
    unit[asked] = np.nan
    unit = np.where(np.isnan(unit), _powers(bounds, BITS[dtype]), unit)
    has = np.flatnonzero(bounds.degree)
    unit[bounds.degree == 0] = unit[has[0]] if len(has) else 1.0
    sums = bounds.total / unit + 0.5 * bounds.degree  # each is rounded
    return Units(unit, float(np.floor(sums.max() * (1 + 1e-9))) * MOST_SPIKES)


def add_units(gather: Gather, units: Units) -> None:
    """Tell a gather what its weights are multiples of."""
    gather.whole = gather.form != "none"
    if (units.unit == units.unit[0]).all():
        gather.uniform["unit"] = float(units.unit[0])
    else:
        gather.arrays["unit"] = np.ones(padded(len(units.unit)))
        gather.arrays["unit"][: len(units.unit)] = units.unit


def _each(reduce: np.ufunc, target: NDArray[np.int64], values: Reals, count: int) -> Reals:
    """Return a reduction over the values of each target, (count,); infinity where there is none."""
    out = np.full(count, np.inf if reduce is np.minimum else 0.0)
    begin = np.flatnonzero(np.diff(target, prepend=-1))
    out[target[begin]] = reduce.reduceat(values, begin)
    return out


def _measurable(least: Reals, greatest: Reals) -> NDArray[np.bool_]:
    """Return where two weights, (count,) each, may be multiples of one number.

    So near to their ratio lie but convergents of its continued fraction. Drawn weights are told
    from common multiples by two of them, before all are drawn again.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = greatest / least
        found = ratio <= 1.0  # one weight, or none but zero
        none = np.zeros_like(ratio)
        rest, p, before, q, under = ratio, none + 1.0, none, none, none + 1.0
        left = ~found
        while left.any():
            whole = np.floor(rest)
            p, before = whole * p + before, p
            q, under = whole * q + under, q
            left &= (p <= MOST_MULTIPLE) & (q <= MOST_MULTIPLE)
            found |= left & (np.abs(ratio - p / q) <= APART * ratio)
            left &= ~found
            rest = 1.0 / (rest - whole)
    return found


def _powers(bounds: Bounds, bits: int) -> Reals:
    """Return the power of two of each target, (count,): so that sums stay below ``EXACT``."""
    unit = np.maximum(np.ldexp(1.0, np.frexp(bounds.greatest)[1] - bits), 2.0**-1000)
    sums = (bounds.total / unit + bounds.degree) * MOST_SPIKES
    spare = np.maximum(np.ceil(np.log2(np.maximum(sums, 1.0) / EXACT)), 0.0)
    out: Reals = np.ldexp(unit, spare.astype(np.int64))
    return out
