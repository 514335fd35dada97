"""Items side by side, sub-pools, and rules that a network may add."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_networks import PATHS, UNITS, four_units, several_kinds, shown, side_by_side
from synapse_texts_on_cpu import WarpSynapses

import neurodriver as nd
from neurodriver.backends.cpu import live
from neurodriver.backends.cpu.synapse_place import HostSynapses
from neurodriver.error_driven import (
    Circle,
    Log,
    Network,
    PoolOneToOne,
    PoolTile,
    Rectangle,
    Trainer,
    UniformRandom,
)
from neurodriver.errors import CircuitWarning
from neurodriver.plot import plot_learning, plot_receptive_fields


def test_items_have_the_states_that_they_have_alone() -> None:
    """Without learning; changes of weights are the sums of those of each item."""
    net = side_by_side()
    with Trainer(net, items=4) as sim:
        found = sim.trial({"Input": UNITS, "Output": UNITS[::-1]}, learn=False)
        assert found["unit_error"].shape == (4,)
        sim.set("Hidden", "gi", 1.5)
        sim.set("Hidden", "Vm", np.arange(16.0).reshape(4, 2, 2) - 80)
        assert np.array_equal(sim.get("Hidden", "Vm").ravel(), np.arange(16.0) - 80)
        sim.trial({"Input": UNITS, "Output": UNITS[::-1]})
        changed = {ends: sim.path(*ends, "DSWt") for ends in PATHS[:1]}
        states = {name: sim.get("Hidden", name) for name in ("VmDend", "LearnCaP", "ActM", "Gi")}
    sums = dict.fromkeys(changed, 0.0)
    for item in range(4):
        with Trainer(net) as alone:
            given = {"Input": UNITS[item], "Output": UNITS[3 - item]}
            alone.trial(given, learn=False)
            alone.set("Hidden", "gi", 1.5)
            alone.set("Hidden", "Vm", np.arange(4.0).reshape(2, 2) - 80 + 4 * item)
            alone.trial(given)
            for name, values in states.items():
                assert np.array_equal(alone.get("Hidden", name), values[item])
            for ends in sums:
                sums[ends] = sums[ends] + alone.path(*ends, "DSWt")
    for ends, change in changed.items():
        assert np.array_equal(sums[ends], change) and np.abs(change).max() > 0  # type: ignore[arg-type]


def test_a_trial_that_fails_changes_no_weight() -> None:
    """A GPU adds up changes before the host knows that the last cycles have failed."""
    given, found = {"Input": UNITS, "Output": UNITS[::-1]}, []
    for fails in ("no", "and goes on", "and begins anew"):
        net = side_by_side()
        net.set("#OutputToHidden", tau_trace=1)  # keeps no traces
        with Trainer(net, items=4) as sim:
            sim.begin(given)
            sim.cycle(sim.network.cycles)
            before = sim.path(*PATHS[0])
            if fails != "no":
                with (
                    pytest.raises(ZeroDivisionError),
                    sim.learner.counting(sim._read, sim.states) as count,
                ):
                    assert count is not None
                    count()
                    assert sim.synapses.changes.any()
                    raise ZeroDivisionError
                assert not sim.synapses.changes.any()
            if fails == "and begins anew":  # as if an interrupt had come after all cycles
                sim.learner._counted = True
                sim.synapses.changes = np.full(1, 1 << 30)
                sim.begin(given)
                assert not sim.synapses.changes.any() and not sim.learner._counted
                continue
            sim.end()
            found.append(sim.path(*PATHS[0]))
            assert (found[-1] != before).any()
    assert np.array_equal(*found)


def test_traces_wait_until_the_cycles_have_not_failed() -> None:
    """They stay from trial to trial, so a trial that fails must not have changed them."""
    for tau, early in ((1, True), (2, False)):
        net = side_by_side()
        net.set("#OutputToHidden", tau_trace=tau)
        with Trainer(net, items=4) as sim:
            assert sim.synapses.prepare() is early
            sim.trial({"Input": UNITS, "Output": UNITS[::-1]})
            assert sim.path(*PATHS[0], "DSWt").any()


def test_a_trial_without_learning_asks_no_other_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it prepare changes of weights."""
    with Trainer(side_by_side(), items=4) as sim:
        monkeypatch.setattr(sim.learner, "counting", lambda *given: 1 / 0)
        sim.trial({"Input": UNITS, "Output": UNITS[::-1]}, learn=False)


