"""Rules of graded neurons: against Brian2, and against a plain loop."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from learned_rates import DT, Mixed, Rates
from support import recorded, started

import neurodriver as nd
from neurodriver.model.plasticity import Plasticity

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "plasticity"
RULES: dict[str, type[Plasticity]] = {
    "oja": nd.OjaRule, "bcm": nd.BCMRule, "covariance": nd.CovarianceRule, "hebb": nd.HebbRule,
}  # fmt: skip
TOLERANCE = {"float64": 1e-11, "float32": 1e-5}
"""Of the file's largest weight."""


@pytest.mark.parametrize("name", RULES)
def test_weights_of_brian2(name: str, dtype: str) -> None:
    """For given rates, after each step that the file has."""
    path = FOLDER / f"brian2_rates_{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    f = dict(np.load(path))
    meta = json.loads(str(f["meta"]))
    told = np.hstack([f["pre_rate"], f["post_rate"]])
    source, target = f["syn_pre"].astype(int), f["syn_post"].astype(int) + f["pre_rate"].shape[1]
    none = np.zeros(len(source), int)
    given = Rates(told, source, target, none + 1, f["syn_weight"], none)
    tolerance = TOLERANCE[dtype] * np.abs(f["sample_weight"]).max()
    assert meta["dt_ms"] == 1e3 * DT and len(f["sample_step"]) == 20
    circuit = given.circuit(RULES[name](**meta["parameters"]))
    with started(circuit, DT, given.input(), None, dtype=dtype) as lpu:
        for n, expected in zip(f["sample_step"], f["sample_weight"], strict=True):
            lpu.run(steps=int(n) + 1 - lpu.simulation.step)
            got = lpu["set 0"].get("weight")
            np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
    assert np.ptp(expected - f["syn_weight"]) > 0.1


@pytest.mark.parametrize("late", [1, 4])
def test_any_values_and_delays(late: int, dtype: str) -> None:
    """Two sets beside synapses that do not learn; values of rows that delays look back on."""
    steps = 60
    given = Rates.drawn(23, 300, steps, late)
    own, v = given.by_loops(steps)
    tolerance = {"float64": 1e-12, "float32": 1e-4}[dtype]
    circuit = given.circuit(Mixed(), Mixed())
    with started(circuit, DT, given.input(), [("V", None)], dtype=dtype) as lpu:
        lpu.run(steps=steps)
        np.testing.assert_allclose(recorded(lpu, steps)["V"], v, rtol=0, atol=10 * tolerance)
        for number in (0, 1):
            for name, expected in own.items():
                got = lpu[f"set {number}"].get(name)
                mine = expected[given.learns == number]
                np.testing.assert_allclose(got, mine, rtol=0, atol=tolerance * 10)
    assert (own["weight"] == 1.5).any() and np.ptp(own["weight"]) > 1.0
