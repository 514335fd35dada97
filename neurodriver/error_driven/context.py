"""``ContextPath``: what a path sends from the bursts of one trial to the deep layer of the next.

A context path sends no spikes. At one cycle near the end of a trial, each unit sends its burst
times the weight. All of it arrives in the last cycle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neurodriver.errors import CircuitError, quoted

from .network import Network, NetworkPath
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
        sent = [np.floor(one[pairs.pre] * (self._scale * weight) / UNIT) for one in bursts]
        return np.stack([pairs.sums(one) for one in sent]) * UNIT  # sums of whole numbers
