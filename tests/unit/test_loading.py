"""Models come as classes, modules, files and folders."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import old_style
import pytest
from support import IAF, graph, node

from neurodriver import LPU, Circuit, NDComponent
from neurodriver.__main__ import main
from neurodriver.compat import components
from neurodriver.errors import ModelError
from neurodriver.model.library import models, shipped
from neurodriver.model.loading import load_models

TEXT = """
from neurodriver.compat.components import *
from neurodriver import NDComponent

class {name}(NDComponent):
    '''{doc}'''
    accesses = ["I"]
    updates = ["V"]
    states = {{"V": 1.0}}
    update = "V = {value};"
"""


def write(path: Path, name: str, doc: str = "One.", value: float = 1.0) -> Path:
    """Write a file with one model."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.format(name=name, doc=doc, value=value))
    return path


def names(given: Any) -> list[str]:
    """Return the names of what is loaded."""
    return [m.__name__ for m in load_models(given)]


def test_classes_modules_and_nests() -> None:
    """A module stands for what can be seen in it; bases are left out."""
    given = [old_style.OldLeaky, [(old_style.RawAlpha,), shipped()["LeakyIAF"]]]
    assert names(given) == ["OldLeaky", "RawAlpha", "LeakyIAF"]
    seen = names(old_style)
    assert {"OldLeaky", "OldAlpha", "RawLeaky", "RawMorrisLecar"} == set(seen) - {
        "OldMorrisLecar",
        "RawAlpha",
    }
    assert names(()) == []


def test_a_package_without_models_is_walked() -> None:
    """`neurodriver.components` has its models in modules of subpackages."""
    import neurodriver.components

    assert sorted(names(neurodriver.components)) == sorted(shipped())


def test_files_and_folders(tmp_path: Path) -> None:
    """Folders are walked; names with ``_`` or ``.`` are skipped, but only below the folder."""
    root = tmp_path / "_mine"
    write(root / "b.py", "B")
    write(root / "deep" / "a.py", "A")
    for skipped in ("_c.py", ".d.py", "_e/e.py", ".f/f.py"):
        write(root / skipped, "Skipped")
    assert sorted(names(root)) == ["A", "B"]
    assert names(str(root / "b.py")) == ["B"]
    assert names(root / "_c.py") == ["Skipped"]  # named, so meant


def test_later_ones_replace_earlier_ones(tmp_path: Path) -> None:
    """Also the shipped ones, and in an LPU."""
    first = write(tmp_path / "first.py", "Same", "First.", 1.0)
    second = write(tmp_path / "second.py", "Same", "Second.", 2.0)
    assert [m.__doc__ for m in load_models([first, second])] == ["Second."]
    assert [m.__doc__ for m in load_models([second, [first]])] == ["First."]
    leaky = write(tmp_path / "leaky.py", "LeakyIAF", "Mine.", 7.0)
    assert models(leaky)["LeakyIAF"].__doc__ == "Mine."
    with LPU(graph({"n": node("LeakyIAF", {})}), 1e-4, models=[leaky]) as lpu:
        lpu.run(steps=3)
        assert lpu.get("V").tolist() == [7.0]
    circuit = Circuit.from_graph(graph({"n": node("LeakyIAF", IAF)}), old_style)
    assert circuit.groups[0].model is shipped()["LeakyIAF"]


def test_neighbours_can_be_imported(tmp_path: Path) -> None:
    """A file may import what lies beside it; the path and the modules stay as they were."""
    (tmp_path / "neighbour_of_model.py").write_text("value = 3.0\n")
    file = tmp_path / "own.py"
    file.write_text("import neighbour_of_model\n" + TEXT.format(name="N", doc="N.", value=3))
    before = list(sys.path)
    assert names(file) == ["N"]
    assert sys.path == before
    sys.modules.pop("neighbour_of_model")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_module_at_all", "cannot be imported.*no_such_module_at_all"),
        ("1 / 0", "cannot be imported.*ZeroDivisionError"),
        ("raise SystemExit(3)", "cannot be imported.*SystemExit"),
        ("def broken(:", "cannot be imported.*SyntaxError"),
        ("x = 1", "defines no subclass"),
        ("from neurodriver import NDComponent\nclass BaseOwn(NDComponent): pass", "defines no"),
        ("from neurodriver import NDComponent\nclass M(NDComponent):\n    updates = ['a b']",
         "'a b' is not a usable name"),
    ],
)  # fmt: skip
def test_bad_files(text: str, words: str, tmp_path: Path) -> None:
    """The file and the reason are told, by a folder that holds it, too."""
    file = tmp_path / "bad.py"
    file.write_text(text)
    with pytest.raises(ModelError, match=f"(?s){words}"):
        load_models(file)
    with pytest.raises(ModelError, match="no file in it" if "defines" in words else f"(?s){words}"):
        load_models(tmp_path)


def test_a_file_that_needs_pycuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install where it is missing."""
    monkeypatch.setitem(sys.modules, "pycuda", None)
    file = tmp_path / "kernels.py"
    file.write_text("import pycuda.driver as cuda\n")
    with pytest.raises(ModelError, match=r"kernels\.py: .*pycuda.*take a GPU and `pip install"):
        load_models(file)


def test_what_is_no_model(tmp_path: Path) -> None:
    """Missing paths, bases, and what is nothing of all that."""
    with pytest.raises(FileNotFoundError, match=r"gone\.py: no such Python file or folder") as told:
        load_models(tmp_path / "gone.py")
    assert isinstance(told.value, ModelError)
    for base in (NDComponent, components.BaseSynapseModel):
        with pytest.raises(ModelError, match=f"{base.__name__} is a base of models"):
            load_models(base)
    with pytest.raises(ModelError, match="got 3"):
        load_models([3])
    with pytest.raises(ModelError, match="module empty"):
        load_models(ModuleType("empty"))


def test_a_folder_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--models`` takes folders; a missing one is told without a traceback."""
    write(tmp_path / "own" / "m.py", "Telling", "Tells its name.")
    assert main(["models", "Telling", "--models", str(tmp_path / "own")]) == 0
    assert "Tells its name." in capsys.readouterr().out
    old = str(Path(old_style.__file__))
    assert main(["models", "OldLeaky", "--models", old]) == 0
    page = capsys.readouterr().out
    assert "internalV starts at 0" in page and "its own get_update_template" in page
    assert main(["models", "--models", str(tmp_path / "none")]) == 1
    error = capsys.readouterr().err
    assert "no such Python file or folder" in error and "Traceback" not in error
