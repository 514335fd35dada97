"""Weights that are sums of exponentials of squared distances, as products along axes."""

from __future__ import annotations

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuit.gaussians import gaussians_of

SUMS = {
    "1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50)": ((1.2, 1 / 8), (-0.5, 1 / 50)),
    "-(a * exp(-(d2 * 0.3)) + 0.25) / 2": ((-0.35, 0.3), (-0.125, 0.0)),
    "exp(-d2 / (2 * a * a)) * -3": ((-3.0, 1 / 0.98),),
    "0.1": ((0.1, 0.0),),
}
OTHERS = (
    "exp(-d / 8)", "exp(d2 / 8)", "exp(-d2 / 8) * dy", "a * d2", "exp(-d2) * exp(-d2)",
    "exp(1 - d2)", "exp(-d2 / 0)", "sqrt(exp(-d2))", "exp(-100 * d2)",
    "exp(-d2) + exp(-d2) + exp(-d2) + exp(-d2) + 1",
)  # fmt: skip


@pytest.mark.parametrize("text", SUMS)
def test_products_are_as_close_as_they_say(text: str) -> None:
    formula = nd.Formula(text, a=0.7)
    found = gaussians_of(formula, 2, 144.0)
    assert found is not None
    np.testing.assert_allclose(found.terms, SUMS[text], rtol=1e-15)
    assert 0 < found.error < 2.0**-45
    y, x = np.random.default_rng(1).uniform(-8, 8, (2, 100_000))
    exact = formula.values(("y", "x"), y * y + x * x, (y, x))
    product = (found.shares(0, y) * found.shares(1, x)).sum(0)
    assert np.abs(product - exact).max() <= found.error


@pytest.mark.parametrize("text", OTHERS)
def test_other_formulas(text: str) -> None:
    assert gaussians_of(nd.Formula(text, a=0.7), 2, 144.0) is None
