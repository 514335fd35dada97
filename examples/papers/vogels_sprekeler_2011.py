"""Inhibition that learns balances a network: it falls from 76 Hz to near the rate asked for.

8,000 excitatory and 2,000 inhibitory neurons, each pair joined with probability 0.02, and a current
of 200 pA. At first nothing inhibits the excitatory neurons. The synapses from inhibitory to
excitatory neurons learn by the symmetric rule with the rate of 3 Hz as their goal. The network then
fires at low rates and irregularly.

Excitatory neurons, last 5 s, and the mean of the weights that learn; seeds 0 to 2, and seed 0:

    learning rate   time    first second   rate at the end   CV           mean weight
    0.01            30 s    75-76 Hz       5.7-5.9 Hz        0.94-0.95    1.62-1.69 nS
    0.05            40 s    27 Hz          4.0 Hz            0.91         1.85 nS

The rate of 3 Hz is reached from above.

Vogels, T. P., Sprekeler, H., Zenke, F., Clopath, C. & Gerstner, W. Inhibitory plasticity balances
excitation and inhibition in sensory pathways and memory networks. Science 334, 1569-1573 (2011).
https://doi.org/10.1126/science.1211095

    python examples/papers/vogels_sprekeler_2011.py [--seconds 30] [-o out/vogels_2011.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.results import Activity, activity, described

# %%
# The same neurons as in `vogels_abbott_2005.py`, with a current into each.
DT = 1e-4
PROBABILITY = 0.02
LAST = 5.0
"""Seconds at the end over which rates and irregularity are taken."""

NEURON = {
    "resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
    "refractory_period": 5.0, "capacitance": 200.0, "leak_conductance": 10.0,
    "tau_exc": 5.0, "tau_inh": 10.0,
}  # fmt: skip
CURRENT = 200.0
"""Into each neuron, pA."""

EXCITATION, INHIBITION = 0.3, 3.0
"""nS."""


def network(neurons: int = 10_000, eta: float = 0.01, seed: int = 0) -> nd.Circuit:
    """Return the circuit, with populations ``E`` and ``I``.

    Smaller networks have stronger synapses, so that the mean input stays the same.
    """
    scale = 10_000 / neurons
    start = nd.Uniform(-60.0, -50.0)
    exc, inh = (
        nd.Population("LeakyIAFExpConductanceEuler", count, initV=start, **NEURON)
        for count in (4 * neurons // 5, neurons // 5)
    )
    rule = nd.FixedProbability(PROBABILITY)
    links = [
        nd.Projection(exc, to, rule, receptor="exc", weight=scale * EXCITATION) for to in (exc, inh)
    ]
    links.append(nd.Projection(inh, inh, rule, receptor="inh", weight=scale * INHIBITION))
    links.append(
        nd.Projection(
            inh,
            exc,
            rule,
            receptor="inh",
            weight=0.0,
            plasticity=nd.InhibitorySTDP(eta=scale * eta),
            name="learning",
        )
    )
    return nd.Circuit({"E": exc, "I": inh}, links, name="vogels 2011", seed=seed)


# %%
# Run, and take the rates and the weights.
def balance(
    circuit: nd.Circuit, seconds: float
) -> tuple[list[Activity], np.ndarray, dict[str, Any]]:
    """Return how the populations fire at the end, the weights, and all spikes."""
    excitatory = circuit.populations["E"].count
    populations = {"E": range(excitatory), "I": range(excitatory, circuit.count)}
    current = nd.StepInput("I", circuit.uids, CURRENT)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, DT, [current], [recorder]) as lpu:
        lpu.run(duration=seconds)
        weights = lpu["learning"].get("weight")
    spikes = recorder.get("spike_state")
    start = max(seconds - LAST, seconds / 2)
    return activity(**spikes, populations=populations, stop=seconds, start=start), weights, spikes


# %%
def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--neurons", type=int, default=10_000)
    parser.add_argument("--eta", type=float, default=0.01, help="learning rate")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    circuit = network(arguments.neurons, arguments.eta, arguments.seed)
    print(circuit)
    found, weights, spikes = balance(circuit, arguments.seconds)
    rates = rate_of(spikes, 4 * arguments.neurons // 5, arguments.seconds)
    print("E in each second, Hz:", *(f"{rate:.1f}" for rate in rates))
    print(described(found))
    print(f"weights from I to E: mean {weights.mean():.3f} nS")
    if arguments.output:
        draw(rates, weights, arguments.output)
        print(arguments.output)


def rate_of(spikes: dict[str, Any], excitatory: int, seconds: float) -> np.ndarray:
    """Return the mean rate of the excitatory neurons in each second, in Hz."""
    time = spikes["time"][spikes["index"] < excitatory]
    edges = np.append(np.arange(0.0, seconds, 1.0), seconds)
    return np.histogram(time, edges)[0] / np.diff(edges) / excitatory


def draw(rates: np.ndarray, weights: np.ndarray, output: Path) -> None:
    """Draw how the rate falls, and the weights at the end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    left.plot(np.arange(len(rates)) + 0.5, rates, color="#4477AA")
    left.axhline(3.0, color="#CC6677", linestyle="--", label="goal, 3 Hz")
    left.legend(frameon=False)
    left.set(xlabel="time (s)", ylabel="rate of excitatory neurons (Hz)", ylim=(0, None))
    right.hist(weights, 60, color="#4477AA")
    right.set(xlabel="inhibitory weight (nS)", ylabel="synapses")
    figure.suptitle("Vogels et al. 2011: inhibition learns to balance")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


if __name__ == "__main__":
    main()
