"""What ``build`` returns -> named values of one point, with dimensions and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError, RecordingError, shown
from ..recorders import MemoryRecorder
from ..results import Events, Recording
from ..run.lpu import LPU

Attributes = dict[str, str]
Times = tuple[NDArray[np.float64], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class PointValue:
    """An array with the names of its dimensions, and attributes such as ``units``."""

    dimensions: tuple[str, ...]
    data: NDArray[Any]
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PointResult:
    """What is kept of one point of a sweep.

    Attributes
    ----------
    values : dict of str to PointValue
        They have the same shapes at every point.
    coordinates : dict of str to PointValue
        Each has one dimension, of its own name; they are the same at every point.
    events : dict of str to (time, index)
        Times (m,) float64 s, and columns (m,) int32, of variables recorded as events.
    """

    values: dict[str, PointValue] = field(default_factory=dict)
    coordinates: dict[str, PointValue] = field(default_factory=dict)
    events: dict[str, Times] = field(default_factory=dict)

    def names(self) -> set[str]:
        """Return the names of all values, coordinates and dimensions."""
        dimensions = {d for value in self.values.values() for d in value.dimensions}
        return {*self.values, *self.coordinates, *dimensions}

    def misfit(self, other: PointResult) -> str:
        """Return how another point's result differs in names or shapes; empty if it does not."""
        for part in ("values", "events"):
            if getattr(self, part).keys() != getattr(other, part).keys():
                names = [", ".join(getattr(one, part)) or "nothing" for one in (other, self)]
                return f"{names[0]} instead of {names[1]}"
        for name, mine in self.values.items():
            own, its = ((v.dimensions, v.data.shape) for v in (mine, other.values[name]))
            if own != its:
                return f"'{name}' of shape {_shape(*its)} instead of {_shape(*own)}"
            texts = [v.data.dtype.kind == "U" for v in (mine, other.values[name])]
            if texts[0] != texts[1]:
                return (
                    f"'{name}' of type {other.values[name].data.dtype} instead of {mine.data.dtype}"
                )
        if self.coordinates.keys() != other.coordinates.keys():
            return f"coordinates {list(other.coordinates)} instead of {list(self.coordinates)}"
        for name, mine in self.coordinates.items():
            if not np.array_equal(mine.data, other.coordinates[name].data):
                return f"other values of the coordinate '{name}'"
        return ""


def _shape(dimensions: tuple[str, ...], shape: tuple[int, ...]) -> str:
    sizes = (f"{d}: {n}" for d, n in zip(dimensions, shape, strict=True))
    return f"({', '.join(sizes)})"


def result_of(made: Any, steps: int | None, duration: float | None) -> PointResult:
    """Return what is kept of what ``build`` returned; an LPU is run first.

    Raises
    ------
    NeurodriverError
        It is nothing that can be kept, or nothing was recorded.
    """
    out = PointResult()
    if isinstance(made, LPU | MemoryRecorder | Recording):
        _add(out, "", made, steps, duration)
    elif isinstance(made, Mapping):
        for name, value in made.items():
            if not isinstance(name, str):
                raise NeurodriverError(f"build: names of values are texts (got {shown(name)})")
            _add(out, name, value, steps, duration)
    else:
        want = "an LPU, a recording, or a mapping such as {'rate': 5.0}"
        raise NeurodriverError(f"build must return {want} (got {shown(made)})")
    if not out.values:
        raise NeurodriverError("build returned no value")
    _check_names(out)
    return out


def _check_names(result: PointResult) -> None:
    """Raise NeurodriverError for names and dimensions that cannot stand in one Dataset."""
    sizes = {name: len(one.data) for name, one in result.coordinates.items()}
    for name, value in result.values.items():
        for dimension, size in zip(value.dimensions, value.data.shape, strict=True):
            if sizes.setdefault(dimension, size) != size:
                said = f"'{dimension}' with {sizes[dimension]} and with {size} values"
                raise NeurodriverError(f"build returned the dimension {said} ('{name}')")
    if wrong := [name for name in result.names() if not name or "/" in name]:
        raise NeurodriverError(f"build returned the name {wrong[0]!r}: it is empty or holds a '/'")
    if both := sorted(result.values.keys() & sizes.keys()):
        raise NeurodriverError(f"build returned '{both[0]}' as a value and as a dimension")


def _add(
    out: PointResult, name: str, value: Any, steps: int | None, duration: float | None
) -> None:
    """Add what one name stands for; a recording's variables get the name as prefix."""
    if isinstance(value, LPU):
        for recorder in _ran(value, steps, duration):
            _add(out, name, recorder, None, None)
    elif isinstance(value, MemoryRecorder | Recording):
        for variable, part in _parts(value):
            _add_recorded(out, f"{name}_{variable}" if name else variable, part)
    else:
        for dimension, one in _coordinates(value):
            _put(out, dimension, one)
        out.values[name] = _plain(name, value)


