"""Rows of a projection, drawn by compiled code in parallel threads.

Every number is a function of the key of the projection, the place of its source (or target) and
the number of the draw, so neither threads nor windows change one.
"""

from __future__ import annotations

import ctypes as ct
import os
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..native.compiler import build
from ..native.headers import INLINE, header
from ..profiling.phases import phased
from .distributions import Law
from .rules import Ends, Rule

_integer, _real, _array = ct.c_longlong, ct.c_double, ct.c_void_p
_WEIGHT, _DELAY = 1, 2


class _Law(ct.Structure):
    _fields_ = [("kind", _integer), ("clip", _integer)]
    _fields_ += [(name, _real) for name in ("a", "b", "low", "high", "factor")]


class _Lattice(ct.Structure):
    _fields_ = [("dims", _integer), ("offsets", _integer)]
    _fields_ += [
        (name, _array) for name in ("cell", "offset", "low", "extent", "code", "order", "factor")
    ]


class _Rule(ct.Structure):
    _fields_ = [("key", ct.c_ulonglong)]
    _fields_ += [
        (name, _integer)
        for name in ("kind", "sources", "targets", "shift", "number", "autapses", "multapses")
    ]
    _fields_ += [("chance", _real), ("per_log", _real)]
    _fields_ += [("weight", _Law), ("delay", _Law), ("lattice", _Lattice)]


class _RowsStruct(ct.Structure):
    _fields_ = [("begin", _array), ("skip", _array), ("count", _array), ("threads", _integer)]


@cache
def _library() -> ct.CDLL:
    head = f"/* projections */\n#define ND_FN {INLINE}\n"
    names = ("native/math.h", "native/philox.h", "native/projections.h")
    return build([(head + "\n".join(map(header, names)), ())])[0]


