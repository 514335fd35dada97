"""Synapses that learn are read, set, held and summarised between calls."""

from __future__ import annotations

import dataclasses
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_networks import (
    CELLS,
    DT,
    RULES,
    SOURCES,
    SYNAPSES,
    Cell,
    Counting,
    Pairs,
    PairsTogether,
    Rewarded,
    Tiring,
    equal,
    learning,
    network,
    state_of,
    trains,
)
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.errors import CircuitWarning
from neurodriver.model.plasticity import Plasticity

STEPS = 300


def by_hand(lpu: nd.LPU, rule: Pairs, off: range) -> NDArray[np.float64]:
    """Return the weights of pairs by a loop over the recorded spikes; none are learned in ``off``.

    Only for ``first = "arrival"`` and ``same_step = "apart"``.
    """
    (links,) = (one for one in lpu.circuit.connections if one.plasticity is not None)
    events = lpu.recorders[0].get("spike_state")
    uids = lpu.recorders[0].uids("spike_state")
    rows = {
        lpu.circuit.find([uid])[0]: np.rint(events["time"][events["index"] == i] / DT)
        for i, uid in enumerate(uids)
    }
    steps, p, out = lpu.step, rule.values, np.empty(len(links))
    delay = np.rint(np.broadcast_to(links.delay, len(links)) / DT)
    forward, back = (np.rint(links.data[key] / DT) for key in ("dendritic", "back"))
    for m, (source, target) in enumerate(zip(links.source, links.target, strict=True)):
        arrivals = set((rows[source] + delay[m] - 1 - forward[m]).tolist())
        spikes = set((rows[target] + back[m]).tolist())
        w, x, y, last_x, last_y = links.data["weight"][m], 0.0, 0.0, 0.0, 0.0
        for n in sorted(arrivals | spikes):
            if n >= steps:
                break
            x_now = x * math.exp(-(n - last_x) * 1e3 * DT / p["tau_plus"])
            y_now = y * math.exp(-(n - last_y) * 1e3 * DT / p["tau_minus"])
            if n in arrivals and n not in off:
                w = min(max(w - p["down"] * y_now, p["w_min"]), p["w_max"])
            if n in spikes and n not in off:
                w = min(max(w + p["up"] * x_now, p["w_min"]), p["w_max"])
            if n in arrivals:
                x, last_x = x_now + 1, n
            if n in spikes:
                y, last_y = y_now + 1, n
        out[m] = w
    return out


@pytest.mark.parametrize("off", [range(0), range(100, 180), range(STEPS), range(150, STEPS)])
def test_weights_are_those_of_a_plain_loop(off: range) -> None:
    """What is read holds all events before; what happens in between is not learned."""
    with learning(Pairs()) as lpu:
        for step in range(0, STEPS, 10):
            lpu["learning"].learn(step not in off)
            assert lpu["learning"].learning == (step not in off)
            lpu.run(10)
        assert np.abs(lpu["learning"].get() - by_hand(lpu, Pairs(), off)).max() < 1e-12
        assert lpu["learning"].get().shape == (SYNAPSES,)


def test_without_learning_spikes_are_those_of_fixed_weights() -> None:
    """Weights are multiples of the units of both circuits, so the bits are equal."""
    circuit = network(Pairs())
    fixed, plastic = circuit.connections
    data = {"weight": np.rint(plastic.data["weight"] * 64) / 64}
    static = nd.Connections(
        "spike_state", "learned", plastic.source, plastic.target, plastic.delay, data
    )
    fixed = dataclasses.replace(fixed, data={"weight": 0.75})
    groups = [(g.model, g.count, {}, g.uids.tolist()) for g in circuit.groups]
    recorded = []
    for links in (static, dataclasses.replace(plastic, data={**plastic.data, **data})):
        made = nd.Circuit.from_arrays(groups, [fixed, links], name="t")
        recorder = nd.MemoryRecorder([("V", None)])
        with nd.LPU(made, DT, trains(made), recorder, backend="cpu") as lpu:
            if links.plasticity is not None:
                lpu["learning"].learn(False)
            lpu.run(STEPS)
            recorded.append(recorder.get("V"))
    assert np.array_equal(*recorded) and np.ptp(recorded[0]) > 0.5


