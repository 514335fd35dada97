"""Error-driven networks against numbers of Axon's own tests, and of another program in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_networks import LAYERS, UNITS, associator, four_units, patterns, shown

import neurodriver as nd
from neurodriver.backends.cpu.synapse_place import HostSynapses
from neurodriver.codegen.generate import generate
from neurodriver.error_driven import Log, Network, Table, Trainer, circuit_of, stop_after_zero
from neurodriver.error_driven.circuit import placed_circuit
from neurodriver.error_driven.contrast import contrast, linear_of
from neurodriver.error_driven.neuron_text import PARAMETERS
from neurodriver.error_driven.starts import first_weights
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA


def near(sim: Trainer, layer: str, unit: int = 0, **expected: float) -> None:
    """Compare states of a unit."""
    for name, value in expected.items():
        got = float(sim.get(layer, name).ravel()[unit])
        assert abs(got - value) < 5e-6, (layer, name, got, value)


@pytest.fixture(scope="module")
def plain() -> Iterator[Trainer]:
    """Two trials of four units without learning: the first one, and 50 cycles of the second."""
    with Trainer(four_units()) as sim:
        yield sim


def test_activity_of_four_units(plain: Trainer) -> None:
    """Axon's own numbers of activity, excitation and inhibition."""
    sim = plain
    sim.begin(shown(0))
    sim.cycle(40)
    near(sim, "Hidden", Act=0.6944009, Ge=0.7366979, Gi=0.24779804)
    sim.cycle(10)
    near(sim, "Hidden", Act=0.6944439, Ge=0.35238016, Gi=0.15478326)
    near(sim, "Output", Act=0.55552065, Ge=0.35870183, Gi=0.20974194)
    near(sim, "Hidden", 3, Act=0, Ge=0, Gi=0.15478326)
    sim.cycle(150)
    near(sim, "Hidden", Act=0.56933826, Ge=0.43519318, Gi=0.21780372)
    near(sim, "Output", Act=0.69444436, Ge=0.8, Gi=0.48570368)
    sim.begin(shown(1))
    sim.cycle(50)
    near(sim, "Hidden", 1, Act=0.46289298, Ge=0.45270887, Gi=0.1974176)
    near(sim, "Output", 1, Act=0, Ge=0.26705682, Gi=0.089714766)
    near(sim, "Hidden", 0, Act=1.28e-10, Ge=0.011576458)
    near(sim, "Output", 0, Act=1.56e-10, Ge=0.014116121)


def test_inhibitory_path() -> None:
    """It adds to the inhibition of the receiver, and has a scale of its own."""
    with Trainer(four_units(inhibited=True)) as sim:
        sim.begin(shown(0))
        sim.cycle(50)
        near(sim, "Hidden", Act=0, Ge=0.30250484, Gi=0.46865422)
        near(sim, "Hidden", 1, Gi=0)
        near(sim, "Output", Act=0, Ge=0, Gi=0)
        sim.cycle(150)
        near(sim, "Output", Act=0.7936507, Ge=0.8, Gi=0.39994955)


COLUMNS = "Vm VmDend Ge Gi Gk GnmdaSyn GababM GababX MahpN GknaMed VgccM VgccH FSi SSi SSf"
ROWS = """
Input 0 -38.296535 -50.797769 1.5 0 0.0031364 0 0 0.0062343 0.0015255 0 0 0.0344828 0 0 0
Input 2 -41.999160 -30.925371 1.5 0.3375 0.0215252 0 0.0044475 0.1353442 0.1168953 0.002
    0.2776877 0.0654393 0.125 0 0.25
Hidden 9 -32.1891 -48.2722 0.5748458 0.0460289 0.0073000 0.8129124 0.0144265 0.0595965 0.0373591
    0 1.3293e-8 0.2959551 0.1460289 0 0
Hidden 149 -40.075 -53.2948 0.5508584 0.2499457 0.0718890 6.1441975 4.2462737 2.2004814 0.1719963
    0.0191878 0.00025348 0.9713106 0.1586514 0.0063765 0.3124292
"""
SPIKES = {
    "Input": [1, 6, 11, 16, 21, 26, 31, 36, *range(42, 199, 6)],
    "Hidden": [10, 18, 26, 34, 42, 52, *range(61, 172, 10), 180, 190],
    "Output": [*range(18, 89, 10), 99, 109, 119, 130, 140, 150, *range(158, 199, 8)],
}


