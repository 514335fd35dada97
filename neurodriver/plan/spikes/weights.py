"""Weights of spikes in fixed point: integer multiples of a unit, so that sums are exact.

An exact sum does not depend on the order of its terms. The unit of a target follows from the
weights of its own connections alone, so it stays the same however a circuit is cut:

* If all weights are integer multiples of one number, up to ``MOST_MULTIPLE``, this number is the
  unit. Example: 0.1 and -0.5 are 1 and -5 in units of 0.1; so are numbers of synapses.
* Otherwise the unit is a power of two, for which the largest weight has ``BITS`` bits.

What arrives at a target is the sum of (multiple x number of spikes), times the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...model.component import Access, NDComponent
from ...model.kinds import VariableKind
from ...model.texts import looped_accesses
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
"""A ratio of weights is an integer if its relative distance from one is at most this."""

_ROUNDS = 16
"""Each divides the number of units of the least weight by 2 at least."""

FRACTION = 2.0**-36
"""How far the remainder of a weight may be from the fraction that it is, in units."""

APART = 2.0**-43
"""Two weights whose ratio is farther than this, relative to it, from all fractions of numbers up to
``MOST_MULTIPLE`` have no common measure: each would be within ``ALIKE`` of a multiple."""

_PIECE = 1 << 14
"""Targets that are looked at together: what is computed of them stays in a cache."""

EXACT = 2.0**53
"""Integers below it are exact in double precision."""


@dataclass(frozen=True)
class Units:
    """The unit of the integer weights of each target.

    Attributes
    ----------
    unit : (count,) float64
        Above zero.
    most : float
        Largest sum of |multiples| of a target, times ``MOST_SPIKES``.
    """

    unit: NDArray[np.float64]
    most: float

    @classmethod
    def covering(cls, bounds: Bounds, unit: Reals) -> Units:
        """Return units with the largest sum that weights within some bounds give."""
        sums = bounds.total / unit + 0.5 * bounds.degree  # each is rounded
        return cls(unit, float(np.floor(sums.max() * (1 + 1e-9))) * MOST_SPIKES)


def has_integer_weights(model: type[NDComponent], access: Access) -> bool:
    """Whether an access sums weighted spikes alone, so that its weights can be integers."""
    plain = access.each == f"weight * {access.variable}" and access.accumulate == "real"
    plain &= access.reduce == "sum"
    event = model.kind_of(access.variable) is VariableKind.EVENT
    known = event and [*access.connection] == ["weight"]
    loops = access.name in looped_accesses(model)
    return known and plain and not loops and not model.runtime.opaque


def integer_weights(
    edges: Edges, count: int, dtype: str, measured: bool = True
) -> tuple[NDArray[np.int32], Units]:
    """Return the weights of connections as integer multiples, and their units.

    Parameters
    ----------
    edges : Edges
        With ``data['weight']``, ascending by target.
    count : int
        Targets.
    dtype : {"float64", "float32"}
    measured : bool
        Whether weights may be multiples of a common measure.

    Returns
    -------
    multiple : (m,) int32
    """
    weights = WeightStatistics.of(edges, count)
    units = units_of(weights.bounds, weights.remainders, dtype, measured)
    return multiples(edges, units), units


def multiples(edges: Edges, units: Units) -> NDArray[np.int32]:
    """Return the weights of connections as integer multiples of given units, (m,)."""
    weight = np.broadcast_to(edges.data["weight"], edges.target.shape)
    return np.rint(weight / units.unit[edges.target]).astype(np.int32)


@dataclass(frozen=True)
class WeightStatistics:
    """Statistics of the weights of each target, from which the units follow.

    Attributes
    ----------
    remainders : callable
        As `units_of` asks for them.
    """

    bounds: Bounds
    remainders: Callable[[Reals], tuple[Reals, Reals]]

    @classmethod
    def of(cls, edges: Edges, count: int) -> WeightStatistics:
        """Return the statistics of connections that ascend by target."""
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

    def together(self, other: WeightStatistics) -> WeightStatistics:
        """Return the statistics of both sets of connections."""
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
        return WeightStatistics(bounds, remainders)


@dataclass(frozen=True)
class Bounds:
    """Number and range of the weights of each target, (count,) each.

    Attributes
    ----------
    least, greatest, total : float64
        Least |weight| above zero (else infinity), greatest and summed |weight|.
    """

    degree: NDArray[np.int64]
    least: Reals
    greatest: Reals
    total: Reals


def units_of(
    bounds: Bounds,
    remainders: Callable[[Reals], tuple[Reals, Reals]],
    dtype: str,
    measured: bool = True,
) -> Units:
    """Return the unit of each target.

    A common measure is found as Euclid's algorithm does: as long as remainders are left, the
    least of them is a fraction of the unit, and its denominator divides the unit. So all units that
    are tried are whole fractions of the least weight, and multiples of the measure.

    Parameters
    ----------
    remainders : callable
        Takes units, NaN where nothing is asked (and will not be again); returns of each target
        the least distance of a |weight| from whole units, in units, infinity where all are
        whole; and the greatest number of units.
    dtype : {"float64", "float32"}
    measured : bool
        Whether a common measure is looked for; else all units are powers of two.
    """
    least = np.where(np.isinf(bounds.least), 1.0, bounds.least)  # no weight but zero
    unit = np.where(measured & _in_pieces(_measurable, least, bounds.greatest), least, np.nan)
    parts = np.ones(len(unit))  # units of the least weight
    asked = (bounds.degree > 0) & ~np.isnan(unit)
    for _ in range(_ROUNDS):
        if not asked.any():
            break
        rest, most = remainders(np.where(asked, unit, np.nan))
        unit[asked & (most > MOST_MULTIPLE)] = np.nan
        asked &= np.isfinite(rest) & ~np.isnan(unit)
        parts[asked] *= _in_pieces(_denominators, rest[asked])
        unit[asked] = least[asked] / parts[asked]
        asked &= ~np.isnan(unit)
    unit[asked] = np.nan
    if (none := np.isnan(unit)).any():
        unit[none] = powers(bounds, BITS[dtype])[none]
    has = np.flatnonzero(bounds.degree)
    unit[bounds.degree == 0] = unit[has[0]] if len(has) else 1.0
    return Units.covering(bounds, unit)


def add_units(gather: Gather, units: Units) -> None:
    """Add the units of its weights to a plan."""
    gather.integer = gather.form != "none"
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


def _in_pieces(function: Callable[..., NDArray[Any]], *columns: Reals) -> NDArray[Any]:
    """Return what a function gives of columns, (m,) each, in pieces that fit into caches."""
    begins = range(0, max(len(columns[0]), 1), _PIECE)
    return np.concatenate([function(*(c[at : at + _PIECE] for c in columns)) for at in begins])


def _measurable(least: Reals, greatest: Reals) -> NDArray[np.bool_]:
    """Return where two weights, (count,) each, may be multiples of one number.

    Only convergents of the continued fraction of their ratio are near enough to it. This test of
    two weights rules out most drawn weights, before all of them are drawn again.
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


