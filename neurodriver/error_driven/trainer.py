"""``Trainer``: trains a network, stores statistics, and reads and sets states and weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from time import perf_counter
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.arguments import (
    ArgumentError,
    callback,
    checked_arguments,
    keyed,
    optional,
    text,
    whole_number,
)
from neurodriver.errors import RequestError, near, quoted

from .changes import STORED
from .layers import NetworkPath
from .settings import path_name
from .statistics import Log, mean_of_given
from .table import side_by_side
from .trials import Trials
from .weights_file import read_columns, write_columns

Reals = NDArray[np.float64]

OF_ALL_ITEMS = ("TrgAvg", "ActAvg")
"""States of units that all items share."""


def _shown(value: object, name: str) -> object:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ArgumentError(f"{name} must yield what is shown in each trial, got {value!r:.60}")
    return value


class Trainer(Trials):
    """A network that is trained and tested.

    Parameters
    ----------
    network : Network
    items : int, optional
        Number of items that are shown at the same time, each to a copy of the network with the same
        weights. With ``items``, what is shown and what `get` returns have a first axis of items.
    communicator : mpi4py communicator, optional
        Ranks that train together, such as ``MPI.COMM_WORLD``. Each shows its own ``items`` of the
        environment. All ranks have the same weights, with the same bits as one process that shows
        all items.
    slow_interval : int
        Trials from one change of structural weights to the next. Each item counts as a trial.
    inhibition_interval : int
        Trials from one change of ``gi_mult`` to the next, in layers with ``gi_adapts``.
    **options
        Arguments of `LPU`, such as ``threads``.

    Examples
    --------
    >>> with Trainer(net) as sim:  # doctest: +SKIP
    ...     log = sim.train(Table(Input=x, Output=y), epochs=30, trials=32)
    """

    # -- epochs ---------------------------------------------------------------------------------

    @checked_arguments(
        environment=_shown, epochs=whole_number, trials=whole_number, stop=optional(callback)
    )
    def train(
        self,
        environment: Iterable[Mapping[str, ArrayLike]],
        epochs: int,
        trials: int,
        stop: Callable[[Log], bool] | None = None,
    ) -> Log:
        """Train for some epochs.

        Parameters
        ----------
        environment : iterable
            Yields what is shown in each trial: layer -> (units,) array. With ``items``, the next
            ``items`` of these are shown at once. It may also yield arrays (items, units), with the
            items of all ranks. If it ends, the training ends.
        epochs : int
            Number of epochs, at most.
        trials : int
            Number of trials of an epoch. Each item counts as a trial.
        stop : callable, optional
            It gets the log after each epoch, and returns whether to end the training.

        Returns
        -------
        Log
            A row for each trial of each item, and a row with the means of each epoch.

        Raises
        ------
        RequestError
            If ``trials`` is not a multiple of the number of items.
        """
        return self._epochs(iter(environment), epochs, trials, True, stop)

    @checked_arguments(environment=_shown, trials=whole_number, record=optional(keyed))
    def test(
        self,
        environment: Iterable[Mapping[str, ArrayLike]],
        trials: int,
        record: Mapping[str, str] | None = None,
    ) -> Log:
        """Run one epoch without changes of weights; see `train`.

        Parameters
        ----------
        record : mapping of str to str, optional
            Layer -> state whose values at the end of each trial are `Log.recorded`. A name that is
            not there is told before the first trial.
        """
        for layer, name in (record or {}).items():
            self.get(layer, name)
        return self._epochs(iter(environment), 1, trials, False, None, record or {})

    def _epochs(
        self,
        environment: Iterator[Mapping[str, ArrayLike]],
        epochs: int,
        trials: int,
        learn: bool,
        stop: Callable[[Log], bool] | None,
        record: Mapping[str, str] = MappingProxyType({}),
    ) -> Log:
        log, every = Log(), self.learner.items
        if trials % every:
            raise RequestError(f"trials: a multiple of the {every} items is needed (got {trials})")
        for epoch in range(epochs):
            rows: list[dict[str, float]] = []
            began = perf_counter()
            while len(rows) < trials:
                shown = self._next(environment)
                if shown is None:
                    break
                self.trial(shown, learn)
                for layer, name in record.items():
                    log.record(layer, self._each(layer, name))
                for found in self._found():
                    rows.append({"epoch": epoch, "trial": len(rows), **found})
                    log.add("trial", rows[-1])
            if rows:
                mean = {n: float(np.mean([row[n] for row in rows])) for n in rows[0]}
                mean |= {n: mean_of_given([row[n] for row in rows]) for n in self.statistics()}
                del mean["trial"]
                log.add("epoch", {**mean, **self.learner.of_layers(), "epoch": epoch})
                log.ms_per_trial.append(1e3 * (perf_counter() - began) / len(rows))
            if len(rows) < trials or (stop is not None and stop(log)):
                break
        return log

    def _next(self, environment: Iterator[Mapping[str, ArrayLike]]) -> dict[str, Reals] | None:
        """Return what this process shows next, or None if the environment has ended."""
        every = self.learner.items
        first = next(environment, None)
        if first is None:
            return None
        if not isinstance(first, Mapping):
            raise RequestError(f"what is shown must be a mapping of layers (got {first!r:.60})")
        arrays = {name: np.asarray(values, np.float64) for name, values in first.items()}
        if self.items is None and every == 1:
            return arrays
        if any(values.size == self._showing.count(name) for name, values in arrays.items()):
            several = [arrays, *islice(environment, every - 1)]
            if len(several) < every:
                return None
            arrays = side_by_side(several)
        begin = self.learner.rank * self.count
        mine = {name: values[begin : begin + self.count] for name, values in arrays.items()}
        return mine if self.items is not None else {name: one[0] for name, one in mine.items()}

    def _each(self, layer: str, name: str) -> list[Reals]:
        """Return a state of the units of a layer, in each item of all ranks."""
        values = self.get(layer, name)
        alone = self.items is None or name in OF_ALL_ITEMS
        return self.learner.of_all_ranks([values] * self.count if alone else [*values])

    def _found(self) -> list[dict[str, float]]:
        """Return the statistics of the items of all ranks, in their order."""
        found = self.statistics() | self.states().of_layers([*self.network.layers])
        columns = [values.tolist() for values in found.values()]
        mine = [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)]
        return self.learner.of_all_ranks(mine)

    # -- files ----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write weights and averages to an HDF5 file, without the present activity.

        Raises
        ------
        NeurodriverError
            If the file cannot be written.
        """
        write_columns(Path(path), self._columns(), self.learner.trials)

    def load(self, path: str | Path) -> None:
        """Read weights and averages from a file of a network with the same layers and paths.

        Raises
        ------
        NeurodriverError
            For a file of another network, or one that cannot be read. The network is unchanged.
        """
        found, self.learner.trials = read_columns(Path(path), self._columns())
        for name in self.network.paths:
            self.synapses.write(name, found[f"paths/{name}"])
        for name, averages in self.learner.averages.items():
            for number, values in found[f"layers/{name}"].items():
                setattr(averages, number, values if values.ndim else float(values))
            self._populations[name].set("gi_mult", averages.gi_mult)

    def _columns(self) -> dict[str, dict[str, Reals]]:
        """Return all arrays that `save` writes: group -> name -> values."""
        out: dict[str, dict[str, Reals]] = {}
        for name in self.network.paths:
            out[f"paths/{name}"] = {one: self.synapses.read(name, one) for one in STORED}
        for name, averages in self.learner.averages.items():
            kept = ("target", "activity", "mean", "gi_mult")
            out[f"layers/{name}"] = {one: np.asarray(getattr(averages, one)) for one in kept}
        return out

    # -- values ---------------------------------------------------------------------------------

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
