"""Networks whose targets fit into no near cache, so that spikes are delivered in other ways."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import neurodriver as nd

from .case import Case, How, Values, drawn, ends, managed, named, simulated
from .names import cut, shipped

COUNT, SOURCES, STEPS, DT = 40_001, 203, 40, 1e-3

RANGES = {"a": (0.02, 0.1), "b": (0.2, 0.25), "c": (-65.0, -50.0), "d": (2.0, 8.0), "noise": 5.0,
          "initV": (-65.0, -40.0)}  # fmt: skip
UIDS = named("n", COUNT)


def drawn_network(fan_out: int, least: int) -> nd.Circuit:
    """Return neurons that drive themselves, joined by a rule with delays of up to 20 steps."""
    every, late = range(COUNT), nd.Uniform((least - 0.5) * DT, 20.5 * DT)
    group = (shipped()["IzhikevichNoisy"], COUNT, drawn(np.random.default_rng(71), RANGES, COUNT))
    links = nd.Projection("spike_state", "spike_state", every, every, nd.FixedOutDegree(fan_out),
                          nd.Uniform(-3.0, 3.0), late)  # fmt: skip
    return nd.Circuit.from_arrays([(*group, UIDS)], [links], seed=72)


def sparse_network() -> nd.Circuit:
    """Return neurons that a few sources make fire now and then, joined by columns."""
    rng, models = np.random.default_rng(73), shipped()
    groups = [
        (models["LeakyIAFShiu"], COUNT, {"initV": rng.uniform(-52.0, -46.0, COUNT)}, UIDS),
        (models["PoissonSource"], SOURCES, {"rate": 200.0}, None),
    ]
    links = []
    for receptor, first, number, edges, weights in (
        ("syn", 0, COUNT, 6 * COUNT, (0.2, 1.0)),
        ("kick", COUNT, SOURCES, 8 * SOURCES, (8.0, 16.0)),
    ):
        source, target = ends(rng, number, COUNT, edges)
        late, data = rng.integers(1, 19, edges) * DT, {"weight": rng.uniform(*weights, edges)}
        links.append(nd.Connections("spike_state", receptor, source + first, target, late, data))
    return nd.Circuit.from_arrays(groups, links)


def from_outside(uids: list[str]) -> list[nd.Input]:
    """Return a current and spikes."""
    spikes = nd.PoissonInput("spike_state", uids, 50.0, seed=74)
    return [nd.StepInput("I", uids, 4.0), spikes]


def of_drawn(fan_out: int, least: int, fed: bool, how: How) -> Values:
    """Run the network that drives itself."""
    inputs = from_outside(UIDS[7:]) if fed else []
    return simulated(how, drawn_network(fan_out, least), inputs, dt=DT, steps=STEPS, seed=75)


def of_sparse(how: How) -> Values:
    """Run the network of few spikes."""
    return simulated(how, sparse_network(), dt=DT, steps=4 * STEPS, seed=75)


def of_cut(fed: bool, how: How) -> Values:
    """Run the network that drives itself as two LPUs."""
    names, part = ["a", "b"], np.random.default_rng(76).integers(0, 2, COUNT)
    pieces = cut(drawn_network(20, 1), part, names)
    inputs = {
        name: from_outside(np.array(UIDS)[part == i].tolist()) if fed else []
        for i, name in enumerate(names)
    }
    wanted = dict.fromkeys(names, ("V", "spike_state"))
    given = pieces.circuits, pieces.patterns(), inputs, wanted
    return managed(how, *given, dt=DT, steps=STEPS, seed=75)


def cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    for least in (1, 5):
        for fed in (False, True):
            told = f"large, delays from {least}{', inputs' if fed else ''}"
            yield Case(told, partial(of_drawn, 50, least, fed))
    yield Case("large, few spikes", of_sparse)
    for fed in (False, True):
        yield Case(f"large, cut{', inputs' if fed else ''}, 2 LPUs", partial(of_cut, fed))
