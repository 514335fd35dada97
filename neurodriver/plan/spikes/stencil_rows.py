"""Spikes along stencils on a GPU: the warp that computes a spike delivers it.

A source has the number of a *row* and its home. All sources of one stencil share a row, which lists
slots counted from the home. So a row is read as the stored connections of a source are
(`codegen.simt.spike_delivery`), and the home is added to each slot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...native.buffers import as_aligned, padded
from ..layout import Layout
from .fanout import PIECE, per_slice, shared_by, smallest
from .stencils import Integers, StencilPlan, StencilSpikes
from .weights import Units

FOUR = 4
"""Connections that a thread loads together."""


@dataclass
class StencilRows(StencilPlan):
    """The plan of a projection along stencils, on a GPU.

    Arrays: of each component of the group of the sources its row and its home; of each row its
    begin, and where the entries end that are due in the next step; of each entry its slot less the
    home, and its multiple. Where units of targets differ, the rows of sources with an unusual one
    among their targets follow the others, from entry ``plain`` on. Their multiples follow from
    weights ``exact`` and from ``per_unit``, 1 over each target's unit, both in double precision.
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
        ends = self.arrays["begin"].astype(np.int64)
        begin = self.arrays["near"][row].astype(np.int64) if late else ends[row]
        size = ends[row + 1] - begin
        which = np.repeat(np.arange(len(row)), size)
        entry = np.arange(len(which)) + np.repeat(begin - (np.cumsum(size) - size), size)
        slot = self.arrays["home"][sources].astype(np.int64)[which] + self.arrays["code"][entry]
        back, target = np.divmod(slot, self.limits["ahead"])
        multiple = np.full(len(which), int(self.uniform.get("weight", 0.0)))
        if "multiple" in self.arrays:
            kept = self.arrays["multiple"]
            multiple = kept[np.minimum(entry, len(kept) - 1)].astype(np.int64)
        if "exact" in self.arrays:
            odd = entry >= self.limits["plain"]
            exact = self.arrays["exact"][entry[odd] - self.limits["plain"]]
            multiple[odd] = np.rint(exact * self.arrays["per_unit"][target[odd]])
        return which, target, multiple, back


def rows_of_stencils(
    one: StencilSpikes, layout: Layout, number: int, variable: str, units: Units
) -> StencilRows:
    """Return the plan for a GPU, into some components of a group."""
    own, circuit = one.sources, layout.circuit
    width, many = padded(len(units.unit)), len(own)
    first = one.links.ends.target.start - int(circuit.starts[number])
    mine = slice(first, first + len(one.targets.of))
    multiple, odd = one.in_units(units, mine)
    order = np.lexsort((own.partner, one.steps, own.number))
    code = ((one.steps - 1) * width + own.partner)[order]
    soon = np.bincount(own.number[one.steps == 1], minlength=many)
    edges = own.begin[-1:]
    begin = np.concatenate([own.begin, edges])  # the last row is empty
    near = np.append(own.begin[:-1] + soon, edges)
    gather = StencilRows("stencil", own.edges, back=None)
    plain = -(-int(edges[0]) // FOUR) * FOUR
    if odd is not None:  # then a row that fills up to four, and all rows once more
        begin = np.concatenate([begin, plain + own.begin])
        near = np.concatenate([near, edges, plain + own.begin[:-1] + soon])
        code = np.concatenate([code, np.zeros(plain - len(code), code.dtype), code])
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
        "near": near,
        "code": as_aligned(code, np.int32),
    }
    degree = np.diff(begin)[stencil]
    close = (near - begin[:-1])[stencil]
    gather.limits |= {
        "sources": len(stencil),
        "ahead": width,
        "latency": one.longest,
        "plain": plain,
        "most": int(degree.max()),
        "pieces": int((-(-degree // PIECE)).sum()),
        "near": int(close.sum()),
        "far": int((degree - close).sum()),
    }
    inputs = np.zeros(len(units.unit), np.int64)
    inputs[mine] = np.diff(one.targets.begin)[one.targets.of]
    gather.cost = per_slice(inputs)
    return gather


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