def test_states_and_spikes_cycle_by_cycle() -> None:
    """All states of two neurons at four cycles, and every spike of a trial."""
    found: dict[str, list[int]] = {name: [] for name in LAYERS}
    rows: dict[int, list[tuple[str, list[float]]]] = {}
    for row in ROWS.replace("\n    ", " ").strip().splitlines():
        layer, cycle, *values = row.split()
        rows.setdefault(int(cycle), []).append((layer, [*map(float, values)]))
    with Trainer(four_units()) as sim:
        sim.begin(shown(0))
        for number in range(200):
            sim.cycle()
            for name in LAYERS:
                if sim.get(name, "Spike").ravel()[0]:
                    found[name].append(number)
            for layer, expected in rows.get(number, []):
                for name, value in zip(COLUMNS.split(), expected, strict=True):
                    got = float(sim.get(layer, name).ravel()[0])
                    assert abs(got - value) < 6e-5 * max(1, abs(value)) ** 0.5, (layer, name)
    assert len(rows) == 4 and found == SPIKES


@pytest.mark.parametrize("delay", range(5))
def test_delays(delay: int) -> None:
    """A spike of cycle c is felt in cycle c + delay + 1."""
    net = Network()
    net.connect(net.layer("a", "input", 1), net.layer("b", "super", 1), delay=delay)
    with Trainer(net) as sim:
        sim.begin({"a": [1.0]})
        spiked = felt = -1
        for cycle in range(12):
            sim.cycle()
            if spiked < 0 and sim.get("a", "Spike")[0]:
                spiked = cycle
            if felt < 0 and sim.get("b", "Ge")[0] > 0:
                felt = cycle
    assert spiked > 0 and felt == spiked + delay + 1


KEPT, ACT, LONG = ("GeSyn", "GnmdaLrn", "CaM", "CaP", "CaSyn"), 1 - 0.2, 1 - 0.6
"""States that a new trial does not change, and what it leaves of activity and conductances."""


def test_an_interval_before_a_trial() -> None:
    """In it there is no input, and the last activity goes on; then the trial begins, with decay.

    All states follow from spikes alone, by NumPy. Targets count from the minus phase, too.
    """
    net = Network(minus=50, plus=20, interval=25)
    net.connect(net.layer("a", "input", 4), net.layer("b", "super", 4), nd.OneToOne(), var=0.0)
    net.connect("b", net.layer("c", "target", 4), nd.OneToOne(), var=0.0)
    net.set("layer", fb=0.5)
    carried = np.floor(0.5 * net.scale(net.paths["aTob"]) * 2**24) / 2**24
    state, bins, spikes = dict.fromkeys((*KEPT, "GnmdaSyn", "Act"), 0.0), [], []
    with Trainer(net) as sim:
        for _ in range(2):
            sim.begin({"a": UNITS[0], "c": UNITS[0]})
            for cycle in range(-25, 70):
                sim.cycle()
                raw = carried * spikes[-3] if len(spikes) > 2 else 0.0
                spikes.append(float(sim.get("a", "Spike")[0]))
                assert (sim.get("a", "GeExt")[0] > 0) == (cycle >= 0)
                assert (sim.get("c", "GeExt")[0] > 0) == (cycle >= 50)
                spike = float(sim.get("b", "Spike")[0])
                if cycle == 0:
                    state["GnmdaSyn"] *= LONG
                    state["Act"] *= ACT
                state["GeSyn"] += raw - state["GeSyn"] / 5
                state["GnmdaSyn"] += raw - state["GnmdaSyn"] / 100
                state["GnmdaLrn"] += raw - state["GnmdaLrn"] / 100
                average = float(sim.get("b", "ISIAvg")[0])
                rate = 0 if average <= 0 else min(1 / (0.18 * average), 1)
                state["Act"] += 100 / 281 * (rate - state["Act"])
                state["CaM"] += (8 * spike - state["CaM"]) / 5
                state["CaP"] += (state["CaM"] - state["CaP"]) / 40
                state["CaSyn"] += (8 * spike - state["CaSyn"]) / 30
                bins.append(state["CaSyn"])
                for name, value in state.items():
                    assert abs(sim.get("b", name)[0] - value) < 1e-12, (name, cycle)
            of_trial = np.reshape(bins[-70:], (7, 10)).mean(axis=1)
            assert np.abs(sim.get("b", "bins")[0, -7:] - of_trial).max() < 1e-12
    assert state["CaP"] > 0.1 and np.ptp(of_trial) > 0.01
    assert sum(spikes[100:120]) == 0 < sum(spikes[120:])  # the second interval, and its trial


LEARNED = {
    "LearnCaP": (0.5500735, 0.5519808, 0.54200256, 0.5519518),
    "LearnCaD": (0.52224743, 0.49780282, 0.49890643, 0.50385964),
}
OUTPUT = (0.50602317, 0.4639777, 0.4770922, 0.47976217)
"""LearnCaD of the output."""

