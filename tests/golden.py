"""Learning beside other simulators: what their files say, for any backend."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learned_rates import DT as RATES_DT
from learned_rates import Rates
from learning import Trains, largest_of, learned
from learning_values import Potentials
from support import model, recorded, started

import neurodriver as nd
from neurodriver import ArrayInput, Circuit, Connections, Plasticity, State

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "plasticity"
TOLERANCE = {"float64": 1e-11, "float32": 1e-5}
"""Of the file's largest weight."""

BITS = {"float64": 30, "float32": 24}
"""Of the largest value sent, in what is sent."""

Parameters = Mapping[str, Any]

OF_RATES: dict[str, type[Plasticity]] = {
    "oja": nd.OjaRule, "bcm": nd.BCMRule, "covariance": nd.CovarianceRule, "hebb": nd.HebbRule,
}  # fmt: skip
"""Files of graded neurons -> rules."""


def there(name: str) -> Path:
    """Return a file; skip the test where it is not."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def pair(p: Parameters) -> Plasticity:
    rule = {"all": nd.WeightedSTDP, "symmetric": nd.NearestSTDP,
            "restricted": nd.RestrictedSTDP, "centred": nd.CentredSTDP}[p["scheme"]]  # fmt: skip
    return rule(learning_rate=p["lambda"], **chosen(p, rule))


def additive(p: Parameters) -> Plasticity:
    up, w_max = p["A_plus"], p["w_max"]
    more = chosen(p, nd.PairSTDP) | {"A_plus": up / w_max, "ratio": p["A_minus"] / up}
    if "total" in p:
        return nd.NormalisedSTDP(interval=p["interval_steps"], total=p["total"], **more)
    return nd.PairSTDP(**more)


def soft(p: Parameters) -> Plasticity:
    more = {"learning_rate": p["A_plus"], "alpha": p["A_minus"] / p["A_plus"]}
    return nd.WeightedSTDP(**chosen(p, nd.WeightedSTDP), **more)


class SplitInhibitory(nd.InhibitorySTDP):
    """The rule as NEST has it: an arrival meets the bounds twice."""

    on_arrival = """
        weight = clip(weight + eta * y);
        weight = clip(weight - alpha * eta);
        send(weight);
    """


def inhibitory(p: Parameters) -> Plasticity:
    rule = SplitInhibitory if p.get("split", True) else nd.InhibitorySTDP
    return rule(rho_0=p["alpha"] / (2e-3 * p["tau"]), **chosen(p, rule))


def triplet(p: Parameters) -> Plasticity:
    rule = nd.NearestTripletSTDP if p.get("nearest") else nd.TripletSTDP
    return rule(**chosen(p, rule))


def power_law(p: Parameters) -> Plasticity:
    return nd.PowerLawSTDP(learning_rate=p["lambda"], **chosen(p, nd.PowerLawSTDP))


def short_term(p: Parameters) -> Plasticity:
    return nd.ShortTerm(U=p["U"], tau_d=p["tau_rec"], tau_f=p["tau_facil"])


def diehl_cook(p: Parameters) -> Plasticity:
    return nd.DiehlCookSTDP(interval=1e6, **chosen(p, nd.DiehlCookSTDP))


def rewarded(p: Parameters) -> Plasticity:
    return nd.RewardedSTDP(base=p["b"], dopamine=np.array(["dose"]), **chosen(p, nd.RewardedSTDP))


def interval_rewarded(p: Parameters) -> Plasticity:
    rule = nd.IntervalRewardedSTDP
    more = chosen(p, rule) | {"base": -p["base"], "interval": p["interval_steps"]}
    return rule(dopamine=np.array(["dose"]), **more)


RULES: dict[str, Callable[[Parameters], Plasticity]] = {
    "Pair": pair, "Additive": additive, "Soft": soft, "PowerLaw": power_law, "Triplet": triplet,
    "Vogels": inhibitory, "ShortTerm": short_term, "DiehlCook": diehl_cook,
    "Rewarded": rewarded, "RewardedAtIntervals": interval_rewarded,
}  # fmt: skip
"""What the files call a rule -> ours with the parameters of a file."""

OTHERS = ("nest_clopath", "nest_network")
"""Files that are no trains of events."""


def chosen(p: Parameters, rule: type[Plasticity]) -> dict[str, Any]:
    """Return those of a file's parameters that a rule has under the same name."""
    return {name: value for name, value in p.items() if name in rule.params}


