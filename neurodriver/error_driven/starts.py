"""First weights of paths, and first target averages of layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contrast import contrast, linear_of
from .network import Network, NetworkLayer, NetworkPath
from .pairs import SynapsePairs

Reals = NDArray[np.float64]

_WEIGHTS, _AVERAGES = 1, 2
"""Streams of random numbers."""


@dataclass
class Weights:
    """Numbers of the synapses of a path, (synapses,) each, by receiver, then by sender.

    Attributes
    ----------
    weight : float64
        What spikes carry, but for the scale of the path.
    linear : float64
        What learns, from 0 to 1.
    structural : float64
        What changes slowly.
    """

    weight: Reals
    linear: Reals
    structural: Reals

    def renew(self) -> None:
        """Compute the weight from the two others."""
        self.weight = self.structural * contrast(self.linear)

    def take(self, weight: Reals) -> None:
        """Set the weight, and the linear weight so that it fits."""
        self.weight = weight
        self.linear = linear_of(weight, self.structural)


def first_weights(network: Network) -> dict[str, Weights]:
    """Return the first weights of all paths of a network, by name."""
    out = {path.name: _first(network, path) for path in network.paths.values()}
    for path in network.paths.values():
        back = _way_back(network, path)
        if back is not None:
            order = np.lexsort((back.pairs.post, back.pairs.pre))  # as of the way there
            source, target = out[path.name], out[back.name]
            for name in ("weight", "linear", "structural"):
                getattr(target, name)[order] = getattr(source, name)
    return out


def generator(network: Network, stream: int, number: int) -> np.random.Generator:
    """Return the random numbers of a layer or a path, which follow from the seed alone."""
    seed = np.random.SeedSequence(network.seed, spawn_key=(stream, number))
    return np.random.Generator(np.random.Philox(seed))


def _first(network: Network, path: NetworkPath) -> Weights:
    own = {name: float(value) for name, value in network.parameters(path).items()}
    m = len(path.pairs)
    drawn = own["var"] * generator(network, _WEIGHTS, path.number).uniform(-1, 1, m)
    limits = own["swt_least"], own["swt_most"]
    structural = np.full(m, 0.5)
    plain = path.receiver.learns_by_target
    if not plain and own["spct"] > 0:
        structural = np.clip(own["mean"] + own["spct"] * drawn, *limits)
    weight = own["mean"] + drawn
    made = Weights(weight, linear_of(weight, structural), structural)
    if not plain and own["spct"] > 0 and path.pairs.inputs > 1:
        made.structural = _centred(path.pairs, structural, own["mean"], limits)
        made.renew()
    return made


def _centred(
    pairs: SynapsePairs, structural: Reals, mean: float, limits: tuple[float, float]
) -> Reals:
    """Return structural weights whose mean is that of the path, for each receiver.

    The shift of a receiver is computed without the weights that are at the bound to which it moves
    them, unless all of them are.
    """
    low, high = limits
    up = (mean - pairs.means(structural))[pairs.post] > 0
    free = np.where(up, structural < high, structural > low)
    shift = mean - pairs.means(structural, free)
    shift = np.where(pairs.sums(free.astype(float)) > 0, shift, mean - pairs.means(structural))
    return np.clip(structural + shift[pairs.post], low, high)


def _way_back(network: Network, path: NetworkPath) -> NetworkPath | None:
    """Return the path that takes the mirrored weights of a path: from a higher to a lower layer."""
    if not network.parameters(path)["sym"] or path.sender.number > path.receiver.number:
        return None
    if path.kind == "inhib":
        return None
    back = network.paths.get(f"{path.receiver.name}To{path.sender.name}")
    if back is None or back is path or len(back.pairs) != len(path.pairs):
        return None
    mirrored = np.lexsort((back.pairs.post, back.pairs.pre))
    same = (back.pairs.pre[mirrored] == path.pairs.post).all()
    same &= (back.pairs.post[mirrored] == path.pairs.pre).all()
    return back if same else None


def first_averages(network: Network, layer: NetworkLayer) -> Reals:
    """Return the first target averages of the units of a layer: 0.5 to 2, in random order.

    Where sub-pools inhibit themselves, each has all of these values.
    """
    pools = layer.pools if network.parameters(layer)["pool_inhibits"] else 1
    n, draw = layer.count // pools, generator(network, _AVERAGES, layer.number)
    values = 0.5 + 1.5 * np.arange(n) / max(n - 1, 1)
    return np.concatenate([values[draw.permutation(n)] for _ in range(pools)])
