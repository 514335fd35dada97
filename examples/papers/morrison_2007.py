"""Weights that settle: spike-timing dependent plasticity by a power law, with independent spikes.

100 sources and 20 targets spike at random, at 8.8 Hz as the network of the paper does, whatever the
weights are. Each of the 2,000 synapses learns by the rule with power-law potentiation and
multiplicative depression. Its delay of 1.5 ms is dendritic. Potentiation and depression cancel at
44.5 pA on average. The weights come to be distributed around that value with one peak; none runs
away.

After 1,500 s, seed 0: mean 44.2 pA, standard deviation 3.5 pA, skewness 0.2. From 300 s on the
mean is between 44.2 and 44.5 pA, and the standard deviation between 3.5 and 3.6 pA. In the network
of the paper the weights, which cause spikes there, come to 45.65 and 3.99 pA.

``--network`` runs that network as Knight and Nowotny's program has it: ``hpc_benchmark.py`` with
112,500 neurons, of which each pair is joined with probability 0.1, a learning rate of 0.1, a
depression of 0.1057, and synapses that see a spike of their target after 1.1 ms. It needs a GPU.
With ``--neurons 11250 --inputs 1000`` it is smaller; weights are then told as those of the whole
network. The spikes are those of the last 50 s, or of the last 5 s with 1,000 inputs:

                        time, s   mean, pA   sd, pA     Hz     CV   Fano
    Morrison et al.       2,000      45.65     3.99    8.8   0.88    8.5
    GeNN                  2,000      46.25     4.07    8.8   0.86    8.3
    here                     20      45.66     1.62    6.6   0.86    6.8
                            100      45.83     2.91    7.7   0.87    7.7
                            154      45.92     3.24    8.6   0.87    8.7
    here, --first-sd 3.99    40      45.76     3.94    7.3   0.87    7.4
                            173      45.94     3.95    8.4   0.87    8.3
    here, 1,000 inputs        5      45.64     1.13    8.8   0.87    8.1
                             10      45.65     1.52    8.8   0.87    7.5

Knight, J. C. & Nowotny, T. GPUs outperform current HPC and neuromorphic solutions in terms of speed
and energy when simulating a highly-connected cortical model. Front Neurosci 12, 941 (2018).
https://doi.org/10.3389/fnins.2018.00941
Morrison, A., Aertsen, A. & Diesmann, M. Spike-timing-dependent plasticity in balanced random
networks. Neural Comput 19, 1437-1467 (2007). https://doi.org/10.1162/neco.2007.19.6.1437

    python examples/papers/morrison_2007.py [--seconds 1500] [-o out/morrison_2007.png]
    NEURODRIVER_BACKEND=cuda python examples/papers/morrison_2007.py --network --seconds 155
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import hpc_benchmark
import numpy as np
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.results import Activity, activity

DT = 1e-4
SOURCES, TARGETS = 100, 20
RATE, DELAY, FIRST = 8.8, 1.5e-3, 45.65
"""Hz, s, pA."""


class PoissonTarget(shipped()["PoissonSource"]):
    """Spikes at random, whatever arrives at its synapses."""

    accesses = ("rate", nd.Weighted("spike_state", "exc"))


def network(seed: int = 0) -> nd.Circuit:
    """Return the circuit: all sources joined to all targets."""
    sources = nd.Population("PoissonSource", SOURCES, rate=RATE)
    targets = nd.Population(PoissonTarget, TARGETS, rate=RATE)
    learning = nd.Projection(
        sources,
        targets,
        nd.AllToAll(),
        receptor="exc",
        weight=FIRST,
        delay=DELAY,
        dendritic=DELAY,
        plasticity=nd.PowerLawSTDP(),
        name="learning",
    )
    populations = {"sources": sources, "targets": targets}
    return nd.Circuit(populations, [learning], name="morrison 2007", seed=seed)


def balanced(rule: nd.Plasticity) -> float:
    """Return the weight at which the mean changes by independent spikes cancel."""
    v = rule.values
    ratio = v["tau_plus"] / (v["alpha"] * v["tau_minus"])
    return float(v["w_0"] * ratio ** (1.0 / (1.0 - v["mu"])))


def settle(seconds: float, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation at eleven times, and the weights at the end.

    Returns
    -------
    course : (11, 3) float64
        Time in s, mean and standard deviation in pA.
    weights : (2000,) float64
    """
    course = []
    with nd.LPU(network(seed), DT, seed=seed) as lpu:
        weights = lpu["learning"].get("weight")
        for _ in range(10):
            course.append((lpu.time, weights.mean(), weights.std()))
            lpu.run(duration=seconds / 10)
            weights = lpu["learning"].get("weight")
        course.append((lpu.time, weights.mean(), weights.std()))
    return np.array(course), weights


# The network of the paper, whose weights cause spikes.
NEURONS, INPUTS = 112_500, 9_000
"""Neurons, and excitatory inputs of each."""

COUNTED = 1_000
"""Excitatory neurons whose spikes are counted."""

RULE = {"learning_rate": 0.1, "alpha": 0.1057, "mu": 0.4, "tau_plus": 20.0, "tau_minus": 20.0}
"""Numbers of the rule in the program of Knight and Nowotny, for `nd.PowerLawSTDP`.

The program is ``models/mad_2007`` of https://github.com/BrainsOnBoard/frontiers_genn_paper. With
the numbers of `hpc_benchmark`, the mean weight grows from 45.6 to 74 pA within 10 s, and neurons
fire together.
"""

