"""A choice that all components make alike stands before their loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.codegen.generate import generate
from neurodriver.model.library import shipped

COUNT, DT = 300, 1e-4


def circuit(power: Any) -> nd.Circuit:
    """Return synapses, more than a tile has, that read an injected potential."""
    given = {"threshold": -50.0, "slope": 0.3, "saturation": 4.0, "power": power}
    uids = [f"s{i}" for i in range(COUNT)]
    return nd.Circuit.from_arrays([(shipped()["PowerGPotGPot"], COUNT, given, uids)])


@pytest.mark.parametrize("power", [1.0, 2.0, np.tile([1.0, 2.0], COUNT // 2)])
def test_powers(power: Any) -> None:
    """Each of them against NumPy; the loop stands twice where all powers are equal."""
    made, volts = circuit(power), np.linspace(-60.0, -45.0, COUNT)
    with nd.LPU(made, DT, [nd.StepInput("V", made.uids, volts)]) as lpu:
        lpu.run(steps=2)
        text = generate(lpu.program).tasks[0].kernel.text
        found = lpu.get("g")
    assert ("if (power == 1)" in text) == np.isscalar(power)
    np.testing.assert_allclose(found, np.minimum(4.0, 0.3 * np.maximum(0.0, volts + 50.0) ** power))
