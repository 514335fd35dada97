"""``GPUDrawer``: connections of projections, drawn in the memory of a GPU.

``native/drawing_rows.cuh`` says how. What a call needs beside the result is given back at its end,
and what all passes over an access need when it has been written. Then a drawer keeps nothing on the
device but its code.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit
from ...circuit.distributions import Law
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
from .compiler import compile_cubin, find_compiler
from .device import Device, Loaded, Pool, architecture, launch
from .drawing_rows import (
    ADDRESS,
    INTEGER,
    LONGEST,
    REAL,
    DrawingMemory,
    DrawingPlace,
    RowsThere,
)

RULES = (AllToAll, FixedInDegree, FixedOutDegree, FixedProbability, FixedTotal, OneToOne)
"""Rules that a GPU draws."""

MANY = 1 << 22
"""Connections of an access from which a GPU draws them: to draw fewer takes the host less than a
second, with the copy."""

SHARED = 48 << 10
"""Bytes of shared memory up to which a block has several warps."""

_WARPS = 4
_INFINITE = np.float64(np.inf).view(np.uint64)

HEADERS = ("native/math.h", "native/philox.h", "native/projection_rule.h")
ROWS = "native/drawing_rows.cuh"
KERNELS = ("native/drawing_survey.cuh", "native/drawing_write.cuh")
"""Files of kernels; each is compiled as a text of its own, while the ones before are used."""


def text(kernels: str) -> str:
    """Return the text of the kernels of a file."""
    head = "/* connections */\n#define ND_FN static __device__ __forceinline__\n"
    return head + "\n".join(map(header, (*HEADERS, "native/drawing_words.cuh", ROWS, kernels)))


def begin_compiling(number: Callable[[], int], circuit: Circuit) -> None:
    """Begin to compile the texts where a circuit has many connections that a GPU draws.

    What goes wrong is said when a text is needed.
    """
    drawn = (one for one in circuit.connections if isinstance(one, Drawn))
    if sum((one.mean_degree or 0.0) * len(one.ends.target) for one in drawn) >= MANY:
        finding = ThreadPoolExecutor(1, "neurodriver-compiler")  # while the driver is loaded
        finding.submit(find_compiler)
        compiling = ThreadPoolExecutor(1, "neurodriver-compiler")
        for kernels in KERNELS:  # in the order in which they are needed
            compiling.submit(lambda one: compile_cubin(text(one), architecture(number())), kernels)
        for pool in (finding, compiling):
            pool.shutdown(wait=False)


_FOUND = "count near low high longest degree least greatest total divisor".split()


class _Found(ct.Structure):
    _fields_ = [
        *((name, ADDRESS) for name in _FOUND),
        ("scale", REAL),
        ("grid", REAL),
    ]


class _Binned(ct.Structure):
    _fields_ = [(name, ADDRESS) for name in ("low", "bins", "first", "ends")]


class GPU:
    """A GPU with the code that draws."""

    def __init__(self, number: int) -> None:
        self._device = device = Device(number)
        self.upload, self.download, self.clear = device.upload, device.download, device.clear
        self.wait, self.current = device.wait, device.current
        self._codes: dict[str, Loaded] = {}
        self._functions: dict[str, Any] = {}

    def memory(self, wanted: Mapping[Any, int]) -> DrawingMemory:
        """Return zeros, by name -> bytes."""
        return Pool(self._device, wanted)

    def start(self, name: str, warps: int, shared: int, values: tuple[Any, ...]) -> None:
        """Start a kernel with so many warps, each of which has ``shared`` bytes."""
        if name not in self._functions:
            self._functions[name] = self._code_of(name).function(name)
        team = _WARPS if _WARPS * shared <= SHARED else 1
        blocks = min(max(-(-warps // team), 1), 64 * self._device.processors)
        plain = tuple(value.value or 0 for value in values)  # an address of 0 is None
        types = tuple(map(type, values))
        function, size = self._functions[name], team * shared
        launch(self._device, function, blocks, 32 * team, plain, types, shared=size)

    def _code_of(self, name: str) -> Loaded:
        """Return the code that has a kernel."""
        kernels = next(one for one in KERNELS if f" {name}(" in header(one))
        if kernels not in self._codes:
            cubin = compile_cubin(text(kernels), self._device.arch)
            self._codes[kernels] = Loaded(self._device, cubin)
        return self._codes[kernels]


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
        self._rows: WeakKeyDictionary[Asked, RowsThere] = WeakKeyDictionary()

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
        with self._drawing(asked, sizes) as (rows, where):
            if not rows.fit:
                return None
            least = np.full(asked.targets, _INFINITE)
            rows.place.upload(where["least"], least)
            rows.place.upload(where["low"], np.full(asked.sources, 2**31 - 1, np.int32))
            grid = grid_of(asked)
            found = _Found(*(where[name] for name in _FOUND), scale, grid)
            rows.place.upload(where["found"], np.frombuffer(bytes(found), np.uint8))
            rows.each("nd_survey", REAL(asked.dt), ADDRESS(where["found"]))

            def brought(name: str, count: int, kind: Any) -> NDArray[Any]:
                out = np.empty(count, kind)
                rows.place.download(where[name], out)
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
        with self._drawing(asked, sizes) as (rows, where):
            for name, column in (("unit", unit), ("rest", rest)):
                rows.place.upload(where[name], np.ascontiguousarray(column))
            given = [ADDRESS(where[name]) for name in ("unit", "rest", "most")]
            rows.each("nd_survey_units", given[0], REAL(alike), *given[1:])
            for name, column in (("rest", rest), ("most", most)):
                rows.place.download(where[name], column)
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
        sizes["unit"] = 8 * asked.targets
        with self._drawing(asked, sizes, last=True) as (rows, where):
            # what is due at once stands first
            columns = {"near_at": first[:-1], "far_at": near, "unit": unit}
            for name, column in columns.items():
                rows.place.upload(where[name], np.ascontiguousarray(column))
            given = [ADDRESS(where[name]) for name in columns]
            out = INTEGER(size), ADDRESS(code), ADDRESS(multiple)
            rows.each("nd_write", REAL(asked.dt), INTEGER(width), *given, *out)
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
        sizes["binned"] = ct.sizeof(_Binned)
        with self._drawing(asked, sizes, last=True) as (rows, where):
            place = rows.place
            for name, column in columns.items():
                place.upload(where[name], np.ascontiguousarray(column))
            binned = _Binned(where["low"], where["bins"], where["first"], ends)
            place.upload(where["binned"], np.frombuffer(bytes(binned), np.uint8))
            place.clear(ends, 4 * int(bins[-1]))
            given = ADDRESS(where["binned"])
            rows.each("nd_count_bins", REAL(asked.dt), given)
            place.start("nd_begin_bins", asked.sources, 0, (given, INTEGER(asked.sources)))
            out = INTEGER(size), INTEGER(shift), ADDRESS(code), ADDRESS(multiple)
            rows.each("nd_write_bins", REAL(asked.dt), given, ADDRESS(where["unit"]), *out)
            place.wait()

    @contextmanager
    def _drawing(
        self, asked: Asked, sizes: Mapping[str, int], last: bool = False
    ) -> Iterator[tuple[RowsThere, dict[Any, int]]]:
        """Give the rows on the device, and addresses of memory by name -> bytes.

        What does not depend on the pass stays there until the ``last`` one.
        """
        place = self._place
        with place.current():
            if asked not in self._rows:
                self._rows[asked] = RowsThere(place, asked)
            rows, memory = self._rows[asked], place.memory(sizes)
            try:
                yield rows, memory.address
            finally:
                memory.free()
                if last or not rows.fit:
                    self._rows.pop(asked).free()


def _scale(asked: Asked) -> float:
    """Return the power of two with which no sum of |weights| of a target takes 64 bits."""
    laws: list[Law] = [links.weight for links in asked.drawn]
    most = max(max(abs(law.least), abs(law.most)) for law in laws)
    return float(np.ldexp(1.0, 31 - np.frexp(most)[1])) if most > 0 else 1.0
