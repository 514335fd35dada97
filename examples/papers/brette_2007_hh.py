"""A network of Hodgkin-Huxley neurons that keeps itself active.

Benchmark 3 of the review: the network of Vogels & Abbott (2005) with conductances, 80 inputs a
neuron on average, of neurons after Traub & Miles. Exponential Euler steps of 0.1 ms.

Brette, R. et al. Simulation of networks of spiking neurons: a review of tools and strategies.
J Comput Neurosci 23, 349-398 (2007). https://doi.org/10.1007/s10827-007-0038-6

    python examples/papers/brette_2007_hh.py [--neurons 4000] [-o out/brette_2007_hh.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.results import activity, described

Network = tuple[nd.Circuit, list[nd.Input], dict[str, range]]
"""Circuit, inputs, and the neurons of each population."""

DT = 1e-4
START = 0.1
"""When what started the activity is forgotten, s."""

INPUTS = 80
"""Mean number of inputs of a neuron."""

WEIGHTS = {"exc": 6.0, "inh": 67.0}
"""nS."""


def network(neurons: int = 4_000, seed: int = 0) -> Network:
    """Return the circuit; it has no inputs."""
    rng = np.random.default_rng(seed)
    params = {
        "initV": rng.normal(-65.0, 5.0, neurons),
        "initg_exc": rng.normal(40.0, 15.0, neurons),
        "initg_inh": rng.normal(200.0, 120.0, neurons),
    }
    excitatory = 4 * neurons // 5
    populations = {"E": range(excitatory), "I": range(excitatory, neurons)}
    links = [
        joined(populations["E"], neurons, "exc"),
        joined(populations["I"], neurons, "inh"),
    ]
    group = (shipped()["TraubMiles"], neurons, params, None)
    circuit = nd.Circuit.from_arrays([group], links, name=f"coba_hh {neurons}", seed=seed)
    return circuit, [], populations


def joined(sources: range, neurons: int, receptor: str) -> nd.Projection:
    """Return the connections of a population with all neurons."""
    rule, weight = nd.FixedProbability(INPUTS / neurons), WEIGHTS[receptor]
    return nd.Projection("spike_state", receptor, sources, range(neurons), rule, weight=weight)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--neurons", type=int, default=4_000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    circuit, inputs, populations = network(arguments.neurons, arguments.seed)
    print(circuit)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, [recorder]) as lpu:
        lpu.run(duration=arguments.seconds)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=lpu.time, start=START)
    print(described(found))
    if arguments.output:
        title = "Brette et al. 2007: benchmark 3"
        print(nd.plot_populations(spikes, found, populations, arguments.output, title))


if __name__ == "__main__":
    main()