CHANGES = (0.0055950927, 0.010907927, 0.010558605, 0.010816593)
CARRIED = (0.5335216, 0.5650866, 0.56302404, 0.56454736)
HIDDEN = (0.5268025, 0.54555845, 0.5367433, 0.5415946)
RATED = (2.2356323e-07, 2.6165517e-05, 1.8274108e-05, 2.6021975e-05)


def carried(sim: Trainer, name: str) -> np.ndarray:
    """Return what the spikes of a path of one to one connections carry."""
    first = placed_circuit(sim.network).paths[name].first
    return np.asarray(sim.lpu["exc"].get("weight")[first : first + 4])


def scaled(sim: Trainer, sender: str, receiver: str) -> np.ndarray:
    """Return the weights of such a path, times its scale, in multiples of 2^-24."""
    scale = sim.network.scale(sim.network.paths[f"{sender}To{receiver}"])
    return np.floor(np.diag(sim.path(sender, receiver)) * scale * 2**24) / 2**24


@pytest.mark.parametrize("rates", [False, True])
def test_learning_of_four_units(rates: bool) -> None:
    """Axon's own numbers of traces, changes and weights, with and without rates of receivers."""
    with Trainer(four_units(rates=rates)) as sim:
        for unit in range(4):
            sim.trial(shown(unit))
            for name, values in LEARNED.items():
                near(sim, "Hidden", unit, **{name: values[unit]})
            near(sim, "Output", unit, LearnCaD=OUTPUT[unit])
            at = unit, unit
            assert abs(sim.path("Hidden", "Output", "DSWt")[at] - CHANGES[unit]) < 1e-8
            assert abs(sim.path("Hidden", "Output")[at] - CARRIED[unit]) < 1e-6
            if rates:
                change = sim.path("Input", "Hidden", "DSWt")[at]
                assert abs(change / RATED[unit] - 1) < 1e-5
            else:
                assert abs(sim.path("Input", "Hidden")[at] - HIDDEN[unit]) < 1e-6
            assert np.array_equal(carried(sim, "InputToHidden"), scaled(sim, "Input", "Hidden"))
            assert np.array_equal(carried(sim, "HiddenToOutput"), scaled(sim, "Hidden", "Output"))


def test_a_trial_ends_once() -> None:
    """Weights change after all of its cycles, neither earlier, nor later, nor again."""
    net = four_units()
    net.interval = 10
    with Trainer(net) as sim, Trainer(net) as other:
        sim.begin(shown(0))
        for cycles, message in (
            (150, "after all of its 210 cycles, and 150 have run; run 60 more by cycle"),
            (61, "after all of its 210 cycles, and 211 have run; begin another trial"),
        ):
            sim.cycle(cycles)
            with pytest.raises(nd.NeurodriverError, match=message):
                sim.end()
            sim.end(learn=False)
        assert sim.trials == 0
        for one in (sim, other):
            one.begin(shown(1))
        sim.cycle(210)
        sim.end()
        other.cycle(210)
        other.end()
        with pytest.raises(nd.NeurodriverError, match="weights have changed after this trial"):
            other.end()
        assert sim.trials == other.trials == 1


def full(slow: int, **options: Any) -> Trainer:
    """Return the network with all units connected, and first weights of its own."""
    sim = Trainer(four_units(nd.AllToAll()), slow_interval=slow, **options)
    slope = 0.02 * (np.arange(4) - 1.5)
    sim.set_weights("Input", "Hidden", 0.5 + np.array([1, -1, 1, -1])[:, None] * slope)
    sim.averages["Hidden"].target = np.array([0.5, 1, 1.5, 2])
    sim.averages["Hidden"].activity = 0.1 * sim.averages["Hidden"].target
    return sim


def test_learning_of_full_paths() -> None:
    """Weights after four trials, of another program."""
    with full(100) as sim:
        for unit in range(4):
            sim.trial(shown(unit))
        expected = [
            [0.46999980, 0.48984704, 0.50765849, 0.53580654],
            [0.53774829, 0.50931308, 0.49, 0.47],
        ]
        assert np.abs(sim.path("Input", "Hidden")[:2] - expected).max() < 1e-6
        expected = [
            [0.49934231, 0.53612714, 0.49934231, 0.53612714],
            [0.49825318, 0.54285188, 0.49825318, 0.54285188],
        ]
        assert np.abs(sim.path("Hidden", "Output")[:2] - expected).max() < 1e-6


