"""Finds ``pycuda``, ``future``, ``past`` and ``dill`` where they are not installed."""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_HERE = "neurodriver.compat.absent"
_MOVED = ("builtins", "collections", "configparser", "copyreg", "html", "html.entities",
          "html.parser", "http", "http.client", "itertools", "pickle", "queue", "reprlib",
          "socketserver", "subprocess", "sys", "urllib", "urllib.error", "urllib.parse",
          "urllib.request")  # fmt: skip

MODULES: dict[str, str] = {
    "dill": f"{_HERE}.dill",
    "future": "",
    "future.builtins": "builtins",
    "future.moves": "",
    **{f"future.moves.{name}": name for name in _MOVED},
    "future.standard_library": f"{_HERE}.standard_library",
    "future.utils": f"{_HERE}.future_utils",
    "past": "",
    "past.builtins": f"{_HERE}.past_builtins",
    "past.utils": f"{_HERE}.future_utils",
}
"""Module -> the module whose names it gives; empty for a package without names."""


class StandIns(MetaPathFinder, Loader):
    """Finds the modules of ``MODULES``, and all of PyCUDA, where nothing else finds them.

    The names of PyCUDA can be mentioned, not used.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how to make a stand-in; None for any other module."""
        top = fullname.partition(".")[0]
        if fullname not in MODULES and top != "pycuda":
            return None
        if PathFinder.find_spec(top) is not None:
            return None  # it is installed, and has no such module
        package = fullname == "pycuda" or any(n.startswith(f"{fullname}.") for n in MODULES)
        return ModuleSpec(fullname, self, is_package=package)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let Python make the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names."""
        name = module.__name__
        module.__doc__ = f"Stands for {name}, which is not installed; see docs/migration.md."
        if name not in MODULES:
            module.__dict__["__getattr__"] = lambda wanted: _of_pycuda(name, wanted)
        elif MODULES[name]:
            found = importlib.import_module(MODULES[name])
            names = getattr(found, "__all__", None) or vars(found)
            given = {n: getattr(found, n) for n in names if not n.startswith("_")}
            module.__dict__.update(given, __all__=list(given))


def _of_pycuda(module: str, wanted: str) -> Any:
    from ..components import dtype_to_ctype
    from ..stand_ins import Absent

    if wanted.startswith("__"):
        raise AttributeError(wanted)
    if (module, wanted) == ("pycuda.tools", "dtype_to_ctype"):
        return dtype_to_ctype
    return Absent(f"{module}.{wanted}")


def install() -> None:
    """Make the stand-ins importable; a second call changes nothing."""
    if not any(isinstance(finder, StandIns) for finder in sys.meta_path):
        sys.meta_path.append(StandIns())  # last: what is installed comes first
