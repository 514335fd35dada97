"""``PathSynapses``: the weights of all paths, and which texts change them after a trial.

The averages of units are with them, so that one launch changes all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neurodriver.backends.synapse_place import ADDS, ALONE, PACKS
from neurodriver.backends.synapse_tables import SynapseSet
from neurodriver.errors import RequestError, quoted
from neurodriver.run.synapse_links import Linked, LinkedSets

from .averages import average_name, average_sets
from .circuit import NetworkCircuit, first_units
from .contrast import contrast
from .layers import NetworkLayer, NetworkPath
from .learning_texts import LESIONED, TEXTS
from .network import Network
from .neuron_text import BIN, BINS
from .starts import PLAIN, Weights

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from neurodriver.run.lpu import LPU

Reals = NDArray[np.float64]

NAMES = {"Wt": "weight", "LWt": "linear", "SWt": "structural", "DSWt": "slow", "Tr": "trace"}
"""Name of a number of synapses in Axon -> name here."""

STORED = "weight", "linear", "structural", "slow"
"""Numbers of synapses that a file of weights has."""

WINDOW = 16
"""Number of bins over which the product of activities is summed in hidden layers: 160 ms."""

PRODUCT = 8 / 16
"""Factor of the sum over the bins of this product."""


def phase_weights(bins: int, plus: int) -> tuple[Reals, Reals]:
    """Return the weights of the bins in potentiation and in depression, (bins,) each.

    Parameters
    ----------
    bins : int
        Number of bins of a trial.
    plus : int
        Number of bins of the plus phase, which are the last ones.
    """
    p, d = np.zeros(bins), np.zeros(bins)
    first, u = bins - plus, plus
    for i in range(1, u + 1):
        p[first + i - 1] = 0.84 + 2.56 * i / u
        d[first + i - 1] = 1.46 - 0.22 * i / u
    for i, j in enumerate(range(first - 1, -1, -1)):
        late = 0.84 - 0.3 * i / (2 * u - 1)
        early = max(0.84 - 0.6 * u / (2 * u - 1) - 0.7 * (i - 2 * u) / u, 0.0)
        p[j] = late if i < 2 * u else early
        d[j] = 1.46 if i < u else max(1.46 - 1.2 * (i - u) / (u + 1), 0.0)
    return 0.4 * p, 0.4 * d


def bin_weights(bins: int, plus: int, by_target: bool, cap_scale: float) -> Reals:
    """Return the weights of the last `BINS` bins in the sum of products, (BINS,).

    Parameters
    ----------
    bins, plus : int
        Number of bins of a trial, and of its plus phase.
    by_target : bool
        Whether the receiving layer has targets, or is driven in the plus phase.
    cap_scale : float
        Factor of potentiation, in such layers.
    """
    out, trial = np.zeros(BINS), slice(BINS - bins, BINS)
    if by_target:
        p, d = phase_weights(bins, plus)
        out[trial] = cap_scale * p - d
        return out
    first = max((bins * BIN - 1 - WINDOW * BIN) // BIN, 0)
    out[trial][first : first + WINDOW] = PRODUCT
    return out


def rule_of(path: NetworkPath, own: Mapping[str, float | bool]) -> str:
    """Return the text by which the weights of a path learn."""
    if path.kind == "striatal":
        return "striatal"
    if own["hebb"]:
        return "hebb"
    if path.kind != "context" and path.receiver.learns_by_target:
        return "target"
    rule = "context" if path.kind == "context" else "cortex"
    return rule if own["tau_trace"] == 1 else f"{rule}, averaged"


class PathSynapses:
    """The weights of all paths of a network, and the averages of units, in the backend's memory.

    Parameters
    ----------
    weights : mapping of str to Weights
        Name of a path -> its initial weights.
    lpu : LPU
        Of this circuit.
    """

    def __init__(
        self, network: Network, weights: Mapping[str, Weights], made: NetworkCircuit, lpu: LPU
    ) -> None:
        self.network, self._made = network, made
        paths = network.paths.values()
        self._own = {path.name: network.parameters(path) for path in paths}
        self._rules = {path.name: rule_of(path, self._own[path.name]) for path in paths}
        sets, links, changes, applied = {}, {}, {}, {}
        for layer in network.layers.values():
            for text, one in average_sets(network, layer).items():
                name = average_name(layer, text)
                sets[name], links[name] = one, Linked((layer.name, layer.name))
                changes[name], applied[name] = text, f"apply {text}"
        for path in paths:
            name, own = path.name, self._own[path.name]
            sets[name], links[name] = self._set(path, weights[name]), self._link(path)
            if own["learn"]:
                changes[name] = self._rules[name]
                applied[name] = "apply, centred" if own["sub_mean"] else "apply"
        self._changes, self._applied = changes, applied
        self._adapted = {name: "adapt" for name, own in self._own.items() if own["learn"]}
        self._on: dict[str, Reals] = {}
        units = sum(layer.count for layer in network.layers.values())
        self._linked = LinkedSets(lpu, TEXTS, sets, links, units)

    def _set(self, path: NetworkPath, weights: Weights) -> SynapseSet:
        own, pairs = self._own[path.name], path.pairs
        network, by_target = self.network, path.receiver.learns_by_target
        bins = network.cycles // BIN, network.plus // BIN
        numbers = {name: own[name] for name in TEXTS.numbers if name in own}
        numbers["scale"] = network.scale(path)
        receiver = network.parameters(path.receiver)
        numbers |= {"rated": receiver["rate_factor"], "da_sign": 1 - 2 * receiver["d2"]}
        numbers |= {name: receiver[name] for name in TEXTS.numbers if name in receiver}
        numbers["adapts"] = bool(own["swt_adapts"]) and not by_target
        numbers["balances"] = path.kind != "inhib" and path.receiver.balanced
        scale = float(own["cap_scale"])
        return SynapseSet(
            pairs.first,
            pairs.pre.astype(np.int32),
            {**vars(weights), "slow": np.zeros(len(pairs))},
            {**numbers, "bin_weights": bin_weights(*bins, by_target, scale)},
            keeps=self.keeps_traces(path.name),
            offset=first_units(network)[path.receiver.name],
            part=path.receiver.number,
        )

    def _link(self, path: NetworkPath) -> Linked:
        ends, place = (path.sender.name, path.receiver.name), self._made.paths.get(path.name)
        if place is None:
            return Linked(ends)
        return Linked(ends, place.links, place.first, path.pairs.by_sender)

    @property
    def changes(self) -> NDArray[np.int64]:
        """Changes that `learn` has added up, in multiples of `UNIT`: one array."""
        return self._linked.sets.counts

    @changes.setter
    def changes(self, values: NDArray[np.int64]) -> None:
        self._linked.sets.counts = values

    def reaches(self, communicator: Intracomm) -> bool:
        """Whether the GPUs of all ranks can add up the changes; all ranks call it together."""
        return self._linked.sets.reaches(communicator)

    def prepare(self) -> bool:
        """Prepare `learn`; return whether it may begin while the last steps run.

        It may not where it changes traces: if the steps fail, it must have changed nothing that
        stays.
        """
        return self._linked.prepare(self._chosen(self._changes))

    def learn(self, reached: bool, prepared: bool = False) -> None:
        """Begin to compute the changes that follow from the last trial, and add them up over items.

        Parameters
        ----------
        reached : bool
            Whether GPUs add up the changes of all ranks, see `reaches`.
        prepared : bool
            Whether `prepare` has been called.
        """
        share = PACKS if reached else ALONE
        if prepared:
            self._linked.sets.run(self._chosen(self._changes), {}, share)
        else:
            self._run(self._changes, share=share)

    def apply(self, reached: bool) -> None:
        """Begin to apply the changes to the linear weights and the averages of units.

        With ``reached``, each GPU first adds the changes of the other ranks. It waits for them, so
        all ranks must be about to apply.
        """
        self._run(self._applied, share=ADDS if reached else ALONE)

    def adapt(self, difference: Reals) -> None:
        """Change structural weights, and move the receivers towards their target averages.

        Parameters
        ----------
        difference : (units,) float64
            Average activity of each unit, divided by that of its layer, minus its target average.
            Weights into units that are too active become smaller.
        """
        self._run(self._adapted, {"difference": difference})

    def _run(
        self,
        texts: Mapping[str, str],
        given: Mapping[str, Reals] | None = None,
        share: int = ALONE,
    ) -> None:
        """Run a text for each of some sets."""
        self._linked.run(self._chosen(texts), given, share)

    def _chosen(self, texts: Mapping[str, str]) -> Mapping[str, str]:
        """Return texts of sets; those of lesioned sets have others, which stand for these."""
        if not self._on:
            return texts
        others = {name: f"{text}{LESIONED}" for name, text in texts.items() if name in self._on}
        return {**texts, **{n: one for n, one in others.items() if one in TEXTS.texts}}

    def lesion(self, layer: NetworkLayer, on: Mapping[str, NDArray[np.bool_]]) -> None:
        """Leave out the synapses of units that are switched off.

        They carry nothing, and do not change, until their units are switched on. Their traces
        become 0. The averages of these units do not change, either.

        Parameters
        ----------
        layer : NetworkLayer
            Where units have been switched.
        on : mapping of str to (units,) bool
            Layer -> which of its units are on; for layers without lesions all are.
        """
        for text in average_sets(self.network, layer):
            name = average_name(layer, text)
            self._on[name] = on[layer.name].astype(np.float64)
            self._linked.sets.write(name, "on", self._on[name])
        for path in self.network.paths.values():
            if layer not in (path.sender, path.receiver):
                continue
            ends = on[path.sender.name][path.pairs.pre], on[path.receiver.name][path.pairs.post]
            self._on[path.name] = values = (ends[0] & ends[1]).astype(np.float64)
            if self.keeps_traces(path.name):
                self._linked.sets.write(path.name, "trace", self.read(path.name, "trace") * values)
            self.write(path.name, {"on": values})

    def carried(self, path: str) -> Reals:
        """Return the weights of a path, and 0 where an end is switched off."""
        weight = self.read(path, "weight")
        return weight * self._on[path] if path in self._on else weight

    def wait(self) -> None:
        """Wait until all that has begun is done."""
        self._linked.sets.place.wait()

    def read(self, path: str, name: str) -> Reals:
        """Return a number of each synapse of a path, (synapses,), or ``trace`` (items, synapses).

        The names are those of `TEXTS`.
        """
        return self._linked.sets.read(path, name)

    def set(self, name: str, number: str, values: Reals) -> None:
        """Set an average of the units of a layer, by the name of its set."""
        self._linked.sets.write(name, number, values)

    def set_number(self, path: str, number: str, value: float) -> None:
        """Set a number that all synapses of a path have in common."""
        self._linked.sets.set_number(path, number, value)

    def named(self, path: str, name: str) -> Reals:
        """Return a number of each synapse by its name in Axon; see `read`."""
        if name not in NAMES:
            known = ", ".join(NAMES)
            raise RequestError(f"synapses have no {quoted(name)}; they have {known}")
        if name == "Tr" and not self.keeps_traces(path):
            say = "Hebbian paths, paths to targets, and paths with tau_trace = 1 keep no traces"
            raise RequestError(f"'Tr': {say}")
        return self.read(path, NAMES[name])

    def write(self, path: str, numbers: Mapping[str, Reals]) -> None:
        """Set numbers of each synapse of a path."""
        for name, values in numbers.items():
            self._linked.sets.write(path, name, values)
        self._run({path: "send"})

    def take(self, path: NetworkPath, name: str, values: Reals, where: str) -> None:
        """Set the weights of a path, or its linear or structural weights; the others follow.

        Parameters
        ----------
        name : {"Wt", "LWt", "SWt"}
        where : str
            Of which path messages speak.
        """
        settable = {
            "Wt": "weights lie between 0 and twice the structural weight",
            "LWt": "linear weights lie between 0 and 1",
            "SWt": "structural weights lie between {:g} and {:g}",
        }
        if name not in settable:
            raise RequestError(f"{where}: no {name!r:.60} can be set; {', '.join(settable)} can")
        structural = self.read(path.name, "structural")
        least, most = np.array(0.0), {"Wt": 2 * structural}.get(name, np.array(1.0))
        if name == "SWt":
            own = self._own[path.name]
            least, most = np.minimum(own["swt_least"], PLAIN), np.maximum(own["swt_most"], PLAIN)
        if not ((values >= least) & (values <= most)).all():
            raise RequestError(f"{where}: {settable[name].format(least.min(), most.max())}")
        made = Weights(self.read(path.name, "weight"), self.read(path.name, "linear"), structural)
        if name == "Wt":
            made.take(values)
        else:
            setattr(made, NAMES[name], values)
            made.weight = made.structural * contrast(made.linear)
        self.write(path.name, vars(made))

    def keeps_traces(self, path: str) -> bool:
        """Whether the rule of a path has a trace of each synapse, from trial to trial."""
        return "averaged" in self._rules[path] or self._rules[path] == "striatal"

    def close(self) -> None:
        """Give the memory back."""
        self._linked.close()
