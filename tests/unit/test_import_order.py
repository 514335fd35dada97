"""Imports point down: a folder imports those before it, and no modules import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "neurodriver"

ORDER = (
    "version", "importing", "errors", "arguments", "html", "quantities", "settings", "system",
    "side_by_side", "mpi", "adapters", "profiling", "native", "model", "components", "ports",
    "circuit", "io", "results", "recorders", "inputs", "circuits", "plan", "codegen", "backends",
    "state", "run", "error_driven", "parallel", "plot", "view", "sweeps", "experiment", "published",
    "pynn", "lazy", "neurodriver", "cli", "__main__", "compat",
)  # fmt: skip
"""Folders and modules from the ground floor up; ``neurodriver`` is the package's ``__init__``."""

LATER = {("cli", "compat")}
"""A command may load the adapter for old scripts when it is asked to."""


def modules() -> dict[str, Path]:
    """Return the modules of the package by their names."""
    out = {}
    for folder, name in ((PACKAGE, "neurodriver"), (ROOT / "components", "neurodriver.components")):
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            if folder == PACKAGE and parts[0] == "components":
                continue
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            out[".".join([name, *parts])] = path
    return out


MODULES = modules()


def guarded(tree: ast.AST) -> set[int]:
    """Return the ids of the nodes that only a type checker sees."""
    tests = [n for n in ast.walk(tree) if isinstance(n, ast.If)]
    only = [n for n in tests if ast.unparse(n.test) == "TYPE_CHECKING"]
    return {id(node) for one in only for part in one.body for node in ast.walk(part)}


def imported(name: str, path: Path, annotations: bool) -> Iterator[str]:
    """Yield the modules of the package that a module imports, in functions too.

    Also those that only annotations need, if asked for.
    """
    here = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = set() if annotations else guarded(tree)
    for item in ast.walk(tree):
        if id(item) in left_out:
            continue
        if isinstance(item, ast.Import):
            yield from (a.name for a in item.names if a.name in MODULES)
        elif isinstance(item, ast.ImportFrom):
            base = here[: len(here) - item.level + 1] if item.level else []
            whole = ".".join([*base, *([item.module] if item.module else [])])
            for alias in item.names:
                found = f"{whole}.{alias.name}"
                if found in MODULES or whole in MODULES:
                    yield found if found in MODULES else whole


def floor(name: str) -> str:
    """Return the folder of a module, or its own name where it stands beside the folders."""
    return name.split(".")[1] if "." in name else name


@cache
def graph(annotations: bool) -> nx.DiGraph:
    """Return which module imports which."""
    pairs = ((a, b) for a, path in MODULES.items() for b in imported(a, path, annotations))
    return nx.DiGraph((a, b) for a, b in pairs if a != b)


def test_every_folder_has_its_place() -> None:
    """A new folder is put into the order."""
    assert {floor(name) for name in MODULES} == set(ORDER)
    assert graph(annotations=True).number_of_edges() > 500


def test_imports_point_down() -> None:
    """No folder imports one that comes after it; not even in a function or for annotations."""
    place = {name: i for i, name in enumerate(ORDER)}
    up = sorted(
        f"{a} -> {b}"
        for a, b in graph(annotations=True).edges
        if place[floor(a)] < place[floor(b)] and (floor(a), floor(b)) not in LATER
    )
    assert not up, "imports that point up:\n" + "\n".join(up)


def test_no_modules_import_each_other() -> None:
    """There is no cycle of imports, not even by one in a function."""
    needed = graph(annotations=False)
    cycles = [sorted(c) for c in nx.strongly_connected_components(needed) if len(c) > 1]
    assert not cycles, f"modules that import each other: {cycles}"
