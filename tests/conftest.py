"""Fixtures that all tests share."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> str:
    """Working type of a simulation."""
    return request.param