def test_what_items_are_shown() -> None:
    """An environment may yield all items at once; what does not fit is told."""
    with Trainer(side_by_side(), items=2) as sim:
        both = [{"Input": UNITS[:2], "Output": UNITS[2:]}]
        log = sim.test(both * 2, 4, record={"Hidden": "ActM", "Output": "TrgAvg"})
        assert len(log.rows("trial")) == 4
        hidden, targets = log.recorded["Hidden"], log.recorded["Output"]
        assert hidden.shape == (4, 2, 2) and np.ptp(hidden) > 0.1
        assert np.array_equal(hidden[2:], sim.get("Hidden", "ActM"))
        assert np.array_equal(targets, np.broadcast_to(sim.get("Output", "TrgAvg"), (4, 4)))
        for given, message in (
            ({"Input": UNITS[0]}, "4 finite numbers are needed for each of 2 items"),
            ({"Input": UNITS}, "4 finite numbers are needed for each of 2 items"),
        ):
            with pytest.raises(nd.NeurodriverError, match=message):
                sim.begin(given)
        step = sim.lpu.step
        for record in ({"Hidden": "ActN"}, {"Hiden": "ActM"}):
            with pytest.raises(nd.NeurodriverError, match="did you mean"):
                sim.test(both, 2, record=record)
        assert sim.lpu.step == step  # before the first trial
        with pytest.raises(nd.NeurodriverError, match="a multiple of the 2 items is needed"):
            sim.test(both, trials=3)
        with pytest.raises(nd.NeurodriverError, match="values of equal layers"):
            sim.test([shown(0), {"Input": UNITS[0]}], trials=2)


def test_what_an_environment_yields_is_checked() -> None:
    """As in a single trial; nothing of what is given is left out."""
    eight = np.tile(UNITS, (2, 1))
    ragged = [[1.0, 2.0], [3.0]]
    for items in (None, 2):
        each = "" if items is None else " for each of 2 items"
        with Trainer(side_by_side(), items=items) as sim:
            for given in (eight, "abc", ragged, 1.0):
                say = f"'Input': 4 finite numbers are needed{each}, got"
                with pytest.raises(nd.NeurodriverError, match=say):
                    sim.train([{"Input": given, "Output": given}], 1, 8)  # type: ignore[dict-item]
            with pytest.raises(nd.NeurodriverError, match="must be a mapping of layers"):
                sim.train([shown(0), UNITS[0]], 1, 2)  # type: ignore[list-item]
            assert sim.trials == (items is None)


def test_a_list_begins_anew() -> None:
    """After its last trial, within and between epochs; an iterator ends, which is told."""
    trials = [shown(unit) for unit in (0, 1, 3)]
    with Trainer(side_by_side()) as sim, Trainer(side_by_side()) as other:
        assert len(sim.train(trials, epochs=2, trials=4).rows("trial")) == 8
        with pytest.warns(CircuitWarning, match="ended in epoch 1, after 3 of its 5 trials"):
            log = other.train(iter([*trials, *trials, *trials[:2]]), epochs=3, trials=5)
        assert len(log.rows("trial")) == 8
        assert sim.path("Input", "Hidden").tobytes() == other.path("Input", "Hidden").tobytes()


