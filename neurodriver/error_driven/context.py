"""``ContextPath``: what a path sends from the bursts of one trial to the deep layer of the next.

A context path sends no spikes. At one cycle near the end of a trial, each unit sends its burst
times the weight. All of it arrives in the last cycle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neurodriver.errors import CircuitError, quoted

from .layers import NetworkPath
from .network import Network
from .neuron_text import UNIT

Reals = NDArray[np.float64]


class ContextPath:
    """What one path sends.

    Attributes
    ----------
    cycle : int
        Cycle of a trial after which the bursts are sent.

    Raises
    ------
    CircuitError
        If a trial is too short for the delay.
    """

    def __init__(self, network: Network, path: NetworkPath) -> None:
        self.path, self._scale = path, network.scale(path)
        delay = int(network.parameters(path)["delay"])
        self.cycle = network.cycles - 2 - delay
        if self.cycle < 0:
            most = f"a trial of {network.cycles} cycles allows at most {network.cycles - 2}"
            raise CircuitError(f"path {quoted(path.name)}, delay: {most} (got {delay})")

    def arriving(self, bursts: Reals, weight: Reals) -> Reals:
        """Return what arrives at each receiver, as a sum of multiples of 2^-24.

        Parameters
        ----------
        bursts : (items, senders) float64
        weight : (synapses,) float64

        Returns
        -------
        (items, receivers) float64
        """
        pairs = self.path.pairs
        sent = bursts[:, pairs.pre]
        sent *= self._scale * weight * (1 / UNIT)  # a power of two, so nothing is rounded twice
        np.floor(sent, out=sent)
        filled = np.flatnonzero(np.diff(pairs.first))
        out = np.zeros((len(bursts), pairs.receivers))
        out[:, filled] = np.add.reduceat(sent, pairs.first[filled], axis=1)
        return out * UNIT  # sums of whole numbers, so their order does not matter
