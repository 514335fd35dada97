"""Modulators that are variables of components, and texts of intervals of graded synapses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gated import NEURONS, Dial, Gated, Wave, gated
from host_threads import HostThreads
from learning_values import DT, STEPS, everything
from numpy.typing import NDArray
from support import assert_same_bits, recorded, started

import neurodriver as nd
from neurodriver.errors import CircuitError, ModelError, NeurodriverError
from neurodriver.model.library import shipped


def by_loops(way: dict[str, NDArray[Any]], data: dict[str, Any]) -> tuple[Any, Any]:
    """Return the weights at the end, and V of each row, for given rates and levels."""
    r, level, weight = data["r"], data["level"][:, 0], way["weight"].copy()
    source, target, used = way["source"], way["target"], np.zeros_like(weight)
    v = np.zeros_like(r)
    for n in range(STEPS):
        if n > 0 and n % 5 == 0:
            total, uses = (np.bincount(target, x, NEURONS) for x in (weight, used))
            scale = 3 / (np.abs(total) + 1)
            weight = np.clip(weight * scale[target] + 0.001 * uses[target], -2, 2)
        row = np.maximum(n + 1 - way["late"], 0)
        pre = r[row, source]
        if n > 0 and n % 7 == 0:
            change = 0.02 * pre * v[n, target] - 0.01 * v[row, source]
            weight, used = np.clip(weight + 0.1 * level[n] + change, -2, 2), 0.5 * used
        if n + 1 < STEPS:
            v[n + 1] = np.bincount(target, weight * pre, NEURONS)
        weight = np.clip(weight + 0.05 * level[n] * pre * r[n, target], -2, 2)
        used += level[n]
    return weight, v


@pytest.mark.parametrize(("late", "synapses"), [(1, 300), (3, 300), (2, 5000)])
def test_graded_synapses(late: int, synapses: int) -> None:
    """Against loops; on any number of threads; the text of GPU threads, which may share sums."""
    made, way = gated(late, synapses)
    runs = []
    record: Any = [("V", None), ("r", None), ("level", None)]
    for options in ({"threads": 1}, {"threads": 3, "chunk": 7}):
        with started(made, DT, (), record, backend="cpu", **options) as lpu:
            lpu.run(steps=STEPS)
            weight = lpu["learning"].get("weight")
            runs.append({**recorded(lpu, STEPS), "weight": weight})
    assert_same_bits(*runs)
    weight, v = by_loops(way, runs[0])
    np.testing.assert_allclose(runs[0]["weight"], weight, rtol=0, atol=1e-12)
    np.testing.assert_allclose(runs[0]["V"], v, rtol=0, atol=1e-12)
    assert np.ptp(weight) > 0.5
    threads = HostThreads(made, DT, "float64")
    threads.advance(STEPS - 1)
    assert threads.get(0, "V").tobytes() == runs[0]["V"][-1].tobytes()


class Ticking(nd.Plasticity):
    """Learns without events, from a level: in each step, and at intervals."""

    params = {"often": nd.Parameter("ms", default=5.0), "rarely": nd.Parameter("ms", default=7.0)}
    modulators = {"gate": nd.Level("count")}
    bounds = (-2.0, 2.0)
    on_step = "weight = clip(weight + 0.01 * gate * (post.V + 1));"
    every = {
        "often": "total = sum(weight); weight = clip(weight + 0.01 * total * gate);",
        "rarely": "weight = clip(0.9 * weight + 0.1 * gate);",
    }


def test_synapses_of_spikes() -> None:
    """Against loops."""
    made, inputs, way = everything(Ticking)
    record: Any = [("V", None), ("count", None)]
    with started(made, DT, inputs, record, backend="cpu", threads=2) as lpu:
        lpu.run(steps=STEPS)
        got, data = lpu["learning"].get("weight"), recorded(lpu, STEPS)
        with pytest.raises(NeurodriverError, match="'gate' is 'count' of component 's0'"):
            lpu["learning"].set("gate", 1.0)
    weight, target, gate = way["weight"].copy(), way["target"], data["count"][:, 0]
    for n in range(STEPS):
        if n > 0 and n % 5 == 0:
            total = np.bincount(target, weight, data["V"].shape[1])
            weight = np.clip(weight + 0.01 * total[target] * gate[n], -2, 2)
        if n > 0 and n % 7 == 0:
            weight = np.clip(0.9 * weight + 0.1 * gate[n], -2, 2)
        seen = np.maximum(n - way["back"], 0)
        weight = np.clip(weight + 0.01 * gate[n] * (data["V"][seen, target] + 1), -2, 2)
    np.testing.assert_allclose(got, weight, rtol=0, atol=1e-7)
    assert np.ptp(weight) > 0.5 and np.ptp(gate) > 0.5


class AtTargets(nd.Plasticity):
    """Each target has a level of its own, which texts of three kinds read."""

    params = {"often": nd.Parameter("ms", default=5.0)}
    modulators = {"V": nd.Level("V", per="target"), "plus": nd.Level("u_plus", per="target")}
    bounds = (-2.0, 2.0)
    on_arrival = "weight = clip(weight + 0.01 * V); send(weight);"
    on_step = "weight = clip(weight + 0.001 * plus * (V + 1));"
    every = {"often": "total = sum(weight); weight = clip(0.9 * weight + 0.01 * total * plus);"}


class ByValues(AtTargets):
    """The same with values of the target."""

    on_arrival = "weight = clip(weight + 0.01 * post.V); send(weight);"
    on_step = "weight = clip(weight + 0.001 * post.u_plus * (post.V + 1));"
    every = {
        "often": "total = sum(weight); weight = clip(0.9 * weight + 0.01 * total * post.u_plus);"
    }


class Overridden(AtTargets):
    """A subclass changes a text, and reads the levels that its base declares."""

    on_step = "weight = clip(weight + 0.002 * plus * (V + 1));"


class Shared(nd.Plasticity):
    """All synapses share these levels."""

    params = AtTargets.params
    modulators = {"V": nd.Level("V"), "plus": nd.Level("u_plus")}
    bounds = AtTargets.bounds
    on_step = "weight = clip(weight + 0.001 * plus * (V + 1));"
    every = {"often": "total = sum(weight); weight = clip(0.9 * weight + 0.01 * total * plus);"}


class Moved(Shared):
    """A subclass moves the levels to the targets, and keeps the texts of its base."""

    modulators = {"V": nd.Level("V", per="target"), "plus": nd.Level("u_plus", per="target")}
    on_arrival = "weight = clip(weight + 0.01 * V); send(weight);"


def test_levels_of_targets() -> None:
    """They are variables of the targets; a subclass knows them, too; threads change no bit."""
    found = []
    for rule, threads in (
        (AtTargets, 1), (AtTargets, 3), (ByValues, 2), (Overridden, 1), (Moved, 1),
    ):  # fmt: skip
        made, inputs, _ = everything(rule)
        with started(made, DT, inputs, [("V", None)], backend="cpu", threads=threads) as lpu:
            lpu.run(steps=STEPS)
            found.append(lpu["learning"].get("weight"))
            with pytest.raises(NeurodriverError, match="own 'plus', its variable 'u_plus'"):
                lpu["learning"].get("plus")
    assert np.ptp(found[0]) > 0.5 and np.ptp(found[0] - found[3]) > 1e-3
    assert len({found[number].tobytes() for number in (0, 1, 2, 4)}) == 1
    with pytest.raises(ModelError, match="its variable 'V'; give no component"):
        AtTargets(V=["a"])
    with pytest.raises(ModelError, match="per: must be 'target', or ''"):
        type("Wrong", (AtTargets,), {"modulators": {"z": nd.Level("V", per="source")}})
    with pytest.raises(ModelError, match=r"on_spike reads post\.V, which only"):
        type("Wrong", (AtTargets,), {"on_spike": "weight = V;"})
    with pytest.raises(ModelError, match="'plus' is declared twice"):
        type("Wrong", (AtTargets,), {"synapse": {"plus": nd.State("", 0.0)}})


IAF = shipped()["LeakyIAFDelta"]


class Receiving(IAF):
    """LeakyIAFDelta with a level of dopamine, which doses increase and which decays in 200 ms."""

    accesses = (*IAF.accesses, nd.Weighted("spike_state", "release"))
    updates = (*IAF.updates, "dopamine")
    states = {**IAF.states, "dopamine": nd.State("1", 0.0)}
    update = IAF.update + "dopamine = dopamine * exp(-dt_ms / 200) + release;"


class RewardedThere(nd.RewardedSTDP):
    """RewardedSTDP with dopamine at each target, which is exact within each step."""

    modulators = {"dopamine": nd.Level("dopamine", per="target")}
    synapse = {"c": nd.State("", 0.0)}
    between = ""
    on_step = """
        real gained = -dopamine * expm1(-dt_ms * rate) / rate;
        weight = clip(weight + c * (gained + base * tau_c * expm1(-dt_ms / tau_c)));
        c = c * exp(-dt_ms / tau_c);
    """


def rewarded(there: bool, apart: bool) -> NDArray[Any]:
    """Return weights of 6 x 2 synapses, with doses of both targets, or of each ``apart``."""
    last, rng = 300, np.random.default_rng(3)
    sources, doses = nd.Population("SpikeSource", 8, name="s"), nd.Population("SpikeSource", 2)
    given = {"threshold": -54.0, "reset_potential": -60.0, "time_constant": 20.0}
    cells = nd.Population(Receiving, 2, name="cells", resting_potential=-70.0, **given)
    sizes = {"A_plus": 4e-4, "A_minus": 4e-4}
    rule = RewardedThere(**sizes) if there else nd.RewardedSTDP(dopamine=doses[:1], **sizes)
    links = [
        nd.Projection(
            sources[:6], cells, nd.AllToAll(), weight=2.0, receptor="spike_state",
            plasticity=rule, name="learning",
        ),
        nd.Projection(sources[6:], cells, nd.OneToOne(), weight=100.0, receptor="spike_state"),
        nd.Projection(doses, cells, nd.OneToOne(), weight=0.5, receptor="release"),
    ]  # fmt: skip
    spikes, dosed = rng.random((last, 8)) < 0.05, rng.random((last, 2)) < 0.02
    dosed[:, 1] = dosed[:, int(apart)]
    dosed = np.roll(dosed, -1, axis=0) if there else dosed  # they act one step later there
    circuit = nd.Circuit([sources, doses, cells], links, seed=1)
    table = np.concatenate([spikes, dosed], axis=1).astype(float)
    inputs = nd.ArrayInput({"spike_state": (circuit.uids[:10].tolist(), table)})
    with nd.LPU(circuit, 1e-3, inputs) as lpu:
        lpu.run(steps=last)
        weights: NDArray[Any] = lpu["learning"].get("weight")
    return weights


def test_doses_of_each_target() -> None:
    """Where doses are equal, a level at each target gives the weights of the exact rule."""
    one, same, apart = rewarded(False, False), rewarded(True, False), rewarded(True, True)
    assert np.ptp(one) > 0.5 and 0 < one.min() < one.max() < 4
    np.testing.assert_allclose(same, one, rtol=0, atol=1e-13)
    assert np.array_equal(apart[::2], same[::2]) and np.abs(apart[1::2] - same[1::2]).max() > 0.05


def test_what_is_refused() -> None:
    """A level without a component, of several, of a variable that is not there, in other texts."""
    with pytest.raises(ModelError, match="'gain': give the component whose value it is"):
        Gated()

    def made(*uids: str, level: str = "level") -> None:
        rule = type("Other", (Gated,), {"modulators": {"gain": nd.Level(level)}})
        ends = np.zeros(1, int), np.ones(1, int), DT
        links = nd.Connections("r", "learned", *ends, {}, rule(gain=np.array(uids)), "learning")
        groups: list[Any] = [(Wave, 2, {}, ["a", "b"]), (Dial, 2, {}, ["c", "d"])]
        nd.Circuit.from_arrays(groups, [links])

    made("c")
    with pytest.raises(CircuitError, match=r"'gain': it is the value of one component \(got 2"):
        made("c", "d")
    with pytest.raises(CircuitError, match="Wave does not update 'level'"):
        made("a")
    with pytest.raises(ModelError, match=r"on_arrival.*gain"):
        type("Wrong", (Gated,), {"on_arrival": "send(weight * gain);"})
    with pytest.raises(ModelError, match=r"modulators\['gain'\]: 3 is no name of a variable"):
        type("Wrong", (Gated,), {"modulators": {"gain": nd.Level(3)}})
    with pytest.raises(ModelError, match=r"must be nd.Doses\(...\) or nd.Level\(...\)"):
        type("Wrong", (Gated,), {"modulators": {"gain": 3}})
