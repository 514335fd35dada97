"""``Learner``: changes weights and averages after a trial, from the states of all items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .averages import Averages
from .changes import Learning, rate_factors
from .network import Network
from .neuron_text import BIN
from .starts import Weights, first_averages

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
    network : Network
    weights : mapping of str to Weights
        Name of a path -> its weights.
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
    rank : int
    paths : dict of str to Learning
    averages : dict of str to Averages
    trials : int
        Number of trials in which weights were changed. Each item of each rank counts.
    """

    def __init__(
        self,
        network: Network,
        weights: Mapping[str, Weights],
        items: int,
        communicator: Intracomm | None,
        slow_interval: int,
        inhibition_interval: int,
    ) -> None:
        self.network, self.communicator = network, communicator
        self.slow_interval, self.inhibition_interval = slow_interval, inhibition_interval
        self.rank = 0 if communicator is None else communicator.Get_rank()
        self.items = items * (1 if communicator is None else communicator.Get_size())
        paths, layers = network.paths.values(), network.layers.values()
        self.own = {layer.name: network.parameters(layer) for layer in layers}
        sizes = [len(path.pairs) for path in paths] + [2 * layer.count + 1 for layer in layers]
        self._changes = np.zeros(sum(sizes), np.int64)  # of all paths and layers: one message
        parts = iter(np.split(self._changes, np.cumsum(sizes)[:-1]))
        self.paths = {
            path.name: Learning(
                path.pairs,
                weights[path.name],
                network.parameters(path),
                path.receiver.learns_by_target,
                path.kind == "context",
                (network.cycles // BIN, network.plus // BIN),
                items,
                next(parts),
            )
            for path in paths
        }
        self.averages = {
            layer.name: Averages(
                first_averages(network, layer), self.own[layer.name], layer, next(parts)
            )
            for layer in layers
        }
        self.trials = 0

    def learn(self, items: Sequence[ItemStates]) -> tuple[list[str], list[str]]:
        """Change weights and averages after a trial.

        Parameters
        ----------
        items : sequence of ItemStates
            States of each item at the end of the trial.

        Returns
        -------
        paths, layers : list of str
            Paths whose weights have changed, and layers whose strength of inhibition has.
        """
        for number, states in enumerate(items):
            self._note(number, states)
        if self.communicator is not None:
            self.communicator.Allreduce(self._changes.copy(), self._changes)
        before, self.trials = self.trials, self.trials + self.items
        for averages in self.averages.values():
            averages.apply(self.items)
        slow = _passed(before, self.trials, self.slow_interval)
        paths = [name for name in self.paths if self._apply(name, slow)]
        layers = []
        if _passed(before, self.trials, self.inhibition_interval):
            layers = [name for name, one in self.averages.items() if one.adapt_inhibition()]
        self._changes[:] = 0
        return paths, layers

    def of_all_ranks(self, rows: list[Row]) -> list[Row]:
        """Return the rows of all ranks, in the order of the ranks."""
        if self.communicator is None:
            return rows
        return [row for some in self.communicator.allgather(rows) for row in some]

    def _note(self, number: int, states: ItemStates) -> None:
        """Add the changes that follow from one item."""
        for name, averages in self.averages.items():
            averages.note(states[name])
        rates = {
            name: rate_factors(states[name], bool(own["rate_factor"]), float(own["rate_least"]))
            for name, own in self.own.items()
        }
        for name, learning in self.paths.items():
            path = self.network.paths[name]
            if learning.own["learn"]:
                ends = path.sender.name, path.receiver.name
                learning.learn(number, states[ends[0]], states[ends[1]], rates[ends[1]])

    def _apply(self, name: str, slow: bool) -> bool:
        """Change the weights of a path; return whether any has changed."""
        learning, path = self.paths[name], self.network.paths[name]
        changed = learning.apply()
        if slow and learning.own["learn"]:
            difference = self.averages[path.receiver.name].difference
            learning.adapt_structure(None if path.kind == "inhib" else difference)
            return True
        return changed


def _passed(before: int, after: int, interval: int) -> bool:
    """Whether a count has passed a multiple of an interval; 0 means never."""
    return interval > 0 and before // interval != after // interval
