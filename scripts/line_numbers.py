"""Line numbers in the walk-throughs of docs/design: where a function begins, by its name.

A stop of a walk-through is a link with a line, and the name of a function behind it::

    [neurodriver/io/gexf.py:87](../../neurodriver/io/gexf.py#L87) `_Reader.add_node`

``refreshed`` writes the present lines into a page. It refuses a function that is gone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

STOP = re.compile(r"\[(?P<path>neurodriver/[\w./]+):\d+\]\(\.\./\.\./(?P=path)#L\d+\)"
                  r"(?P<space>\s+)`(?P<name>[\w.]+)`")  # fmt: skip

LINK = re.compile(r"\[neurodriver/[\w./]+:\d+\]")


class Gone(Exception):
    """A page names a function that its file does not define."""


def stops(text: str) -> list[tuple[str, str]]:
    """Return file and function of each stop of a page."""
    return [(found["path"], found["name"]) for found in STOP.finditer(text)]


def refreshed(text: str, root: Path) -> str:
    """Return a page with the present line of each function.

    Parameters
    ----------
    root : Path
        Folder of the repository.

    Raises
    ------
    Gone
        For a function that its file does not define, or a link without a function.
    """
    if len(LINK.findall(text)) != len(stops(text)):
        raise Gone("a link to a line needs the name of a function behind it")

    def one(found: re.Match[str]) -> str:
        path, name = found["path"], found["name"]
        line = line_of(root / path, name)
        return f"[{path}:{line}](../../{path}#L{line}){found['space']}`{name}`"

    return STOP.sub(one, text)


def line_of(path: Path, name: str) -> int:
    """Return the line on which a function begins.

    A method is ``Class.method`` in Python. In C++ it is its name alone, which must be unique.

    Raises
    ------
    Gone
        When the file, or the function in it, does not exist.
    """
    if not path.is_file():
        raise Gone(f"{path.name}: no such file; the page names `{name}` in it")
    lines = _defined(path).get(name, [])
    if len(lines) != 1:
        what = "is not defined" if not lines else f"is defined {len(lines)} times"
        raise Gone(f"{path.name}: `{name}` {what}")
    return lines[0]


@cache
def _defined(path: Path) -> dict[str, list[int]]:
    """Return the functions of a file with the lines on which they begin."""
    text = path.read_text(encoding="utf-8")
    out: dict[str, list[int]] = {}
    found = _python(ast.parse(text), "") if path.suffix == ".py" else _cplusplus(text)
    for name, line in found:
        out.setdefault(name, []).append(line)
    return out


def _python(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            yield prefix + one.name, one.lineno
            yield from _python(one, f"{prefix}{one.name}.")


def _cplusplus(text: str) -> Iterator[tuple[str, int]]:
    """Yield the functions that begin on a line of their own, with their body below."""
    head = re.compile(r"^[ \t]*(?:[\w:<>*&,\"() ]+[ *&])?(\w+)\([^;{]*\)[ \w]*\n?[ \t]*\{", re.M)
    words = {"if", "for", "while", "switch", "return", "catch", "sizeof"}
    for found in head.finditer(text):
        if found[1] not in words:
            yield found[1], text.count("\n", 0, found.start(1)) + 1
