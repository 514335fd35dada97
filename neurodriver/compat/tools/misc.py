"""Aids without a common idea, as the old library had them in one module."""

from __future__ import annotations

import functools
import re
import subprocess
import traceback
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import LPUExecutionError as LPUExecutionError
from ...mpi import library


def rand_bin_matrix(
    sh: tuple[int, ...], N: int, dtype: npt.DTypeLike = np.double
) -> npt.NDArray[Any]:
    """Return an array of zeros and N ones at random places, drawn by ``numpy.random``.

    Parameters
    ----------
    sh : tuple of int
        Shape.
    N : int
        Number of ones; all elements if it is larger.
    """
    result = np.zeros(sh, dtype)
    # The global generator: scripts call numpy.random.seed().
    result.ravel()[np.random.permutation(result.size)[: max(N, 0)]] = 1
    return result


def catch_exception(
    func: Callable[..., Any], disp: Callable[[str], Any], *args: Any, **kwargs: Any
) -> None:
    """Call a function; hand a text about its exception to ``disp`` instead of raising it.

    The text is ``function: Exception: message (file:line)``, the line being the innermost.
    """
    try:
        func(*args, **kwargs)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        name = getattr(func, "__name__", repr(func))
        disp(f"{name}: {type(error).__name__}: {error} ({frame.filename}:{frame.lineno})")


def memoized_property(fget: Callable[[Any], Any]) -> property:
    """Make a property that is computed once and kept in the attribute ``_<name>``."""
    attribute = f"_{fget.__name__}"

    @functools.wraps(fget)
    def get(self: Any) -> Any:
        if not hasattr(self, attribute):
            setattr(self, attribute, fget(self))
        return getattr(self, attribute)

    return property(get)


def dtype_to_mpi(t: npt.DTypeLike) -> Any:
    """Return the datatype of MPI for one of NumPy.

    Raises
    ------
    NeurodriverError
        Without mpi4py.
    ValueError
        When MPI has no such type.
    """
    MPI = library()
    code = np.dtype(t).char
    try:
        if hasattr(MPI.Datatype, "fromcode"):
            return MPI.Datatype.fromcode(code)
        return MPI._typedict[code]
    except (KeyError, ValueError) as error:
        raise ValueError(f"MPI has no type for {np.dtype(t)}") from error


def openmpi_cuda_support(path: str = "ompi_info") -> bool:
    """Tell whether Open MPI was built with CUDA; False also when ``ompi_info`` does not run."""
    words = [path, "-l", "9", "--param", "mpi", "all", "--parsable"]
    try:
        said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    found = re.search(r"mpi_built_with_cuda_support:value:(\w+)", said.stdout)
    return found is not None and found[1] == "true"


def renumber_in_order(arr: Iterable[Hashable]) -> list[int]:
    """Replace equal elements by one number each: 0 for the first that occurs, 1 for the next.

    Examples
    --------
    >>> renumber_in_order([0, 3, 1, 1, 2, 3])
    [0, 1, 2, 2, 3, 1]
    """
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(item, len(numbers)) for item in arr]
