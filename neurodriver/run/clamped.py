"""Values that synapses would have sent and that were too large, told of at the end of a run."""

from __future__ import annotations

import warnings

import numpy as np

from ..backends.base import Backend
from ..circuit.plastic import MARGIN, learning_connections
from ..circuit.validate import edge_name
from ..errors import CircuitWarning, quoted
from ..state.synapses import SynapseNames, Synapses


class ClampedValues:
    """Counts the values that connections which learn have clamped in a run."""

    def __init__(self, backend: Backend) -> None:
        circuit = backend.program.circuit
        self._synapses = [Synapses(backend, links) for links in learning_connections(circuit)]
        self._reported = [0] * len(self._synapses)

    def begin_run(self) -> None:
        """Count from here on."""
        self._reported = [synapses.clamped() for synapses in self._synapses]

    def finish(self) -> None:
        """Warn of the values that have been clamped since the run began."""
        for number, synapses in enumerate(self._synapses):
            count = synapses.clamped()
            if more := count - self._reported[number]:
                warnings.warn(_said(synapses, more), CircuitWarning, stacklevel=2)
            self._reported[number] = count


def _said(synapses: Synapses, count: int) -> str:
    links, circuit = synapses.links, synapses.backend.program.circuit
    weight = synapses.read("weight")
    largest = int(np.argmax(np.abs(weight)))
    limit = max(getattr(part.plan, "largest", 0.0) for part in synapses.parts)
    why = "which bounds and first weights give"
    if synapses.rule.limits is None:
        why = f"{MARGIN:g} times the largest first weight"
    why = "which 'largest' gives" if "largest" in links.data else why
    name = edge_name(*SynapseNames(circuit, links)[largest])
    return (
        f"{circuit.name}: connections {quoted(links.name)}: {count:,} values that synapses sent "
        f"were clamped to {limit:g}, {why}; the largest weight is {weight[largest]:g} now, of "
        f"{name}; give the projection a larger 'largest', or the rule bounds"
    )
