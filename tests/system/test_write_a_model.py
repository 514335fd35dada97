"""The examples of the page "Write a model" run, each on its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "write-a-model.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
EXPECTED = [
    r"euler_maruyama True",
    r"14",
    r"exact True",
    r"exact True",
    r"-(5\d|6\d)\.\d+",
    r"0\.756725",
    r"22 -33\.3\d+",
    r"\[0\.0\d+ .*\]",
    r"\[(-0\.0906\d+) +9\.\d+ +9\.\d+\]",
    r"1\.4\d+",
]
"""What each block prints."""


def test_every_block_is_known() -> None:
    """A block that is added here is checked here."""
    assert len(BLOCKS) == len(EXPECTED) == 10


@pytest.mark.parametrize("number", range(len(EXPECTED)))
def test_block(number: int, tmp_path: Path) -> None:
    """The block runs as a script in a folder of its own and prints what it should."""
    script = tmp_path / "example.py"
    script.write_text(BLOCKS[number], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(EXPECTED[number], " ".join(done.stdout.split())), done.stdout
