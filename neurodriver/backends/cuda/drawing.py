"""``GPUDrawer``: connections of projections, drawn in the memory of a GPU.

``native/drawing.cuh`` says how. What a call needs beside the result is given back at its end, so
a drawer keeps nothing on the device but its code.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit
from ...circuit.distributions import Law
from ...circuit.drawing import native_rule
from ...circuit.drawn import Drawn
from ...circuit.formula import KIND
from ...circuit.rules import (
    AllToAll,
    FixedInDegree,
    FixedOutDegree,
    FixedProbability,
    FixedTotal,
    OneToOne,
)
from ...native.headers import header
from ...plan.spikes.drawer import Asked, Survey, grid_of
from ...plan.spikes.weights import Bounds
from ...profiling.phases import phased
from .compiler import compile_cubin
from .device import Device, Loaded, Pool, architecture, launch

RULES = (AllToAll, FixedInDegree, FixedOutDegree, FixedProbability, FixedTotal, OneToOne)
"""Rules that a GPU draws."""

MANY = 1 << 22
"""Connections of an access from which a GPU draws them: to draw fewer takes the host less than a
second, with the copy."""

LONGEST = 1 << 15
"""Connections of a row at most: they stand in the shared memory of a warp."""

PACKED = 1 << 16
"""Targets of a projection up to which those that a part does not own are left out at once: a rank
of up to ``LONGEST`` stands above them in a word (``ND_PACKED``)."""

SHARED = 48 << 10
"""Bytes of shared memory up to which a block has several warps."""

_WARPS = 4
_INFINITE = np.float64(np.inf).view(np.uint64)
_ADDRESS, _INTEGER, _REAL = ct.c_void_p, ct.c_longlong, ct.c_double

HEADERS = ("native/math.h", "native/philox.h", "native/projection_rule.h")


def text() -> str:
    """Return the text of the kernels."""
    head = "/* connections */\n#define ND_FN static __device__ __forceinline__\n"
    names = (*HEADERS, "native/drawing_words.cuh", "native/drawing.cuh")
    return head + "\n".join(map(header, names))


def begin_compiling(number: Callable[[], int], circuit: Circuit) -> None:
    """Begin to compile the text where a circuit has many connections that a GPU draws.

    What goes wrong is said when the text is needed.
    """
    drawn = (one for one in circuit.connections if isinstance(one, Drawn))
    if sum((one.mean_degree or 0.0) * len(one.ends.target) for one in drawn) >= MANY:
        pool = ThreadPoolExecutor(1, "neurodriver-compiler")
        pool.submit(lambda: compile_cubin(text(), architecture(number())))
        pool.shutdown(wait=False)


_PIECE = np.dtype(
    [(name, np.int64) for name in ("rule", "whole", "packed", "room")]
    + [(name, np.uint64) for name in ("source", "target", "length", "begin", "listed")]
)
"""``nd_piece`` of ``drawing.cuh``."""


_FOUND = "count near low high longest degree least greatest total divisor".split()


class _Found(ct.Structure):
    _fields_ = [
        *((name, _ADDRESS) for name in _FOUND),
        ("scale", _REAL),
        ("grid", _REAL),
    ]


class _Binned(ct.Structure):
    _fields_ = [(name, _ADDRESS) for name in ("low", "bins", "first", "ends")]


class DrawingMemory(Protocol):
    """Addresses by what lies there; zeros at first."""

    address: dict[Any, int]

    def free(self) -> None: ...


class DrawingPlace(Protocol):
    """A device, as far as drawing needs it."""

    def memory(self, wanted: Mapping[Any, int]) -> DrawingMemory: ...
    def upload(self, address: int, array: NDArray[Any]) -> None: ...
    def download(self, address: int, out: NDArray[Any]) -> None: ...
    def clear(self, address: int, size: int) -> None: ...
    def start(self, name: str, warps: int, shared: int, values: tuple[Any, ...]) -> None: ...
    def wait(self) -> None: ...
    def current(self) -> Any: ...


class GPU:
    """A GPU with the code that draws."""

    def __init__(self, number: int) -> None:
        self._device = device = Device(number)
        self.upload, self.download, self.clear = device.upload, device.download, device.clear
        self.wait, self.current = device.wait, device.current
        with device.current():
            self._code = Loaded(device, compile_cubin(text(), device.arch))
        self._functions: dict[str, Any] = {}

    def memory(self, wanted: Mapping[Any, int]) -> DrawingMemory:
        """Return zeros, by name -> bytes."""
        return Pool(self._device, wanted)

    def start(self, name: str, warps: int, shared: int, values: tuple[Any, ...]) -> None:
        """Start a kernel with so many warps, each of which has ``shared`` bytes."""
        if name not in self._functions:
            self._functions[name] = self._code.function(name)
        team = _WARPS if _WARPS * shared <= SHARED else 1
        blocks = min(max(-(-warps // team), 1), 64 * self._device.processors)
        plain = tuple(value.value or 0 for value in values)  # an address of 0 is None
        types = tuple(map(type, values))
        function, size = self._functions[name], team * shared
        launch(self._device, function, blocks, 32 * team, plain, types, shared=size)


class GPUDrawer:
    """Draws on a GPU; `Drawer` says what the methods do.

    Parameters
    ----------
    number : callable
        Returns that of the GPU, when there is something to draw.
    many : int, optional
        Connections of an access from which it draws them; default: `MANY`.
    place : DrawingPlace, optional
        Default: the GPU.
    """

    def __init__(
        self, number: Callable[[], int], many: int | None = None, place: DrawingPlace | None = None
    ) -> None:
        self.many = MANY if many is None else many
        self._number, self._given = number, place
        self._known: WeakKeyDictionary[Asked, _Known] = WeakKeyDictionary()

    @cached_property
    def _place(self) -> DrawingPlace:
        return self._given or GPU(self._number())

    def refuses(self, links: Drawn) -> str:
        """Return why a projection is not drawn here, empty where it is."""
        rule = links.projection.rule
        if type(rule) not in RULES or KIND in (links.weight.kind, links.latency.kind):
            return f"{type(rule).__name__} is drawn on the host"
        if not rule.fields.get("multapses", True) and not isinstance(rule, AllToAll):
            return "different partners are drawn on the host"
        mean = (links.mean_degree or 0.0) * len(links.ends.target)
        mean /= max(len(links.ends.source), 1)
        if mean + 12 * mean**0.5 > LONGEST:
            return f"a source has {mean:,.0f} connections, up to {LONGEST:,} are drawn on a GPU"
        return ""

    @phased("draw connections")
    def survey(self, asked: Asked) -> Survey | None:
        of_sources = "count", "near", "low", "high"
        sizes = {"longest": 4 * len(asked.drawn), "degree": 4 * asked.targets,
                 "found": ct.sizeof(_Found)}  # fmt: skip
        sizes |= dict.fromkeys(of_sources, 4 * asked.sources)
        sizes |= dict.fromkeys(("least", "greatest", "total", "divisor"), 8 * asked.targets)
        scale = _scale(asked)
        with self._rows(asked, sizes) as rows:
            if rows is None:
                return None
            least = np.full(asked.targets, _INFINITE)
            rows.place.upload(rows.address["least"], least)
            rows.place.upload(rows.address["low"], np.full(asked.sources, 2**31 - 1, np.int32))
            grid = grid_of(asked)
            found = _Found(*(rows.address[name] for name in _FOUND), scale, grid)
            rows.place.upload(rows.address["found"], np.frombuffer(bytes(found), np.uint8))
            rows.each("nd_survey", _REAL(asked.dt), _ADDRESS(rows.address["found"]))

            def brought(name: str, count: int, kind: Any) -> NDArray[Any]:
                out = np.empty(count, kind)
                rows.place.download(rows.address[name], out)
                return out

            count, near, low_of, high_of = (
                brought(name, asked.sources, np.int32).astype(np.int64) for name in of_sources
            )
            longest = brought("longest", len(asked.drawn), np.int32).astype(np.int64)
            degree = brought("degree", asked.targets, np.int32).astype(np.int64)
            low, high = (brought(name, asked.targets, np.float64) for name in ("least", "greatest"))
            total = brought("total", asked.targets, np.uint64).astype(np.float64) / scale
            divisor = brought("divisor", asked.targets, np.int64)
        bounds = Bounds(degree, low, high, total)
        error = np.asarray(0.5 * degree / scale, np.float64)
        of_source = count, near, low_of, high_of
        return Survey(*of_source, longest, bounds, error, divisor if grid else None, grid)

    @phased("draw connections")
    def remainders(
        self, asked: Asked, unit: NDArray[np.float64], alike: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        sizes = dict.fromkeys(("unit", "rest", "most"), 8 * asked.targets)
        rest, most = np.full(asked.targets, np.inf), np.zeros(asked.targets)
        with self._rows(asked, sizes) as rows:
            assert rows is not None
            for name, column in (("unit", unit), ("rest", rest)):
                rows.place.upload(rows.address[name], np.ascontiguousarray(column))
            where = [_ADDRESS(rows.address[name]) for name in ("unit", "rest", "most")]
            rows.each("nd_survey_units", where[0], _REAL(alike), *where[1:])
            for name, column in (("rest", rest), ("most", most)):
                rows.place.download(rows.address[name], column)
        return rest, most

    @phased("draw connections")
    def write(
        self,
        asked: Asked,
        first: NDArray[np.int64],
        near: NDArray[np.int64],
        width: int,
        unit: NDArray[np.float64],
        code: int,
        multiple: int,
        size: int,
    ) -> None:
        sizes = dict.fromkeys(("near_at", "far_at"), 8 * asked.sources)
        with self._rows(asked, sizes | {"unit": 8 * asked.targets}) as rows:
            assert rows is not None
            # what is due at once stands first
            columns = {"near_at": first[:-1], "far_at": near, "unit": unit}
            for name, column in columns.items():
                rows.place.upload(rows.address[name], np.ascontiguousarray(column))
            where = [_ADDRESS(rows.address[name]) for name in columns]
            out = _INTEGER(size), _ADDRESS(code), _ADDRESS(multiple)
            rows.each("nd_write", _REAL(asked.dt), _INTEGER(width), *where, *out)
            rows.place.wait()

    @phased("draw connections")
    def write_by_delay(
        self,
        asked: Asked,
        first: NDArray[np.int64],
        low: NDArray[np.int32],
        bins: NDArray[np.int64],
        unit: NDArray[np.float64],
        code: int,
        multiple: int,
        size: int,
        shift: int,
        ends: int,
    ) -> None:
        columns: dict[str, NDArray[Any]]
        columns = {"low": low, "bins": bins, "first": first[:-1], "unit": unit}
        sizes = {name: column.nbytes for name, column in columns.items()}
        with self._rows(asked, sizes | {"binned": ct.sizeof(_Binned)}) as rows:
            assert rows is not None
            place, where = rows.place, rows.address
            for name, column in columns.items():
                place.upload(where[name], np.ascontiguousarray(column))
            binned = _Binned(where["low"], where["bins"], where["first"], ends)
            place.upload(where["binned"], np.frombuffer(bytes(binned), np.uint8))
            place.clear(ends, 4 * int(bins[-1]))
            given = _ADDRESS(where["binned"])
            rows.each("nd_count_bins", _REAL(asked.dt), given)
            place.start("nd_begin_bins", asked.sources, 0, (given, _INTEGER(asked.sources)))
            out = _INTEGER(size), _INTEGER(shift), _ADDRESS(code), _ADDRESS(multiple)
            rows.each("nd_write_bins", _REAL(asked.dt), given, _ADDRESS(where["unit"]), *out)
            place.wait()

    @contextmanager
    def _rows(self, asked: Asked, sizes: Mapping[str, int]) -> Iterator[_Rows | None]:
        """Give the lengths of all rows, and memory by name -> bytes; None where one is too long."""
        place = self._place
        with place.current():
            if asked not in self._known:
                self._known[asked] = _Known(asked)
            known = self._known[asked]
            rows = _Rows(place, asked, known, sizes)
            try:
                assert known.longest is not None
                yield rows if known.longest.max(initial=0) <= LONGEST else None
            finally:
                rows.memory.free()


class _Known:
    """What is known of the projections of an access, for all calls that draw them.

    Attributes
    ----------
    begins, ends : (projections,) int64
        Where the lengths of the rows of each begin and end.
    draws : list of int
        Threads that draw these lengths.
    longest : (projections,) int64 or None
        The greatest length of each; None before the lengths have been drawn.
    """

    def __init__(self, asked: Asked) -> None:
        self.ends = np.cumsum([len(links.ends.source) for links in asked.drawn], dtype=np.int64)
        self.begins = np.concatenate([[0], self.ends[:-1]]).astype(np.int64)
        self.longest: NDArray[np.int64] | None = None
        self.rules = np.frombuffer(b"".join(map(_rule, asked.drawn)), np.uint8)
        self.draws = list(map(_draws, asked.drawn))
        self.listed = [isinstance(one.projection.rule, FixedInDegree) for one in asked.drawn]
        spans = [(one.ends.source.start, one.ends.target.start) for one in asked.drawn]
        self.first = np.array(spans, np.int64).reshape(-1, 2).T
        wanted = np.concatenate([[0], np.cumsum(asked.target >= 0)])
        stops = np.array([one.ends.target.stop for one in asked.drawn], np.int64)
        self.whole = wanted[stops] - wanted[self.first[1]] == stops - self.first[1]
        self.packed = ~self.whole & (stops - self.first[1] <= PACKED)

    def measure(self, lengths: NDArray[np.int32]) -> None:
        """Find the longest row of each projection."""
        self.longest = np.zeros(len(self.begins), np.int64)
        some = self.begins < self.ends
        if some.any():
            self.longest[some] = np.maximum.reduceat(lengths, self.begins[some])

    @property
    def room(self) -> NDArray[np.int64]:
        """Connections that a warp has shared memory for, a power of two, of each projection."""
        assert self.longest is not None
        bits: NDArray[np.int64] = np.frexp(np.maximum(self.longest, 1) - 1)[1].astype(np.int64)
        return np.left_shift(1, bits)


def _rule(links: Drawn) -> bytes:
    given = links.projection.rule, links.ends, links.key, links.weight, links.latency
    return bytes(native_rule(*given)[0])


def _draws(links: Drawn) -> int:
    rule, sources = links.projection.rule, len(links.ends.source)
    if isinstance(rule, FixedProbability):
        return 32 * sources
    return rule.edges(links.ends) if isinstance(rule, FixedTotal | FixedInDegree) else sources


class _Rows:
    """The rows of an access on the device: rules, lengths, and what is asked of them."""

    def __init__(
        self, place: DrawingPlace, asked: Asked, known: _Known, sizes: Mapping[str, int]
    ) -> None:
        self.place, self._known = place, known
        wanted = {"rules": known.rules.nbytes, "lengths": 4 * int(known.ends[-1]),
                  "pieces": _PIECE.itemsize * len(asked.drawn),
                  "source": asked.source.nbytes, "target": asked.target.nbytes,
                  **sizes}  # fmt: skip
        self.memory = place.memory(wanted)
        self.address = self.memory.address
        place.upload(self.address["rules"], known.rules)
        place.upload(self.address["source"], asked.source)
        place.upload(self.address["target"], asked.target)
        for number in range(len(asked.drawn)):
            self._draw_lengths(number, 0, 0)
        if known.longest is None:
            known.measure(self._lengths(0, int(known.ends[-1])))

    def _lengths(self, begin: int, end: int) -> NDArray[np.int32]:
        """Return the lengths of some rows."""
        out = np.empty(end - begin, np.int32)
        self.place.download(self.address["lengths"] + 4 * begin, out)
        return out

    def _draw_lengths(self, number: int, begin: int, listed: int) -> None:
        length = self.address["lengths"] + 4 * int(self._known.begins[number])
        values = _ADDRESS(length), _ADDRESS(begin), _ADDRESS(listed)
        rules, warps = _ADDRESS(self.address["rules"]), -(-self._known.draws[number] // 32)
        self.place.start("nd_lengths", warps, 0, (rules, _INTEGER(number), *values))

    def each(self, name: str, *given: Any) -> None:
        """Start a kernel for each projection."""
        known = self._known
        pieces = np.zeros(len(known.begins), _PIECE)
        pieces["rule"], pieces["whole"] = np.arange(len(pieces)), known.whole
        pieces["packed"] = known.packed
        pieces["room"] = room = known.room
        pieces["source"], pieces["target"] = self.address["source"], self.address["target"]
        pieces["source"] += 4 * known.first[0].astype(np.uint64)
        pieces["target"] += 4 * known.first[1].astype(np.uint64)
        pieces["length"] = self.address["lengths"] + 4 * known.begins
        self._send(pieces)
        rules = _ADDRESS(self.address["rules"]), _ADDRESS(self.address["pieces"])
        sizes = zip((known.ends - known.begins).tolist(), (4 * room).tolist(), strict=True)
        for number, (rows, shared) in enumerate(sizes):
            held = self._listed(number) if known.listed[number] else None
            if held is not None:
                pieces["begin"][number] = held.address["begin"]
                pieces["listed"][number] = held.address["listed"]
                self._send(pieces)
            self.place.start(name, rows, shared, (*rules, _INTEGER(number), *given))
            if held is not None:
                self.place.wait()
                held.free()

    def _send(self, pieces: NDArray[Any]) -> None:
        self.place.upload(self.address["pieces"], pieces.view(np.uint8))

    def _listed(self, number: int) -> DrawingMemory:
        """Return the targets of each source of a fixed in-degree."""
        first, last = int(self._known.begins[number]), int(self._known.ends[number])
        end = np.cumsum(self._lengths(first, last), dtype=np.int64)
        begin = np.concatenate([[0], end[:-1]]).astype(np.int64)
        held = self.place.memory({"begin": begin.nbytes, "listed": 4 * int(end[-1])})
        self.place.upload(held.address["begin"], begin)
        self.place.clear(self.address["lengths"] + 4 * first, 4 * (last - first))
        self._draw_lengths(number, held.address["begin"], held.address["listed"])
        return held


def _scale(asked: Asked) -> float:
    """Return the power of two with which no sum of |weights| of a target takes 64 bits."""
    laws: list[Law] = [links.weight for links in asked.drawn]
    most = max(max(abs(law.least), abs(law.most)) for law in laws)
    return float(np.ldexp(1.0, 31 - np.frexp(most)[1])) if most > 0 else 1.0
