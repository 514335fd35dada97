"""Whole numbers in order."""

from __future__ import annotations

import numpy as np
import pytest

from neurodriver.plan.sorting import stable_order


@pytest.mark.parametrize("least", [0, -5])
@pytest.mark.parametrize("most", [3, 65_535, 65_536, 10**6, 2**32 - 1, 2**32, 2**40])
@pytest.mark.parametrize("size", [1, 2, 5000])
def test_as_numpy_has_it(least: int, most: int, size: int) -> None:
    """Equal keys keep their order."""
    keys = np.random.default_rng(size).integers(least, most, size, endpoint=True)
    keys[-1] = most
    keys[size // 2] = keys[0]
    np.testing.assert_array_equal(stable_order(keys), np.argsort(keys, kind="stable"))


def test_none() -> None:
    """No keys have an order, too."""
    assert stable_order(np.zeros(0, np.int64)).shape == (0,)
