"""``Trainer``: trains a network, stores statistics, and reads and sets states and weights."""

from __future__ import annotations

import warnings
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
    whole_number,
)
from neurodriver.errors import CircuitWarning, RequestError

from .changes import STORED
from .statistics import Log, mean_of_given
from .table import side_by_side, without_end
from .values import OF_ALL_ITEMS, Values
from .weights_file import read_columns, write_columns

Reals = NDArray[np.float64]


def _shown(value: object, name: str) -> object:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ArgumentError(f"{name} must yield what is shown in each trial, got {value!r:.60}")
    return value


def _need_mapping(shown: object) -> None:
    if not isinstance(shown, Mapping):
        raise RequestError(f"what is shown must be a mapping of layers (got {shown!r:.60})")


class Trainer(Values):
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
            items of all ranks. A sequence, such as a list, begins anew after its last trial. If an
            iterator ends, the training ends, with a warning.
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
        return self._epochs(without_end(environment), epochs, trials, True, stop)

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
        return self._epochs(without_end(environment), 1, trials, False, None, record or {})

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
        ranks = self.learner.ranks
        ranks.agree("a training", {"epochs": epochs, "trials": trials, "learning": learn})
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
                    if learn:
                        self.learner.add_statistics(found)
            if rows:
                mean = {n: float(np.mean([row[n] for row in rows])) for n in rows[0]}
                mean |= {n: mean_of_given([row[n] for row in rows]) for n in self.statistics()}
                del mean["trial"]
                log.add("epoch", {**mean, **self.learner.of_layers(), "epoch": epoch})
                log.ms_per_trial.append(1e3 * (perf_counter() - began) / len(rows))
            if len(rows) < trials:
                say = f"has ended in epoch {epoch}, after {len(rows)} of its {trials} trials"
                do = "a list or a Table does not end"
                warnings.warn(f"the environment {say}; {do}", CircuitWarning, stacklevel=4)
                break
            if stop is not None and stop(log):
                break
        return log

    def _of_one(self, shown: Mapping[str, ArrayLike]) -> dict[str, Reals]:
        """Return what one item is shown, as arrays (1, units)."""
        _need_mapping(shown)
        return {name: self._showing.values(name, given, None) for name, given in shown.items()}

    def _next(
        self, environment: Iterator[Mapping[str, ArrayLike]]
    ) -> Mapping[str, ArrayLike] | None:
        """Return what this process shows next, or None if the environment has ended."""
        every = self.learner.items
        first = next(environment, None)
        if first is None:
            return None
        _need_mapping(first)
        if self.items is None and every == 1:
            return first
        if not self._showing.is_one_item(first):
            arrays = {n: self._showing.values(n, given, every) for n, given in first.items()}
        else:
            several = [first, *islice(environment, every - 1)]
            if len(several) < every:
                return None
            arrays = side_by_side([self._of_one(shown) for shown in several])
        self.learner.ranks.note(arrays)
        begin = self.learner.ranks.rank * self.count
        mine = {name: values[begin : begin + self.count] for name, values in arrays.items()}
        return mine if self.items is not None else {name: one[0] for name, one in mine.items()}

    def _each(self, layer: str, name: str) -> list[Reals]:
        """Return a state of the units of a layer, in each item of all ranks."""
        values = self.get(layer, name)
        alone = self.items is None or name in OF_ALL_ITEMS
        return self.learner.ranks.of_all([values] * self.count if alone else [*values])

    def _found(self) -> list[dict[str, float]]:
        """Return the statistics of the items of all ranks, in their order."""
        found = self.statistics() | self.states().of_layers([*self.network.layers])
        columns = [values.tolist() for values in found.values()]
        mine = [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)]
        return self.learner.ranks.of_all(mine)

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
