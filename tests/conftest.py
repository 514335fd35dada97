"""Fixtures that all tests share, and what the ledger says of tests."""

from __future__ import annotations

import signal

import ledger
import pytest
from launch import SIGNALS


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of tests that not every machine can run; let no signal be ignored.

    A shell starts programs of the background with SIGINT ignored, and their children inherit that.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            own = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if own else signal.SIG_DFL)
    config.addinivalue_line("markers", "needs(*names): what a machine has to have; see ledger.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that this machine cannot run; expect errors where a backend lacks something."""
    for item in items:
        for mark in item.iter_markers("needs"):
            for reason in filter(None, map(ledger.lacks, mark.args)):
                item.add_marker(pytest.mark.skip(reason=reason))
        backend = getattr(item, "callspec", None) and item.callspec.params.get("on_backend")
        for entry in ledger.entries(item.nodeid, backend):
            expected = pytest.mark.xfail(reason=entry.reason, raises=entry.error, strict=True)
            item.add_marker(expected)


@pytest.fixture(params=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> str:
    """Working type of a simulation."""
    return request.param
