"""``Behind``: work that begins behind the last of some steps."""

from __future__ import annotations

from collections.abc import Callable

from ..backends.base import Backend
from .findings import CopyWatches

Work = Callable[[], None]


class Behind:
    """Work that begins behind the last of some steps, once.

    A device gets it as soon as these steps have begun, so the device goes on at once. There it may
    only begin what waits for the steps. It is begun although they may fail. Elsewhere it is done
    when the steps are done without failure. If they end early, it is left out.

    Parameters
    ----------
    end : int
        The step after the last one.
    findings : CopyWatches
        It begins to read what synapses have counted.
    work : callable, optional
    """

    def __init__(self, end: int, findings: CopyWatches, work: Work | None) -> None:
        self.end, self._findings, self._work, self._begun = end, findings, work, False

    def begin(self) -> None:
        """Begin; the last steps have begun on a device."""
        self._begun = True
        self._findings.begin(self.end)
        if self._work is not None:
            self._work()

    def check(self, backend: Backend, step: int) -> None:
        """Look at what has been found, as all steps before ``step`` are done."""
        self._findings.check(backend, step, self._begun)

    def completed(self, step: int) -> None:
        """Do the work where no device has begun it, as all steps before ``step`` are done."""
        if self._work is not None and not self._begun and step == self.end:
            self._work()