class Rows:
    """Connections of a projection into some targets: rows are sources, targets ascend in each.

    Call `place` before all that follows it.

    Parameters
    ----------
    rule : Rule
    ends : Ends
    key : int
        Of the random numbers, 64 bits.
    weight, delay : Law
    window : range, optional
        Component numbers of the wanted targets; default: all.
    threads : int, optional
        Default: one for each core.

    Attributes
    ----------
    count : (sources,) int64
        Connections of each source.
    """

    def __init__(
        self,
        rule: Rule,
        ends: Ends,
        key: int,
        weight: Law,
        delay: Law,
        window: range | None = None,
        threads: int | None = None,
    ) -> None:
        self.ends, self.weight, self.delay = ends, weight, delay
        self.threads = threads or len(os.sched_getaffinity(0))
        given: dict[str, Any] = {"number": 0, "multapses": 1, "chance": 0.0, **rule.fields}
        self._lattice, self._kept = _lattice(rule)
        self._rule = _Rule(
            key=key,
            sources=len(ends.source),
            targets=len(ends.target),
            shift=ends.source.start - ends.target.start,
            weight=_Law(*vars(weight).values()),
            delay=_Law(*vars(delay).values()),
            lattice=self._lattice,
            **given,
        )
        n = len(ends.source)
        self._length, self.skip = (np.zeros(n, dtype=np.int64) for _ in range(2))
        self._call("nd_lengths", self.threads, self._length)
        self.count = self._length
        first, last = 0, len(ends.target)
        if window is not None:
            first = min(max(window.start - ends.target.start, 0), last)
            last = max(min(window.stop - ends.target.start, last), first)
        self._first, self._last = first, last
        if (first, last) != (0, len(ends.target)):
            self.count = np.empty(n, dtype=np.int64)
            self._call("nd_window", self.threads, self._length, first, last, self.skip, self.count)
        self._begin = np.concatenate([[0], np.cumsum(self.count)])[:-1].astype(np.int64)

    @property
    def edges(self) -> int:
        """Number of connections."""
        return int(self.count.sum())

    @phased("draw connections")
    def place(
        self, target: NDArray[np.int32], begin: NDArray[np.int64] | None = None, origin: int = 0
    ) -> None:
        """Write the targets, ascending in each row.

        Parameters
        ----------
        target : int32
            Takes component numbers less ``origin``.
        begin : (sources,) int64, optional
            Where each row begins there, now and in what is called next; default: one row after
            the other.
        origin : int
        """
        if begin is not None:
            self._begin = np.array(begin, dtype=np.int64)
        self._from = self.ends.target.start - origin
        window = self._first, self._last
        self._call("nd_row_index", self._rows, self._length, *window, self._from, target)

    @phased("draw connections")
    def values(self, of: str, out: NDArray[np.float64]) -> None:
        """Write the weights or the delays (s), in the places of the connections.

        Parameters
        ----------
        of : {"weight", "delay"}
        out : float64
        """
        self._call("nd_values", self._rows, _WEIGHT if of == "weight" else _DELAY, out)

    @phased("draw connections")
    def span(self, dt: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and the greatest delay of each source in steps, (sources,) int64.

        0 for a source without a connection.
        """
        out = np.empty((2, len(self.count)), dtype=np.int64)
        self._call("nd_span", self._rows, float(dt), out[0], out[1])
        return out[0], out[1]

    @phased("draw connections")
    def bounds(
        self,
        target: NDArray[np.int32],
        degree: NDArray[np.int64],
        least: NDArray[np.float64],
        greatest: NDArray[np.float64],
        total: NDArray[np.float64],
    ) -> None:
        """Account for the weights of each target, in the order of the sources.

        Parameters
        ----------
        target : int32
            As `place` wrote it.
        degree : int64
            Number of connections of each target, numbered as in ``target``.
        least, greatest, total : float64
            Least |weight| above 0, greatest and summed |weight|. They hold what is known from
            other projections (inf, 0 and 0 at first).
        """
        columns = (degree, least, greatest, total)
        self._call("nd_bounds", self._rows, target, *self._targets, *columns)

    @phased("draw connections")
    def remainders(
        self,
        target: NDArray[np.int32],
        unit: NDArray[np.float64],
        alike: float,
        rest: NDArray[np.float64],
        most: NDArray[np.float64],
    ) -> None:
        """Account for how far |weights| are from whole numbers of units.

        Parameters
        ----------
        target : int32
            As `place` wrote it.
        unit : float64
            Of each target; NaN where nothing is asked.
        alike : float
            Distances up to this, relative to the whole number, are none.
        rest, most : float64
            Least distance of |weight| / unit from a whole number, in units, and the greatest such
            number. They hold what is known from other projections (inf and 0 at first).
        """
        self._call("nd_remainders", self._rows, target, *self._targets, unit, alike, rest, most)

    @phased("draw connections")
    def encode(
        self,
        code: NDArray[np.int32],
        multiple: NDArray[np.signedinteger[Any]] | None,
        dt: float,
        width: int,
        lag: NDArray[np.int64],
        unit: NDArray[np.float64],
    ) -> None:
        """Turn targets into codes, in their place, and write the weights as whole numbers.

        Parameters
        ----------
        code : int32
            Targets as `place` wrote them; then (steps - 1 - lag) * width + target.
        multiple : int8, int16 or int32, optional
            rint(weight / unit), in the places of the connections.
        dt : float
            Step in seconds.
        width : int
        lag : (sources,) int64
        unit : (targets,) float64
        """
        size = 0 if multiple is None else multiple.itemsize
        out = np.empty(0, np.int8) if multiple is None else multiple
        self._call("nd_encode", self._rows, float(dt), width, lag, unit, size, code, out)

    @property
    def _rows(self) -> _RowsStruct:
        columns = (self._begin, self.skip, self.count)
        return _RowsStruct(*(c.ctypes.data for c in columns), self.threads)

    @property
    def _targets(self) -> tuple[int, int]:
        """First and last target as they stand in the rows."""
        return self._from + self._first, self._from + self._last

    def _call(self, name: str, *given: Any) -> None:
        arguments: list[Any] = []
        for value in given:
            if isinstance(value, np.ndarray):
                assert value.flags.c_contiguous
                arguments.append(_array(value.ctypes.data))
            elif isinstance(value, ct.Structure):
                arguments.append(ct.byref(value))
            else:
                arguments.append((_real if isinstance(value, float) else _integer)(value))
        function = getattr(_library(), name)
        function.restype = None
        function(ct.byref(self._rule), *arguments)


@phased("draw connections")
def near_first(
    first: NDArray[np.int64],
    width: int,
    code: NDArray[np.int32],
    multiple: NDArray[np.signedinteger[Any]] | None,
    count: NDArray[np.int64],
) -> None:
    """Move the connections of each row whose codes are below ``width`` to its front.

    Parameters
    ----------
    first : (rows + 1,) int64
        Where each row begins.
    width : int
    code : int32
    multiple : int8, int16 or int32, optional
        Moves with the codes.
    count : (rows,) int64
        Takes how many connections of each row are at its front.
    """
    size = 0 if multiple is None else multiple.itemsize
    other = np.empty(0, np.int8) if multiple is None else multiple
    threads, rows = len(os.sched_getaffinity(0)), len(count)
    numbers = (_integer(n) for n in (threads, rows, width, size))
    _library().nd_near_first(
        *numbers, *(_array(a.ctypes.data) for a in (first, code, other, count))
    )


def _lattice(rule: Rule) -> tuple[_Lattice, list[NDArray[Any]]]:
    """Return a filter with the cells of its targets in order, and what has to be kept for it."""
    columns = rule.columns
    if not columns:
        return _Lattice(), []
    cells = columns["target"]
    low = cells.min(axis=0)
    extent = cells.max(axis=0) - low + 1
    code = np.zeros(len(cells), dtype=np.int64)
    for d in range(cells.shape[1]):
        code = code * extent[d] + cells[:, d] - low[d]
    order = np.argsort(code, kind="stable").astype(np.int32)
    arrays = [columns["source"], columns["offsets"], low, extent, code[order], order,
              columns["weights"]]  # fmt: skip
    where = (a.ctypes.data for a in arrays)
    return _Lattice(cells.shape[1], len(columns["offsets"]), *where), arrays
