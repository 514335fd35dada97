"""Rules that say which source of a projection is connected with which target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..quantities import is_quantity
from .numbers import real, whole

MOST = 1 << 40
"""Connections of one projection are fewer."""


@dataclass(frozen=True)
class Ends:
    """The component numbers that a rule connects."""

    source: range
    target: range

    @property
    def shared(self) -> int:
        """Number of components that are a source and a target."""
        both = min(self.source.stop, self.target.stop) - max(self.source.start, self.target.start)
        return max(both, 0)


class Rule(ABC):
    """Base of the rules below."""

    @property
    @abstractmethod
    def fields(self) -> dict[str, float]:
        """Numbers that compiled code has to know."""

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Arrays that the rule consists of."""
        return {}

    @property
    def text(self) -> str:
        """What the digest of a circuit takes in beside numbers and arrays."""
        return ""

    def edges(self, ends: Ends) -> int | None:
        """Return the number of connections, None where it has to be drawn or looked up."""
        return None

    def faults(self, ends: Ends) -> Iterator[str]:
        """Yield what keeps the rule from connecting these ends."""
        yield from ()


@dataclass(frozen=True)
class AllToAll(Rule):
    """Every source with every target.

    Parameters
    ----------
    autapses : bool
        Whether a component that is source and target is connected with itself.
    """

    autapses: bool = True

    @property
    def fields(self) -> dict[str, float]:
        return {"kind": 0, "autapses": self.autapses, "multapses": 0}

    def edges(self, ends: Ends) -> int:
        return len(ends.source) * len(ends.target) - (0 if self.autapses else ends.shared)


@dataclass(frozen=True)
class FixedProbability(Rule):
    """Each pair with the same probability, independent of all others.

    Parameters
    ----------
    p : float
    autapses : bool
        Whether a component may be connected with itself.
    """

    p: float
    autapses: bool = True

    @property
    def fields(self) -> dict[str, float]:
        log = np.log1p(-np.float64(self.p)) if self.p < 1 else -np.inf
        per_log = -np.inf if log == 0 else 1 / log
        return {"kind": 1, "autapses": self.autapses, "chance": self.p, "per_log": float(per_log)}

    def faults(self, ends: Ends) -> Iterator[str]:
        if not 0 <= real(self.p) <= 1:
            yield f"p must be a probability, 0 to 1 (got {self.p!r:.40})"


@dataclass(frozen=True)
class _FixedDegree(Rule):
    """Each component at one end with ``k`` of those at the other."""

    kind: ClassVar[int]
    each: ClassVar[str]
    among: ClassVar[str]
    k: int
    multapses: bool = True
    autapses: bool = True

    @property
    def fields(self) -> dict[str, float]:
        both = {"autapses": self.autapses, "multapses": self.multapses}
        return {"kind": self.kind, "number": self.k, **both}

    def edges(self, ends: Ends) -> int:
        return int(self.k) * len(getattr(ends, self.each))

    def faults(self, ends: Ends) -> Iterator[str]:
        if not whole(self.k) or not 0 <= self.k < MOST:
            yield f"k must be a whole number, at least 0 (got {self.k!r:.40})"
            return
        there = len(getattr(ends, self.among))
        free = there - (1 if ends.shared and not self.autapses else 0)
        if self.k > (MOST if self.multapses and free else free):
            less = " other than itself" if free < there else ""
            hint = "" if self.multapses else ", or allow multapses"
            yield (
                f"k = {self.k} is more than the {free} {self.among}s{less} that a {self.each} "
                f"can have{hint}; take a smaller k"
            )


class FixedInDegree(_FixedDegree):
    """Each target with ``k`` sources, all equally likely.

    Parameters
    ----------
    k : int
    multapses : bool
        Whether a source may be drawn more than once for a target.
    autapses : bool
        Whether a component may be connected with itself.
    """

    kind, each, among = 2, "target", "source"


class FixedOutDegree(_FixedDegree):
    """Each source with ``k`` targets, all equally likely.

    Parameters
    ----------
    k : int
    multapses : bool
        Whether a target may be drawn more than once for a source.
    autapses : bool
        Whether a component may be connected with itself.
    """

    kind, each, among = 3, "source", "target"


