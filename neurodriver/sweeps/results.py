"""Results of points -> one Dataset of xarray."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError
from ..results.export import needed
from .points import POINT, SweepPoints
from .store import SweepFolder
from .values import PointResult

if TYPE_CHECKING:
    import xarray

ERROR = "error"
"""The variable with the errors of points that failed."""


def open_sweep(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Return the results that a sweep has stored, also while it goes on.

    Parameters
    ----------
    path : path
        The folder that `sweep` was given.

    Returns
    -------
    xarray.Dataset
        As `sweep` returns it. Points that are not finished have NaN, or an empty text.

    Raises
    ------
    NeurodriverError
        The folder holds no sweep.
    """
    folder = SweepFolder(path)
    return dataset_of(folder.points(), folder.results())


def dataset_of(
    points: SweepPoints, results: Mapping[int, PointResult], errors: Mapping[int, str] | None = None
) -> xarray.Dataset:
    """Return results by the number of their point as one Dataset; the axes are coordinates."""
    xr = needed("xarray")
    data: dict[str, Any] = {}
    coordinates: dict[str, Any] = dict(points.coordinates())
    done = sorted(results)
    first = results[done[0]] if done else PointResult()
    for name, value in first.coordinates.items():
        coordinates[name] = (name, value.data, value.attributes)
    for name, value in first.values.items():
        rows = np.stack([results[number].values[name].data for number in done])
        every = _in_place(rows, np.array(done), len(points))
        shape = (*points.shape, *value.data.shape)
        dimensions = (*points.dimensions, *value.dimensions)
        data[name] = (dimensions, every.reshape(shape), value.attributes)
    for name in first.events:
        data |= _events(name, {number: results[number].events[name] for number in done})
    if errors:
        texts = [errors.get(number, "") for number in range(len(points))]
        data[ERROR] = (points.dimensions, np.array(texts, dtype=np.str_).reshape(points.shape))
    return xr.Dataset(data, coordinates)


def _in_place(rows: NDArray[Any], numbers: NDArray[np.int64], count: int) -> NDArray[Any]:
    """Return the rows of all points: NaN, or an empty text, where there is none."""
    if len(numbers) == count:
        return rows
    dtype = np.result_type(rows.dtype, np.float64) if rows.dtype.kind in "biu" else rows.dtype
    out = np.full((count, *rows.shape[1:]), "" if dtype.kind == "U" else np.nan, dtype)
    out[numbers] = rows
    return out


def _events(name: str, parts: Mapping[int, Any]) -> dict[str, Any]:
    """Return the events of all points one after the other, with the point of each."""
    sizes = [len(time) for time, _ in parts.values()]
    at = f"{name}_event"
    time, index = (np.concatenate([part[i] for part in parts.values()]) for i in (0, 1))
    column = {"description": f"position in {name}_uid"}
    number = np.repeat(list(parts), sizes), {"description": "number of the point"}
    return {
        f"{name}_time": (at, time, {"units": "s"}),
        f"{name}_index": (at, index, column),
        f"{name}_{POINT}": (at, *number),
    }


def check_names(points: SweepPoints, result: PointResult) -> None:
    """Raise NeurodriverError where a result has the name of an axis, or of what a sweep adds."""
    own = {*points.axes, *points.dimensions, POINT, ERROR}
    own |= {f"{e}_{part}" for e in result.events for part in ("time", "index", POINT, "event")}
    if taken := sorted(own & result.names()):
        raise NeurodriverError(f"build returned '{taken[0]}', a name that the sweep needs itself")
