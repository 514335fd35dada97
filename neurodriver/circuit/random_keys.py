"""Keys of random numbers: a hash of the uid and of the namespace, never a position.

A component has a key of its own within its circuit. The circuit's namespace is combined with it,
so that equal uids of two namespaces draw independent numbers. The empty namespace changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .circuit import Circuit
from .numbered import Numbered
from .uid_hashes import hashes, hashes_of_column, hashes_of_numbered

_NUMBERED: WeakKeyDictionary[Numbered, NDArray[np.uint64]] = WeakKeyDictionary()
"""Keys of names that count, as long as these are in use: each part of a circuit asks for them."""


def component_keys(circuit: Circuit, number: int) -> NDArray[np.uint64]:
    """Return the 64-bit keys of a group's components, (count,).

    They tell components of all namespaces apart.
    """
    return own_keys(circuit, number) ^ namespace_key(circuit.random_namespace or "")


def own_keys(circuit: Circuit, number: int) -> NDArray[np.uint64]:
    """Return the keys of a group's components within the namespace of their circuit, (count,).

    The hash of the uid; for circuits built from arrays without uids, the global index.
    """
    group = circuit.groups[number]
    if group.keys is not None:
        return group.keys
    if group.names is None:
        start = int(circuit.starts[number])
        return np.arange(start, start + group.count, dtype=np.uint64)
    if isinstance(group.names, Numbered):
        if group.names not in _NUMBERED:
            _NUMBERED[group.names] = hashes_of_numbered(group.names)
            _NUMBERED[group.names].flags.writeable = False
        return _NUMBERED[group.names]
    return hashes_of_column(group.uids)


def uid_keys(uids: Iterable[str], namespace: str = "") -> NDArray[np.uint64]:
    """Return the 64-bit keys of uids in a namespace, (n,)."""
    return hashes(uids) ^ namespace_key(namespace)


def namespace_key(namespace: str) -> np.uint64:
    """Return what a namespace adds to keys by exclusive or; 0 for the empty one."""
    if not namespace:
        return np.uint64(0)
    # The label keeps a namespace apart from a uid of the same name.
    state = hashlib.blake2b(namespace.encode(), digest_size=8, person=b"namespace")
    return np.uint64(int.from_bytes(state.digest(), "little"))
