"""The cortical microcircuit: eight populations under a square millimetre of cortex, at any scale.

77,169 integrate-and-fire neurons and 0.3 G synapses in four layers, each neuron with a background
of 8 Hz from outside. ``--scale`` makes both sizes and in-degrees smaller; weights then grow by
1 / sqrt(scale), and a constant current makes up for the mean input that is lost, so that mean and
variance of the input stay what they were (van Albada et al. 2015). Correlations do not.

Excitatory and inhibitory currents have the same time constant, so a neuron has one receptor for
both. With ``--grid`` weights lie on a grid: they are multiples of a 64th of their mean, a sixth of
their standard deviation. Then sums of weights fit into 4 bytes, and the network at full scale takes
a tenth less time on a GPU.

Potjans, T. C. & Diesmann, M. The cell-type specific cortical microcircuit: relating structure and
activity in a full-scale spiking network model. Cereb Cortex 24, 785-806 (2014).
https://doi.org/10.1093/cercor/bhs358
van Albada, S. J., Helias, M. & Diesmann, M. Scalability of asynchronous networks is limited by
one-to-one mapping between effective connectivity and correlations. PLoS Comput Biol 11, e1004490
(2015). https://doi.org/10.1371/journal.pcbi.1004490

    python examples/papers/potjans_diesmann_2014.py [--scale 0.1] [-o out/potjans_diesmann_2014.png]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.results import activity, described

Network = tuple[nd.Circuit, list[nd.Input], dict[str, range]]
"""Circuit, inputs, and the neurons of each population."""

# %%
# The tables of the paper.
DT = 1e-4
START = 0.2
"""When the first volleys are over, s."""

NAMES = ("L23E", "L23I", "L4E", "L4I", "L5E", "L5I", "L6E", "L6I")
SIZES = np.array([20683, 5834, 21915, 5479, 4850, 1065, 14395, 2948])
PROBABILITY = np.array([
    [0.1009, 0.1689, 0.0437, 0.0818, 0.0323, 0.0000, 0.0076, 0.0000],
    [0.1346, 0.1371, 0.0316, 0.0515, 0.0755, 0.0000, 0.0042, 0.0000],
    [0.0077, 0.0059, 0.0497, 0.1350, 0.0067, 0.0003, 0.0453, 0.0000],
    [0.0691, 0.0029, 0.0794, 0.1597, 0.0033, 0.0000, 0.1057, 0.0000],
    [0.1004, 0.0622, 0.0505, 0.0057, 0.0831, 0.3726, 0.0204, 0.0000],
    [0.0548, 0.0269, 0.0257, 0.0022, 0.0600, 0.3158, 0.0086, 0.0000],
    [0.0156, 0.0066, 0.0211, 0.0166, 0.0572, 0.0197, 0.0396, 0.2252],
    [0.0364, 0.0010, 0.0034, 0.0005, 0.0277, 0.0080, 0.0658, 0.1443],
])  # fmt: skip
"""That a pair has at least one synapse; rows are targets, columns sources."""

OUTSIDE, BACKGROUND = np.array([1600, 1500, 2100, 1900, 2000, 1900, 2900, 2100]), 8.0
"""Synapses from outside of a neuron, and spikes a second of each."""

RATES = np.array([0.903, 2.965, 4.414, 5.876, 7.569, 8.633, 1.105, 7.829])
"""Hz, of the full scale, as the published implementation for NEST tells them."""

NEURON = {
    "resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0, "capacitance": 250.0,
    "time_constant": 10.0, "tau_exc": 0.5, "tau_inh": 0.5, "refractory_period": 2.0,
}  # fmt: skip
WEIGHT, INHIBITION, SPREAD = 87.81, -4.0, 0.1
"""pA (0.15 mV at the soma); inhibitory to excitatory; standard deviation to mean."""

GRID = 64
"""Grid spacings of an excitatory weight of mean size, where weights lie on a grid."""

DELAY, DELAY_SPREAD = (1.5e-3, 0.8e-3), 0.5
"""s, from excitatory and inhibitory neurons; standard deviation to mean."""


# %%
# A smaller circuit whose neurons get an input of the same mean and variance.
@dataclass(frozen=True, slots=True)
class Scaled:
    """The circuit at a scale: sizes (8,), synapses and weights (8 targets, 8 sources), and so on.

    Attributes
    ----------
    sizes, synapses : int
    weight : float
        Mean, pA.
    drive_rate, drive_weight : float
        Hz (8,); pA.
    current : float
        pA (8,): what the scale takes from the mean input.
    """

    sizes: np.ndarray
    synapses: np.ndarray
    weight: np.ndarray
    drive_rate: np.ndarray
    drive_weight: float
    current: np.ndarray


def scaled(scale: float) -> Scaled:
    """Return what the circuit is at a scale, 0 to 1."""
    synapses = np.log(1.0 - PROBABILITY) / np.log1p(-1.0 / np.outer(SIZES, SIZES))
    weight = np.tile([WEIGHT, INHIBITION * WEIGHT], (8, 4))
    weight[0, 2] *= 2.0  # L4E to L23E
    arriving = (weight * synapses / SIZES[:, None]) @ RATES + WEIGHT * OUTSIDE * BACKGROUND
    root = np.sqrt(scale)
    return Scaled(
        np.rint(scale * SIZES).astype(int),
        np.rint(scale**2 * synapses).astype(int),
        weight / root,
        scale * OUTSIDE * BACKGROUND,
        WEIGHT / root,
        (1.0 - root) * arriving * NEURON["tau_exc"] * 1e-3,
    )


def network(scale: float = 0.1, seed: int = 0, grid: int = 0) -> Network:
    """Return the circuit; its input is the current that makes up for the scale.

    ``grid`` is the number of grid spacings of a weight, 0: any weight.
    """
    rng = np.random.default_rng(seed)
    at = scaled(scale)
    count = int(at.sizes.sum())
    params = NEURON | {
        "initV": rng.normal(-58.0, 10.0, count),
        "drive_rate": np.repeat(at.drive_rate, at.sizes),
        "drive_weight": at.drive_weight,
    }
    group = (shipped()["LeakyIAFExpCurrentDriven"], count, params, None)
    starts = np.cumsum(at.sizes) - at.sizes
    bounds = zip(NAMES, starts.tolist(), at.sizes.tolist(), strict=True)
    populations = {name: range(first, first + size) for name, first, size in bounds}
    links = [
        synapses(at, populations, target, source, at.drive_weight / grid if grid else 0.0)
        for target, source in np.argwhere(at.synapses).tolist()
    ]
    name = f"potjans_diesmann {scale:g}"
    circuit = nd.Circuit.from_arrays([group], links, name=name, seed=seed)
    current = nd.StepInput("I", circuit.uids, np.repeat(at.current, at.sizes))
    return circuit, [current] if scale < 1.0 else [], populations


def synapses(
    at: Scaled, populations: dict[str, range], target: int, source: int, spacing: float = 0.0
) -> nd.Projection:
    """Return the synapses of two populations; pairs may have several, as in the paper."""
    mean, late = at.weight[target, source], DELAY[source % 2]
    bounds = (0.0, np.inf) if mean > 0 else (-np.inf, 0.0)
    return nd.Projection(
        "spike_state",
        "exc",  # currents of both signs have one time constant, so one sum
        populations[NAMES[source]],
        populations[NAMES[target]],
        nd.FixedTotal(int(at.synapses[target, source])),
        weight=nd.Normal(mean, abs(mean) * SPREAD, *bounds, multiple_of=spacing),
        delay=nd.Normal(late, late * DELAY_SPREAD, DT / 2, np.inf),
    )


# %%
def rate_of_neuron(mean: NDArray[np.float64], sd: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rate of a neuron, Hz, from mean and standard deviation of its input, mV.

    The integral of exp(x²)(1 + erf x) between reset and threshold (Brunel 2000,
    doi:10.1023/A:1008925309027), both raised for the synapses' time constant (Fourcaud & Brunel
    2002, doi:10.1162/089976602320264015).
    """
    from scipy.special import erfcx

    tau, refractory = NEURON["time_constant"] * 1e-3, NEURON["refractory_period"] * 1e-3
    raised = 1.4603545088095868 / np.sqrt(2) * np.sqrt(NEURON["tau_exc"] / NEURON["time_constant"])
    span = NEURON["threshold"] - NEURON["resting_potential"]
    high, low = (span - mean) / sd + raised, -mean / sd + raised
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x = (high + low)[:, None] / 2 + (high - low)[:, None] / 2 * nodes
    up, down = np.clip(x, 0.0, 25.0), np.minimum(x, 0.0)  # exp(25²) is a number still
    integrand = np.where(x > 0, 2.0 * np.exp(up**2) - erfcx(up), erfcx(-down))
    return 1.0 / (refractory + tau * np.sqrt(np.pi) * (integrand @ weights) * (high - low) / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.1, help="of sizes and in-degrees")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grid", action="store_true", help="weights on a grid")
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    grid = GRID * arguments.grid
    circuit, inputs, populations = network(arguments.scale, arguments.seed, grid)
    print(circuit)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, [recorder], seed=arguments.seed) as lpu:
        lpu.run(duration=arguments.seconds)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=lpu.time, start=START)
    print(described(found))
    if arguments.output:
        title = f"Potjans & Diesmann 2014 at scale {arguments.scale:g}"
        print(nd.plot_populations(spikes, found, populations, arguments.output, title))


if __name__ == "__main__":
    main()
