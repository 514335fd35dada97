"""Connections over which a text loops: stored by target, in their order, each with its numbers.

Only the thread of the target reads and writes the variables of its synapses. The order of the
connections is the same for all backends and plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...circuit.space import AxisGrid
from ...errors import CircuitError, quoted
from ...model.component import Access
from ...model.texts import INDEX, SIZE, sizes_of_sources
from ...native.buffers import LANES
from ..arrays import Array, Key, Kind, Owner, Role, row
from ..edges import edges_of
from ..layout import Layout
from .gather import Gather

SET, RANK = "nd set", "nd rank"
"""Data of a connection: the number of its set among those of the circuit, from 1, and its place
in the set. Connections of inputs have neither."""


@dataclass
class ListedConnections(Gather):
    """The plan of an access over whose connections the text loops.

    Attributes
    ----------
    written : tuple of str
        Variables of the synapses.
    sets, ranks : (m,) int64
        Set of each connection, -1 of an input, and its place in the set.
    units : dict of str to str
        Of the variables.
    """

    written: tuple[str, ...] = ()
    sets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    ranks: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    units: dict[str, str] = field(default_factory=dict)

    def rows(self, owner: Owner, real: DTypeLike) -> Iterator[Array]:
        for one in super().rows(owner, real):
            if one.key.name not in self.written:
                yield one
        for name in self.written if self.edges else ():
            key = self.key(owner, name)
            yield row(key, self.arrays[name], Role.LEARNED, real, self.units[name])

    def key(self, owner: Owner, name: str) -> Key:
        if name in self.written:
            return Key(owner, Kind.WEIGHT, name)
        return super().key(owner, name)


def listed_plan(layout: Layout, number: int, access: Access, count: int) -> ListedConnections:
    """Return the plan of an access over whose connections the text of a group loops."""
    edges = edges_of(layout, number, access.name, access.variable, everything=True)
    m = len(edges.target)
    start = np.zeros(count + LANES + 1, np.int64)  # of lanes behind the last component, too
    np.cumsum(np.bincount(edges.target, minlength=count + LANES), out=start[1:])
    back = None if edges.back.ndim else int(edges.back)
    arrays: dict[str, NDArray[np.generic]] = {
        "start": start,
        "element": edges.element.astype(np.int32),
        INDEX: _indices(layout, access.variable, edges.element),
    }
    if access.model is not None:
        arrays |= _places(layout, number, access, edges.element)
    if back is None:
        arrays["back"] = edges.back.astype(np.int32)
    for name in access.connection if m else ():
        arrays[name] = np.broadcast_to(edges.data[name], (m,)).astype(np.float64)
    numbers = [np.broadcast_to(edges.data.get(n, np.zeros(())), (m,)) for n in (SET, RANK)]
    sets, ranks = (one.astype(np.int64) for one in numbers)
    degree = np.diff(start)[:count].astype(np.float64)
    cost: NDArray[np.float64] = 4.0 * np.add.reduceat(degree, np.arange(0, count, LANES))
    return ListedConnections(
        "listed", m, arrays, back, cost=cost, written=access.written, sets=sets - 1,
        ranks=ranks, units={n: access.connection[n].unit for n in access.written},
    )  # fmt: skip


def _places(
    layout: Layout, number: int, access: Access, element: NDArray[np.int64]
) -> dict[str, NDArray[np.int32]]:
    """Return the index of each source along the axes of its model, -1 of an input, and sizes.

    Raises
    ------
    CircuitError
        For a source of another model.
    """
    circuit, ring = layout.circuit, layout.rings[access.variable]
    within = {name: np.full(ring.width, -1, np.int32) for name in access.places}
    sizes = sizes_of_sources(circuit.groups[number].model, access)
    within |= {f"{axis}{SIZE}": np.zeros(ring.width, np.int32) for axis in sizes}
    used = np.zeros(ring.width, bool)
    used[element] = True
    for owner in filter(str.isdigit, ring.segments):
        group, at = circuit.groups[int(owner)], layout.elements(int(owner), access.variable)
        space = circuit.spaces.get(group.layer.population) if group.layer else None
        if issubclass(group.model, access.model) and isinstance(space, AxisGrid):
            for name, index in zip(space.names, space.indices.T, strict=True):
                within[name][at] = index
            for name in sizes:
                within[f"{name}{SIZE}"][at] = space.axes[name].count
        elif used[at].any():
            want = f"it has to be of {access.model.__name__}"
            source = group.layer.population if group.layer else group.name
            to = f"'{access.name}' of {circuit.groups[number].name}"
            raise CircuitError(f"{circuit.name}: {to} has a source in {quoted(source)}; {want}")
    return {name: column[element] for name, column in within.items()}


def _indices(layout: Layout, variable: str, element: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the number of each source within its population, from its element of a row."""
    circuit, ring = layout.circuit, layout.rings[variable]
    within = np.zeros(ring.width, np.int32)
    own = np.zeros(circuit.count, np.int32)
    for members in circuit.populations.values():
        own[members.numbers] = np.arange(members.count)
    for owner, segment in ring.segments.items():
        if owner.isdigit():
            first = circuit.starts[int(owner)]
            count = circuit.groups[int(owner)].count
            within[layout.elements(int(owner), variable)] = own[first : first + count]
        else:
            within[segment.start : segment.start + segment.count] = np.arange(segment.count)
    found: NDArray[np.int32] = within[element]
    return found
