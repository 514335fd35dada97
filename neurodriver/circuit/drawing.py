"""Rows of a projection, drawn by compiled code in parallel threads.

Every number is a function of the key of the projection, the place of its source (or target) and
the number of the draw, so neither threads nor windows change one.
"""

from __future__ import annotations

import ctypes as ct
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..native.compiler import Source, build
from ..native.headers import INLINE, header
from ..profiling.phases import phased
from ..system import cores
from .distributions import Law, law_of
from .located import Located
from .room import check_free
from .rules import Ends, Lattice, Rule

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Multiples = NDArray[np.signedinteger[Any]] | None

_integer, _real, _array = ct.c_longlong, ct.c_double, ct.c_void_p


FURTHER = 4
"""First stream of further numbers, after those of targets, weights, delays and shares."""

SAME = law_of(1.0)
"""Law of a number that nobody asks for."""

BYTES = 4
"""Least that a connection takes: the number of its target."""


def _check_memory(rule: Rule, ends: Ends, window: range | None) -> None:
    """Raise before more connections are drawn than the memory has room for."""
    if not {"number", "chance"} & rule.fields.keys():
        return  # not drawn, and not always stored
    pairs = len(ends.source) * len(ends.target)
    known = rule.edges(ends)
    edges = known if known is not None else rule.fields.get("chance", 0.0) * pairs
    if window is not None:
        first, last = max(window.start, ends.target.start), min(window.stop, ends.target.stop)
        edges *= max(last - first, 0) / max(len(ends.target), 1)
    say = f"{type(rule).__name__} from {len(ends.source):,} to {len(ends.target):,} components"
    check_free(edges * BYTES, f"{say}: {edges:,.0f} connections", "take fewer connections")


def _fields(kind: Any, names: str) -> list[tuple[str, Any]]:
    return [(name, kind) for name in names.split()]


class NativeLaw(ct.Structure):
    """A `Law` as compiled code knows it."""

    _fields_ = _fields(_integer, "kind clip") + _fields(_real, "a b low high factor grid")


class _Lattice(ct.Structure):
    _fields_ = _fields(_integer, "dims offsets")
    _fields_ += _fields(_array, "cell offset low extent code order factor")


class NativeRule(ct.Structure):
    """A projection as compiled code knows it, on the host and on a GPU."""

    _fields_ = [("key", ct.c_ulonglong)]
    _fields_ += _fields(_integer, "kind sources targets shift number autapses multapses")
    _fields_ += _fields(_real, "chance per_log")
    _fields_ += [(name, NativeLaw) for name in ("weight", "delay")]
    _fields_ += [("lattice", _Lattice), ("space", _array)]


class _RowsStruct(ct.Structure):
    _fields_ = [*_fields(_array, "begin skip count listed rank"), ("threads", _integer)]


DRAWING = (
    ("projections", "projection_place", "projection_parts", "projection_order"),
    ("projections", "projection_laws", "projection_values"),
)
"""Files of the functions by which connections are drawn. A compiler takes seconds for them, so they
are two libraries that are compiled at the same time."""


def library_source(names: tuple[str, ...]) -> Source:
    """Return the text of a library with the functions of some files, which draw numbers."""
    text = "\n".join(header(f"native/{name}.h") for name in ("math", "philox", *names))
    return f"/* {', '.join(names)} */\n#define ND_FN {INLINE}\n{text}", ()


@cache
def _drawing() -> list[ct.CDLL]:
    return build([library_source(names) for names in DRAWING])


@cache
def _function(name: str) -> Any:
    found = next(getattr(one, name) for one in _drawing() if hasattr(one, name))
    found.restype = None
    return found


def _call(name: str, *given: Any) -> None:
    """Call a function of the libraries; an array that is None stands for an empty one."""
    arguments: list[Any] = []
    for value in given:
        if value is None:
            arguments.append(_array(0))
        elif isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            arguments.append(_array(value.ctypes.data))
        elif isinstance(value, ct.Structure):
            arguments.append(ct.byref(value))
        else:
            arguments.append((_real if isinstance(value, float) else _integer)(value))
    _function(name)(*arguments)


FEW = 1 << 14
"""Connections that one thread draws sooner than a second thread starts."""


def native_rule(
    rule: Rule, ends: Ends, key: int, weight: Law, delay: Law, located: Located | None = None
) -> tuple[NativeRule, list[Any]]:
    """Return a projection for compiled code, and what has to be kept for it."""
    given: dict[str, Any] = {"number": 0, "multapses": 1, "chance": 0.0, **rule.fields}
    kept: list[Any] = []
    lattice = _Lattice()
    if isinstance(rule, Lattice):
        lattice, kept = _lattice(rule)
    space = None
    if located is not None:
        placed = located.native(ends)
        kept.append(placed)
        given["kind"], space = located.kind, ct.addressof(placed.struct)
    made = NativeRule(
        key=key,
        sources=len(ends.source),
        targets=len(ends.target),
        shift=ends.source.start - ends.target.start,
        weight=NativeLaw(*vars(weight).values()),
        delay=NativeLaw(*vars(delay).values()),
        lattice=lattice,
        space=space,
        **given,
    )
    return made, kept