BACK = 1.1e-3
"""When a synapse sees a spike of its target in that program, s: four steps less than the delay."""

PUBLISHED = {
    "Morrison et al. 2007": (45.65, 3.99, 8.8, 0.88, 8.5),
    "GeNN (Knight & Nowotny 2018)": (46.25, 4.07, 8.8, 0.86, 8.3),
}
"""Mean and standard deviation of the weights, pA; Hz; CV; Fano factor in bins of 3 ms."""


class Settled(NamedTuple):
    """How the network is at a time: weights over the square root of 9,000 / inputs, and spikes."""

    time: float
    mean: float
    sd: float
    spikes: Activity

    @property
    def figures(self) -> tuple[float, ...]:
        """What `PUBLISHED` has."""
        return self.mean, self.sd, self.spikes.rate, self.spikes.cv, self.spikes.synchrony


def run_network(
    seconds: float,
    neurons: int = NEURONS,
    inputs: int = INPUTS,
    reads: int = 2,
    seed: int = 0,
    first_sd: float = 0.0,
    dtype: str = "float32",
) -> tuple[list[Settled], NDArray[np.float64]]:
    """Return how the network is at some times, each with the spikes since the last, and weights.

    At most two million weights are looked at, evenly over all. The initial weights have a
    standard deviation of ``first_sd`` pA.
    """
    rest = {"rule": RULE, "back": BACK, "pairs": True, "spread": first_sd / FIRST}
    circuit, given, populations = hpc_benchmark.network(neurons, inputs, seed=seed, **rest)
    counted = range(min(COUNTED, len(populations["E"])))
    recorder = nd.MemoryRecorder([("spike_state", [f"E/{number}" for number in counted])])
    unit, found = np.sqrt(INPUTS / inputs), list[Settled]()
    with nd.LPU(circuit, DT, given, [recorder], seed=seed, dtype=dtype) as lpu:
        for _ in range(reads):
            start = lpu.time
            lpu.run(duration=seconds / reads)
            weights = lpu["learning"].get("weight")
            weights = weights[:: len(weights) // 1_000_000 or 1] / unit
            times = {"start": start, "stop": lpu.time}
            (fired,) = activity(**recorder.get("spike_state"), populations={"E": counted}, **times)
            found.append(Settled(lpu.time, float(weights.mean()), float(weights.std()), fired))
            print(row(f"here, {lpu.time:g} s", found[-1].figures), flush=True)
    return found, weights


def row(name: str, figures: tuple[float, ...]) -> str:
    """Return a line of the table."""
    mean, sd, rate, cv, fano = figures
    return f"{name:<30}{mean:8.2f}{sd:8.2f}{rate:8.2f}{cv:8.2f}{fano:8.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1_500.0)
    parser.add_argument("--network", action="store_true", help="run the network of the paper")
    parser.add_argument("--neurons", type=int, default=NEURONS)
    parser.add_argument("--inputs", type=int, default=INPUTS, help="excitatory ones of each neuron")
    parser.add_argument("--reads", type=int, default=2, help="how often weights are looked at")
    parser.add_argument("--first-sd", type=float, default=0.0, help="of the first weights, pA")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    if arguments.network:
        print(f"{'':<30}{'mean pA':>8}{'sd pA':>8}{'Hz':>8}{'CV':>8}{'Fano':>8}")
        for name, figures in PUBLISHED.items():
            print(row(name, figures))
        size = arguments.neurons, arguments.inputs, arguments.reads
        found, weights = run_network(
            arguments.seconds, *size, arguments.seed, first_sd=arguments.first_sd
        )
        began = 0.0, FIRST, arguments.first_sd
        course = np.array([began, *((one.time, one.mean, one.sd) for one in found)])
    else:
        course, weights = settle(arguments.seconds, arguments.seed)
        for time, mean, sd in course:
            print(f"{time:7.1f} s: mean {mean:.2f} pA, sd {sd:.2f} pA")
    skew = ((weights - weights.mean()) ** 3).mean() / weights.std() ** 3
    print(f"skewness {skew:.2f}; changes cancel at {balanced(nd.PowerLawSTDP()):.1f} pA")
    if arguments.output:
        draw(course, weights, arguments.output)
        print(arguments.output)


def draw(course: NDArray[np.float64], weights: NDArray[np.float64], output: Path) -> None:
    """Draw the course of the mean, and the weights at the end beside a normal distribution."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    time, mean, sd = course.T
    left.plot(time, mean, color="#4477AA")
    left.fill_between(time, mean - sd, mean + sd, color="#4477AA", alpha=0.2)
    left.axhline(balanced(nd.PowerLawSTDP()), color="#CC6677", linestyle="--")
    left.set(xlabel="time (s)", ylabel="weight (pA), mean and sd")
    right.hist(weights, 50, density=True, color="#4477AA")
    x = np.linspace(weights.min(), weights.max(), 200)
    z = (x - weights.mean()) / weights.std()
    right.plot(x, np.exp(-(z**2) / 2) / weights.std() / np.sqrt(2 * np.pi), color="#CC6677")
    right.set(xlabel="weight (pA)", ylabel="density")
    figure.suptitle("Morrison et al. 2007: weights settle")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


if __name__ == "__main__":
    main()