def test_short_term_depression_goes_on_without_learning() -> None:
    """It changes no weight, so there is nothing to be kept."""
    rows = []
    for on in (True, False):
        with learning(nd.ShortTerm()) as lpu:
            lpu["learning"].learn(on)
            lpu.run(STEPS)
            rows.append(lpu.recorders[0].get("V"))
            assert lpu["learning"].get("x").max() < 0.9
    assert np.array_equal(*rows) and np.ptp(rows[0]) > 0.1


def test_numbers_of_synapses_stay_without_learning() -> None:
    """Neither texts of arrivals nor of spikes run."""
    with learning(Counting()) as lpu:
        lpu.run(100)
        before = state_of(lpu)
        assert before["seen"].max() > 5
        lpu["learning"].learn(False)
        lpu.run(100)
        assert equal(state_of(lpu), before)
        lpu["learning"].learn(True)
        lpu.run(100)
        assert lpu["learning"].get("seen").sum() > before["seen"].sum() + 100


@pytest.mark.parametrize("rule", RULES)
def test_a_set_weight_gives_the_bits_of_a_circuit_built_with_it(rule: type[Plasticity]) -> None:
    """Weights, and other numbers of synapses, are set before the first step."""
    weight = np.random.default_rng(5).uniform(0.2, 0.8, SYNAPSES)
    with learning(rule()) as lpu:
        lpu["learning"].set("weight", weight)
        lpu.run(STEPS)
        v, synapses = lpu.recorders[0].get("V"), state_of(lpu)
    circuit = network(rule())
    fixed, plastic = circuit.connections
    largest = {} if rule.bounds else {"largest": 16 * np.abs(plastic.data["weight"]).max()}
    data = {**plastic.data, "weight": weight, **largest}
    built = circuit.with_parts(circuit.groups, [fixed, dataclasses.replace(plastic, data=data)])
    recorder = nd.MemoryRecorder([("V", None)])
    with nd.LPU(built, DT, trains(circuit), recorder, backend="cpu") as lpu:
        lpu.run(STEPS)
        assert np.array_equal(recorder.get("V"), v) and equal(state_of(lpu), synapses)


def test_some_synapses_are_set() -> None:
    """By numbers, by a mask, by their ends."""
    with learning(Tiring()) as lpu:
        part = lpu["learning"]
        before = part.get("left")
        assert set(before) == {1.0} and part.names == ("weight", "left")
        part.set("left", [0.25, 0.5], at=[3, -1])
        expected = before.copy()
        expected[[3, -1]] = 0.25, 0.5
        assert np.array_equal(part.get("left"), expected)
        part.set("left", 0.75, at=expected == 0.5)
        assert part.get("left")[-1] == 0.75
        uid = part.sources[10]
        mine = part.sources == uid
        part.set("weight", 0.125, of=(uid, None))
        assert set(part.get("weight")[mine]) == {0.125} and 0.125 not in part.get()[~mine]
        both = mine & (part.targets == part.targets[10])
        part.set("weight", np.arange(both.sum()) / 8, of=([uid], [part.targets[10]]))
        assert np.array_equal(
            part.get("weight", of=(uid, part.targets[10])), np.arange(both.sum()) / 8
        )
        assert np.array_equal(part.between(uid, part.targets[10]), np.flatnonzero(both))
        assert np.array_equal(lpu.connections["learning"].get("weight"), part.get("weight"))
        part.weight = part.weight / 2
        assert np.array_equal(part.get(), lpu["learning"].weight)
        assert part.delays.max() <= 8 * DT and "learn by Tiring" in repr(part)


