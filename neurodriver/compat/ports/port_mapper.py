"""Port mappers: port identifiers to places in an array, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ...errors import PortError
from ...ports.identifiers import Rows
from ...ports.tokens import Token
from .frames import identifiers_of, import_pandas, multiindex
from .selector import Finder, Selector, SelectorLike, rows_of
from .tuples import tuples_of

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]
Chosen = Callable[[Array], Any] | Sequence[Any] | Array


def _indices(inds: Any) -> Rows:
    """Return indices as an array; anything but whole numbers is refused."""
    out = np.asarray(inds)
    if out.size and out.dtype.kind not in "iu":
        raise PortError(f"indices are integers (got an array of {out.dtype})")
    return np.atleast_1d(out).astype(np.int64)


class BasePortMapper:
    """Maps ports to integers.

    Parameters
    ----------
    selector : SelectorLike
        The ports, unambiguous. A port may stand several times, for several integers.
    portmap : (n,) int, optional
        The integer of each port; by default 0, 1, ..., n - 1.

    Raises
    ------
    PortError
        When there are not as many integers as ports.
    """

    def __init__(self, selector: SelectorLike = "", portmap: Any = None) -> None:
        self.ids = Selector(selector).ids
        self.inds = self._checked(portmap)

    def _checked(self, portmap: Any) -> Rows:
        if portmap is None:
            return np.arange(len(self.ids))
        inds = _indices(portmap).copy()
        if len(inds) != len(self.ids):
            raise PortError(f"{len(self.ids):,} ports need as many indices (got {len(inds):,})")
        return inds

    @classmethod
    def from_index(cls, idx: pd.Index, portmap: Any = None) -> Self:
        """Return the mapper of the identifiers of an index of pandas."""
        out = cls("")
        out.ids = identifiers_of(idx).trimmed()
        out.inds = out._checked(portmap)
        return out

    @classmethod
    def from_pm(cls, pm: BasePortMapper) -> Self:
        """Return a mapper with the ports and integers of another."""
        out = cls("")
        out.ids, out.inds = pm.ids, pm.inds.copy()
        return out

    def copy(self) -> Self:
        """Return a copy that shares nothing."""
        return self.from_pm(self)

    __copy__ = copy

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def find(self) -> Finder:
        """The index that finds ports."""
        return Finder(self.ids)

    @property
    def index(self) -> pd.MultiIndex:
        """The ports as an index of pandas."""
        return multiindex(self.ids.codes, list(range(max(self.ids.levels, 1))))

    @property
    def portmap(self) -> pd.Series:
        """The integers by port, as a series of pandas; a copy."""
        return import_pandas().Series(self.inds.copy(), index=self.index)

    def ports_to_inds(self, selector: SelectorLike) -> Rows:
        """Return the integers of the ports of a selector, (m,) int64.

        In the order of the selector, or of the mapper when the selector is ambiguous. Unknown
        ports are left out.
        """
        return self.inds[rows_of(selector, self.find)]

    def get_map(self, selector: SelectorLike) -> Rows:
        """Return the same as `ports_to_inds`."""
        return self.ports_to_inds(selector)

    def set_map(self, selector: SelectorLike, portmap: Any) -> None:
        """Give the ports of a selector other integers, one for all or one each.

        Raises
        ------
        PortError
            When no port of the selector is known, or the number of integers does not fit.
        """
        rows = rows_of(selector, self.find)
        inds = _indices(portmap)
        if not len(rows):
            raise PortError(f"no port of the mapper matches the selector {selector!r}")
        if len(inds) not in (1, len(rows)):
            raise PortError(f"{len(rows):,} ports need as many indices (got {len(inds):,})")
        self.inds[rows] = inds

    def inds_to_ports(self, inds: Any) -> list[tuple[Token, ...]]:
        """Return the ports that have these integers, in the order of ``inds``, as tuples."""
        return tuples_of(self.ids.take(self._rows_with(_indices(inds))))

    def _rows_with(self, inds: Rows) -> Rows:
        order = np.argsort(self.inds, kind="stable")
        keys = self.inds[order]
        first = np.searchsorted(keys, inds, side="left")
        count = np.searchsorted(keys, inds, side="right") - first
        begin = np.repeat(first - (np.cumsum(count) - count), count)
        return order[begin + np.arange(int(count.sum()))]

    def equals(self, pm: BasePortMapper) -> bool:
        """Return whether another mapper gives the same ports the same integers, in any order."""
        levels = max(self.ids.levels, pm.ids.levels)
        return len(self) == len(pm) and np.array_equal(self._sorted(levels), pm._sorted(levels))

    def _sorted(self, levels: int) -> Array:
        table = np.concatenate([self.ids.padded(levels), self.inds[None]])
        return table[:, np.lexsort(table)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} ports>"


class PortMapper(BasePortMapper):
    """Maps ports to the elements of an array: ``pm['/a[0:3]']``, ``pm['/a[0]'] = 1.5``.

    Parameters
    ----------
    selector : SelectorLike
        The ports.
    data : (m,) array or scalar, optional
        The values; without them there are indices only.
    portmap : (n,) int, optional
        The element of each port.
    make_copy : bool
        Take a copy; otherwise the mapper works on ``data`` itself.

    Raises
    ------
    PortError
        When a port's element is not in the array.
    """

    def __init__(
        self,
        selector: SelectorLike = "",
        data: Any = None,
        portmap: Any = None,
        make_copy: bool = True,
    ) -> None:
        super().__init__(selector, portmap)
        if data is not None and np.ndim(data) == 0:
            data = np.full(len(self), data)
        elif data is not None:
            data = self._copied(data) if make_copy else data
        self.data = data

    @staticmethod
    def _copied(data: Any) -> Any:
        return np.array(data)

    @classmethod
    def from_index(  # type: ignore[override]
        cls, idx: pd.Index, data: Any = None, portmap: Any = None
    ) -> Self:
        """Return the mapper of the identifiers of an index of pandas."""
        out = super().from_index(idx, portmap)
        out.data = None if data is None else cls._copied(data)
        return out

    @classmethod
    def from_pm(cls, pm: BasePortMapper) -> Self:
        """Return a mapper with the ports, integers and a copy of the values of another."""
        out = super().from_pm(pm)
        if isinstance(pm, PortMapper) and pm.data is not None:
            out.data = cls._copied(pm.data)
        return out

    @property
    def data(self) -> Any:
        """The values, or None."""
        return self._data

    @data.setter
    def data(self, x: Any) -> None:
        self._data = self._fitting(x)

    def _fitting(self, x: Any) -> Any:
        """Return values as an array that every port finds its element in."""
        if x is None:
            return None
        out = np.atleast_1d(np.asarray(x))
        if out.ndim != 1:
            raise PortError(f"incompatible or invalid data array specified: {out.ndim} dimensions")
        needed = int(self.inds.max()) + 1 if len(self.inds) else 0
        if len(out) < needed or (len(out) and not needed):
            message = f"{len(self):,} ports need {needed:,} values (got {len(out):,})"
            raise PortError(f"incompatible or invalid data array specified: {message}")
        return out if len(out) else None

    def _held(self) -> Any:
        if self._data is None:
            raise PortError("port mapper contains no data")
        return self._data

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        kind: np.dtype[Any] = self._held().dtype
        return kind

    @dtype.setter
    def dtype(self, d: Any) -> None:
        self._data = self._held().view(d)

    def get(self, selector: SelectorLike) -> Array:
        """Return the values of the ports of a selector, in its order; unknown ones are left out."""
        return self.get_by_inds(self.ports_to_inds(selector))

    def set(self, selector: SelectorLike, data: Any) -> None:
        """Set the values of the ports of a selector; without data an array of zeros is made."""
        if self._data is None and len(self):
            self.data = np.zeros(int(self.inds.max()) + 1, np.asarray(data).dtype)
        self.set_by_inds(self.ports_to_inds(selector), data)

    __getitem__ = get
    __setitem__ = set

    def get_by_inds(self, inds: Any) -> Array:
        """Return the values at some indices."""
        out: Array = self._held()[_indices(inds)]
        return out

    def set_by_inds(self, inds: Any, data: Any) -> None:
        """Set the values at some indices to one value, or to one each."""
        places = _indices(inds)
        if len(places):
            self._held()[places] = data

    def _mask(self, f: Chosen) -> npt.NDArray[np.bool_]:
        """Return which elements are meant by a function of the data, a mask or indices."""
        data = self._held()
        chosen = np.asarray(f(data) if callable(f) else f)
        mask = np.zeros(len(data), np.bool_)
        if chosen.dtype == np.bool_ and chosen.shape != mask.shape:
            raise PortError(f"a mask needs {len(mask):,} elements (got {len(chosen):,})")
        mask[chosen if chosen.dtype == np.bool_ else _indices(chosen)] = True
        return mask

    def get_ports(self, f: Chosen) -> list[tuple[Token, ...]]:
        """Return the ports whose values a function, a mask or indices choose, as tuples."""
        return tuples_of(self.ids.take(self._mask(f)[self.inds]))

    def get_ports_as_inds(self, f: Chosen) -> Rows:
        """Return the integers of the ports whose values a function, mask or indices choose."""
        return self.inds[self._mask(f)[self.inds]]

    def get_inds_nonzero(self) -> Rows:
        """Return the indices of the values that are not zero."""
        return np.flatnonzero(self._held())

    def get_ports_nonzero(self) -> list[tuple[Token, ...]]:
        """Return the ports whose values are not zero, as tuples."""
        return self.get_ports(self._held() != 0)

    def equals(self, pm: BasePortMapper) -> bool:
        """Return whether another mapper has the same ports, integers and values."""
        if not super().equals(pm) or not isinstance(pm, PortMapper):
            return False
        if self._data is None or pm._data is None:
            return self._data is pm._data
        return np.array_equal(self._data, pm._data)