def test_sub_pools() -> None:
    """Each inhibits itself as a layer does; units get the stronger inhibition of both."""
    net = Network(seed=1)
    net.layer("a", "input", 8)
    pools = {"pool_inhibits": True, "pool_gi": 0.8, "pool_fb": 0.6}
    connected = np.ones((8, 8), bool)
    connected[:3, 4:] = False  # the second sub-pool hears nothing
    net.connect("a", net.layer("b", "super", (1, 2, 2, 2), gi=0.7, fb=0.5, **pools), connected)
    layer, own = [np.zeros(1) for _ in range(3)], [np.zeros(2) for _ in range(3)]
    stronger: set[bool] = set()
    with Trainer(net) as sim:
        assert sorted(sim.get("b", "TrgAvg")[0, 0].ravel()) == [0.5, 1, 1.5, 2]
        assert sorted(sim.get("b", "TrgAvg")[0, 1].ravel()) == [0.5, 1, 1.5, 2]
        sim.begin({"a": [1, 1, 1, 0, 0, 0, 0, 0]})
        for _ in range(120):
            spikes = sim.get("b", "Spike").reshape(2, 4)
            sim.cycle()
            raw = np.asarray(sim.lpu["b_arrivals"].get("raw_e")).reshape(2, 4)
            outer = inhibition(layer, raw.mean(), spikes.mean(), 0.7, 0.5)
            inner = inhibition(own, raw.mean(1), spikes.mean(1), 0.8, 0.6)
            expected = np.maximum(outer[0], inner[0])
            stronger |= {*(inner[0] > outer[0]).tolist()}
            got = sim.get("b", "PoolGi").reshape(2, 4)
            assert np.abs(got - expected[:, None]).max() < 1e-12
            assert np.abs(sim.get("b", "SSGi").reshape(2, 4) - inner[1][:, None]).max() < 1e-12
        assert stronger == {True, False} and sim.get("b", "SSGi").max() > 0
        sim.cycle(80)
        sim.end()
        averages = sim.averages["b"]
        assert averages.difference is not None
        relative = averages.activity.reshape(2, 4)
        relative = relative / relative.mean(axis=1, keepdims=True)
        assert np.abs(averages.difference - (relative.ravel() - averages.target)).max() < 1e-12


def test_the_strongest_inhibition_of_layers() -> None:
    """A layer gets the strongest inhibition of its own and of those it names, in the same cycle."""
    net = Network(seed=1, minus=60, plus=20)
    net.layer("a", "input", 6)
    for number, (name, shape) in enumerate({"b": 5, "c": 4, "d": (1, 2, 2, 2)}.items()):
        net.layer(name, "super", shape, gi=0.6 + 0.3 * number, fb=0.4 + 0.2 * number)
        connected = np.ones((6, int(np.prod(shape))), bool)
        connected[: 2 * number] = False
        net.connect("a", name, connected)
    net.layer("p", "pulvinar", 6, driver="a")
    net.connect("b", "p")
    net.set("#d", pool_inhibits=True, pool_gi=0.5)
    net.inhibit_as("b", "c")
    net.inhibit_as("c", "b", "a", "p")
    net.inhibit_as("d", "b", "b")
    names = {"a": (0.9, 1.0), "b": (0.6, 0.4), "c": (0.9, 0.6), "d": (1.2, 0.8), "p": (1.0, 1.0)}
    state: dict[str, list[Any]] = {n: [np.zeros(1) for _ in range(3)] for n in names}
    pools, won = [np.zeros(2) for _ in range(3)], set()
    with Trainer(net) as sim:
        for trial in range(2):
            if trial:
                sim.lesion("b", np.arange(5) == 2)
            sim.begin({"a": np.arange(6) % 3 != trial, "p": np.ones(6)})
            for cycle in range(80):
                on = sim.lesions.on
                spikes = {n: sim.get(n, "Spike").ravel() for n in names}
                given = {n: np.rint(sim.get(n, "GeExt").ravel() * 2**30) / 2**30 for n in names}
                sim.cycle()
                own = {}
                for n, (gi, fb) in names.items():
                    anew = cycle == 0 or (n == "p" and cycle == 60)
                    decays = 1 - 0.2 * (n != "p")  # activity of a pulvinar layer does not decay
                    state[n] = [one * (decays if cycle == 0 else 1) for one in state[n]]
                    raw = np.ravel(sim.lpu[f"{n}_arrivals"].get("raw_e"))
                    quiet = 0 if anew and (n != "p" or cycle) else 1
                    external = 0 if anew else given[n][on[n]].mean()
                    firing = quiet * spikes[n][on[n]].mean()
                    own[n] = inhibition(
                        state[n], raw[on[n]].mean(), firing, gi, fb,
                        external, clamped=n == "a" or n == "p",
                    )[0]  # fmt: skip
                found = {n: sim.get(n, "PoolGi").ravel() for n in names}
                for n, others in {"a": "a", "b": "bc", "c": "cbap", "p": "p"}.items():
                    most = max(others, key=lambda one: own[one][0])
                    won.add((n, most))
                    assert np.abs(found[n] - own[most]).max() < 1e-12, (n, most, trial, cycle)
                raw = np.asarray(sim.lpu["d_arrivals"].get("raw_e")).reshape(2, 4)
                quiet = 0 if cycle == 0 else 1
                pools = [one * (0.8 if cycle == 0 else 1) for one in pools]
                firing = quiet * spikes["d"].reshape(2, 4).mean(1)
                inner = inhibition(pools, raw.mean(1), firing, 0.5, 1.0)[0]
                most = np.maximum(inner, max(own["d"][0], own["b"][0]))
                assert np.abs(found["d"].reshape(2, 4) - most[:, None]).max() < 1e-12
    assert {("b", "b"), ("b", "c"), ("c", "c"), ("c", "a")} <= won
    for wrong in (("b",), ("b", "b"), ("b", "z")):
        with pytest.raises(nd.CircuitError, match=r"other layers are needed|no layer 'z'"):
            net.inhibit_as(*wrong)


