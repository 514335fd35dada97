"""Which units a path connects, and sums over the synapses of each receiver.

An array with a value for each synapse of a path is a *column*. Its order is by receiver, then by
sender. Sums are taken in this order, so they have the same bits with any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]


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
    def full(self) -> bool:
        """Whether all senders are connected with all receivers."""
        return bool(len(self) == self.senders * self.receivers)

    def of(self, receivers: NDArray[np.bool_]) -> SomeSynapses:
        """Return the synapses of those receivers for which a mask (receivers,) is true."""
        rows = np.flatnonzero(receivers)
        if self.full:
            shape = self.receivers, self.senders
            return SomeSynapses(shape, rows, slice(None), rows[:, None])
        which = np.flatnonzero(receivers[self.post])
        return SomeSynapses((len(self),), which, self.pre[which], self.post[which])

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


@dataclass(frozen=True)
class SomeSynapses:
    """The synapses of some receivers.

    If a path connects all units with all, a column is a matrix (receivers, senders), and these
    synapses are some of its rows. Otherwise they are listed by their numbers.

    Attributes
    ----------
    shape : tuple of int
        Shape of a column: (receivers, senders) or (synapses,).
    which : (n,) int64
        Rows of the matrix, or numbers of the synapses.
    pre, post : index
        Indices of their senders and receivers in arrays of units.
    """

    shape: tuple[int, ...]
    which: Numbers
    pre: Any
    post: Any

    def of(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the values of these synapses, a copy."""
        out: NDArray[Any] = column.reshape(self.shape)[self.which]
        return out

    def put(self, column: NDArray[Any], values: NDArray[Any]) -> None:
        """Set the values of these synapses."""
        column.reshape(self.shape)[self.which] = values

    def add(self, column: NDArray[Any], values: NDArray[Any]) -> None:
        """Add to the values of these synapses."""
        column.reshape(self.shape)[self.which] += values

    def products(self, senders: Reals, receivers: Reals) -> Reals:
        """Return the sum over bins of sender's times receiver's value, for each of these synapses.

        The arguments are (bins, units). Bins are added one after the other.
        """
        if len(self.shape) == 2:
            pattern, given = "bq,br->rq", (senders, receivers[:, self.which])
        else:
            pattern, given = "bs,bs->s", (senders[:, self.pre], receivers[:, self.post])
        out: Reals = np.einsum(pattern, *given)
        return out
