"""``Values``: reads and sets states, parameters and weights of a network that runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.arguments import checked_arguments, text
from neurodriver.errors import RequestError, near, quoted

from .layers import NetworkPath
from .settings import path_name
from .trials import Trials

Reals = NDArray[np.float64]

OF_ALL_ITEMS = ("TrgAvg", "ActAvg")
"""States of units that all items share."""


class Values(Trials):
    """A network whose values can be read and set. Its parameters are those of `Trainer`."""

    @checked_arguments(layer=text, name=text)
    def get(self, layer: str, name: str) -> Reals:
        """Return a state of the units of a layer, as an array of the layer's shape.

        ``bins`` has one more axis, at the end. With ``items`` there is an axis of items at the
        beginning, except in ``TrgAvg`` and ``ActAvg``, which all items share. The states and their
        units are those of `AxonNeuron`.
        """
        found = self._showing.layer(layer)
        if name in OF_ALL_ITEMS:
            one = self.learner.averages[found.name]
            return (one.target if name == "TrgAvg" else one.activity).reshape(found.shape)
        values = np.asarray(self._populations[found.name].get(name), np.float64)
        items = () if self.items is None else (self.count,)
        size = values.size // (self.count * found.count)
        return values.reshape(*items, *found.shape, *(() if size == 1 else (size,)))

    def path(self, sender: str, receiver: str, name: str = "Wt", kind: str = "") -> Reals:
        """Return the weights of a path, or another number of its synapses.

        Parameters
        ----------
        sender, receiver : str
            Names of the layers.
        name : {"Wt", "LWt", "SWt", "DSWt", "Tr"}
            Weight, linear weight, structural weight, sum of the changes since the structural
            weights were changed last, or trace of the product of activities.
        kind : str
            ``"inhib"``, ``"context"`` or ``"maintenance"`` for a path of this kind.

        Returns
        -------
        (receivers, senders) float64
            NaN where there is no synapse. With ``items``, ``Tr`` has an axis of items at the
            beginning.
        """
        path = self._path(sender, receiver, kind)
        pairs, values = path.pairs, self.synapses.named(path.name, name)
        values = values[0] if values.ndim > 1 and self.items is None else values
        out = np.full((*values.shape[:-1], pairs.receivers, pairs.senders), np.nan)
        out[..., pairs.post, pairs.pre] = values
        return out

    def set_weights(self, sender: str, receiver: str, values: ArrayLike, kind: str = "") -> None:
        """Set the weights of a path, and compute its linear weights from them.

        ``values`` is an array (receivers, senders). Each weight is between 0 and twice the
        structural weight. Values without a synapse are ignored.
        """
        path = self._path(sender, receiver, kind)
        pairs = path.pairs
        given = np.asarray(values, np.float64)
        if given.shape != (pairs.receivers, pairs.senders):
            want = f"(receivers, senders) = {(pairs.receivers, pairs.senders)}"
            raise RequestError(f"path {quoted(path.name)}: {want} is needed, got {given.shape}")
        new = given[pairs.post, pairs.pre]
        most = 2 * self.synapses.read(path.name, "structural")
        if not ((new >= 0) & (new <= most)).all():
            say = "weights lie between 0 and twice the structural weight"
            raise RequestError(f"path {quoted(path.name)}: {say}")
        self.synapses.take(path.name, new)

    def set(self, layer: str, name: str, value: ArrayLike) -> None:
        """Set a parameter or a state of a layer: one value, or an array of the layer's shape.

        With ``items`` this sets it for all items. An array with an axis of items at the beginning
        sets another value for each item.
        """
        self._parameters.set(self._showing.layer(layer), name, value)

    def _path(self, sender: str, receiver: str, kind: str) -> NetworkPath:
        name = path_name(sender, receiver, kind)
        if name not in self.network.paths:
            raise RequestError(f"no path {quoted(name)}{near(name, self.network.paths)}")
        return self.network.paths[name]
