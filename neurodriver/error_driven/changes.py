"""Changes of the weights of a path at the end of a trial, from bins and traces of its layers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .contrast import contrast
from .neuron_text import BIN
from .pairs import SomeSynapses, SynapsePairs
from .starts import Weights
from .whole import Counts, real, whole

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
States = Mapping[str, Reals]

WINDOW = 16
"""Number of bins over which the product of activities is summed in hidden layers: 160 ms."""

PRODUCT = 8 / 16
"""Factor of the sum over the bins of this product."""

LEAST_CAD = 0.1
"""In hidden layers the weights into a unit change only if its CaD is above this value."""


def phase_weights(bins: int, plus: int) -> tuple[Reals, Reals]:
    """Return the weights of the bins in potentiation and in depression, (bins,) each.

    Parameters
    ----------
    bins : int
        Number of bins of a trial.
    plus : int
        Number of bins of the plus phase, which are the last ones.
    """
    p, d = np.zeros(bins), np.zeros(bins)
    first, u = bins - plus, plus
    for i in range(1, u + 1):
        p[first + i - 1] = 0.84 + 2.56 * i / u
        d[first + i - 1] = 1.46 - 0.22 * i / u
    for i, j in enumerate(range(first - 1, -1, -1)):
        late = 0.84 - 0.3 * i / (2 * u - 1)
        early = max(0.84 - 0.6 * u / (2 * u - 1) - 0.7 * (i - 2 * u) / u, 0.0)
        p[j] = late if i < 2 * u else early
        d[j] = 1.46 if i < u else max(1.46 - 1.2 * (i - u) / (u + 1), 0.0)
    return 0.4 * p, 0.4 * d


def rate_factors(states: States, on: bool, least: float) -> Reals:
    """Return the learning rate factor of each receiver, (receivers,).

    It is small if CaD is near 0 or near the greatest CaD of the layer, or if CaP and CaD are alike.

    ``sig = max(4 y (1 - y), least)`` with y = CaD over the greatest CaD of the layer, times
    ``|CaP - CaD| / max(CaP, CaD)``.
    """
    cap, cad = states["CaP"], states["CaD"]
    if not on:
        return np.ones(len(cad))
    greatest = float(states["CaDBefore"].max())
    y = np.minimum(cad / greatest, 1) if greatest > 0 else np.ones(len(cad))
    settled = np.maximum(cap, cad)
    apart = np.abs(cap - cad)
    small = (settled <= 0.1) | (apart < 0.02)
    dif = np.where(small, 0.001, apart / np.where(settled > 0, settled, 1))
    out: Reals = np.maximum(4 * y * (1 - y), least) * dif
    return out


class Learning:
    """The weights of a path, and the rules by which they change.

    Parameters
    ----------
    pairs : SynapsePairs
    weights : Weights
    own : mapping of str to float
        Parameters of the path.
    by_target : bool
        Whether the receiving layer has targets, or is driven in the plus phase.
    context : bool
        Whether the path sends context.
    bins : (int, int)
        Number of bins of a trial, and of the plus phase.
    items : int
        Number of items that are shown at the same time.
    changes : (synapses,) int64
        DWt: changes that `learn` adds up and `apply` applies, in multiples of `whole.UNIT`. The
        caller sums them over ranks, and sets them to 0 after `apply`.
    """

    def __init__(
        self,
        pairs: SynapsePairs,
        weights: Weights,
        own: Mapping[str, float | bool],
        by_target: bool,
        context: bool,
        bins: tuple[int, int],
        items: int,
        changes: Counts,
    ) -> None:
        self.pairs, self.weights, self.own, self.by_target = pairs, weights, own, by_target
        self.context, self.bins, self.changes = context, bins[0], changes
        self.slow = np.zeros(len(pairs))
        """DSWt: sum of the changes since the structural weights were changed last, (synapses,)."""
        averages = not by_target and not own["hebb"] and own["tau_trace"] != 1
        self.traces = np.zeros((items, len(pairs))) if averages else None
        """Averages of products over trials, (items, synapses), where the rule reads them."""
        p, d = phase_weights(*bins)
        self._phases = float(own["cap_scale"]) * p - d

    def learn(self, item: int, sender: States, receiver: States, rate: Reals) -> None:
        """Compute the changes of weights after a trial of one item, and add them to ``changes``.

        Parameters
        ----------
        item : int
            Number of the item.
        sender, receiver : mapping of str to array
            States of both layers at the end of the trial.
        rate : (receivers,) float64
            Learning rate factors, see `rate_factors`.
        """
        active = receiver["CaD"] > LEAST_CAD
        if self.by_target or self.context or self.own["hebb"]:
            active = np.ones(len(active), bool)
        some = self.pairs.of(active)
        if not len(some.which):
            return
        linear, lrate = some.of(self.weights.linear), float(self.own["lrate"])
        if self.own["hebb"]:
            change = lrate * self._hebb(some, sender["LearnCaP"], receiver["LearnCaP"], linear)
        elif self.context:
            trace = self._traced(some, item, sender["BurstPrv"][some.pre])
            learned = (receiver["LearnCaP"] - receiver["LearnCaD"])[some.post]
            change = self._bounded(lrate * (trace * learned), linear)
        else:
            sent, received = (states["bins"].T[-self.bins :] for states in (sender, receiver))
            if self.by_target:
                products = some.products(self._phases[:, None] * sent, received)
                error = rate[some.post] * products
            else:
                error = self._cortex(some, item, sent, received, receiver, rate)
            change = self._bounded(lrate * error, linear)
        some.add(self.changes, whole(change))

    def _cortex(
        self,
        some: SomeSynapses,
        item: int,
        sent: Reals,
        received: Reals,
        receiver: States,
        rate: Reals,
    ) -> Reals:
        first = max((self.bins * BIN - 1 - WINDOW * BIN) // BIN, 0)
        window = slice(first, first + WINDOW)
        product = some.products(PRODUCT * sent[window], received[window])
        trace = self._traced(some, item, product)
        delta = ((receiver["LearnCaP"] - receiver["LearnCaD"]) * rate)[some.post]
        out: Reals = np.where(product > float(self.own["synapse_threshold"]), trace * delta, 0.0)
        return out

    def _traced(self, some: SomeSynapses, item: int, product: Reals) -> Reals:
        """Return the average of products over trials, and store it; with tau 1 the product."""
        if self.traces is None:
            return product
        trace = some.of(self.traces[item])
        trace += (product - trace) / float(self.own["tau_trace"])
        some.put(self.traces[item], trace)
        return trace

    @staticmethod
    def _bounded(change: Reals, linear: Reals) -> Reals:
        """Return changes that become smaller, the nearer the linear weights are to a bound."""
        out: Reals = change * np.where(change > 0, 1 - linear, linear)
        return out

    @staticmethod
    def _hebb(some: SomeSynapses, sent: Reals, received: Reals, linear: Reals) -> Reals:
        before, after = sent[some.pre], received[some.post]
        out: Reals = after * (0.5 * before * (1 - linear) - (1 - before) * linear)
        return out

    def apply(self) -> bool:
        """Apply the changes to the linear weights; return whether any weight has changed."""
        which = np.flatnonzero(self.changes)
        if not len(which):
            return False
        change = real(self.changes[which])
        if taken := float(self.own["sub_mean"]):
            change -= taken * self._mean_change()[self.pairs.post[which]]
        self.slow[which] += change
        w = self.weights
        w.linear[which] = linear = np.clip(w.linear[which] + change, 0, 1)
        w.weight[which] = w.structural[which] * contrast(linear)
        return True

    def _mean_change(self) -> Reals:
        """Return the mean of each receiver's nonzero changes; 0 if it has fewer than two."""
        moved = self.changes != 0
        several = self.pairs.sums(moved.astype(float)) > 1
        out: Reals = np.where(several, self.pairs.means(real(self.changes), moved), 0.0)
        return out

    def adapt_structure(self, difference: Reals | None) -> None:
        """Change the structural weights, and move the receivers towards their target averages.

        Parameters
        ----------
        difference : (receivers,) float64 or None
            Average activity of each receiver, divided by that of its layer, minus its target
            average. Weights into units that are too active become smaller. None: no such change.
        """
        w, own, pairs = self.weights, self.own, self.pairs
        if own["swt_adapts"] and not self.by_target:
            low, high = float(own["swt_least"]), float(own["swt_most"])
            room = np.where(self.slow >= 0, high - w.structural, w.structural - low)
            moved = self.slow * room
            moved -= pairs.means(moved)[pairs.post]
            w.structural = w.structural + float(own["swt_rate"]) * moved
            self.slow[:] = 0
            w.take(w.weight)
            decay = np.clip(0.0008 * (pairs.means(w.weight) - 0.5), 0, 0.0008)
            w.linear = w.linear - w.linear * decay[pairs.post]
            w.renew()
        if difference is not None:
            scale = (-0.005 * difference)[pairs.post]
            room = np.where(scale >= 0, 1 - w.linear, w.linear)
            w.linear = w.linear + scale * w.structural * room
            w.renew()
