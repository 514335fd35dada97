"""Names of the package that may move: the only place of the zoo that knows modules."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def _first(name: str, *modules: str) -> Any:
    """Return a name, or with an empty name a module itself, from the first module that has it."""
    for module in modules:
        try:
            found = import_module(module)
        except ModuleNotFoundError:
            continue
        if not name:
            return found
        if hasattr(found, name):
            return getattr(found, name)
    raise ImportError(f"no {name or 'module'} in {', '.join(modules)}; add its place to {__file__}")


shipped: Callable[[], dict[str, Any]] = _first(
    "shipped", "neurodriver", "neurodriver.library", "neurodriver.model.library"
)
"""Name -> shipped model."""

cut: Callable[..., Any] = _first("cut", "neurodriver.circuit.cut", "neurodriver")
"""Cuts a circuit into parts."""

optic_lobe: Any = _first("", "neurodriver.circuits.optic_lobe")
generic: Any = _first("", "neurodriver.circuits.generic")

old: Any = _first("", "neurodriver.compat.components")
"""Base classes of models that list names and write kernels or ``run_step``."""
