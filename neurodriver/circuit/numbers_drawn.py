"""Numbers of components that are drawn from a distribution, each by its place.

They have a library of their own. It is short, so it compiles in a fraction of the time of the
functions that draw connections, which a circuit does not need where a GPU draws them.
"""

from __future__ import annotations

import ctypes as ct
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..native.compiler import build
from .distributions import Distribution
from .drawing import NativeLaw, library_source
from .projections import key_of

NUMBERS = ("numbers_drawn",)
"""Files of the functions: see `drawing.library_source`."""


@cache
def _function() -> Any:
    function = build([library_source(NUMBERS)])[0].nd_numbers
    function.restype = None
    return function


def numbers_drawn(
    law: Distribution, count: int, seed: int, name: str, what: str
) -> NDArray[np.float64]:
    """Return numbers, (count,): a function of seed, names and place."""
    out = np.empty(count)
    key = ct.c_ulonglong(key_of(seed, name, what))
    native = ct.byref(NativeLaw(*vars(law.law()).values()))
    _function()(native, key, ct.c_longlong(count), ct.c_void_p(out.ctypes.data))
    return out
