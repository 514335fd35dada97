"""The generic circuit: three random layers of spiking and graded neurons, of any size.

Sensory neurons lead to local ones, local ones to projection neurons. Some of the sensory and of the
projection neurons spike (`LeakyIAF`), all others are graded (`MorrisLecar`); what a neuron sends
goes through `AlphaSynapse` or `PowerGPotGPot` accordingly. Each pair of neurons of two layers has
one synapse or none. Spikes from outside reach every sensory and every local neuron through a port
and a synapse of its own; projection neurons are seen from outside at ports. It is the circuit that
NeuroDriver's benchmarks of mixed models used, with conductances that keep it active at any size.

References
----------
.. [1] Givon, L. E. & Lazar, A. A. PLoS ONE 11, e0146581 (2016).
   https://doi.org/10.1371/journal.pone.0146581
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.circuit import Circuit, Connections
from neurodriver.circuit.circuit import Group, Port
from neurodriver.circuit.validate import checked
from neurodriver.components.axon_hillocks.leaky_iaf import LeakyIAF
from neurodriver.components.membranes.morris_lecar import MorrisLecar
from neurodriver.components.synapses.alpha_synapse import AlphaSynapse
from neurodriver.components.synapses.power_gpot_gpot import PowerGPotGPot
from neurodriver.errors import Faults
from neurodriver.model.component import NDComponent
from neurodriver.model.kinds import CONDUCTANCE, CURRENT, POTENTIAL, SPIKES

LAYERS = ("sensory", "local", "proj")
"""Layers in the order of flow; neurons are named ``<layer>_<number>``."""

GRADED_DELAY = 1e-3
"""Seconds from a graded neuron's potential to the conductance that it sets."""

_SPIKING = {
    "resting_potential": -70.0, "threshold": -45.0, "reset_potential": -65.0,
    "capacitance": 2.0, "resistance": 10.0,
}  # fmt: skip
_GRADED = {
    "V1": -1.2, "V2": 18.0, "V3": 2.0, "V4": 30.0, "phi": 0.04, "offset": 0.0, "V_L": -60.0,
    "V_Ca": 120.0, "V_K": -84.0, "g_L": 0.1, "g_Ca": 0.22, "g_K": 0.4, "initn": 0.014,
}  # fmt: skip
_ALPHA = {"ar": 0.11, "ad": 0.19}
_POWER = {"threshold": -55.0, "power": 1.0}

_ALPHA_SUM = 1.0
_POWER_SUM = {"slope": 0.02, "saturation": 0.4}
"""What the synapses of a fully connected neuron add up to: mS/cm^2, mS/cm^2/mV, mS/cm^2."""

_PORT_GMAX = 0.05
"""mS/cm^2; a spike from outside is worth a few of those from inside."""

_REVERSE = (-80.0, 0.0)
"""mV, of the synapses of neurons that inhibit and of all others."""

INHIBITORY = 0.2
"""Share of neurons that inhibit."""


