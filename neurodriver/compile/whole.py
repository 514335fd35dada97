"""Weights of spikes as whole numbers: sums of them are exact, so no order can change a bit.

For every target the rule looks at that target's own connections alone, so that cutting a circuit
changes nothing:

* where all weights are whole multiples of one number, up to ``MOST_MULTIPLE``, they are stored as
  these multiples, in units of it: 0.1 and -0.5, or synapses counted between two neurons;
* otherwise in units of a power of two, at which the largest has ``BITS`` bits.

What arrives is the sum of (multiple x spikes), converted once, times the unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..component import EVENT_VARIABLES, Access, NDComponent
from .memory import padded

if TYPE_CHECKING:
    from .gather import Edges, Gather

BITS = {"float64": 30, "float32": 24}
"""Bits of the largest multiple, by working type: it is a number of that type, too."""

MOST_MULTIPLE = 1 << 15
"""Largest multiple of a common measure."""

MOST_SPIKES = 1023
"""Spikes of one source in one step at most: Poisson numbers and injected ones are clamped."""

ALIKE = 2.0**-46
"""A ratio of weights this near to a whole number, relative to it, is that number."""

_ROUNDS = 12

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
    known = access.variable in EVENT_VARIABLES and [*access.connection] == ["weight"]
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
    weight = np.broadcast_to(edges.data["weight"], edges.target.shape)
    size = np.abs(weight)
    unit = _measures(edges.target, size, count)
    has = np.bincount(edges.target, minlength=count) > 0
    rest = np.flatnonzero(np.isnan(unit[edges.target]))
    if len(rest):
        powers = _powers(edges.target[rest], size[rest], count, BITS[dtype])
        unit = np.where(np.isnan(unit), powers, unit)
    unit[~has] = unit[edges.target[0]]
    multiple = np.rint(weight / unit[edges.target])
    total = np.bincount(edges.target, np.abs(multiple), count)
    return multiple.astype(np.int32), Units(unit, float(total.max()) * MOST_SPIKES)


def add_units(gather: Gather, units: Units) -> None:
    """Tell a gather what its weights are multiples of."""
    gather.whole = gather.form != "none"
    if (units.unit == units.unit[0]).all():
        gather.uniform["unit"] = float(units.unit[0])
    else:
        gather.arrays["unit"] = np.ones(padded(len(units.unit)))
        gather.arrays["unit"][: len(units.unit)] = units.unit


def _measures(
    target: NDArray[np.int64], size: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return what the weights of each target are multiples of, (count,); NaN where of nothing.

    As Euclid's algorithm does: as long as remainders are left, the least of them is tried, made a
    whole fraction of the least weight again.
    """
    least = _each(np.minimum, target, np.where(size > 0, size, np.inf), count)
    least[np.isinf(least)] = 1.0  # no weight but zero
    unit = least.copy()
    left = np.arange(len(target))
    for _ in range(_ROUNDS):
        with np.errstate(over="ignore"):
            ratio = np.minimum(size[left] / unit[target[left]], 2.0**60)
        whole = np.rint(ratio)
        apart = np.abs(ratio - whole)
        apart[apart <= ALIKE * whole] = np.inf
        rest = _each(np.minimum, target[left], apart, count)
        most = _each(np.maximum, target[left], whole, count)
        unit[most > MOST_MULTIPLE] = np.nan
        on = np.isfinite(rest) & ~np.isnan(unit)
        left = left[on[target[left]]]
        if not len(left):
            return unit
        unit[on] = least[on] / np.rint(least[on] / (unit[on] * rest[on]))
    unit[target[left]] = np.nan
    return unit


def _each(
    reduce: np.ufunc, target: NDArray[np.int64], values: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return a reduction over the values of each target, (count,); infinity where there is none."""
    out = np.full(count, np.inf if reduce is np.minimum else 0.0)
    begin = np.flatnonzero(np.diff(target, prepend=-1))
    out[target[begin]] = reduce.reduceat(values, begin)
    return out


def _powers(
    target: NDArray[np.int64], size: NDArray[np.float64], count: int, bits: int
) -> NDArray[np.float64]:
    """Return the power of two of each target, (count,): so that sums stay below ``EXACT``."""
    most = _each(np.maximum, target, size, count)
    unit = np.ldexp(1.0, np.frexp(most)[1] - bits)
    sums = np.bincount(target, size, count) / unit * (2 * MOST_SPIKES)
    spare = np.maximum(np.ceil(np.log2(np.maximum(sums, 1.0) / EXACT)), 0.0)
    out: NDArray[np.float64] = np.ldexp(unit, spare.astype(np.int64))
    return out
