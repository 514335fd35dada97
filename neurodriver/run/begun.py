"""``Begun``: an LPU whose steps another thread advances while the program goes on."""

from __future__ import annotations

import threading
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Self

from ..errors import NeurodriverError
from .divided import Divided
from .given import count_of_steps
from .interrupts import boundary_of

if TYPE_CHECKING:
    from .simulation import Simulation

_LOOK = 0.1
"""Seconds between two looks for Ctrl-C, where waiting for a thread does not hear of it."""


class Begun:
    """Begins steps, and waits for them before anything else is done with the LPU.

    Attributes
    ----------
    simulation : Simulation
        What advances the circuit. Steps that have begun are done when it is returned.
    """

    managed: bool
    closed: bool = False
    _steps: _Steps | None = None
    _advanced: Simulation

    @property
    def simulation(self) -> Simulation:
        self.wait()
        return self._advanced

    @simulation.setter
    def simulation(self, simulation: Simulation) -> None:
        self._advanced = simulation

    def _simulation(self) -> Simulation:
        """Return what has the values; an LPU that was closed has none."""
        if self.closed:
            raise NeurodriverError("LPU: closed; read what you need before, or make a new one")
        return self.simulation

    def begin(self, steps: int) -> None:
        """Begin to advance ``steps`` steps, and return; `wait` waits until they are done.

        So several LPUs advance at the same time, each on a GPU or on threads of its own. What is
        asked of this LPU meanwhile waits for the steps, too.

        Raises
        ------
        NeurodriverError
            In a Manager, and for a circuit that is computed in several parts.

        Examples
        --------
        >>> for lpu in lpus:  # doctest: +SKIP
        ...     lpu.begin(1000)
        >>> voltages = [lpu["cells"].get("V") for lpu in lpus]  # doctest: +SKIP
        """
        steps = count_of_steps(steps, "LPU.begin: steps")
        simulation = self._simulation()
        if self.managed or isinstance(simulation, Divided):
            which = "an LPU of a Manager" if self.managed else "a circuit in several parts"
            raise NeurodriverError(f"LPU.begin: {which} advances at once; use run() or advance()")
        if not simulation.started:
            simulation.start()
        self._steps = _Steps(simulation, steps)
        try:
            self._steps.thread.start()
        except BaseException:  # Ctrl-C: it may run already
            self._end_early()
            raise

    def wait(self) -> None:
        """Wait until all steps that have begun are done; raise what went wrong in them.

        Ctrl-C ends them after the present step.
        """
        steps = self._steps
        if steps is None or steps.is_mine():
            return
        steps.join()
        if self._steps is not steps:  # another thread has waited, too, and heard what went wrong
            return
        self._steps = None
        if steps.failed is not None:
            raise steps.failed

    def _end_early(self) -> None:
        """End steps that have begun after the present call into compiled code."""
        if self._steps is not None:
            self._steps.boundary.asked = True
            with suppress(KeyboardInterrupt):
                self.wait()

    def close(self) -> None:
        """Close recordings and inputs and end the threads; recordings can still be read.

        Steps that have begun are done before.
        """
        try:
            self.wait()
        finally:
            try:
                self._advanced.close()
            finally:
                self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: Any
    ) -> None:
        try:
            try:
                if error is not None:
                    self._end_early()
            finally:
                self.close()
        except BaseException as failure:
            if failure is not error and failure.__context__ is None:
                failure.__context__ = error  # an ExitStack within has taken it away
            raise


class _Steps:
    """A thread that advances some steps.

    Attributes
    ----------
    boundary : StepBoundary
        Ends the steps early.
    failed : BaseException or None
        What went wrong.
    """

    def __init__(self, simulation: Simulation, steps: int) -> None:
        self.boundary = boundary_of(simulation.backend, simulation.calls)
        self.failed: BaseException | None = None
        self._simulation, self._count = simulation, steps
        run = copy_context().run
        self.thread = threading.Thread(target=run, args=(self._advance,), daemon=True)

    def _advance(self) -> None:
        try:
            self._simulation.advance(self._count, ending=self.boundary)
        except BaseException as error:
            self.failed = error

    def is_mine(self) -> bool:
        """Whether this thread asks, as an input or a recorder does."""
        return threading.current_thread() is self.thread

    def join(self) -> None:
        """Wait until the steps are done; after Ctrl-C, until the present one is."""
        try:
            self._wait()
        except KeyboardInterrupt:
            self.boundary.asked = True
            self.boundary.end_step()
            self._wait()

    def _wait(self) -> None:
        while self.thread.is_alive():
            self.thread.join(_LOOK)
