"""Run what the README shows, as a reader would: in an empty folder, one block after the other.

python scripts/run_readme.py

It runs with this Python, which has neurodriver installed, or finds it by PYTHONPATH.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def blocks(text: str) -> list[str]:
    """Return the Python blocks of a Markdown text."""
    return re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)


def commands(text: str) -> list[str]:
    """Return the command lines of a Markdown text that call ``neurodriver``."""
    return [line.strip() for line in text.splitlines() if line.startswith("    neurodriver ")]


def steps(text: str) -> list[tuple[str, list[str], str | None]]:
    """Return what is run: title, words, standard input."""
    # a later block may use what an earlier one has made
    python = "\n".join(blocks(text))
    rest = [(line, ["-m", *line.split()], None) for line in commands(text)]
    return [("Python blocks", ["-"], python), *rest]


def main() -> int:
    text = README.read_text(encoding="utf-8")
    todo = steps(text)
    good = len(blocks(text)) > 2 and len(todo) > 2
    with tempfile.TemporaryDirectory() as folder:
        for title, words, given in todo:
            begin = time.perf_counter()
            done = subprocess.run(
                [sys.executable, *words], cwd=folder, input=given, capture_output=True, text=True
            )
            word = "ok  " if done.returncode == 0 else "FAIL"
            print(f"{word} {time.perf_counter() - begin:6.1f} s  README.md, {title}", flush=True)
            if done.returncode:
                print(done.stdout, done.stderr, sep="\n")
                good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
