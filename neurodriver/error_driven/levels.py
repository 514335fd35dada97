"""``Levels``: the levels of modulators, such as dopamine, that are given with a trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neurodriver.run.state_writer import StateWriter

from .network import Network
from .striatum import LEVELS

if TYPE_CHECKING:
    from neurodriver.run.lpu import LPU

Reals = NDArray[np.float64]


class Levels:
    """What the layers of the striatum read in a trial.

    Attributes
    ----------
    names : set of str
        Names by which levels are given.
    """

    def __init__(self, network: Network, lpu: LPU) -> None:
        self._layers = [one for one in network.layers.values() if one.modulators]
        self.names = {name for one in self._layers for name in one.modulators.values()}
        names = [one.name for one in self._layers]
        self._writers = {
            modulator: StateWriter(lpu, state, names)
            for modulator, (state, _) in LEVELS.items()
            if names
        }

    def write(self, given: Mapping[str, Reals], items: int | None) -> None:
        """Set the levels of a trial; those that are not given have their usual level.

        Parameters
        ----------
        given : mapping of str to (items, 1) float64
        items : int or None
            None: there is one item, and the states have no axis of items.
        """
        for modulator, write in self._writers.items():
            usual = np.full((items or 1, 1), LEVELS[modulator][1])
            every = [
                np.repeat(given.get(one.modulators[modulator], usual), one.count, axis=1)
                for one in self._layers
            ]
            levels = np.concatenate(every, axis=1)
            write(levels[0] if items is None else levels)
