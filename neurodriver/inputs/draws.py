"""Compiled random rows: a function of uid, namespace, seed and step, in whatever pieces."""

from __future__ import annotations

import copy
import ctypes as ct
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.random_keys import uid_keys
from ..native.compiler import build
from ..native.headers import INLINE, header


class _DrawStruct(ct.Structure):
    _fields_ = [("key", ct.c_void_p), ("seed", ct.c_ulonglong)]
    _fields_ += [(name, ct.c_longlong) for name in ("count", "first", "steps")]
    _fields_ += [("out", ct.c_void_p), ("threads", ct.c_longlong)]


@cache
def _library(dtype: str) -> ct.CDLL:
    """Return the compiled functions for one working type."""
    head = f"/* random inputs */\n#define ND_FN {INLINE}\n"
    names = ("native/math.h", "native/philox.h", "native/draws.h", "native/trains.h")
    real = "float" if dtype == "float32" else "double"
    return build([(head + "\n".join(map(header, names)), (f"-DREAL={real}",))])[0]


_SHARE = 1 << 14
"""Numbers that are worth a thread of their own."""


class Draws:
    """Random rows of one target.

    Inputs of different ``purpose``, their kind and variable, draw independent numbers; so do equal
    uids of different namespaces. So many ``threads`` draw them; the numbers do not depend on it.

    Attributes
    ----------
    uid_keys : (n,) uint64
    seed : int
        Of input, purpose and user together.
    """

    def __init__(self, uids: Sequence[str], seed: int, purpose: str, namespace: str = "") -> None:
        self.namespace, self.threads = namespace, 1
        self.uid_keys = uid_keys(uids, namespace)
        text = f"{purpose} {seed}".encode()
        self.seed = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Keys that tell its columns from those of other inputs, too, (n,)."""
        return self.uid_keys ^ np.uint64(self.seed)

    def of(self, columns: NDArray[np.int64]) -> Draws:
        """Return the draws of some columns alone."""
        other = copy.copy(self)
        other.uid_keys = np.ascontiguousarray(self.uid_keys[columns])
        return other

    def call(
        self, name: str, first: int, out: NDArray[Any], *arguments: Any, steps: int | None = None
    ) -> None:
        """Let function ``name`` fill ``out`` (steps, n) with the rows from step ``first`` on.

        ``steps`` are drawn where ``out`` has no row for them; ``arguments`` follow the rows.
        """
        count = len(out) if steps is None else steps
        threads = min(self.threads, 1 + max(count * len(self.uid_keys), out.size) // _SHARE)
        rows = _DrawStruct(self.uid_keys.ctypes.data, self.seed, len(self.uid_keys), first, count,
                           out.ctypes.data, threads)  # fmt: skip
        numbers = {float: ct.c_double, int: ct.c_longlong}
        converted = [
            ct.c_void_p(value.ctypes.data)
            if isinstance(value, np.ndarray)
            else numbers[type(value)](value)
            for value in arguments
        ]
        getattr(_library(out.dtype.name), name)(ct.byref(rows), *converted)


GUIDE = 64
"""Numbers of a guide, as ``ND_GUIDE`` of ``native/draws.h``; a power of two."""


def poisson_table(
    mean: NDArray[np.float64],
) -> tuple[NDArray[Any], ...]:
    """Return the cumulative probabilities of Poisson counts of means, (n,), 500 at most.

    A count is searched from that of its guide on (Devroye, Non-Uniform Random Variate Generation,
    1986, doi 10.1007/978-1-4613-8643-8).

    Returns
    -------
    at : (n,) int64
        Where those of each column begin.
    none : (n,) float64
        Probability of no event.
    cumulative : float64
        P(0), P(0) + P(1), ... and a last 2, for each different mean.
    guided : (n,) int64
        Where the guide of each column begins.
    guide : uint16
        For each different mean and each number j below ``GUIDE``: the least count whose cumulative
        probability is above j / ``GUIDE``.
    """
    different, which = np.unique(mean, return_inverse=True)
    largest = float(different.max(initial=0.0))
    most = int(largest + 12 * np.sqrt(largest) + 30)  # beyond: less than 2^-60
    table = np.empty((len(different), most + 1))
    chance = np.exp(-different)
    table[:, 0] = chance
    for k in range(1, most):
        chance = chance * different / k
        table[:, k] = table[:, k - 1] + chance
    table[:, most] = 2.0
    at = (which * (most + 1)).astype(np.int64)
    bins = np.ceil(table * GUIDE).astype(np.int64)  # a product with a power of two is exact
    rows = np.arange(len(different))[:, None] * (2 * GUIDE + 1)
    size = len(different) * (2 * GUIDE + 1)
    counts = np.bincount((rows + bins).reshape(-1), minlength=size).reshape(-1, 2 * GUIDE + 1)
    guide = np.cumsum(counts[:, :GUIDE], axis=1).astype(np.uint16)
    guided = (which * GUIDE).astype(np.int64)
    return at, table[which, 0].copy(), table.reshape(-1), guided, guide.reshape(-1)
