"""Base of inputs that a user computes step by step in Python."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..circuit.uids import Who
from ..errors import InputError
from .base import Chunk, EventChunk, Input


class UserInput(Input):
    """Asks its own ``update_input`` for the values of each step, right before the step.

    The step loop then returns to Python at every step, which costs some microseconds each.

    Parameters
    ----------
    var_list : sequence of (variable, uids)
    mode : {0, 1}
        When no input is available: 0 injects zero, 1 repeats the last values.

    Attributes
    ----------
    variables : dict
        Variable -> ``{"uids": list, "input": (n,) array}``; ``update_input`` fills ``input``.
    lpu : LPU
        The LPU that runs, for inputs that depend on its state.
    """

    per_step = True

    def __init__(self, var_list: Sequence[tuple[str, Who]], mode: int = 0) -> None:
        super().__init__(var_list)
        if mode not in (0, 1):
            name = type(self).__name__
            raise InputError(f"{name}: mode must be 0 (zero) or 1 (repeat), got {mode!r}")
        names = [variable for variable, _ in self.targets]
        if len(set(names)) < len(names):
            name = type(self).__name__
            raise InputError(f"{name}: each variable once, with all its uids; got {names}")
        self.mode = mode
        self.lpu: Any = None
        self.variables: dict[str, dict[str, Any]] = {}
        self._asked = -1
        self._available = False

    def attach(self, lpu: Any) -> None:
        super().attach(lpu)
        self.lpu = lpu

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self._asked = -1
        for variable, uids in self.targets:
            self.variables[variable] = {"uids": list(uids), "input": np.zeros(len(uids), dtype)}

    @abstractmethod
    def update_input(self) -> None:
        """Fill ``variables[variable]["input"]`` for the step at hand."""

    def is_input_available(self) -> bool:
        """Whether there are values for the step at hand."""
        return True

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        if self._asked != first:
            self._asked = first
            self._available = self.is_input_available()
            if self._available:
                self.update_input()
        variable, uids = self.targets[number]
        values = np.asarray(self.variables[variable]["input"], dtype=self.dtype)
        if values.shape != (len(uids),) or not np.isfinite(values).all():
            want = f"{len(uids)} finite numbers"
            message = f"'{variable}' at step {first}: {want} are needed, got {values!r:.80}"
            raise InputError(f"{type(self).__name__}, {message}")
        inject = self._available or self.mode == 1
        return Chunk(values[None, :].copy(), np.array([0 if inject else -1], dtype=np.int32))
