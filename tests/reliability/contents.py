"""What a file brings to those who read it, as a digest: equal for files that mean the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import seeds

from neurodriver import Circuit


def digest(kind: str, path: Path) -> str:
    """Read a file of a kind of `seeds`; return the digest of all that comes of it."""
    out = hashlib.sha256()
    for part in _parts(seeds.READ[kind](path)):
        out.update(part.replace(str(path).encode(), b""))
    return out.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    """Yield a value and all that it holds as bytes."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes()
    elif isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            yield repr(key).encode()
            yield from _parts(value[key])
    elif isinstance(value, list | tuple):
        yield f"{len(value)} values".encode()
        for one in value:
            yield from _parts(one)
    elif isinstance(value, Circuit):
        names = [(one.name, one.variable, one.access) for one in value.connections]
        yield from _parts([value.digest, value.uids, value.groups, names])
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield type(value).__name__.encode()
        yield from _parts(vars(value))
    else:
        yield repr(value).encode()
