"""A sparse random network of excitatory and inhibitory integrate-and-fire neurons.

Model A of the paper: four fifths of the neurons excite, each pair is joined with probability 0.1
(the paper draws exactly as many inputs for every neuron), and each neuron gets as many spikes from
outside as would bring its mean potential to ``eta`` times the threshold. With g = 5 and eta = 2 the
12,500 neurons of the paper fire asynchronously and irregularly: 37.7 Hz in its simulation, 38.0 in
its theory. Other states: ``--g 3`` (synchronous, regular), ``--g 6 --eta 4`` (fast oscillation),
``--g 4.5 --eta 0.9`` (slow oscillation).

Brunel, N. Dynamics of sparsely connected networks of excitatory and inhibitory spiking neurons.
J Comput Neurosci 8, 183-208 (2000). https://doi.org/10.1023/A:1008925309027

    python examples/papers/brunel_2000.py [--neurons 12500] [-o out/brunel_2000.png]
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

# %%
# Potentials are counted from the resting potential, as in the paper.
DT = 1e-4
START = 0.1
"""When the state is reached, s."""

THRESHOLD, TIME_CONSTANT = 20.0, 20.0
NEURON = {
    "resting_potential": 0.0, "threshold": THRESHOLD, "reset_potential": 10.0,
    "time_constant": TIME_CONSTANT, "refractory_period": 2.0,
}  # fmt: skip
JUMP, DELAY, PROBABILITY = 0.1, 1.5e-3, 0.1
"""mV of an excitatory spike, s, of a pair."""


def network(neurons: int = 12_500, g: float = 5.0, eta: float = 2.0, seed: int = 0) -> Network:
    """Return the circuit; it has no inputs, as each neuron draws its own from outside.

    ``g`` is the strength of inhibition to that of excitation.
    """
    rng = np.random.default_rng(seed)
    excitatory = 4 * neurons // 5
    drive = {"drive_rate": eta * THRESHOLD / (JUMP * TIME_CONSTANT * 1e-3), "drive_weight": JUMP}
    params = NEURON | drive | {"initV": THRESHOLD * rng.random(neurons)}
    populations = {"E": range(excitatory), "I": range(excitatory, neurons)}
    links = [
        joined(populations["E"], neurons, JUMP),
        joined(populations["I"], neurons, -g * JUMP),
    ]
    group = (shipped()["LeakyIAFDeltaDriven"], neurons, params, None)
    circuit = nd.Circuit.from_arrays([group], links, name=f"brunel {neurons}", seed=seed)
    return circuit, [], populations


# %%
# A projection of each population with all neurons.
def joined(sources: range, neurons: int, weight: float) -> nd.Projection:
    """Return the connections of a population with all neurons."""
    rule = nd.FixedProbability(PROBABILITY)
    ends = sources, range(neurons)
    return nd.Projection("spike_state", "spike_state", *ends, rule, weight=weight, delay=DELAY)


# %%
def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--neurons", type=int, default=12_500)
    parser.add_argument("--g", type=float, default=5.0, help="inhibition to excitation")
    parser.add_argument("--eta", type=float, default=2.0, help="outside input to threshold")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    circuit, inputs, populations = network(
        arguments.neurons, arguments.g, arguments.eta, arguments.seed
    )
    print(circuit)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, [recorder], seed=arguments.seed) as lpu:
        lpu.run(duration=arguments.seconds)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=lpu.time, start=START)
    print(described(found))
    if arguments.output:
        title = f"Brunel 2000: g = {arguments.g:g}, eta = {arguments.eta:g}"
        print(nd.plot_populations(spikes, found, populations, arguments.output, title))


if __name__ == "__main__":
    main()
