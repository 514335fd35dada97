"""The ports of every LPU, as columns that all ranks know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column
from ..plan.passes.join import port_sources
from ..ports.spelling import spelled

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PortColumns:
    """Ports of one LPU: columns with an entry for each."""

    selector: Column  # as ``/a/b/0``
    number: Numbers  # components in the LPU's circuit
    out: NDArray[np.bool_]  # output ports
    spike: NDArray[np.bool_]  # spike ports; the others are graded
    variable: Column  # what an output port publishes; empty where no edge leads to it
    steps: Numbers  # latency of that edge

    def find(self, selectors: Column) -> Numbers:
        """Return the row of each selector, -1 where there is none."""
        order = np.argsort(self.selector, kind="stable")
        at = _places(self.selector[order], selectors)
        return np.where(at < 0, at, np.append(order, -1)[at])


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
    source = port_sources(circuit, dt)
    variable = np.full(len(number), "", dtype=source.variable.dtype)
    steps = np.ones(len(number), dtype=np.int64)
    at = _places(source.port, number)
    variable[at >= 0] = source.variable[at[at >= 0]]
    steps[at >= 0] = source.steps[at[at >= 0]]
    out, spike = labels["port_io"] == "out", labels["port_type"] == "spike"
    return PortColumns(spelled(labels["selector"])[0], number, out, spike, variable, steps)


def _places(ascending: NDArray[Any], values: NDArray[Any]) -> Numbers:
    """Return the place of each value in an ascending array, -1 where it is not there."""
    if not len(ascending):
        return np.full(len(values), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.where(ascending[at] == values, at, -1)
