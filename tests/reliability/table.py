"""Print the table of all cases: ``python tests/reliability/table.py [CLASS ...]``."""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import isolated  # noqa: E402

CLASSES = {path.stem.removesuffix("_cases"): path.stem for path in sorted(HERE.glob("*_cases.py"))}


def main(names: list[str]) -> int:
    """Run the cases of some classes, of all by default; the status is 1 where one is at fault."""
    print("| class |", " | ".join(isolated.COLUMNS), "|")
    print("| --- |", " | ".join("---" for _ in isolated.COLUMNS), "|")
    bad = []
    for name in names or CLASSES:
        cases = list(import_module(CLASSES[name]).cases())
        with tempfile.TemporaryDirectory() as folder:
            ends = isolated.ends_of(cases, Path(folder))
        counts = isolated.row(ends)
        print(f"| {name} |", " | ".join(str(counts[column]) for column in isolated.COLUMNS), "|")
        bad += isolated.faults(cases, ends)
    print(*bad, sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
