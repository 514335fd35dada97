"""Build sdist and wheel, and run the README with them in an empty folder: what is shipped is whole.

python scripts/check_wheel.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_WHEEL = (
    "neurodriver/native/math.h",
    "neurodriver/native/math_exp.h",
    "neurodriver/codegen/simt/device.cuh",
    "neurodriver/backends/cpu/runtime.cpp",
    "neurodriver/backends/cpu/runtime_plan.h",
    "neurodriver/codegen/simt/event_lists.cuh",
    "neurodriver/components/axon_hillocks/leaky_iaf.py",
    "neurodriver/circuits/data/optic_lobe/types.csv",
    "neurodriver/circuits/data/circuits/one_neuron.gexf",
    "neurodriver/view/static/view.js",
    "neurodriver/py.typed",
)
IN_SDIST = (
    "README.md", "LICENSE", "CITATION.cff", "setup.py", "pyproject.toml", "docs/install.md",
    "docs/design/README.md", "examples/01_one_neuron.py", "examples/papers/brunel_2000.py",
    "tests/unit/test_system.py", "tests/conftest.py", "scripts/run_readme.py",
    "components/axon_hillocks/leaky_iaf.py", "data/figures/moving_edge.png", "neurodriver/py.typed",
)  # fmt: skip
BUILD = "import setuptools.build_meta as b; b.build_sdist({0!r})"


def copy_of_the_tree(target: Path) -> Path:
    """Copy the project's own files: a build in place would leave files for the next wheel."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        source, place = ROOT / name, target / name
        if source.is_symlink() or source.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place, follow_symlinks=False)
    return target


def built(folder: Path) -> tuple[Path, Path]:
    """Return the sdist of the tree, and the wheel that is made of the sdist."""
    tree = copy_of_the_tree(folder / "tree")
    words = [sys.executable, "-c", BUILD.format(str(folder))]
    subprocess.run(words, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    sdist = next(folder.glob("*.tar.gz"))
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, sdist], check=True)
    return sdist, next(folder.glob("*.whl"))


def lacking(sdist: Path, wheel: Path) -> list[str]:
    """Return what the two have not got."""
    with tarfile.open(sdist) as content:
        held = {name.partition("/")[2] for name in content.getnames()}
    out = [f"the sdist lacks {name}" for name in IN_SDIST if name not in held]
    out += [f"the wheel lacks {name}" for name in IN_WHEEL if name not in names_in(wheel)]
    with tempfile.TemporaryDirectory() as folder, tarfile.open(sdist) as content:
        content.extractall(folder, filter="data")
        link = next(Path(folder).iterdir()) / "neurodriver" / "components"
        if not (link / "__init__.py").is_file():
            out.append("the sdist lacks what neurodriver/components leads to")
    return out


def names_in(wheel: Path) -> set[str]:
    """Return the names of the files of a wheel."""
    with zipfile.ZipFile(wheel) as content:
        return set(content.namelist())


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist, wheel = built(folder)
        if missing := lacking(sdist, wheel):
            print(*missing, sep="\n")
            return 1
        # the packages it needs are those of this environment; the project itself is not
        site = folder / "site"
        with zipfile.ZipFile(wheel) as content:
            content.extractall(site)
        own = {**os.environ, "PYTHONPATH": str(site)}
        code = (
            f"import neurodriver; assert neurodriver.__file__.startswith({str(site)!r}), "
            "neurodriver.__file__; from neurodriver.circuits.optic_lobe import circuit; "
            "print(circuit(1))"
        )
        empty = folder / "empty"
        empty.mkdir()
        for words in (["-c", code], [str(ROOT / "scripts" / "run_readme.py")]):
            done = subprocess.run([sys.executable, *words], cwd=empty, env=own)
            if done.returncode:
                break
    print("sdist and wheel:", "broken" if done.returncode else "good")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
