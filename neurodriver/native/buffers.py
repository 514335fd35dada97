"""Arrays that begin at a cache line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LINE = 64
PAGE = 4096

LARGE = 1 << 20
"""Bytes from which a second copy is worth avoiding; smaller ones are better staggered."""

_turn = count()

LANES = 16
"""Components that are computed side by side; every segment is padded to a multiple."""

GUARD = 4 * LANES
"""Elements before and behind a ring that kernels may read; what they read there has no effect."""


def padded(count: int) -> int:
    """Return ``count`` rounded up to whole vectors."""
    return -(-count // LANES) * LANES


def aligned(size: int, dtype: DTypeLike, sparse: bool = False) -> NDArray[Any]:
    """Return ``size`` zeros that begin at a cache line; if ``sparse``, pages come when written.

    Each array begins five lines further within its page than the one before: a loop that reads
    many arrays at one index would otherwise find them all at the same place of the page, where
    a load has to wait for a store to another array.
    """
    dtype = np.dtype(dtype)
    make = np.zeros if sparse else np.empty
    raw = make(size * dtype.itemsize + 2 * PAGE, dtype=np.uint8)
    if not sparse:
        raw[:] = 0  # empty, then written: large arrays get large pages
    stagger = next(_turn) * 5 * LINE % PAGE
    first = -raw.ctypes.data % PAGE + stagger
    return raw[first : first + size * dtype.itemsize].view(dtype)


def as_aligned(array: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return an array that begins at a cache line, of another type if given; a copy if need be."""
    same = array.dtype == np.dtype(dtype or array.dtype) and array.flags.c_contiguous
    if same and array.ctypes.data % LINE == 0 and array.nbytes >= LARGE:
        return array.reshape(-1)
    out = aligned(array.size, dtype or array.dtype)
    out[:] = array.reshape(-1)
    return out


@dataclass(frozen=True)
class ZeroArray:
    """Zeros that are not made before it is known that there is memory for them."""

    size: int
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self.size * np.dtype(self.dtype).itemsize


class DrawnArray:
    """Numbers that are drawn where they will lie; whoever looks at them here draws them here.

    Parameters
    ----------
    here : callable
        Returns the numbers, (size,), in host memory.
    there : callable
        Takes the address at which they will lie on a device, and draws them there.
    """

    ndim = 1

    def __init__(
        self,
        size: int,
        dtype: DTypeLike,
        here: Callable[[], NDArray[Any]],
        there: Callable[[int], None],
    ) -> None:
        self.size, self.dtype = size, np.dtype(dtype)
        self._here, self.there = here, there

    @property
    def shape(self) -> tuple[int, ...]:
        """One length, as arrays have it."""
        return (self.size,)

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.size

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._here(), dtype=dtype, copy=copy)

    def __getitem__(self, which: Any) -> Any:
        return self._here()[which]

    def max(self, initial: int) -> int:
        """Return the greatest number, at least ``initial``."""
        return int(self._here().max(initial=initial))
