"""What happens at the first value that is not finite: the run ends, or goes on with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..codegen.finite import watched
from ..errors import CircuitWarning, NeurodriverError, NonFiniteError
from ..plan.diagnostics import FAULT, NO_FAULT, Diagnostics
from ..plan.program import Program

POLICIES = ("raise", "warn", "off")
"""What ``LPU(nonfinite=...)`` may be."""


def check_policy(policy: str) -> None:
    """Raise NeurodriverError where a policy is none."""
    if not isinstance(policy, str) or policy not in POLICIES:
        known = ", ".join(map(repr, POLICIES))
        raise NeurodriverError(f"nonfinite must be one of {known}, got {policy!r}")


def strictest(policies: Iterable[str]) -> str:
    """Return the policy of several LPUs that run together."""
    return min(policies, key=POLICIES.index, default="off")


def watching(policy: str, debug: bool) -> Diagnostics:
    """Return what kernels have to watch for a policy, and whether they print."""
    return Diagnostics(finite=policy != "off", debug=debug)


class FirstNonFinite:
    """Tells of the first value of a program that is NaN or infinite.

    Parameters
    ----------
    policy : {"raise", "warn", "off"}
    said : str
        What messages begin with.

    Attributes
    ----------
    number : int or None
        Component of the circuit that was raised for.
    """

    def __init__(self, program: Program, policy: str, said: str = "") -> None:
        self._program, self._policy, self._said = program, policy, said
        self.number: int | None = None
        self._on = self._waiting = policy != "off" and FAULT in program.arrays

    def begin_run(self, backend: Backend) -> None:
        """Look for the first value of a run, whatever the last one has found."""
        if self._on and not self._waiting:
            backend.findings.forget()
            self._waiting, self.number = True, None

    def check(self, backend: Backend) -> None:
        """Raise NonFiniteError, or warn once, where the completed calls have found a value."""
        if not self._waiting:
            return
        fault = backend.findings.fault()
        if fault[1] == NO_FAULT:
            return
        self._waiting = False
        step = int(fault[1]) + 1
        number = int(fault[2])
        message = self._message(step, number, int(fault[3]), fault[4:7])
        if self._policy == "raise":
            self.number = number
            raise NonFiniteError(message, step=step)
        warnings.warn(message, CircuitWarning, stacklevel=4)

    def _message(self, step: int, number: int, which: int, record: NDArray[np.int64]) -> str:
        circuit, dt = self._program.circuit, self._program.dt
        group = circuit.groups[int(circuit.group_of(number))]
        name = watched(group.model)[which]
        before, now = (float(value) for value in record[1:].view(np.float64))
        earlier = f", at step {step - 1:,} it was {before:.7g}" if record[0] else ""
        advice = "take a smaller dt, or look at its parameters, weights and inputs"
        if self._policy == "raise":
            advice += "; nonfinite='warn' goes on"
        return (
            f"{self._said}{name} of "
            f"'{circuit.uids[number]}' ({group.name}) is {now} at step {step:,} "
            f"({step * dt:g} s){earlier}; {advice}"
        )
