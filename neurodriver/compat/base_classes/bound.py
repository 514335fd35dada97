"""``bound``: lets old classes find PyCUDA, or what stands for it, while one of their methods runs.

Files of such classes import PyCUDA when they are loaded. On the CPU the names that they got there
mean the stand-ins instead. On a GPU they mean PyCUDA, but sizes of grids may be fractions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ..stand_ins import Absent
from . import host_cuda
from .host_kernels import floored

_MISSING = object()


@contextmanager
def bound(model: type, on_host: bool) -> Iterator[None]:
    """Give the names of PyCUDA in the modules of a class the meaning that they have here."""
    modules = host_cuda.MODULES if on_host else _on_device()
    with _imported(modules):
        changed: list[tuple[dict[str, Any], str, Any]] = []
        for name in {base.__module__ for base in model.__mro__}:
            names = vars(sys.modules.get(name, ModuleType(name)))
            if name.startswith(("neurodriver.", "builtins", "abc")):
                continue
            for key, value in list(names.items()):
                other = _standing_for(value, modules)
                if other is not _MISSING and other is not value:
                    changed.append((names, key, value))
                    names[key] = other
        try:
            yield
        finally:
            for names, key, value in changed:
                names[key] = value


@contextmanager
def _imported(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def _standing_for(value: Any, modules: Mapping[str, ModuleType]) -> Any:
    """Return what stands for a value of a user's module; ``_MISSING`` where nothing does."""
    if isinstance(value, ModuleType):
        return modules.get(value.__name__, _MISSING)
    if isinstance(value, Absent):
        module, _, name = value._name.rpartition(".")
    else:
        module, name = getattr(value, "__module__", None) or "", getattr(value, "__name__", "")
    if not isinstance(module, str) or module.partition(".")[0] not in ("pycuda", "pytools"):
        return _MISSING
    if isinstance(value, Absent) and value._name in modules:
        return modules[value._name]
    found = (vars(one)[name] for one in modules.values() if name in vars(one))
    return next(found, _MISSING)


class RoundedModule:
    """A ``SourceModule`` of PyCUDA whose kernels take fractions as sizes of grids."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self._module = _compiler().SourceModule(*given, **options)

    def get_function(self, name: str) -> RoundedFunction:
        """Return a kernel of the text."""
        return RoundedFunction(self._module.get_function(name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class RoundedFunction:
    """A kernel of PyCUDA; sizes of its grid are rounded down."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def prepared_call(self, grid: Any, block: Any, *args: Any, **more: Any) -> Any:
        """Run the kernel and wait for it."""
        return self._function.prepared_call(_sizes(grid), _sizes(block), *args, **more)

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *args: Any, **m: Any) -> Any:
        """Run the kernel."""
        call = self._function.prepared_async_call
        return call(_sizes(grid), _sizes(block), stream, *args, **m)

    def __call__(self, *args: Any, **more: Any) -> Any:
        more.update({name: _sizes(more[name]) for name in ("grid", "block") if name in more})
        return self._function(*args, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def _sizes(given: Any) -> tuple[int, ...]:
    return tuple(floored(given))


_REAL: dict[str, ModuleType] = {}


def _compiler() -> Any:
    return _REAL["pycuda.compiler"]


def _on_device() -> dict[str, ModuleType]:
    """Return the module of PyCUDA that is replaced on a GPU: kernels with rounded grids."""
    import pycuda.compiler

    found = sys.modules["pycuda.compiler"]
    if not hasattr(found, "nd_rounds"):
        _REAL["pycuda.compiler"] = pycuda.compiler
        made = ModuleType("pycuda.compiler")
        names: dict[str, Any] = {**vars(found), "SourceModule": RoundedModule, "nd_rounds": True}
        vars(made).update(names)
        _REAL["rounded"] = made
    return {"pycuda.compiler": _REAL["rounded"]}
