"""What kernels find and print while they run, looked at after each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..backends.base import Backend, Batched
from ..plan.program import Program
from .nonfinite import FirstNonFinite
from .printed import Printed
from .synapse_findings import SynapseCounts, SynapseFindings


class Watch:
    """Acts on what kernels write for the user: values that are not finite, lines of ``PRINT``.

    Parameters
    ----------
    program : Program
    policy : {"raise", "warn", "off"}
        What happens at a value that is not finite.
    counts : SynapseCounts
        Reads what synapses of all copies have counted.
    copy : int
        Which of them this is.
    said : str
        What messages begin with.

    Attributes
    ----------
    waits : bool
        Whether each call has to complete before the next one begins.
    longest : int
        Steps of a call at most.
    """

    def __init__(
        self, program: Program, policy: str, counts: SynapseCounts, copy: int, said: str
    ) -> None:
        self._nonfinite = FirstNonFinite(program, policy, said)
        self._printed = Printed(program, said)
        self._synapses = SynapseFindings(counts, copy, policy, said)
        self._circuit = program.circuit
        self.waits, self.longest = self._printed.on, self._printed.longest

    def begin_run(self, backend: Backend) -> None:
        """Begin anew where the last run has found something."""
        self._nonfinite.begin_run(backend)
        self._synapses.begin_run(backend)

    def check(self, backend: Backend) -> None:
        """Look at what the completed calls have found.

        Raises
        ------
        NonFiniteError, LPUExecutionError
            Where that ends the run.
        """
        self._printed.check(backend)
        self._nonfinite.check(backend)

    def check_synapses(self, step: int) -> None:
        """Look at what synapses have counted.

        Raises
        ------
        NonFiniteError, LPUExecutionError
            Where a run with such results has to end.
        """
        self._synapses.check(step)

    def belongs_to(self, scope: str | None) -> bool:
        """Whether an LPU has the component that has ended the run."""
        found = (self._printed.number, self._nonfinite.number, self._synapses.number)
        number = next((one for one in found if one is not None), None)
        return number is not None and bool(self._circuit.members(scope)[number])

    def finish(self) -> None:
        """Say how many lines were left out, and what synapses have clamped."""
        self._printed.finish()
        self._synapses.finish()


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
        self._batch, self._checked = copies > 0, 0
        said = [f"copy {copy}: " for copy in range(copies)] or [""]
        self._counts = SynapseCounts()
        self._watches = [Watch(program, policy, self._counts, i, one) for i, one in enumerate(said)]
        self.waits, self.longest = self._watches[0].waits, self._watches[0].longest

    def begin_run(self, backend: Backend) -> None:
        """Begin anew where the last run has found something."""
        copies = self._copies(backend)
        self._counts.begin_run(copies)
        for watch, one in zip(self._watches, copies, strict=True):
            watch.begin_run(one)

    def reads(self, step: int) -> bool:
        """Whether `check` will read what synapses have counted until a step."""
        return step - self._checked > 1 and self._counts.some

    def begin(self, step: int) -> None:
        """Begin to read it, behind the steps before."""
        if self.reads(step):
            self._counts.begin()

    def check(self, backend: Backend, step: int | None = None, begun: bool = False) -> None:
        """Look at what the completed calls have found in any copy.

        With a step, these are all calls: look at what synapses have counted, too, but not after
        each of single steps. ``begun``: `begin` was called when these calls had begun.
        """
        for watch, one in zip(self._watches, self._copies(backend), strict=True):
            watch.check(one)
        if step is not None:
            if step - self._checked > 1:
                if not begun:
                    self._counts.begin()
                for watch in self._watches:
                    watch.check_synapses(step)
            self._checked = step

    def _copies(self, backend: Backend) -> Sequence[Backend]:
        return cast(Batched, backend).copies if self._batch else [backend]

    def belongs_to(self, scope: str | None) -> bool:
        """Whether an LPU has the component that has ended the run."""
        return any(watch.belongs_to(scope) for watch in self._watches)

    def finish(self) -> None:
        """Say how many lines were left out, and what synapses have clamped."""
        self._counts.begin()
        for watch in self._watches:
            watch.finish()