@pytest.mark.parametrize(
    ("name", "values", "more", "said"),
    [
        ("weight", 1.5, {}, "edge 's0' -> 'c.'.*bounds of Pairs, 0 to 1 .got 1.5"),
        ("weight", [-0.1], {"at": 4}, "got -0.1"),
        ("weight", float("nan"), {"at": 0}, "bounds of Pairs, 0 to 1 .got nan"),
        ("weight", [1.0, 2.0], {}, "a number or 90 of them"),
        ("weight", "much", {}, "a number or 90 of them"),
        ("weight", 0.5, {"at": 90}, "there are 90 synapses, got 90"),
        ("weight", 0.5, {"at": 0.5}, "booleans are needed"),
        ("weight", 0.5, {"at": 1, "of": ("s0", "c0")}, "not both"),
        ("weight", 0.5, {"of": "s0"}, "pair of sources and targets"),
        ("weight", 0.5, {"of": ("s99", None)}, "no component is called 's99'"),
        ("wieght", 0.5, {}, "no 'wieght'.*mean 'weight'"),
        ("tau_plus", 5.0, {}, "one number of the rule"),
    ],
)
def test_what_cannot_be_set(name: str, values: Any, more: Any, said: str) -> None:
    """Each is told, and nothing is changed."""
    with learning(Pairs()) as lpu:
        before = state_of(lpu)
        with pytest.raises(nd.NeurodriverError, match=said):
            lpu["learning"].set(name, values, **more)
        assert equal(state_of(lpu), before)


def test_weights_are_summarised() -> None:
    """Counts of bins, means of populations, tables."""
    with learning(Pairs()) as lpu:
        lpu.run(100)
        part = lpu["learning"]
        w = part.get()
        counts, edges = part.histogram(4)
        assert edges.tolist() == [0, 0.25, 0.5, 0.75, 1] and counts.sum() == SYNAPSES
        assert counts[0] == (w < 0.25).sum()
        assert part.histogram([0.0, 0.1])[0].tolist() == [(w <= 0.1).sum()]
        means = part.means()
        from_cells = np.strings.startswith(part.sources, "c")
        assert means.keys() == {("SpikeSource", "Cell"), ("Cell", "Cell")}
        assert means["Cell", "Cell"] == pytest.approx(w[from_cells].mean())
        columns = part.columns()
        assert list(columns) == ["pre", "post", "delay", "weight"]
        assert columns["pre"].tolist() == part.sources.tolist()
        frame = pytest.importorskip("pandas") and part.to_pandas()
        assert len(frame) == SYNAPSES and frame.attrs["time"] == pytest.approx(100 * DT)
        data = pytest.importorskip("xarray") and part.to_xarray()
        assert np.array_equal(data["weight"].values, w) and data["pre"].values[0] == "s0"


def test_names_lead_to_connections() -> None:
    """A component, a population or a model of the same name comes first."""
    with learning(Pairs()) as lpu:
        assert len(lpu["Cell"]) == CELLS and len(lpu["learning"]) == SYNAPSES
        assert len(lpu["s0"]) == 1 and SOURCES == 7
        with pytest.raises(nd.NeurodriverError, match="no component, population or model"):
            lpu["laerning"]


class Growing(Plasticity):
    """Doubles at each arrival."""

    on_arrival = "weight *= 2; send(weight);"


def test_values_that_are_clamped_are_told_of() -> None:
    """At the end of a run, once for each further one."""
    with learning(Growing()) as lpu:
        with pytest.warns(CircuitWarning, match=r"'learning'.*clamped to .*16 times") as told:
            lpu.run(200)
        assert sum("clamped" in str(one.message) for one in told) == 1
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            lpu.run(0)
        assert not told


