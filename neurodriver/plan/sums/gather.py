"""Plans for the sum of one access: its connections -> the arrays that a kernel reads.

A plan has one of the forms below. Each form adds the connections of a component in their order, so
all forms give the same bits. `plan` chooses the form.

``none``
    Nothing is connected.
``aligned``
    Component i reads element ``first + i``, and all connections have one delay. No index is stored.
    It may read several such elements, one for each number of ``first``.
``single``
    Each component has at most one connection: one index a component. On a GPU connections may have
    integer weights, and those of the form ``aligned`` with one element, too.
``lattice``
    Neighbouring components read neighbouring elements with equal data, as filters on a grid do. One
    record (element, data, mask) serves ``LANES`` components. On a GPU neighbours may also read
    every second or third element (``stride``), as cells on a coarser grid do.
``sliced``
    Any connections. ``LANES`` components form a slice; their j-th connections are stored together.
    Components with many more connections than their neighbours have a tail.
``rows``
    Many connections of few components, on a GPU. The connections of a component are stored one
    after the other; no index is stored where they read consecutive elements.
``fanout``
    Weighted spikes, stored by source: see `plan.spikes.fanout`.
``learning``
    Weighted spikes whose weights learn: see `plan.spikes.learning`. They are added to the slots of
    a plan of the form ``fanout``.
``stencil``
    Weighted spikes by rules of place, whose connections are stored nowhere: see
    `plan.spikes.stencils`. They are added to the slots of a plan of the form ``fanout``.
``injected``
    Spikes of inputs, stored by slot, on a GPU: see `plan.spikes.input_lists`. They are added to the
    slots of a plan of the form ``fanout``.
``by_place``
    Rules of place, whose connections are stored nowhere: see `plan.sums.by_place`.
``patches``
    The same on columns that all populations share, on a GPU: see `plan.sums.patches`.
``listed``
    Connections over which the text of the target loops: see `plan.sums.listed`. There is no sum.
``learned``
    Graded values whose weights learn, stored as ``sliced``: see `plan.sums.learned`. Their sum is
    added to that of the other connections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...native.buffers import LANES, ZeroArray
from ..arrays import Array, Key, Kind, Owner, Role, row, zeros
from ..spikes.thread_ranges import ThreadRanges

Column = NDArray[np.generic]
WRITTEN = ("event_head",)
"""Arrays of a plan that kernels write to."""

LATTICE_GAIN = 4.0
"""A lattice record must stand for this many connections on average to be worth its cost."""


@dataclass(frozen=True)
class Edges:
    """Connections of one access of one group, sorted by target, in order within a target.

    Attributes
    ----------
    target : (m,) int64
        Component within the group, ascending.
    element : (m,) int64
        Element of the variable's row.
    back : (m,) or () int64
        Rows back: latency in steps - 1.
    data : dict of (m,) or () float64
    """

    target: NDArray[np.int64]
    element: NDArray[np.int64]
    back: NDArray[np.int64]
    data: dict[str, NDArray[np.float64]]

    def where(self, which: NDArray[np.bool_]) -> Edges:
        """Return some of the connections."""
        back = self.back[which] if self.back.ndim else self.back
        data = {name: c[which] if c.ndim else c for name, c in self.data.items()}
        return Edges(self.target[which], self.element[which], back, data)


def learning_part(access: str, number: int) -> str:
    """Return the name of the plan of some connections into an access that learn."""
    return f"{access}__learning{number}"


def stencil_part(access: str, number: int) -> str:
    """Return the name of the plan of some connections into an access that are stencils."""
    return f"{access}__stencil{number}"


def input_part(access: str) -> str:
    """Return the name of the plan of the connections into an access that lead from inputs."""
    return f"{access}__inputs"


def outside(access: str) -> str:
    """Return the name of the plan of the connections whose sources do not deliver."""
    return f"{access}__outside"


@dataclass
class Gather:
    """The plan of one access: its form and its arrays.

    Attributes
    ----------
    form : str
        One of the forms above.
    edges : int
        Number of connections.
    arrays : dict of array
        int32 ``element``, ``back``, ``start``, ...; float64 connection data by name.
    back : int or None
        Rows back where all share one, else None (array ``back``).
    uniform : dict of float
        Connection data that all share.
    cost : (slices,) float64
        Work of each ``LANES`` components, in entries.
    place : (edges,) int64 or None
        Offset of each connection in the sliced form; fusion reads it, kernels do not.
    limits : dict of int
        Sizes that kernels read, see `plan.sums.events`.
    integer : bool
        Whether weights are integer multiples of ``unit``, see `plan.spikes.weights`.
    blanks : dict of ZeroArray
        Arrays that begin as zeros.
    parts : ThreadRanges or None
        Shares of the threads, of the form ``fanout``.
    outside : Gather or None
        Connections of sources whose kernels do not deliver, such as ports, with weights in the same
        units. On a GPU their sum is added to the form ``fanout``.
    inputs : Gather or None
        Connections that lead from inputs, into the same slots, on a GPU.
    learning : tuple of Gather
        Connections that learn: `plan.spikes.learning` into the same slots, or `plan.sums.learned`.
    stencils : tuple of Gather
        Connections that are stored nowhere, `plan.spikes.stencils`, into the same slots.
    claim : str
        What needs the memory of ``blanks``, in words for error messages.
    note : str
        Who drew its connections, for the log of a build.
    """

    form: str
    edges: int
    arrays: dict[str, Column] = field(default_factory=dict)
    back: int | None = 0
    uniform: dict[str, float] = field(default_factory=dict)
    cost: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    tail: bool = False
    place: NDArray[np.int64] | None = None
    limits: dict[str, int] = field(default_factory=dict)
    integer: bool = False
    blanks: dict[str, ZeroArray] = field(default_factory=dict)
    parts: ThreadRanges | None = None
    claim: str = ""
    note: str = ""
    outside: Gather | None = None
    inputs: Gather | None = None
    learning: tuple[Gather, ...] = ()
    stencils: tuple[Gather, ...] = ()

    @property
    def early(self) -> bool:
        """Whether some connections act within a step and others later: ``back`` is -1 of some."""
        back = self.arrays.get("back")
        return back is not None and bool(np.less(back, 0).any())

    def key(self, owner: Owner, name: str) -> Key:
        """Return the key of an array or a number of this plan."""
        if name in self.blanks:
            return Key(owner, Kind.SUM, name)
        if name in ("multiple", "of_source", "unit") or name in self.uniform:
            return Key(owner, Kind.WEIGHT, name)
        array = self.arrays.get(name)
        weight = array is not None and array.dtype.kind == "f"
        return Key(owner, Kind.WEIGHT if weight else Kind.INDEX, name)

    def rows(self, owner: Owner, real: DTypeLike) -> Iterator[Array]:
        """Yield the rows of the array table that this plan needs.

        Parameters
        ----------
        owner : Owner
            The access.
        real : dtype
            Working type.
        """
        for name, array in self.arrays.items():
            key = self.key(owner, name)
            set_ = key.kind is Kind.WEIGHT and array.dtype.kind == "f" and name != "unit"
            role = Role.SETTABLE if set_ else Role.CONSTANT
            yield row(key, array, Role.SCRATCH if name in WRITTEN else role, real)
        for name, number in self.uniform.items():
            yield row(self.key(owner, name), float(number), Role.SETTABLE, real)
        sizes = dict(self.limits)
        if "first" in self.arrays:
            sizes["first"] = int(self.arrays["first"][0])
        if self.back is not None:
            sizes["back"] = self.back
        for name, size in sizes.items():
            yield row(Key(owner, Kind.SIZE, name), int(size))
        for name, blank in self.blanks.items():
            yield zeros(self.key(owner, name), blank.size, blank.dtype, Role.RING)

    def nbytes(self, real: int) -> int:
        """Return the bytes of the arrays when a number takes ``real`` bytes."""
        floats = [a for a in self.arrays.values() if a.dtype.kind == "f"]
        return sum(a.nbytes for a in self.arrays.values()) - sum(
            a.size * (a.itemsize - real) for a in floats
        )


LONG, FEW = 48, 8192
"""Mean number of connections from which, and components up to which, ``rows`` are worth it."""


NEAR, MANY = 16, 1 << 16
"""Connections of a component up to which its thread keeps them on a GPU, and components of a group
up to which it does."""


def in_rows(edges: int, count: int) -> bool:
    """Whether so many connections of ``count`` components get the form ``rows`` on a GPU."""
    return count <= FEW and edges >= LONG * count


def _shared(edges: Edges) -> dict[str, float]:
    return {name: float(column) for name, column in edges.data.items() if not column.ndim}


def _back(edges: Edges) -> int | None:
    return None if edges.back.ndim else int(edges.back)


def single_plan(edges: Edges, varied: list[str], count: int, zero: int, slices: int) -> Gather:
    back, data = _back(edges), _shared(edges)
    columns: dict[str, Column] = {}
    for name in varied:
        columns[name] = np.zeros(slices * LANES)
        columns[name][edges.target] = edges.data[name]
    start = int(edges.element[0])
    straight = np.array_equal(edges.element, start + np.arange(count))
    cost = np.full(slices, float(LANES))
    if straight and back is not None:
        arrays: dict[str, Column] = {"first": np.array([start]), **columns}
        return Gather("aligned", count, arrays, back, data, cost=0.25 * cost)
    element = np.full(slices * LANES, zero, dtype=np.int32)
    element[edges.target] = edges.element
    arrays = {"element": element, **columns}
    if back is None:
        rows = np.zeros(slices * LANES, dtype=np.int32)
        rows[edges.target] = edges.back
        arrays["back"] = rows
    return Gather("single", len(edges.target), arrays, back, data, cost=cost)


STRIDES = (2, 3)
"""Strides that are tried beside 1: the distance of the elements that neighbours read."""

POOR = 1.25
"""Records for each connection of a component from which strides are tried."""

SPARE = 8 * LANES
"""Unused records behind the last one: kernels read rounds of ``LANES`` records."""


def lattice_plan(edges: Edges, varied: list[str], slices: int, zero: int | None) -> Gather | None:
    """Return the lattice form, or None where it would not pay.

    For a GPU, where ``zero`` is given, slices have strides, and their records are
    filled up to rounds of ``LANES`` with empty ones.
    """
    same = edges.target[1:] == edges.target[:-1]
    if (same & (edges.element[1:] <= edges.element[:-1])).any():
        return None  # ascending elements: the order of records is then each component's order
    arrays: dict[str, Column] = {}
    lane = edges.target % LANES
    order, first = _records(edges, varied, lane)
    if zero is not None:
        records = np.bincount(edges.target[order[first]] // LANES, minlength=slices)
        arrays["stride"] = stride = _strides(edges, varied, records, zero)
        if stride.max() > 1:
            lane = lane * stride[edges.target // LANES]
            order, first = _records(edges, varied, lane)
    if len(first) * LATTICE_GAIN > len(order):
        return None
    bit = np.left_shift(1, edges.target[order] % LANES)
    chosen = order[first]
    start = np.zeros(slices + 1, dtype=np.int32)
    records = np.bincount(edges.target[chosen] // LANES, minlength=slices)
    np.cumsum(records, out=start[1:])
    columns: dict[str, Column] = {
        "element": (edges.element - lane)[chosen].astype(np.int32),
        "mask": np.add.reduceat(bit, first).astype(np.int32),
        **{name: edges.data[name][chosen] for name in varied},
    }
    if zero is not None:
        tight, rounds = start.astype(np.int64), -(-records // LANES)
        np.cumsum(rounds * LANES, out=start[1:])
        place = np.arange(len(chosen)) + np.repeat(start[:-1] - tight[:-1], records)
        for name, column in columns.items():
            columns[name] = np.zeros(start[-1] + SPARE, column.dtype)
            columns[name][place] = column
    arrays |= {"start": start, **columns}
    cost = 3.0 * np.diff(start)
    return Gather("lattice", len(order), arrays, _back(edges), _shared(edges), cost)


def _records(
    edges: Edges, varied: list[str], lane: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of edges by their records, and where in it each record begins.

    ``lane`` is how far behind its record's element the element of an edge lies.
    """
    where = (edges.target // LANES << 32) + edges.element - lane  # slice, then element
    keys: list[Column] = [*(edges.data[name] for name in varied), where]
    order = np.lexsort(keys)
    fresh = np.zeros(len(order), dtype=bool)
    fresh[0] = True
    for key in keys:
        sorted_key = key[order]
        fresh[1:] |= sorted_key[1:] != sorted_key[:-1]
    return order, np.flatnonzero(fresh)


def _strides(
    edges: Edges, varied: list[str], records: NDArray[np.int64], zero: int
) -> NDArray[np.int32]:
    """Return the stride that gives each slice the fewest records, (slices,).

    Others than 1 are tried where a slice has many more records than its components have
    connections. What a record reads lies within a row and ``LANES`` elements on both sides of it.
    """
    stride, least = np.ones(len(records), np.int32), records
    degree = np.zeros(len(records) * LANES, np.int64)
    degree[: edges.target.max() + 1] = np.bincount(edges.target)
    many = records > POOR * degree.reshape(-1, LANES).max(axis=1)
    poor = many[edges.target // LANES]
    if not poor.any():
        return stride
    data = {name: edges.data[name][poor] for name in varied}
    some = Edges(edges.target[poor], edges.element[poor], edges.back, data)
    slice_of, lane = some.target // LANES, some.target % LANES
    for step in STRIDES:
        order, first = _records(some, varied, step * lane)
        found = np.where(many, np.bincount(slice_of[order[first]], minlength=len(records)), records)
        begin = some.element - step * lane
        beyond = (begin <= -LANES) | (begin + step * (LANES - 1) >= zero + 2 * LANES)
        found[slice_of[beyond]] = len(edges.target)
        stride[found < least] = step
        least = np.minimum(least, found)
    return stride


def rows_plan(edges: Edges, varied: list[str], degree: NDArray[np.int64], slices: int) -> Gather:
    arrays: dict[str, Column] = {"start": np.concatenate([[0], np.cumsum(degree)])}
    straight = bool((np.diff(edges.element) == 1).all())
    if straight:  # connection p reads element first + p
        arrays["first"] = edges.element[:1]
    else:
        arrays["element"] = edges.element.astype(np.int32)
    if edges.back.ndim:
        arrays["back"] = edges.back.astype(np.int32)
    for name in varied:
        arrays[name] = edges.data[name]
    cost = np.add.reduceat(degree.astype(float), np.arange(0, len(degree), LANES))
    assert len(cost) == slices
    return Gather("rows", len(edges.target), arrays, _back(edges), _shared(edges), cost)


def sliced_plan(edges: Edges, varied: list[str], degree: NDArray[np.int64], slices: int) -> Gather:
    full = np.zeros(slices * LANES, dtype=np.int64)
    full[: len(degree)] = degree
    by_slice = full.reshape(slices, LANES)
    present = full.copy()
    present[len(degree) :] = degree.sum() // len(full)  # lanes past the end count as average ones
    # a quarter of the lanes still at work
    depth = np.sort(present.reshape(slices, LANES), axis=1)[:, -LANES // 4]
    depth = np.where(by_slice.max(axis=1) <= 2 * depth, by_slice.max(axis=1), depth)
    start = np.zeros(slices + 1, dtype=np.int64)
    np.cumsum(depth * LANES, out=start[1:])
    slice_of = edges.target // LANES
    rank = np.arange(len(edges.target)) - np.repeat(np.cumsum(degree) - degree, degree)
    inside = rank < depth[slice_of]
    place = start[slice_of] + rank * LANES + edges.target % LANES
    extra = np.maximum(full - np.repeat(depth, LANES), 0)
    tail = np.zeros(len(full) + 1, dtype=np.int64)
    np.cumsum(extra, out=tail[1:])
    tail += start[-1]
    place[~inside] = (tail[edges.target] + rank - depth[slice_of])[~inside]
    size = int(tail[-1])

    def scattered(column: Column, dtype: type) -> Column:
        out: Column = np.zeros(size, dtype=dtype)
        out[place] = column
        return out

    arrays: dict[str, Column] = {
        "start": start,
        "degree": full.astype(np.int32),
        "element": scattered(edges.element, np.int32),
    }
    if edges.back.ndim:
        arrays["back"] = scattered(edges.back, np.int32)
    for name in varied:
        arrays[name] = scattered(edges.data[name], np.float64)
    has_tail = bool(extra.any())
    if has_tail:
        arrays["tail"] = tail
    cost = depth * LANES + extra.reshape(slices, LANES).sum(axis=1) * 2.0
    made = Gather("sliced", len(rank), arrays, _back(edges), _shared(edges), cost, has_tail)
    made.place = place
    return made
