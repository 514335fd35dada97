"""Initial weights of paths, and initial target averages of layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neurodriver.errors import CircuitError, quoted

from .contrast import contrast, linear_of
from .layers import NetworkLayer, NetworkPath
from .network import Network
from .pairs import SynapsePairs
from .settings import SUFFIXES

Reals = NDArray[np.float64]
Numbers = NDArray[np.intp]

_WEIGHTS, _AVERAGES = 1, 2
"""Numbers of the streams of random numbers."""


PLAIN = 0.5
"""Structural weight where structural weights are all equal: into layers with targets, for one."""


@dataclass
class Weights:
    """The weights of a path: columns (synapses,), ordered by receiver, then by sender.

    ``weight = structural * contrast(linear)``, see `contrast`.

    Attributes
    ----------
    weight : float64
        Wt: effect of a spike, before it is multiplied by the scale of the path.
    linear : float64
        LWt: linear weight, which learns, from 0 to 1.
    structural : float64
        SWt: structural weight, which changes slowly.
    """

    weight: Reals
    linear: Reals
    structural: Reals

    def take(self, weight: Reals) -> None:
        """Set ``weight``, and compute ``linear`` from it."""
        self.weight = weight
        self.linear = linear_of(weight, self.structural)


def most_weight(own: Mapping[str, float | bool]) -> float:
    """Return the largest weight of a path with some parameters: twice a structural weight."""
    return 2 * max(float(own["swt_most"]), PLAIN)


def first_weights(network: Network) -> dict[str, Weights]:
    """Return the initial weights of all paths of a network: name -> weights."""
    out = {path.name: _first(network, path) for path in network.paths.values()}
    for path in network.paths.values():
        back = _way_back(network, path)
        if back is not None:
            there, mirrored = _reciprocal(path.pairs, back.pairs)
            if back is path:
                once = path.pairs.pre[there] < path.pairs.post[there]
                there, mirrored = there[once], mirrored[once]
            source, target = out[path.name], out[back.name]
            for name in ("weight", "linear", "structural"):
                getattr(target, name)[mirrored] = getattr(source, name)[there]
    return out


def _reciprocal(there: SynapsePairs, back: SynapsePairs) -> tuple[Numbers, Numbers]:
    """Return the synapses of a path that have one of the way back between their units, and these.

    Units are those at both ends. There is at most one synapse of a path between two units.
    """
    mirrored = np.lexsort((back.post, back.pre))  # by receiver of the path there, then by sender
    ordered = back.pre[mirrored] * there.senders + back.post[mirrored]
    wanted = there.post * there.senders + there.pre
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    found = np.flatnonzero(ordered[place] == wanted)
    return found, mirrored[place[found]]


def generator(network: Network, stream: int, number: int) -> np.random.Generator:
    """Return the generator of random numbers for one layer or path, by its number."""
    seed = np.random.SeedSequence(network.seed, spawn_key=(stream, number))
    return np.random.Generator(np.random.Philox(seed))


def _first(network: Network, path: NetworkPath) -> Weights:
    own = {name: float(value) for name, value in network.parameters(path).items()}
    m = len(path.pairs)
    drawn = own["var"] * generator(network, _WEIGHTS, path.number).uniform(-1, 1, m)
    limits = own["swt_least"], own["swt_most"]
    if limits[0] > limits[1]:
        say = "swt_least must be at most swt_most (got {:g} and {:g})".format(*limits)
        raise CircuitError(f"path {quoted(path.name)}: {say}")
    structural = np.full(m, PLAIN)
    plain = path.receiver.learns_by_target
    if not plain and own["spct"] > 0:
        structural = np.clip(own["mean"] + own["spct"] * drawn, *limits)
    weight = own["mean"] + drawn
    made = Weights(weight, linear_of(weight, structural), structural)
    if not plain:
        made.structural = _centred(path.pairs, structural, own["mean"], limits)
        anew = (path.pairs.counts[path.pairs.post] > 1) & (own["spct"] > 0)
        anew |= made.structural != structural
        made.weight = np.where(anew, made.structural * contrast(made.linear), made.weight)
    least, most = made.weight.min(), made.weight.max()
    if least < 0 or most > most_weight(own):
        say = f"initial weights lie from 0 to {most_weight(own):g} (got {least:g} to {most:g})"
        raise CircuitError(f"path {quoted(path.name)}: {say}; take another mean, or a smaller var")
    return made


def _centred(
    pairs: SynapsePairs, structural: Reals, mean: float, limits: tuple[float, float]
) -> Reals:
    """Shift the structural weights of each receiver, so that their mean is that of the path.

    A receiver with a single connection keeps its structural weight.
    Weights that are already at a limit cannot move further. So they do not count in the mean from
    which the shift is computed, unless all weights of the receiver are at that limit.
    """
    low, high = limits
    up = (mean - pairs.means(structural))[pairs.post] > 0
    free = np.where(up, structural < high, structural > low)
    shift = mean - pairs.means(structural, free)
    shift = np.where(pairs.sums(free.astype(float)) > 0, shift, mean - pairs.means(structural))
    shifted = np.clip(structural + shift[pairs.post], low, high)
    return np.where(pairs.counts[pairs.post] > 1, shifted, structural)


def _way_back(network: Network, path: NetworkPath) -> NetworkPath | None:
    """Return the path from the receiver back to the sender if it gets the same weights.

    Weights are copied from the path whose sender has the lower number. A path within a layer is its
    own way back. Of several paths from one layer to another the first of `_between` counts.
    """
    low, high = path.sender, path.receiver
    if not network.parameters(path)["sym"] or low.number > high.number:
        return None
    back = path
    if low is not high:
        others = _between(network, high, low)
        if not others or _between(network, low, high)[0] is not path:
            return None
        back = others[0]
    return back if network.parameters(back)["sym"] else None


def _between(network: Network, sender: NetworkLayer, receiver: NetworkLayer) -> list[NetworkPath]:
    """Return the paths from one layer to another, first those that have no suffix."""
    found = [path for path in network.into(receiver) if path.sender is sender]
    order = ["", *SUFFIXES]
    return sorted(found, key=lambda path: order.index(path.kind if path.kind in order else ""))


def first_averages(network: Network, layer: NetworkLayer) -> Reals:
    """Return the initial target averages of the units of a layer, (units,).

    They are equally spaced from 0.5 to 2, in random order. If sub-pools have inhibition of their
    own, this holds within each sub-pool.
    """
    pools = layer.pools if network.parameters(layer)["pool_inhibits"] else 1
    n, draw = layer.count // pools, generator(network, _AVERAGES, layer.number)
    values = 0.5 + 1.5 * np.arange(n) / max(n - 1, 1)
    return np.concatenate([values[draw.permutation(n)] for _ in range(pools)])
