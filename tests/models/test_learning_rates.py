"""Rules of graded neurons against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from learned_rates import DT, Mixed, Rates
from support import recorded, started


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
