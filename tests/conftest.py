"""Fixtures that all tests share, and what the ledger says of tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import ledger
import pytest
from launch import SIGNALS

from neurodriver.native import compiler


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


@pytest.fixture
def quick_kernels() -> Iterator[None]:
    """Compile kernels without optimization, here and in programs that the test starts.

    They have the same bits, and are compiled in a sixth of the time. For large circuits of many
    models whose kernels other tests compile as users do.
    """
    with pytest.MonkeyPatch.context() as environment:
        if os.name == "posix":
            environment.setenv("QUICK_CXX", " ".join(compiler.find_compiler().command))
            environment.setenv("NEURODRIVER_CXX", str(Path(__file__).with_name("quick-c++")))
        compiler._found.cache_clear()
        yield
    compiler._found.cache_clear()
