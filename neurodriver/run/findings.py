"""What kernels find and print while they run, looked at after each call."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

import numpy as np

from ..backends.base import Backend, Batched
from ..circuit.plastic import MARGIN, learning_connections
from ..circuit.validate import edge_name
from ..errors import CircuitWarning, quoted
from ..plan.program import Program
from ..state.synapses import SynapseNames, Synapses
from .nonfinite import FirstNonFinite
from .printed import Printed


class Watch:
    """Acts on what kernels write for the user: values that are not finite, lines of ``PRINT``.

    Parameters
    ----------
    program : Program
    policy : {"raise", "warn", "off"}
        What happens at a value that is not finite.
    said : str
        What messages begin with.

    Attributes
    ----------
    waits : bool
        Whether each call has to complete before the next one begins.
    longest : int
        Steps of a call at most.
    """

    def __init__(self, program: Program, policy: str, said: str = "") -> None:
        self._nonfinite = FirstNonFinite(program, policy, said)
        self._printed = Printed(program, said)
        self._clamped: ClampedValues | None = None
        self._circuit = program.circuit
        self.waits, self.longest = self._printed.on, self._printed.longest

    def begin_run(self, backend: Backend) -> None:
        """Begin anew where the last run has found something."""
        self._nonfinite.begin_run(backend)
        self._clamped = ClampedValues(backend)
        self._clamped.begin_run()

    def check(self, backend: Backend) -> None:
        """Look at what the completed calls have found.

        Raises
        ------
        NonFiniteError, LPUExecutionError
            Where that ends the run.
        """
        self._printed.check(backend)
        self._nonfinite.check(backend)

    def belongs_to(self, scope: str | None) -> bool:
        """Whether an LPU has the component that has ended the run."""
        number = self._nonfinite.number if self._printed.number is None else self._printed.number
        return number is not None and bool(self._circuit.members(scope)[number])

    def finish(self) -> None:
        """Say how many lines were left out, and what synapses have clamped."""
        self._printed.finish()
        if self._clamped is not None:
            self._clamped.finish()


class CopyWatches:
    """Does what `Watch` does, for each copy of a batch.

    Parameters
    ----------
    program : Program
        One of them: they say the same of components and variables.
    policy : {"raise", "warn", "off"}
    copies : int
        0 without a batch.
    """

    def __init__(self, program: Program, policy: str, copies: int = 0) -> None:
        self._batch = copies > 0
        said = [f"copy {copy}: " for copy in range(copies)] or [""]
        self._watches = [Watch(program, policy, one) for one in said]
        self.waits, self.longest = self._watches[0].waits, self._watches[0].longest

    def begin_run(self, backend: Backend) -> None:
        """Begin anew where the last run has found something."""
        for watch, one in zip(self._watches, self._copies(backend), strict=True):
            watch.begin_run(one)

    def check(self, backend: Backend) -> None:
        """Look at what the completed calls have found in any copy."""
        for watch, one in zip(self._watches, self._copies(backend), strict=True):
            watch.check(one)

    def _copies(self, backend: Backend) -> Sequence[Backend]:
        return cast(Batched, backend).copies if self._batch else [backend]

    def belongs_to(self, scope: str | None) -> bool:
        """Whether an LPU has the component that has ended the run."""
        return any(watch.belongs_to(scope) for watch in self._watches)

    def finish(self) -> None:
        """Say how many lines were left out."""
        for watch in self._watches:
            watch.finish()


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
