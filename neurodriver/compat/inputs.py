"""The old input processors, under their old names and signatures, as inputs of an LPU."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..inputs.base import Input, uid_list
from ..inputs.random import BernoulliInput
from ..inputs.waveforms import RampInput, StepInput
from .array_inputs import ArrayInputProcessor as ArrayInputProcessor
from .array_inputs import FileInputProcessor as FileInputProcessor
from .array_inputs import PresynapticInputProcessor as PresynapticInputProcessor
from .input_base import BaseInputProcessor as BaseInputProcessor
from .input_base import ReadyInputProcessor


class StepInputProcessor(ReadyInputProcessor):
    """Injects ``val`` at every step with ``start <= step * dt < stop``; see `StepInput`."""

    def __init__(
        self,
        variable: str,
        uids: Sequence[str],
        val: ArrayLike,
        start: float,
        stop: float,
        input_file: Any = None,
        input_interval: int = 1,
        sensory_file: Any = None,
        sensory_interval: int = 1,
    ) -> None:
        super().__init__(
            [(variable, uids)],
            input_file=input_file,
            input_interval=input_interval,
            sensory_file=sensory_file,
            sensory_interval=sensory_interval,
        )
        self.var, self.val, self.start, self.stop = variable, val, start, stop
        self.num = len(uid_list(uids))
        self._native()  # wrong arguments are told now

    def _native(self) -> Input:
        return StepInput(self.var, _uids(self, self.var), self.val, self.start, self.stop)


class RampInputProcessor(ReadyInputProcessor):
    """Injects a value that goes linearly from one to another; see `RampInput`."""

    def __init__(
        self,
        variable: str,
        uids: Sequence[str],
        start_time: float,
        duration: float,
        start_value: ArrayLike,
        stop_value: ArrayLike,
    ) -> None:
        super().__init__([(variable, uids)])
        self.var, self.start_time, self.duration = variable, start_time, duration
        self.start_value, self.stop_value = start_value, stop_value
        self.num = len(uid_list(uids))
        self._native()

    def _native(self) -> Input:
        times = self.start_time, self.duration
        return RampInput(self.var, _uids(self, self.var), *times, self.start_value, self.stop_value)


class BernoulliInputProcessor(ReadyInputProcessor):
    """Injects 1 with probability ``p`` at each step, else 0; see `BernoulliInput`.

    The numbers depend on the seed, the uid and the step; they are not those of the old library,
    which depended on the processor. Without a seed they differ from run to run; ``seed`` then
    holds the one that was taken.
    """

    def __init__(
        self,
        variable: str,
        uids: Sequence[str],
        p: ArrayLike,
        start: float,
        stop: float,
        seed: int | None = None,
    ) -> None:
        super().__init__([(variable, uids)])
        self.var, self.p, self.start, self.stop = variable, p, start, stop
        self.num = len(uid_list(uids))
        self.seed = secrets.randbits(32) if seed is None else seed
        self._native()

    def _native(self) -> Input:
        seed: Any = self.seed
        if isinstance(seed, int | np.integer) and seed < 0:
            seed = int(seed) % 2**64  # any integer was good
        span = self.start, self.stop
        return BernoulliInput(self.var, _uids(self, self.var), self.p, *span, seed)


def _uids(processor: BaseInputProcessor, variable: str) -> list[str]:
    """Return the uids that a processor injects a variable into."""
    entry = processor.variables.get(variable)
    return entry["uids"] if entry else []
