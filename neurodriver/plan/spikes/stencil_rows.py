"""Spikes along stencils on a GPU: the warp that computes a spike delivers it.

A source has the number of a *row* and its home. All sources of one stencil share a row, which lists
slots counted from the home. So a row is read as the stored connections of a source are
(`codegen.simt.spike_delivery`), and the home is added to each slot.

Slots of all steps that are ahead of a large sheet do not fit into the L2 cache. There spikes are
delivered when they are due (`plan.spikes.due`). The bins are those of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ...native.buffers import as_aligned, padded
from ..layout import Layout
from . import due
from .fanout import PIECE, of_slots, shared_by, smallest
from .stencils import Integers, StencilPlan, StencilSpikes
from .weights import Units

FOUR = 4
"""Connections that a thread loads together."""

MOST_HERTZ = 500.0
"""Rate at which all sources may fire: the history has room for spikes of the longest delay."""

SPIKE_BYTES, HISTORY_BYTES = 20, 48 << 20
"""Size of a spike there, and what the history may take in any case: it has room for spikes in each
step if these are no more. Connections that are not stored are to save memory."""


@dataclass
class StencilRows(StencilPlan):
    """The plan of a projection along stencils, on a GPU.

    Arrays: of each component of the group of the sources its row and its home; of each row its
    begin, and where the entries end that are due in the next step; of each entry its slot less the
    home, and its multiple. Where units of targets differ, the rows of sources with an unusual one
    among their targets follow the others, from entry ``plain`` on. Their multiples follow from
    weights ``exact`` and from ``per_unit``, 1 over each target's unit, both in double precision.
    Where spikes are delivered when due, an entry is a target less the home.
    """

    @property
    def longest(self) -> int:
        return self.limits["latency"]

    def arrivals(
        self, sources: Integers, late: bool
    ) -> tuple[Integers, Integers, Integers, Integers]:
        """Return what spikes of some sources add.

        Parameters
        ----------
        sources : (n,) int64
            Components of the group of the sources.
        late : bool
            Whether what is due in the next step is left out.

        Returns
        -------
        which : (m,) int64
            Place among ``sources``.
        target : (m,) int64
        multiple : (m,) int64
        back : (m,) int64
            Latency in steps - 1.
        """
        row = self.arrays["stencil"][sources].astype(np.int64)
        home = self.arrays["home"][sources].astype(np.int64)
        if due.is_due(self):
            which, entry, back = due.arrivals(self, row, np.zeros_like(row))
            return which, *self.taken(entry, home[which]), back
        ends = self.arrays["begin"].astype(np.int64)
        begin = self.arrays["near"][row].astype(np.int64) if late else ends[row]
        size = ends[row + 1] - begin
        which = np.repeat(np.arange(len(row)), size)
        entry = np.arange(len(which)) + np.repeat(begin - (np.cumsum(size) - size), size)
        slot, multiple = self.taken(entry, home[which])
        back, target = np.divmod(slot, self.limits["ahead"])
        return which, target, multiple, back

    def taken(self, entry: Integers, home: Integers) -> tuple[Integers, Integers]:
        """Return slots of some entries, and what is added to them, (m,) each."""
        slot = home + self.arrays["code"][entry].astype(np.int64)
        multiple = np.full(len(entry), int(self.uniform.get("weight", 0.0)))
        if "multiple" in self.arrays:
            kept = self.arrays["multiple"]
            multiple = kept[np.minimum(entry, len(kept) - 1)].astype(np.int64)
        if "exact" in self.arrays:
            odd = entry >= self.limits["plain"]
            exact = self.arrays["exact"][entry[odd] - self.limits["plain"]].astype(np.float64)
            per_unit = self.arrays["per_unit"].astype(np.float64)
            multiple[odd] = np.rint(exact * per_unit[slot[odd] % self.limits["ahead"]])
        return slot, multiple


def stencils_when_due(
    layout: Layout, shared: Sequence[object], count: int, units: Units
) -> due.DueChoice:
    """Choose how all connections of an access deliver spikes, of which none is stored.

    Parameters
    ----------
    shared : sequence of UnstoredSpikes
    count : int
        Targets.
    """
    some = [one for one in shared if isinstance(one, StencilSpikes)]
    degree = [np.diff(one.sources.begin)[one.sources.of] for one in some]
    if len(some) < len(shared):
        return due.DueChoice(False, "ahead: some connections are computed")
    ahead, wide = max(one.longest for one in some) - 1, units.most >= 2**31
    return due.choose(layout, np.concatenate(degree), padded(count), ahead, wide, alone=True)


def rows_of_stencils(
    one: StencilSpikes,
    layout: Layout,
    number: int,
    variable: str,
    units: Units,
    when_due: bool = False,
) -> StencilRows:
    """Return the plan for a GPU, into some components of a group."""
    own, circuit = one.sources, layout.circuit
    width, many = padded(len(units.unit)), len(own)
    first = one.links.ends.target.start - int(circuit.starts[number])
    mine = slice(first, first + len(one.targets.of))
    multiple, odd = one.in_units(units, mine)
    order = np.lexsort((own.partner, one.steps, own.number))
    back = one.steps[order] - 1
    code = own.partner[order] + (0 if when_due else back * width)
    soon = np.bincount(own.number[one.steps == 1], minlength=many)
    edges = own.begin[-1:]
    begin = np.concatenate([own.begin, edges])  # the last row is empty
    near = np.append(own.begin[:-1] + soon, edges)
    gather = StencilRows("stencil", own.edges, back=None)
    plain = -(-int(edges[0]) // FOUR) * FOUR
    if odd is not None:  # then a row that fills up to four, and all rows once more
        begin = np.concatenate([begin, plain + own.begin])
        near = np.concatenate([near, edges, plain + own.begin[:-1] + soon])
        blank = np.zeros(plain - len(code), np.int64)
        code, back = (np.concatenate([each, blank, each]) for each in (code, back))
        exact = np.zeros(plain)
        exact[: len(order)] = one.weight[order]
        gather.arrays |= {"exact": exact, "per_unit": np.ones(width)}
        gather.arrays["per_unit"][: len(units.unit)] = 1.0 / units.unit
    _add_multiples(gather, multiple[order], odd is not None)
    stencil, home = _of_sources(one, layout, first, odd)
    begins = layout.segment(one.group, variable).start
    block = [[0, begins, begins + len(stencil), 0]]
    gather.arrays |= {
        "block": np.array(block, np.int64),
        "stencil": stencil,
        "home": home,
        "begin": begin,
        "code": as_aligned(code, np.int32),
    }
    degree = np.diff(begin)[stencil]
    gather.limits |= {
        "sources": len(stencil),
        "ahead": width,
        "latency": one.longest,
        "plain": plain,
        "most": int(degree.max()),
    }
    if when_due:
        fits = HISTORY_BYTES // (SPIKE_BYTES * len(own.of))
        most = max(ceil(MOST_HERTZ * one.longest * layout.dt) + 1, fits)
        due.add_bins(gather, due.sorted_bins(begin, back), degree, most)
    else:
        _add_pieces(gather, near, degree, (near - begin[:-1])[stencil])
    gather.cost = of_slots(len(units.unit))
    return gather


def _add_pieces(gather: StencilRows, near: Integers, degree: Integers, close: Integers) -> None:
    """Add where what is due in the next step ends, and how many pieces the rest has at most.

    ``degree`` and ``close`` are the numbers of connections of each source: all, and those due.
    """
    gather.arrays["near"] = near
    gather.limits |= {
        "pieces": int((-(-degree // PIECE)).sum()),
        "near": int(close.sum()),
        "far": int((degree - close).sum()),
    }


def _add_multiples(gather: StencilRows, multiple: NDArray[np.float64], each: bool) -> None:
    """Add one multiple for all entries, or one for each."""
    most = float(np.abs(multiple).max())
    if not each and (multiple == multiple[0]).all() and shared_by(most, True):
        gather.uniform["weight"] = float(multiple[0])
    else:
        gather.arrays["multiple"] = as_aligned(multiple.astype(smallest(most)))


def _of_sources(
    one: StencilSpikes, layout: Layout, first: int, odd: Integers | None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the row and the home of each component of the group of the sources.

    Components of other populations have an empty row.
    """
    circuit, own = layout.circuit, one.sources
    begin = one.links.ends.source.start - int(circuit.starts[one.group])
    size = circuit.groups[one.group].count
    stencil, home = np.full(size, len(own), np.int32), np.zeros(size, np.int32)
    row = own.of.copy()
    if odd is not None:
        row[odd] += len(own) + 2
    stencil[begin : begin + len(row)] = row
    home[begin : begin + len(row)] = own.home + np.int32(first)
    return stencil, home
