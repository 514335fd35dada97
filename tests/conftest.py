"""Fixtures that all tests share, and what the ledger says of tests."""

from __future__ import annotations

import os
import signal
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
def quick_kernels() -> None:
    """Compile kernels without optimization, here and in programs that the test starts.

    For large circuits of many models whose kernels other tests compile as users do. They are
    compiled in a sixth of the time.
    """


@pytest.fixture(autouse=True)
def compile_options(request: pytest.FixtureRequest) -> None:
    """Choose how far kernels are optimized: compiling is more than half of the time of all tests.

    The bits are the same, which tests of models, digests and whole runs see: they compile kernels
    as users do. With ``NEURODRIVER_TEST_OPTIMIZED=1`` all others do so, too.
    """
    as_users = OPTIMIZED & {request.path.parent.name, request.path.stem}
    if "quick_kernels" in request.fixturenames:
        _optimize("-O0")
    elif as_users or os.environ.get("NEURODRIVER_TEST_OPTIMIZED"):
        _optimize("")
    else:
        _optimize("-O1")


OPTIMIZED = {
    *("models", "smoke", "reference"),
    *(
        "test_base_classes",
        "test_compiler",
        "test_digests",
        "test_kernels",
        "test_math",
        "test_platforms",
    ),
    *("test_published_fly", "test_published_networks", "test_same_bits", "test_sanitizers"),
}
"""Folders and modules whose kernels are compiled as users compile them."""

_QUICK = Path(__file__).with_name("quick-c++")


def _named() -> str | None:
    """Return the compiler that the user has named.

    A test that starts other tests has named the quick compiler for them. It would call itself.
    """
    given = os.environ.get("NEURODRIVER_CXX")
    return os.environ.get("QUICK_CXX") if given and _QUICK.name in given else given


_OPTION = ["", _named()]
"""The present option, and the compiler that the user has named."""


def _optimize(option: str) -> None:
    """Compile with a further option from now on, also in programs that tests start."""
    present, given = _OPTION
    if option == present or os.name != "posix" or " " in str(_QUICK):
        return
    os.environ.pop("NEURODRIVER_CXX", None)
    if given:
        os.environ["NEURODRIVER_CXX"] = given
    compiler._found.cache_clear()
    if option:
        os.environ["QUICK_CXX"] = " ".join(compiler.find_compiler().command)
        os.environ["NEURODRIVER_CXX"] = f"{_QUICK} {option}"
        compiler._found.cache_clear()
    _OPTION[0] = option
