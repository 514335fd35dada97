"""``QueuedCalls``: calls that nothing enters or leaves, each of them one launch.

PyTorch computes on the default stream of a GPU. Where it shares the memory of an LPU there, the
next call is queued on that stream: it begins when PyTorch has read the memory, and what PyTorch
does next begins when the call is done. So the host waits for neither. Otherwise the host waits for
a call at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .executors import Resident

if TYPE_CHECKING:
    from .backend import CUDABackend

MOST_QUEUED = 64
"""Steps of queued calls, before one waits: then the host hears of values that are not finite."""

DEFAULT = 1
"""The default stream, as DLPack numbers it."""


class QueuedCalls:
    """Begins calls of a backend that nothing enters or leaves.

    Attributes
    ----------
    steps : int
        Steps of all these calls.
    """

    def __init__(self, owner: CUDABackend) -> None:
        self._owner, self._device = owner, owner.device
        self.steps, self._heard, self._left = 0, 0, MOST_QUEUED
        self._streams: set[int | None] = set()  # on which the memory is used since the last call
        with owner.device.current():
            self._words = owner.device.pinned(8, np.int64)

    def follow(self, stream: int | None) -> None:
        """Let another library use the memory on a stream, as DLPack numbers them; -1: unknown.

        On the default stream it stands behind the queued calls anyway.
        """
        self._streams.add(DEFAULT if stream is None else stream)
        if stream not in (None, DEFAULT) and self._device.busy:
            with self._device.current():
                self._device.synchronize()

    def possible(self) -> bool:
        """Whether a call is one launch, which leaves nothing for the host but what it found."""
        own = self._owner
        shape, staging = own.plan.shape, own.staging
        return (
            isinstance(own.launches.executor, Resident)
            and not (shape.gates or shape.due or shape.adds or shape.copies or own.stepwise)
            and not any(staging.counts)
        )

    @property
    def waiting(self) -> bool:
        """Whether some have begun for which nobody has waited."""
        return self._heard != self.steps

    def begin(self, first: int, steps: int, brief: bool) -> bool:
        """Queue the steps from step ``first`` on, if another library is followed.

        Else do them if they are ``brief``. Return whether either was done. An interrupt may come
        anywhere: ``steps`` counts what has begun.
        """
        own, device = self._owner, self._device
        follows = self._streams == {DEFAULT} and steps <= self._left and own.plan.width != "grid"
        self._streams.clear()
        if own.phases_done or not (follows or brief):
            self._left = MOST_QUEUED
            return False
        own.check_open()
        self._left = self._left - steps if follows else MOST_QUEUED
        device.answers.clear()
        with device.current():
            try:
                begin = own.launches.follow if follows else own.launches.advance
                begin(first, first + steps)
            finally:
                if device.answers:
                    self.steps += steps
            if not follows:
                self._hear()
        return True

    def land(self) -> None:
        """Wait for the queued calls, and take what they found."""
        if self.waiting:  # that nothing runs does not mean that all were heard of
            with self._device.current():
                self._hear()

    def _hear(self) -> None:
        """Wait for all calls that have begun, and take what they found."""
        self._owner.findings.receive(self._words)
        self._device.wait()
        self._owner.findings.take(self._words)
        self._heard = self.steps
