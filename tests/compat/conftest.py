"""A fixture for tests that choose backends themselves."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the defaults, whatever backend the other tests use, and look names up anew."""
    for name in ("BACKEND", "DEVICE", "EXECUTOR", "VALIDATE", "FUZZ"):
        monkeypatch.delenv(f"NEURODRIVER_{name}", raising=False)
    for name in list(sys.modules):
        if name.partition(".")[0] in ("neurokernel", "pycuda"):
            monkeypatch.delitem(sys.modules, name)
