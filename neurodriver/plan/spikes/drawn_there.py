"""Connections that projections draw on a device, where they will lie.

The host keeps the rules, and numbers of each source and each target. Whoever looks at single
connections in host memory draws them there, with the same bits.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit
from ...circuit.drawing import near_first
from ...circuit.drawn import Drawn
from ...native.buffers import DrawnArray, aligned
from ..delays import check_longest
from ..injection import Slots
from ..sums.gather import Edges, Gather
from .drawer import Asked, Drawer, Survey, numbers_of_ends
from .drawn import DrawnBySource, ascend, reaching
from .due import Bins, bins_of
from .source_rows import SourceRows
from .weights import ALIKE, BITS, MOST_MULTIPLE, Bounds, Reals, WeightStatistics, powers

if TYPE_CHECKING:
    from ..delays import Spread


class DrawnThere(DrawnBySource):
    """The connections of one access, which a device draws.

    Parameters are those of `DrawnBySource`; ``drawer`` draws them.

    Attributes
    ----------
    found : bool
        Whether it could; if not, there is nothing else here.
    """

    note = "drawn on the device"

    def __init__(
        self, circuit: Circuit, number: int, drawn: list[Drawn], dt: float, drawer: Drawer
    ) -> None:
        self.drawn, self.dt, self.threads = drawn, dt, True
        self._circuit, self._number, self._drawer = circuit, number, drawer
        self._find_sources(circuit, number)
        where = numbers_of_ends(
            drawn, self._source_places(circuit), self._target_places(circuit, number)
        )
        self.found = where is not None
        if where is None:
            return
        self._asked = Asked(drawn, *where, int(self._begin[-1]), self.count, dt)
        found = drawer.survey(self._asked)
        self.found = found is not None
        if found is not None:
            self._know(found, circuit.name)

    def _target_places(self, circuit: Circuit, number: int) -> NDArray[np.int64]:
        """Return the number of each component as a target, or -1."""
        place = np.full(circuit.count, -1, dtype=np.int64)
        place[circuit.starts[number] : circuit.starts[number + 1]] = np.arange(self.count)
        return place

    def _know(self, found: Survey, name: str) -> None:
        """Take over what has been found out."""
        self.first = np.concatenate([[0], np.cumsum(found.count)]).astype(np.int64)
        self.edges, self._near = int(self.first[-1]), found.near
        self._low, self._bins = bins_of(found.low, found.high, found.count)
        self.bounds, self._error = found.bounds, found.error
        self._divisor, self._grid = found.divisor, found.grid
        for links, high in zip(self.drawn, found.longest.tolist(), strict=True):
            check_longest(links, high, self.dt, name)
        self.lags = {}
        for g, begin, end in zip(self._groups, self._begin[:-1], self._begin[1:], strict=True):
            low = found.low[begin:end][found.count[begin:end] > 0]
            if len(low):
                self.lags[g] = int(low.min()) - 1
        self.ahead = max(int(found.longest.max(initial=0)) - 1, 0)

    def weights(self, beside: Edges) -> WeightStatistics:
        """Return the statistics of the weights, together with those of other connections.

        The sums of |weights| are those in another order. Where that might change a unit, the host
        draws all weights in the order of the sources.
        """
        both = super().weights(beside)
        if self._divisor is not None and not len(beside.target):
            most = self.bounds.greatest / (self._grid * np.maximum(self._divisor, 1))
            if most.max() <= MOST_MULTIPLE:
                return both  # no unit depends on a sum
        total, error = both.bounds.total, self._error + 2.0**-50 * both.bounds.total
        low, high = (
            [powers(_with_total(both.bounds, total + sign * error), bits) for bits in BITS.values()]
            for sign in (-1.0, 1.0)
        )
        if all(map(np.array_equal, low, high)):
            return both
        self.bounds = self._drawn_here.bounds
        self._error = np.zeros(self.count)
        return super().weights(beside)

    def remainders(self, unit: Reals) -> tuple[Reals, Reals]:
        """Return what `units_of` asks for; nothing is drawn again where a measure is known.

        Then the remainder is that measure, so that the next unit is.
        """
        if self._divisor is not None:
            measure = self._grid * np.maximum(self._divisor, 1)
            asked = np.flatnonzero(~np.isnan(unit) & (self._divisor > 0))
            rest, most = np.full(self.count, np.inf), np.zeros(self.count)
            within = np.rint(unit[asked] / measure[asked])
            rest[asked] = np.where(within > 1, 1.0 / np.maximum(within, 1), np.inf)
            most[asked] = np.rint(self.bounds.greatest[asked] / unit[asked])
            return rest, most
        return self._drawer.remainders(self._asked, unit, ALIKE)

    @cached_property
    def _drawn_here(self) -> DrawnBySource:
        """The same connections in host memory."""
        return DrawnBySource(self._circuit, self._number, self.drawn, self.dt, threads=True)

    def _code_of(self, edges: int) -> Any:
        self._store = _Store(self)
        return self._store.array("code", edges, np.dtype(np.int32))

    def _multiple_of(self, edges: int, kind: type[np.signedinteger[Any]]) -> Any:
        return self._store.array("multiple", edges, np.dtype(kind))

    def _reached(self) -> list[NDArray[np.int64]]:
        places = [self._asked.source[d.ends.source.start : d.ends.source.stop] for d in self.drawn]
        return [place[place >= 0].astype(np.int64) for place in places]

    def _write(self, gather: Gather, unit: Reals, beside: SourceRows) -> NDArray[np.int64]:
        assert not len(beside.code)
        self._store.unit, self._store.width = unit, self._width
        return self._near

    def _write_by_delay(self, gather: Gather, unit: Reals) -> Bins:
        self._store.unit, self._store.width = unit, self._width
        self._store.shift = gather.limits.get("shift", 0)
        ends: Any = self._store.array("ends", int(self._bins[-1]), np.dtype(np.int32))
        return Bins(self._low, self._bins, ends)

    def write(self, store: _Store) -> None:
        """Draw the connections at the addresses of a store."""
        near, size = self.first[:-1] + self._near, store.size
        given = store.address["code"], store.address.get("multiple", 0), size
        if "ends" in store.kinds:
            where = self._asked, self.first, self._low, self._bins, store.unit
            self._drawer.write_by_delay(*where, *given, store.shift, store.address["ends"])
            return
        self._drawer.write(self._asked, self.first, near, store.width, store.unit, *given)

    def draw(self, store: _Store) -> dict[str, NDArray[Any]]:
        """Return the arrays of a store in host memory."""
        here = DrawnBySource(self._circuit, self._number, self.drawn, self.dt, threads=True)
        code = here.targets
        multiple = aligned(self.edges, store.kinds["multiple"]) if store.size else None
        out = {"code": code} | ({} if multiple is None else {"multiple": multiple})
        if "ends" in store.kinds:
            bins = here.encode_by_delay(code, multiple, store.width, store.unit, store.shift)
            return out | {"ends": bins.ends}
        here.encode(code, multiple, store.width, store.unit)
        near_first(self.first, store.width, code, multiple, np.zeros_like(self._near))
        return out


class _Store:
    """The arrays of an access that are drawn together."""

    unit: Reals
    width: int
    shift = 0

    def __init__(self, owner: DrawnThere) -> None:
        self.owner = owner
        self.kinds: dict[str, np.dtype[Any]] = {}
        self.address: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Bytes of a weight, 0 where none are stored."""
        return self.kinds["multiple"].itemsize if "multiple" in self.kinds else 0

    def array(self, name: str, edges: int, kind: np.dtype[Any]) -> DrawnArray:
        """Return an array that is drawn with the others."""
        self.kinds[name] = kind
        return DrawnArray(
            edges, kind, lambda: self.here[name], lambda address: self.there(name, address)
        )

    @cached_property
    def here(self) -> dict[str, NDArray[Any]]:
        """The arrays in host memory."""
        return self.owner.draw(self)

    def there(self, name: str, address: int) -> None:
        """Note where an array lies on the device; draw when all have a place."""
        self.address[name] = address
        if self.address.keys() == self.kinds.keys():
            self.owner.write(self)
            self.address = {}


