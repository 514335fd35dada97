"""What kernels find and print while they run, looked at after each call."""

from __future__ import annotations

from ..backends.base import Backend
from ..plan.program import Program
from .nonfinite import FirstNonFinite
from .printed import Printed


class Watch:
    """Acts on what kernels write for the user: values that are not finite, lines of ``PRINT``.

    Parameters
    ----------
    program : Program
    policy : {"raise", "warn", "off"}
        What happens at a value that is not finite.

    Attributes
    ----------
    waits : bool
        Whether each call has to complete before the next one begins.
    longest : int
        Steps of a call at most.
    """

    def __init__(self, program: Program, policy: str) -> None:
        self._nonfinite, self._printed = FirstNonFinite(program, policy), Printed(program)
        self._circuit = program.circuit
        self.waits, self.longest = self._printed.on, self._printed.longest

    def begin_run(self, backend: Backend) -> None:
        """Begin anew where the last run has found something."""
        self._nonfinite.begin_run(backend)

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
        """Say how many lines were left out."""
        self._printed.finish()
