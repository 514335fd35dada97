"""Shipped rules against NEST and Brian2: what each spike carried for given trains."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import Trains, largest_of, learned
from support import recorded

import neurodriver as nd
from neurodriver import Plasticity, State

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "plasticity"
TOLERANCE = {"float64": 1e-11, "float32": 1e-5}
"""Of the file's largest weight."""

BITS = {"float64": 30, "float32": 24}
"""Of the largest value sent, in what is sent."""

Parameters = Mapping[str, Any]


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


def test_files_are_covered() -> None:
    """What is left out is so on purpose."""
    if not FOLDER.exists():
        pytest.skip(f"{FOLDER} is not there")
    rates = (f"brian2_rates_{name}" for name in ("bcm", "covariance", "hebb", "oja"))
    left = {path.stem for path in FOLDER.glob("*.npz")} - set(cases())
    assert left == {*OTHERS, *rates}


def in_both_types() -> list[Any]:
    """Return all files in double precision, and one of each rule in single precision."""
    names = [name for name in cases() if isinstance(name, str)]
    first = {rule_of(FOLDER / f"{name}.npz"): name for name in reversed(names)}
    files = [(name, "float64") for name in cases()]
    return [*files, *((name, "float32") for name in first.values())]


@pytest.mark.parametrize(("name", "dtype"), in_both_types())
def test_what_each_spike_carries(name: str, dtype: str) -> None:
    """In each step of the file, and what the targets get; and the weights between the spikes."""
    f, meta = read(name)
    shift = 1 if meta["first"] == "spike" and "syn_axonal" in f else 0
    given = trains(f, meta, shift)
    rule = observed(RULES[meta["rule"]](meta["parameters"]), meta)
    scale = np.abs(f["out_weight"]).max()
    tolerance = TOLERANCE[dtype] * scale
    reads = np.union1d(f["out_step"], f.get("sample_step", [])).astype(int)
    assert len(f["out_step"]) > 300
    with given.lpu(rule, dtype=dtype) as lpu:
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
