"""Connections of a rule of place that are computed, source by source, when they are asked for."""

from __future__ import annotations

import ctypes as ct
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.language import parse_expression, used
from ..native.compiler import build
from ..system import cores
from .drawing import library_source, native_rule
from .drawn import Drawn
from .formula import KIND
from .gaussians import Gaussians, gaussians_of
from .relation import AxisRuns, Relation
from .stencils import ways

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

_integer, _real, _array = ct.c_longlong, ct.c_double, ct.c_void_p


class _Ways(ct.Structure):
    _fields_ = [(name, _array) for name in ("begin", "at", "low", "way", "share")]
    _fields_ += [("ascending", _integer), ("size", _integer)]


CLEAR = 2.0**-12
"""Error of sums of products, in units, up to which they are worth computing."""

BEYOND = 8
"""Numbers behind the last way and the last unit, which compiled code reads."""

SENDING = "projections", "projection_laws", "projection_sends"
"""Files of the functions that compute connections: see `drawing.library_source`."""

_NUMBERS = "first shortest ahead end lanes powers alike apart direct terms".split()


class _Sends(ct.Structure):
    _fields_ = [(name, _array) for name in ("rule", "unit", "ways")]
    _fields_ += [("dt", _real)]
    _fields_ += [(name, _integer) for name in _NUMBERS]
    _fields_ += [(name, _real) for name in ("error", "finest")]


def ways_along(axis: AxisRuns) -> tuple[Integers, Reals]:
    """Return how far the targets of each run of an axis are.

    Returns
    -------
    at : (runs + 1,) int64
        Where the ways of each run begin.
    way : (entries,) float64
        0 where distances do not count.
    """
    size = axis.high.astype(np.int64) - axis.low + 1
    at = np.concatenate([[0], np.cumsum(size)])
    if axis.places is None:
        return at, np.zeros(at[-1])
    run = np.repeat(np.arange(len(size)), size)
    target = axis.low[run] + (np.arange(at[-1]) - at[run])
    source = np.repeat(np.arange(axis.sources), np.diff(axis.begin))[run]
    return at, ways(axis.places[0][source], axis.places[1][target], axis.period)


def _native(at: Integers, way: Reals, share: Reals, axis: AxisRuns) -> _Ways:
    """Return an axis as compiled code takes it; all arrays are to be kept."""
    falls = np.diff(way[: at[-1]]) < 0
    falls[at[1:-1] - 1] = False  # from the end of a run to the next one
    columns = [one.ctypes.data for one in (axis.begin, at, axis.low, way, share)]
    return _Ways(*columns, not falls.any(), len(way))


def direct(links: Drawn) -> bool:
    """Whether weights and delays are numbers, or formulas that read distances alone."""
    assert links.located is not None
    drawn = any(law.kind != KIND and law.least != law.most for law in (links.weight, links.latency))
    return not drawn and not any(one and one.indexed for one in links.located.formulas)


def plain(links: Drawn) -> bool:
    """Whether a rule goes along axes without masks, and its numbers are found directly."""
    assert links.located is not None
    relation: Relation = links.located.relation
    return relation.form == "grid" and relation.cell is None and direct(links)


def _reads_ways(links: Drawn) -> bool:
    """Whether a formula reads how far the ends are apart along single axes."""
    assert links.located is not None
    ways = {f"d{axis}" for axis in links.located.relation.names}
    texts = [one.text for one in links.located.formulas if one is not None]
    return any(ways & used(parse_expression(text, "formula")) for text in texts)


def _as_sum(links: Drawn) -> Gaussians | None:
    """Return the weight as a sum of exponentials of distances, where it is one."""
    assert links.located is not None
    formula, relation = links.located.formulas[0], links.located.relation
    if formula is None:
        return None
    return gaussians_of(formula, len(relation.axes), float(relation.squared))


@cache
def _library() -> ct.CDLL:
    return build([library_source(SENDING)])[0]


