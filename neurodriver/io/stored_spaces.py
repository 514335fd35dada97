"""Where the cells of populations are <-> groups of an HDF5 file.

Each of ``spaces/<i>`` has ``population``. Cells on axes have ``axes/<name>`` in the order of the
axes, each with the attribute ``count``. An axis with positions has ``positions`` (count,), the
attribute ``step`` and, if it is closed, ``period``. ``mask`` says at which points cells are. Other
cells have ``names``, ``positions`` (cells, coordinates) and ``period``, NaN for an open coordinate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..circuit.axis import Axis
from ..circuit.circuit import Circuit
from ..circuit.space import AxisGrid, Points, Space, grid_of, points_of
from .columns import ColumnReader, put

if TYPE_CHECKING:
    from collections.abc import Iterable


def put_spaces(circuit: Circuit, file: Any, compress: bool) -> None:
    """Write the spaces of a circuit, if it has any."""
    if not circuit.spaces:
        return
    every = file.create_group("spaces")
    for number, (name, space) in enumerate(circuit.spaces.items()):
        at = every.create_group(str(number))
        put(at, "population", np.array(name))
        if isinstance(space, AxisGrid):
            _put_grid(at, space, compress)
        else:
            assert isinstance(space, Points)
            period = [np.nan if one is None else one for one in space.period]
            put(at, "names", np.array(space.names))
            put(at, "positions", space.positions, compress)
            put(at, "period", np.array(period, dtype=np.float64))


def _put_grid(at: Any, space: AxisGrid, compress: bool) -> None:
    axes = at.create_group("axes", track_order=True)
    for name, axis in space.axes.items():
        one = axes.create_group(name)
        one.attrs["count"] = axis.count
        if axis.positions is not None:
            one.attrs["step"] = axis.step
            if axis.period is not None:
                one.attrs["period"] = axis.period
            put(one, "positions", axis.positions, compress)
    if space.mask is not None:
        put(at, "mask", space.mask, compress)


def take_spaces(reader: ColumnReader, groups: Iterable[Any]) -> dict[str, Space]:
    """Return the spaces by population; what is wrong goes to the faults of the reader."""
    out: dict[str, Space] = {}
    for at in groups:
        name = reader.values(at.get("population"), f"{at.name}/population", "U", ())
        axes = "axes" in at

        def made(at: Any = at, axes: bool = axes) -> Space:
            return _grid(at) if axes else _points(at)

        space = reader.attempt(at.name, made, "not the place of cells")
        if name is not None and space is not None:
            out[str(name)] = space
    return out


def _grid(at: Any) -> Space:
    axes: dict[str, Axis] = {}
    for name, one in at["axes"].items():
        if "positions" in one:
            period = one.attrs.get("period")
            given = one["positions"][()], float(one.attrs["step"])
            axes[name] = Axis.stored(*given, None if period is None else float(period))
        else:
            axes[name] = Axis(int(one.attrs["count"]))
    mask = at["mask"][()] if "mask" in at else None
    return grid_of(axes, mask, (), at.name)


def _points(at: Any) -> Space:
    names = tuple(one.decode() for one in at["names"][()].tolist())
    columns = dict(zip(names, at["positions"][()].T, strict=True))
    given = dict(zip(names, at["period"][()].tolist(), strict=True))
    period = {name: value for name, value in given.items() if value == value}
    return points_of(columns, period, (), at.name)
