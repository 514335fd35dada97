"""The ports of every LPU, as columns that all ranks know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column
from ..plan.passes.join import port_sources

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PortColumns:
    """Ports of one LPU.

    Attributes
    ----------
    selector : (n,) str
        Each as ``/a/b/0``.
    number : (n,) int64
        Components in the LPU's circuit.
    out : (n,) bool
        Output ports.
    spike : (n,) bool
        Spike ports; the others are graded.
    variable : (n,) str
        What an output port publishes; empty where no edge leads to it.
    steps : (n,) int64
        Latency of that edge.
    """

    selector: Column
    number: Numbers
    out: NDArray[np.bool_]
    spike: NDArray[np.bool_]
    variable: Column
    steps: Numbers

    def find(self, selectors: Column) -> Numbers:
        """Return the row of each selector, -1 where there is none."""
        if not len(self.selector):
            return np.full(len(selectors), -1, dtype=np.int64)
        order = np.argsort(self.selector, kind="stable")
        known = self.selector[order]
        at = np.minimum(np.searchsorted(known, selectors), len(known) - 1)
        return np.where(known[at] == selectors, order[at], -1)


def port_table(circuit: Circuit, dt: float) -> PortColumns:
    """Return the ports of a circuit."""
    rows = [
        (g, int(circuit.starts[g]) + np.arange(group.count, dtype=np.int64))
        for g, group in enumerate(circuit.groups)
        if group.is_port and group.labels
    ]
    if not rows:
        none, empty = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        text = np.empty(0, dtype="U1")
        return PortColumns(text, none, empty, empty, text, none)
    labels = {
        name: np.concatenate([circuit.groups[g].labels[name] for g, _ in rows])
        for name in ("selector", "port_io", "port_type")
    }
    number = np.concatenate([n for _, n in rows])
    known = port_sources(circuit, dt)
    variable = np.full(len(number), "", dtype=known.variable.dtype)
    steps = np.ones(len(number), dtype=np.int64)
    if len(known.port):
        at = np.minimum(np.searchsorted(known.port, number), len(known.port) - 1)
        fed = known.port[at] == number
        variable[fed] = known.variable[at[fed]]
        steps[fed] = known.steps[at[fed]]
    out, spike = labels["port_io"] == "out", labels["port_type"] == "spike"
    return PortColumns(canonical(labels["selector"]), number, out, spike, variable, steps)


def canonical(selectors: Column) -> Column:
    """Return port identifiers in one spelling, every level after a slash."""
    odd = np.flatnonzero(np.strings.find(selectors, "[") >= 0)
    if not len(odd):
        return selectors
    from ..ports import Selector

    plain = [Selector(selectors[i]).identifiers[0] for i in odd.tolist()]
    out = selectors.astype(f"U{max(selectors.dtype.itemsize // 4, *map(len, plain))}")
    out[odd] = plain
    return out
