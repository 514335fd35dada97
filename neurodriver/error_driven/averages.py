"""Long averages of the activity of a layer, and the averages that its units aim at."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

LEAST = 1e-4
"""A mean activity that is lower counts as none."""


class Averages:
    """Averages of a layer over trials.

    Parameters
    ----------
    target : (units,) float64
        First target averages.
    own : mapping of str to float
        Parameters of the layer.
    hidden : bool
        Whether target averages change.

    Attributes
    ----------
    target : (units,) float64
        TrgAvg: average activity that a unit aims at, relative to that of its layer.
    target_change : (units,) float64
        DTrgAvg: change of the target since weights were changed last.
    activity : (units,) float64
        ActAvg: long average of ActM.
    mean : float
        ActMAvg: long average of the layer's mean activity.
    """

    def __init__(self, target: Reals, own: Mapping[str, float | bool], hidden: bool) -> None:
        self.target, self.hidden = target, hidden
        self._own = own
        self.target_change = np.zeros(len(target))
        self.activity = float(own["nominal"]) * target
        self.mean = float(own["nominal"])

    def note(self, states: Mapping[str, Reals], learn: bool) -> None:
        """Take up the states at the end of a trial."""
        tau = float(self._own["tau_average"])
        self.activity = self.activity + (states["ActM"] - self.activity) / tau
        mean = float(states["ActBeforeM"].mean())
        if mean >= LEAST:
            self.mean += (mean - self.mean) / tau
        if self.hidden and learn:
            self.target_change += float(self._own["trg_rate"]) * (states["CaP"] - states["CaD"])

    def apply(self) -> None:
        """Change the target averages by what was noted."""
        if not self.hidden:
            return
        change = self.target_change
        change = change - float(self._own["trg_sub_mean"]) * change.mean()
        self.target = np.clip(self.target + change, 0.5, 2)
        self.target_change = np.zeros(len(self.target))

    @property
    def difference(self) -> Reals | None:
        """AvgDif: relative average activity minus the target; None where there is no activity."""
        mean = float(self.activity.mean())
        if not self.hidden or mean < LEAST:
            return None
        out: Reals = self.activity / mean - self.target
        return out
