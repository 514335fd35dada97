"""The form ``patches``: rules of place on shared columns, patch by patch, on a GPU.

A block of a GPU owns a *patch*: ``own`` times 32 neighbouring columns, for all populations of a
group. In each step it copies the values that these columns read into shared memory: its *plane*,
where each population of sources has a box, the patch with its halo. Example: a patch of 6 x 16
columns and offsets of up to 3 columns have a box of 12 x 22. The threads of a warp have columns
beside each other, ``own`` each. So all cells of a population in the patch share one list of
offsets, which are distances in the plane: one weight is read for ``own`` times 32 cells.

Where there is no source the plane holds 0. A finite weight times 0 changes no bit of a sum that
began at 0. So each target adds up in the order of stored connections, and the bits are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...circuit.space import AxisGrid
from ...model.component import Access
from ...native.buffers import LANES
from ..layout import Layout
from .columns import ColumnOffsets, LocatedLink, columns_of, offsets_of
from .gather import Gather
from .place_parts import Integers

WARP = 32
BLOCKS = 132
"""Multiprocessors for which patches are cut; other devices compute the same."""

ROOM = 160 << 10
"""Bytes of shared memory for planes and offsets."""

TOGETHER = 4
"""Offsets that a thread loads together."""

OWN, WIDE = (1, 2, 3, 4), (8, 16, 32)
"""Cells of a thread, and columns along the last axis, from which the patch is chosen."""

PER_OFFSET, PER_SLOT, PER_TARGET, FIXED = 1.3, 0.3, 30.0, 3000.0
"""Cycles: of an offset, for each of its loads; a value of the plane; a population; a step."""

PER_EDGE = 1 / 60
"""Cycles of a step for each connection, on all multiprocessors, by entries."""

STORED, PER_STORED = 4400.0, 1 / 380
"""Cycles of a step with stored connections, and for each of them."""


@dataclass(frozen=True, eq=False)
class SourceBox:
    """Sources: their elements at all columns, -1: none, and the least and greatest offset."""

    element: Integers
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def size(self, patch: tuple[int, int]) -> NDArray[np.int64]:
        """Return the rows and columns of the box of a patch."""
        return np.array(patch) + self.high - self.low


@dataclass(frozen=True, eq=False)
class PatchedAccess:
    """One access: its layers, and for each population of targets the layer and the offsets."""

    layers: list[SourceBox]
    offsets: list[list[tuple[int, ColumnOffsets]]]

    @property
    def counts(self) -> list[int]:
        """Offsets of each population of targets, filled up to what is loaded together."""
        sizes = [sum(len(o.row) for _, o in one) for one in self.offsets]
        return [-(-size // TOGETHER) * TOGETHER for size in sizes]


@dataclass(frozen=True, eq=False)
class Cut:
    """The patches of a group: rows and columns, cells of a thread, and the first corner of each."""

    patch: tuple[int, int]
    own: int
    corner: Integers
    cycles: float


def patches_of(
    layout: Layout,
    number: int,
    links: Mapping[str, Sequence[LocatedLink]],
    edges: Mapping[str, int],
    taken: int,
    before: int,
    stored: bool,
) -> dict[str, Gather]:
    """Return the plan of each access of a group whose links share columns; none if it does not pay.

    Parameters
    ----------
    number : int
        Of the group.
    links : mapping of str to sequence of LocatedLink
        All connections of each access.
    edges : mapping of str to int
        How many there are.
    taken, before : int
        Bytes of shared memory that other groups take, and values of their planes.
    stored : bool
        Whether the connections may be stored otherwise.
    """
    spaces = {id(s): s for one in links.values() for link in one for s in _spaces(link)}
    if not spaces:
        return {}
    columns = columns_of(list(spaces.values()))
    if columns is None:
        return {}
    places = dict(zip(spaces, columns, strict=True))
    shape = tuple(int(max(one[d][-1] for one in columns)) + 1 for d in (0, 1))
    grids = {key: _grid(spaces[key], places[key], shape) for key in spaces}
    target = {link.first: id(_spaces(link)[1]) for one in links.values() for link in one}
    firsts = sorted(target)
    cells = [np.where(g >= 0, g + f, -1) for f, g in ((f, grids[target[f]]) for f in firsts)]
    parts = {}
    for name, some in links.items():
        part = _part(some, places, grids, firsts)
        if part is not None:
            parts[name] = part
    word = layout.dtype.itemsize
    cut = _best(list(parts.values()), cells, word, ROOM - taken)
    count = sum(edges[name] for name in parts)
    others = [PER_EDGE * count]
    if stored:
        others.append(STORED + PER_STORED * count)
    if cut is None or cut.cycles > min(others):
        return {}
    table = _cells(cut, cells, layout.circuit.groups[number].count)
    found, at = {}, taken
    for name, part in parts.items():
        found[name] = _gather(part, cut, table, word, at)
        found[name].limits["before"] = before
        before += found[name].limits["slots"]
        found[name].edges = edges[name]
        found[name].back = next(link.late for link in links[name])
        at = found[name].limits["end"]
    return found


def may_have_patches(layout: Layout, number: int) -> bool:
    """Whether threads may have the cells of a group by column.

    They have not where places or events count, or where connections learn in shared memory.
    """
    group, kinds = layout.circuit.groups[number], layout.circuit.kinds
    model = group.model
    plain = group.layer is None and model.sub_units is None and not model.runtime.kernel
    events = any(map(kinds.is_event, model.updates))
    events |= any(one.plasticity is not None for one in layout.circuit.connections)
    return (
        plain
        and not events
        and (group.every, group.first) == (1, 0)
        and number not in layout.positions
    )


def graded(layout: Layout) -> bool:
    """Whether a circuit has no events: spiking components are faster without patches."""
    return not any(map(layout.circuit.kinds.is_event, layout.rings))


def adds_products(access: Access) -> bool:
    """Whether a source that is 0 adds 0 to an access."""
    plain = "", access.variable, f"weight * {access.variable}"
    return access.reduce == "sum" and access.each in plain


def _spaces(link: LocatedLink) -> tuple[AxisGrid, AxisGrid]:
    source, target = link.relation.source, link.relation.target
    assert isinstance(source, AxisGrid) and isinstance(target, AxisGrid)
    return source, target


def _grid(space: AxisGrid, places: tuple[Integers, Integers], shape: tuple[int, ...]) -> Integers:
    """Return the number of the cell at each column, -1 where there is none."""
    out = np.full(shape, -1, np.int64)
    out[np.ix_(*places)] = space.numbers().reshape(len(places[0]), len(places[1]))
    return out


def _part(
    links: Sequence[LocatedLink],
    places: Mapping[int, tuple[Integers, Integers]],
    grids: Mapping[int, Integers],
    firsts: Sequence[int],
) -> PatchedAccess | None:
    """Return the layers and offsets of an access; None where they do not follow from columns."""
    if len({link.late for link in links}) > 1:
        return None
    numbers: dict[int, int] = {}
    offsets: list[list[tuple[int, ColumnOffsets]]] = [[] for _ in firsts]
    of_layer: list[list[ColumnOffsets]] = []
    elements: list[Integers] = []
    for link in links:
        source, target = map(id, _spaces(link))
        found = offsets_of(link, places[source], places[target])
        if found is None or not np.isfinite(found.weight).all():
            return None
        if link.element not in numbers:
            numbers[link.element] = len(elements)
            grid = grids[source]
            elements.append(np.where(grid >= 0, grid + link.element, -1))
            of_layer.append([])
        layer = numbers[link.element]
        of_layer[layer].append(found)
        offsets[firsts.index(link.first)].append((layer, found))
    layers = []
    for element, some in zip(elements, of_layer, strict=True):
        row, last = (np.concatenate([getattr(o, n) for o in some]) for n in ("row", "last"))
        ends = [(int(one.min(initial=0)), int(one.max(initial=0))) for one in (row, last)]
        low, high = np.array(ends).T
        layers.append(SourceBox(element, low, high))
    return PatchedAccess(layers, offsets)


# -- which patches ------------------------------------------------------------------------------


def _best(
    parts: Sequence[PatchedAccess], cells: list[Integers], word: int, room: int
) -> Cut | None:
    """Return the patches that take the least time; None where none fit into shared memory."""
    if not parts:
        return None
    there = np.any([grid >= 0 for grid in cells], axis=0)
    flat = there.shape[0] == 1
    found = None
    for own, wide in product(OWN, WIDE):
        patch = (1, WARP * own) if flat else (WARP * own // wide, wide)
        if sum(_bytes(part, len(cells), patch, word) for part in parts) > room:
            continue
        corner = _corners(there, patch)
        entries = sum(sum(part.counts) for part in parts)
        slots = sum(_packed(part.layers, patch)[1] for part in parts)
        loads = (own * word + 2.0) / 4  # two more of 16 bytes for four offsets
        each = PER_OFFSET * entries * loads + PER_SLOT * slots + PER_TARGET * len(cells)
        cycles = -(-len(corner) // BLOCKS) * each + FIXED
        if found is None or cycles < found.cycles:
            found = Cut(patch, own, corner, cycles)
    return found


def _corners(there: NDArray[np.bool_], patch: tuple[int, int]) -> Integers:
    """Return the first row and column of few patches that cover all columns, (patches, 2)."""
    best: list[tuple[int, int]] | None = None
    for phase in range(min(patch[0], there.shape[0])):
        some = []
        for row in range(-phase, there.shape[0], patch[0]):
            columns = np.flatnonzero(there[max(row, 0) : row + patch[0]].any(axis=0))
            at = 0
            while at < len(columns):
                some.append((row, int(columns[at])))
                at = int(np.searchsorted(columns, columns[at] + patch[1]))
        if best is None or len(some) < len(best):
            best = some
    assert best is not None
    return np.array(best, np.int64).reshape(-1, 2)


def _packed(layers: Sequence[SourceBox], patch: tuple[int, int]) -> tuple[int, int, Integers]:
    """Return the pitch of the rows of a plane, its slots, and where the box of each layer begins.

    A pitch that is an odd multiple of the patch's width leads the threads of a warp to different
    banks. Behind the boxes there is room for a patch without sources.
    """
    sizes = np.array([one.size(patch) for one in layers]).reshape(-1, 2)
    wide = min(patch[1], WARP)
    least = -(-int(sizes[:, 1].max(initial=patch[1])) // wide)
    best: tuple[int, int, Integers] | None = None
    for multiple in range(least | 1, 2 * least + 6, 2):
        begin, rows = _shelves(sizes, multiple * wide)
        slots = (rows + patch[0]) * multiple * wide
        if best is None or slots < best[1]:
            best = multiple * wide, slots, begin
    assert best is not None
    return best


def _shelves(sizes: Integers, pitch: int) -> tuple[Integers, int]:
    """Return where boxes begin that stand side by side, tall ones first, and how many rows."""
    begin, row = np.zeros(len(sizes), np.int64), 0
    left = sorted(range(len(sizes)), key=lambda i: (-sizes[i, 0], -sizes[i, 1]))
    while left:
        tall, column = int(sizes[left[0], 0]), 0
        for one in list(left):
            if column + sizes[one, 1] <= pitch:
                begin[one] = row * pitch + column
                column += int(sizes[one, 1])
                left.remove(one)
        row += tall
    return begin, row


def _bytes(part: PatchedAccess, targets: int, patch: tuple[int, int], word: int) -> int:
    """Return the bytes of shared memory of an access, a multiple of 16."""
    entries, slots = sum(part.counts), _packed(part.layers, patch)[1]
    return begins_bytes(targets) + (4 + word) * entries + slots * word


def begins_bytes(targets: int) -> int:
    """Return the bytes of where the offsets of each population begin."""
    return -(-4 * (targets + 1) // 16) * 16


# -- tables -------------------------------------------------------------------------------------


def _window(grid: Integers, corner: Integers, low: Sequence[int], size: Sequence[int]) -> Integers:
    """Return what a grid holds in a window beside each corner, (corners, rows, columns)."""
    row = corner[:, 0, None, None] + low[0] + np.arange(size[0])[None, :, None]
    last = corner[:, 1, None, None] + low[1] + np.arange(size[1])[None, None, :]
    inside = (row >= 0) & (row < grid.shape[0]) & (last >= 0) & (last < grid.shape[1])
    at = np.clip(row, 0, grid.shape[0] - 1), np.clip(last, 0, grid.shape[1] - 1)
    return np.where(inside, grid[at], -1)


def _cells(cut: Cut, cells: Sequence[Integers], count: int) -> Integers:
    """Return the component of each thread and turn, (patches, populations, columns), -1: none.

    Components that no projection reaches are like further populations, of any columns.
    """
    size, number = WARP * cut.own, len(cut.corner)
    found = [_window(grid, cut.corner, (0, 0), cut.patch) for grid in cells]
    table = np.stack(found, axis=1).reshape(number, len(cells), size)
    rest = np.setdiff1d(np.arange(count), table)
    more = -(-len(rest) // (number * size))
    others = np.full(number * more * size, -1, np.int64)
    others[: len(rest)] = rest
    return np.concatenate([table, others.reshape(number, more, size)], axis=1)


def _gather(part: PatchedAccess, cut: Cut, table: Integers, word: int, at: int) -> Gather:
    """Return the plan of an access, whose part of shared memory begins at byte ``at``."""
    pitch, slots, base = _packed(part.layers, cut.patch)
    source = np.full((len(cut.corner), slots), -1, np.int64)
    for layer, first in zip(part.layers, base, strict=True):
        size = layer.size(cut.patch)
        place = first + np.arange(size[0])[:, None] * pitch + np.arange(size[1])
        source[:, place] = _window(layer.element, cut.corner, [*layer.low], [*size])
    counts = [*part.counts, *[0] * (table.shape[1] - len(part.offsets))]
    begin = np.concatenate([[0], np.cumsum(counts)])
    delta = np.full(begin[-1], slots - cut.patch[0] * pitch)  # where there is no source
    weight = np.zeros(begin[-1])
    for start, some in zip(begin, part.offsets, strict=False):
        for which, found in some:
            low, end = part.layers[which].low, start + len(found.row)
            delta[start:end] = base[which] + (found.row - low[0]) * pitch + found.last - low[1]
            weight[start:end], start = found.weight, end
    arrays = {"cell": table, "source": source, "begin": begin, "delta": delta * word}
    made = Gather("patches", 0, {n: a.reshape(-1).astype(np.int32) for n, a in arrays.items()})
    made.arrays["weight"] = weight
    limits = {"patches": len(cut.corner), "own": cut.own, "wide": cut.patch[1], "pitch": pitch}
    limits |= {"slots": slots, "targets": table.shape[1], "offsets": int(begin[-1]), "at": at}
    made.limits |= limits | {"end": at + _bytes(part, table.shape[1], cut.patch, word)}
    slices = -(-(int(table.max()) + 1) // LANES)
    made.cost = np.full(slices, float(begin[-1]) * WARP * cut.own * len(cut.corner) / slices / 4)
    return made