def test_learning_rates_between_trials() -> None:
    """A rate that is set has the bits of one that was given; 0 keeps the weights."""
    slow = four_units()
    slow.set("path", lrate=0.01)
    slow.set("#InputToHidden", lrate=0.0)
    with Trainer(four_units()) as sim, Trainer(slow) as other:
        sim.set_rate("path", 0.01)
        sim.set_rate("#InputToHidden", 0)
        for one in (sim, other):
            one.trial(shown(0))
        for name in ("InputToHidden", "HiddenToOutput"):
            found = [one.synapses.read(name, "weight") for one in (sim, other)]
            assert found[0].tobytes() == found[1].tobytes()
            assert (np.ptp(found[0]) > 0) == (name == "HiddenToOutput")
        before = sim.path("Input", "Hidden")
        sim.set_rate(".forward", 0.5)
        sim.trial(shown(0))
        assert not np.array_equal(sim.path("Input", "Hidden"), before, equal_nan=True)
        with pytest.raises(nd.NeurodriverError, match="means layers; paths are needed"):
            sim.set_rate(".super", 0.1)
        with pytest.raises(nd.NeurodriverError, match="lrate: must be a finite number"):
            sim.set_rate("path", float("nan"))


def test_structural_weights_and_averages() -> None:
    """After eight trials with a slow change in the eighth, of another program."""
    with full(8) as sim:
        for unit in range(8):
            sim.trial(shown(unit))
        got = sim.path("Input", "Hidden")[0], sim.path("Input", "Hidden", "SWt")[0]
        weights = [0.46933966, 0.48920130, 0.50770720, 0.54034434]
        structural = [0.49998835, 0.49998769, 0.49998024, 0.50004372]
        assert np.abs(np.array(got) - [weights, structural]).max() < 1e-6
        difference = sim.averages["Hidden"].difference
        expected = [0.08849433, -0.15979408, -0.34020592, -0.58849433]
        assert np.abs(difference - np.array(expected)).max() < 1e-6  # type: ignore[operator]
        expected = [0.06844568, 0.09771241, 0.13478772, 0.16405445]
        assert np.abs(sim.get("Hidden", "ActAvg").ravel() - expected).max() < 1e-6


def test_weights_in_a_file(tmp_path: Path) -> None:
    """Weights, averages and the number of trials come back; files that do not fit are refused."""
    net = four_units(nd.AllToAll())
    with Trainer(net, slow_interval=3) as sim, Trainer(net, slow_interval=3) as other:
        for unit in range(2):
            sim.trial(shown(unit))
        sim.save(tmp_path / "weights.h5")
        other.load(tmp_path / "weights.h5")
        assert other.trials == 2
        for name in ("Wt", "LWt", "SWt", "DSWt"):
            kept = sim.path("Input", "Hidden", name)
            assert np.array_equal(other.path("Input", "Hidden", name), kept)
        assert np.ptp(sim.path("Input", "Hidden")) > 0
        assert np.array_equal(*(one.lpu["exc"].get("weight") for one in (sim, other)))
        assert np.array_equal(*(one.get("Hidden", "TrgAvg") for one in (sim, other)))
        before = other.path("Input", "Hidden", "SWt")
        other.trial(shown(2))
        assert not np.array_equal(other.path("Input", "Hidden", "SWt"), before)
    with Trainer(associator(2)) as third:
        with pytest.raises(nd.NeurodriverError, match=r"'paths/InputToHidden1/weight'.*nothing"):
            third.load(tmp_path / "weights.h5")
        (tmp_path / "weights.h5").write_bytes(b"no file")
        with pytest.raises(nd.NeurodriverError, match=r"weights.h5: cannot be read"):
            third.load(tmp_path / "weights.h5")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_trials_without_a_target(order: tuple[int, int]) -> None:
    """Their rows have NaN, and the row of an epoch has means over the others."""
    trials = {"Input": UNITS[0], "Output": UNITS[0]}, {"Input": UNITS[1]}
    names = "unit_error", "error", "correlation", "Output.error"
    with Trainer(four_units()) as sim:
        log = sim.train([trials[i] for i in order], 1, 2)
        for name in names:
            assert np.isnan(log["trial"][name]).tolist() == [i == 1 for i in order]
            assert log["epoch"][name][0] == np.nansum(log["trial"][name])
        without = sim.test(trials[1:], 1)
        assert np.isnan([without["epoch"][name][0] for name in names]).all()
        assert without.zero_epochs == 0 and without.first_zero is None
    log = Log()
    log.add("epoch", {"epoch": 0})
    log.add("epoch", {"epoch": 1, "error": 0.0})
    assert np.array_equal(log["epoch"]["error"], [np.nan, 0.0], equal_nan=True)


def test_targets_for_statistics_alone() -> None:
    """A compare layer has errors of its own, and those of target layers do not count them."""
    net = four_units()
    net.layer("Check", "compare", 4)
    net.connect("Hidden", "Check", nd.OneToOne())
    with Trainer(net) as sim:
        for check in (1 - UNITS[0], 1 - UNITS[1]):
            found = sim.trial({**shown(0), "Check": check}, learn=False)
            assert all(found[n] == found[f"Output.{n}"] for n in ("unit_error", "correlation"))
            wrong = (sim.get("Check", "ActM") > 0.5) != (check > 0.5)
            assert found["Check.unit_error"] == wrong.mean() != found["unit_error"]
            assert found["Check.error"] == wrong.any()


