"""Where the cells of a population are: on axes, on part of their grid, or at any points."""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError, near, quoted
from .axis import Axis, AxisRun, axis_of
from .groups import column_bytes
from .members import Rows, rows_of
from .numbers import real

MOST = 2**31 - 1
"""Most cells of a population."""

UNNAMED = ("x", "y", "z")
"""Names of coordinates that are given without names."""


class Space(ABC):
    """Base of `AxisGrid` and `Points`.

    Attributes
    ----------
    names : tuple of str
        Names of the axes.
    count : int
        Number of cells.
    """

    names: tuple[str, ...]
    count: int

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of a value of each cell."""

    @property
    @abstractmethod
    def positions(self) -> NDArray[np.float64]:
        """Position of each cell along each axis, (count, axes); NaN where an axis has none."""

    @abstractmethod
    def numbers(self) -> NDArray[np.int64]:
        """Return the cells' numbers as an array that is indexed, -1 where there is no cell."""

    @abstractmethod
    def digest_input(self) -> Iterator[bytes]:
        """Yield what the digest of a circuit takes in."""

    @abstractmethod
    def taken(self, cells: NDArray[np.bool_]) -> Space:
        """Return where some of the cells are, (count,) booleans."""

    def column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values in the shape of the cells as one column, all others as they are."""
        return values.reshape(-1) if values.shape == self.shape and values.ndim else values

    def rows(self, index: Any, name: str) -> tuple[Rows, tuple[int, ...]]:
        """Return the cells that an index means, and the shape of what it takes out."""
        numbers = self.numbers()
        if numbers.ndim == 1:
            rows = rows_of(index, self.count, name)
            return rows, rows.shape
        return taken(numbers, index, self.names, name)


@dataclass(frozen=True, eq=False)
class _MaskPoints:
    """Numbers of the cells and points of a mask.

    Attributes
    ----------
    of_cell : (count,) int32
    cell : (points,) int32
        -1 where there is none.
    """

    of_cell: NDArray[np.int32]
    cell: NDArray[np.int32]


_KNOWN: WeakValueDictionary[bytes, _MaskPoints] = WeakValueDictionary()
"""Those in use, by what the mask holds: many populations have equal masks."""


def _points_of(mask: NDArray[np.bool_]) -> _MaskPoints:
    key = sha256(np.packbits(mask).tobytes() + str(mask.size).encode()).digest()
    found = _KNOWN.get(key)
    if found is None:
        flat = mask.reshape(-1)
        cell = np.where(flat, np.cumsum(flat) - 1, -1).astype(np.int32)
        found = _KNOWN[key] = _MaskPoints(np.flatnonzero(flat).astype(np.int32), cell)
    return found


class AxisGrid(Space):
    """Cells at the points of named axes, the last of them fastest; with a mask at some points.

    Attributes
    ----------
    mask : array of bool or None
        Where there are cells, in the shape of the axes.
    """

    def __init__(self, axes: Mapping[str, Axis], mask: NDArray[np.bool_] | None = None) -> None:
        self.axes = dict(axes)
        self.names = tuple(axes)
        self.mask = mask
        size = int(np.prod([axis.count for axis in axes.values()], dtype=object))
        self.count = size if mask is None else int(mask.sum())

    @property
    def extent(self) -> tuple[int, ...]:
        """Number of points along each axis."""
        return tuple(axis.count for axis in self.axes.values())

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extent if self.mask is None else (self.count,)

    @cached_property
    def _points(self) -> _MaskPoints | None:
        return None if self.mask is None else _points_of(self.mask)

    @property
    def point_of_cell(self) -> NDArray[np.int32] | None:
        """Number of each cell's point, (count,); None without a mask, where they are equal."""
        return None if self._points is None else self._points.of_cell

    @property
    def cell_of_point(self) -> NDArray[np.int32] | None:
        """Cell at each point or -1, (points,); None without a mask, where they are equal."""
        return None if self._points is None else self._points.cell

    @cached_property
    def indices(self) -> NDArray[np.int64]:
        """Index of each cell along each axis, (count, axes)."""
        points = np.arange(self.count) if self.mask is None else np.flatnonzero(self.mask)
        return np.stack(np.unravel_index(points, self.extent), axis=1)

    def column(self, values: NDArray[Any]) -> NDArray[Any]:
        if self.mask is not None and values.shape == self.extent != self.shape:
            return values[self.mask]
        return super().column(values)

    @property
    def positions(self) -> NDArray[np.float64]:
        out = np.full((self.count, len(self.names)), np.nan)
        for d, axis in enumerate(self.axes.values()):
            if axis.positions is not None:
                out[:, d] = axis.positions[self.indices[:, d]]
        return out

    def numbers(self) -> NDArray[np.int64]:
        if self.mask is None:
            return np.arange(self.count).reshape(self.extent)
        return np.where(self.mask, np.cumsum(self.mask).reshape(self.extent) - 1, -1)

    def taken(self, cells: NDArray[np.bool_]) -> AxisGrid:
        numbers = self.numbers()
        return AxisGrid(self.axes, (numbers >= 0) & cells[numbers])

    def digest_input(self) -> Iterator[bytes]:
        for name, axis in self.axes.items():
            yield f"axis {name}:{axis.count}:{axis.step!r}:{axis.period!r};".encode()
            if axis.positions is not None:
                yield column_bytes(name, axis.positions)
        if self.mask is not None:
            yield column_bytes("mask", self.mask)


