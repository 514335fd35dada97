"""How weights change at the end of a trial: from the bins and traces of both layers of a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contrast import contrast
from .neuron_text import BIN
from .pairs import Numbers, SynapsePairs
from .starts import Weights

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
States = Mapping[str, Reals]

WINDOW = 16
"""Bins of the product of traces in cortex: 160 ms."""

PRODUCT = 8 / 16
"""Factor of the sum of products of bins."""

LEAST_CAD = 0.1
"""A receiver whose CaD is lower changes no weight in cortex."""


def phase_weights(bins: int, plus: int) -> tuple[Reals, Reals]:
    """Return the weights of the bins in potentiation and in depression, (bins,) each.

    Parameters
    ----------
    bins : int
        Of a trial.
    plus : int
        Those of the plus phase.
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


def rate_factors(states: States, on: bool) -> Reals:
    """Return the factor of the changes of each receiver: small where it is saturated or settled.

    ``sig = max(4 y (1 - y), 0.05)`` with y = CaD over the greatest CaD of the layer, times
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
    out: Reals = np.maximum(4 * y * (1 - y), 0.05) * dif
    return out


@dataclass
class Learning:
    """What a path keeps between trials, and how it changes.

    Parameters
    ----------
    pairs : SynapsePairs
    weights : Weights
    own : mapping of str to float
        Parameters of the path.
    by_target : bool
        Whether the receiving layer has targets.
    bins, plus : int
        Bins of a trial, and those of the plus phase.
    """

    pairs: SynapsePairs
    weights: Weights
    own: Mapping[str, float | bool]
    by_target: bool
    bins: int
    plus: int

    def __post_init__(self) -> None:
        self.change = np.zeros(len(self.pairs))
        """DWt, since weights were changed last."""
        self.slow = np.zeros(len(self.pairs))
        """DSWt, since structural weights were changed last."""
        self.trace = np.zeros(len(self.pairs))
        self.touched: Numbers = np.zeros(0, np.int64)
        p, d = phase_weights(self.bins, self.plus)
        self._phases = float(self.own["cap_scale"]) * p - d

    def learn(self, sender: States, receiver: States, rate: Reals) -> None:
        """Add the changes that follow from a trial.

        Parameters
        ----------
        sender, receiver : mapping of str to array
            States of both layers at the end of the trial.
        rate : (receivers,) float64
            Factors of the receivers.
        """
        sent, received = (states["bins"].T[-self.bins :] for states in (sender, receiver))
        if self.by_target:
            which = np.arange(len(self.pairs))
            products = self.pairs.products(self._phases[:, None] * sent, received, which)
            error = rate[self.pairs.post] * products
        else:
            which = self.pairs.of(receiver["CaD"] > LEAST_CAD)
            error = self._cortex(sent, received, receiver, rate, which)
        linear = self.weights.linear[which]
        bound = np.where(error > 0, 1 - linear, linear)
        self.change[which] += float(self.own["lrate"]) * error * bound
        self.touched = np.union1d(self.touched, which) if len(self.touched) else which

    def _cortex(
        self, sent: Reals, received: Reals, receiver: States, rate: Reals, which: Numbers
    ) -> Reals:
        first = (self.bins * BIN - 1 - WINDOW * BIN) // BIN
        window = slice(max(first, 0), max(first, 0) + WINDOW)
        product = PRODUCT * self.pairs.products(sent[window], received[window], which)
        trace = product
        tau = float(self.own["tau_trace"])
        if tau != 1:
            trace = self.trace[which]
            trace += (product - trace) / tau
            self.trace[which] = trace
        delta = ((receiver["LearnCaP"] - receiver["LearnCaD"]) * rate)[self.pairs.post[which]]
        out: Reals = np.where(product > float(self.own["synapse_threshold"]), trace * delta, 0.0)
        return out

    def apply(self) -> bool:
        """Change the linear weights by what was added; return whether anything has changed."""
        which = self.touched
        if not len(which):
            return False
        taken = float(self.own["sub_mean"])
        if taken:
            self._subtract(taken)
        change = self.change[which]
        self.slow[which] += change
        w = self.weights
        w.linear[which] = np.clip(w.linear[which] + change, 0, 1)
        w.weight[which] = w.structural[which] * contrast(w.linear[which])
        self.change[which] = 0
        self.touched = np.zeros(0, np.int64)
        return True

    def _subtract(self, share: float) -> None:
        """Take off the mean of the changes of each receiver that are not 0, if it has several."""
        moved = self.change != 0
        several = self.pairs.sums(moved.astype(float)) > 1
        mean = np.where(several, self.pairs.means(self.change, moved), 0.0)
        self.change -= np.where(moved, share * mean[self.pairs.post], 0.0)

    def adapt_structure(self, difference: Reals | None) -> None:
        """Change the structural weights, and the linear ones towards the target averages.

        Parameters
        ----------
        difference : (receivers,) float64 or None
            Average activity of the receivers over that of their layer, minus their target
            averages. None where it has no effect.
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
