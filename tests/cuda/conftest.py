"""What tests on a GPU need."""

from __future__ import annotations

import pytest

from neurodriver.backends.cuda.device import Device, DeviceError


@pytest.fixture(scope="session", autouse=True)
def gpu() -> Device:
    """Return the GPU; tests here are skipped where there is none."""
    try:
        return Device(0)
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["resident", "stepwise"])
def executor(request: pytest.FixtureRequest) -> str:
    """How a GPU advances a circuit."""
    return request.param