@dataclass(frozen=True)
class FixedTotal(Rule):
    """``n`` connections, both ends of each drawn from all: multapses and autapses occur.

    Parameters
    ----------
    n : int
    """

    n: int

    @property
    def fields(self) -> dict[str, float]:
        return {"kind": 4, "number": self.n, "autapses": 1, "multapses": 1}

    def edges(self, ends: Ends) -> int:
        return int(self.n)

    def faults(self, ends: Ends) -> Iterator[str]:
        if not whole(self.n) or not 0 <= self.n < MOST:
            yield f"n must be a whole number, 0 to 2^40 - 1 (got {self.n!r:.40})"


@dataclass(frozen=True)
class OneToOne(Rule):
    """Each source with the target of the same place."""

    @property
    def fields(self) -> dict[str, float]:
        return {"kind": 5, "autapses": 1}

    def edges(self, ends: Ends) -> int:
        return len(ends.source)

    def faults(self, ends: Ends) -> Iterator[str]:
        if len(ends.source) != len(ends.target):
            got = f"{len(ends.source)} sources and {len(ends.target)} targets"
            yield f"as many targets as sources are needed (got {got})"


@dataclass(frozen=True, eq=False)
class Lattice(Rule):
    """A filter: the source cell at x with the target cells at x + offset, where there are any.

    Parameters
    ----------
    offsets : (k, d) int
    weights : (k,) float or float
        Of each offset; multiplied by the weight of the projection.
    source, target : (cells, d) int
        Coordinates of the cells of the two ranges, in their order.
    """

    offsets: ArrayLike
    weights: ArrayLike
    source: ArrayLike = field(repr=False)
    target: ArrayLike = field(repr=False)

    @property
    def fields(self) -> dict[str, float]:
        return {"kind": 6, "autapses": 1}

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        offsets = np.ascontiguousarray(self.offsets, dtype=np.int64)
        weights = np.asarray(self.weights, dtype=np.float64)
        return {
            "offsets": offsets,
            "weights": np.ascontiguousarray(np.broadcast_to(weights, (len(offsets),))),
            "source": np.ascontiguousarray(self.source, dtype=np.int64),
            "target": np.ascontiguousarray(self.target, dtype=np.int64),
        }

    def faults(self, ends: Ends) -> Iterator[str]:
        tables: dict[str, NDArray[Any]] = {}
        for name in ("offsets", "source", "target"):
            table = _array(getattr(self, name))
            if table.ndim != 2 or table.dtype.kind not in "iu" or not table.shape[1]:
                got = f"{table.dtype} of shape {table.shape}"
                yield f"'{name}' must be a table of whole numbers, a row each (got {got})"
            elif np.abs(table).max(initial=0) >= 1 << 20:
                yield f"'{name}': coordinates must be less than 2^20 in size"
            else:
                tables[name] = table
        if len({table.shape[1] for table in tables.values()}) > 1:
            got = ", ".join(f"{t.shape[1]} in '{n}'" for n, t in tables.items())
            yield f"all coordinates must have as many dimensions (got {got})"
        for name, cells in (("source", ends.source), ("target", ends.target)):
            if name in tables and len(tables[name]) != len(cells):
                yield f"'{name}' has {len(tables[name])} cells for {len(cells)} components"
        weights = _array(self.weights)
        shape = (len(tables["offsets"]),) if "offsets" in tables else ()
        if weights.dtype.kind not in "fiu" or not np.isfinite(weights).all():
            yield f"'weights' must be finite numbers (got {self.weights!r:.60})"
        elif shape and weights.shape not in ((), shape):
            yield f"'weights': expected a number or {shape[0]} of them, got shape {weights.shape}"
        if len(target := tables.get("target", ())):
            if np.prod(np.ptp(target, axis=0) + 1.0) >= 2.0**62:
                yield "'target': the box of all cells is too large"


RULES = {
    one.__name__: one
    for one in (
        AllToAll,
        FixedProbability,
        FixedInDegree,
        FixedOutDegree,
        FixedTotal,
        OneToOne,
        Lattice,
    )
}


def _array(value: ArrayLike) -> NDArray[Any]:
    if is_quantity(value):  # NumPy would drop its unit
        return np.empty(0, dtype=object)
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        return np.empty(0, dtype=object)