def trained(threads: int) -> tuple[Any, ...]:
    """Return what four patterns leave after a short training."""
    rng = np.random.default_rng(3)
    table = Table(Input=patterns(rng, 4), Output=patterns(rng, 4))
    with Trainer(associator(10, seed=3), threads=threads) as sim:
        log = sim.train(table, epochs=14, trials=8, stop=stop_after_zero(1))
        test = sim.test(table, trials=4)
        weights = [sim.path(*ends) for ends in (("Input", "Hidden1"), ("Output", "Hidden2"))]
        return log, test, weights, sim.lpu.get("Vm")


def test_an_associator_learns_with_any_number_of_threads() -> None:
    """Four patterns are learned; hidden layers stay sparse; all bits are the same."""
    log, test, weights, potentials = trained(1)
    epochs = log["epoch"]
    assert epochs["error"][0] == 1 and epochs["unit_error"][0] > 0.15
    assert log.zero_epochs == 1 and log.first_zero == len(epochs["error"]) - 1
    assert test["epoch"]["error"][0] == 0 and test["epoch"]["correlation"][0] > 0.9
    for name in ("Hidden1", "Hidden2"):
        assert np.abs(epochs[f"{name}.Act"] - 0.072).max() < 0.008
        assert (log["trial"][f"{name}.ActMMax"] > 3 * log["trial"][f"{name}.Act"]).all()
        average = 0.06
        for one in log["trial"][f"{name}.Act"]:
            average += (one - average) / 20
        assert abs(epochs[f"{name}.ActMAvg"][-1] - average) < 1e-9
        assert (epochs[f"{name}.GiMult"] == 1).all()
    apart = 1 - log["trial"]["Output.correlation"]
    weights_of = 0.95 ** np.arange(len(apart))[::-1] * np.where(np.arange(len(apart)), 0.05, 1)
    mean = weights_of @ apart
    assert abs(epochs["Output.PhaseDiffAvg"][-1] - mean) < 1e-12
    assert abs(epochs["Output.PhaseDiffVar"][-1] - weights_of @ (apart - mean) ** 2) < 1e-12
    assert test["epoch"]["Output.PhaseDiffAvg"][0] == epochs["Output.PhaseDiffAvg"][-1] > 0.1
    assert len(log.ms_per_trial) == len(epochs["error"]) and min(log.ms_per_trial) > 0
    assert log.to_pandas().shape == (len(epochs["error"]), len(epochs))
    other, _, weights_too, potentials_too = trained(2)
    assert np.array_equal(other["trial"]["correlation"], log["trial"]["correlation"])
    assert np.array_equal(potentials, potentials_too)
    assert all(map(np.array_equal, weights, weights_too))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_texts_for_a_gpu(dtype: str) -> None:
    """The models and the rule are translated for a GPU."""
    made = generate(compile_circuit(circuit_of(four_units()), 1e-3, dtype, target=CUDA))
    kernels = {unit.kernel.name for unit in made.tasks}
    assert {"AxonSpikes", "AxonArrivals", "AxonNeuron"} <= kernels
    assert len(made.learning) == 1  # one set for all paths


def test_single_precision() -> None:
    """Axon's numbers hold in single precision, too."""
    with Trainer(four_units(), dtype="float32") as sim:
        sim.begin(shown(0))
        sim.cycle(200)
        near(sim, "Hidden", Act=0.56933826, Ge=0.43519318, Gi=0.21780372)
        near(sim, "Output", Act=0.69444436, Ge=0.8, Gi=0.48570368)
        with pytest.raises(nd.NeurodriverError, match="'Input': 4 finite numbers are needed, got"):
            sim.begin({"Input": [1e300, 0, 0, 0]})  # this is too large for single precision


def test_every_parameter_has_a_default_and_a_meaning() -> None:
    """As the docstring of the model says."""
    assert len(PARAMETERS) > 50
    assert all(one.default is not None and one.doc for one in PARAMETERS.values())


def test_another_step_is_refused() -> None:
    """The text of the neuron is a step of 1 ms."""
    with pytest.raises(nd.CircuitError, match=r"AxonNeuron is written for steps of 0.001 s \(got"):
        nd.LPU(circuit_of(four_units()), 1e-4)