@phased("draw connections")
def reaches(
    rule: Rule, ends: Ends, key: int, part: NDArray[np.int32], parts: int
) -> NDArray[np.bool_]:
    """Return which parts the connections of each source reach, (sources, parts).

    ``part`` is that of each target, (targets,). The rule is none of place.
    """
    native, _kept = native_rule(rule, ends, key, SAME, SAME)
    threads = cores()
    length = np.zeros(len(ends.source), np.int64)
    _call("nd_lengths", native, threads, length)
    out = np.zeros((len(length), parts), np.uint8)
    _call("nd_reaches", native, threads, length, part, parts, out)
    return out.astype(bool)


class Rows:
    """Connections of a projection into some targets: rows are sources, targets ascend in each.

    Call `place` before all that follows it. Totals over several projections are accounted for in
    arrays of the caller, which hold what is known from the others.

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
    located : Located, optional
        Of a rule of place: where the ends are.
    numbers : (targets,) int32, optional
        What each target is written with, ascending where it is not negative; connections into the
        others are left out. ``window`` is one of these numbers. Not for rules of place.

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
        located: Located | None = None,
        numbers: NDArray[np.int32] | None = None,
    ) -> None:
        self.ends = ends
        self.threads = threads or cores()
        self._rule, self._kept = native_rule(rule, ends, key, weight, delay, located)
        sources = len(ends.source)
        if numbers is None:
            _check_memory(rule, ends, window)
        self._length, self.skip = (np.zeros(sources, dtype=np.int64) for _ in range(2))
        _call("nd_lengths", self._rule, self.threads, self._length)
        self.numbers, self._rank = numbers, np.zeros(0, np.int32)
        if numbers is None:
            self._find(window)
        else:
            self._find_some(numbers, window)
        self._listed = self._begin = np.cumsum(self.count) - self.count
        self.threads = min(self.threads, 1 + self.edges // FEW)

    def _find(self, window: range | None) -> None:
        """Count the connections into a window of targets."""
        first, last = 0, len(self.ends.target)
        if window is not None:
            first = min(max(window.start - self.ends.target.start, 0), last)
            last = max(min(window.stop - self.ends.target.start, last), first)
        self._window = first, last
        self.count = self._length
        if self._window != (0, len(self.ends.target)):
            self.count = np.empty(len(self._length), dtype=np.int64)
            given_rows = (self._length, first, last, self.skip, self.count)
            _call("nd_window", self._rule, self.threads, *given_rows)

    def _find_some(self, numbers: NDArray[np.int32], window: range | None) -> None:
        """Count the connections into targets with a number in a window."""
        if window is not None:
            numbers = np.where((numbers >= window.start) & (numbers < window.stop), numbers, -1)
        self.numbers = np.ascontiguousarray(numbers, np.int32)
        wanted = numbers[numbers >= 0]
        self._window = (int(wanted[0]), int(wanted[-1]) + 1) if len(wanted) else (0, 0)
        self.count = np.zeros(len(self._length), dtype=np.int64)
        _call("nd_count_some", self._rule, self.threads, self._length, self.numbers, self.count)

    @property
    def edges(self) -> int:
        """Number of connections."""
        return int(self.count.sum())

    @phased("draw connections")
    def place(
        self, target: NDArray[np.int32], begin: Integers | None = None, origin: int = 0
    ) -> None:
        """Write the targets: component numbers less ``origin``, ascending in each row.

        ``begin``, (sources,), tells where each row begins, now and in what is called next; by
        default one row comes after the other.
        """
        if begin is not None:
            self._begin = np.array(begin, dtype=np.int64)
        if self.numbers is not None:
            self._from = -origin
            numbers = np.where(self.numbers < 0, -1, self.numbers - origin).astype(np.int32)
            self._rank = np.empty(self.edges, np.int32)
            self._on_rows("nd_place_some", self._length, numbers, target, self._rank)
            return
        self._from = self.ends.target.start - origin
        self._on_rows("nd_place", self._length, *self._window, self._from, target)

    @phased("draw connections")
    def values(self, of: str | int, out: Floats) -> None:
        """Write the weights or the delays (s) in the places of the connections.

        A number ``FURTHER`` or above: other numbers, by the law that ``delay`` was given.
        """
        stream = of if isinstance(of, int) else {"weight": 1, "delay": 2}[of]
        self._on_rows("nd_values", stream, out)

    @phased("draw connections")
    def extremes(self, of: str, floor: float) -> tuple[float, float, tuple[int, int, float] | None]:
        """Return the least and the greatest weight or delay (s), of all connections.

        Then source, target (component numbers) and value of the first connection whose value is not
        finite or less than ``floor``, None where there is none.
        """
        size = self._rule.sources
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        target, value = np.full(size, -1, np.int32), np.zeros(size)
        stream = {"weight": 1, "delay": 2}[of]
        _call("nd_extremes", self._rule, self.threads, stream, floor, low, high, target, value)
        bad = np.flatnonzero(target >= 0)
        first = None
        if len(bad):
            at = int(bad[0])
            ends = self.ends.source.start + at, self.ends.target.start + int(target[at])
            first = *ends, float(value[at])
        least, most = float(low.min(initial=np.inf)), float(high.max(initial=-np.inf))
        return (least, most, first) if least <= most else (0.0, 0.0, first)

    @phased("draw connections")
    def span(self, dt: float) -> tuple[Integers, Integers]:
        """Return the least and the greatest delay of each source in steps, (sources,).

        Both are 0 for a source without a connection.
        """
        out = np.empty((2, len(self.count)), dtype=np.int64)
        self._on_rows("nd_span", float(dt), out[0], out[1])
        return out[0], out[1]

    @phased("draw connections")
    def bounds(
        self,
        target: NDArray[np.int32],
        degree: Integers,
        least: Floats,
        greatest: Floats,
        total: Floats,
    ) -> None:
        """Account for the weights of each target, in the order of the sources.

        ``target`` is what `place` wrote. The others are numbered like it: number of connections,
        least |weight| above 0, greatest and summed |weight|; at first 0, inf, 0, 0.
        """
        columns = (degree, least, greatest, total)
        self._on_rows("nd_bounds", target, *self._targets, *columns)

    @phased("draw connections")
    def remainders(
        self, target: NDArray[np.int32], unit: Floats, alike: float, rest: Floats, most: Floats
    ) -> None:
        """Account for how far |weights| are from whole numbers of units.

        ``unit`` is that of each target, NaN where nothing is asked. ``rest`` takes the least
        distance of |weight| / unit from a whole number, ``most`` the greatest such number; at
        first inf and 0. Distances up to ``alike``, relative to the whole number, are none.
        """
        self._on_rows("nd_remainders", target, *self._targets, unit, alike, rest, most)

    @phased("draw connections")
    def encode(
        self,
        code: NDArray[np.int32],
        multiple: Multiples,
        dt: float,
        width: int,
        lag: Integers,
        unit: Floats,
    ) -> None:
        """Turn targets into codes, in their place, and write the weights as whole numbers.

        ``code`` holds what `place` wrote, then (steps - 1 - lag) * width + target; ``lag`` is
        that of each source. ``multiple`` (int8, int16 or int32) takes rint(weight / unit).
        """
        size = 0 if multiple is None else multiple.itemsize
        self._on_rows("nd_encode", float(dt), width, lag, unit, size, code, multiple)

    @property
    def _targets(self) -> tuple[int, int]:
        """First and last target as they stand in the rows."""
        return self._from + self._window[0], self._from + self._window[1]

    def _on_rows(self, name: str, *given: Any) -> None:
        columns = [c.ctypes.data for c in (self._begin, self.skip, self.count, self._listed)]
        rank = self._rank.ctypes.data if self.numbers is not None else None
        _call(name, self._rule, _RowsStruct(*columns, rank, self.threads), *given)


@phased("draw connections")
def near_first(
    first: Integers, width: int, code: NDArray[np.int32], multiple: Multiples, count: Integers
) -> None:
    """Move the connections of each row whose codes are below ``width`` to its front.

    Row i is ``first[i]`` to ``first[i + 1]`` of ``code`` and of ``multiple``; ``count``, (rows,),
    takes how many are at its front.
    """
    size = 0 if multiple is None else multiple.itemsize
    numbers = (cores(), len(count), width, size)
    _call("nd_near_first", *numbers, first, code, multiple, count)


@phased("draw connections")
def ascending(first: Integers, width: int, code: NDArray[np.int32], multiple: Multiples) -> None:
    """Order the connections of each row by their targets, the remainders of codes by ``width``.

    Arrays are those of `near_first`.
    """
    size = 0 if multiple is None else multiple.itemsize
    numbers = (cores(), len(first) - 1, width, size)
    _call("nd_ascending", *numbers, first, code, multiple)


def _lattice(rule: Lattice) -> tuple[_Lattice, list[Any]]:
    """Return a filter with the cells of its targets in order, and what has to be kept for it."""
    columns = rule.columns
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
