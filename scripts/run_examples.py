"""Run every example, as a reader would.

python scripts/run_examples.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
WITH_FILE = {"03_lamina.py": ROOT.parent / "shared" / "data" / "neurokernel" / "lamina.gexf.gz"}
"""Run with a file that the project does not ship, where it is there."""

SMALL = {
    "12_spiking_sheet.py": ["--cells", "80", "--seconds", "0.15"],
    "13_reber_grammar.py": ["--epochs", "2"],
    "brette_2007_hh.py": ["--seconds", "0.2"],
    "brunel_2000.py": ["--neurons", "1000", "--seconds", "0.2"],
    "brunel_2000_states.py": ["--neurons", "1250", "--g", "3", "--eta", "2", "--seconds", "0.15"],
    "hpc_benchmark.py": ["--neurons", "1125", "--inputs", "100", "--seconds", "0.2"],
    "izhikevich_2007.py": ["--seconds", "10"],
    "izhikevich_2007_conditioning.py": ["--seconds", "10"],
    "morrison_2007.py": ["--seconds", "10"],
    "naud_2008.py": ["--seconds", "0.1"],
    "potjans_diesmann_2014.py": ["--scale", "0.02", "--seconds", "0.3"],
    "schmidt_2018.py": ["--areas", "A0", "A1", "--sizes", "0.01", "--seconds", "0.2"],
    "shiu_2024.py": ["--neurons", "2000", "--seconds", "0.2"],
    "song_miller_abbott_2000.py": ["--seconds", "10"],
    "tsodyks_markram_1997.py": ["--seconds", "10"],
    "vogels_abbott_2005.py": ["--seconds", "0.3"],
    "vogels_sprekeler_2011.py": ["--neurons", "2000", "--seconds", "1"],
}
"""Run in a small form; what a reader runs without arguments takes longer."""


def run(title: str, command: list[str]) -> bool:
    """Run one program in the project's root; print a line and, when it fails, all it said."""
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    word = "ok  " if done.returncode == 0 else "FAIL"
    print(f"{word} {time.perf_counter() - begin:6.1f} s  {title}")
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n")
    return done.returncode == 0


def main() -> int:
    (ROOT / "out").mkdir(exist_ok=True)
    good = True
    examples = sorted(ROOT.glob("examples/*.py")) + sorted(ROOT.glob("examples/papers/*.py"))
    for path in examples:
        file = WITH_FILE.get(path.name)
        title = str(path.relative_to(ROOT))
        if file is not None and not file.exists():
            print(f"skip          {title}: {file.name} is not part of the project")
        else:
            more = SMALL.get(path.name, []) + ([str(file)] if file else [])
            good &= run(title, [sys.executable, str(path), *more])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
