"""C types of numpy types, as PyCUDA names them."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

_C_TYPES = {
    "float64": "double",
    "float32": "float",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "int16": "short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}


def dtype_to_ctype(dtype: DTypeLike) -> str:
    """Return the C type of a numpy type.

    Raises
    ------
    ValueError
        For a type that has none.
    """
    name = np.dtype(dtype).name
    if name not in _C_TYPES:
        raise ValueError(f"no C type for {name}; known are {', '.join(_C_TYPES)}")
    return _C_TYPES[name]
