"""``recording.spikes``: events that can also be called for the times of each uid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..model.kinds import SPIKES
from .events import Events

if TYPE_CHECKING:
    from .recording import Recording


class SpikeEvents(Events):
    """The events of ``spike_state``, and a function that returns spikes by uid.

    ``recording.spikes.time`` and ``.index`` are the columns of `Events`, and `activity`,
    `train_measures` and `plot_populations` take the object itself. ``recording.spikes()`` is a dict
    of uid -> times. Nothing is read before it is asked for.
    """

    _cut = False

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @property
    def duration(self) -> float | None:
        """Time simulated, s; None for the events of a window of time."""
        return None if self._cut else self._recording.duration

    def between(self, start: float = 0.0, stop: float = np.inf) -> Events:
        return super().between(start, stop)._changed(_cut=True)

    def __getattr__(self, name: str) -> Any:
        # The attributes of `Events` come with the first use: a recording may hold no spikes.
        if name not in ("_labels", "_data", "_bounds"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        vars(self).update(vars(self._recording.as_events(SPIKES)))
        return vars(self)[name]

    def __call__(
        self, uids: str | Sequence[str] | None = None, variable: str = SPIKES
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the times of the events of each uid, s, ascending; empty arrays included.

        Parameters
        ----------
        uids : str or sequence of str, optional
            Components or populations, in the order wanted; all by default.
        variable : str
            Any variable with events.
        """
        events: Events = self if variable == SPIKES else self._recording.as_events(variable)
        if uids is not None:
            events = events[[uids] if isinstance(uids, str) else list(uids)]
        return events.trains()


class TimeAxis(np.ndarray[Any, np.dtype[np.float64]]):
    """Times of rows, (rows,) float64, s; called with a variable, it returns that one's times."""

    _recording: Recording | None = None

    def __call__(self, variable: str) -> npt.NDArray[np.float64]:
        """Return the times of the rows of a variable, (rows,) float64, s."""
        if self._recording is None:
            raise TypeError("only recording.time itself can be called, with a variable")
        return self._recording.data(variable).time
