"""Values of a live population have its shape."""

from __future__ import annotations

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import NeurodriverError

CELL = {"bias": 0.0, "time_constant": 50.0}


def test_values_have_the_shape_of_the_population() -> None:
    grid = nd.Population("GradedNeuron", name="grid", axes={"t": 2, "y": 3, "x": 4}, **CELL)
    mask = np.eye(3) > 0
    part = nd.Population("GradedNeuron", name="part", axes={"y": 3, "x": 3}, mask=mask, **CELL)
    plain = nd.Population("GradedNeuron", 5, name="plain", **CELL)
    values = np.arange(24.0).reshape(2, 3, 4)
    with nd.LPU(nd.Circuit([grid, part, plain]), dt=1e-3) as lpu:
        lpu["grid"].set("V", values)
        assert (lpu["grid"].get("V") == values).all()
        assert (lpu[grid[:, 1]].get("V") == values[:, 1]).all()
        lpu["grid"].set("V", values.ravel() + 1)
        assert (lpu["grid"].V == values + 1).all()
        lpu[grid[0]].set("V", -values[0])
        assert (lpu[grid].get("V")[0] == -values[0]).all()
        assert lpu["part"].get("V").shape == (3,)
        assert lpu["plain"].get("V").shape == (5,)
        assert lpu["grid"].get("bias").shape == (2, 3, 4)
        with pytest.raises(NeurodriverError, match="grid"):
            lpu["grid"].set("V", values.T)
