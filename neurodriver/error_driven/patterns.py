"""Which units of two layers a path connects: by place, by sub-pool, or at random.

The patterns are those of emer/emergent, which Axon uses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurodriver.arguments import whole_number
from neurodriver.circuit import AllToAll, OneToOne
from neurodriver.errors import CircuitError

from .scaling import rounded

Shape = tuple[int, ...]
Pair = tuple[int, int]
Reals = tuple[float, float]
Bools = NDArray[np.bool_]


class PathPattern(ABC):
    """Says which units of two layers a path connects.

    Attributes
    ----------
    autapses : bool
        Whether in a path within a layer a unit may be connected with itself.
    """

    autapses: bool = True

    def of_path(self, seed: int, name: str, within: bool) -> PathPattern:
        """Return the pattern of one path, for patterns that draw at random.

        Parameters
        ----------
        seed : int
            Seed of the network.
        name : str
            Name of the path.
        within : bool
            Whether the path connects a layer with itself.
        """
        return self

    @abstractmethod
    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return an array of bool (senders, receivers) that is true where units are connected.

        Parameters
        ----------
        senders, receivers : tuple of int
            Shapes of both layers.

        Raises
        ------
        CircuitError
            For layers that the pattern cannot connect.
        """


@dataclass(frozen=True)
class PoolOneToOne(PathPattern):
    """All units of a sub-pool are connected with all units of the sub-pool of the same number."""

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units are connected; see `PathPattern`."""
        low, high = _pools(senders, receivers)
        if low != high:
            raise CircuitError(f"PoolOneToOne: as many sub-pools are needed (got {low} and {high})")
        return _of_units(np.eye(low[0] * low[1], dtype=bool), senders, receivers)


@dataclass(frozen=True)
class PoolTile(PathPattern):
    """Each receiving sub-pool is connected with a rectangle of sending sub-pools.

    The rectangle of the next receiving sub-pool begins ``skip`` sub-pools further on.

    Parameters
    ----------
    size : (int, int)
        Rows and columns of the rectangle, in sub-pools.
    skip : (int, int)
        Distance between the rectangles of neighbouring receiving sub-pools, in sub-pools.
    start : (int, int)
        Row and column of the first sub-pool of the first rectangle; may be negative.
    wrap : bool
        Whether a rectangle that crosses an edge continues at the opposite edge. If not, it is cut.
    """

    size: Pair = (4, 4)
    skip: Pair = (2, 2)
    start: Pair = (0, 0)
    wrap: bool = True

    def __post_init__(self) -> None:
        _check_pair("PoolTile: size", self.size, least=1)
        _check_pair("PoolTile: skip", self.skip)
        _check_pair("PoolTile: start", self.start)

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units are connected; see `PathPattern`."""
        low, high = _pools(senders, receivers)
        along = []
        for axis in (0, 1):
            first = self.start[axis] + self.skip[axis] * np.arange(high[axis])
            along.append(_runs(first, self.size[axis], low[axis], self.wrap))
        pools = np.einsum("ac,bd->abcd", *along).reshape(low[0] * low[1], high[0] * high[1])
        return _of_units(pools, senders, receivers)


