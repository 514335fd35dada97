"""``Functions``: functions of MPI that compiled code calls, and how large their arguments are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .starting import library


@dataclass(frozen=True)
class Functions:
    """Addresses of ``MPI_Startall`` and ``MPI_Testall``; bytes of a request and of a status."""

    start: int
    test: int
    request: int
    status: int

    def handles(self, requests: Sequence[Any]) -> NDArray[np.uint8]:
        """Return requests of mpi4py as the functions take them, (n, bytes)."""
        address = library()._addressof
        found = b"".join(ctypes.string_at(address(one), self.request) for one in requests)
        return np.frombuffer(found, np.uint8).reshape(len(requests), self.request)


@cache
def functions() -> Functions | None:
    """Return the functions of the library of MPI that mpi4py uses, None where they are hidden."""
    MPI = library()
    try:
        found = ctypes.CDLL(MPI.__file__)
        each = (found.MPI_Startall, found.MPI_Testall)
    except (OSError, AttributeError):
        return None
    start, test = (ctypes.cast(one, ctypes.c_void_p).value or 0 for one in each)
    return Functions(start, test, MPI._sizeof(MPI.Request), MPI._sizeof(MPI.Status))