def named_inhibition() -> Network:
    """Return a network of four units whose hidden layer gets the inhibition of its output."""
    net = four_units(nd.AllToAll())
    net.set("layer", clears=0, fs_threshold=0.01)
    net.inhibit_as("Hidden", "Output")
    return net


@pytest.mark.parametrize(
    ("layer", "name", "value"),
    [("Output", "gi", 5.0), ("Output", "tau_fs", 12.0), ("Output", "decay_act", 1.0),
     ("Hidden", "gi_mult", 0.5), ("Hidden", "clears", 1)],
)  # fmt: skip
def test_parameters_while_it_runs(layer: str, name: str, value: float, tmp_path: Path) -> None:
    """They have the same effect as before the build, also on layers that read the inhibition."""
    before = named_inhibition()
    before.set(f"#{layer}", **{name: value})
    left = []
    with Trainer(before) as given, Trainer(named_inhibition()) as sim, Trainer(before) as usual:
        sim.set(layer, name, value)
        for one in (given, sim):
            log = one.train([shown(0), shown(1)], 1, 2)
            one.save(tmp_path / "weights.h5")
            usual.load(tmp_path / "weights.h5")
            kept = usual.averages[layer].gi_mult
            left.append([one.get(n, "Vm").tobytes() for n in ("Hidden", "Output")])
            assert log["epoch"][f"{layer}.GiMult"] == kept == (value if name == "gi_mult" else 1)
    assert left[0] == left[1]


def test_parameters_that_a_layer_has_once() -> None:
    """Units and items cannot differ in them; some are read only when the trainer is made."""
    with Trainer(named_inhibition(), items=2) as sim:
        sim.set("Output", "gi", [[1.0] * 4, [2.0] * 4])  # each item has its own
        found = np.ravel(sim.lpu["Output_inhibition"].get("gi"))
        assert found.tolist() == [1.0, 2.0]
        for layer, name, value, message in (
            ("Output", "gi", [1, 2, 3, 4], "one value for all units of the layer is needed"),
            ("Hidden", "gi_mult", [1, 2, 1, 1], "one value for all units and items is needed"),
            ("Hidden", "trg_rate", 0.1, "'Hidden', trg_rate: it is fixed when the trainer is made"),
            ("Hidden", "gi", "strong", "numbers are needed, got 'strong'"),
        ):
            with pytest.raises(nd.NeurodriverError, match=message):
                sim.set(layer, name, value)


