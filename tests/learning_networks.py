"""Small networks whose synapses learn, at any place of the way, by several rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.circuit.partition import partition
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Doses, Trace

DT = 1e-3
SOURCES, CELLS, SYNAPSES = 7, 9, 90

_TAU = {name: nd.Parameter("ms", default=20.0, above=0.0) for name in ("tau_plus", "tau_minus")}


class Pairs(Plasticity):
    """Additive pairs with hard bounds."""

    params = {
        **_TAU,
        "up": nd.Parameter("", default=0.05),
        "down": nd.Parameter("", default=0.055),
        "w_min": nd.Parameter("", default=0.0),
        "w_max": nd.Parameter("", default=1.0),
    }
    pre = {"x": Trace("tau_plus")}
    post = {"y": Trace("tau_minus")}
    bounds = ("w_min", "w_max")
    on_arrival = "weight = clip(weight - down * y); send(weight);"
    on_spike = "weight = clip(weight + up * x);"


class PairsSpikeFirst(Pairs):
    """The target's spike comes first in a step, and the arrival sees it."""

    first, same_step = "spike", "pair"


class PairsTogether(Pairs):
    """Two events of one step see each other."""

    same_step = "pair"


class PairsSpikeFirstApart(Pairs):
    """The target's spike comes first in a step, and the arrival does not see it."""

    first = "spike"


class Counting(Pairs):
    """Pairs without bounds; each synapse counts, and remembers how long ago events were."""

    bounds = None
    synapse = {"seen": nd.State("1", 0.0), "lag": nd.State("ms", 3.0)}
    on_arrival = "seen += 1; weight -= 0.1 * down * y * lag / (1 + lag); send(weight);"
    on_spike = "lag = 0.5 * lag + fmin(since_arrival, 50); weight += 0.1 * up * x;"


class Tiring(Plasticity):
    """Each spike uses up a part; nothing depends on the target."""

    params = {"tau": nd.Parameter("ms", default=50.0, above=0.0)}
    synapse = {"left": nd.State("1", 1.0)}
    on_arrival = """
        left = 1 + (left - 1) * exp(-fmin(since_arrival, 1000) / tau);
        send(weight * left);
        left *= 0.6;
    """


class Rewarded(Pairs):
    """Pairs leave a mark, which doses of a third factor turn into weight."""

    params = {
        "tau_c": nd.Parameter("ms", default=60.0, above=0.0),
        "tau_n": nd.Parameter("ms", default=40.0, above=0.0),
    }
    modulators = {"dopamine": Doses("tau_n", 0.5)}
    synapse = {"mark": nd.State("1", 0.0)}
    between = """
        weight = clip(weight + mark * dopamine * fmin(since_event, 100) * 0.02);
        mark *= exp(-since_event / tau_c);
    """
    on_arrival = "mark -= down * y; send(weight);"
    on_spike = "mark += up * x;"


RULES = (Pairs, PairsSpikeFirst, PairsTogether, PairsSpikeFirstApart, Counting, Tiring, Rewarded)


class Cell(nd.NDComponent):
    """Sums what arrives, leaks, and spikes at 1."""

    accesses = (nd.Weighted("spike_state", "learned"), nd.Weighted("spike_state", "fixed"))
    updates = ("spike_state", "V")
    states = {"u": nd.State("", 0.0)}
    update = """
        u = 0.85 * u + 0.2 * learned + fixed;
        spike_state = u > 1 ? 1 : 0;
        u = u > 1 ? 0 : u;
        V = u;
    """


def network(rule: Plasticity, seed: int = 0, name: str = "learning") -> nd.Circuit:
    """Return sources and cells whose synapses learn, also those between cells; delays differ."""
    from neurodriver.model.library import shipped

    if rule.modulators:
        rule = rule.released(dict.fromkeys(rule.modulators, range(2, 4)))
    rng = np.random.default_rng(seed)
    groups = [
        (shipped()["SpikeSource"], SOURCES, {}, [f"s{i}" for i in range(SOURCES)]),
        (Cell, CELLS, {}, [f"c{i}" for i in range(CELLS)]),
    ]
    source = rng.integers(0, SOURCES + CELLS, SYNAPSES)
    target = rng.integers(0, CELLS, SYNAPSES) + SOURCES
    delay = rng.integers(1, 9, SYNAPSES)
    dendritic = np.minimum(rng.integers(0, 9, SYNAPSES), delay - 1)
    back = rng.integers(0, 7, SYNAPSES)
    weight = rng.uniform(0.1, 0.9, SYNAPSES)
    order = np.lexsort((target, source))
    columns = {"weight": weight, "dendritic": dendritic * DT, "back": back * DT}
    drive = rng.integers(0, SOURCES, 2 * CELLS), np.repeat(np.arange(CELLS), 2) + SOURCES
    links = [
        nd.Connections("spike_state", "fixed", *drive, delay=2 * DT, data={"weight": 0.7}),
        nd.Connections(
            "spike_state",
            "learned",
            source[order],
            target[order],
            delay=delay[order] * DT,
            data={key: column[order] for key, column in columns.items()},
            plasticity=rule,
            name=name,
        ),
    ]
    return nd.Circuit.from_arrays(groups, links, name="learns")


def trains(circuit: nd.Circuit, of: list[str] | None = None) -> nd.ArrayInput:
    """Return spikes of the sources, or of some of them."""
    data = np.random.default_rng(1).random((400, SOURCES)) < 0.12
    uids = [f"s{i}" for i in range(SOURCES)] if of is None else of
    assert (circuit.find(uids) >= 0).all()
    columns = [int(uid[1:]) for uid in uids]
    return nd.ArrayInput({"spike_state": (uids, data[:, columns].astype(float))})


def learning(rule: Plasticity, seed: int = 0, **options: Any) -> nd.LPU:
    """Return an LPU of the network, with its spikes and a recording of the cells."""
    circuit = network(rule, seed)
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    return nd.LPU(circuit, DT, trains(circuit), recorder, backend="cpu", **options)


def assert_parts_learn_alike(parts: int, steps: int = 200) -> None:
    """Fail unless a circuit in parts has the potentials of the whole; weights act on them.

    Weights are recorded, read and set alike.
    """
    circuit, found, weights = network(Pairs()), [], []
    for given in (None, partition(circuit, parts)):
        recorder = nd.MemoryRecorder([("V", None)])
        over_time = nd.SynapseRecorder(None, "learning", interval=10 * DT)
        with nd.LPU(circuit, DT, trains(circuit), [recorder, over_time], parts=given) as lpu:
            lpu.run(steps=steps // 2)
            lpu["learning"].set("weight", lpu["learning"].get("weight"))
            lpu.run(steps=steps - steps // 2)
            found.append(recorder.get("V"))
            weights += [lpu["learning"].get("weight"), over_time.recording.weight[:]]
    assert np.array_equal(weights[0], weights[2]) and np.array_equal(weights[1], weights[3])
    with learning(Pairs()) as lpu:
        lpu["learning"].learn(False)
        lpu.run(steps=steps)
        found.append(np.asarray(lpu.recording.V))
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


def state_of(lpu: nd.LPU, name: str = "learning") -> dict[str, NDArray[Any]]:
    """Return all numbers of the synapses."""
    part = lpu[name]
    return {key: part.get(key) for key in part.names}


def equal(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> bool:
    """Whether two states of synapses have the same bits."""
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)
