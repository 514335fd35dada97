"""The page on ports runs as it is written, and ports work without pandas."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "ports.md"


def test_the_page_runs() -> None:
    """Every Python block of the page, one after the other."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) > 5 and sum(block.count("assert") for block in blocks) > 15
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)


def test_pandas_is_needed_for_tables_alone() -> None:
    """Selectors, interfaces, patterns, mappers and graphs work without pandas."""
    code = """
import sys
sys.modules["pandas"] = None
from neurodriver.errors import NeurodriverError
from neurodriver.compat.ports import *
i = Interface("/a[0:3]"); i["/a[0]"] = [0, "in", "spike"]
p = Pattern("/a[0:3]", "/b[0:3]"); p["/a[0]", "/b[0:2]"] = 1
infer_types(p, {0: Interface.from_selectors("/a[0:3]", "", "/a[0:3]", "/a[0:3]", "")})
q = Pattern.from_graph(p.to_graph())
print(q.src_idx(0, 1), i.in_ports(0, True), PortMapper("/a[0:3]", 1.0)["/a[1]"])
t = RoutingTable(); t.connect("x", "y", p); print(t.connections)
try:
    p.data
except NeurodriverError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [
        "[('a', 0)] [('a', 0)] [1.]",
        "[('x', 'y')]",
        'tables need pip install "neurodriver[ports]"',
    ], done.stderr
