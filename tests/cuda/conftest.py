"""Tests that need a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from neurodriver.backends.cuda.device import Device, device_count


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of this folder."""
    item.add_marker(pytest.mark.needs("a GPU"))


@pytest.fixture(scope="session")
def gpus() -> int:
    """Return how many GPUs there are."""
    return device_count()


@pytest.fixture(scope="session")
def gpu() -> Device:
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
