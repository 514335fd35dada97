"""``Behind``: work that begins behind the last of some steps."""

from __future__ import annotations

from collections.abc import Callable

from ..backends.base import Backend
from .findings import CopyWatches

Work = Callable[[], None]


class Behind:
    """Work that begins behind the last of some steps, once.

    On a device the work is queued as soon as the steps are queued. So the device does not wait for
    the host between them. The work may only queue something in the stream of the steps. It is
    queued also where the steps fail afterwards. On a CPU the work is done after the steps, unless
    they fail. If the steps end early, the work is left out.

    Parameters
    ----------
    end : int
        The step after the last one.
    findings : CopyWatches
        It begins to read whether synapses have found values that are no numbers.
    work : callable, optional
    """

    def __init__(self, end: int, findings: CopyWatches, work: Work | None) -> None:
        self.end, self._findings, self._work, self._begun = end, findings, work, False

    @property
    def some(self) -> bool:
        """Whether there is anything to begin on a device."""
        return self._work is not None or self._findings.reads(self.end)

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
