"""``Learner``: changes weights and averages after a trial, over all items and ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from .averages import Averages
from .changes import PathSynapses
from .network import Network
from .ranks import TrainingRanks, compared
from .running import RunningVariance
from .starts import first_averages
from .trial_end import TrialEnd
from .whole import Counts, real, whole

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from neurodriver.run.state_reader import StateReader


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
    apart : dict of str to RunningVariance
        Layer with a target -> how far its phases were apart: 1 - correlation.
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
        self.network, self.synapses, self.ranks = network, synapses, TrainingRanks(communicator)
        self.slow_interval, self.inhibition_interval = slow_interval, inhibition_interval
        self.items = items * self.ranks.size
        if self.ranks.size > 1:
            named = {"slow_interval": slow_interval, "inhibition_interval": inhibition_interval}
            self.ranks.agree("Trainer", compared(network, items=items, **named))
        self.averages = {
            name: Averages(
                layer, network.parameters(layer), first_averages(network, layer), synapses
            )
            for name, layer in network.layers.items()
        }
        self.trials, self._counted = 0, False
        judged = (name for name, layer in network.layers.items() if layer.learns_by_target)
        self.apart = {name: RunningVariance() for name in judged}

    @contextmanager
    def counting(
        self, reader: StateReader, read: Callable[[], object]
    ) -> Iterator[Callable[[], None] | None]:
        """Yield a function that begins to add up the changes of a trial.

        It may be called once the last cycles are queued on a GPU. It first calls ``read``, which
        begins to read states. If it was not called, `learn` adds up the changes. None is yielded
        where changes may be added up only after cycles that have not failed. If the cycles fail,
        the changes are forgotten.
        """
        reader.prepare()
        reached = self._reached()

        def count() -> None:
            read()
            self._counted = True
            self.synapses.learn(reached, prepared=True)

        try:
            yield count if self.synapses.prepare() else None
        except BaseException:
            self.forget_changes()
            raise

    def forget_changes(self) -> None:
        """Forget changes that `counting` has added up, where no `learn` has followed."""
        if self._counted:
            self.synapses.changes = np.zeros(1, np.int64)
            self._counted = False

    def learn(self, end: TrialEnd) -> list[str]:
        """Change weights and averages after a trial.

        Returns
        -------
        list of str
            Layers whose strength of inhibition has changed.
        """
        reached = self._reached()
        if not self._counted:
            self._counted = True
            self.synapses.learn(reached)
        activity = whole(end.means).sum(axis=0)  # while a GPU computes
        if self.ranks.communicator is not None:
            activity = self._sum_over_ranks(activity, reached)
        self.synapses.apply(reached)
        self._counted = False
        before, self.trials = self.trials, self.trials + self.items
        for averages, mean in zip(self.averages.values(), real(activity).tolist(), strict=True):
            averages.add_mean(mean / self.items)
        if _passed(before, self.trials, self.slow_interval):
            self.synapses.adapt(np.concatenate([one.difference for one in self.averages.values()]))
        if not _passed(before, self.trials, self.inhibition_interval):
            return []
        return [name for name, one in self.averages.items() if one.adapt_inhibition()]

    def of_layers(self) -> dict[str, float]:
        """Return the running numbers of layers.

        These are the mean activity and the factor of inhibition of each layer; and of those with
        targets mean and variance of 1 - correlation.
        """
        found = {f"{name}.ActMAvg": one.mean for name, one in self.averages.items()}
        found |= {f"{name}.GiMult": one.gi_mult for name, one in self.averages.items()}
        found |= {f"{name}.PhaseDiffAvg": one.mean for name, one in self.apart.items()}
        return found | {f"{name}.PhaseDiffVar": one.variance for name, one in self.apart.items()}

    def add_statistics(self, found: Mapping[str, float]) -> None:
        """Take the statistics of an item into the running means and variances."""
        for name, one in self.apart.items():
            one.add(1 - found[f"{name}.correlation"])

    def _reached(self) -> bool:
        """Whether GPUs add up the changes of all ranks; all ranks call it together."""
        ranks = self.ranks.communicator
        return ranks is not None and self.synapses.reaches(ranks)

    def _sum_over_ranks(self, activity: Counts, reached: bool) -> Counts:
        """Return the sum of some counts over ranks; the changes of all ranks are added up, too.

        GPUs add up the changes where they can, and this call tells that all ranks are about to.
        Else all go in one message.
        """
        changes = np.zeros(0, np.int64) if reached else self.synapses.changes
        total = self.ranks.total(np.concatenate([changes, activity]))
        if not reached:
            self.synapses.changes = total[: len(changes)]
        return total[len(changes) :]


def _passed(before: int, after: int, interval: int) -> bool:
    """Whether a count has passed a multiple of an interval; 0 means never."""
    return interval > 0 and before // interval != after // interval
