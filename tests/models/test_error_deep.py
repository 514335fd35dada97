"""Deep layers, which predict the next input, against their equations in plain Python."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_networks import DRIVE, FULL, GAIN, MAINT, UNITS, calcium, opened, predictor

import neurodriver as nd
from neurodriver.error_driven import Network, NetworkPath, Trainer
from neurodriver.error_driven.context import ContextPath
from neurodriver.error_driven.starts import Weights, first_weights

UNIT = 2.0**-24


STATES = (
    "CaP", "Burst", "BurstPrv", "Act", "ActInt", "Spike", "GeSyn", "GnmdaSyn", "GeExt", "Ge",
    "VmDend", "Vm", "Gi", "Gk", "SSGi", "VgccM", "VgccH", "ISI",
)  # fmt: skip
DEEP = "Ctxt", "GMaintSyn"
LAYERS = "Input", "Hidden", "CT", "Pulvinar"


def seen(sim: Trainer) -> dict[str, dict[str, np.ndarray]]:
    """Return the states of all layers, and what arrives in this cycle."""
    out = {}
    for layer in LAYERS:
        names = [*STATES[: 3 if layer == "Input" else None], *(DEEP if layer == "CT" else ())]
        out[layer] = {name: sim.get(layer, name) for name in names}
        raw = ("raw_e", "raw_m") if layer == "CT" else ("raw_e",)
        arrivals = sim.lpu[f"{layer}_arrivals"]
        out[layer] |= {name: np.asarray(arrivals.get(name), np.float64) for name in raw}
    return out


def half_steps(d: np.ndarray, ge: np.ndarray, gi: np.ndarray, gk: np.ndarray) -> np.ndarray:
    """Return the potential of a dendrite that is not refractory, without the upstroke."""
    for _ in range(2):
        current = 100 * ge * -d + 20 * (-70 - d) + 100 * (gi + gk) * (-90 - d)
        d = np.clip(d + 0.5 / 500 * np.clip(current, -28100, 28100), -100, 0)
    return d


@pytest.fixture(scope="module")
def trials() -> dict[str, Any]:
    """Run two trials cycle by cycle, with learning; store states of each cycle."""
    with Trainer(predictor()) as sim:
        cycles, weights = [], []
        for unit in (0, 2):
            paths = {
                kind: sim.path(a, "CT", name, "context")
                for a, kind in (("Hidden", "from below"), ("CT", "own"))
                for name in ("Wt",)
            }
            sim.begin({"Input": UNITS[unit], "Pulvinar": UNITS[unit] + UNITS[1]})
            before = seen(sim)
            for k in range(200):
                sim.cycle()
                now = seen(sim)
                cycles.append((k, before, now))
                before = now
            linear = sim.path("Hidden", "CT", "LWt", "context")
            sim.end()
            rows = {
                "LWt": linear, "change": sim.path("Hidden", "CT", "LWt", "context") - linear,
                "DSWt": sim.path("Hidden", "CT", "DSWt", "context"),
                "Tr": sim.path("Hidden", "CT", "Tr", "context"),
                "delta": sim.get("CT", "LearnCaP") - sim.get("CT", "LearnCaD"),
            }  # fmt: skip
            weights.append(paths | rows)
        found = {name: values[0] for name, values in sim.statistics().items()}
        return {"cycles": cycles, "weights": weights, "found": found}


def test_bursts(trials: dict[str, Any]) -> None:
    """In super layers a threshold selects them in the plus phase; elsewhere they are CaP."""
    silent = 0
    for k, before, now in trials["cycles"]:
        old, new = before["Hidden"]["CaP"], now["Hidden"]["CaP"]
        least = max(old.mean() + 0.1 * (old.max() - old.mean()), 0.1)
        kept = np.where((k >= 150) & (new < least), 0, new)
        assert np.abs(now["Hidden"]["Burst"] - kept).max() < 1e-12
        silent += int((kept != new).sum())
        assert np.array_equal(now["CT"]["Burst"], now["CT"]["CaP"])
    assert silent > 20
    last = [now["Hidden"] for k, _, now in trials["cycles"] if k == 199]
    assert np.array_equal(last[1]["BurstPrv"], last[0]["Burst"]) and last[0]["Burst"].max() > 0.2


def test_context(trials: dict[str, Any]) -> None:
    """It arrives after the last cycle of a trial, decays in the next, and excites deep cells."""
    rows, trial = trials["cycles"], -1
    for number, (k, before, now) in enumerate(rows):
        trial += k == 0
        kept, came = before["CT"]["Ctxt"], np.zeros(4)
        if k == 199:
            for layer, delay, share in (("Hidden", 2, 1 / 1.6), ("CT", 4, 0.5 / 1.6)):
                name = "from below" if layer == "Hidden" else "own"
                sent = share * trials["weights"][trial][name]
                bursts = rows[number - 1 - delay][2][layer]["Burst"]
                came += (np.floor(bursts * sent / UNIT) * UNIT).sum(axis=1)
        strong = GAIN * kept
        assert np.abs(now["CT"]["Ctxt"] - kept * (1 - 1 / 50) - came).max() < 1e-12
        assert np.abs(now["CT"]["GeExt"] - 5 * strong).max() < 1e-12
        for name, value, tau in (
            ("GeSyn", now["CT"]["raw_e"], 5),
            ("GnmdaSyn", now["CT"]["raw_e"] + strong, 100),
            ("GMaintSyn", now["CT"]["raw_m"], 200),
        ):
            expected = before["CT"][name] * (1 - 1 / tau) + value
            assert np.abs(now["CT"][name] - expected).max() < 1e-10, name
        d, old, new = before["CT"]["VmDend"], before["CT"], now["CT"]
        ge = new["GeSyn"] + 5 * strong + 0.006 * new["GnmdaSyn"] * opened(d)
        ge += 0.02 * calcium(d) * old["VgccM"] ** 3 * old["VgccH"]
        ge += MAINT * new["GMaintSyn"] * opened(d)
        assert np.abs(new["Ge"] - np.maximum(ge, 0)).max() < 1e-9
    assert rows[-1][2]["CT"]["GMaintSyn"].max() > 0.1 and rows[199][2]["CT"]["Ctxt"].max() > 0.1


def test_the_pulvinar_is_driven_in_the_plus_phase(trials: dict[str, Any]) -> None:
    """Its activity begins anew there; the driver weakens other excitation, and its dendrite."""
    shares = set()
    active = False
    for k, before, now in trials["cycles"]:
        old, new, driver = before["Pulvinar"], now["Pulvinar"], before["Input"]
        plus, anew = k >= 150, k == 150
        share = 1 - min(driver["CaP"].max() / FULL, 1) if plus else 1.0
        burst = DRIVE * driver["Burst"] if plus else np.zeros(4)
        slow = np.zeros(4) if anew else old["GnmdaSyn"]
        assert np.abs(new["GnmdaSyn"] - slow * 0.99 - share * new["raw_e"] - burst).max() < 1e-10
        assert np.abs(new["GeSyn"] - old["GeSyn"] * 0.8 - new["raw_e"]).max() < 1e-10
        fast = share * new["GeSyn"] + 5 * burst
        assert np.abs(new["GeExt"] - plus * fast).max() < 1e-12
        d = np.full(4, -70.0) if anew else old["VmDend"]
        gate = np.zeros(4) if anew else old["VgccM"] ** 3 * old["VgccH"]
        ge = fast + 0.006 * new["GnmdaSyn"] * opened(d) + 0.02 * calcium(d) * gate
        assert np.abs(new["Ge"] - np.maximum(ge, 0)).max() < 1e-9
        rests = (old["ISI"] < 0) | (old["ISI"] >= 3)
        shunt = new["Gi"] + plus * share * 2 * new["SSGi"]
        quiet = rests & (new["Vm"] < -60)  # no upstroke reaches the dendrite
        away = np.abs(new["VmDend"] - half_steps(d, new["Ge"], shunt, new["Gk"]))
        assert away[quiet].max(initial=0) < 0.02
        if anew:
            assert not new["Act"].any() and not new["ActInt"].any()
            active |= bool(old["ActInt"].any())
        shares.add(round(share, 6))
    assert active and len(shares) > 20 and min(shares) < 0.2


def test_context_paths_learn(trials: dict[str, Any]) -> None:
    """From the bursts of the trial before, without a rate of the receiver."""
    ends = [now for k, _, now in trials["cycles"] if k == 199]
    trace = np.zeros((4, 4))
    total = np.zeros((4, 4))
    for states, row in zip(ends, trials["weights"], strict=True):
        trace += (states["Hidden"]["BurstPrv"][None] - trace) / 2
        assert np.abs(row["Tr"] - trace).max() < 1e-12
        error = 0.04 * trace * row["delta"][:, None]
        expected = error * np.where(error > 0, 1 - row["LWt"], row["LWt"])
        assert np.abs(row["change"] - expected).max() < 2.0**-40
        total += expected
        assert np.abs(row["DSWt"] - total).max() < 2.0**-38
    assert np.abs(total).max() > 1e-5


def test_a_prediction_is_wrong_if_its_unit_may_not_follow(trials: dict[str, Any]) -> None:
    """The outcomes that are possible are given to the pulvinar, for statistics alone."""
    active = next(now for k, _, now in reversed(trials["cycles"]) if k == 149)
    best = int(np.argmax(active["Pulvinar"]["ActInt"]))
    assert trials["found"]["error"] == float(best not in (1, 2))


def test_items_and_files(tmp_path: Path) -> None:
    """Items have the context that they have alone; a file holds context paths, too."""
    net = predictor()
    shown = [{"Input": UNITS[units]} for units in ([0, 1], [2, 3])]
    with Trainer(net, items=2) as sim:
        for one in shown:
            sim.trial(one, learn=False)
        both = {name: sim.get("CT", name) for name in ("Ctxt", "GeExt", "Vm")}
    for item in range(2):
        with Trainer(net) as alone:
            for one in shown:
                alone.trial({"Input": one["Input"][item]}, learn=False)
            for name, values in both.items():
                assert np.array_equal(alone.get("CT", name), values[item])
            alone.trial({"Input": UNITS[0]})
            alone.save(tmp_path / "deep.h5")
            kept = alone.path("Hidden", "CT", kind="context")
    with Trainer(net) as sim:
        assert not np.array_equal(sim.path("Hidden", "CT", kind="context"), kept)
        sim.load(tmp_path / "deep.h5")
        assert np.array_equal(sim.path("Hidden", "CT", kind="context"), kept)


def short() -> Network:
    """Return a network whose trials are shorter than a delay."""
    net = Network(minus=10, plus=10)
    inp = net.layer("a", "input", 2)
    net.connect(inp, net.layer("b", "ct", 2), kind="context", delay=19)
    return net


def pooled() -> Network:
    """Return a network whose driver has sub-pools of its own."""
    net = Network()
    inp = net.layer("a", "input", (2, 2, 1, 1), pool_inhibits=True)
    net.layer("b", "pulvinar", 4, driver=inp)
    return net


FAULTS = {
    "path 'HiddenToInputContext': it needs a layer of kind 'ct' (got 'input')": lambda n: n.connect(
        "Hidden", "Input", kind="context"
    ),
    "layer 'p', driver: a pulvinar layer needs one": lambda n: n.layer("p", "pulvinar", 4),
    "and other layers have none (got one for kind 'ct')": lambda n: n.layer(
        "p", "ct", 4, driver="Input"
    ),
    "as many units are needed as the layer has, 5 (got 'Input' with 4)": lambda n: n.layer(
        "p", "pulvinar", 5, driver="Input"
    ),
    "no layer 'Inputs' (did you mean 'Input'?)": lambda n: n.layer(
        "p", "pulvinar", 4, driver="Inputs"
    ),
    "path 'aTobContext', delay: a trial of 20 cycles allows at most 18 (got 19)": lambda n: (
        ContextPath(short(), short().paths["aTobContext"])
    ),
    "'a', pool_inhibits: ct and pulvinar layers": lambda n: Trainer(pooled()),
}


@pytest.mark.parametrize("message", FAULTS)
def test_faults_are_named(message: str) -> None:
    """Each says what was given and what is allowed."""
    with pytest.raises(nd.NeurodriverError) as error:
        FAULTS[message](predictor())
    assert message in str(error.value)


def reber() -> dict[str, Any]:
    """Return the names of the example that learns the Reber grammar."""
    return runpy.run_path(str(Path(__file__).parents[2] / "examples" / "13_reber_grammar.py"))


def test_weights_come_from_the_layer_that_was_added_first() -> None:
    """So structural weights into a pulvinar vary, if it was added before the layer that drives it.

    They do not adapt there. Drawn by itself, a path into it has structural weights of 0.5.
    """
    first = first_weights(reber()["network"](1, (3, 4)))
    there, back = first["HiddenCTToInputP"], first["InputPToHiddenCT"]
    for name in ("weight", "linear", "structural"):
        values = getattr(there, name).reshape(7, 12)
        assert np.array_equal(values, getattr(back, name).reshape(12, 7).T)
    assert np.ptp(there.structural) > 0.3 and np.ptp(there.linear) < 1e-12
    first = first_weights(predictor())
    assert (first["CTToPulvinar"].structural == 0.5).all()
    assert np.ptp(first["CTToPulvinar"].linear) > 0.05


@pytest.mark.parametrize("kind", ["Context", "Maintenance"])
def test_paths_within_a_layer_begin_symmetric(kind: str) -> None:
    """Each is its own way back: weights from units of lower numbers are those of the way back."""
    net = predictor()
    drawn = first_weights(net)[f"CTToCT{kind}"]
    net.set("path", sym=False)
    alone = first_weights(net)[f"CTToCT{kind}"]
    for name in ("weight", "linear", "structural"):
        values, own = (getattr(one, name).reshape(4, 4) for one in (drawn, alone))
        assert np.array_equal(values, np.tril(own) + np.tril(own, -1).T)
        assert name == "linear" or np.abs(own - own.T).max() > 0.01


@pytest.mark.parametrize("kind", ["forward", "context", "inhib"])
def test_synapses_with_a_way_back_begin_symmetric(kind: str) -> None:
    """Whatever the patterns of both paths are; other synapses keep what was drawn for them."""
    net = Network(seed=1)
    low, high = net.layer("Low", "super", 5), net.layer("High", "ct", 6)
    drawn = np.random.default_rng(0).random((2, 5, 6)) < 0.6
    paths = net.connect(low, high, drawn[0], kind), net.connect(high, low, drawn[1].T, "back")
    lateral = np.random.default_rng(1).random((5, 5)) < 0.6
    within = net.connect(low, low, lateral, "lateral")
    first = first_weights(net)
    net.set("path", sym=False)
    alone = first_weights(net)

    def table(weights: dict[str, Weights], path: NetworkPath, name: str) -> np.ndarray:
        out = np.zeros((path.pairs.senders, path.pairs.receivers))
        out[path.pairs.pre, path.pairs.post] = getattr(weights[path.name], name)
        return out

    for name in ("weight", "linear", "structural"):
        there, back = (table(first, path, name) for path in paths)
        own = table(alone, paths[1], name)
        assert np.array_equal(back, np.where(drawn[0].T & drawn[1].T, there.T, own))
        assert np.array_equal(there, table(alone, paths[0], name))
        found, own = (table(weights, within, name) for weights in (first, alone))
        mirrored = lateral & lateral.T & np.tri(5, k=-1, dtype=bool)
        assert np.array_equal(found, np.where(mirrored, own.T, own))
        assert mirrored.sum() > 2 and 5 < (drawn[0] & drawn[1]).sum() < drawn[1].sum()


def test_the_reber_grammar_is_learned() -> None:
    """The independent program has an error of 0.45, of 0.32 after 10 and 0.05 after 30 epochs.

    With the deep layer added before the pulvinar, it is 0.15 at the end.
    """
    example = reber()
    with Trainer(example["network"](), items=16, dtype="float32") as sim:
        log = sim.train(example["environment"](16), 33, trials=208)
    error = log["epoch"]["error"]
    assert 0.35 < error[0] < 0.55 and 0.2 < error[8:13].mean() < 0.4
    assert error[28:].mean() < 0.1
