"""``Learner``: changes weights and averages after a trial, from the states of all items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .averages import Averages
from .changes import PathSynapses
from .network import Network
from .starts import first_averages

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

Reals = NDArray[np.float64]
ItemStates = Mapping[str, Mapping[str, Reals]]
"""States of one item: layer -> name of a state -> (units,)."""

Row = dict[str, float]


class Learner:
    """Weights and averages of a network, which all items share.

    Parameters
    ----------
    synapses : PathSynapses
        The weights.
    items : int
        Number of items that this process shows at the same time.
    communicator : mpi4py communicator, optional
        The ranks that train together, each with its own items.
    slow_interval : int
        Trials from one change of structural weights to the next. Each item counts as a trial.
    inhibition_interval : int
        Trials from one change of the strength of inhibition to the next.

    Attributes
    ----------
    items : int
        Number of items of all ranks together.
    trials : int
        Number of trials in which weights were changed. Each item of each rank counts.
    """

    def __init__(
        self,
        network: Network,
        synapses: PathSynapses,
        items: int,
        communicator: Intracomm | None,
        slow_interval: int,
        inhibition_interval: int,
    ) -> None:
        self.network, self.synapses, self.communicator = network, synapses, communicator
        self.slow_interval, self.inhibition_interval = slow_interval, inhibition_interval
        self.rank = 0 if communicator is None else communicator.Get_rank()
        self.items = items * (1 if communicator is None else communicator.Get_size())
        layers = network.layers.values()
        self.own = {layer.name: network.parameters(layer) for layer in layers}
        sizes = [2 * layer.count + 1 for layer in layers]
        self._changes = np.zeros(sum(sizes), np.int64)  # of the averages of all layers
        parts = iter(np.split(self._changes, np.cumsum(sizes)[:-1]))
        self.averages = {
            layer.name: Averages(
                first_averages(network, layer), self.own[layer.name], layer, next(parts)
            )
            for layer in layers
        }
        self.trials = 0

    def learn(self, items: Sequence[ItemStates]) -> list[str]:
        """Change weights and averages after a trial.

        Parameters
        ----------
        items : sequence of ItemStates
            States of each item at the end of the trial.

        Returns
        -------
        list of str
            Layers whose strength of inhibition has changed.
        """
        for states in items:
            for name, averages in self.averages.items():
                averages.note(states[name])
        cap = [np.concatenate([one["CaP"] for one in states.values()]) for states in items]
        self.synapses.learn(np.stack(cap), np.stack([self._greatest(one) for one in items]))
        self._sum_over_ranks()
        before, self.trials = self.trials, self.trials + self.items
        for averages in self.averages.values():
            averages.apply(self.items)
        self._changes[:] = 0
        self.synapses.apply()
        if _passed(before, self.trials, self.slow_interval):
            self.synapses.adapt(np.concatenate([one.difference for one in self.averages.values()]))
        if not _passed(before, self.trials, self.inhibition_interval):
            return []
        return [name for name, one in self.averages.items() if one.adapt_inhibition()]

    def of_all_ranks(self, rows: list[Row]) -> list[Row]:
        """Return the rows of all ranks, in the order of the ranks."""
        if self.communicator is None:
            return rows
        return [row for some in self.communicator.allgather(rows) for row in some]

    def _greatest(self, states: ItemStates) -> Reals:
        """Return for each unit the greatest CaD of its layer before the last cycle, (units,)."""
        counts = [layer.count for layer in self.network.layers.values()]
        return np.repeat([states[name]["CaDBefore"].max() for name in self.own], counts)

    def _sum_over_ranks(self) -> None:
        """Add up the changes of all ranks: those of weights on GPUs, or all by one message."""
        if self.communicator is None:
            return
        added = self.synapses.add_over_ranks(self.communicator)
        weights = np.zeros(0, np.int64) if added else self.synapses.changes
        mine = np.concatenate([weights, self._changes])
        total = np.empty_like(mine)
        self.communicator.Allreduce(mine, total)
        weights, self._changes[:] = np.split(total, [len(weights)])
        if not added:
            self.synapses.changes = weights


def _passed(before: int, after: int, interval: int) -> bool:
    """Whether a count has passed a multiple of an interval; 0 means never."""
    return interval > 0 and before // interval != after // interval