def test_rules_of_parameters() -> None:
    """The more specific wins, among equals the later; a layer's own stay."""
    net = associator(2)
    net.set("layer", gi=3.0)
    net.set("#Hidden2", gi=4.0)
    net.set(".super", gi=5.0)
    got = [net.parameters(layer)["gi"] for layer in net.layers.values()]
    assert got == [0.9, 5.0, 4.0, 0.65]
    assert net.parameters(net.paths["OutputToHidden2"]) == net.parameters("OutputToHidden2")
    assert net.parameters("OutputToHidden2")["rel"] == 0.3
    assert net.parameters(net.paths["Hidden1ToHidden2"])["rel"] == 1.0


def test_rules_of_classes() -> None:
    """A class selects as a kind does: of both the later counts, and a name counts more."""
    net = Network(minus=np.int64(20), plus=np.int64(10))
    net.layer("a", "super", 2, cls="early wide")
    net.layer("b", "super", 2, cls="wide")
    net.connect_both("a", "b", cls="slow")
    net.set(".wide", gi=2, fb=0.2)
    net.set(".early", gi=3)
    net.set("#b", fb=0.3)
    net.set(".super", fb=0.4)
    net.set(".slow", lrate=0.01)
    assert [net.parameters(n)["gi"] for n in "ab"] == [3, 2]
    assert [net.parameters(n)["fb"] for n in "ab"] == [0.4, 0.3]
    assert [net.parameters(n)["lrate"] for n in ("aTob", "bToa")] == [0.01, 0.01]
    net.set(".wide", gi=4)
    assert net.parameters("a")["gi"] == 4
    for wrong, message in (
        (lambda: net.layer("c", "super", 2, cls="slow"), "a class of both layers and paths"),
        (lambda: net.layer("c", "super", 2, cls="back"), "'back' is the name of a kind"),
        (lambda: net.layer("c", "super", 2, cls=3), r"blanks separate several classes \(got 3\)"),
        (lambda: net.set(".wider", gi=1), r"no kind or class 'wider' \(did you mean 'wide'\?\)"),
    ):
        with pytest.raises(nd.CircuitError, match=message):
            wrong()


def test_selectors_while_it_runs() -> None:
    """They have the bits of values that were given before; rates are relative to their bases."""
    given = four_units(nd.AllToAll())
    given.set(".forward", lrate=0.02, synapse_threshold=0.1)
    given.set(".super", gi=1.2, fb=0.7)
    with Trainer(given) as sim, Trainer(four_units(nd.AllToAll())) as other:
        other.set(".forward", lrate=0.02, synapse_threshold=0.1)
        other.set(".super", "gi", 1.2)
        other.set("Hidden", fb=0.7)
        for one in (sim, other):
            one.trial(shown(0))
        assert sim.get("Hidden", "Vm").tobytes() == other.get("Hidden", "Vm").tobytes()
        assert sim.path("Input", "Hidden").tobytes() == other.path("Input", "Hidden").tobytes()
        assert sim.rates == other.rates
        assert sim.rates == {"InputToHidden": 0.02, "HiddenToOutput": 0.02, "OutputToHidden": 0.04}
        sim.set_rate(".back", 0.1)
        for factor in (0.5, 0.25):  # of the base, not of each other
            sim.set_rate("path", factor=factor)
            assert [*sim.rates.values()] == [0.02 * factor, 0.02 * factor, 0.1 * factor]
        for wrong, message in (
            (lambda: sim.set(".forward", rel=1), r"rel: it is fixed when the trainer is made"),
            (lambda: sim.set("layer", nominal=1), r"nominal: it is fixed when the trainer"),
            (lambda: sim.set("layer", gi=-1), r"gi: must be"),
            (lambda: sim.set("layer", d2=1), r"d2: no unit of these layers has it"),
            (lambda: sim.set("#Hiden", gi=1), r"no layer or path 'Hiden' \(did you mean 'Hidden'"),
            (lambda: sim.set("Hidden"), r"a parameter and its value are needed"),
            (lambda: sim.set_rate("path"), r"lrate or factor is needed"),
            (lambda: sim.set_rate("path", factor=-1), r"factor must be at least 0"),
            (lambda: sim.set_rate("path", factor="a"), r"factor must be a finite number"),
        ):
            with pytest.raises(nd.NeurodriverError, match=message):
                wrong()


def flat_pools() -> Network:
    """Return a network whose layer has no sub-pools that could inhibit themselves."""
    net = Network()
    net.layer("a", "super", (4, 2), pool_inhibits=True)
    return net


def used(net: Network, change: Callable[[Network], Any]) -> None:
    """Change a network while a trainer has it."""
    with Trainer(net):
        change(net)