class Points(Space):
    """Cells at any points.

    Attributes
    ----------
    period : tuple of float or None
        For each coordinate, the length after which a closed space begins again.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        positions: NDArray[np.float64],
        period: tuple[float | None, ...],
    ) -> None:
        self.names = names
        self.period = period
        self._positions = positions
        self.count = len(positions)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count,)

    @property
    def positions(self) -> NDArray[np.float64]:
        return self._positions

    def numbers(self) -> NDArray[np.int64]:
        return np.arange(self.count)

    def taken(self, cells: NDArray[np.bool_]) -> Points:
        return Points(self.names, self._positions[cells], self.period)

    def digest_input(self) -> Iterator[bytes]:
        yield f"points {self.names!r}:{self.period!r};".encode()
        yield column_bytes("positions", self._positions)


def sizes_of(spaces: Mapping[str, Space]) -> dict[str, dict[str, int]]:
    """Return the number of cells along each axis of populations that have cells at all points."""
    grids = {n: s for n, s in spaces.items() if isinstance(s, AxisGrid) and s.mask is None}
    return {n: dict(zip(s.names, s.extent, strict=True)) for n, s in grids.items()}


def grid_of(
    axes: object, mask: ArrayLike | None, declared: tuple[str, ...], where: str
) -> AxisGrid:
    """Return the grid of axes that a user gave; raise CircuitError where they do not fit.

    ``declared`` are the axes of the model, () where it declares none.
    """
    if not isinstance(axes, Mapping) or not axes:
        want = "axes must be a mapping of names to axes, at least one"
        raise CircuitError(f"{where}: {want} (got {axes!r:.60})")
    for name in axes:
        _check_name(name, where)
    made = {name: axis_of(axis, f"{where}, axis {quoted(name)}") for name, axis in axes.items()}
    if declared and tuple(made) != declared:
        got, want = ", ".join(made), ", ".join(declared)
        raise CircuitError(f"{where}: the axes are {got}, but the model has {want}, in this order")
    extent = tuple(axis.count for axis in made.values())
    size = int(np.prod(extent, dtype=object))
    if size > MOST:
        raise CircuitError(f"{where}: {size:,} cells are more than 2^31 - 1; take fewer")
    if mask is None:
        return AxisGrid(made)
    cells = np.asarray(mask)
    if cells.dtype.kind != "b" or cells.shape != extent:
        want = f"the mask must be booleans of shape {extent}, as the axes {', '.join(made)} are"
        raise CircuitError(f"{where}: {want} (got {cells.dtype} of shape {cells.shape})")
    if not cells.any():
        raise CircuitError(f"{where}: the mask has no cell; one at least is needed")
    cells = cells.copy()
    cells.flags.writeable = False
    return AxisGrid(made, cells)


def points_of(positions: object, period: object, declared: tuple[str, ...], where: str) -> Points:
    """Return the points that a user gave; raise CircuitError where they are none."""
    names: tuple[str, ...] = declared
    given = positions
    if isinstance(positions, Mapping):
        names, given = tuple(positions), [*positions.values()]
        for name in names:
            _check_name(name, where)
    try:
        places = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        places = np.empty(0)
    if isinstance(positions, Mapping):
        places = np.ascontiguousarray(places.T)
    if places.ndim != 2 or not places.size:
        want = "positions must be numbers, (cells, coordinates), or a mapping of names to columns"
        raise CircuitError(f"{where}: {want} (got shape {places.shape})")
    wide = places.shape[1]
    names = names or (UNNAMED[:wide] if wide <= len(UNNAMED) else ())
    if len(names) != wide or (declared and names != declared):
        want = f"of the model's axes {', '.join(declared)}" if declared else "with names"
        got = f"{wide} coordinates" if not isinstance(positions, Mapping) else ", ".join(names)
        raise CircuitError(f"{where}: positions must be a mapping {want} to columns (got {got})")
    bad = np.argwhere(~np.isfinite(places))
    if len(bad):
        cell, d = bad[0].tolist()
        got = f"{names[d]} of cell {cell} is {places[cell, d]}"
        raise CircuitError(f"{where}: positions must be finite numbers ({got})")
    places.flags.writeable = False
    return Points(names, places, _periods(period, names, places, where))


def _periods(
    period: Any, names: tuple[str, ...], places: NDArray[np.float64], where: str
) -> tuple[float | None, ...]:
    given = period if isinstance(period, Mapping) else dict.fromkeys(names, period)
    for name in given:
        if name not in names:
            among = ", ".join(names)
            say = f"no coordinate {quoted(name)}{near(str(name), names)}; there are {among}"
            raise CircuitError(f"{where}: period: {say}")
    out: list[float | None] = []
    for d, name in enumerate(names):
        value = given.get(name)
        low, high = int(places[:, d].argmin()), int(places[:, d].argmax())
        spanned = places[high, d] - places[low, d]
        if value is not None and not spanned < real(value) < np.inf:
            ends = f"cell {low} is at {places[low, d]}, cell {high} at {places[high, d]}"
            want = f"positions along {name} must span less than the period {value!r:.40}"
            raise CircuitError(f"{where}: {want} ({ends}); take a longer period")
        out.append(None if value is None else float(value))
    return tuple(out)


def taken(
    numbers: NDArray[np.int64], index: Any, names: tuple[str, ...], name: str
) -> tuple[Rows, tuple[int, ...]]:
    """Return the numbers that an index takes from an array of them, and the shape of the result.

    -1 stands for no cell. A number that is taken twice is refused.
    """
    try:
        found = np.asarray(numbers[index])
    except (IndexError, TypeError, ValueError) as error:
        sizes = ", ".join(f"{n} ({size})" for n, size in zip(names, numbers.shape, strict=False))
        raise CircuitError(f"{name}: an index must fit the axes {sizes}: {error}") from None
    there = found[found >= 0]
    shape = found.shape if there.size == found.size and found.ndim else (there.size,)
    values, times = np.unique(there, return_counts=True)
    if len(values) < there.size:
        again = values[times > 1][0]
        raise CircuitError(f"{name}: the index names cell {again} twice; name it once")
    return there.ravel().astype(np.int64), shape


def runs_at(axes: Mapping[str, Axis], place: object, where: str) -> dict[str, Axis]:
    """Return the axes along which a place is given; raise CircuitError for an unknown one."""
    if not isinstance(place, Mapping):
        want = "a place must be a mapping of axes to positions"
        raise CircuitError(f"{where}: {want} (got {place!r:.60})")
    for name in place:
        if name not in axes:
            among = ", ".join(axes) or "none"
            say = f"no axis {quoted(name)}{near(str(name), axes)}; there are {among}"
            raise CircuitError(f"{where}: {say}")
    return {name: axes[name] for name in place}


def runs_near(
    axes: Mapping[str, Axis], place: Mapping[str, float], n: int, where: str
) -> dict[str, AxisRun]:
    """Return the ``n`` nearest cells along each axis of a place."""
    return {a: axis.near(place[a], n) for a, axis in runs_at(axes, place, where).items()}


def runs_within(
    axes: Mapping[str, Axis], place: Mapping[str, float], r: float, where: str
) -> dict[str, AxisRun]:
    """Return the cells at most ``r`` away along each axis of a place."""
    return {a: axis.within(place[a], r) for a, axis in runs_at(axes, place, where).items()}


def _check_name(name: object, where: str) -> None:
    fits = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
    if not fits:
        want = "the name of an axis must be an identifier, such as 'theta'"
        raise CircuitError(f"{where}: {want} (got {name!r:.60})")
