"""How a GPU offers memory to others, with a driver that hands out no GPU."""

from __future__ import annotations

import ctypes as ct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from neurodriver.backends.cuda import peers
from neurodriver.backends.cuda.driver import DeviceError

driver = pytest.importorskip("cuda.bindings.driver")
HANDLE = bytes(range(64))


class FakeDevice:
    """Has memory at one address; notes what it is asked for."""

    def __init__(self, number: int) -> None:
        self.number, self.asked = number, []  # type: ignore[var-annotated]
        self.access = driver.CUresult.CUDA_SUCCESS
        made = driver.CUipcMemHandle()
        ct.memmove(made.getPtr(), HANDLE, len(HANDLE))
        api = SimpleNamespace(
            CUipcMemHandle=driver.CUipcMemHandle,
            CUresult=driver.CUresult,
            cuCtxEnablePeerAccess=lambda context, flags: (self.access,),
        )
        self.driver = SimpleNamespace(
            api=api,
            error=lambda status: DeviceError(str(status)),
            cuIpcGetMemHandle=lambda address: made,
            cuIpcOpenMemHandle=self.opened,
            cuIpcCloseMemHandle=lambda address: self.asked.append(("close", address)),
        )

    def opened(self, handle: Any, flag: int) -> int:
        """Return an address for a handle."""
        self.asked.append((ct.string_at(handle.getPtr(), 64), flag))
        return 0x7000

    def allocate(self, size: int) -> int:
        """Return an address."""
        assert size % (2 << 20) == 0
        return 0x100000

    def clear(self, address: int, size: int) -> None:
        """Do nothing."""

    def wait(self) -> None:
        """Do nothing."""


def test_no_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs that cannot offer memory do not reach each other, though their offers are alike."""

    def refuse(number: int) -> Any:
        raise DeviceError("no memory is left")

    monkeypatch.setattr(peers, "Device", refuse)
    trials = [peers.Trial(number) for number in range(2)]
    offers = [one.offer for one in trials]
    assert not any(one.any() for one in offers)
    assert not any(one.reaches(offers) for one in trials)


def test_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process by access, between processes by a handle; not between hosts."""
    monkeypatch.setattr(peers, "primary_context", lambda api, number: number)
    one, other = FakeDevice(0), FakeDevice(1)
    offer = peers.PeerMemory(one, 5_000_000).offer  # type: ignore[arg-type]
    assert offer.dtype == np.uint8 and len(offer) == peers.OFFER_BYTES
    address, close = peers.opened(other, offer)  # type: ignore[arg-type]
    close()
    assert address == 0x100000 and not other.asked
    other.access = driver.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    assert peers.opened(other, offer)[0] == 0x100000  # type: ignore[arg-type]
    other.access = driver.CUresult.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    with pytest.raises(DeviceError):
        peers.opened(other, offer)  # type: ignore[arg-type]
    monkeypatch.setattr(peers, "_process", lambda: 1)
    address, close = peers.opened(other, offer.copy())  # type: ignore[arg-type]
    close()
    assert address == 0x7000 and other.asked == [(HANDLE, 1), ("close", 0x7000)]
    monkeypatch.setattr(peers, "_host", lambda: b"elsewhere")
    with pytest.raises(DeviceError, match="another host"):
        peers.opened(other, offer)  # type: ignore[arg-type]
