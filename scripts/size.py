"""Check the size budget: what has grown past one idea is found before it is too late.

python scripts/size.py
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

MODULE, CLASS, FUNCTION, INIT = 450, 250, 60, 60
ROOT = Path(__file__).parents[1]


def tracked() -> list[Path]:
    """Return the Python files that the budget holds for."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    files = [ROOT / name for name in listed if not name.startswith(("tests/", "scripts/peers/"))]
    return [f for f in files if f.exists() and "neurodriver/components" not in str(f)]


def faults(path: Path) -> list[str]:
    """Return what is too long in one file."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT)
    lines = len(text.splitlines())
    limit = INIT if path.name == "__init__.py" else MODULE
    out = [f"{name}: {lines} lines, {limit} are allowed"] if lines > limit else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            allowed = CLASS
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            allowed = FUNCTION
        else:
            continue
        length = (node.end_lineno or 0) - node.lineno + 1 - documentation(node)
        if length > allowed:
            out.append(f"{name}:{node.lineno} {node.name}: {length} lines, {allowed} are allowed")
    return out


def documentation(node: ast.AST) -> int:
    """Return the lines of a docstring, which do not count."""
    body = getattr(node, "body", None)
    if not body or ast.get_docstring(node) is None:  # type: ignore[arg-type]
        return 0
    return body[0].end_lineno - body[0].lineno + 1


def main() -> int:
    files = tracked()
    found = [text for path in files for text in faults(path)]
    total = sum(len(f.read_text(encoding="utf-8").splitlines()) for f in files)
    print(*found, f"{len(files)} files, {total} lines, {len(found)} over the budget", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