def circuit(
    sensory: int = 200,
    local: int = 200,
    projection: int = 200,
    spiking: int | None = None,
    synapses: int | None = None,
    seed: int = 0,
    name: str = "generic",
) -> Circuit:
    """Return the circuit, ready to run.

    Parameters
    ----------
    sensory, local, projection : int
        Neurons of each layer.
    spiking : int, optional
        Spiking neurons, drawn from the sensory and projection neurons; half of these by default.
    synapses : int, optional
        All synapses, those of the ports included; by default half of the pairs have one.
    seed : int
        Of everything that is drawn.
    name : str
        First level of the ports' selectors.

    Raises
    ------
    CircuitError
        If more neurons are to spike, or more synapses are asked for, than there can be.
    """
    sizes = (sensory, local, projection)
    outer, entered = sensory + projection, sensory + local
    pairs = local * outer
    spiking = outer // 2 if spiking is None else spiking
    synapses = pairs // 2 + entered if synapses is None else synapses
    faults = Faults(name)
    if min(sizes) < 1:
        faults.add(f"each layer needs at least one neuron, got {sensory}, {local}, {projection}")
    if not 1 <= spiking <= outer:
        faults.add(f"of {outer:,} outer neurons 1 to {outer:,} can spike, got {spiking:,}")
    if not entered < synapses <= entered + pairs:
        many = f"{entered:,} ports and {pairs:,} pairs"
        faults.add(
            f"{many} allow {entered + 1:,} to {entered + pairs:,} synapses, got {synapses:,}"
        )
    faults.finish()
    rng = np.random.default_rng(seed)
    spikes = np.zeros(sum(sizes), dtype=bool)
    ends = np.r_[:sensory, sensory + local : spikes.size]
    spikes[rng.permutation(ends)[:spiking]] = True
    source, target = _joined(rng, sizes, synapses - entered)
    reverse = np.where(rng.random(spikes.size) < INHIBITORY, *_REVERSE)
    start = np.where(spikes, rng.uniform(-70, -45, spikes.size), rng.uniform(-60, -30, spikes.size))
    drawn = _Drawn(name, sizes, spikes, start, reverse[source], source, target)
    made = Circuit.from_columns(name, drawn.groups(), drawn.connections(), source=name)
    return checked(made, strict=False)


def current(
    circuit: Circuit, dt: float, steps: int, seed: int = 0
) -> tuple[NDArray[np.str_], NDArray[np.float64]]:
    """Return an input for the sensory neurons: currents that swing 4 times a second.

    Parameters
    ----------
    circuit : Circuit
        Made by `circuit`.
    dt : float
        Step in seconds.
    steps : int
    seed : int

    Returns
    -------
    uids : (sensory,) str
    values : (steps, sensory) float64
        uA/cm^2, around 4; each neuron has a swing of its own, 1 to 3.
    """
    uids = np.concatenate([g.uids for g in circuit.groups])
    uids = uids[np.strings.startswith(uids, f"{LAYERS[0]}_")]
    rng = np.random.default_rng(seed)
    swing = np.sin(2.0 * np.pi * 4.0 * dt * np.arange(steps))
    return uids, 4.0 + swing[:, np.newaxis] * rng.uniform(1.0, 3.0, uids.size)