def _with_total(bounds: Bounds, total: Reals) -> Bounds:
    return Bounds(bounds.degree, bounds.least, bounds.greatest, total)


def draw_by_source(
    circuit: Circuit,
    spread: Spread,
    slots: Slots,
    dt: float,
    threads: bool = False,
    drawer: Drawer | None = None,
) -> dict[tuple[int, str], DrawnBySource]:
    """Draw the connections of projections into accesses, where their kernels can deliver them.

    On a GPU, connections of the circuit are drawn all or none. ``drawer`` draws many on a device.
    """
    out: dict[tuple[int, str], DrawnBySource] = {}
    for number, access in sorted(spread):
        drawn, others = reaching(circuit, slots, number, access, threads)
        if drawn:
            there, why = None, ""
            if drawer is not None:
                there, why = _there(circuit, number, drawn, dt, drawer)
            made = there or DrawnBySource(circuit, number, drawn, dt, threads, others)
            made.note = f"drawn on the host: {why}" if why else made.note
            if made.edges:
                out[number, access] = made
    return out


def _there(
    circuit: Circuit, number: int, drawn: list[Drawn], dt: float, drawer: Drawer
) -> tuple[DrawnThere | None, str]:
    """Return connections that a device draws; or None, and why it does not."""
    if sum((links.mean_degree or 0.0) * len(links.ends.target) for links in drawn) < drawer.many:
        return None, "they are few"
    if not ascend(drawn):
        return None, "targets do not ascend from projection to projection"
    for links in drawn:
        if why := drawer.refuses(links):
            return None, f"{links.name}: {why}"
    made = DrawnThere(circuit, number, drawn, dt, drawer)
    return (made, "") if made.found else (None, "a source has too many connections")
