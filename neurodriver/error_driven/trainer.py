"""``Trainer``: trains a network for epochs, keeps statistics, reads and sets its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.errors import RequestError, near, quoted

from .network import NetworkPath
from .statistics import Log
from .trials import Trials
from .weights_file import read_columns, write_columns

Reals = NDArray[np.float64]

WEIGHTS = {"Wt": "weight", "LWt": "linear", "SWt": "structural"}
"""Numbers of synapses, by the names that Axon has for them."""

CHANGES = {"DWt": "change", "DSWt": "slow", "Tr": "trace"}


class Trainer(Trials):
    """A network that is trained and tested.

    Parameters
    ----------
    network : Network
    slow_interval : int
        Trials from one change of structural weights to the next.
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
            What is shown in each trial: layer -> (units,) array. If it ends, the training ends.
        epochs : int
            At most.
        trials : int
            Of an epoch.
        stop : callable, optional
            Takes the log after each epoch, and says whether to end.

        Returns
        -------
        Log
            A row for each trial, and the means of each epoch.
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
        log = Log()
        for epoch in range(epochs):
            rows = []
            for number in range(trials):
                shown = next(environment, None)
                if shown is None:
                    break
                row = {"epoch": epoch, "trial": number, **self.trial(shown, learn)}
                row |= {f"{n}.Act": self._mean_activity(n) for n in self.network.layers}
                log.add("trial", row)
                rows.append(row)
            if rows:
                mean = {n: float(np.mean([row[n] for row in rows])) for n in rows[0]}
                del mean["trial"]
                log.add("epoch", {**mean, "epoch": epoch})
            if len(rows) < trials or (stop is not None and stop(log)):
                break
        return log

    def _mean_activity(self, name: str) -> float:
        return float(self.states(name)["ActBeforeM"].mean())

    # -- files ----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write weights and averages to an HDF5 file; activity is not in it.

        Raises
        ------
        NeurodriverError
            If the file cannot be written.
        """
        write_columns(Path(path), self._columns(), self.trials)

    def load(self, path: str | Path) -> None:
        """Take weights and averages from a file of the same layers and paths.

        Raises
        ------
        NeurodriverError
            For a file of another network, or one that cannot be read. Nothing has changed then.
        """
        found, self.trials = read_columns(Path(path), self._columns())
        for name, learning in self._learning.items():
            for number, values in found[f"paths/{name}"].items():
                setattr(
                    learning.weights if number in WEIGHTS.values() else learning, number, values
                )
            self._send(name)
        for name, averages in self.averages.items():
            some = dict(found[f"layers/{name}"])
            averages.mean = float(some.pop("mean"))
            for number, values in some.items():
                setattr(averages, number, values)

    def _columns(self) -> dict[str, dict[str, Reals]]:
        """Return all that a file of weights holds."""
        out: dict[str, dict[str, Reals]] = {}
        for name, learning in self._learning.items():
            own = {number: getattr(learning.weights, number) for number in WEIGHTS.values()}
            out[f"paths/{name}"] = {**own, "slow": learning.slow, "trace": learning.trace}
        for name, averages in self.averages.items():
            out[f"layers/{name}"] = {
                "target": averages.target,
                "target_change": averages.target_change,
                "activity": averages.activity,
                "mean": np.asarray(averages.mean),
            }
        return out

    # -- values ---------------------------------------------------------------------------------

    def get(self, layer: str, name: str) -> Reals:
        """Return a state of the units of a layer, in its shape; ``bins`` have one more axis."""
        found = self._layer(layer)
        if name in ("TrgAvg", "ActAvg"):
            one = self.averages[found.name]
            return (one.target if name == "TrgAvg" else one.activity).reshape(found.shape)
        values = np.asarray(self.lpu[found.name].get(name), np.float64)
        return values.reshape(*found.shape, *values.shape[1:])

    def path(self, sender: str, receiver: str, name: str = "Wt", kind: str = "") -> Reals:
        """Return a number of the synapses of a path.

        Parameters
        ----------
        sender, receiver : str
        name : {"Wt", "LWt", "SWt", "DWt", "DSWt", "Tr"}
        kind : str
            ``"inhib"`` for an inhibitory path.

        Returns
        -------
        (receivers, senders) float64
            NaN where there is no synapse.
        """
        learning = self._learning[self._path(sender, receiver, kind).name]
        values = (
            getattr(learning.weights, WEIGHTS[name])
            if name in WEIGHTS
            else getattr(learning, CHANGES[self._number(name)])
        )
        pairs = learning.pairs
        out = np.full((pairs.receivers, pairs.senders), np.nan)
        out[pairs.post, pairs.pre] = values
        return out

    def set_weights(self, sender: str, receiver: str, values: ArrayLike, kind: str = "") -> None:
        """Set the weights of a path, (receivers, senders); the linear weights follow."""
        path = self._path(sender, receiver, kind)
        learning, pairs = self._learning[path.name], path.pairs
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
        """Set a parameter or a state of the units of a layer."""
        found = self._layer(layer)
        given = np.asarray(value, np.float64)
        self.lpu[found.name].set(name, given.ravel() if given.ndim else float(given))

    def _path(self, sender: str, receiver: str, kind: str) -> NetworkPath:
        name = f"{sender}To{receiver}" + ("Inhib" if kind == "inhib" else "")
        if name not in self.network.paths:
            raise RequestError(f"no path {quoted(name)}{near(name, self.network.paths)}")
        return self.network.paths[name]

    @staticmethod
    def _number(name: str) -> str:
        if name not in CHANGES:
            known = (*WEIGHTS, *CHANGES)
            raise RequestError(f"synapses have no {quoted(name)}; they have {', '.join(known)}")
        return name
