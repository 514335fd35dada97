"""The page on connectomes runs as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neurodriver.circuits.synthetic_connectome import TYPES, write_tables
from neurodriver.errors import NeurodriverError

PAGE = Path(__file__).parents[2] / "docs" / "connectomes.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of the page, one after the other; silencing changes the rates."""
    for package in ("pyarrow", "pandas", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 5 and len(blocks[1].splitlines()) <= 14
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    rates = scope["rates"]
    place = rates.groups.index("MN9")  # type: ignore[attr-defined]
    first, silenced = rates.rates[:, place]  # type: ignore[attr-defined]
    assert first > 1.5 * silenced > 0
    assert (tmp_path / "connectome" / "rates.png").is_file()


def test_synthetic_tables(tmp_path: Path) -> None:
    """Equal seeds give equal bytes; each type has neurons."""
    pytest.importorskip("pyarrow")
    from pyarrow import csv

    first = write_tables(tmp_path / "a", 100, seed=3)
    second = write_tables(tmp_path / "b", 100, seed=3)
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert first[0].read_bytes() != write_tables(tmp_path / "c", 100)[0].read_bytes()
    types = csv.read_csv(first[3]).column("primary_type").to_pylist()
    assert len(types) == 100 and set(types) == {row[0] for row in TYPES}
    with pytest.raises(NeurodriverError, match="write_tables: neurons"):
        write_tables(tmp_path, 10)
