"""The documentation site: every page has a place, links hold, equations are typeset."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import neurodriver
from neurodriver.model.library import shipped, shipped_rules

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> object:
    """Return the function that imports an extension of the site."""
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    return import_module


def load(extension: object, name: str) -> ModuleType:
    assert callable(extension)
    found = extension(name)
    assert isinstance(found, ModuleType)
    return found


def test_every_page_has_one_place(extension: object) -> None:
    """Each page of ``docs`` is in the list of one index, and every item leads to a page."""
    contents, repository = load(extension, "contents"), load(extension, "repository")
    places: list[str] = []
    for page in contents.INDEXES:
        text = (ROOT / repository.file_of(page)).read_text(encoding="utf-8")
        tree = contents.with_tree(page, repository.relinked(page, text))
        entries = re.findall(r"^.* <(.*)>$", tree[tree.rindex("```{toctree}") :], re.M)
        assert len(entries) >= 3, page
        places += [entry.lstrip("/") for entry in entries]
    files = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    pages = {*files, *repository.ELSEWHERE, *contents.MADE.values()} - {"index"}
    assert sorted(places) == sorted(pages)


def test_links_of_the_repository_become_links_of_the_site(extension: object) -> None:
    """Pages are found from any folder; other files are named; what is not there stays."""
    relinked = load(extension, "repository").relinked
    assert relinked("gpu", "[a](speed.md#on-a-gpu)") == "[a](/speed.md#on-a-gpu)"
    assert relinked("design/spikes", "[a](../speed.md)") == "[a](/speed.md)"
    assert relinked("project/code", "[a](../docs/gpu.md)") == "[a](/gpu.md)"
    assert relinked("index", "[a](../CHANGELOG.md)") == "[a](/project/changes.md)"
    assert relinked("index", "[the script](../setup.py)") == "the script (`setup.py`)"
    assert relinked("index", "[setup/it.py](../setup.py#L3)") == "setup/it.py"
    for same in ("[a](https://a.org/b.md)", "[a](#here)", "[a](nowhere.md)"):
        assert relinked("index", same) == same


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("C dV/dt = (V_rest - V) / R + I",
         r"C \, \frac{dV}{dt} = \frac{V_{\mathrm{rest}} - V}{R} + I"),
        ("dx/dt = (x_inf(V) - x) / tau_x(V)",
         r"\frac{dx}{dt} = \frac{x_{\infty}\left(V\right) - x}{\tau_{x}\left(V\right)}"),
        ("z'' = -(ar + ad) z'",
         r"z'' = -\left(a_{r} + a_{d}\right) \, z'"),
        ("w += r1 (A2_plus + o2)^-2",
         r"w \mathrel{+}= r_{1} \, \left(A_{2,+} + o_{2}\right)^{-2}"),
        ("g = sqrt(2 / tau) 1e-3", None),
        ("I = -sum_j g_j (V - E_j)", r"I = -\sum_{j} \, g_{j} \, \left(V - E_{j}\right)"),
        ("V >= threshold", r"V \geq \mathrm{threshold}"),
        ("dI/dt = I + sum of the currents", None),
        ("keep_input", None),
        ("f(x = 2", None),
        ("a == b", None),
        ("x = 'exc'", None),
        ("= 3", None),
    ],
)  # fmt: skip
def test_an_equation_becomes_a_formula(extension: object, text: str, formula: str | None) -> None:
    """Factors, quotients, indices, functions; a text that is no equation stays."""
    typeset = load(extension, "formulas").typeset
    assert typeset(f"a ``{text}`` b", "$%$") == (
        f"a ${formula}$ b" if formula else f"a ``{text}`` b"
    )


def test_equations_of_models_can_be_drawn(extension: object) -> None:
    """matplotlib, which reads formulas by a grammar of its own, takes each of them."""
    from matplotlib.mathtext import MathTextParser

    formulas = load(extension, "formulas")
    draw = MathTextParser("path")
    seen = 0
    for model in (shipped() | shipped_rules()).values():
        page = formulas.typeset(inspect.getdoc(model) or "", "$%$")
        for formula in re.findall(r"\$([^$]+)\$", page):
            draw.parse(f"${formula.replace('mathrel{+}=', '/+=').replace('mathrel{-}=', '/-=')}$")
            seen += 1
    assert seen > 100


def test_the_page_of_models_has_equations(extension: object) -> None:
    """Below each name stands the whole description; the tables stay."""
    pages = load(extension, "model_pages")
    before = (DOCS / "models.md").read_text(encoding="utf-8")
    after = pages.described(before)
    assert r"$C \, \frac{dV}{dt} = \frac{V_{\mathrm{rest}} - V}{R} + I$" in after
    assert after.count("### ") == before.count("### ")
    rows = [line for line in before.splitlines() if line.startswith("|")]
    assert [line for line in after.splitlines() if line.startswith("|")] == rows


def test_the_reference_has_every_public_name(extension: object) -> None:
    """Each name of the package is on one page of the reference, with its documentation."""
    pages = load(extension, "api_pages")
    found = [name for some in pages.names().values() for name in some]
    assert len(found) == len(set(found))
    public = set(neurodriver.__all__)
    assert {name for module, name in found if module == "neurodriver"} == public
    for module, name in found:
        assert inspect.getdoc(getattr(import_module(module), name)), name
    assert "neurodriver run" in pages.commands() and "NEURODRIVER_CACHE" in pages.environment()


@pytest.mark.skipif(find_spec("sphinx") is None, reason="needs the extra docs")
def test_the_site_builds(tmp_path: Path) -> None:
    """Without a warning; the reference and the equations are there."""
    command = [sys.executable, "scripts/build_site.py", "--quick", "-o", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    html = tmp_path / "html"
    assert r"\frac{dV}{dt}" in (html / "models.html").read_text(encoding="utf-8")
    assert 'id="neurodriver.LPU.run"' in (html / "api" / "runs.html").read_text(encoding="utf-8")


WANTED = {
    "02_moving_edge.py", "05_voltage_clamp.py", "10_connectome.py", "17_silencing.py",
    "14_sweep.py", "15_two_lpus.py", "16_photoreceptor.py", "brunel_2000_states.py",
    "izhikevich_2007.py", "naud_2008.py", "potjans_diesmann_2014.py", "serre_2007_shapes.py",
    "song_miller_abbott_2000.py", "vogels_abbott_2005.py",
}  # fmt: skip
"""Subjects of the gallery that users look for."""


def test_examples_of_the_gallery(extension: object, tmp_path: Path) -> None:
    """Each copy is Python, has a title and cells, and keeps its code; all subjects are there."""
    gallery = load(extension, "gallery")
    examples = ROOT / "examples"
    number = gallery.copy_examples(examples, tmp_path / "copy")
    copies = sorted((tmp_path / "copy").rglob("*.py"))
    assert len(copies) == number and {path.name for path in copies} >= WANTED
    assert gallery.ARGUMENTS.keys() <= {path.name for path in copies}
    for path in copies:
        copied = path.read_text(encoding="utf-8")
        plain = (examples / path.relative_to(tmp_path / "copy")).read_text(encoding="utf-8")
        assert plain.count("\n# %%") == copied.count("\n# %%") >= 2, path.name
        title, line, *_ = (ast.get_docstring(ast.parse(copied)) or "").splitlines()
        assert line == "=" * len(title) and title + "." == plain[3:].partition("\n")[0], path.name
        kept = [ast.dump(one) for one in ast.parse(copied).body]
        assert set(map(ast.dump, ast.parse(plain).body[1:])) <= set(kept), path.name


def test_docstrings_become_restructured_text(extension: object) -> None:
    """The first line is the title; blocks stay as they are; the names that Python sets are set."""
    marked = load(extension, "gallery").marked
    text = '"""A title.\n\nWords:\n\n    a   b\n    c   d\n\npython x.py\n"""\n\n# %%\na = 1\n'
    doc = ast.parse(text).body[0].value.value  # type: ignore[attr-defined]
    assert marked(text) == (
        '"""\nA title\n=======\n\nWords:\n\n::\n\n    a   b\n    c   d\n\n::\n\n'
        '    python x.py\n"""'
        "\n\n# sphinx_gallery_start_ignore\n"
        f'__file__, __doc__ = "examples/example.py", {doc!r}\n'
        "# sphinx_gallery_end_ignore\n\n# %%\na = 1\n"
    )
    with pytest.raises(ValueError, match="docstring"):
        marked("a = 1\n")
