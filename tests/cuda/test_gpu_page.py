"""The example of the page "On a GPU" runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"


def test_example(tmp_path: Path) -> None:
    """The raw class gives the numbers that its twin for the CPU gives."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    script = tmp_path / "example.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert re.fullmatch(r"\[(-0\.0906\d+) +9\.\d+ +9\.\d+\]", said), said
