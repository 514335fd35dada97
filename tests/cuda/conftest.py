"""Tests that need a GPU; without one they are skipped with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from neurodriver.backends.cuda.device import Device, DeviceError, device_count


@pytest.fixture(autouse=True, scope="session")
def gpus() -> int:
    """Return how many GPUs there are."""
    try:
        count = device_count()
    except DeviceError as error:
        pytest.skip(str(error))
    if not count:
        pytest.skip("there is no GPU")
    return count


@pytest.fixture(scope="session")
def gpu(gpus: int) -> Device:
    """Return the first GPU."""
    return Device(0)


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each test say itself what runs where."""
    for name in ("BACKEND", "DEVICE", "EXECUTOR", "VALIDATE", "FUZZ"):
        monkeypatch.delenv(f"NEURODRIVER_{name}", raising=False)
    yield


@pytest.fixture(params=["resident", "stepwise"])
def executor(request: pytest.FixtureRequest) -> str:
    """How a GPU goes from step to step."""
    return request.param
