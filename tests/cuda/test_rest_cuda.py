"""States that rest in memory on a GPU, as a text reads and writes them in some steps only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from resting import circuit
from support import DT

import neurodriver as nd


@pytest.mark.parametrize("options", [{}, {"executor": "stepwise"}, {"batch": 3}])
def test_bits_of_the_cpu(options: dict[str, Any], dtype: str) -> None:
    """In calls of different length, after values have been set, and in each copy."""
    found = []
    for backend in ("cpu", "cuda"):
        own = options if backend == "cuda" else {n: o for n, o in options.items() if n == "batch"}
        with nd.LPU(circuit(), DT, backend=backend, dtype=dtype, **own) as lpu:
            for steps in (1, 7, 31):
                lpu.run(steps)
                lpu["few"].set("held", 7.0)
            lpu.run(1)
            found.append({n: lpu.get(n) for n in ("level", "last", "held", "shown")})
    for name, values in found[0].items():
        assert values.tobytes() == found[1][name].tobytes(), name
    assert np.ptp(found[0]["last"]) > 1 and (found[0]["held"] == 7).any()


def test_values_that_are_not_finite(executor: str) -> None:
    """A state that rests is tested in the steps in which it changes: as on a CPU."""
    said = []
    for more in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        with nd.LPU(circuit(), DT, **more) as lpu:
            lpu["many"].set("limit", np.where(np.arange(75) == 40, 11.0, 1e6))
            lpu.run(11)
            with pytest.raises(nd.NonFiniteError) as found:
                lpu.run(20)
            said.append(str(found.value))
    assert said[0] == said[1] and "held" in said[0]
