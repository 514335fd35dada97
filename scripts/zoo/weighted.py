"""Weighted spikes: several receptors, columns and drawn projections, and both together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import neurodriver as nd

from .case import COUNT, DT, STEPS, Case, How, Values, delays, drawn, ends, named, simulated
from .models import CURRENT, DELTA, MODELS
from .names import shipped
from .networks import VARIANTS, current

RECEPTORS: dict[str, dict[str, tuple[float, float]]] = {
    "AdaptiveExpIAF": {"exc": (0.0, 200.0), "inh": (-200.0, 0.0)},
    "AdaptiveExpIAFAlphaConductance": {"exc": (0.0, 6.0), "inh": (0.0, 3.0)},
    "AdaptiveExpIAFConductance": {"exc": (0.0, 6.0), "inh": (0.0, 3.0)},
    "GLIF3": {f"syn{i}": (-100.0, 200.0) for i in range(1, 5)},
    "GLIF5": {f"syn{i}": (-100.0, 200.0) for i in range(1, 5)},
    "Izhikevich": {"spike_state": (-2.0, 4.0)},
    "IzhikevichEuler": {"spike_state": (-2.0, 4.0)},
    "IzhikevichNoisy": {"spike_state": (-2.0, 4.0)},
    "LeakyIAFAlphaConductance": {"exc": (0.0, 6.0), "inh": (0.0, 3.0)},
    "LeakyIAFAlphaCurrent": {"exc": (0.0, 200.0), "inh": (-200.0, 0.0)},
    "LeakyIAFAlphaCurrentDriven": {"exc": (0.0, 200.0), "inh": (-200.0, 0.0)},
    "LeakyIAFDelta": {"spike_state": (-0.5, 1.0)},
    "LeakyIAFDeltaDriven": {"spike_state": (-0.5, 1.0)},
    "LeakyIAFExpConductance": {"exc": (0.0, 6.0), "inh": (0.0, 3.0)},
    "LeakyIAFExpConductanceEuler": {"exc": (0.0, 6.0), "inh": (0.0, 3.0)},
    "LeakyIAFExpCurrent": {"exc": (0.0, 200.0), "inh": (-200.0, 0.0)},
    "LeakyIAFExpCurrentDriven": {"exc": (0.0, 200.0), "inh": (-200.0, 0.0)},
    "LeakyIAFShiu": {"syn": (-1.0, 3.0), "kick": (5.0, 15.0)},
    "NIRCubaLIF": {"spikes": (-1.0, 2.0)},
    "NIRIF": {"spikes": (-1.0, 2.0)},
    "NIRLIF": {"spikes": (-1.0, 2.0)},
    "TraubMiles": {"exc": (0.0, 6.0), "inh": (0.0, 30.0)},
}
"""Model -> receptor -> bounds of the weights."""

SOURCES = 145
"""Poisson sources that keep a network going without any input from outside."""


def network(name: str, least: int = 1, longest: int = 20) -> nd.Circuit:
    """Return neurons with random weights and delays into each receptor, and Poisson sources."""
    rng, models = np.random.default_rng(len(name)), shipped()
    groups = [
        (models[name], COUNT, drawn(rng, MODELS[name][0], COUNT), named(name, COUNT)),
        (models["PoissonSource"], SOURCES, {"rate": 500.0}, None),
    ]
    links = []
    for receptor, bounds in RECEPTORS[name].items():
        edges = 11 * COUNT
        source, target = ends(rng, COUNT + SOURCES, COUNT, edges)
        late = rng.integers(least, longest + 1, edges) * DT
        data = {"weight": rng.uniform(*bounds, edges)}
        links.append(nd.Connections("spike_state", receptor, source, target, late, data))
    return nd.Circuit.from_arrays(groups, links)


def of_model(name: str, least: int, fed: bool, options: dict[str, Any], how: How) -> Values:
    """Run a network of a model; ``fed``: with a current and spikes from outside."""
    inputs: list[nd.Input] = []
    ranges = MODELS[name][1]
    if fed:
        uids = named(name, COUNT)
        if "I" in ranges:
            inputs += current(uids[:301], *ranges["I"])
        inputs.append(nd.PoissonInput("spike_state", uids[5:], 300.0, seed=2))
    circuit = network(name, least, max(20, least))
    return simulated(how, circuit, inputs, seed=7, **options)


def one_weight(how: How) -> Values:
    """Run neurons that share one weight and one delay, and others whose sources have one each."""
    rng, models = np.random.default_rng(21), shipped()
    uids = named("LeakyIAFExpCurrent", COUNT)
    group = (models["LeakyIAFExpCurrent"], COUNT, drawn(rng, CURRENT, COUNT), uids)
    edges = 7 * COUNT
    (a, b), (c, d) = ends(rng, COUNT, COUNT, edges), ends(rng, COUNT, COUNT, edges)
    links = [
        nd.Connections("spike_state", "exc", a, b, np.asarray(5 * DT),
                       {"weight": np.asarray(90.0)}),
        nd.Connections("spike_state", "inh", c, d, np.asarray(8 * DT),
                       {"weight": -rng.uniform(50.0, 150.0, COUNT)[c]}),
    ]  # fmt: skip
    circuit = nd.Circuit.from_arrays([group], links)
    return simulated(how, circuit, current(uids, 300.0, 900.0))


CELLS = np.stack([np.arange(COUNT) // 37, np.arange(COUNT) % 37], axis=1)
"""Coordinates of the neurons."""

OFFSETS = np.array([(x, y) for x in range(-2, 3) for y in range(-2, 3)])

RULES: dict[str, Any] = {
    "all to all": nd.AllToAll(autapses=False),
    "probability": nd.FixedProbability(0.05),
    "in-degree": nd.FixedInDegree(9, multapses=False, autapses=False),
    "out-degree": nd.FixedOutDegree(9),
    "total": nd.FixedTotal(3001),
    "one to one": nd.OneToOne(),
    "lattice": nd.Lattice(OFFSETS, np.linspace(0.1, 1.5, len(OFFSETS)), CELLS, CELLS),
}
WEIGHTS: dict[str, Any] = {
    "constant": 40.0,
    "normal": nd.Normal(60.0, 20.0, 0.0, 200.0),
    "uniform": nd.Uniform(20.0, 120.0),
    "log-normal": nd.LogNormal(4.0, 0.3),
    "exponential": nd.Exponential(60.0),
}
DELAYS: dict[str, Any] = {
    "none": 0.0,
    "constant": 8 * DT,
    "uniform": nd.Uniform(0.5 * DT, 20.5 * DT),
    "normal": nd.Normal(1.5e-3, 7e-4, DT / 2, np.inf),
    "late": nd.Uniform(3.5 * DT, 9.5 * DT),
}


def projections(rule: Any, weight: Any, delay: Any, extra: bool = False) -> nd.Circuit:
    """Return neurons that a rule joins, others that inhibit; ``extra``: with columns beside."""
    rng, models = np.random.default_rng(22), shipped()
    uids = named("n", COUNT), named("m", COUNT)
    groups = [
        (models["LeakyIAFExpCurrent"], COUNT, drawn(rng, CURRENT, COUNT), uids[0]),
        (models["LeakyIAFExpCurrentDriven"], COUNT,
         drawn(rng, MODELS["LeakyIAFExpCurrentDriven"][0], COUNT), uids[1]),
    ]  # fmt: skip
    first, second = range(COUNT), range(COUNT, 2 * COUNT)
    inhibit, late = nd.Uniform(-40.0, -10.0), nd.Uniform(0.5 * DT, 10.5 * DT)
    links: list[Any] = [
        nd.Projection("spike_state", "exc", second, first, rule, weight, delay),
        nd.Projection("spike_state", "inh", first, second, nd.FixedInDegree(5), inhibit, late),
    ]
    if extra:
        source, target = ends(rng, COUNT, COUNT, 3 * COUNT)
        data = {"weight": rng.uniform(20.0, 80.0, 3 * COUNT)}
        more = delays(rng, 12, 3 * COUNT)
        links.append(nd.Connections("spike_state", "exc", source, target, more, data))
    return nd.Circuit.from_arrays(groups, links, seed=23)


def of_rule(
    rule: Any, weight: Any, delay: Any, extra: bool, options: dict[str, Any], how: How
) -> Values:
    """Run projections."""
    circuit = projections(rule, weight, delay, extra)
    inputs: list[nd.Input] = [nd.StepInput("I", named("m", COUNT), 300.0)] if extra else []
    return simulated(how, circuit, inputs, seed=8, **options)


def graded(how: How) -> Values:
    """Run graded neurons joined by a filter over a lattice and by a rule of probability."""
    rng, models = np.random.default_rng(24), shipped()
    uids = named("GradedNeuron", COUNT)
    params = drawn(rng, MODELS["GradedNeuron"][0], COUNT)
    every = range(COUNT)
    lattice = nd.Lattice(OFFSETS, np.linspace(-0.2, 0.2, len(OFFSETS)), CELLS, CELLS)
    links = [
        nd.Projection("r", "r", every, every, lattice, 1.0, 0.0, "filter"),
        nd.Projection("r", "r", every, every, nd.FixedProbability(0.02), nd.Normal(0.0, 0.3),
                      nd.Uniform(DT, 9 * DT), "random"),
    ]  # fmt: skip
    circuit = nd.Circuit.from_arrays(
        [(models["GradedNeuron"], COUNT, params, uids)], links, seed=25
    )
    return simulated(how, circuit, current(uids, 0.0, 2.0, STEPS), ("V", "r"))


def synapses(how: How) -> Values:
    """Run neurons whose synapses are components that projections lead to and from."""
    rng, models = np.random.default_rng(26), shipped()
    uids = named("LeakyIAFDelta", COUNT)
    groups = [
        (models["LeakyIAFDelta"], COUNT, drawn(rng, DELTA, COUNT), uids),
        (models["AlphaSynapse"], COUNT, drawn(rng, MODELS["AlphaSynapse"][0], COUNT), None),
    ]
    neurons, alphas = range(COUNT), range(COUNT, 2 * COUNT)
    links = [
        nd.Projection("spike_state", "spike_state", neurons, alphas, nd.FixedInDegree(4),
                      delay=nd.Uniform(DT, 15 * DT)),
        nd.Projection("spike_state", "spike_state", neurons, neurons, nd.FixedTotal(2 * COUNT),
                      nd.Normal(0.3, 0.1), nd.Uniform(DT, 15 * DT)),
    ]  # fmt: skip
    circuit = nd.Circuit.from_arrays(groups, links, seed=27)
    return simulated(how, circuit, current(uids, 0.0, 2.0), ("V", "spike_state", "g"))


def cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    off: dict[str, Any] = {"plans": False}
    for name in RECEPTORS:
        yield Case(f"weighted {name}", partial(of_model, name, 1, False, {}))
        yield Case(f"weighted {name}, inputs", partial(of_model, name, 1, True, {}))
    for name in ("LeakyIAFDelta", "LeakyIAFExpCurrent"):
        for least in (1, 4, 40):
            for fed in (False, True):
                told = f"weighted {name}, delays from {least}{', inputs' if fed else ''}"
                yield Case(f"{told}, no plans", partial(of_model, name, least, fed, off))
                yield Case(told, partial(of_model, name, least, fed, {}))
    yield Case("weights in common", one_weight)
    law, late = WEIGHTS["normal"], DELAYS["uniform"]
    for name, rule in RULES.items():
        for extra, beside in ((False, ""), (True, ", columns and a current beside")):
            yield Case(f"rule {name}{beside}", partial(of_rule, rule, law, late, extra, {}))
    for which, options in VARIANTS.items():
        if which:
            run = partial(of_rule, RULES["total"], law, late, False, options)
            yield Case(f"rule total{which}", run)
    for name, law in WEIGHTS.items():
        yield Case(f"weights {name}", partial(of_rule, RULES["out-degree"], law, late, False, {}))
    for name, late in DELAYS.items():
        run = partial(of_rule, RULES["in-degree"], WEIGHTS["uniform"], late, False, {})
        yield Case(f"drawn delays {name}", run)
    yield Case("projections of graded values", graded)
    yield Case("projections to synapses", synapses)
