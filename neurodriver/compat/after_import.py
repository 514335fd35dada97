"""``after_import``: does something to a module as soon as somebody has imported it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def after_import(name: str, action: Callable[[ModuleType], None]) -> None:
    """Call ``action`` with a module: now where it is imported already, else right after it is.

    Parameters
    ----------
    name : str
        Of a top-level module.
    action : callable
        Called once.
    """
    if name in sys.modules:
        action(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Once(name, action))


class _Once(MetaPathFinder, Loader):
    """Leaves the finding and loading of a module to others, and acts afterwards."""

    def __init__(self, name: str, action: Callable[[ModuleType], None]) -> None:
        self._name, self._action = name, action
        self._loader: Any = None
        self._asking = False

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return what the other finders say, with this object as the loader."""
        if fullname != self._name or self._asking:
            return None
        self._asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking = False
        if spec is not None:
            self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let the module's own loader make it."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Let the module's own loader run it, then act."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._action(module)
