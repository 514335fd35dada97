"""Long-term averages of the activity of units, and the target averages that units approach."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .network import NetworkLayer
from .whole import Counts, real, whole

Reals = NDArray[np.float64]

LEAST = 1e-4
"""A mean activity below this value counts as no activity."""

TOO_LOW, MOST_STEP = 0.8, 0.01
"""Inhibition falls if activity is below nominal by more than this share; largest change of it."""


class Averages:
    """Averages of a layer over trials.

    Parameters
    ----------
    target : (units,) float64
        Initial target averages.
    own : mapping of str to float
        Parameters of the layer.
    layer : NetworkLayer
        Target averages change in hidden layers only.
    changes : (2 units + 1,) int64
        Sums over items, in multiples of `whole.UNIT`: of the changes of the target averages, of the
        changes of the average activities, and of the layer's mean activity. The caller sums them
        over ranks, and sets them to 0 after `apply`.

    Attributes
    ----------
    target : (units,) float64
        TrgAvg: average activity that a unit approaches, relative to that of its layer.
    activity : (units,) float64
        ActAvg: long-term average of ActM.
    mean : float
        ActMAvg: long-term average of the layer's mean activity.
    gi_mult : float
        GiMult: factor of the inhibition of the layer.
    """

    def __init__(
        self, target: Reals, own: Mapping[str, float | bool], layer: NetworkLayer, changes: Counts
    ) -> None:
        self.target, self._own, self._layer = target, own, layer
        self._of_target, self._of_activity, self._of_mean = np.split(
            changes, [len(target), 2 * len(target)]
        )
        self.activity = float(own["nominal"]) * target
        self.mean, self.gi_mult = float(own["nominal"]), float(own["gi_mult"])

    @property
    def hidden(self) -> bool:
        """Whether target averages change."""
        return self._layer.hidden

    def note(self, states: Mapping[str, Reals]) -> None:
        """Add the changes that follow from the states of one item at the end of a trial."""
        tau = float(self._own["tau_average"])
        self._of_activity += whole((states["ActM"] - self.activity) / tau)
        self._of_mean += whole(states["ActBeforeM"].mean())
        if self.hidden:
            rate = float(self._own["trg_rate"])
            self._of_target += whole(rate * (states["CaP"] - states["CaD"]))

    def apply(self, items: int) -> None:
        """Apply the changes that `note` has added for a number of items."""
        self.activity = self.activity + real(self._of_activity)
        mean = float(real(self._of_mean)[0]) / items
        if mean >= LEAST:
            self.mean += (mean - self.mean) / float(self._own["tau_average"])
        if self.hidden:
            change = real(self._of_target)
            pools = self._layer.pools if self._own["pool_inhibits"] else 1
            change = change - float(self._own["trg_sub_mean"]) * _means(change, pools)
            self.target = np.clip(self.target + change, 0.5, 2)

    def adapt_inhibition(self) -> bool:
        """Change the factor of inhibition if ``gi_adapts``; return whether it has changed.

        It grows if the mean activity is above ``nominal``. It falls if the mean activity is less
        than 20 % of ``nominal``. In between it stays.
        """
        nominal = float(self._own["nominal"])
        if not self._own["gi_adapts"] or self._layer.kind == "input" or nominal <= 0:
            return False
        off = (self.mean - nominal) / nominal
        if -TOO_LOW <= off <= 0:
            return False
        self.gi_mult += float(np.clip(0.1 * off, -MOST_STEP, MOST_STEP))
        return True

    @property
    def difference(self) -> Reals:
        """AvgDif: relative average activity minus target average, (units,).

        It is 0 where there is no activity, and in layers whose target averages do not change.
        """
        mean = _means(self.activity, self._layer.pools)
        none = (mean < LEAST) | (not self.hidden)
        out: Reals = np.where(none, 0.0, self.activity / np.where(none, 1, mean) - self.target)
        return out


def _means(values: Reals, pools: int) -> Reals:
    """Return for each unit the mean of its sub-pool."""
    parts = values.reshape(pools, -1)
    return np.repeat(parts.mean(axis=1), parts.shape[1])