@dataclass(frozen=True)
class Rectangle(PathPattern):
    """Each receiver is connected with a rectangle of senders.

    A layer is seen as rows and columns of units. Sub-pools stand side by side, so the shape
    (py, px, y, x) has py times y rows. The unit in row r and column c has a rectangle whose first
    row is ``start[0] + floor(scale[0] r)``, and whose first column is
    ``start[1] + floor(scale[1] c)``. This is a Rect of emergent.

    Parameters
    ----------
    size : (int, int)
        Rows and columns of the rectangle.
    start : (int, int)
        First row and column of the first rectangle; may be negative.
    scale : (float, float), optional
        Distance between the rectangles of neighbouring receivers, in rows and columns. None: the
        number of rows and columns of the senders, divided by that of the receivers.
    wrap : bool
        Whether a rectangle that crosses an edge continues at the opposite edge. If not, it is cut.
    autapses : bool
        Whether in a path within a layer a unit may be connected with itself.
    """

    size: Pair = (2, 2)
    start: Pair = (0, 0)
    scale: Reals | None = (1.0, 1.0)
    wrap: bool = True
    autapses: bool = False

    def __post_init__(self) -> None:
        _check_pair("Rectangle: size", self.size, least=1)
        _check_pair("Rectangle: start", self.start)
        _check_scale("Rectangle", self.scale)

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units are connected; see `PathPattern`."""
        low, high = _grid("Rectangle", senders), _grid("Rectangle", receivers)
        along = []
        for axis in (0, 1):
            rows, count = low.shape[axis], high.shape[axis]
            scale = rows / count if self.scale is None else self.scale[axis]
            first = self.start[axis] + np.floor(scale * np.arange(count)).astype(int)
            along.append(_runs(first, self.size[axis], rows, self.wrap))
        return _by_number(np.einsum("ac,bd->abcd", *along), low, high)


@dataclass(frozen=True)
class Circle(PathPattern):
    """Each receiver is connected with the senders around a centre.

    Rows and columns are those of `Rectangle`. The receiver in row r and column c has the centre
    ``start[0] + scale[0] r``, ``start[1] + scale[1] c``. A sender is connected if its distance from
    the centre, rounded, is at most the radius. This is a Circle of emergent, without weights that
    depend on the distance.

    Parameters
    ----------
    radius : int
        In rows or columns.
    start : (int, int)
        Row and column of the centre of the first receiver.
    scale : (float, float), optional
        Distance between the centres of neighbouring receivers. None: the number of rows and columns
        of the senders, divided by that of the receivers. Without a negative number, ``start`` then
        counts as a border on both sides, in which there are no centres.
    wrap : bool
        Whether the edges of the senders are joined, so that distances take the shorter way round.
    autapses : bool
        Whether in a path within a layer a unit may be connected with itself.
    """

    radius: int = 8
    start: Pair = (0, 0)
    scale: Reals | None = (1.0, 1.0)
    wrap: bool = True
    autapses: bool = False

    def __post_init__(self) -> None:
        _check_pair("Circle: (radius, radius)", (self.radius, self.radius), least=0)
        _check_pair("Circle: start", self.start)
        _check_scale("Circle", self.scale)

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units are connected; see `PathPattern`."""
        low, high = _grid("Circle", senders), _grid("Circle", receivers)
        squares = []
        for axis in (0, 1):
            rows, count = low.shape[axis], high.shape[axis]
            border = 2 * self.start[axis] if min(self.start) >= 0 else 0
            scale = (rows - border) / count if self.scale is None else self.scale[axis]
            away = np.arange(rows)[:, None] - (self.start[axis] + scale * np.arange(count))
            if self.wrap:
                away = (away + rows / 2) % rows - rows / 2
            squares.append(away**2)
        apart = squares[0][:, None, :, None] + squares[1][None, :, None, :]
        return _by_number(apart < (self.radius + 0.5) ** 2, low, high)


