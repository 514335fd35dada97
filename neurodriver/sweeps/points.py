"""Axes, or a list of points -> the points of a sweep, checked against what ``build`` takes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError, near, shown

Scalar = bool | int | float | str
Axes = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]

POINT = "point"
"""The dimension of listed points, and the coordinate that numbers the points of a product."""


@dataclass(frozen=True)
class SweepPoints:
    """The points of a sweep, numbered from 0.

    Attributes
    ----------
    axes : dict of str to tuple
        Values of each argument: those of an axis, or one for each listed point.
    listed : bool
        Whether points were listed one by one; otherwise they are the product of the axes, of which
        the last one changes fastest.
    """

    axes: dict[str, tuple[Scalar, ...]]
    listed: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""
        lengths = [len(values) for values in self.axes.values()]
        return tuple(lengths[:1] if self.listed else lengths)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions."""
        return (POINT,) if self.listed else tuple(self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, number: int) -> dict[str, Scalar]:
        if self.listed:
            return {name: values[number] for name, values in self.axes.items()}
        at = np.unravel_index(number, self.shape)
        return {name: values[i] for (name, values), i in zip(self.axes.items(), at, strict=True)}

    def label(self, number: int) -> str:
        """Return a point as messages name it."""
        return ", ".join(f"{name}={value!r}" for name, value in self[number].items())

    def coordinates(self) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
        """Return the coordinates as xarray takes them: name -> (dimensions, values)."""
        number = np.arange(len(self)).reshape(self.shape)
        out = {POINT: (self.dimensions, number)}
        for name, values in self.axes.items():
            out[name] = ((POINT,) if self.listed else (name,)), np.array(values)
        return out


def points_of(axes: Axes) -> SweepPoints:
    """Return the points that a user names: the product of axes, or listed ones.

    Raises
    ------
    NeurodriverError
        All faults at once.
    """
    faults: list[str] = []
    listed = not isinstance(axes, Mapping)
    given = _columns(axes, faults) if not isinstance(axes, Mapping) else dict(axes)
    if not given and not faults:
        faults.append("no axis is given, such as {'seed': range(10)}")
    made = {}
    for name, values in given.items():
        if not isinstance(name, str) or not name.isidentifier() or name == POINT:
            faults.append(f"{shown(name)} cannot be the name of an axis")
        made[name] = tuple(_scalars(name, values, faults))
        if not listed and len(set(made[name])) < len(made[name]):
            twice = next(v for v in made[name] if made[name].count(v) > 1)
            faults.append(f"axis '{name}': {twice!r} is listed twice")
    out = SweepPoints(made, listed)
    if listed and not faults:
        first: dict[tuple[Scalar, ...], int] = {}
        for number in range(len(out)):
            if first.setdefault(tuple(out[number].values()), number) != number:
                faults.append(f"point {number} is listed twice: {out.label(number)}")
                break
    if faults:
        raise NeurodriverError("\n".join(f"sweep: {text}" for text in faults))
    return out


def _columns(points: Iterable[Mapping[str, Any]], faults: list[str]) -> dict[str, list[Any]]:
    """Return listed points by their arguments."""
    want = "axes are a mapping of names to values, or a list of points, each a mapping"
    try:
        rows = list(points)
    except TypeError:
        rows = []
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        wrong = next((row for row in rows if not isinstance(row, Mapping)), points)
        faults.append(f"{want} (got {shown(wrong)})")
        return {}
    for number, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            names = [", ".join(map(str, one)) for one in (row, rows[0])]
            faults.append(f"point {number} has {names[0] or 'nothing'}, point 0 has {names[1]}")
            return {}
    return {name: [row[name] for row in rows] for name in rows[0]}


def _scalars(name: str, values: Any, faults: list[str]) -> Iterator[Scalar]:
    """Yield the values of an axis as Python's own numbers or texts; note what is none."""
    where = f"axis '{name}'"
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        faults.append(f"{where}: a sequence of values is needed (got {shown(values)})")
        return
    every = [v.item() if isinstance(v, np.generic) else v for v in values]
    if not every:
        faults.append(f"{where} is empty")
    for value in every:
        if not isinstance(value, bool | int | float | str) or value != value:
            advice = "name it by a text, and look it up in build"
            faults.append(f"{where}: values are numbers or texts (got {shown(value)}); {advice}")
            return
    kinds = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in every}
    if len(kinds) > 1 or np.array(every).dtype == object:
        faults.append(f"{where}: values of several types (got {shown(every)})")
        return
    yield from every


def check_arguments(build: Callable[..., Any], points: SweepPoints) -> None:
    """Raise NeurodriverError where ``build`` does not take the arguments of the points."""
    if not callable(build):
        raise NeurodriverError(f"sweep: build must be a function (got {shown(build)})")
    try:
        signature = inspect.signature(build)
    except (TypeError, ValueError):  # some functions in C do not tell
        return
    taken = signature.parameters
    faults = []
    if all(p.kind is not p.VAR_KEYWORD for p in taken.values()):
        for name in points.axes:
            if name not in taken:
                among = f"it takes: {', '.join(taken) or 'nothing'}"
                faults.append(f"build takes no argument '{name}'{near(name, taken)}; {among}")
    for name, one in taken.items():
        needed = one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        if needed and name not in points.axes:
            faults.append(f"build needs '{name}', which is no axis")
        elif one.kind is one.POSITIONAL_ONLY and name in points.axes:
            faults.append(f"build takes '{name}' by position alone; remove the '/'")
    if faults:
        raise NeurodriverError("\n".join(f"sweep: {text}" for text in faults))
