"""No public name and no command is without a smoke test."""

from __future__ import annotations

import ast
from pathlib import Path

from click import Context

import neurodriver as nd
from neurodriver.__main__ import cli

HERE = Path(__file__)


def public() -> set[str]:
    """Return the public names of the package; its modules are none."""
    names = {*nd.__all__, "open"}
    readers = {f"Circuit.{n}" for n in vars(nd.Circuit) if n.startswith("from_")}
    return names | readers


def used(text: str) -> set[str]:
    """Return the names of the package that a text uses, and its commands as ``$ name``."""
    names = set()
    for part in ast.walk(ast.parse(text)):
        match part:
            case ast.Attribute(value=ast.Name(id="nd"), attr=name):
                names.add(name)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="nd"), attr=owner), attr=name):
                names.add(f"{owner}.{name}")
            case ast.Call(func=ast.Name(id="command"), args=[_, ast.Constant(value=str(name)), *_]):
                names.add(f"$ {name}")
    return names


def test_every_public_name_has_a_smoke_test() -> None:
    """Whoever adds a name to the package, or a command, adds a smoke test of it."""
    found = set()
    for path in HERE.parent.glob("test_*.py"):
        if path != HERE:
            found |= used(path.read_text(encoding="utf-8"))
    wanted = public() | {f"$ {name}" for name in cli.list_commands(Context(cli))}
    assert len(wanted) > 50
    assert not wanted - found, f"no smoke test of {sorted(wanted - found)}"


def test_what_counts_as_use() -> None:
    """A name is used where code names it, not where a text mentions it."""
    text = 'nd.LPU(nd.Circuit.from_file("nd.Movie"))\ncommand(capsys, "run", 1)\n# nd.Events\n'
    assert used(text) == {"LPU", "Circuit", "Circuit.from_file", "$ run"}