def test_a_batch_goes_on(tmp_path: Path) -> None:
    """Each copy of a saved batch has the spikes and the weights of the run alone."""
    with learning(Counting()) as lpu:
        lpu.run(100)
        weights = lpu["learning"].get()
        lpu.run(STEPS - 100)
        v = lpu.recorders[0].get("V")
    with learning(Counting(), batch=2) as lpu:
        lpu.run(100)
        lpu.save(tmp_path / "b.h5")
        assert np.array_equal(lpu["learning"].get(), np.stack([weights, weights]))
    recorder = nd.MemoryRecorder([("V", None)])
    inputs, models = [trains(network(Counting()))], [Cell, Counting]
    with nd.LPU.restore(tmp_path / "b.h5", inputs, [recorder], models=models) as lpu:
        lpu.run(STEPS - 100)
        assert np.array_equal(recorder.get("V"), np.tile(v[100:], 2))


def test_synapses_of_copies_are_read_and_set() -> None:
    """All copies at once, or one; what is set has the effect that it has in a run alone."""

    def alone(weight: float | None, level: float) -> tuple[NDArray[Any], float]:
        with learning(Rewarded()) as lpu:
            lpu.run(60)
            if weight is not None:
                lpu["learning"].set("weight", weight, at=[1, 4])
            lpu["learning"].set("dopamine", level)
            lpu.run(60)
            return lpu["learning"].get(), float(lpu["learning"].get("dopamine"))

    with learning(Rewarded(), batch=3) as lpu:
        lpu.run(60)
        one, each = lpu.copies[2]["learning"], lpu["learning"]
        assert len(each) == len(one) and each.names == one.names and each.learning
        one.set("weight", 0.75, at=[1, 4])
        each.set("dopamine", [0.25, 0.5, 0.5])
        lpu.run(60)
        for copy, given in enumerate([(None, 0.25), (None, 0.5), (0.75, 0.5)]):
            weights, level = alone(*given)
            assert np.array_equal(each.get()[copy], weights)
            assert each.get("dopamine")[copy] == lpu.copies[copy]["learning"].get("dopamine")
            assert each.get("dopamine")[copy] == level
        before = each.get()
        assert len(np.unique(before, axis=0)) == 3
        assert lpu.copies[0]["learning"].histogram(5)[0].sum() == len(one)
        each.set("weight", np.full((3, 1), 0.5), of=(None, "c0"))
        chosen = one.between(None, "c0")
        assert (each.get()[:, chosen] == 0.5).all()
        rest = np.setdiff1d(np.arange(len(one)), chosen)
        assert np.array_equal(each.get()[:, rest], before[:, rest])
        before = each.get()
        for change, said in (
            (lambda: each.set("weight", [[0.1], [0.2], [7.0]]), "within the bounds"),
            (lambda: each.set("weight", 7.0), "within the bounds"),
            (lambda: each.set("weight", np.nan, at=[3]), "within the bounds"),
            (lambda: each.set("weight", np.zeros((2, 1))), r"broadcasts to \(copies, m\)"),
            (lambda: each.set("dopamine", np.zeros((3, 1))), r"broadcasts to \(copies,\)"),
            (each.means, r"lpu.copies\[b\]\['learning'\].means"),
            (each.histogram, "histogram"),
            (each.to_pandas, r"lpu.copies\[b\]\['learning'\].to_pandas"),
            (lambda: lpu.reset(keep=["weights"]), "learned weights of its own"),
        ):
            with pytest.raises(nd.NeurodriverError, match=said):
                change()
        assert np.array_equal(each.get(), before)
        each.set("weight", 0.25, at=[2])
        assert (each.get()[:, 2] == 0.25).all() and len(np.unique(each.get(), axis=0)) == 3
        before = each.get()
        each.learn(False)
        assert not lpu.copies[1]["learning"].learning
        lpu.run(30)
        assert np.array_equal(each.get(), before)