def observed(rule: Plasticity, meta: Mapping[str, Any]) -> Plasticity:
    """Return a rule in the order of a file, which notes in each synapse what a spike carries."""
    text = rule.on_arrival
    if meta["carry"] == "before" and not isinstance(rule, nd.DiehlCookSTDP):
        text = "send(weight);" + text.replace("send(weight);", "")
    noted = re.sub(r"send\((.*?)\);", r"carried = \1; send(carried);", text)
    assert noted.count("carried = ") == 1
    parts: dict[str, Any] = {
        "first": meta["first"], "same_step": meta["same_step"], "on_arrival": noted,
        "synapse": {"carried": State("", 0.0)},
    }  # fmt: skip
    return type(type(rule).__name__, (type(rule),), parts)(**rule.values, **rule.released_by)


def trains(f: Mapping[str, Any], meta: Mapping[str, Any], shift: int) -> Trains:
    """Return the trains and synapses of a file; all events are seen ``shift`` steps later."""
    pre, post = ([f[f"{side}_step"][f[f"{side}_index"] == i] for i in range(count)]
                 for side, count in (("pre", 6), ("post", 5)))  # fmt: skip
    source, target = f["syn_pre"].astype(int), f["syn_post"].astype(int)
    none = np.zeros(len(source), int)
    if "syn_axonal" in f:
        a, forward, back = f["syn_axonal"] + none, none, f["syn_back"] + none
    else:
        a, forward, back = none, f["syn_delay"] - 1 + none, f["syn_delay"] + none
    last = max(f["out_step"].max(), *f.get("sample_step", [0])) + shift
    return Trains(
        pre, post, source, target, f["syn_weight"], a + shift + forward + 1, forward, back + shift,
        int(last) + 2, meta["dt_ms"] * 1e-3, doses=doses(f),
    )  # fmt: skip


