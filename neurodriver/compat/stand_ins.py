"""``garray``, ``cuda``, ``SourceModule``, ``dtype_to_ctype``: PyCUDA's, or what stands for them.

Files of models import these names wherever they run. Where there is no PyCUDA, they can be
imported and mentioned; using one says what is missing.
"""

from __future__ import annotations

from typing import Any

from ..errors import NeurodriverError
from .components import dtype_to_ctype as _c_type


class NoDeviceError(NeurodriverError, ImportError):
    """Something of PyCUDA is used where it is not installed."""


class Absent:
    """Stands for a name of PyCUDA that is not there.

    Parameters
    ----------
    name : str
        Full name, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.__module__ = "pycuda"  # models that mention it need a GPU

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        message = f"{self._name} needs PyCUDA and a GPU: pip install 'neurodriver[gpu,pycuda]'"
        raise NoDeviceError(f"{message}; on the CPU, models give get_update_template() instead")

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{self._name}, not installed>"


def _pycuda(module: str, attribute: str = "") -> Any:
    from importlib import import_module

    try:
        found = import_module(module)
        return getattr(found, attribute) if attribute else found
    except (ImportError, OSError, AttributeError):
        return Absent(f"{module}.{attribute}" if attribute else module)


def __getattr__(name: str) -> Any:
    places = {
        "garray": ("pycuda.gpuarray",),
        "cuda": ("pycuda.driver",),
        "SourceModule": ("pycuda.compiler", "SourceModule"),
    }
    if name in places:
        return _pycuda(*places[name])
    if name == "dtype_to_ctype":
        found = _pycuda("pycuda.tools", name)
        return _c_type if isinstance(found, Absent) else found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
