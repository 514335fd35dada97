"""`test_NDComponent` runs one component of a class or of a name."""

from __future__ import annotations

import numpy as np
import pytest
from old_style import OldLeaky
from support import ALPHA, AMPA, HH2, IAF, alone, simulate

from neurodriver import CircuitError, StepInput
from neurodriver.compat import testing
from neurodriver.errors import InputError, ModelError

run_one = testing.test_NDComponent


def test_class_and_name_give_what_an_lpu_gives() -> None:
    """Columns of the input add up; the length of the input is that of the run."""
    current = np.full((300, 2), 5.0)
    expected = simulate(alone("LeakyIAF", IAF, initV=-60.0), steps=300,
                        inputs=StepInput("I", ["n"], 10.0, 0.0, 1.0),
                        record=[("V", None), ("spike_state", None)])  # fmt: skip
    for comp in ("LeakyIAF", OldLeaky):
        out = run_one(comp, 1e-4, input={"I": current}, V=-60.0, device=0, **IAF)
        np.testing.assert_array_equal(out["V"]["data"], expected["V"][:, 0])
        np.testing.assert_array_equal(out["V"]["time"], np.arange(300) * 1e-4)
        times = np.flatnonzero(expected["spike_state"][:, 0]) * 1e-4
        assert len(times) > 2
        np.testing.assert_array_equal(out["spike_state"]["data"], times)


def test_spikes_as_times() -> None:
    """Spikes come as times and indices; `dur` says how long."""
    given = {"spike_state": {"time": np.array([0.0, 4e-3]), "index": [0, 0]}}
    g = run_one("SynapseAMPA", 1e-4, input=given, dur=0.01, **AMPA)["g"]["data"]
    assert len(g) == 100
    assert (np.flatnonzero(np.diff(g) > 0) + 1).tolist() == [1, 41]
    with_two = run_one("AlphaSynapse", 1e-4, input=given, steps=50, **ALPHA)
    assert with_two["g"]["data"].shape == (50,)


def test_inputs_of_any_kind() -> None:
    """An input for the uid `component` is taken as it is."""
    step = StepInput("I", ["component"], 20.0, 0.0, 1.0)
    out = run_one("HodgkinHuxley2", 1e-5, input=step, steps=600, **HH2, V=-60.0, n=0.3, initm=0.05)
    assert out["V"]["data"][0] == -60.0 and out["V"]["data"].max() > 0


@pytest.mark.parametrize(
    ("comp", "kwargs", "error", "words"),
    [
        ("LeakyIAg", {"steps": 1}, ModelError, "did you mean 'LeakyIAF'"),
        ("LeakyIAF", {**IAF, "treshold": 1.0, "steps": 1}, ModelError, "'threshold'"),
        ("LeakyIAF", IAF, InputError, "steps"),
        ("LeakyIAF", {"steps": 1}, CircuitError, "'resistance'"),
        ("LeakyIAF", {**IAF, "input": {"V": [1.0]}}, InputError, "accesses I"),
        ("LeakyIAF", {**IAF, "input": {"I": "x"}}, InputError, "must be numbers"),
        ("SynapseAMPA", {**AMPA, "input": {"spike_state": {"t": 0}}}, InputError, "'time'"),
        (3, {"steps": 1}, ModelError, "expected"),
    ],
)
def test_faults(comp: object, kwargs: dict, error: type[Exception], words: str) -> None:
    """What does not fit is told."""
    with pytest.raises(error, match=words):
        run_one(comp, 1e-4, **kwargs)
