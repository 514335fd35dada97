"""The documents hold together: links lead somewhere, tables are tables, examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for folder in (ROOT, ROOT / "docs", ROOT / "docs" / "design", ROOT / "neurodriver")
    for path in folder.glob("*.md")
)
WORDS = 25
"""Words of a cell of a table at most."""


def text_of(path: Path) -> str:
    """Return a page without its blocks of code."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    heads = re.findall(r"^#+ (.*)$", text_of(path), re.M)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


def test_links_lead_somewhere() -> None:
    """Every relative link names a file that exists, and a heading in it."""
    seen = 0
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
            if "://" in link:
                continue
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), f"{page.relative_to(ROOT)}: {link}"
            assert not anchor or anchor in anchors(target), f"{page.relative_to(ROOT)}: {link}"
            seen += 1
    assert seen > 100


def test_tables_hold_no_paragraphs() -> None:
    """A cell of a table is a name, a figure or a short phrase."""
    cells = 0
    for page in PAGES:
        for line in text_of(page).splitlines():
            for cell in line.strip("|").split(" | ") if line.startswith("| ") else ():
                assert len(cell.split()) <= WORDS, f"{page.relative_to(ROOT)}: {cell}"
                cells += 1
    assert cells > 1000


def test_lengths() -> None:
    """The README is two pages of a screen, the map of the code one."""
    lines = {p: len((ROOT / p).read_text(encoding="utf-8").splitlines()) for p in
             ("README.md", "neurodriver/README.md")}  # fmt: skip
    assert 100 < lines["README.md"] <= 150 and 50 < lines["neurodriver/README.md"] <= 120


def test_the_index_has_every_design_page() -> None:
    """Each design decision is in the index, and has a date or is a list."""
    folder = ROOT / "docs" / "design"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = [path for path in folder.glob("*.md") if path.name != "README.md"]
    assert len(pages) > 20
    for path in pages:
        assert f"]({path.name})" in index, path.name
        text = path.read_text(encoding="utf-8")
        assert re.search(r"\(20\d\d-\d\d-\d\d\)", text) or path.name == "limits.md", path.name


def test_tables_are_current() -> None:
    """The tables of models and speed are those that the script makes."""
    command = [sys.executable, "scripts/fill_tables.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": current") == 3


@pytest.mark.parametrize(
    ("name", "blocks", "expected"),
    [
        ("inputs.md", slice(None), r"-\d+\.\d+\n\[-\d+\.\d+\]\n"),
        ("results.md", slice(-1, None), r"(\d\.\d{3} s: -\d+\.\d mV\n)+"),
    ],
)
def test_a_page_runs(name: str, blocks: slice, expected: str, tmp_path: Path) -> None:
    """The examples of a page run one after the other and print what they should."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)[blocks]
    (tmp_path / "out").mkdir()
    (tmp_path / "data").symlink_to(ROOT / "data")
    script = "\n".join(["import neurodriver as nd", *found])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(expected, done.stdout), done.stdout
