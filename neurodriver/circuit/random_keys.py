"""Key of each component's random numbers: a hash of its uid, never its position."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .circuit import Circuit


def component_keys(circuit: Circuit, number: int) -> NDArray[np.uint64]:
    """Return the 64-bit keys of a group's components, (count,).

    The hash of the uid; for circuits built from arrays without uids, the global index.
    """
    group = circuit.groups[number]
    if group.keys is not None:
        return group.keys
    if group.given_uids is None:
        start = int(circuit.starts[number])
        return np.arange(start, start + group.count, dtype=np.uint64)
    return uid_keys(group.uids.tolist())


def uid_keys(uids: Iterable[str]) -> NDArray[np.uint64]:
    """Return the 64-bit hashes of uids, (n,)."""
    digests = (hashlib.blake2b(u.encode(), digest_size=8).digest() for u in uids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
