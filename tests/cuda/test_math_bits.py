"""Elementary functions give the same bits on a GPU as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from support import DT, assert_same_bits, simulate

from neurodriver import Circuit, NDComponent, Parameter
from neurodriver.backends.cuda import schedule

COUNT = 1 << 20
FUNCTIONS = {
    **{
        name: f"{name}(x)"
        for name in ("exp", "expm1", "tanh", "cosh", "sinh", "sin", "cos", "atan")
    },
    "log": "log(fabs(x))",
    "sqrt": "sqrt(fabs(x))",
    "log1p": "log1p(fmax(x, -0.999))",
    "log1p_large": "log1p(pow(10, 13 * fabs(y) - 13.6))",
    "pow": "pow(fabs(x), y)",
    "asin": "asin(y / 4)",
    "acos": "acos(y / 4)",
    "atan2": "atan2(x, y)",
}


class Functions(NDComponent):
    """Each elementary function of the parameters."""

    updates = tuple(f"of_{name}" for name in FUNCTIONS)
    params = {"x": Parameter("1"), "y": Parameter("1")}
    states = dict.fromkeys(updates, 0.0)
    update = " ".join(f"of_{name} = {value};" for name, value in FUNCTIONS.items())


def arguments() -> dict[str, np.ndarray]:
    """Return numbers of every size that mathematics of neurons meets, and beyond."""
    rng = np.random.default_rng(5)
    part = COUNT // 4
    x = np.concatenate([
        rng.uniform(-3.0, 3.0, part),
        rng.uniform(-120.0, 120.0, part),
        rng.choice([-1.0, 1.0], part) * 10.0 ** rng.uniform(-30.0, 2.8, part),
        np.abs(rng.normal(1.0, 1e-3, part)),
    ])  # fmt: skip
    return {"x": x, "y": rng.uniform(-4.0, 4.0, COUNT)}


def test_same_bits(dtype: str) -> None:
    """A million arguments each, as a circuit meets them: what is nearly zero is zero to both."""
    circuit = Circuit.from_arrays([(Functions, COUNT, arguments(), None)])
    record = [(name, None) for name in Functions.updates]
    expected, got = (
        simulate(circuit, DT, 2, (), record, dtype=dtype, backend=one, nonfinite="off")
        for one in ("cpu", "cuda")
    )
    assert_same_bits(expected, got)
    for name in Functions.updates:
        (values,) = expected[name][1:]
        assert np.isfinite(values).sum() > COUNT // 2 and len(np.unique(values)) > COUNT // 4


class Quotients(NDComponent):
    """Quotients as models write them: of numbers, by a number, after a product."""

    updates = ("of_both", "by_number", "of_product")
    params = {
        "x": Parameter("1"),
        "y": Parameter("1"),
        "large": Parameter("1", doc="more than half the largest number"),
    }
    states = dict.fromkeys(updates, 0.0)
    terms = {  # no parameter is infinite
        "a": "fabs(x) == large ? 2 * x : (fabs(x) == 77 ? 2 * large - 2 * large : x)",
        "b": "fabs(y) == large ? 2 * y : (fabs(y) == 77 ? 2 * large - 2 * large : y)",
    }
    update = "of_both = a / b; by_number = -a / 18; of_product = 0.1 * a / b / 3;"


def numbers(dtype: str, seed: int) -> np.ndarray:
    """Return numbers of every exponent, and those at which a division is something else."""
    kind, bits = np.dtype(dtype), np.dtype(dtype.replace("float", "uint"))
    rng = np.random.default_rng(seed)
    known = np.finfo(kind)
    some = rng.integers(0, np.iinfo(bits).max, COUNT, bits, endpoint=True).view(kind)
    some[: COUNT // 2] = rng.normal(1.0, 0.5, COUNT // 2)
    edges = [0.0, known.tiny, known.tiny / 2, known.max, 77.0, 1.0, 1.0 - known.epsneg]
    some[:10_000] = rng.choice(np.array([*edges, *np.negative(edges)], kind), 10_000)
    return np.where(np.isfinite(some), some, kind.type(3.0))


@pytest.mark.parametrize("crowd", [0, COUNT])
def test_quotients(crowd: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A division with branches or without rounds like the CPU's, whatever it divides."""
    monkeypatch.setattr(schedule, "CROWD", crowd)
    x, y = numbers(dtype, 7), numbers(dtype, 8)
    params = {"x": x, "y": y, "large": np.asarray(np.finfo(dtype).max, np.float64)}
    circuit = Circuit.from_arrays([(Quotients, COUNT, params, None)])
    record = [(name, None) for name in Quotients.updates]
    expected, got = (
        simulate(circuit, DT, 2, (), record, dtype=dtype, backend=one, nonfinite="off")
        for one in ("cpu", "cuda")
    )
    for name in Quotients.updates:
        a, b = expected[name][-1], got[name][-1]
        number = ~np.isnan(a)
        assert 0 < COUNT - number.sum() < COUNT // 10 and np.array_equal(number, ~np.isnan(b))
        assert np.isinf(a).any() and (a == 0).any() and (a[number] != 0).sum() > COUNT // 2
        assert_equal_bits(a[number], b[number])


def assert_equal_bits(a: np.ndarray, b: np.ndarray) -> None:
    """Compare numbers with the signs of their zeros."""
    np.testing.assert_array_equal(a, b)
    assert np.array_equal(np.signbit(a), np.signbit(b))
