"""Rules of place: which source is connected with which target follows from where they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import checked_arguments, mapping, optional, truth
from ..errors import near, quoted
from .numbers import real, whole
from .rules import Rule
from .space import AxisGrid, Space

SAME = "same"
"""Says that an axis is joined by index."""


class PlaceRule(Rule):
    """Base of the rules below; the ends are populations on axes, or with positions."""

    autapses: bool

    @property
    def fields(self) -> dict[str, float]:
        return {"autapses": 1}  # own components are left out where the rule is evaluated

    @property
    @abstractmethod
    def text(self) -> str:
        """What the digest of a circuit takes in."""

    @abstractmethod
    def misfits(self, source: Space, target: Space) -> Iterator[str]:
        """Yield what keeps the rule from connecting cells of two spaces."""


def _missing(names: Iterable[str], source: Space, target: Space) -> Iterator[str]:
    """Yield which axes the spaces do not have."""
    for name in names:
        for end, space in (("source", source), ("target", target)):
            if name not in space.names:
                among, hint = ", ".join(space.names), near(str(name), space.names)
                yield f"the {end} has no axis {quoted(name)}{hint}; it has {among}"


class _Reach(PlaceRule):
    """Base of `Near` and `Within`: cells along axes, or by distance."""

    what: ClassVar[str]
    autapses: bool
    axes: Mapping[str, Any]

    @abstractmethod
    def _check(self, value: object) -> str:
        """Return what is wrong with a reach."""

    @property
    @abstractmethod
    def by_distance(self) -> Any:
        """The reach by distance, None where there is none."""

    @property
    def text(self) -> str:
        reach = self.by_distance if self.by_distance is None else float(self.by_distance)
        axes = {name: v if v == SAME else float(v) for name, v in self.axes.items()}
        return f"{type(self).__name__}:{reach!r}:{bool(self.autapses)}:{sorted(axes.items())}"

    def misfits(self, source: Space, target: Space) -> Iterator[str]:
        yield from _missing(self.axes, source, target)
        for name, value in self.axes.items():
            if value != SAME and (wrong := self._check(value)):
                yield f"axis {quoted(name)}: {wrong}"
        if self.by_distance is not None and (wrong := self._check(self.by_distance)):
            yield wrong
        if self.by_distance is None and not self.axes:
            yield f"say how far it reaches, such as {type(self).__name__}(y=3, x=3)"
        if self.axes and not (isinstance(source, AxisGrid) and isinstance(target, AxisGrid)):
            counted = isinstance(self, Near) and not isinstance(source, AxisGrid)
            write = "Near(n) or Within(r)" if counted else "Within(r)"
            yield f"cells at positions= are found by distance; write {write}"


@dataclass(frozen=True, init=False)
class Near(_Reach):
    """Each target with the sources nearest to it.

    Parameters
    ----------
    n : int, optional
        Number of sources, by distance, for populations with ``positions=``. Of equally distant
        ones those with lower numbers are taken.
    autapses : bool
        Whether a component that is source and target is connected with itself.
    axes : mapping of str to int or "same", optional
        For populations on axes: number of sources along each axis, as `Axis.near` finds them.
        ``"same"`` joins an axis by index. An axis that is not named is taken whole. They are given
        as keywords, too.

    Examples
    --------
    >>> Near(theta="same", y=10, x=10).axes["y"]
    10
    """

    n: int | None = None
    autapses: bool = True
    axes: Mapping[str, Any] = field(default_factory=dict)

    @checked_arguments(autapses=truth, axes=optional(mapping))
    def __init__(
        self,
        n: int | None = None,
        *,
        autapses: bool = True,
        axes: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> None:
        vars(self).update(n=n, autapses=autapses, axes={**(axes or {}), **named})

    @property
    def by_distance(self) -> int | None:
        return self.n

    def _check(self, value: object) -> str:
        if whole(value) and value >= 1:
            return ""
        return f"a number of cells must be whole, at least 1, or 'same' (got {value!r:.40})"

    def misfits(self, source: Space, target: Space) -> Iterator[str]:
        yield from super().misfits(source, target)
        if self.n is not None:
            if self.axes:
                yield "give a number of cells, or numbers along axes, and not both"
            elif isinstance(source, AxisGrid):
                write = "Near(y=3, x=3)" if isinstance(target, AxisGrid) else "Within(r)"
                yield f"Near(n) finds cells by distance at positions=; for axes write {write}"
            elif whole(self.n) and self.n > source.count:
                yield f"n = {self.n} is more than the {source.count} sources"


@dataclass(frozen=True, init=False)
class Within(_Reach):
    """Each target with all sources at most so far away.

    Parameters
    ----------
    r : float, optional
        Euclidean distance along all axes with positions that both ends have and that are not named
        otherwise.
    autapses : bool
        Whether a component that is source and target is connected with itself.
    axes : mapping of str to float or "same", optional
        Distance along each axis, as `Axis.within` finds cells. ``"same"`` joins an axis by index.
        An axis that is not named is taken whole. They are given as keywords, too.
    """

    r: float | None = None
    autapses: bool = True
    axes: Mapping[str, Any] = field(default_factory=dict)

    @checked_arguments(autapses=truth, axes=optional(mapping))
    def __init__(
        self,
        r: float | None = None,
        *,
        autapses: bool = True,
        axes: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> None:
        vars(self).update(r=r, autapses=autapses, axes={**(axes or {}), **named})

    @property
    def by_distance(self) -> float | None:
        return self.r

    def _check(self, value: object) -> str:
        if not isinstance(value, np.ndarray) and 0 <= real(value) < np.inf:
            return ""
        return f"a distance must be a number, at least 0 (got {value!r:.40})"


@dataclass(frozen=True, eq=False)
class Offsets(PlaceRule):
    """Each source at x with the target at x + offset, where there is one: a filter.

    Parameters
    ----------
    offsets : (k, d) array, or mapping of str to (k,) array
        Along the axes of both ends, in the units of their positions; of an axis without positions
        in indices. A mapping names the axes.
    weights : (k,) float or float
        Of each offset; multiplied by the weight of the projection.
    autapses : bool
        Whether a component that is source and target may be connected with itself.
    axes : sequence of str, optional
        Names of the columns of a table; default: the axes of the source.
    """

    offsets: ArrayLike | Mapping[str, ArrayLike]
    weights: ArrayLike = 1.0
    autapses: bool = True
    axes: Sequence[str] = ()

    def __post_init__(self) -> None:
        truth(self.autapses, "Offsets: autapses")
        if isinstance(self.offsets, Mapping):
            columns = [np.asarray(one) for one in self.offsets.values()]
            vars(self)["axes"] = tuple(self.offsets)
            vars(self)["offsets"] = np.stack(np.broadcast_arrays(*columns), axis=-1)

    @property
    def text(self) -> str:
        return f"Offsets:{tuple(self.axes)!r}:{bool(self.autapses)}"

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        table = self.table
        weights = np.asarray(self.weights, dtype=np.float64)
        return {
            "offsets": table,
            "weights": np.ascontiguousarray(np.broadcast_to(weights, (len(table),))),
        }

    @property
    def table(self) -> NDArray[np.float64]:
        """The offsets, (k, d) float64."""
        return np.ascontiguousarray(self.offsets, dtype=np.float64)

    def names(self, source: Space) -> tuple[str, ...]:
        """Return the axes of the offsets."""
        return tuple(self.axes) or source.names

    def misfits(self, source: Space, target: Space) -> Iterator[str]:
        try:
            table = self.table
        except (TypeError, ValueError):
            table = np.empty(0)
        names = self.names(source)
        if table.ndim != 2 or not np.isfinite(table).all() or table.shape[1] != len(names):
            along = ", ".join(map(str, names))
            want = f"a table of finite numbers with a column for each of the axes {along}"
            yield f"'offsets' must be {want} (got shape {table.shape})"
            return
        yield from _missing(names, source, target)
        if not (isinstance(source, AxisGrid) and isinstance(target, AxisGrid)):
            yield "offsets need populations on axes; give axes=, with a mask= where cells lack"
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.full(1, np.nan)
        if weights.shape not in ((), (len(table),)) or not np.isfinite(weights).all():
            want = f"a finite number or {len(table)} of them"
            yield f"'weights' must be {want} (got {self.weights!r:.60})"


PLACE_RULES = {one.__name__: one for one in (Near, Within, Offsets)}