@pytest.mark.parametrize("given", ["no", 1, None, [False], [[True, False]], [True, 0], [[], [1]]])
def test_learning_is_a_bool_or_one_of_each_copy(given: Any) -> None:
    """Anything else is refused, and nothing is changed."""
    with learning(Pairs(), batch=2) as lpu:
        each = lpu["learning"]
        each.learn([False, True])
        assert [one["learning"].learning for one in lpu.copies] == [False, True]
        with pytest.raises(
            nd.NeurodriverError, match="'learning': learn takes True or False, or 2"
        ):
            each.learn(given)
        with pytest.raises(nd.NeurodriverError, match="'learning': learn takes True or False, got"):
            lpu.copies[0]["learning"].learn(given)
        assert [one["learning"].learning for one in lpu.copies] == [False, True]
        each.learn(np.True_)
        assert each.learning


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("batch", [None, 2])
def test_weights_beyond_their_bounds_may_stay_there(own: bool, batch: int | None) -> None:
    """A rule whose text has moved them there takes them again, but none that is further away."""
    w_max = np.full(SYNAPSES, 1.0) if own else 1.0
    rule = nd.NormalisedSTDP(total=15.0, interval=5.0, w_max=w_max)
    with learning(rule, batch=batch) as lpu, warnings.catch_warnings():
        warnings.simplefilter("ignore", CircuitWarning)  # what is sent is clamped
        each = lpu["learning"]
        if batch:
            lpu.copies[1]["learning"].set("weight", 0.5)
        lpu.run(6)
        weight = each.get()
        assert weight.max() > 1.2
        each.set("weight", weight)
        assert np.array_equal(each.get(), weight)
        one = lpu.copies[0]["learning"] if batch else each
        counts, edges = one.histogram(20)
        assert counts.sum() == SYNAPSES and edges[-1] == one.get().max()
        if own:
            each.set("w_max", 1.0)
        for given in (1.001 * weight, one.get() * 1.001):
            with pytest.raises(nd.NeurodriverError, match="within the bounds of NormalisedSTDP"):
                each.set("weight", given)
        assert np.array_equal(each.get(), weight)
        each.set("weight", 0.999 * weight)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("up", r"'up' is one number of the rule, 0.05; to set it, .* up=nd.Uniform\(low, high\)"),
        ("tau_plus", r"'tau_plus' is one number .* share pre\['x'\], so a new circuit is needed"),
    ],
)
def test_numbers_of_a_rule_are_not_set(name: str, said: str) -> None:
    """The message says how such a number becomes one of each synapse, or why it cannot."""
    with learning(Pairs()) as lpu, pytest.raises(nd.NeurodriverError, match=said):
        lpu["learning"].set(name, 0.1)
    batch = nd.Batch(2, parameters={("learning", name): [0.1, 0.2]})
    with pytest.raises(nd.CircuitError, match="'learning': connections that learn are called so"):
        learning(Pairs(), batch=batch)


def test_a_population_of_the_same_name_comes_first() -> None:
    """The connections are there by their name, too."""
    cells = nd.Population(Cell, 3, name="cells")
    links = nd.Projection(
        "spike_state", "learned", cells, cells, nd.AllToAll(), weight=0.5, plasticity=Pairs(),
        name="cells",
    )  # fmt: skip
    circuit = nd.Circuit([cells], [links])
    with nd.LPU(circuit, DT, backend="cpu") as lpu:
        assert lpu["cells"].V.shape == (3,)
        assert lpu.connections["cells"].get("weight").shape == (9,)


def test_copies_with_bounds_of_their_own() -> None:
    """A weight that one copy takes is refused where it is above the bound of another copy."""
    with learning(Pairs(w_max=np.full(SYNAPSES, 2.0)), batch=2) as lpu:
        each = lpu["learning"]
        each.set("weight", 0.5)
        lpu.copies[1]["learning"].set("w_max", 1.0)
        with pytest.raises(nd.NeurodriverError, match="within the bounds of Pairs, 0 to 1"):
            each.set("weight", 1.5)
        assert (each.get() == 0.5).all()
        lpu.copies[0]["learning"].set("weight", 1.5)
        assert (each.get() == [[1.5], [0.5]]).all()


def test_pairs_that_see_each_other_differ() -> None:
    """The circuits of these tests have coincidences."""
    found = []
    for rule in (Pairs(), PairsTogether()):
        with learning(rule) as lpu:
            lpu.run(STEPS)
            found.append(lpu["learning"].get())
    assert not np.array_equal(*found)