@dataclass(frozen=True)
class UniformRandom(PathPattern):
    """Each receiver is connected with the same number of senders, which are drawn at random.

    The draw depends on the seed of the network, on the name of the path, and on ``seed``.

    Parameters
    ----------
    share : float
        Share of the senders, above 0 and at most 1. Their number is rounded.
    seed : int
    autapses : bool
        Whether in a path within a layer a unit may be connected with itself. If not, the share is
        that of the other units.
    """

    share: float
    seed: int = 0
    autapses: bool = False

    def of_path(self, seed: int, name: str, within: bool) -> PathPattern:
        """Return the pattern of one path; see `PathPattern`."""
        whole_number(self.seed, "UniformRandom: seed")
        entropy = (self.seed, seed, *name.encode())
        return _RandomPairs(self.share, entropy, within and not self.autapses)

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units of two layers are connected, for no network; see `PathPattern`."""
        return _RandomPairs(self.share, (self.seed,), False).connected(senders, receivers)


@dataclass(frozen=True)
class _RandomPairs(PathPattern):
    """`UniformRandom` with all that its draw depends on.

    Parameters
    ----------
    others : bool
        Whether the receiver itself is not among the senders.
    """

    share: float
    entropy: tuple[int, ...]
    others: bool

    def connected(self, senders: Shape, receivers: Shape) -> Bools:
        """Return which units are connected; see `PathPattern`."""
        if not 0 < self.share <= 1:
            raise CircuitError(f"UniformRandom: share is in (0, 1] (got {self.share!r:.40})")
        low, high = int(np.prod(senders)), int(np.prod(receivers))
        draw = np.random.Generator(np.random.Philox(np.random.SeedSequence(self.entropy)))
        out, among = np.zeros((low, high), bool), low - self.others
        count = rounded(self.share * among)
        if count == 0:
            share = self.share
            some = f"{share:g} of {among} senders are round({share * among:g}) = 0 connections"
            raise CircuitError(f"UniformRandom: {some} of a receiver; take a larger share")
        for number in range(high):
            chosen = draw.permutation(among)[:count]
            out[chosen + (self.others & (chosen >= number)), number] = True
        return out


def _pools(senders: Shape, receivers: Shape) -> tuple[Shape, Shape]:
    """Return rows and columns of the sub-pools of both layers; a layer (y, x) is one sub-pool."""
    for shape in (senders, receivers):
        if len(shape) not in (2, 4):
            want = "layers of shape (py, px, y, x), or of shape (y, x) as one sub-pool"
            raise CircuitError(f"the pattern needs {want} (got {shape})")
    low, high = ((1, 1) if len(shape) == 2 else shape[:2] for shape in (senders, receivers))
    return low, high


def _of_units(pools: Bools, senders: Shape, receivers: Shape) -> Bools:
    """Return which units are connected, from which sub-pools are, (senders, receivers)."""
    sizes = int(np.prod(senders[-2:])), int(np.prod(receivers[-2:]))
    return np.kron(pools, np.ones(sizes, bool))


def _check_pair(what: str, given: Any, least: float = -np.inf) -> None:
    """Raise CircuitError for what is no pair of whole numbers, each at least ``least``."""
    pair = isinstance(given, tuple | list) and len(given) == 2
    if not pair or any(type(n) is not int or n < least for n in given):
        some = "" if least == -np.inf else f" of at least {least:g}"
        raise CircuitError(f"{what}: two whole numbers{some} are needed (got {given!r:.60})")


def _check_scale(pattern: str, given: Any) -> None:
    """Raise CircuitError for what is neither None nor a pair of finite numbers from 0 on."""
    pair = isinstance(given, tuple | list) and len(given) == 2
    fits = pair and all(type(n) in (int, float) and 0 <= n < np.inf for n in given)
    if given is not None and not fits:
        say = "two finite numbers from 0 on, or None, are needed"
        raise CircuitError(f"{pattern}: scale: {say} (got {given!r:.60})")


def _grid(pattern: str, shape: Shape) -> NDArray[np.intp]:
    """Return the number of the unit in each row and column of a layer."""
    numbers = np.arange(int(np.prod(shape)))
    if len(shape) == 4:
        py, px, y, x = shape
        return numbers.reshape(shape).transpose(0, 2, 1, 3).reshape(py * y, px * x)
    if len(shape) > 2:
        want = "layers of shape (x,), (y, x) or (py, px, y, x) are needed"
        raise CircuitError(f"{pattern}: {want} (got {shape})")
    return numbers.reshape(-1, shape[-1])


def _by_number(places: Bools, low: NDArray[np.intp], high: NDArray[np.intp]) -> Bools:
    """Return which units are connected, from which rows and columns of both layers are."""
    out = np.zeros((low.size, high.size), bool)
    out[np.ix_(low.ravel(), high.ravel())] = places.reshape(low.size, high.size)
    return out


def _runs(first: NDArray[np.intp], length: int, senders: int, wrap: bool) -> Bools:
    """Return which senders each receiver sees along one axis, (senders, receivers).

    A receiver sees a run of ``length`` senders from ``first`` on.
    """
    out = np.zeros((senders, len(first)), bool)
    for number, begin in enumerate(first.tolist()):
        seen = np.arange(begin, begin + length)
        seen = seen % senders if wrap else seen[(seen >= 0) & (seen < senders)]
        out[seen, number] = True
    return out


def connected_units(
    pattern: Any, senders: Shape, receivers: Shape, within: bool, where: str
) -> Bools:
    """Return which senders of a path are connected with which receivers, (senders, receivers).

    Parameters
    ----------
    pattern : AllToAll, OneToOne, PathPattern, (senders, receivers) bool or None
    within : bool
        Whether both layers are the same one.
    where : str
        Of which path messages speak.

    Raises
    ------
    CircuitError
        If the pattern does not fit the layers, or connects nothing.
    """
    shape = int(np.prod(senders)), int(np.prod(receivers))
    if pattern is None or isinstance(pattern, AllToAll):
        return np.ones(shape, bool)
    if isinstance(pattern, OneToOne):
        if shape[0] != shape[1]:
            raise CircuitError(f"{where}: one to one needs layers of one size (got {shape})")
        return np.eye(shape[0], dtype=bool)
    if isinstance(pattern, PathPattern):
        try:
            given = pattern.connected(senders, receivers)
        except CircuitError as error:
            raise CircuitError(f"{where}: {error}") from None
        if within and not pattern.autapses:
            given = given & ~np.eye(shape[0], dtype=bool)
    else:
        given = np.asarray(pattern)
    if given.dtype != bool or given.shape != shape:
        want = f"AllToAll(), OneToOne(), a PathPattern or an array of bool of shape {shape}"
        got = f"{given.dtype} of shape {given.shape}"
        raise CircuitError(f"{where}: a pattern is {want} (got {got})")
    if not given.any():
        raise CircuitError(f"{where}: the pattern connects nothing")
    return given
