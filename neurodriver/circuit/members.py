"""What populations, parts of them and selections have in common: they name components."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError

if TYPE_CHECKING:
    from .circuit import Circuit

Rows = NDArray[np.int64]


class Members(ABC):
    """Components with names; it holds no object for any of them.

    It can be given wherever components are named: to inputs, recorders and projections. Iterating
    yields the uids.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of components."""

    @property
    @abstractmethod
    def uids(self) -> NDArray[np.str_]:
        """Names of the components, (count,) str."""

    @abstractmethod
    def __getitem__(self, index: Any) -> Members:
        """Return some of the components: by number, slice, mask or array of numbers."""

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[str]:
        return iter(self.uids.tolist())

    def numbers_in(self, circuit: Circuit) -> Rows:
        """Return the component numbers in a circuit, (count,) int64.

        Raises
        ------
        CircuitError
            Where the circuit lacks one of the components.
        """
        uids = self.uids
        found = circuit.find(uids)
        lost = np.flatnonzero(found < 0)
        if len(lost):
            some = f"no component '{uids[lost[0]]}'"
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            fix = "give its population to the circuit"
            raise CircuitError(f"{circuit.name}: {self.name}: there is {some}{more}; {fix}")
        return found


def rows_of(index: object, count: int, name: str) -> Rows:
    """Return the rows that an index means among ``count``, (n,) int64.

    Parameters
    ----------
    index : int, slice, (count,) bool array, or array of int
        Negative numbers count from the end.
    count : int
        Number of rows.
    name : str
        What messages call what is indexed.

    Raises
    ------
    CircuitError
        For any other index, a number beyond the last row, or one that stands twice.
    """
    if isinstance(index, slice):
        try:
            return np.arange(count, dtype=np.int64)[index]
        except TypeError:
            raise CircuitError(f"{name}: a slice of whole numbers is needed, got {index}") from None
    allowed = f"a whole number from {-count} to {count - 1}, a slice, a mask of {count} booleans"
    refused = f"{name}: an index must be {allowed} or an array of such numbers, got"
    try:
        given = np.asarray(index)
    except ValueError:
        raise CircuitError(f"{refused} {index!r:.60}") from None
    if given.dtype.kind == "b" and given.shape == (count,):
        return np.flatnonzero(given)
    if given.ndim > 1 or given.dtype.kind not in "iu":
        if given.shape == (0,) and given.dtype.kind != "b":
            return np.empty(0, np.int64)
        got = f"{given.dtype} of shape {given.shape}" if given.ndim else f"{index!r:.60}"
        raise CircuitError(f"{refused} {got}")
    rows = np.atleast_1d(given)
    beyond = rows[(rows < -count) | (rows >= count)]
    if len(beyond):
        raise CircuitError(f"{refused} {beyond[0]}")
    rows = np.where(rows < 0, rows + count, rows).astype(np.int64)
    if len(np.unique(rows)) < len(rows):
        values, times = np.unique(rows, return_counts=True)
        raise CircuitError(f"{name}: the index names {values[times > 1][0]} twice; name it once")
    return rows


def index_text(index: object) -> str:
    """Return how messages write an index."""
    parts = index if isinstance(index, tuple) else (index,)
    return f"[{', '.join(map(_part_text, parts))}]"


def _part_text(index: object) -> str:
    if isinstance(index, slice):
        parts = ["" if end is None else str(end) for end in (index.start, index.stop)]
        step = "" if index.step is None else f":{index.step}"
        return f"{':'.join(parts)}{step}"
    plain = index is not Ellipsis and np.ndim(index) == 0  # type: ignore[arg-type]
    return f"{index}" if plain else "..."
