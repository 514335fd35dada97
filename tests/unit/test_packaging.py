"""What is shipped beside the code: workflows, recipe, lists of files; and what the README runs."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import setuptools

import neurodriver as nd

ROOT = Path(__file__).parents[2]
TEXTS = (".h", ".cuh", ".cpp")
SYSTEMS = {"ubuntu-latest", "macos-latest", "windows-latest"}


@pytest.fixture(scope="module")
def declared() -> dict[str, Any]:
    """Return what ``setup.py`` declares."""
    given: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setuptools, "setup", given.update)
        patch.chdir(ROOT)
        text = (ROOT / "setup.py").read_text(encoding="utf-8")
        exec(compile(text, "setup.py", "exec"), {"__file__": str(ROOT / "setup.py")})
    return given


def loaded(path: Path) -> Any:
    """Return what a YAML file holds."""
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["tests", "wheels"])
def test_workflows(name: str, declared: dict[str, Any]) -> None:
    """They start by hand alone, serve three systems, and call scripts and extras that exist."""
    flow = loaded(ROOT / ".github" / "workflows" / f"{name}.yml")
    assert flow[True] == {"workflow_dispatch": None}  # YAML reads the word `on` as true
    jobs = flow["jobs"].values()
    matrices = [job["strategy"]["matrix"] for job in jobs if "strategy" in job]
    assert matrices and all(set(one["system"]) == SYSTEMS for one in matrices)
    steps = [step for job in jobs for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    said = "\n".join(step.get("run", "") for step in steps)
    for path in re.findall(r"(?:tree/)?((?:scripts|tests)/[\w/.]+)", said):
        assert (ROOT / path).exists(), path
    for extras in re.findall(r"\[([\w,]+)\]\"", said):
        assert set(extras.split(",")) <= set(declared["extras_require"]), extras
    needed = [job.get("needs") for job in jobs if "needs" in job]
    assert set(needed) <= set(flow["jobs"])


def test_recipe(declared: dict[str, Any]) -> None:
    """The recipe of conda has the version and the requirements of ``setup.py``."""
    recipe = loaded(ROOT / "conda" / "meta.yaml")
    assert recipe["package"] == {"name": "neurodriver", "version": nd.__version__}
    assert declared["version"] == nd.__version__
    run = {text.replace(" ", "") for text in recipe["requirements"]["run"]}
    assert run >= set(declared["install_requires"]) | {"python" + declared["python_requires"]}
    assert "cxx-compiler" in run and recipe["build"]["noarch"] == "python"
    assert recipe["build"]["entry_points"] == declared["entry_points"]["console_scripts"]
    assert (ROOT / "conda" / recipe["source"]["path"] / "setup.py").exists()
    assert (ROOT / recipe["about"]["license_file"]).exists()


def test_extras_are_listed(declared: dict[str, Any]) -> None:
    """The page on installing names each extra for users, and the compiler is one of them."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    table = page.partition("## Extras")[2].partition("##")[0]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.M))))
    assert named == set(declared["extras_require"]) - {"test", "all"}
    assert declared["extras_require"]["compiler"][0].startswith("ziglang")
    assert not any("ziglang" in one for one in declared["extras_require"]["test"])


def test_shipped_files_exist(declared: dict[str, Any]) -> None:
    """What the script that builds wheel and sdist looks for is part of the tree."""
    sys.path.insert(0, str(ROOT / "scripts"))
    script = import_module("check_wheel")
    folders = {name.replace(".", "/"): path for name, path in declared["package_dir"].items()}
    for name in script.IN_WHEEL:
        package = max((f for f in folders if name.startswith(f"{f}/")), key=len, default="")
        path = folders[package] + name.removeprefix(package) if package else name
        assert (ROOT / path).exists(), name
    for name in script.IN_SDIST:
        assert (ROOT / name).exists(), name
    grafted = re.findall(r"^graft (\S+)$", (ROOT / "MANIFEST.in").read_text("utf-8"), re.M)
    assert all((ROOT / name).is_dir() for name in grafted) and len(grafted) > 5


def test_texts_for_compilers_are_shipped(declared: dict[str, Any]) -> None:
    """A wheel has each text that the package compiles on the machine of the user."""
    found = [one for one in (ROOT / "neurodriver").rglob("*") if one.suffix in TEXTS]
    for path in found:
        package = ".".join(path.parent.relative_to(ROOT).parts)
        patterns = declared["package_data"].get(package, [])
        assert any(path.match(one) for one in patterns), path
    assert len(found) > 40


def test_what_the_readme_runs() -> None:
    """The script finds the blocks and the commands of the README."""
    sys.path.insert(0, str(ROOT / "scripts"))
    found = import_module("run_readme").steps((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "nd.example" in found[0][2] and "compare" in found[0][2]
    assert [words[2] for _, words, _ in found[1:]] == ["run", "plot"]
