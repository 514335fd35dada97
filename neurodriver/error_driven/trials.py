"""``Trials``: runs trials of a network, one by one, and changes its weights after each."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.errors import RequestError, near, quoted
from neurodriver.run.lpu import LPU

from .averages import Averages
from .changes import Learning, rate_factors
from .circuit import CYCLE, circuit_of, first_units
from .network import Network, NetworkLayer
from .neuron import NEVER
from .neuron_text import BIN
from .starts import first_averages, first_weights
from .statistics import joined, target_statistics

Reals = NDArray[np.float64]

READ = (
    "bins", "LearnCaP", "LearnCaD", "CaP", "CaD", "CaDBefore", "ActM", "ActP",
    "ActBeforeM", "ActBeforeP",
)  # fmt: skip
"""States that a trial is judged by."""


class Trials:
    """A network that runs trial by trial. It takes what `Trainer` takes."""

    def __init__(self, network: Network, slow_interval: int = 100, **options: Any) -> None:
        self.network, self.slow_interval = network, slow_interval
        weights = first_weights(network)
        self.lpu = LPU(circuit_of(network, weights), CYCLE, **options)
        bins, plus = network.cycles // BIN, network.plus // BIN
        self._learning = {
            path.name: Learning(
                path.pairs,
                weights[path.name],
                network.parameters(path),
                path.receiver.learns_by_target,
                bins,
                plus,
            )
            for path in network.paths.values()
        }
        self._own = {layer.name: network.parameters(layer) for layer in network.layers.values()}
        self.averages = {
            layer.name: Averages(
                first_averages(network, layer), self._own[layer.name], layer.kind == "super"
            )
            for layer in network.layers.values()
        }
        self._carried = {name: self.lpu[name] for name in network.paths}
        self._populations = {name: self.lpu[name] for name in network.layers}
        first = first_units(network)
        self._units = {
            name: slice(first[name], first[name] + layer.count)
            for name, layer in network.layers.items()
        }
        self._clamped = dict.fromkeys(network.layers, NEVER)
        self._shown: dict[str, Reals] = {}
        self._states: dict[str, Reals] = {}
        self.trials = 0
        """Trials in which weights were changed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        """Let go of threads, memory and devices."""
        self.lpu.close()

    # -- trials ---------------------------------------------------------------------------------

    def begin(self, shown: Mapping[str, ArrayLike]) -> None:
        """Begin a trial: decay, and new inputs and targets.

        Parameters
        ----------
        shown : mapping of str to (units,) array
            NetworkLayer -> input or target. Layers that are not named have none.

        Raises
        ------
        RequestError
            For layers that have neither input nor target, and for values that do not fit.
        """
        self._shown = {name: self._values(name, given) for name, given in shown.items()}
        every = np.zeros(sum(layer.count for layer in self.network.layers.values()))
        for name, values in self._shown.items():
            every[self._units[name]] = values
        self.lpu.set("Ext", every)
        for name, layer in self.network.layers.items():
            from_cycle = self._clamped_from(layer) if name in self._shown else NEVER
            if self._clamped[name] != from_cycle:
                self._populations[name].set("clamped_from", from_cycle)
                self._clamped[name] = from_cycle
        self.lpu.set("start", self.lpu.step)
        self._states = {}

    def cycle(self, count: int = 1) -> None:
        """Run some cycles of the present trial."""
        self._states = {}
        self.lpu.advance(count)

    def trial(self, shown: Mapping[str, ArrayLike], learn: bool = True) -> dict[str, float]:
        """Run a trial, and change the weights.

        Parameters
        ----------
        shown : mapping of str to (units,) array
            NetworkLayer -> input or target, as `begin` takes it.
        learn : bool
            Whether weights and averages change.

        Returns
        -------
        dict of str to float
            ``unit_error``, ``error`` and ``correlation`` of the layers with targets.
        """
        self.begin(shown)
        self.cycle(self.network.cycles)
        self.end(learn)
        return joined(
            [
                target_statistics(self.states(name), values)
                for name, values in self._shown.items()
                if self.network.layers[name].learns_by_target
            ]
        )

    def end(self, learn: bool = True) -> None:
        """End a trial: averages and, if asked for, changes of weights."""
        if not learn:
            return
        for name, averages in self.averages.items():
            averages.note(self.states(name), learn)
        self._change()
        self._apply()

    def states(self, layer: str) -> dict[str, Reals]:
        """Return the states of a layer that learning and statistics read."""
        if not self._states:
            self._states = {name: np.asarray(self.lpu.get(name)) for name in READ}
        units = self._units[self._layer(layer).name]
        return {name: values[units] for name, values in self._states.items()}

    def _change(self) -> None:
        """Compute the changes of all weights."""
        states = {name: self.states(name) for name in self.network.layers}
        rates = {
            name: rate_factors(states[name], bool(self._own[name]["rate_factor"]))
            for name in states
        }
        for name, learning in self._learning.items():
            path = self.network.paths[name]
            if learning.own["learn"]:
                ends = path.sender.name, path.receiver.name
                learning.learn(states[ends[0]], states[ends[1]], rates[ends[1]])

    def _apply(self) -> None:
        """Change the weights."""
        self.trials += 1
        slow = self.slow_interval and self.trials % self.slow_interval == 0
        for averages in self.averages.values():
            averages.apply()
        for name, learning in self._learning.items():
            changed = learning.apply()
            if slow and learning.own["learn"]:
                path = self.network.paths[name]
                difference = self.averages[path.receiver.name].difference
                learning.adapt_structure(None if path.kind == "inhib" else difference)
            if changed or slow:
                self._send(name)

    def _send(self, name: str) -> None:
        """Give the circuit the weights of a path."""
        learning = self._learning[name]
        self._carried[name].set("weight", learning.weights.weight[learning.pairs.by_sender])

    def _layer(self, name: str) -> NetworkLayer:
        if name not in self.network.layers:
            raise RequestError(f"no layer {quoted(str(name))}{near(str(name), self._units)}")
        return self.network.layers[name]

    def _clamped_from(self, layer: NetworkLayer) -> int:
        return {"input": 0, "target": self.network.minus}.get(layer.kind, NEVER)

    def _values(self, name: str, given: ArrayLike) -> Reals:
        layer = self._layer(name)
        if layer.kind == "super":
            raise RequestError(f"layer {quoted(name)}: a super layer has neither input nor target")
        values = np.asarray(given, np.float64).ravel()
        if values.shape != (layer.count,) or not np.isfinite(values).all():
            want = f"{layer.count} finite numbers are needed"
            raise RequestError(f"layer {quoted(name)}: {want}, got {given!r:.60}")
        return values
