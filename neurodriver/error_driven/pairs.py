"""Which units a path connects, and sums over the synapses of each receiver.

An array with a value for each synapse of a path is a *column*. Its order is by receiver, then by
sender. Sums are taken in this order, so they have the same bits with any number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


class SynapsePairs:
    """Senders and receivers of the synapses of a path.

    Parameters
    ----------
    senders, receivers : int
        Units of both layers.
    connected : (senders, receivers) bool
        Which of them are connected.

    Attributes
    ----------
    pre, post : (synapses,) int64
        Numbers of the sender and the receiver of each synapse, in the order of columns.
    first : (receivers + 1,) int64
        Where the synapses of each receiver begin in a column.
    by_sender : (synapses,) int64
        Numbers of the synapses, ordered by sender, then by receiver, as the connections of a
        circuit are.
    """

    def __init__(self, connected: NDArray[np.bool_]) -> None:
        self.senders, self.receivers = connected.shape
        self.post, self.pre = np.nonzero(connected.T)
        self.first = np.concatenate([[0], np.cumsum(np.count_nonzero(connected, axis=0))])
        self.by_sender = np.lexsort((self.post, self.pre))

    def __len__(self) -> int:
        return len(self.pre)

    @property
    def inputs(self) -> float:
        """Mean number of connections of a receiver."""
        return float(len(self) / self.receivers)

    @property
    def counts(self) -> NDArray[np.intp]:
        """Number of connections of each receiver, (receivers,)."""
        return np.diff(self.first)

    def sums(self, values: Reals) -> Reals:
        """Return the sum over the synapses of each receiver, (receivers,)."""
        return np.bincount(self.post, values, self.receivers).astype(np.float64)

    def means(self, values: Reals, which: NDArray[np.bool_] | None = None) -> Reals:
        """Return the mean over the synapses of each receiver, (receivers,); 0 if it has none.

        With a mask ``which`` (synapses,), only the synapses for which it is true count.
        """
        chosen = np.ones(len(self), bool) if which is None else which
        count = np.bincount(self.post, chosen, self.receivers)
        return self.sums(np.where(chosen, values, 0)) / np.maximum(count, 1)
