"""The notebook of the examples runs from top to bottom, and shows what it says."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "06_notebook.ipynb"
NEEDED = "notebooks need nbclient, nbformat and ipykernel, of the extra 'test'"

nbclient = pytest.importorskip("nbclient", reason=NEEDED)
nbformat = pytest.importorskip("nbformat", reason=NEEDED)
pytest.importorskip("ipykernel", reason=NEEDED)


def shown(cell: Any, kind: str) -> list[str]:
    """Return what a cell shows in a form, ``image/png`` for instance."""
    return [out["data"][kind] for out in cell.outputs if kind in out.get("data", {})]


def printed(cell: Any, stream: str = "stdout") -> str:
    """Return what a cell prints."""
    return "".join(out["text"] for out in cell.outputs if out.get("name") == stream)


def test_the_notebook(tmp_path: Path) -> None:
    """Tables, a bar, a figure and rates appear; no outputs are kept in the repository."""
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert len(code) > 5
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert NOTEBOOK.stat().st_size < 20_000
    kernel = nbclient.NotebookClient(
        book, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    kernel.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
    by_text = {
        key: next(cell for cell in code if key in cell.source)
        for key in ("nd.Circuit(", "record=[", ".plot(", "rates(0.1, 0.3)", "rates(0.3, 0.5)")
    }
    (table,) = shown(by_text["nd.Circuit("], "text/html")
    assert "<td>1,000</td>" in table and "LeakyIAFExpConductanceEuler" in table
    bar = printed(by_text["record=["], "stderr") + str(shown(by_text["record=["], "text/plain"))
    assert "100%" in bar
    (table,) = shown(next(cell for cell in code if cell.source == "lpu.recording"), "text/html")
    assert "0.3 s, dt 0.0001 s" in table and "<td>3,000</td>" in table
    assert len(shown(by_text[".plot("], "image/png")) == 1
    before, after = (
        dict(re.findall(r"^(exc|inh) (\S+)$", printed(by_text[key]), re.M))
        for key in ("rates(0.1, 0.3)", "rates(0.3, 0.5)")
    )
    assert before.keys() == after.keys() == {"exc", "inh"}
    assert all(2 < float(r) < 80 for r in before.values()), before
    assert float(after["exc"]) < float(before["exc"])  # inhibition has become stronger
    assert not list(tmp_path.iterdir())
