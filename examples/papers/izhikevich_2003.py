"""The simple model's network of 800 excitatory and 200 inhibitory neurons, and a larger one.

The paper's program: regular spiking to chattering cells that excite, fast and low-threshold spiking
ones that inhibit, all joined to all with random weights, random input each millisecond, steps of
1 ms. It fires at about 8 Hz, with episodes of alpha and gamma rhythm. ``--neurons`` makes the
network of any size that benchmarks use: 100 random targets each, weights four times as large,
delays of 1 to 20 ms, all equally likely.

Izhikevich, E. M. Simple model of spiking neurons. IEEE Trans Neural Netw 14, 1569-1572 (2003).
https://doi.org/10.1109/TNN.2003.820440

    python examples/papers/izhikevich_2003.py [--neurons 100000] [-o out/izhikevich_2003.png]
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

DT = 1e-3
START = 0.1
"""When the first volleys are over, s."""

FAN_OUT, LONGEST = 100, 20
"""Targets of a neuron and largest delay in ms of the network of any size."""

NOISE = (5.0, 2.0)
"""Standard deviation of the input of excitatory and inhibitory neurons."""


def network(neurons: int | None = None, seed: int = 0, learns: bool = False) -> Network:
    """Return the paper's circuit, or with ``neurons`` the one with delays.

    It has no inputs: each neuron draws its own. Excitatory synapses with delays may learn by pairs
    of spikes, from weights of 1 between 0 and 4.
    """
    rng = np.random.default_rng(seed)
    count = 1_000 if neurons is None else neurons
    excitatory = 4 * count // 5
    populations = {"E": range(excitatory), "I": range(excitatory, count)}
    joined = all_to_all if neurons is None else delayed
    links = [joined(members, count, kind) for kind, members in populations.items()]
    if learns:
        links[0] = learning(populations["E"], count)
    group = (shipped()["IzhikevichNoisy"], count, cells(rng, count), None)
    circuit = nd.Circuit.from_arrays([group], links, name=f"izhikevich {count}", seed=seed)
    return circuit, [], populations


def cells(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Return parameters that run from one kind of cell to another with the square of a number."""
    r, excites = rng.random(count), np.arange(count) < 4 * count // 5
    b = np.where(excites, 0.2, 0.25 - 0.05 * r)
    return {
        "a": np.where(excites, 0.02, 0.02 + 0.08 * r),
        "b": b,
        "c": np.where(excites, -65.0 + 15.0 * r**2, -65.0),
        "d": np.where(excites, 8.0 - 6.0 * r**2, 2.0),
        "noise": np.where(excites, *NOISE),
        "initV": np.full(count, -65.0),
        "initu": -65.0 * b,
    }


def all_to_all(sources: range, count: int, kind: str) -> nd.Projection:
    """Return the paper's connections: U(0, 0.5) from excitatory, U(-1, 0) from others."""
    weight = nd.Uniform(0.0, 0.5) if kind == "E" else nd.Uniform(-1.0, 0.0)
    ends = sources, range(count)
    return nd.Projection("spike_state", "spike_state", *ends, nd.AllToAll(), weight=weight)


def delayed(sources: range, count: int, kind: str) -> nd.Projection:
    """Return connections with delays: U(0, 2) from excitatory, U(-4, 0) from others."""
    weight = nd.Uniform(0.0, 2.0) if kind == "E" else nd.Uniform(-4.0, 0.0)
    delay = nd.Uniform(0.5 * DT, (LONGEST + 0.5) * DT)  # in whole steps each is equally likely
    ends, rule = (sources, range(count)), nd.FixedOutDegree(FAN_OUT)
    return nd.Projection("spike_state", "spike_state", *ends, rule, weight=weight, delay=delay)


def learning(sources: range, count: int) -> nd.Projection:
    """Return connections with delays that learn."""
    delay = nd.Uniform(0.5 * DT, (LONGEST + 0.5) * DT)
    ends, rule = (sources, range(count)), nd.FixedOutDegree(FAN_OUT)
    return nd.Projection(
        "spike_state", "spike_state", *ends, rule, weight=1.0, delay=delay, name="learning",
        plasticity=nd.PairSTDP(w_max=4.0),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--neurons", type=int, help="the network with delays, of this size")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    circuit, inputs, populations = network(arguments.neurons, arguments.seed)
    print(circuit)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, [recorder], seed=arguments.seed) as lpu:
        lpu.run(duration=arguments.seconds)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=lpu.time, start=START)
    print(described(found))
    if arguments.output:
        title = f"Izhikevich 2003: {circuit.count:,} neurons"
        print(nd.plot_populations(spikes, found, populations, arguments.output, title))


if __name__ == "__main__":
    main()