def read(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a file and what it says about itself.

    A file whose interval texts read doses of the same step is cut before the first of these: with
    us, texts of intervals come before doses.
    """
    f = dict(np.load(FOLDER / f"{name}.npz"))
    meta = json.loads(str(f["meta"]))
    interval = meta["parameters"].get("interval_steps", math.inf)
    end = next((n for n in doses(f) if n % interval == 0), math.inf)
    for what in ("out", "sample"):
        before = f.get(f"{what}_step", np.zeros(0)) < end
        cut = [key for key in f if key.startswith(f"{what}_")]
        f.update({key: f[key][before] for key in cut})
    return f, meta


def cases() -> list[Any]:
    """Return the files that these rules cover."""
    if not FOLDER.exists():
        return [pytest.param("", marks=pytest.mark.skip(reason=f"{FOLDER} is not there"))]
    return [path.stem for path in sorted(FOLDER.glob("*.npz"))
            if path.stem not in OTHERS and rule_of(path) in RULES]  # fmt: skip


def rule_of(path: Path) -> str:
    return str(json.loads(str(np.load(path)["meta"]))["rule"])


def doses(f: Mapping[str, Any]) -> list[int]:
    """Return the steps of the doses; where a file has their sum, those in which it jumps by 0.5."""
    if "dose_step" in f:
        return f["dose_step"].tolist()
    level = f.get("modulator", np.zeros(2))
    jumps = level[1:] - level[:-1] * np.exp(-1 / 200.0)
    return (np.flatnonzero(np.abs(jumps - 0.5) < 1e-9) + 1).tolist()


def in_both_types() -> list[Any]:
    """Return all files in double precision, and one of each rule in single precision."""
    names = [name for name in cases() if isinstance(name, str)]
    first = {rule_of(FOLDER / f"{name}.npz"): name for name in reversed(names)}
    if not names:
        return [pytest.param(*one.values, "float64", marks=one.marks) for one in cases()]
    files = [(name, "float64") for name in names]
    return [*files, *((name, "float32") for name in first.values())]


def check_trains(name: str, dtype: str, **options: Any) -> None:
    """Fail unless each spike carries what the file says; and so for the weights in between."""
    f, meta = read(name)
    shift = 1 if meta["first"] == "spike" and "syn_axonal" in f else 0
    given = trains(f, meta, shift)
    rule = observed(RULES[meta["rule"]](meta["parameters"]), meta)
    scale = np.abs(f["out_weight"]).max()
    tolerance = TOLERANCE[dtype] * scale
    reads = np.union1d(f["out_step"], f.get("sample_step", [])).astype(int)
    assert len(f["out_step"]) > 300
    with given.lpu(rule, dtype=dtype, **options) as lpu:
        for n in reads:
            lpu.run(steps=int(n) + shift + 1 - lpu.simulation.step)
            mine = f["out_step"] == n
            got = given.unsorted(learned(lpu, "carried"))[f["out_synapse"][mine]]
            np.testing.assert_allclose(got, f["out_weight"][mine], rtol=0, atol=tolerance)
            for row in np.flatnonzero(f.get("sample_step", []) == n):
                got = given.unsorted(learned(lpu))
                np.testing.assert_allclose(got, f["sample_weight"][row], rtol=0, atol=tolerance)
        lpu.run(steps=given.steps - lpu.simulation.step)
        got = recorded(lpu, given.steps)["V"]
    sums = np.zeros((given.steps + given.late.max(), 5))
    read_in = f["out_step"] + shift + given.forward[f["out_synapse"]]
    np.add.at(sums, (read_in + 1, given.target[f["out_synapse"]]), f["out_weight"])
    largest = largest_of(lpu, given.weight)
    rounded = 6 * largest * 2.0 ** -BITS[dtype]
    np.testing.assert_allclose(got, sums[: given.steps], rtol=0, atol=6 * tolerance + rounded)


class Noting(nd.PowerLawSTDP):
    """The rule in NEST's order, which notes in each synapse what a spike carries."""

    first = "spike"
    synapse = {"carried": nd.State("pA", 0.0)}
    on_arrival = re.sub(r"send\((.*?)\);", r"carried = \1; send(\1);", nd.PowerLawSTDP.on_arrival)


def check_network(**options: Any) -> None:
    """Fail unless NEST's network spikes step by step as in NEST, and its spikes carry the same."""
    f = dict(np.load(there("nest_network")))
    meta = json.loads(str(f["meta"]))
    given, rule, dt = meta["neuron"], meta["parameters"], meta["dt_ms"] * 1e-3
    neurons, excitatory = len(f["V_0"]), meta["excitatory"]
    cells = {
        "resting_potential": given["E_L"], "threshold": given["V_th"],
        "reset_potential": given["V_reset"], "time_constant": given["tau_m"],
        "capacitance": given["C_m"], "refractory_period": given["t_ref"],
        "tau_exc": given["tau_syn_ex"], "tau_inh": given["tau_syn_in"], "initV": f["V_0"],
    }  # fmt: skip
    drive = [f"drive{i}" for i in range(neurons)]
    groups = [
        (model("LeakyIAFExpCurrent"), neurons, cells, None),
        (model("SpikeSource"), neurons, {}, drive),
    ]
    source, target = f["syn_pre"].astype(int), f["syn_post"].astype(int)
    plastic = (source < excitatory) & (target < excitatory)
    late, weight = f["syn_delay"] * dt, f["syn_weight"]
    noting = Noting(learning_rate=rule["lambda"], **{k: rule[k] for k in rule if k != "lambda"})
    links = []
    for access, mine in (("exc", ~plastic & (weight > 0)), ("inh", weight < 0)):
        ends, data = (source[mine], target[mine]), {"weight": weight[mine]}
        links.append(Connections("spike_state", access, *ends, late[mine], data))
    every = np.arange(neurons)
    kick = {"weight": np.asarray(meta["drive_weight"])}
    links.append(Connections("spike_state", "exc", every + neurons, every, np.asarray(dt), kick))
    data = {"weight": weight[plastic], "dendritic": late[plastic]}
    ends = source[plastic], target[plastic]
    links.append(
        Connections("spike_state", "exc", *ends, late[plastic], data, noting, name="learning")
    )
    events = np.zeros((meta["steps"], neurons))
    events[f["drive_step"] - 1, f["drive_index"]] = 1
    circuit = nd.Circuit.from_arrays(groups, links)
    feed, recorder = nd.ArrayInput({"spike_state": (drive, events)}), nd.MemoryRecorder(
        [("spike_state", circuit.uids[:neurons].tolist())]
    )  # fmt: skip
    carried = {}
    with nd.LPU(circuit, dt, [feed], [recorder], **options) as lpu:
        for n in np.unique(f["out_step"]).tolist():
            lpu.run(steps=n + 1 - lpu.simulation.step)
            carried[n] = learned(lpu, "carried")
        lpu.run(steps=meta["steps"] + 1 - lpu.simulation.step)
        spikes = recorder.get("spike_state")
    rows = np.rint(spikes["time"] / dt).astype(int)
    mine = sorted(zip(rows.tolist(), spikes["index"].tolist(), strict=True))
    theirs = sorted(zip(f["spike_step"].tolist(), f["spike_index"].tolist(), strict=True))
    assert len(theirs) == 819
    assert mine == theirs
    number = np.cumsum(plastic) - 1
    noted = [carried[n][number[i]] for n, i in zip(f["out_step"], f["out_synapse"], strict=True)]
    scale = f["out_weight"].max()
    np.testing.assert_allclose(noted, f["out_weight"], rtol=0, atol=1e-11 * scale)


def check_rates(name: str, dtype: str, **options: Any) -> None:
    """Fail unless weights are those of Brian2 for given rates, after each step of the file."""
    f = dict(np.load(there(f"brian2_rates_{name}")))
    meta = json.loads(str(f["meta"]))
    told = np.hstack([f["pre_rate"], f["post_rate"]])
    source, target = f["syn_pre"].astype(int), f["syn_post"].astype(int) + f["pre_rate"].shape[1]
    none = np.zeros(len(source), int)
    given = Rates(told, source, target, none + 1, f["syn_weight"], none)
    tolerance = TOLERANCE[dtype] * np.abs(f["sample_weight"]).max()
    assert meta["dt_ms"] == 1e3 * RATES_DT and len(f["sample_step"]) == 20
    circuit = given.circuit(OF_RATES[name](**meta["parameters"]))
    with started(circuit, RATES_DT, given.input(), None, dtype=dtype, **options) as lpu:
        for n, expected in zip(f["sample_step"], f["sample_weight"], strict=True):
            lpu.run(steps=int(n) + 1 - lpu.simulation.step)
            got = lpu["set 0"].get("weight")
            np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
    assert np.ptp(expected - f["syn_weight"]) > 0.1


class InNEST(nd.ClopathSTDP):
    """NEST potentiates at the beginning of a step, with the trace of that time."""

    synapse = {"carried": nd.State("", 0.0)}
    constants = {"decay": "exp(-dt_ms / tau_x)"}
    on_arrival = nd.ClopathSTDP.on_arrival.replace("send", "carried = weight; send")
    on_step = nd.ClopathSTDP.on_step.replace("gain * x", "gain * x * decay")


def check_clopath(dtype: str, **options: Any) -> None:
    """Fail unless each spike carries what it does in NEST, for the potentials of its neuron."""
    f = dict(np.load(there("nest_clopath")))
    meta = json.loads(str(f["meta"]))
    p, dt = meta["parameters"], meta["dt_ms"] * 1e-3
    sources = int(f["syn_pre"].max()) + 1
    steps = int(f["out_step"].max()) + 2
    signals = np.stack([f["post_V"], f["post_u_plus"], f["post_u_minus"]])
    # row r is that of row r in the file; u_minus is one row late, as NEST's arrivals come last
    told = np.stack([signals[0, 1:], signals[1, 1:], signals[2, :-1]])[:, :steps]
    spikes = np.zeros((steps, sources))
    spikes[f["pre_step"] - 1, f["pre_index"]] = 1.0
    uids = [f"s{i}" for i in range(sources)]
    given = {"spike_state": (uids, spikes)}
    given |= {n: (["t"], told[i][:, None]) for i, n in enumerate(("V_told", "plus", "minus"))}
    rule = InNEST(
        A_LTP=p["A_LTP"], A_LTD=p["A_LTD"], theta_plus=p["theta_plus"], tau_x=p["tau_x"],
        theta_minus=p["theta_minus"], delay_u=p["delay_u_bars"], w_max=p["w_max"],
    )  # fmt: skip
    back = (f["syn_delay"] - 1) * dt
    data = {"weight": f["syn_weight"], "back": back}
    ends = f["syn_pre"].astype(int) + 1, np.zeros(sources, int), np.asarray(dt)
    links = Connections("spike_state", "learned", *ends, data, rule, "learning")
    groups: list[Any] = [(Potentials, 1, {}, ["t"]), (model("SpikeSource"), sources, {}, uids)]
    circuit = Circuit.from_arrays(groups, [links])
    tolerance = TOLERANCE[dtype] * np.abs(f["out_weight"]).max()
    with started(circuit, dt, ArrayInput(given), None, dtype=dtype, **options) as lpu:
        for n in np.unique(f["out_step"]):
            lpu.run(steps=int(n) + 1 - lpu.simulation.step)
            mine = f["out_step"] == n
            got = lpu["learning"].get("carried")[f["out_synapse"][mine]]
            np.testing.assert_allclose(got, f["out_weight"][mine], rtol=0, atol=tolerance)
    assert len(f["out_step"]) > 100 and np.ptp(f["out_weight"]) > 0.5