def _denominators(x: Reals) -> Reals:
    """Return the denominator of the simplest fraction near each number, (m,); NaN without one.

    The numbers lie between 0 and 0.5. Denominators go up to ``MOST_MULTIPLE``.
    """
    rest, p, q = x.copy(), np.zeros_like(x), np.ones_like(x)
    before, under, found = np.ones_like(x), np.zeros_like(x), np.full_like(x, np.nan)
    left = np.ones(len(x), bool)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        while left.any():
            rest = 1.0 / rest
            whole = np.floor(rest)
            p, before = whole * p + before, p
            q, under = whole * q + under, q
            left &= q <= MOST_MULTIPLE
            near = left & (np.abs(x - p / q) <= FRACTION)
            found[near], left = q[near], left & ~near
            rest = rest - whole
    return found


def powers(bounds: Bounds, bits: int) -> Reals:
    """Return the power of two of each target, (count,): so that sums stay below ``EXACT``."""
    unit = np.maximum(np.ldexp(1.0, np.frexp(bounds.greatest)[1] - bits), 2.0**-1000)
    sums = (bounds.total / unit + bounds.degree) * MOST_SPIKES
    spare = np.maximum(np.ceil(np.log2(np.maximum(sums, 1.0) / EXACT)), 0.0)
    out: Reals = np.ldexp(unit, spare.astype(np.int64))
    return out
