"""A network that keeps itself active: integrate-and-fire neurons, conductances or currents.

3,200 excitatory and 800 inhibitory neurons, each pair joined with probability 80 / N, no input from
outside: what starts the activity are the first conductances. COBA is benchmark 1 of the review of
2007, CUBA benchmark 2; the numbers are those of the review. COBA takes explicit Euler steps of
0.1 ms, CUBA exact ones. A spike acts 0.1 ms later, and a neuron rests for 50 steps after that of
its spike. Without delay and with 49 steps of rest, as in a plain program for Brian2, excitatory
neurons fire at 19.35 Hz instead of 19.1 (means of 300 networks and more).

Vogels, T. P. & Abbott, L. F. Signal propagation and logic gating in networks of integrate-and-fire
neurons. J Neurosci 25, 10786-10795 (2005). https://doi.org/10.1523/JNEUROSCI.3508-05.2005
Brette, R. et al. Simulation of networks of spiking neurons: a review of tools and strategies.
J Comput Neurosci 23, 349-398 (2007). https://doi.org/10.1007/s10827-007-0038-6

    python examples/papers/vogels_abbott_2005.py [--currents] [-o out/vogels_abbott_2005.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.results import activity, described

Network = tuple[nd.Circuit, list[nd.Input], dict[str, range]]
"""Circuit, inputs, and the neurons of each population."""

# %%
# The parameters of the review, for conductances (COBA) and for currents (CUBA).
DT = 1e-4
START = 0.1
"""When what started the activity is forgotten, s."""

INPUTS = 80
"""Mean number of inputs of a neuron."""

NEURON = {
    "threshold": -50.0, "reset_potential": -60.0, "refractory_period": 5.0, "capacitance": 200.0,
    "tau_exc": 5.0, "tau_inh": 10.0,
}  # fmt: skip
COBA = {"resting_potential": -60.0, "leak_conductance": 10.0}
CUBA = {"resting_potential": -49.0, "time_constant": 20.0}
WEIGHTS = {"coba": {"exc": 6.0, "inh": 67.0}, "cuba": {"exc": 16.2, "inh": -90.0}}
"""nS, and pA: the review's 1.62 and -9 mV through 10 nS."""


# %%
# One population, and a projection from each of its two parts.
def network(neurons: int = 4_000, currents: bool = False, seed: int = 0) -> Network:
    """Return the circuit; it has no inputs."""
    rng = np.random.default_rng(seed)
    kind = "cuba" if currents else "coba"
    params: dict[str, Any]
    if currents:
        model = shipped()["LeakyIAFExpCurrent"]
        params = NEURON | CUBA | {"initV": rng.uniform(-60.0, -50.0, neurons)}
    else:
        model = shipped()["LeakyIAFExpConductanceEuler"]
        params = NEURON | COBA | first_conductances(rng, neurons)
    excitatory = 4 * neurons // 5
    populations = {"E": range(excitatory), "I": range(excitatory, neurons)}
    links = [
        joined(populations["E"], neurons, "exc", WEIGHTS[kind]["exc"]),
        joined(populations["I"], neurons, "inh", WEIGHTS[kind]["inh"]),
    ]
    group = (model, neurons, params, None)
    circuit = nd.Circuit.from_arrays([group], links, name=f"{kind} {neurons}", seed=seed)
    return circuit, [], populations


def first_conductances(rng: np.random.Generator, neurons: int) -> dict[str, np.ndarray]:
    """Return potentials (mV) and conductances (nS) from which activity starts.

    One inhibitory conductance of twenty is negative and excites, as in the review's program for
    Brian. With 0 there, 6 of 40 networks of 4,000 neurons fall silent within 40 ms, else 1.
    """
    return {
        "initV": rng.normal(-65.0, 5.0, neurons),
        "initg_exc": rng.normal(40.0, 15.0, neurons),
        "initg_inh": rng.normal(200.0, 120.0, neurons),
    }


def joined(sources: range, neurons: int, receptor: str, weight: float) -> nd.Projection:
    """Return the connections of a population with all neurons."""
    rule = nd.FixedProbability(INPUTS / neurons)
    return nd.Projection("spike_state", receptor, sources, range(neurons), rule, weight=weight)


# %%
# `--currents` chooses CUBA.
def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--neurons", type=int, default=4_000)
    parser.add_argument("--currents", action="store_true", help="CUBA instead of COBA")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    circuit, inputs, populations = network(arguments.neurons, arguments.currents, arguments.seed)
    print(circuit)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, [recorder]) as lpu:
        lpu.run(duration=arguments.seconds)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=lpu.time, start=START)
    print(described(found))
    if arguments.output:
        title = f"Vogels & Abbott 2005: {circuit.name.upper()} neurons"
        print(nd.plot_populations(spikes, found, populations, arguments.output, title))


if __name__ == "__main__":
    main()
