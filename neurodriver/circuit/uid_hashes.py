"""Hashes of many uids at once: BLAKE2b with 8 bytes, the same as those of ``hashlib``."""

from __future__ import annotations

import ctypes as ct
import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..errors import CompileError
from ..native.compiler import build
from ..native.headers import header
from ..system import cores
from .numbered import Column, Numbered

MANY = 1 << 15
"""For at least so many uids a loop is compiled. The library is then kept in the cache."""

BLOCK, DIGITS = 128, 20
"""Bytes of the longest text that the loop takes, and most digits of a number."""


def hashes(uids: Iterable[str]) -> NDArray[np.uint64]:
    """Return the hashes of uids, (n,), computed by Python."""
    digests = (hashlib.blake2b(u.encode(), digest_size=8).digest() for u in uids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def hashes_of_numbered(names: Numbered) -> NDArray[np.uint64]:
    """Return the hashes of numbered names, (n,), without storing the names."""
    loop = _compiled() if names.shape[0] >= MANY else None

    def hashed(name: str, count: int) -> NDArray[np.uint64]:
        head = f"{name}/".encode()
        if loop is None or len(head) + DIGITS > BLOCK:
            chunks = Numbered(((name, count),)).chunks()
            return np.concatenate([hashes([]), *map(hashes, chunks)])
        out = np.empty(count, np.uint64)
        given = ct.c_char_p(head), ct.c_int(len(head)), ct.c_longlong(count)
        loop.nd_numbered_keys(*given, ct.c_void_p(out.ctypes.data))
        return out

    if not names.parts:
        return np.empty(0, np.uint64)
    if loop is None:
        return np.concatenate([hashed(*part) for part in names.parts])
    with ThreadPoolExecutor(cores()) as pool:  # compiled code does not hold the interpreter
        return np.concatenate(list(pool.map(hashed, *zip(*names.parts, strict=True))))


def hashes_of_column(uids: Column) -> NDArray[np.uint64]:
    """Return the hashes of a column of uids, (n,)."""
    loop = _compiled() if len(uids) >= MANY else None
    if loop is None:
        return hashes(uids.tolist())
    texts = np.ascontiguousarray(np.strings.encode(uids, "utf-8"))
    if texts.itemsize > BLOCK:
        return hashes(uids.tolist())
    out = np.empty(len(uids), np.uint64)
    given = ct.c_void_p(texts.ctypes.data), ct.c_int(texts.itemsize), ct.c_longlong(len(uids))
    loop.nd_text_keys(*given, ct.c_void_p(out.ctypes.data))
    return out


@cache
def _compiled() -> ct.CDLL | None:
    """Return the compiled loops, or None if there is no compiler."""
    try:
        return build([(header("native/uid_keys.h"), ())])[0]
    except CompileError:
        return None
