"""The tables of the documentation are true: every test they name exists, no row is empty."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from neurodriver.compat import aids

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SECTIONS = ("A", "B", "C", "D", "E", "F", "G")


@cache
def defined_in(path: Path) -> set[str]:
    """Return the names of the tests that a file defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def rows() -> list[tuple[str, str, str]]:
    """Return section, item and right side of every row of the contract's tables."""
    section, found = "", []
    for line in (DOCS / "contract.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3]
        if line.startswith("| ") and not line.startswith(("| item |", "| --- ")):
            item, tests = line.strip("| ").split(" | ")
            found.append((section, item, tests))
    return found


def test_every_section_has_rows() -> None:
    """The tables cover the sections, and no item stands twice."""
    table = rows()
    assert tuple(dict.fromkeys(section for section, _, _ in table)) == SECTIONS
    items = [(section, item) for section, item, _ in table]
    assert len(set(items)) == len(items) > 90


def test_every_row_names_tests_that_exist() -> None:
    """The right side of a row is made of tests of this project."""
    seen = 0
    for _, item, right in rows():
        entries = [entry.strip() for entry in right.split(",")]
        assert all(entries), item
        for entry in entries:
            match = re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", entry)
            assert match is not None, f"{item}: {entry}"
            path = ROOT / "tests" / match.group(1)
            assert path.is_file(), f"{item}: no file {path.name}"
            assert match.group(2) in defined_in(path), f"{item}: no test {entry}"
            seen += 1
    assert seen > 90


@pytest.mark.parametrize("name", [*aids.NUMPY, "asscalar", "typeDict"])
def test_names_of_numpy_that_the_runner_puts_back_are_told(name: str) -> None:
    """The migration page lists every name that the runner puts back."""
    text = (DOCS / "migration.md").read_text(encoding="utf-8")
    assert f"`np.{name}`" in text


def test_tests_named_on_the_migration_page_exist() -> None:
    """Every test that the page names is there."""
    text = (DOCS / "migration.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", text)
    assert len(named) > 5
    for path, name in named:
        assert name in defined_in(ROOT / "tests" / path), name
