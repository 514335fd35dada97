"""NEST's hpc_benchmark: a balanced network whose excitatory synapses learn by a power law.

9,000 excitatory and 2,250 inhibitory neurons with alpha-shaped currents, all delays 1.5 ms. With
``--inputs 9000`` each neuron has as many excitatory inputs as the original (Morrison, Aertsen and
Diesmann 2007). With fewer, the weight grows as sqrt(9000 / inputs) and inhibition as 4 +
sqrt(9000 / inputs), so that mean and variance of the input stay; the rule keeps its relative
changes. The delay lies between synapse and target, as in NEST. The Poisson spikes from outside
begin to arrive after the delay, too: NEST connects its generators with it. No neuron connects to
itself, as in NEST: each spike of a neuron would strengthen such a synapse.

With 11,250 neurons and 9,000 inputs, two neurons share four fifths of their inputs. So their
spikes are correlated, the weights grow, and after some 0.3 s all neurons fire together. The
script that NEST ships says the same of this size, and simulates 0.3 s. For longer runs it asks for
more than 112,500 neurons.

Kunkel, S. et al. Spiking network simulation code for petascale computers. Front Neuroinform 8, 78
(2014). https://doi.org/10.3389/fninf.2014.00078
Morrison, A., Aertsen, A. & Diesmann, M. Spike-timing-dependent plasticity in balanced random
networks. Neural Comput 19, 1437-1467 (2007). https://doi.org/10.1162/neco.2007.19.6.1437

    python examples/papers/hpc_benchmark.py [--inputs 1000] [--seconds 0.5] [-o out/hpc.png]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.results import activity, described

DT = 1e-4
START = 0.1
"""When the first volleys are over, s."""

DELAY = 1.5e-3
CELL = {
    "resting_potential": 0.0,
    "threshold": 20.0,
    "reset_potential": 0.0,
    "time_constant": 10.0,
    "capacitance": 250.0,
    "refractory_period": 0.5,
    "tau_exc": 0.32582722403722841,
    "tau_inh": 0.32582722403722841,
}
FIRST = (5.7, 7.2)
"""Mean and standard deviation of the first potentials, mV."""

RISE, DRIVE = 0.14, 1.685
"""Peak of a potential in mV with 9,000 inputs; rate from outside over that of the threshold."""

RULE = {"learning_rate": 0.1, "alpha": 0.0513, "mu": 0.4, "tau_plus": 15.0, "tau_minus": 30.0}
"""Numbers of `nd.PowerLawSTDP` with 9,000 inputs."""


class Driven(shipped()["LeakyIAFAlphaCurrentDriven"]):
    """LeakyIAFAlphaCurrentDriven whose background begins to arrive after ``drive_delay``."""

    params = {"drive_delay": nd.Parameter("ms", default=0.0, at_least=0.0, doc="first arrivals")}
    states = {"silence": nd.State("ms", "drive_delay", doc="time until the background arrives")}
    terms = {
        "at_exc": "exc + (silence > 0.5 * dt_ms ? 0 : "
        "drive_weight * poisson(drive_rate * dt_ms / 1000))"
    }
    update = f"""
        {shipped()["LeakyIAFAlphaCurrentDriven"].update}
        silence = fmax(silence - dt_ms, 0);
    """


def scaled(inputs: int) -> tuple[float, float, float]:
    """Return weight (pA), inhibition and rate from outside (1/ms)."""
    tau, tau_syn, capacitance = (CELL[n] for n in ("time_constant", "tau_exc", "capacitance"))
    ratio, slope = tau / tau_syn, 1.0 / tau_syn - 1.0 / tau
    rise = (-lambert_lower(-math.exp(-1.0 / ratio) / ratio) - 1.0 / ratio) / slope
    decayed = (math.exp(-rise / tau) - math.exp(-rise / tau_syn)) / slope
    peak = math.e / (tau_syn * capacitance * slope) * (decayed - rise * math.exp(-rise / tau_syn))
    more = math.sqrt(9000.0 / inputs)
    weight = RISE * more / peak
    threshold = CELL["threshold"] / (tau / capacitance * weight * math.e * tau_syn)
    return weight, 4.0 + more, threshold * DRIVE


def scaled_rule(inputs: int, rule: Mapping[str, float]) -> nd.PowerLawSTDP:
    """Return a rule whose relative changes are those with 9,000 inputs."""
    relative = math.sqrt(9000.0 / inputs) ** (1.0 - rule["mu"])
    rates = rule["learning_rate"] * relative, rule["alpha"] / relative
    return nd.PowerLawSTDP(**{**rule, "learning_rate": rates[0], "alpha": rates[1]})


def lambert_lower(z: float) -> float:
    """Return the lower branch of Lambert's function, w exp(w) = z, by Halley's method."""
    w = -2.0
    for _ in range(50):
        e = math.exp(w)
        off = w * e - z
        w -= off / (e * (w + 1.0) - (w + 2.0) * off / (2.0 * w + 2.0))
    return w


def network(
    neurons: int = 11_250,
    inputs: int = 1_000,
    learns: bool = True,
    seed: int = 0,
    rule: Mapping[str, float] = RULE,
    back: float = DELAY,
    pairs: bool = False,
    spread: float = 0.0,
) -> tuple[nd.Circuit, list[nd.Input], dict[str, range]]:
    """Return the circuit, no inputs, and the neurons of each population.

    A synapse sees a spike of its target after ``back`` seconds. With ``pairs``, each pair of
    neurons is joined with the same probability; otherwise all neurons have as many inputs. The
    weights that learn have a standard deviation of ``spread`` times their mean at first.
    """
    weight, inhibition, outside = scaled(inputs)
    excitatory = 4 * neurons // 5
    drive = {"drive_rate": 1e3 * outside, "drive_weight": weight, "drive_delay": 1e3 * DELAY}
    given = {**CELL, **drive}
    first = FIRST[0] + FIRST[1] * np.random.default_rng(seed).normal(size=neurons)
    e = nd.Population(Driven, excitatory, name="E", initV=first[:excitatory], **given)
    i = nd.Population(Driven, neurons - excitatory, name="I", initV=first[excitatory:], **given)
    learning: dict[str, Any] = {"plasticity": scaled_rule(inputs, rule)}
    learning |= {"dendritic": DELAY, "back": back}
    learning |= {"weight": nd.Normal(weight, spread * weight)} if spread else {}
    some, few = (
        nd.FixedProbability(n / sources.count, autapses=False)
        if pairs
        else nd.FixedInDegree(n, autapses=False)
        for n, sources in ((inputs, e), (inputs // 4, i))
    )
    inhibits = {"receptor": "inh", "weight": -inhibition * weight, "delay": DELAY}
    excites = {"receptor": "exc", "weight": weight, "delay": DELAY}
    links = [
        nd.Projection(e, e, some, name="learning", **(excites | (learning if learns else {}))),
        nd.Projection(e, i, some, **excites),
        nd.Projection(i, e, few, **inhibits),
        nd.Projection(i, i, few, **inhibits),
    ]
    circuit = nd.Circuit([e, i], links, name=f"hpc_benchmark {inputs}", seed=seed)
    return circuit, [], {"E": range(excitatory), "I": range(excitatory, neurons)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--neurons", type=int, default=11_250)
    parser.add_argument("--inputs", type=int, default=1_000, help="excitatory ones of each neuron")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="draw a figure")
    arguments = parser.parse_args()
    circuit, inputs, populations = network(arguments.neurons, arguments.inputs, seed=arguments.seed)
    print(circuit)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, DT, inputs, [recorder], seed=arguments.seed) as lpu:
        lpu.run(duration=arguments.seconds)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=lpu.time, start=START)
    print(described(found))
    if arguments.output:
        title = f"hpc_benchmark: {circuit.count:,} neurons, {arguments.inputs:,} inputs"
        print(nd.plot_populations(spikes, found, populations, arguments.output, title))


if __name__ == "__main__":
    main()
