"""What importing neurodriver loads, and what it never needs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "neurodriver"
BLOCKED = ("matplotlib", "mpi4py", "pycuda", "cuda", "scipy", "pandas", "pyarrow", "sympy")
H5PY = {
    "io/columns.py",
    "io/hdf5.py",
    "io/hdf5_files.py",
    "io/stored_plasticity.py",
    "error_driven/weights_file.py",
    "io/nwb.py",
    "io/sonata_files.py",
    "io/sonata_write.py",
    "inputs/sonata.py",
    "results/sonata.py",
    "recorders/hdf5.py",
    "recorders/preallocated.py",
    "results/joint.py",
    "results/sources.py",
    "state/checkpoint.py",
    "state/parts.py",
    "sweeps/store.py",
    "plot/recording.py",
    "inputs/file.py",
    "compat/legacy/inputs.py",
    "compat/simpleio.py",
    "compat/array_inputs.py",
    "compat/recordings.py",
    "cli/info.py",
}
"""The modules that may import h5py; two of them only when they are used."""

BLOCK = f"""
import importlib.abc, sys
class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {BLOCKED!r}:
            raise ImportError(name + ' is blocked')
sys.meta_path.insert(0, Block())
"""


def python(code: str) -> str:
    """Run code in a fresh interpreter; return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_blocked_packages_are_not_needed() -> None:
    """Importing, reading a circuit and running it work without the optional packages."""
    code = BLOCK + (
        "import neurodriver as nd\n"
        "try:\n    import matplotlib\nexcept ImportError:\n    print('blocked')\n"
        "from neurodriver.__main__ import main\n"
        "assert main(['models']) == 0\n"
        "M = nd.model.library.shipped()['GradedNeuron']\n"
        "c = nd.Circuit.from_arrays([(M, 3, {'time_constant': 5.0, 'bias': 1.0}, None)])\n"
        "with nd.LPU(c, 1e-3, backend='cpu') as lpu:\n"
        "    lpu.run(steps=9)\n    print(lpu.get('V').shape)\n"
    ).replace("import neurodriver as nd", "import neurodriver as nd, neurodriver.model.library")
    out = python(code)
    assert out.startswith("blocked\n") and out.endswith("(3,)\n") and "LeakyIAF" in out


def test_import_is_lean() -> None:
    """Importing loads neither the optional packages nor what only files or graphs need."""
    code = "import neurodriver, sys; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = set(python(code).split())
    assert "neurodriver" in loaded and "numpy" in loaded
    assert not loaded & {*BLOCKED, "networkx", "tqdm", "click", "pydantic"}


def test_names_that_are_imported_later() -> None:
    """What several LPUs need is there, also by ``import *``, and not loaded without it."""
    code = (
        "import sys, neurodriver as nd\n"
        "parts = ('neurodriver.parallel.manager', 'neurodriver.ports', 'neurodriver.experiment')\n"
        "print(sum(name in sys.modules for name in parts))\n"
        "from neurodriver import *\n"
        "print(Manager.__name__, Pattern.__name__, Selector.__name__, load_experiment.__name__)\n"
        "print(nd.Manager is Manager, hasattr(nd, 'Mangager'))"
    )
    lines = python(code).splitlines()
    assert lines == ["0", "Manager Pattern Selector load_experiment", "True False"]


def test_a_quiet_run_loads_no_bar_and_no_plots(tmp_path: Path) -> None:
    """A run that shows nothing does not wait for what shows things."""
    circuit = PACKAGE.parent / "data" / "circuits" / "one_neuron.gexf"
    code = (
        "import sys\nfrom neurodriver.__main__ import main\n"
        f"code = main(['run', {str(circuit)!r}, '--dt', '1e-4', '--duration', '1e-2', "
        f"'-o', {str(tmp_path / 'x.h5')!r}])\n"
        "print(code, *({'matplotlib', 'tqdm', 'pydantic'} & set(sys.modules)))"
    )
    assert python(code).splitlines()[-1] == "0"


def test_h5py_stays_where_files_are_written() -> None:
    """Only the modules of files import h5py, and only inside functions where it is optional."""
    users = set()
    for path in PACKAGE.rglob("*.py"):
        for item in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in item.names] if isinstance(item, ast.Import) else []
            names += [item.module or ""] if isinstance(item, ast.ImportFrom) else []
            if any(name.partition(".")[0] == "h5py" for name in names):
                users.add(path.relative_to(PACKAGE).as_posix())
    assert "recorders/hdf5.py" in users or "recorders/preallocated.py" in users
    assert users <= H5PY, users - H5PY


@pytest.mark.parametrize("name", ["networkx", "click", "tqdm", "matplotlib", "h5py"])
def test_engine_modules_import_no_user_library(name: str) -> None:
    """Kernels, compilation and backends know nothing of files, graphs and terminals."""
    seen = 0
    for folder in ("codegen", "plan", "backends", "components"):
        for path in (PACKAGE / folder).rglob("*.py"):
            seen += 1
            text = path.read_text(encoding="utf-8")
            assert f"import {name}" not in text and f"from {name}" not in text, path.name
    assert seen > 10
