"""Build the wheel, install it in an empty folder and use it there: what is shipped is complete.

python scripts/check_wheel.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = (
    "neurodriver/native/math.h",
    "neurodriver/native/math_exp.h",
    "neurodriver/codegen/simt/device.cuh",
    "neurodriver/backends/cpu/runtime.cpp",
    "neurodriver/backends/cpu/runtime_plan.h",
    "neurodriver/codegen/simt/event_lists.cuh",
    "neurodriver/components/axon_hillocks/leaky_iaf.py",
    "neurodriver/circuits/data/optic_lobe/types.csv",
    "neurodriver/py.typed",
)


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


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
        tree = copy_of_the_tree(Path(folder, "tree"))
        subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, str(tree)], check=True)
        wheel = next(Path(folder).glob("*.whl"))
        names = set(zipfile.ZipFile(wheel).namelist())
        missing = [name for name in NEEDED if name not in names]
        if missing:
            print("the wheel lacks", *missing)
            return 1
        home = Path(folder, "env")
        # the packages it needs are those of this environment; the project itself is not
        venv.create(home, with_pip=False)
        site = next((home / "lib").glob("python*")) / "site-packages"
        with zipfile.ZipFile(wheel) as content:
            content.extractall(site)
        path = [str(site), *[p for p in sys.path if p.endswith("site-packages")]]
        code = (
            f"import sys; sys.path[:0] = {path!r}; import neurodriver; "
            "assert neurodriver.__file__.startswith(sys.path[0]), neurodriver.__file__; "
            "from neurodriver.circuits.optic_lobe import circuit; print(circuit(1)); "
            "from neurodriver.__main__ import main; sys.exit(main(['models']))"
        )
        work = Path(folder, "empty")
        work.mkdir()
        command = [str(home / "bin" / "python"), "-I", "-c", code]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True)
    print(done.stdout.splitlines()[0] if done.stdout else "", done.stderr, sep="\n")
    print("wheel:", "good" if done.returncode == 0 else "broken")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
