"""Who is connected with whom in a path, and sums over the synapses of a receiver.

Numbers of the synapses of a path are columns, by receiver, then by sender. Sums are in the order
of the columns, so they have the same bits with any number of threads.
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
        Sender and receiver of each synapse, by receiver, then by sender.
    first : (receivers + 1,) int64
        Where the synapses of a receiver begin.
    by_sender : (synapses,) int64
        The synapses by sender, then by receiver, as connections of a circuit are ordered.
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
        """Return the synapses of some receivers."""
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
        """Return the mean over the synapses of each receiver, or some of them; 0 without any."""
        chosen = np.ones(len(self), bool) if which is None else which
        count = np.bincount(self.post, chosen, self.receivers)
        return self.sums(np.where(chosen, values, 0)) / np.maximum(count, 1)


@dataclass(frozen=True)
class SomeSynapses:
    """Synapses of some receivers: a row for each of these in a full path, else a list.

    Attributes
    ----------
    shape : tuple of int
        Of a column, as it is indexed here.
    which : (n,) int64
        Rows, or numbers, of the synapses.
    pre, post : index
        Their senders and receivers among the units of the layers.
    """

    shape: tuple[int, ...]
    which: Numbers
    pre: Any
    post: Any

    def of(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of their part of a column."""
        out: NDArray[Any] = column.reshape(self.shape)[self.which]
        return out

    def put(self, column: NDArray[Any], values: NDArray[Any]) -> None:
        """Set their part of a column."""
        column.reshape(self.shape)[self.which] = values

    def add(self, column: NDArray[Any], values: NDArray[Any]) -> None:
        """Add to their part of a column."""
        column.reshape(self.shape)[self.which] += values

    def products(self, senders: Reals, receivers: Reals) -> Reals:
        """Return the sum of products of bins, (bins, units) each, one bin after the other."""
        if len(self.shape) == 2:
            pattern, given = "bq,br->rq", (senders, receivers[:, self.which])
        else:
            pattern, given = "bs,bs->s", (senders[:, self.pre], receivers[:, self.post])
        out: Reals = np.einsum(pattern, *given)
        return out
