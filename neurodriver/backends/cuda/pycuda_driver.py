"""PyCUDA, for classes of users that use it; nothing else here needs it."""

from __future__ import annotations

from typing import Any


def pycuda_driver() -> Any | None:
    """Return PyCUDA's driver module, ready for use; None where PyCUDA is not installed."""
    try:
        import pycuda.driver as cuda
    except ImportError:
        return None
    if not isinstance(getattr(cuda, "Error", None), type):  # something that stands for it
        return None
    cuda.init()
    return cuda
