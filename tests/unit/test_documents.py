"""The documents hold together: links lead somewhere, tables are tables, examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for folder in (ROOT, ROOT / "docs", ROOT / "docs" / "design", ROOT / "neurodriver")
    for path in folder.glob("*.md")
)
WORDS = 25
"""Words of a cell of a table at most."""

WALKS = ("way-of-a-parameter.md", "way-of-a-spike.md")
"""Pages that follow something through the code."""


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
            where = f"{page.relative_to(ROOT)}: {link}"
            assert target.exists(), where
            if anchor and target.suffix == ".md":
                assert anchor in anchors(target), where
            elif anchor:
                lines = len(target.read_text(encoding="utf-8").splitlines())
                assert re.fullmatch(r"L\d+", anchor) and int(anchor[1:]) <= lines, where
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
    """Each design decision is in the index, and has a date or describes no decision."""
    folder = ROOT / "docs" / "design"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = [path for path in folder.glob("*.md") if path.name != "README.md"]
    assert len(pages) > 20
    for path in pages:
        assert f"]({path.name})" in index, path.name
        text = path.read_text(encoding="utf-8")
        dated = re.search(r"\(20\d\d-\d\d-\d\d\)", text)
        assert dated or path.name in ("limits.md", *WALKS), path.name


def test_paths_of_the_code_exist() -> None:
    """Every file and folder that the map and the design pages name is there."""
    seen = 0
    for page in (ROOT / "neurodriver" / "README.md", *(ROOT / "docs" / "design").glob("*.md")):
        for name in re.findall(r"`([\w./]+/[\w.]*)`", text_of(page)):
            there = (ROOT / name).exists() or (ROOT / "neurodriver" / name).exists()
            assert there or name.startswith("out/"), f"{page.relative_to(ROOT)}: {name}"
            seen += 1
    assert seen > 100


def test_tables_are_current() -> None:
    """The tables of models and speed, and lines of walk-throughs, are those of the script."""
    command = [sys.executable, "scripts/fill_tables.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": current") == 5 + len(WALKS)


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_through_names_what_is_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stop is a function that its file defines, at the line that the page tells."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    line_numbers = import_module("line_numbers")
    text = (ROOT / "docs" / "design" / name).read_text(encoding="utf-8")
    found = line_numbers.stops(text)
    assert len(found) > 12 and len(text.splitlines()) <= 75
    for path, function in found:
        line = line_numbers.line_of(ROOT / path, function)
        assert f"{path}:{line}]" in text, f"{path}: `{function}`; run scripts/fill_tables.py"
        first = (ROOT / path).read_text(encoding="utf-8").splitlines()[line - 1]
        assert re.search(rf"\b{function.rpartition('.')[2]}\(", first), first


def test_a_function_that_moves_or_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A page gets the line of a function that has moved; one that is gone is refused."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    line_numbers = import_module("line_numbers")
    folder = tmp_path / "neurodriver"
    folder.mkdir()
    python = "def one() -> None:\n    def two(): ...\n\n\nclass A:\n    def one(self): ...\n"
    (folder / "a.py").write_text(python)
    kernel = "static int two(int a)\n{\n    if (a) {}\n    return one(a);\n}\n"
    (folder / "b.h").write_text("#pragma once\n" + kernel)

    def page(path: str, line: int, name: str) -> str:
        where = f"neurodriver/{path}"
        return f"1. [{where}:{line}](../../{where}#L{line}) `{name}`\n   text\n"

    for path, name, line in (("a.py", "one", 1), ("a.py", "A.one", 6), ("b.h", "two", 2)):
        assert line_numbers.refreshed(page(path, 99, name), tmp_path) == page(path, line, name)
    for path, name in (("a.py", "A.two"), ("a.py", "two"), ("b.h", "one"), ("c.py", "one")):
        with pytest.raises(line_numbers.Gone, match=rf"{path}: .*`{name}`"):
            line_numbers.refreshed(page(path, 1, name), tmp_path)
    with pytest.raises(line_numbers.Gone, match="needs the name of a function"):
        line_numbers.refreshed("[neurodriver/a.py:1](../../neurodriver/a.py#L1) text", tmp_path)


def test_a_run_of_the_bench_becomes_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long cells are cut to one entry; the rest stands below the table, and the README follows."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    fill_tables = import_module("fill_tables")
    case = "brunel, 10,000 neurons, 5 connections, float64"
    row = {"case": case, "us a step": 28.8123, "seconds": 0.288, "ratio": 11.4, "peer": "NEST"}
    row |= {"floor": "states 1 MB: 2 us; 7 synaptic events", "activity": "E 3/3 Hz; I 4/4 Hz"}
    plain = {"case": "long: " + 80 * "x", "us a step": 1.0, "floor": ""}
    lines = fill_tables.speed_lines([row, plain])
    assert lines[0] == "| case | us per step | time, s | peer | ratio | target | floor |"
    assert lines[2] == f"| {case} | 28.8 | 0.288 | NEST | 11.4 |  | states 1 MB: 2 us |"
    assert lines[3].startswith("| long | 1 |")
    assert lines[-2] == f"- {case}: 7 synaptic events; ours/peer: E 3/3 Hz; I 4/4 Hz."
    assert lines[-1] == f"- long: {80 * 'x'}."
    row |= {"ms a second": 10.0, "us a step": 2.0, "wall us": 3.0, "peer": "GeNN 5.4.0: 1,213 ms"}
    row["case"] = case.replace("float64", "float32")
    tables = {
        "spiking networks": lines,
        "spiking networks on a GPU": fill_tables.speed_lines([row]),
    }
    page = "\n".join(
        line for n, t in tables.items() for line in (f"<!-- {n}: x -->", *t, f"<!-- end of {n} -->")
    )
    assert fill_tables.summary(page)[2:] == ["| brunel | 10,000 | 0.288 | 11.4 | 15 | 1,213 |"]
    drawn = ElementTree.fromstring("\n".join(fill_tables.chart(fill_tables.measured(page))))
    texts = [one.text for one in drawn.iter() if one.tag.endswith("}text")]
    assert {"brunel, 10,000", "11 ×", "81 ×", "10 ms", "1 s, real time"} <= {*texts}
    places = [float(one.get("cx", 0)) for one in drawn.iter() if one.tag.endswith("}circle")][4:]
    decades = np.diff(np.log10([0.288, 0.288 * 11.4, 0.015, 1.213])[[2, 0, 3, 1]])
    ours, peer, gpu, genn = places
    assert np.diff([gpu, ours, genn, peer]) == pytest.approx(
        decades * (peer - ours) / np.log10(11.4), abs=0.3
    )


RUN = {
    "README.md": r"type +cells .*\n(\w+ +\d+ .*\n){5}1200 spikes\n",
    "docs/batches.md": r"\[(\d{4}(, )?){8}\]\n",
    "docs/error-driven.md": r"\[1\.[^\]]* 0\. *\]\n\(10, 10\) \(100, 25\)\n"
    r"Go \[0\.[1-9]\d* +0\.0\d*\]\nNoGo \[0\.0\d* +0\.[1-9]\d*\]\n",
    "docs/inputs.md": r"\[0.0051 0.0091\] \[0.0071\]\n-\d+\.\d+\n\d+ spikes\n3\n\[-\d+\.\d+\]\n",
    "docs/living.md": r"True\nTrue\nring/\d+ ring/\d+ 0.0015 65.61\nTrue\n",
    "docs/migration.md": "",
    "docs/parts.md": "",
    "docs/plasticity.md": r"\(100,\) True\n(True\n){7}",
    "docs/profiling.md": r"phase +time +share +times\n(.*\n)+.*together.*\n(.*\n)*",
    "docs/results.md": r"Recording (.*\n)+population .*\nE .*\nI .*\n(\d\.\d{3} s: -\d+\.\d mV\n)+",
    "docs/sweeps.md": r"\('current',\) \[.*\]\n\[\[\d+\]\n \[\d+\]\]\n\('point',\)\n",
    "docs/coming-from.md": r"True\nTrue\n",
    "docs/tutorial.md": r"Recording (.*\n){3}10 spikes, .*\n(.*\n){3}\[[\d, ]+\] spikes\n(.*\n){3}",
    "docs/design/array-table.md": "",
    "docs/design/frozen-program.md": "",
}
"""Pages whose examples run here -> what they print."""

PROCESSES = ("README.md", "docs/sweeps.md")
"""Pages that run as a script does, in a process of their own, which takes seconds to begin."""

ELSEWHERE = {
    "circuits.md": "unit/test_circuits_page.py",
    "connectomes.md": "unit/test_connectomes_page.py",
    "experiments.md": "system/test_experiment.py",
    "gpu.md": "cuda/test_gpu_page.py",
    "layers.md": "unit/test_layers_page.py",
    "ports.md": "ports/test_docs.py",
    "pynn.md": "system/test_pynn.py",
    "projections.md": "system/test_projected_circuits.py",
    "write-a-model.md": "system/test_write_a_model.py",
}
"""Pages whose examples run in a test of their own."""

BEFORE = """
import neurodriver as nd
from neurodriver.codegen.generate import generate
from neurodriver.plan.arrays import Key, Kind, PopulationOwner
from neurodriver.plan.compile import compile_circuit
circuit = nd.example("one_neuron")
program = compile_circuit(circuit, 1e-4)
"""
"""What the reader of a design page has."""


def blocks_of(page: Path) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def test_every_page_runs_somewhere() -> None:
    """A page with Python blocks is in one of the two lists, and nothing else is."""
    with_code = {str(page.relative_to(ROOT)) for page in PAGES if blocks_of(page)}
    assert with_code == {*RUN, *(f"docs/{name}" for name in ELSEWHERE)}
    for name, test in ELSEWHERE.items():
        assert f'"{name}"' in (ROOT / "tests" / test).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", RUN)
def test_a_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The examples of a page run in an empty folder, in their order, and print what they should."""
    before = BEFORE if "design" in name else "import neurodriver as nd"
    script = "\n".join([before, *blocks_of(ROOT / name)])
    monkeypatch.chdir(tmp_path)
    if name in PROCESSES:
        subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
    else:
        exec(compile(script, name, "exec"), {"__name__": "page"})
    printed = capfd.readouterr().out
    assert re.fullmatch(RUN[name], printed), printed