FAULTS: dict[str, Callable[[Any], Any]] = {
    "no layer parameter 'nominel' (did you mean 'nominal'?)": lambda n: n.set("layer", nominel=1),
    "no layer or path 'Outputs' (did you mean 'Output'?)": lambda n: n.set("#Outputs", gi=1),
    "a selector is 'layer', 'path', '.kind' or '#name'": lambda n: n.set("Output", gi=1),
    "there is one of this name already": lambda n: n.layer("Input", "input", 3),
    "no kind 'hidden'": lambda n: n.layer("a", "hidden", 3),
    "a shape has whole numbers": lambda n: n.layer("a", "super", (3, 0)),
    "one to one needs layers of one size": lambda n: n.connect("Input", "Hidden2", nd.OneToOne()),
    "an array of bool of shape (25, 20)": lambda n: n.connect("Input", "Hidden2", np.eye(25)),
    "there is one between these layers already": lambda n: n.connect("Input", "Hidden1"),
    "no layer 'Inputs' (did you mean 'Input'?)": lambda n: n.connect("Inputs", "Hidden2"),
    "lrate: must be a finite number (got 'fast')": lambda n: n.set("path", lrate="fast"),
    "tau_e: must be positive (got 0)": lambda n: n.set("layer", tau_e=0),
    "delay: must be a whole number of cycles (got 2.5)": lambda n: n.set("path", delay=2.5),
    "swt_least: must be positive (got 0)": lambda n: n.set("path", swt_least=0),
    "path 'InputToHidden1': swt_least must be at most swt_most (got 0.9 and 0.8)": lambda n: (
        n.set("path", swt_least=0.9),
        circuit_of(n),
    ),
    "path 'Hidden2ToOutput': initial weights lie from 0 to 1.6 (got -0.3": lambda n: (
        n.set("path", var=0.9),
        circuit_of(n),
    ),
    "tau_trace: must be at least 1 (got 0)": lambda n: n.set("path", tau_trace=0),
    "tau_average: must be at least 1 (got 0)": lambda n: n.set("layer", tau_average=0),
    "must be a multiple of 10 cycles (got 55)": lambda n: Network(minus=55),
    "a trial has at most 200 cycles": lambda n: Network(minus=200),
    "set('layer'): a trainer has built the network": lambda n: used(
        n, lambda n: n.set("layer", gi=1)
    ),
    "layer 'a': a trainer has built the network": lambda n: used(
        n, lambda n: n.layer("a", "super", 1)
    ),
    "connect('Input', 'Output'): a trainer has": lambda n: used(
        n, lambda n: n.connect("Input", "Output")
    ),
    "inhibit_as('Hidden1'): a trainer has": lambda n: used(
        n, lambda n: n.inhibit_as("Hidden1", "Hidden2")
    ),
    "no layer or path 'Outputs' (did": lambda n: n.parameters("Outputs"),
    "network must be a Network, got 'x'": lambda n: Trainer("x"),  # type: ignore[arg-type]
    "the network has no layers": lambda n: Trainer(Network()),
    "no table 'epochs' (did you mean 'epoch'?)": lambda n: Log()["epochs"],
    "no table 'x'; there are 'trial', 'epoch'": lambda n: Log().to_pandas("x"),
    "items: a whole number from 1 on (got 0)": lambda n: Trainer(n, items=0),
    "'a', pool_inhibits: a shape (py, px, y, x) is needed (got (4, 2))": lambda n: circuit_of(
        flat_pools()
    ),
}


@pytest.mark.parametrize("message", FAULTS)
def test_faults_are_named(message: str) -> None:
    """Each says what was given and what is allowed."""
    with pytest.raises(nd.NeurodriverError) as error:
        FAULTS[message](associator(2))
    assert message in str(error.value)


def test_structural_weights_above_the_default() -> None:
    """Synapses may carry twice as much as ``swt_most``, also if it is larger than by default."""
    net = four_units()
    net.set("path", swt_most=1.9, mean=1.7, var=0.2, spct=1)
    (links,) = circuit_of(net).connections
    most = 2 * 1.9 * max(net.scale(path) for path in net.paths.values())
    assert links.plasticity is not None and links.plasticity.values["w_max"] == most


def test_linear_and_structural_weights_are_set() -> None:
    """The weight of each synapse follows from both, and so does what its spikes carry."""
    linear, structural = np.random.default_rng(0).uniform(0.3, 0.7, (2, 4, 4))
    with Trainer(four_units(nd.AllToAll())) as sim:
        sim.set_weights("Hidden", "Output", linear, name="LWt")
        sim.set_weights("Hidden", "Output", structural, name="SWt")
        weight = structural * contrast(linear)
        for name, values in (("LWt", linear), ("SWt", structural), ("Wt", weight)):
            assert np.array_equal(sim.path("Hidden", "Output", name), values)
        sent = sim.synapses.carried("HiddenToOutput")
        assert np.array_equal(sent, weight.ravel())
        sim.set_weights("Hidden", "Output", 0.9 * weight)
        assert np.allclose(sim.path("Hidden", "Output", "LWt"), linear_of(0.9 * weight, structural))


