"""The ledger of what backends do not support: every entry tells of a test, every need is used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import ledger
import pytest

pytest_plugins = ["pytester"]
TESTS = Path(__file__).parents[1]


def test_every_entry_matches_a_test() -> None:
    """Tests of the files that entries name are collected, none is run."""
    names = {Path(entry.tests.partition("::")[0]).name for entry in ledger.UNSUPPORTED}
    files = [str(path) for name in names for path in TESTS.glob(f"**/{name}")]
    assert len(files) == len(names) > 1
    words = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run([*words, *files], capture_output=True, text=True, timeout=120)
    ids = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(ids) > 50, done.stdout + done.stderr
    for entry in ledger.UNSUPPORTED:
        assert {*entry.backends} <= {*ledger.BACKENDS} and entry.reason
        found = [test for test in ids if entry.concerns(test)]
        assert found, f"no test is called {entry.tests}"


def test_every_need_is_used() -> None:
    """A need that no test has any more is removed."""
    files = [path for path in TESTS.glob("**/*.py") if path != Path(__file__)]
    texts = "".join(path.read_text(encoding="utf-8") for path in files)
    used = set(re.findall(r'\.needs\("([^"]+)"\)', texts))
    assert used == ledger.NEEDS.keys()


def test_an_entry_that_is_no_longer_true_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test of the ledger fails where it passes, or fails otherwise than its entry says."""
    pytester.makepyfile(
        ledger="""
        from collections import namedtuple
        Entry = namedtuple("Entry", "reason error")
        def entries(test, backend):
            return [Entry("why", ValueError)] if backend == "one" else []
        def lacks(name):
            return "there is none" if name == "it" else ""
        """,
        conftest=(TESTS / "conftest.py").read_text(encoding="utf-8"),
        launch=(TESTS / "launch.py").read_text(encoding="utf-8"),
        test_some="""
        import pytest
        @pytest.mark.parametrize("on_backend", ["one", "two"])
        @pytest.mark.parametrize("error", [ValueError, KeyError, None])
        def test_it(on_backend, error):
            if error:
                raise error
        @pytest.mark.needs("it")
        def test_that(): pass
        @pytest.mark.needs("that")
        def test_those(): pass
        """,
    )
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    done = pytester.runpytest_subprocess("-rs", "-p", "no:cacheprovider")
    # one: ValueError as told, KeyError and success not; two: both errors; needs: skipped, and run
    done.assert_outcomes(xfailed=1, failed=4, passed=2, skipped=1)
    done.stdout.fnmatch_lines(["*there is none*"])
