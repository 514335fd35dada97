"""Rounding, remainders and tests in texts, against NumPy; names of models come first."""

from __future__ import annotations

import math

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import ModelError

HARD = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 4503599627370495.5, 1e300, -7.25]


class Exact(nd.NDComponent):
    params = {"x": nd.Parameter("1"), "y": nd.Parameter("1"), "n": nd.Parameter("1")}
    updates = {"up": "1", "near": "1", "left": "1", "bad": "1", "size": "1"}
    update = """
        up = ceil(x); near = round(x); left = fmod(x, y);
        int m = (int)n;
        size = abs(m - 3) + abs(x);
        if (isnan(y)) bad = 1;
        bad += isnan(x - x) || isnan(0 * x) ? 2 : 0;
    """


def away(x: float) -> float:
    """Return a number rounded, halves away from zero."""
    whole = math.floor(abs(x))
    return math.copysign(whole + (abs(x) - whole >= 0.5), x)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy(dtype: str) -> None:
    """Halves, signs of zero, numbers next to halves, and many others: all exact."""
    rng = np.random.default_rng(0)
    more = rng.uniform(-9, 9, 300), rng.normal(size=300) * 10.0 ** rng.integers(-5, 15, 300)
    x = np.concatenate([HARD if dtype == "float64" else HARD[:7], *more]).astype(dtype)
    y = rng.uniform(0.1, 5, len(x)).astype(dtype)
    n = rng.integers(-5, 9, len(x))
    cells = nd.Population(Exact, len(x), name="c", x=x, y=y, n=n)
    with nd.LPU(nd.Circuit([cells]), 1e-3, dtype=dtype) as lpu:
        lpu.advance(1)
        got = {name: np.array(lpu["c"].get(name)) for name in Exact.updates}
    wanted = {"up": np.ceil(x), "near": np.array([away(float(v)) for v in x], dtype),
              "left": np.fmod(x, y), "size": np.abs(n - 3).astype(dtype) + np.abs(x)}  # fmt: skip
    for name, values in wanted.items():
        assert np.array_equal(got[name], values), name
        assert np.array_equal(np.signbit(got[name]), np.signbit(values)), name
    assert (got["bad"] == 0).all()


class Turned(nd.NDComponent):
    """Angles in a text; a parameter of the name of one of them."""

    params = {"x": nd.Parameter("mV"), "y": nd.Parameter("mV"), "atan": nd.Parameter("1", 7.0)}
    updates = {"of_both": "1", "sine": "1", "cosine": "1", "own": "1"}
    update = """
        of_both = atan2(y, x); sine = asin(y / 10); cosine = acos(y / 10); own = atan + 1;
    """


def test_angles(dtype: str) -> None:
    """NumPy's, as far as they are rounded alike; units of both sides have to be alike."""
    x, y = np.random.default_rng(1).uniform(-9, 9, (2, 500)).astype(dtype)
    cells = nd.Population(Turned, len(x), name="c", x=x, y=y)
    with nd.LPU(nd.Circuit([cells]), 1e-3, dtype=dtype) as lpu:
        lpu.advance(1)
        got = {name: np.array(lpu["c"].get(name)) for name in Turned.updates}
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got["of_both"], np.arctan2(y, x), rtol=2 * eps)
    np.testing.assert_allclose(got["sine"], np.arcsin(y / 10), rtol=4 * eps)
    np.testing.assert_allclose(got["cosine"], np.arccos(y / 10), rtol=8 * eps)
    assert (got["own"] == 8).all()


class Named(nd.NDComponent):
    """A parameter, a function and a variable that are called like functions."""

    params = {"round": nd.Parameter("1", 2.0)}
    updates = {"out": "1"}
    functions = {"ceil(x)": "x + 100"}
    update = "real fmod = 3; out = ceil(round) + fmod;"


def test_names_of_models_come_first() -> None:
    with nd.LPU(nd.Circuit([nd.Population(Named, 1, name="c")]), 1e-3) as lpu:
        lpu.advance(1)
        assert lpu["c"].out[0] == 105


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("out = fmod(out);", "'fmod' takes 2 arguments, 1 given"),
        ("out = ceil(1, 2);", "'ceil' takes 1 argument, 2 given"),
        ("out = cel(out);", "did you mean 'ceil'?"),
        ("out = atan2(out);", "'atan2' takes 2 arguments, 1 given"),
    ],
)
def test_bad_calls(text: str, said: str) -> None:
    model = type("Bad", (nd.NDComponent,), {"updates": {"out": "1"}, "update": text})
    with pytest.raises(ModelError) as caught:
        nd.LPU(nd.Circuit([nd.Population(model, 1)]), 1e-3)
    assert said in str(caught.value)
