"""Circuits whose synapses learn, with spikes that are given: for comparisons of backends."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from support import model

from neurodriver import ArrayInput, Circuit, Connections, NDComponent, Parameter, State, Weighted
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Doses, Trace

DT = 1e-3


class Pairs(Plasticity):
    """Additive pairs of spikes between hard bounds."""

    params = {
        "tau_plus": Parameter("ms", default=20.0, above=0.0),
        "tau_minus": Parameter("ms", default=20.0, above=0.0),
        "A": Parameter("1", default=0.05),
        "w_min": Parameter("", default=0.0),
        "w_max": Parameter("", default=1.0),
    }
    pre = {"x": Trace("tau_plus")}
    post = {"y": Trace("tau_minus")}
    bounds = ("w_min", "w_max")
    on_arrival = "weight = clip(weight - 1.05 * A * y); send(weight);"
    on_spike = "weight = clip(weight + A * x);"


class Paired(Pairs):
    """The second event of a step sees the first one."""

    same_step = "pair"


class SpikeFirst(Pairs):
    """A spike of the target comes before an arrival of the same step."""

    first = "spike"


class SpikeFirstPaired(SpikeFirst, Paired):
    """Both."""


class Eligible(Pairs):
    """Changes wait in a trace of each synapse until one of two intervals applies them.

    What is applied depends on a modulator, whose doses change them, too.
    """

    params = {
        "every_ms": Parameter("ms", default=5.0),
        "rarely_ms": Parameter("ms", default=7.0),
        "decay": Parameter("1", default=0.75),
    }
    synapse = {"c": State("1", 0.0), "events": State("1", 0.0)}
    modulators = {"level": Doses("tau_plus", jump=0.2)}
    on_arrival = "c = c - A * y; events = events + count; send(weight * count / (count + 1.0));"
    on_spike = "c = c + A * x * exp(-since_spike / tau_plus); events = events + 1.0;"
    on_dose = {"level": "c = c + 0.05 * count * x - 0.02 * y * level; events = events + 1.0;"}
    every = {
        "every_ms": "weight = clip(weight + (0.1 + level) * c); c = c * decay;",
        "rarely_ms": "weight = clip(0.9 * weight + 0.001 * events); events = 0.5 * events;",
    }


class Waiting(Eligible):
    """The longer interval is a multiple of the shorter one: their texts can wait."""

    params = {"rarely_ms": Parameter("ms", default=10.0)}
    every = {
        "every_ms": "weight = clip(0.95 * weight + (0.01 + 0.01 * level) * c); c = c * decay;",
        "rarely_ms": "weight = clip(0.8 * weight + 0.0003 * events); events = 0.5 * events;",
    }


class Power(Plasticity):
    """Power law without bounds: what is sent may be clamped."""

    params = {"tau": Parameter("ms", default=15.0, above=0.0), "mu": Parameter("1", default=0.4)}
    constants = {"scale": "pow(2.0, 1.0 - mu)"}
    pre = {"x": Trace("tau")}
    post = {"y": Trace("tau", nearest=True), "z": Trace("tau", jump="scale")}
    on_arrival = "weight = fmax(weight - 0.05 * weight * (y + 0.1 * z), 0.0); send(weight);"
    on_spike = "weight += 2.0 * scale * pow(weight, mu) * x;"


class Rewarded(Pairs):
    """Two modulators, whose doses change what an eligibility makes of the weight, or the weight."""

    params = {
        "tau_c": Parameter("ms", default=30.0, above=0.0),
        "tau_n": Parameter("ms", default=9.0, above=0.0),
    }
    synapse = {"c": State("1", 0.0)}
    modulators = {"dopamine": Doses("tau_n", jump=0.3), "serotonin": Doses("tau_c", jump=-0.1)}
    between = """
        real kept = exp(-since_event / tau_c);
        weight = clip(weight + 0.2 * c * (dopamine - serotonin + 0.01) * (1.0 - kept));
        c = c * kept;
    """
    on_arrival = "c = c - A * y; send(weight + 0.001 * serotonin);"
    on_spike = "c = c + A * x;"
    on_dose = {"serotonin": "weight = clip(weight + 0.01 * count * (x - y + c * dopamine));"}


class Summed(Pairs):
    """Texts of two intervals read sums over the synapses of a target."""

    params = {"often": Parameter("ms", default=5.0), "rarely": Parameter("ms", default=15.0)}
    synapse = {"used": State("1", 0.0)}
    modulators = {"level": Doses("tau_plus", jump=0.2)}
    on_arrival = "used = used + count; weight = clip(weight - A * y); send(weight);"
    every = {
        "often": "total = sum(weight); weight = clip(weight * (4.0 + level) / (total + 0.1));",
        "rarely": """
            total = sum(weight); uses = sum(used);
            weight = clip(weight + 0.01 * uses / (total + 1.0)); used = 0.5 * used;
        """,
    }


class Drifting(Rewarded):
    """Texts of intervals are events, up to which the weights of `Rewarded` drift."""

    params = {"often": Parameter("ms", default=5.0), "rarely": Parameter("ms", default=15.0)}
    every = {
        "often": "total = sum(weight); weight = clip(weight * (4.0 + dopamine) / (total + 0.1));",
        "rarely": "c = 0.9 * c + 0.01 * weight;",
    }


class Forgetting(Pairs):
    """Weights decay between events, of which nothing but texts of intervals is for all synapses."""

    params = {"tau": Parameter("ms", default=50.0), "each": Parameter("ms", default=7.0)}
    synapse = {"c": Trace("tau")}
    between = "weight = clip(weight - 0.01 * weight * (1.0 - exp(-since_event / tau)));"
    on_spike = "c += 1; weight = clip(weight + A * x);"
    every = {"each": "weight = clip(weight + 0.02);"}


RULES = (
    Pairs, Paired, SpikeFirst, SpikeFirstPaired, Eligible, Power, Rewarded, Summed, Waiting,
    Drifting, Forgetting,
)  # fmt: skip


class Told(NDComponent):
    """Spikes when its teacher does; keeps what its synapses carry."""

    accesses = (Weighted("spike_state", "learned"), Weighted("spike_state", "teach"))
    updates = ("spike_state", "V")
    states = {"V": State("1", 0.0)}
    update = "V = learned; spike_state = teach > 0.5 ? 1 : 0;"


def told(
    rule: Plasticity, sources: int = 9, targets: int = 5, synapses: int = 70, least: int = 0,
    longest: int = 8, seed: int = 0, static: int = 12, counts: int = 1, rate: float = 0.08,
    steps: int = 300,
) -> tuple[Circuit, list[Any], NDArray[Any]]:  # fmt: skip
    """Return synapses at random places of their way, input, and who spikes when, one step later.

    Parameters
    ----------
    rule : Plasticity
    sources, targets, synapses : int
    least : int
        Steps from a synapse to its target, at least.
    longest : int
        Steps of a delay at most.
    seed : int
    static : int
        Connections into the same receptor that do not learn.
    counts : int
        Spikes of a source in one step at most.
    rate : float
        Events per step.
    steps : int
    """
    rng = np.random.default_rng(seed)
    both = sources + targets
    src, dst = rng.integers(0, sources, synapses), rng.integers(0, targets, synapses)
    delay = rng.integers(least + 1, longest + 1, synapses)
    forward = np.minimum(rng.integers(least, longest + 1, synapses), delay - 1)
    back = rng.integers(0, 6, synapses)
    columns = {"dendritic": forward * DT, "back": back * DT, "weight": rng.random(synapses)}
    uids = np.array([f"u{i}" for i in range(both + targets)])
    rule = rule.released({name: uids[i : i + 2] for i, name in enumerate(rule.modulators)})
    groups: Any = [(model("SpikeSource"), both, {}, uids[:both]), (Told, targets, {}, uids[both:])]
    each = np.arange(targets)
    late = (least + 1) * DT
    joined = [
        Connections("spike_state", "teach", sources + each, both + each, late,
                    {"weight": np.asarray(1.0)}),
        Connections("spike_state", "learned", src, both + dst, delay * DT, columns, rule,
                    "learning"),
    ]  # fmt: skip
    if static:
        ends = rng.integers(0, sources, static), both + rng.integers(0, targets, static)
        more = {"weight": rng.normal(0.0, 1.0, static)}
        joined.append(Connections("spike_state", "learned", *ends, late, more))
    circuit = Circuit.from_arrays(groups, joined, name="told")
    events = (rng.random((steps, both)) < rate).astype(float)
    events[:, :sources] *= rng.integers(1, counts + 1, (steps, sources))
    return circuit, [ArrayInput({"spike_state": (circuit.uids[:both].tolist(), events)})], events
