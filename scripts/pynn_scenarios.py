"""Run the scenarios of PyNN's source distribution with the backend of neurodriver.

python scripts/pynn_scenarios.py pynn-0.13.0 [further arguments of pytest]

The folder is that of the unpacked distribution, which is not changed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FIXTURES = """
import pytest


def run_with_simulators(*names):
    import neurodriver.pynn as sim

    return pytest.mark.parametrize("sim", [pytest.param(sim, id="neurodriver")])
"""
"""In place of PyNN's own module, which chooses among its backends."""


def main() -> int:
    """Copy the scenarios, give them this backend, and run pytest."""
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    source = Path(sys.argv[1]) / "test" / "system" / "scenarios"
    if not source.is_dir():
        print(f"{source}: there is no such folder; give that of the unpacked distribution")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "scenarios"
        shutil.copytree(source, copy)
        (copy / "fixtures.py").write_text(FIXTURES)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(copy)]
        return subprocess.run([*command, *sys.argv[2:]], cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
