"""``Trainer``: trains a network for epochs, keeps statistics, reads and sets its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.errors import RequestError, near, quoted

from .changes import Learning
from .network import NetworkPath
from .statistics import Log
from .trials import Trials
from .weights_file import read_columns, write_columns

Reals = NDArray[np.float64]

WEIGHTS = {"Wt": "weight", "LWt": "linear", "SWt": "structural"}
"""Numbers of synapses, by the names that Axon has for them."""

CHANGES = ("DSWt", "Tr")


class Trainer(Trials):
    """A network that is trained and tested.

    Parameters
    ----------
    network : Network
    items : int, optional
        Items that are shown side by side. Each has activity of its own; all share the weights. What
        is shown and what `get` returns then begin with an axis of items.
    communicator : mpi4py communicator, optional
        Ranks that train together, such as ``MPI.COMM_WORLD``. Each shows its share of the items of
        an environment. All have the same weights, with the bits of one process with all items.
    slow_interval : int
        Trials from one change of structural weights to the next. Each item counts.
    inhibition_interval : int
        Trials from one change of ``gi_mult`` to the next, in layers with ``gi_adapts``.
    **options
        Of `LPU`, such as ``backend`` and ``threads``.

    Examples
    --------
    >>> with Trainer(net) as sim:  # doctest: +SKIP
    ...     log = sim.train(Table(Input=x, Output=y), epochs=30, trials=32)
    """

    # -- epochs ---------------------------------------------------------------------------------

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
            What is shown in each trial: layer -> (units,) array. With items, so many of these are
            shown at once; or it yields (items, units) arrays, with the items of all ranks. If it
            ends, the training ends.
        epochs : int
            At most.
        trials : int
            Of an epoch; each item counts.
        stop : callable, optional
            Takes the log after each epoch, and says whether to end.

        Returns
        -------
        Log
            A row for each trial of each item, and the means of each epoch.

        Raises
        ------
        RequestError
            If an epoch has no whole number of times all items.
        """
        return self._epochs(iter(environment), epochs, trials, True, stop)

    def test(self, environment: Iterable[Mapping[str, ArrayLike]], trials: int) -> Log:
        """Run an epoch without learning."""
        return self._epochs(iter(environment), 1, trials, False, None)

    def _epochs(
        self,
        environment: Iterator[Mapping[str, ArrayLike]],
        epochs: int,
        trials: int,
        learn: bool,
        stop: Callable[[Log], bool] | None,
    ) -> Log:
        log, every = Log(), self.learner.items
        if trials % every:
            raise RequestError(f"trials: a multiple of the {every} items is needed (got {trials})")
        for epoch in range(epochs):
            rows: list[dict[str, float]] = []
            while len(rows) < trials:
                shown = self._next(environment)
                if shown is None:
                    break
                self.trial(shown, learn)
                for found in self._found():
                    rows.append({"epoch": epoch, "trial": len(rows), **found})
                    log.add("trial", rows[-1])
            if rows:
                mean = {n: float(np.mean([row[n] for row in rows])) for n in rows[0]}
                del mean["trial"]
                log.add("epoch", {**mean, "epoch": epoch})
            if len(rows) < trials or (stop is not None and stop(log)):
                break
        return log

    def _next(self, environment: Iterator[Mapping[str, ArrayLike]]) -> dict[str, Reals] | None:
        """Return what this process shows next; None where the environment has ended."""
        every = self.learner.items
        first = next(environment, None)
        if first is None:
            return None
        arrays = {name: np.asarray(values, np.float64) for name, values in first.items()}
        if self.items is None and every == 1:
            return arrays
        if any(values.size == self._layer(name).count for name, values in arrays.items()):
            more = [arrays, *islice(environment, every - 1)]
            if len(more) < every:
                return None
            if any(one.keys() != arrays.keys() for one in more):
                raise RequestError("items that are shown side by side have values of equal layers")
            arrays = {
                name: np.stack([np.ravel(one[name]).astype(np.float64) for one in more])
                for name in arrays
            }
        begin = self.learner.rank * self.count
        mine = {name: values[begin : begin + self.count] for name, values in arrays.items()}
        return mine if self.items is not None else {name: one[0] for name, one in mine.items()}

    def _found(self) -> list[dict[str, float]]:
        """Return the statistics of the items of all ranks, in their order."""
        mine = [
            found | {f"{n}.Act": float(one["ActBeforeM"].mean()) for n, one in states.items()}
            for found, states in zip(self.statistics(), self.states(), strict=True)
        ]
        return self.learner.of_all_ranks(mine)

    # -- files ----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write weights and averages to an HDF5 file; activity is not in it.

        Raises
        ------
        NeurodriverError
            If the file cannot be written.
        """
        write_columns(Path(path), self._columns(), self.learner.trials)

    def load(self, path: str | Path) -> None:
        """Take weights and averages from a file of the same layers and paths.

        Raises
        ------
        NeurodriverError
            For a file of another network, or one that cannot be read. Nothing has changed then.
        """
        found, self.learner.trials = read_columns(Path(path), self._columns())
        for name, learning in self.learner.paths.items():
            for number, values in found[f"paths/{name}"].items():
                of_weights = number in WEIGHTS.values()
                setattr(learning.weights if of_weights else learning, number, values)
            self._send(name)
        for name, averages in self.learner.averages.items():
            for number, values in found[f"layers/{name}"].items():
                setattr(averages, number, values if values.ndim else float(values))
            self._populations[name].set("gi_mult", averages.gi_mult)

    def _columns(self) -> dict[str, dict[str, Reals]]:
        """Return all that a file of weights holds."""
        out: dict[str, dict[str, Reals]] = {}
        for name, learning in self.learner.paths.items():
            own = {number: getattr(learning.weights, number) for number in WEIGHTS.values()}
            out[f"paths/{name}"] = {**own, "slow": learning.slow}
        for name, averages in self.learner.averages.items():
            kept = ("target", "activity", "mean", "gi_mult")
            out[f"layers/{name}"] = {one: np.asarray(getattr(averages, one)) for one in kept}
        return out

    # -- values ---------------------------------------------------------------------------------

    def get(self, layer: str, name: str) -> Reals:
        """Return a state of the units of a layer, in its shape; ``bins`` have one more axis.

        With items, a state has an axis of items before them. ``TrgAvg`` and ``ActAvg`` are of all
        items.
        """
        found = self._layer(layer)
        if name in ("TrgAvg", "ActAvg"):
            one = self.learner.averages[found.name]
            return (one.target if name == "TrgAvg" else one.activity).reshape(found.shape)
        values = np.asarray(self.lpu[found.name].get(name), np.float64)
        items = () if self.items is None else (self.count,)
        size = values.size // (self.count * found.count)
        return values.reshape(*items, *found.shape, *(() if size == 1 else (size,)))

    def path(self, sender: str, receiver: str, name: str = "Wt", kind: str = "") -> Reals:
        """Return a number of the synapses of a path.

        Parameters
        ----------
        sender, receiver : str
        name : {"Wt", "LWt", "SWt", "DSWt", "Tr"}
        kind : str
            ``"inhib"`` for an inhibitory path.

        Returns
        -------
        (receivers, senders) float64
            NaN where there is no synapse. With items, ``Tr`` has an axis of items before them.
        """
        learning = self.learner.paths[self._path(sender, receiver, kind).name]
        pairs = learning.pairs
        values = self._numbers(learning, name)
        out = np.full((*values.shape[:-1], pairs.receivers, pairs.senders), np.nan)
        out[..., pairs.post, pairs.pre] = values
        return out

    def set_weights(self, sender: str, receiver: str, values: ArrayLike, kind: str = "") -> None:
        """Set the weights of a path, (receivers, senders); the linear weights follow."""
        path = self._path(sender, receiver, kind)
        learning, pairs = self.learner.paths[path.name], path.pairs
        given = np.asarray(values, np.float64)
        if given.shape != (pairs.receivers, pairs.senders):
            want = f"(receivers, senders) = {(pairs.receivers, pairs.senders)}"
            raise RequestError(f"path {quoted(path.name)}: {want} is needed, got {given.shape}")
        new = given[pairs.post, pairs.pre]
        most = 2 * learning.weights.structural
        if not ((new >= 0) & (new <= most)).all():
            say = "weights lie between 0 and twice the structural weight"
            raise RequestError(f"path {quoted(path.name)}: {say}")
        learning.weights.take(new)
        self._send(path.name)

    def set(self, layer: str, name: str, value: ArrayLike) -> None:
        """Set a parameter or a state of the units of a layer; with items, in all or in each."""
        found = self._layer(layer)
        given = np.asarray(value, np.float64)
        if self.items is not None and given.shape == (self.count, *found.shape):
            given = given.reshape(self.count, -1)
        elif given.ndim:
            given = given.ravel()
        self.lpu[found.name].set(name, given if given.ndim else float(given))

    def _path(self, sender: str, receiver: str, kind: str) -> NetworkPath:
        name = f"{sender}To{receiver}" + ("Inhib" if kind == "inhib" else "")
        if name not in self.network.paths:
            raise RequestError(f"no path {quoted(name)}{near(name, self.network.paths)}")
        return self.network.paths[name]

    def _numbers(self, learning: Learning, name: str) -> Reals:
        """Return a number of the synapses of a path, (synapses,), or (items, synapses)."""
        if name in WEIGHTS:
            found: Reals = getattr(learning.weights, WEIGHTS[name])
            return found
        if name == "DSWt":
            return learning.slow
        if name == "Tr":
            if learning.own["tau_trace"] == 1:
                say = "paths with tau_trace = 1 keep no traces"
                raise RequestError(f"'Tr': {say}")
            return learning.traces[0] if self.items is None else learning.traces
        known = ", ".join((*WEIGHTS, *CHANGES))
        raise RequestError(f"synapses have no {quoted(name)}; they have {known}")