def _ran(lpu: LPU, steps: int | None, duration: float | None) -> list[MemoryRecorder]:
    """Run an LPU, close it, and return its recorders in memory."""
    kept = [r for r in lpu.recorders if isinstance(r, MemoryRecorder)]
    with lpu:
        if not kept:
            raise NeurodriverError(
                "the LPU has no MemoryRecorder, so that nothing can be kept of it"
            )
        if steps is not None or duration is not None:
            lpu.run(steps, duration)
        elif not lpu.step:
            raise NeurodriverError("the LPU has not run; give the sweep steps= or duration=")
    return kept


@dataclass(frozen=True, eq=False)
class _Recorded:
    """A recorded variable: rows (rows, n), or times and columns of events."""

    uids: list[str]
    unit: str
    rows: NDArray[Any] | None
    time: NDArray[np.float64]
    index: NDArray[np.int32] | None = None


def _parts(source: MemoryRecorder | Recording) -> Iterator[tuple[str, _Recorded]]:
    """Yield the variables of a recording."""
    if isinstance(source, Recording):
        for name in source:
            part: Any = source[name]
            if isinstance(part, Events):
                time, index = part.read()
                yield name, _Recorded(part.uids, part.unit, None, time, index)
            else:
                yield name, _Recorded(part.uids, part.unit, part[:], part.time)
        return
    for name, entry in source.output.items():
        data, uids, unit = entry["data"], entry["uids"], source.unit(name)
        if isinstance(data, dict):
            yield name, _Recorded(uids, unit, None, data["time"], data["index"])
        else:
            yield name, _Recorded(uids, unit, data, source.time())


def _add_recorded(out: PointResult, name: str, part: _Recorded) -> None:
    """Add a recorded variable: rows as they are, events as counts and as times with columns."""
    uids = np.array(part.uids, dtype=np.str_)
    if part.rows is None:
        assert part.index is not None
        column = f"{name}_uid"
        _put(out, column, PointValue((column,), uids))
        count = np.bincount(part.index, minlength=len(uids))
        _unique(out, f"{name}_count")
        out.values[f"{name}_count"] = PointValue((column,), count)
        out.events[name] = part.time, part.index
        return
    time = PointValue((), part.time, {"units": "s"})
    dimensions = (
        _dimension(out, "time", name, time),
        _dimension(out, "uid", name, PointValue((), uids)),
    )
    _unique(out, name)
    units = {"units": part.unit} if part.unit else {}
    out.values[name] = PointValue(dimensions, np.asarray(part.rows), units)


def _unique(out: PointResult, name: str) -> None:
    if name in out.values:
        raise RecordingError(
            f"'{name}' was recorded twice; return a mapping that names each recorder"
        )


def _dimension(out: PointResult, kind: str, variable: str, values: PointValue) -> str:
    """Return the dimension with these coordinates, added where there is none."""
    own = f"{kind}_{variable}"
    for name in (kind, own):
        there = out.coordinates.get(name)
        if there is None:
            out.coordinates[name] = PointValue((name,), values.data, values.attributes)
            return name
        if np.array_equal(there.data, values.data):
            return name
    raise RecordingError(
        f"'{variable}' was recorded twice; return a mapping that names each recorder"
    )


def _put(out: PointResult, name: str, coordinate: PointValue) -> None:
    """Add a coordinate; several values may share it where it is the same."""
    there = out.coordinates.setdefault(name, coordinate)
    if not np.array_equal(there.data, coordinate.data):
        raise NeurodriverError(f"build returned two coordinates '{name}' that differ")


def _coordinates(value: Any) -> Iterator[tuple[str, PointValue]]:
    """Yield the coordinates of the dimensions of a labelled array, as xarray has them."""
    for name in getattr(value, "dims", ()):
        if name in value.coords:
            data = np.asarray(value.coords[name])
            yield (
                str(name),
                PointValue((str(name),), _kept(str(name), data), _units(value.coords[name])),
            )


def _plain(name: str, value: Any) -> PointValue:
    """Return a number, a text or an array with the names of its dimensions."""
    units = _units(value)
    if hasattr(value, "magnitude") and hasattr(value, "units"):  # a quantity of pint
        units, value = {"units": f"{value.units:~}"}, value.magnitude
    try:
        data = _kept(name, np.asarray(value))
    except ValueError as error:  # rows of different lengths
        raise NeurodriverError(f"build: '{name}' is no array ({error})") from None
    dimensions = tuple(map(str, getattr(value, "dims", ())))
    if not dimensions:
        dimensions = tuple(f"{name}_{axis}" for axis in range(data.ndim))
    return PointValue(dimensions, data, units)


def _units(value: Any) -> Attributes:
    attributes = getattr(value, "attrs", {})
    return {"units": str(attributes["units"])} if "units" in attributes else {}


def _kept(name: str, data: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numbers or texts; anything else is refused."""
    if data.dtype.kind in "OT" and data.size and all(isinstance(v, str) for v in data.flat):
        data = data.astype(np.str_)
    if data.dtype.kind not in "biufcU":
        want = "a number, a text, an array, an LPU or a recording"
        raise NeurodriverError(f"build: '{name}' must be {want} (got {shown(data.tolist())})")
    return data
