"""``CallLength``: how many steps one call into compiled code takes."""

from __future__ import annotations

from collections.abc import Sequence

from ..backends.base import Backend
from .execution import RecorderFeed
from .in_flight import CallsInFlight

CALL_SECONDS = 0.03
"""Length of one call into compiled code: short enough for Ctrl-C, long enough to be cheap."""

LONGER = 1.5
"""How many times as long a call may be where it is the last one: each has work for the host."""

AHEAD_SECONDS, LAST_SECONDS = 0.004, 0.0002
"""Length of a call that begins before the one before has completed, and of the last one of some
steps: the host takes what a call has recorded while the next one runs."""

LAST_SECONDS_OF_PARTS = 0.008
"""Length of the last call of the parts of a circuit, whose calls are `CALL_SECONDS` long. The host
needs a millisecond or two for a call of all parts, as their threads take turns, and a GPU whose
call begins late keeps the others waiting."""

_BUFFER = 16 << 20
"""Bytes of rows of one call: what is written soon after is still in a cache."""


class CallLength:
    """Chooses the lengths of calls from the time that the last ones took.

    Parameters
    ----------
    most : int
        Steps of a call at most.
    parts : bool
        Whether others compute parts of the same circuit.

    Attributes
    ----------
    fixed : int or None
        A length for all calls, whatever time they take; for tests.
    """

    fixed: int | None = None

    def __init__(
        self,
        backend: Backend,
        calls: CallsInFlight,
        feeds: Sequence[RecorderFeed],
        most: int,
        parts: bool = False,
    ) -> None:
        self._backend, self._calls, self._feeds, self._parts = backend, calls, feeds, parts
        size = sum(feed.row_bytes // feed.recorder.sample_interval for feed in feeds)
        self._most = min(most, max(1, _BUFFER // size) if size else 1 << 30)

    def steps(self, step: int, left: int) -> int:
        """Return how many of ``left`` steps from ``step`` on the next call should take."""
        limit = min(self._most, self._backend.longest, left)
        for feed in self._feeds:
            limit = min(limit, feed.recorder.longest(step) or limit)
        if self.fixed is not None:
            return min(self.fixed, limit)
        seconds, ahead = self._calls.seconds_per_step, self._calls.ahead
        if not seconds:
            return max(1, min(16, limit))
        wanted, last = AHEAD_SECONDS, LAST_SECONDS
        if self._parts or not ahead:
            wanted, last = CALL_SECONDS, LAST_SECONDS_OF_PARTS
        if ahead:  # what is left to do when the device is done is little
            limit = min(limit, max(left // 2, int(last / seconds)))
        steps = int(wanted / seconds)
        if not ahead and limit == left <= LONGER * steps:
            return limit
        return max(1, min(steps, limit))