def test_structural_weights_have_the_mean_of_the_path() -> None:
    """Those of each receiver with several connections, also without variation of their own."""
    net = Network()
    net.layer("a", "super", 3)
    net.layer("b", "super", 3)
    several = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]], bool)  # one, three and one
    net.connect("a", "b", several, spct=1, sym=False)
    net.connect("b", "a", spct=0, mean=0.4, sym=False)
    first = first_weights(net)
    drawn, plain = first["aTob"], first["bToa"]
    assert drawn.structural[1:4].mean() == pytest.approx(0.5)
    kept = drawn.structural[[0, 4]]  # equal to the weights, whose linear weights are 0.5
    assert np.array_equal(kept, drawn.weight[[0, 4]]) and np.abs(kept - 0.5).min() > 0.01
    assert np.allclose(plain.structural, 0.4)
    assert np.allclose(plain.weight, 0.4 * contrast(plain.linear)) and np.ptp(plain.weight) > 0.1


def test_what_is_shown_is_checked(plain: Trainer) -> None:
    """Before anything is set."""
    for given, message in (
        ({"Hidden": UNITS[0]}, "a super layer has neither input nor target"),
        ({"Input": [1.0]}, "4 finite numbers are needed"),
        ({"Input": [np.nan] * 4}, "4 finite numbers are needed"),
        ({"Input": "none"}, "4 finite numbers are needed, got 'none'"),
        ({"Input": [[1.0, 2.0], [3.0]]}, "4 finite numbers are needed"),
        ({"Inputs": UNITS[0]}, "no layer 'Inputs' (did you mean 'Input'?)"),
    ):
        with pytest.raises(nd.NeurodriverError) as error:
            plain.begin(given)  # type: ignore[arg-type]
        assert message in str(error.value)
    with pytest.raises(nd.NeurodriverError, match="count must be a whole number"):
        plain.cycle("a")  # type: ignore[arg-type]
    for name, value, message in (
        ("LWt", 1.1, "linear weights lie between 0 and 1"),
        ("SWt", 0.9, "structural weights lie between 0.2 and 0.8"),
        ("DWt", 0.0, "no 'DWt' can be set; Wt, LWt, SWt can"),
    ):
        with pytest.raises(nd.NeurodriverError, match=message):
            plain.set_weights("Input", "Hidden", np.full((4, 4), value), name=name)
    with pytest.raises(nd.NeurodriverError, match="'InputToHidden': numbers are needed, got 'a'"):
        plain.set_weights("Input", "Hidden", "a")
    plain.set("Hidden", "gi", 1.25)
    plain.set("Hidden", "Vm", np.full((2, 2), -65.0))
    assert (plain.get("Hidden", "gi") == 1.25).all() and (plain.get("Hidden", "Vm") == -65).all()
    assert plain.get("Hidden", "bins").shape == (2, 2, 20)
    with pytest.raises(nd.NeurodriverError, match="no path 'InputToOutput'"):
        plain.path("Input", "Output")
    with pytest.raises(nd.NeurodriverError, match="between 0 and twice the structural"):
        plain.set_weights("Input", "Hidden", np.full((4, 4), 1.5))
    with pytest.raises(nd.NeurodriverError, match="paths with tau_trace = 1 keep no traces"):
        plain.path("Input", "Hidden", "Tr")
    with pytest.raises(nd.NeurodriverError, match="synapses have no 'Weight'; they have Wt, LWt"):
        plain.path("Input", "Hidden", "Weight")
    with pytest.raises(nd.NeurodriverError, match="the same number of items"):
        Table(Input=np.zeros((3, 4)), Output=np.zeros((2, 4)))


def test_texts_wait_for_steps_of_a_circuit_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU its steps are in a stream of their own then; before, all is in one stream."""
    waits: list[str] = []
    run = HostSynapses.run
    monkeypatch.setattr(HostSynapses, "synchronize", lambda self: waits.append("wait"))
    monkeypatch.setattr(HostSynapses, "run", lambda *given: (waits.append("run"), run(*given)))
    with Trainer(four_units()) as sim:
        sim.trial({"Input": UNITS[0], "Output": UNITS[0]})
        assert waits == ["run"] * 2
        before = sim.lpu.simulation.program
        sim.lpu["Hidden"].set("g_leak", np.linspace(0.2, 0.21, 4))
        assert sim.lpu.simulation.program is not before
        waits.clear()
        sim.trial({"Input": UNITS[0], "Output": UNITS[0]})
        assert waits == ["wait", "run", "wait"] * 2