def inhibition(
    state: list[Any], excitation: Any, firing: Any, gi: float, fb: float,
    external: Any = 0.0, clamped: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Return whole and slow inhibition of pools, and advance FSi, SSi and SSf."""
    fast, slow, gain = state
    fast = fast + excitation + fb * firing - fast / 6
    slow, gain = slow + (gain * firing - slow) / 50, gain + firing * (1 - gain) - gain / 20
    state[:] = fast, slow, gain
    strong = np.maximum(fast - 0.1, 0) + external
    strong = external if clamped and external > 0.05 else strong
    return gi * strong + gi * 30 * slow, gi * 30 * slow


def test_hebbian_paths() -> None:
    """Changes follow from the activity of both ends."""
    net = four_units(nd.AllToAll())
    net.set("path", var=0.25)
    net.set("#InputToHidden", hebb=True, lrate=0.1)
    net.set("path", tau_trace=3)
    with Trainer(net) as sim:
        linear = sim.path("Input", "Hidden", "LWt")
        sim.trial(shown(0))
        after, before = (sim.get(n, "LearnCaP").ravel() for n in ("Hidden", "Input"))
        change = after[:, None] * (0.5 * before * (1 - linear) - (1 - before) * linear)
        got = sim.path("Input", "Hidden", "LWt")
        assert np.abs(got - np.clip(linear + 0.1 * change, 0, 1)).max() < 2.0**-40
        for ends in (("Input", "Hidden"), ("Hidden", "Output")):
            with pytest.raises(nd.NeurodriverError, match="'Tr': Hebbian paths, paths to targets"):
                sim.path(*ends, "Tr")
        assert sim.path("Output", "Hidden", "Tr").shape == (4, 4)
        assert (got[:, 0] - linear[:, 0]).max() > 1e-3 > 0 > (got[:, 1] - linear[:, 1]).min()


def test_inhibition_follows_activity() -> None:
    """Where asked for, and by 0.01 at most; a file keeps it."""
    net = four_units(nd.AllToAll())
    net.set("layer", gi_adapts=True, nominal=0.01)
    net.set("#Output", gi_adapts=False)
    with Trainer(net, inhibition_interval=2) as sim:
        sim.trial(shown(0))
        assert sim.get("Hidden", "gi_mult").max() == 1
        sim.trial(shown(1))
        off = (sim.averages["Hidden"].mean - 0.01) / 0.01
        assert off > 0.1  # so the step is the largest
        assert np.abs(sim.get("Hidden", "gi_mult") - 1.01).max() < 1e-12
        assert all((sim.get(name, "gi_mult") == 1).all() for name in ("Input", "Output"))


def test_full_and_sparse_paths_learn_alike() -> None:
    """The changes of a sparse path are those of the same synapses of a full one.

    Each item of a batch has its own averages.
    """
    connected = np.random.default_rng(0).random((4, 4)) < 0.5
    found = []
    for pattern in (np.ones((4, 4), bool), connected):
        net = four_units(rates=True)
        net.layer("Other", "super", 4)
        net.connect("Input", "Other", pattern, abs=0.0)  # nothing arrives, whatever the pattern
        net.connect("Hidden", "Other")
        net.set("#InputToOther", tau_trace=3.0, synapse_threshold=0.02, mean=0.4, var=0.0)
        with Trainer(net, items=2) as sim:
            for first in (0, 1):
                units = UNITS[[first, 3]]
                sim.trial({"Input": units, "Output": units})
            names = "DSWt", "LWt", "Tr"
            found.append([sim.path("Input", "Other", name) for name in names])
    there = connected.T
    for full, sparse in zip(*found, strict=True):
        assert np.array_equal(full[..., there], sparse[..., there])
        assert np.isnan(sparse[..., ~there]).all()
    changes, traces = found[1][0], found[1][2]
    assert (np.nan_to_num(changes) != 0).sum() > 1 and np.nanmax(np.ptp(traces, axis=0)) > 0


def test_weights_change_as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warp that shares the synapses of each unit leaves the bits of one thread.

    The paths have several rules, items, and averages of their own. Later, units are switched off.
    """
    left = []
    for place in (HostSynapses, WarpSynapses):
        monkeypatch.setattr(live, "HostSynapses", place)
        with Trainer(several_kinds(), items=2, slow_interval=4) as sim:
            shapes = {name: sim.network.layers[name].count for name in ("Input", "Output")}
            for seed in range(5):
                rng = np.random.default_rng(seed)
                if seed == 2:
                    sim.lesion("Hidden", rng.random((2, 2, 4, 5)) < 0.3)
                    sim.lesion("Input", rng.random((5, 5)) < 0.2)
                sim.trial({name: rng.random((2, n)) < 0.25 for name, n in shapes.items()})
            ends = ("Input", "Hidden"), ("Hidden", "Hidden"), ("Hidden", "Output")
            left.append([sim.path(*one, name) for name in ("DSWt", "Wt", "SWt") for one in ends])
            left[-1] += [sim.get("Hidden", name) for name in ("TrgAvg", "ActAvg")]
    assert min(np.ptp(one) for one in left[0][:8] + left[0][9:]) > 0  # SWt into targets are equal
    assert all(map(np.array_equal, *left))


def test_patterns_of_sub_pools() -> None:
    """Against loops over the units, with and without edges that are joined."""
    low, high = (5, 4, 2, 1), (3, 2, 1, 3)
    for wrap in (True, False):
        tile = PoolTile(size=(2, 3), skip=(2, 1), start=(-1, 0), wrap=wrap)
        got = tile.connected(low, high).reshape(*low, *high)
        for y, x, b, c in np.ndindex(*low[:2], *high[:2]):
            rows, columns = range(2 * b - 1, 2 * b + 1), range(c, c + 3)
            seen = [(r % 5, k % 4) if wrap else (r, k) for r in rows for k in columns]
            assert (got[y, x, :, :, b, c] == ((y, x) in seen)).all()
    same = PoolOneToOne().connected((2, 2, 1, 2), (2, 2, 3, 1))
    assert same.sum() == 4 * 2 * 3 and same[2:4, 3:6].all() and not same[2:4, :3].any()
    drawn = UniformRandom(0.3, seed=1).connected((5,), (40,))
    assert (drawn.sum(axis=0) == 2).all() and np.ptp(drawn.sum(axis=1)) > 0
    net = Network()
    net.layer("a", "super", low)
    net.layer("b", "super", high)
    forward, back = net.connect_both("a", "b", PoolTile((2, 2), (1, 1)))
    assert len(forward.pairs) == len(back.pairs) == 6 * 4 * 6
    assert set(zip(forward.pairs.pre, forward.pairs.post, strict=True)) == set(
        zip(back.pairs.post, back.pairs.pre, strict=True)
    )
    net.layer("one", "super", (3, 2))
    whole = net.connect("a", "one", PoolTile((2, 2)))
    assert len(whole.pairs) == 4 * 2 * 6 and len(net.connect("one", "a", PoolTile()).pairs) > 0
    net.layer("c", "super", 4)
    with pytest.raises(nd.CircuitError, match=r"'aToc': the pattern needs layers of shape \(py"):
        net.connect("a", "c", PoolTile())
    with pytest.raises(nd.CircuitError, match="as many sub-pools are needed"):
        net.connect("b", "a", PoolOneToOne(), "inhib")
    with pytest.raises(nd.CircuitError, match=r"share is in \(0, 1\] \(got 0\)"):
        net.connect("b", "a", UniformRandom(0), "inhib")


def test_random_patterns_are_drawn_for_each_path() -> None:
    """The draw depends on the network's seed, the path and the pattern's seed, and repeats."""

    def drawn(seed: int, names: str, of_pattern: int) -> bytes:
        net = Network(seed=seed)
        for name in names:
            net.layer(name, "super", 20)
        path = net.connect(*names, UniformRandom(0.3, of_pattern))
        assert (np.diff(path.pairs.first) == 6).all()
        return path.pairs.pre.tobytes()

    assert drawn(0, "ab", 0) == drawn(0, "ab", 0)
    assert (
        len({drawn(*one) for one in ((0, "ab", 0), (1, "ab", 0), (0, "ac", 0), (0, "ab", 1))}) == 4
    )
    net = Network()
    net.layer("a", "super", 20)
    within = net.connect("a", "a", UniformRandom(0.5), "lateral").pairs
    assert (within.pre != within.post).all() and (np.diff(within.first) == 10).all()  # of 19
    assert len(net.connect("a", "a", UniformRandom(1, autapses=True), "inhib").pairs) == 20 * 20
    net.layer("b", "super", 4)
    with pytest.raises(nd.CircuitError, match=r"'bToa': .*0.1 of 4 senders are round\(0.4\) = 0"):
        net.connect("b", "a", UniformRandom(0.1))


def test_patterns_of_places() -> None:
    """Rectangles and circles against loops over rows and columns, in layers with sub-pools too."""
    low, high = (2, 3, 3, 2), (4, 5)  # 6 rows of 6 units, and 4 rows of 5
    for wrap, scale in ((True, (1.5, 1.0)), (False, (1.5, 0.5)), (True, None)):
        rectangle = Rectangle((2, 3), (-1, 1), scale, wrap)
        circle = Circle(1, (1, 1), scale, wrap)
        made = rectangle.connected(low, high), circle.connected(low, high)
        steps, turns = scale or (6 / 4, 6 / 5), scale or ((6 - 2) / 4, (6 - 2) / 5)
        for y, x, r, c in np.ndindex(6, 6, *high):
            sender = np.ravel_multi_index((y // 3, x // 2, y % 3, x % 2), low)
            found = [one[sender, 5 * r + c] for one in made]
            first = int(r * steps[0] // 1) - 1, int(c * steps[1] // 1) + 1
            rows, columns = range(first[0], first[0] + 2), range(first[1], first[1] + 3)
            joined = [6 * n for n in (-2, -1, 0, 1, 2)] if wrap else [0]
            assert found[0] == any(
                y + n in rows and x + m in columns for n in joined for m in joined
            )
            centre = 1 + r * turns[0], 1 + c * turns[1]
            apart = [np.hypot(y + n - centre[0], x + m - centre[1]) for n in joined for m in joined]
            assert found[1] == (min(apart) < 1.5)  # rounded, this is at most 1
    net = Network()
    net.layer("a", "super", (4, 4))
    within = net.connect("a", "a", Circle(1), "lateral")
    assert len(within.pairs) == 16 * 8 and (within.pairs.pre != within.pairs.post).all()
    net.layer("b", "super", 16)
    assert len(net.connect("a", "b", Rectangle((1, 2), scale=None, wrap=False)).pairs) == 28
    net.layer("c", "super", (2, 2, 2))
    with pytest.raises(nd.CircuitError, match=r"'aToc': Circle: layers of shape \(x,\), \(y, x\)"):
        net.connect("a", "c", Circle())
    faults: list[tuple[Any, str]] = [
        (lambda: Rectangle((0, 2)), r"Rectangle: size: two whole numbers of at least 1"),
        (lambda: Circle(1.5), r"\(radius, radius\): two whole numbers of at least 0 are needed"),
        (lambda: Circle(scale=(1, float("nan"))), "Circle: scale: two finite numbers from 0 on"),
        (lambda: PoolTile(start=3), r"PoolTile: start: two whole numbers are needed \(got 3\)"),
    ]
    for wrong, message in faults:
        with pytest.raises(nd.CircuitError, match=message):
            wrong()


def test_figures_of_a_training(tmp_path: Path) -> None:
    """Curves of several trainings, and weights as images."""
    pytest.importorskip("matplotlib")
    logs = []
    for errors in ([1, 0.5], [1, 0.75, 0.25]):
        logs.append(Log())
        for epoch, error in enumerate(errors):
            logs[-1].add("epoch", {"epoch": epoch, "error": error})
    made = plot_learning(logs, tmp_path / "curves.svg", ["error"])
    assert made.read_text(encoding="utf-8").count('<g id="line2d_') > 3
    fields = plot_receptive_fields(np.eye(6)[:5], (2, 3), tmp_path / "fields.png")
    assert fields.stat().st_size > 1000
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axis = plot_receptive_fields(np.arange(36.0)[None], (2, 2, 3, 3), ax=pyplot.figure().subplots())
    drawn = axis.images[0].get_array()
    assert np.array_equal(drawn[:3], np.hstack([np.arange(9.0).reshape(3, 3) + n for n in (0, 9)]))
    some = logs[1]["epoch"][["error"]]
    assert [*some] == ["error"] and np.array_equal(some["error"], [1, 0.75, 0.25])
    with pytest.raises(nd.NeurodriverError, match=r"no column 'errors' \(did you mean 'error'\?\)"):
        logs[1]["epoch"][["errors"]]
    with pytest.raises(nd.NeurodriverError, match=r"no column 'errors' \(did you mean 'error'\?\)"):
        plot_learning(logs, tmp_path / "none.png", ["errors"])
    with pytest.raises(nd.NeurodriverError, match=r"are needed \(got \(6, 6\) and \(2, 2\)\)"):
        plot_receptive_fields(np.eye(6), (2, 2), tmp_path / "none.png")
