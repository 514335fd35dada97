"""Long-term averages of the activity of units, and the target averages that units approach.

Those of units change by texts, beside the weights. Those of layers are computed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neurodriver.backends.synapse_tables import SynapseSet

from .layers import NetworkLayer
from .network import Network
from .starts import first_averages

if TYPE_CHECKING:
    from .changes import PathSynapses

Reals = NDArray[np.float64]

LEAST = 1e-4
"""A mean activity below this value counts as no activity."""

TOO_LOW, MOST_STEP = 0.8, 0.01
"""Inhibition falls if activity is below nominal by more than this share; largest change of it."""

TOGETHER = 64
"""Units of which a thread, or a warp of a GPU, computes the average activities."""

ACTIVITY, TARGET = "activity", "target average"
"""Names of texts. Those that apply the changes begin with ``apply``."""


def average_name(layer: NetworkLayer, text: str) -> str:
    """Return the name of the set with the averages of a layer."""
    return f"{layer.name}.{text}"


def average_sets(network: Network, layer: NetworkLayer) -> dict[str, SynapseSet]:
    """Return the averages of a layer by the names of their texts; each unit is a source.

    The mean change of the target averages is that over a target: over a sub-pool where sub-pools
    inhibit, and else over the layer. Layers that are not balanced have fixed target averages.
    """
    own, n = network.parameters(layer), layer.count
    target = first_averages(network, layer)
    numbers = {name: own[name] for name in ("tau_average", "trg_rate", "trg_sub_mean")}
    pools = layer.pools if own["pool_inhibits"] else 1
    units = np.arange(n, dtype=np.int32)

    def made(size: int, **values: Reals) -> SynapseSet:
        first = np.append(np.arange(0, n, size), n)
        return SynapseSet(first, units, values, numbers)

    found = {ACTIVITY: made(TOGETHER, activity=float(own["nominal"]) * target)}
    return found | ({TARGET: made(n // pools, target=target)} if layer.balanced else {})


class Averages:
    """Averages of a layer over trials.

    Parameters
    ----------
    own : mapping of str to float
        Parameters of the layer.
    target : (units,) float64
        Initial target averages; in layers that are not balanced they do not change.
    synapses : PathSynapses
        Has the averages of units.

    Attributes
    ----------
    mean : float
        ActMAvg: long-term average of the layer's mean activity.
    gi_mult : float
        GiMult: factor of the inhibition of the layer.
    on : (units,) bool
        Units that are not switched off.
    """

    def __init__(
        self,
        layer: NetworkLayer,
        own: Mapping[str, float | bool],
        target: Reals,
        synapses: PathSynapses,
    ) -> None:
        self._layer, self._own, self._synapses, self._fixed = layer, own, synapses, target
        self.mean, self.gi_mult = float(own["nominal"]), float(own["gi_mult"])
        self.on = np.ones(layer.count, bool)

    @property
    def target(self) -> Reals:
        """TrgAvg: average activity that a unit approaches, relative to its layer, (units,)."""
        if not self._layer.balanced:
            return self._fixed
        return self._synapses.read(average_name(self._layer, TARGET), "target")

    @target.setter
    def target(self, values: Reals) -> None:
        if not self._layer.balanced:
            self._fixed = values
            return
        self._synapses.set(average_name(self._layer, TARGET), "target", values)

    @property
    def activity(self) -> Reals:
        """ActAvg: long-term average of ActM, (units,)."""
        return self._synapses.read(average_name(self._layer, ACTIVITY), "activity")

    @activity.setter
    def activity(self, values: Reals) -> None:
        self._synapses.set(average_name(self._layer, ACTIVITY), "activity", values)

    def add_mean(self, mean: float) -> None:
        """Let the long-term average follow a mean activity of the layer, the mean over items."""
        if mean >= LEAST:
            self.mean += (mean - self.mean) / float(self._own["tau_average"])

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

        It is 0 where there is no activity, in units that are switched off, and in layers whose
        target averages do not change.
        """
        activity = self.activity
        mean = _means(activity, self._layer.pools, self.on)
        none = (mean < LEAST) | ~self.on | (not self._layer.balanced)
        out: Reals = np.where(none, 0.0, activity / np.where(none, 1, mean) - self.target)
        return out


def _means(values: Reals, pools: int, on: NDArray[np.bool_]) -> Reals:
    """Return for each unit the mean over the units of its sub-pool that are on."""
    parts = values.reshape(pools, -1)
    if on.all():
        return np.repeat(parts.mean(axis=1), parts.shape[1])
    there = on.reshape(pools, -1)
    means = np.where(there, parts, 0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return np.repeat(means, parts.shape[1])