def _joined(
    rng: np.random.Generator, sizes: tuple[int, int, int], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the neurons that ``count`` synapses join, ordered by source, then by target."""
    sensory, local, projection = sizes
    first = sensory * local
    chosen = np.sort(rng.permutation(first + local * projection)[:count])
    early, late = chosen[chosen < first], chosen[chosen >= first] - first
    source = np.concatenate([early // local, sensory + late // projection])
    target = np.concatenate([sensory + early % local, sensory + local + late % projection])
    return source, target


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """What was drawn: neurons numbered in the order of layers, and the synapses between them.

    Components are numbered otherwise: spiking neurons, graded ones, AlphaSynapses (those of the
    ports first), PowerGPotGPots, ports.
    """

    name: str
    sizes: tuple[int, int, int]
    spikes: NDArray[np.bool_]
    start: NDArray[np.float64]
    reverse: NDArray[np.float64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]

    @property
    def entered(self) -> int:
        """Number of neurons that spikes from outside reach: the first two layers."""
        return self.sizes[0] + self.sizes[1]

    def groups(self) -> tuple[Group, ...]:
        """Return the components."""
        spikes, entered = self.spikes, self.entered
        uids = np.concatenate(
            [_numbered(f"{k}_", n) for k, n in zip(LAYERS, self.sizes, strict=True)]
        )
        kicked = spikes[self.source]
        outside = _numbered("in_port", entered)
        inside = _text("synapse_", uids[self.source], "-", uids[self.target])
        through = _text("synapse_", outside, "_to_", uids[:entered])
        share = 1.0 / np.repeat(self.sizes, self.sizes)[self.source]
        gmax = np.append(np.full(entered, _PORT_GMAX), _ALPHA_SUM * share[kicked])
        power = _POWER | {n: v * share[~kicked] for n, v in _POWER_SUM.items()}
        return (
            _group(LeakyIAF, {**_SPIKING, "initV": self.start[spikes]}, uids[spikes]),
            _group(MorrisLecar, {**_GRADED, "initV": self.start[~spikes]}, uids[~spikes]),
            _group(AlphaSynapse, {**_ALPHA, "gmax": gmax}, np.append(through, inside[kicked])),
            _group(PowerGPotGPot, power, inside[~kicked]),
            self._ports(outside, _text(uids[entered:], "_port")),
        )

    def _ports(self, inward: NDArray[np.str_], outward: NDArray[np.str_]) -> Group:
        """Return the ports: spikes in, then spikes or potentials of the projection neurons out."""
        spike = self.spikes[self.entered :]
        number = np.where(spike, np.cumsum(spike), np.cumsum(~spike)) - 1
        kind = np.where(spike, "spk/", "gpot/")
        selectors = (
            _numbered(f"/{self.name}/in/spk/", inward.size),
            _text(f"/{self.name}/out/", kind, number.astype(np.str_)),
        )
        labels = {
            "selector": np.concatenate(selectors),
            "port_type": np.append(np.full(inward.size, "spike"), np.where(spike, "spike", "gpot")),
            "port_io": np.repeat(["in", "out"], [inward.size, outward.size]),
        }
        uids = np.concatenate([inward, outward])
        return Group(Port, {}, uids.size, uids, labels)

    def connections(self) -> tuple[Connections, ...]:
        """Return who leads to whom."""
        neurons, entered = self.spikes.size, self.entered
        spiking = np.count_nonzero(self.spikes)
        place = np.empty(neurons, dtype=np.int64)  # of each neuron among the components
        place[self.spikes] = np.arange(spiking)
        place[~self.spikes] = np.arange(spiking, neurons)
        kicked = self.spikes[self.source]
        source, target = place[self.source], place[self.target]
        through = neurons + np.arange(entered)
        alpha = neurons + entered + np.arange(np.count_nonzero(kicked))
        power = alpha.size + neurons + entered + np.arange(np.count_nonzero(~kicked))
        port = neurons + entered + source.size + np.arange(entered + self.sizes[2])
        spike, seen = self.spikes[entered:], place[entered:]
        reverse = self.reverse
        return (
            _links(SPIKES, SPIKES, port[:entered], through),
            _links(SPIKES, SPIKES, source[kicked], alpha),
            _links(POTENTIAL, POTENTIAL, source[~kicked], power, delay=GRADED_DELAY),
            _links(CONDUCTANCE, CURRENT, through, place[:entered], reverse=np.zeros(entered)),
            _links(CONDUCTANCE, CURRENT, alpha, target[kicked], reverse=reverse[kicked]),
            _links(CONDUCTANCE, CURRENT, power, target[~kicked], reverse=reverse[~kicked]),
            _links(SPIKES, "", seen[spike], port[entered:][spike]),
            _links(POTENTIAL, "", seen[~spike], port[entered:][~spike]),
        )


def _links(
    variable: str,
    access: str,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    delay: float = 0.0,
    **data: NDArray[np.float64],
) -> Connections:
    ends = source.astype(np.int32), target.astype(np.int32)
    return Connections(variable, access, *ends, np.array(delay), data)


def _group(
    model: type[NDComponent], params: Mapping[str, ArrayLike], uids: NDArray[np.str_]
) -> Group:
    return Group(model, {k: np.asarray(v, np.float64) for k, v in params.items()}, uids.size, uids)


def _numbered(head: str, count: int) -> NDArray[np.str_]:
    return _text(head, np.arange(count).astype(np.str_))


def _text(*parts: str | NDArray[np.str_]) -> NDArray[np.str_]:
    """Return the parts put together, column by column."""
    out = np.asarray(parts[0])
    for part in parts[1:]:
        out = np.strings.add(out, part)
    return out