class ComputedRows:
    """The connections of a projection by a rule of place.

    Parameters
    ----------
    dt : float
        Step in seconds.

    Attributes
    ----------
    address : int
        Of what compiled code takes (``native/projection_sends.h``), as long as this object lives.
    send : int
        Address of the function that delivers a spike.
    """

    def __init__(self, links: Drawn, dt: float) -> None:
        given = links.projection.rule, links.ends, links.key, links.weight, links.latency
        rule, kept = native_rule(*given, links.located)
        self._kept: list[Any] = [rule, *kept]
        self._sends = _Sends(rule=ct.addressof(rule), dt=dt, shortest=1, lanes=1)
        self._sends.direct = direct(links)
        self._sum: Gaussians | None = None
        self._targets = len(links.ends.target)
        if plain(links):
            assert links.located is not None
            self._sum = _as_sum(links)
            axes = links.located.relation.axes
            made = (_Ways * len(axes))()
            for place, axis in enumerate(axes):
                at, way = ways_along(axis)
                way = np.append(way, np.zeros(BEYOND))
                share = self._sum.shares(place, way) if self._sum else np.zeros(0)
                made[place] = _native(at, way, share, axis)
                self._kept += [at, way, share, axis]
            self._kept.append(made)
            self._sends.ways = ct.addressof(made)
            self._sends.apart = _reads_ways(links)
        self.address = ct.addressof(self._sends)
        self._library = _library()
        self.send = int(ct.cast(self._library.nd_send, _array).value or 0)

    def deliver_to(
        self, unit: Reals, first: int, shortest: int, ahead: int, depth: int, lanes: int
    ) -> None:
        """Set where spikes go.

        Parameters
        ----------
        unit : (ahead,) float64
            Of the weights of each slot of a step.
        first : int
            Slot of the first target.
        shortest : int
            Least latency in steps.
        ahead : int
            Slots of a step.
        depth : int
            Steps that have slots.
        lanes : int
            Slots for which there is one mark.
        """
        sends = self._sends
        mine = unit[first : first + self._targets]
        sends.alike = bool((mine == mine[0]).all())
        sends.powers = bool((np.frexp(mine)[0] == 0.5).all())
        sends.finest = 1.0 / mine.min()
        unit = np.append(1.0 / unit if sends.powers else unit, np.zeros(BEYOND))
        if self._sum and sends.powers and self._sum.error * sends.finest < CLEAR:
            sends.terms, sends.error = len(self._sum.terms), self._sum.error
        self._kept.append(unit)
        sends.unit, sends.first, sends.shortest = unit.ctypes.data, first, shortest
        sends.ahead, sends.end, sends.lanes = ahead, ahead * depth, lanes

    def sent(self, sources: Integers, most: int) -> tuple[Integers, Integers, Integers, Integers]:
        """Return what spikes of some sources add, each of at most ``most`` connections.

        Returns
        -------
        which : (m,) int64
            Place among ``sources``.
        slot, multiple, later : (m,) int64
            Slot in a step, multiple of its unit, and steps beyond the least latency.
        """
        slot = np.empty(most, np.int32)
        multiple, later = np.empty((2, most), np.int64)
        parts = []
        self._library.nd_sent_by.restype = _integer
        for place, source in enumerate(sources.tolist()):
            where = [one.ctypes.data for one in (slot, multiple, later)]
            numbers = (_array(self.address), _integer(source), _integer(most))
            count = self._library.nd_sent_by(*numbers, *map(_array, where))
            assert count <= most
            row = np.full(count, place), slot[:count], multiple[:count], later[:count]
            parts.append(np.stack([one.astype(np.int64) for one in row]))
        which, to, number, steps = np.concatenate([np.empty((4, 0), np.int64), *parts], axis=1)
        return which, to, number, steps

    def bounds(self, targets: int) -> tuple[Integers, Reals, Reals, Reals]:
        """Return number, least above zero, greatest and sum of the |weights| of each target."""
        degree, least = np.zeros(targets, np.int64), np.full(targets, np.inf)
        greatest, total = np.zeros(targets), np.zeros(targets)
        self._account(None, 0.0, degree, least, greatest, total)
        return degree, least, greatest, total

    def remainders(self, unit: Reals, alike: float) -> tuple[Reals, Reals]:
        """Return how far |weights| are from whole numbers of units: see `Rows.remainders`."""
        rest, most = np.full(len(unit), np.inf), np.zeros(len(unit))
        self._account(np.ascontiguousarray(unit), alike, None, rest, most, None)
        return rest, most

    def _account(self, unit: Reals | None, alike: float, *columns: NDArray[Any] | None) -> None:
        where = [_array(None if one is None else one.ctypes.data) for one in columns]
        asked = _array(None if unit is None else unit.ctypes.data)
        numbers = _array(self.address), _integer(cores()), asked, _real(alike)
        self._library.nd_sends_bounds(*numbers, *where)
