"""Units that are switched off: the others are as in a network without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from error_networks import UNITS, predictor

import neurodriver as nd
from neurodriver.error_driven import Network, Trainer

OFF = {"Input": [1], "Hidden": [0, 5], "Output": [3]}
"""Units that are switched off below."""

SIZES = {"Input": 5, "Hidden": 8, "Output": 4}
STATES = ("Vm", "VmDend", "Gi", "Gk", "GnmdaSyn", "PoolGi", "CaP", "LearnCaD", "ActM", "bins")


def network(without: bool, pools: bool, items: int) -> tuple[Trainer, dict[str, np.ndarray]]:
    """Return a network of all units, or ``without`` those that are switched off.

    Also return which units of each layer are on. With ``nominal=0.15`` one unit of each layer is
    expected to be active, with these units as without, so all paths have the same scales.
    """
    on = {name: ~np.isin(np.arange(n), OFF[name]) for name, n in SIZES.items()}
    if pools:  # one unit of each sub-pool is off
        on["Hidden"] = np.array([False, True, True, True] * 2)
    net = Network(seed=2)
    for name, kind in (("Input", "input"), ("Hidden", "super"), ("Output", "target")):
        n = int(on[name].sum()) if without else SIZES[name]
        inner = (1, 2, 1, n // 2) if pools and kind == "super" else n
        net.layer(name, kind, inner, nominal=0.15, fb=0.5)
    net.connect("Input", "Hidden", tau_trace=2)
    net.connect_both("Hidden", "Output")
    net.connect("Hidden", "Hidden", kind="lateral", hebb=True, sub_mean=1, rel=0.2, lrate=0.1)
    net.connect("Input", "Hidden", kind="inhib", abs=0.05, delay=1)
    net.set("path", spct=0.0, lrate=0.3, swt_rate=1.0)
    net.set("#Hidden", pool_inhibits=pools, pool_fb=0.5)
    sim = Trainer(net, items, slow_interval=2 * items)
    for path in net.paths.values():
        ends = path.sender.name, path.receiver.name
        rng = np.random.default_rng(path.number)
        weights = rng.uniform(0.3, 0.7, (SIZES[ends[1]], SIZES[ends[0]]))
        if without:
            weights = weights[np.ix_(on[ends[1]], on[ends[0]])]
        sim.set_weights(*ends, weights, kind=path.kind if path.kind == "inhib" else "")
    for name, averages in sim.averages.items():
        target = np.linspace(0.6, 1.8, SIZES[name])
        averages.target = target[on[name]] if without else target
        averages.activity = 0.2 * averages.target
    return sim, on


@pytest.mark.parametrize("pools", [False, True])
def test_the_others_are_as_in_a_network_without_them(pools: bool) -> None:
    """Their states, errors, averages and weights, with all rules, slow changes, and two items."""
    left: list[dict[str, Any]] = []
    rng = np.random.default_rng(0)
    given = [{n: rng.random((2, SIZES[n])) < 0.5 for n in ("Input", "Output")} for _ in range(5)]
    for without in (False, True):
        sim, on = network(without, pools, 2)
        with sim:
            if not without:
                for name in SIZES:
                    sim.lesion(name, ~on[name].reshape(sim.network.layers[name].shape))
                before = {one: sim.synapses.read(one, "weight") for one in sim.network.paths}
            chosen = {n: on[n] if without else slice(None) for n in SIZES}
            for one in given:
                found: dict[str, Any] = sim.trial({n: v[:, chosen[n]] for n, v in one.items()})
            found["differ"] = sim.averages["Hidden"].difference
            for name in SIZES:
                which = slice(None) if without else on[name]
                for state in STATES:
                    values = sim.get(name, state).reshape(2, sim.network.layers[name].count, -1)
                    found[f"{name} {state}"] = values[:, which]
                found[f"{name} Act"] = sim.states().means[:, [*SIZES].index(name)]
                for state in ("TrgAvg", "ActAvg"):
                    found[f"{name} {state}"] = sim.get(name, state).ravel()[which]
            found["differ"] = found["differ"][slice(None) if without else on["Hidden"]]
            for path in sim.network.paths.values():
                ends = path.sender.name, path.receiver.name
                rows, columns = (on[n] if not without else slice(None) for n in ends[::-1])
                kind = path.kind if path.kind == "inhib" else ""
                for number in ("Wt", "LWt", "SWt", "DSWt"):
                    values = sim.path(*ends, number, kind)
                    found[f"{path.name} {number}"] = values[rows][:, columns]
                if not without:  # synapses of the others have not changed
                    now, pairs = sim.synapses.read(path.name, "weight"), path.pairs
                    frozen = ~(on[ends[0]][pairs.pre] & on[ends[1]][pairs.post])
                    assert frozen.any() and np.array_equal(now[frozen], before[path.name][frozen])
                    assert (now[~frozen] != before[path.name][~frozen]).mean() > 0.3
            left.append(found)
    for name, values in left[0].items():
        assert np.abs(values - left[1][name]).max() < 1e-9, name
    assert np.abs(left[0]["Hidden CaP"]).max() > 0.05
    assert np.ptp(left[0]["InputToHidden SWt"]) > 1e-5


def test_deep_layers_and_units_that_are_on_again() -> None:
    """A driver does not excite a unit that is off; context is neither sent to nor from one."""
    shown = {"Input": UNITS[0] + UNITS[1], "Pulvinar": UNITS[0]}
    with Trainer(predictor()) as sim:
        sim.trial(shown)
        assert sim.get("Pulvinar", "CaP")[0] > 0.1 and sim.get("CT", "Ctxt")[0] > 0
        carried = sim.lpu["exc"].get("weight")
        sim.lesion("Pulvinar", UNITS[0] > 0)
        sim.lesion("Hidden", UNITS[1] > 0)
        for state in ("Vm", "GeInt", "CaP", "bins"):
            start = -70 if state == "Vm" else 0
            assert (sim.get("Pulvinar", state)[0] == start).all()
            assert (sim.get("Pulvinar", state)[1] != start).any()
        found = sim.trial(shown, learn=False)
        assert found["unit_error"] * 3 % 1 == 0  # of three units
        assert sim.get("Pulvinar", "Act")[0] == 0 < sim.get("Pulvinar", "Act")[1]
        weight = sim.path("Hidden", "CT", kind="context")
        hidden = sim.get("Hidden", "Burst")
        assert hidden[0] > 0.05 and hidden[1] == 0 and (weight > 0).all()
        assert (sim.lpu["exc"].get("weight") == 0).sum() > (carried == 0).sum()
        sim.lesion("Pulvinar", False)
        sim.lesion("Hidden", False)
        assert np.array_equal(sim.lpu["exc"].get("weight"), carried)
        sim.trial(shown)
        assert sim.get("Pulvinar", "CaP")[0] > 0.1
        sim.lesion("Pulvinar", True)
        assert np.isnan([*sim.trial(shown).values()]).all()  # nothing is left that has a target
        for wrong in (np.ones(4), np.ones((2, 2), bool), "all"):
            with pytest.raises(nd.NeurodriverError, match=r"an array of bool of shape \(4,\) is"):
                sim.lesion("Hidden", wrong)
