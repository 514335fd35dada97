"""``Values``: reads and sets states, parameters and weights of a network that runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.arguments import checked_arguments, optional, text
from neurodriver.errors import RequestError, near, quoted

from .layers import NetworkPath
from .settings import path_name
from .shown import as_numbers
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

    def set_weights(
        self, sender: str, receiver: str, values: ArrayLike, kind: str = "", name: str = "Wt"
    ) -> None:
        """Set the weights of a path, or its linear or structural weights.

        Parameters
        ----------
        values : (receivers, senders) array
            Values without a synapse are ignored. Weights are between 0 and twice the structural
            weight, and linear weights between 0 and 1. Structural weights are between
            ``swt_least`` and ``swt_most``, or 0.5.
        kind : str
            ``"inhib"``, ``"context"`` or ``"maintenance"`` for a path of this kind.
        name : {"Wt", "LWt", "SWt"}
            ``"Wt"``: linear weights follow from the weights. ``"LWt"`` and ``"SWt"``: weights
            follow from linear and structural weights.
        """
        path = self._path(sender, receiver, kind)
        pairs, where = path.pairs, f"path {quoted(path.name)}"
        given = as_numbers(values, where)
        if given.shape != (pairs.receivers, pairs.senders):
            want = f"(receivers, senders) = {(pairs.receivers, pairs.senders)}"
            raise RequestError(f"{where}: {want} is needed, got {given.shape}")
        self.synapses.take(path, name, given[pairs.post, pairs.pre], where)

    @checked_arguments(layer=text, name=optional(text))
    def set(
        self, layer: str, name: str | None = None, value: ArrayLike | None = None, **values: Any
    ) -> None:
        """Set parameters or states of a layer, or parameters of several layers or paths.

        Parameters
        ----------
        layer : str
            Name of a layer. Or a selector, as of `Network.set`: parameters of all that it means
            change, also those that were given with a layer or a path itself.
        name, value
            A parameter or a state, and one value, or an array of the layer's shape. With ``items``
            one value is that of all items. An array with an axis of items at the beginning has
            another value for each item.
        **values
            Parameters, such as ``gi=1.2``. Of paths, ``lrate``, ``synapse_threshold``,
            ``swt_rate`` and ``credit`` may change.

        Raises
        ------
        NeurodriverError
            For names that are not there, values that are not allowed, and parameters that are
            fixed when the trainer is made.
        """
        given = {**({} if name is None else {name: value}), **values}
        if not given:
            raise RequestError(f"set({layer!r:.60}): a parameter and its value are needed")
        if layer not in self.network.layers and (layer[:1] in ".#" or layer in ("layer", "path")):
            self._parameters.set_selected(layer, given)
            return
        for one, new in given.items():
            self._parameters.set(self._showing.layer(layer), one, new)

    @checked_arguments(selector=text)
    def set_rate(
        self, selector: str, lrate: float | None = None, factor: float | None = None
    ) -> None:
        """Set the learning rate of paths for the trials that follow.

        Parameters
        ----------
        selector : str
            ``"path"`` for all paths, ``".back"`` for those of a kind or a class, or
            ``"#InputToHidden"`` for one. Rates that were given with a path change, too.
        lrate : float, optional
            The rate.
        factor : float, optional
            What the rate is multiplied by: that which is given here, or else that which each path
            was given last. So a factor of 1 brings this rate back.
        """
        self._parameters.set_rates(selector, lrate, factor)

    @property
    def rates(self) -> dict[str, float]:
        """Present learning rate of each path, by its name such as ``"InputToHidden"``."""
        return dict(self._parameters.rates)

    def _path(self, sender: str, receiver: str, kind: str) -> NetworkPath:
        name = path_name(sender, receiver, kind)
        if name not in self.network.paths:
            raise RequestError(f"no path {quoted(name)}{near(name, self.network.paths)}")
        return self.network.paths[name]
