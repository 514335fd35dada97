"""The rows of a pattern: source port, destination port and data, in arrays that grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import PortError
from .identifiers import Mask, Rows
from .labels import is_sequence

Column = npt.NDArray[Any]

NONE = np.int64(-1)
SOURCE, DESTINATION = np.int8(1), np.int8(2)


def _grown(array: Column, needed: int) -> Column:
    """Return the array with room for at least so many elements; room doubles."""
    if needed <= len(array):
        return array
    out = np.empty(max(needed, 2 * len(array), 64), array.dtype)
    out[: len(array)] = array
    return out


def prepared(values: Mapping[str, Any], count: int) -> dict[str, Column]:
    """Return data by column as arrays: numbers, or objects when there is anything else.

    Parameters
    ----------
    values : mapping
        One value for all connections, or one each; None is NaN.
    count : int
        Number of connections.

    Raises
    ------
    PortError
        When the number of values does not fit.
    """
    out = {}
    for name, value in values.items():
        if is_sequence(value) and len(value) != count:
            message = f"{count} values are needed, one per connection (got {len(value)})"
            raise PortError(f"column '{name}': {message}")
        given = np.asarray(np.nan if value is None else value)
        if given.dtype.kind not in "fiub" or given.ndim > 1:
            given = np.empty(count if is_sequence(value) else (), object)
            given[...] = value
        out[str(name)] = given
    return out


class Links:
    """Connections between numbered ports.

    A destination has one source, so a connection is found by its destination, in one look.

    Parameters
    ----------
    ports : int
        Number of ports.
    columns : iterable of str
        Names of the data.
    """

    def __init__(self, ports: int, columns: Iterable[str]) -> None:
        self.count = 0
        self._src: Rows = np.empty(0, np.int64)
        self._dst: Rows = np.empty(0, np.int64)
        self._columns: dict[str, Column] = {name: np.empty(0) for name in columns}
        self._row_of: Rows = np.full(ports, NONE)
        self.role = np.zeros(ports, np.int8)
        self.fan_in = False
        self.sorted = True

    @property
    def src(self) -> Rows:
        """Source port of each connection, (n,)."""
        return self._src[: self.count]

    @property
    def dst(self) -> Rows:
        """Destination port of each connection, (n,)."""
        return self._dst[: self.count]

    @property
    def names(self) -> list[str]:
        """Names of the data."""
        return list(self._columns)

    def column(self, name: str) -> Column:
        """Return the data of each connection; NaN where unset, (n,).

        Raises
        ------
        PortError
            When there is no such column.
        """
        if name not in self._columns:
            raise PortError(f"no column '{name}'; there are {', '.join(self._columns)}")
        return self._columns[name][: self.count]

    def find(self, src: Rows, dst: Rows) -> Rows:
        """Return the row of each pair, -1 where there is none."""
        rows = self._row_of[dst]
        if not self.count:
            return rows
        if not self.fan_in:
            return np.where((rows >= 0) & (self._src[rows] == src), rows, NONE)
        ports = len(self._row_of)
        keys = self.src * ports + self.dst
        order = np.argsort(keys, kind="stable")
        place = np.searchsorted(keys[order], src * ports + dst)
        found = order[np.minimum(place, self.count - 1)]
        return np.where(keys[found] == src * ports + dst, found, NONE)

    def clashes(self, src: Rows, dst: Rows) -> tuple[Mask, Mask, Mask]:
        """Return which new pairs stand twice, have a second source, or turn a port's role round."""
        twice = np.zeros(len(dst), np.bool_)
        second = self._row_of[dst] >= 0
        if len(dst) > 1:
            order = np.lexsort((src, dst))
            d, s = dst[order], src[order]
            again = d[1:] == d[:-1]
            same = again & (s[1:] == s[:-1])
            twice[order[1:][same]] = True
            second[order[1:][again & ~same]] = True
            turned = (self.role[src] == DESTINATION) | (self.role[dst] == SOURCE)
            turned |= np.isin(dst, src)
        else:
            turned = (self.role[src] == DESTINATION) | (self.role[dst] == SOURCE) | (src == dst)
        return twice, second, turned

    def append(self, src: Rows, dst: Rows) -> Rows:
        """Add connections without data; return their rows."""
        begin, end = self.count, self.count + len(src)
        self._src, self._dst = _grown(self._src, end), _grown(self._dst, end)
        self._src[begin:end], self._dst[begin:end] = src, dst
        for name in self._columns:
            self._columns[name] = _grown(self._columns[name], end)
            self._columns[name][begin:end] = np.nan
        rows = np.arange(begin, end)
        self.fan_in |= bool((self._row_of[dst] >= 0).any())
        self._row_of[dst] = rows
        self.fan_in |= not np.array_equal(self._row_of[dst], rows)
        self.role[src], self.role[dst] = SOURCE, DESTINATION
        self.count, self.sorted = end, False
        return rows

    def set(self, rows: Rows, values: Mapping[str, Column]) -> None:
        """Set data of some connections, as `prepared`; a new name is a new column."""
        for name, given in values.items():
            column = self._columns.get(name)
            if column is None:
                column = np.full(len(self._src), np.nan)
            column = column.astype(object) if given.dtype == object else column
            column[rows] = given
            self._columns[name] = column

    def sort(self, rank: Rows) -> None:
        """Bring the rows into the order of their ports' ranks: sources first."""
        self._arrange(np.lexsort((rank[self.dst], rank[self.src])))
        self.sorted = True

    def _arrange(self, order: Rows) -> None:
        self._src, self._dst = self.src[order], self.dst[order]
        for name in self._columns:
            self._columns[name] = self.column(name)[order]
        self._row_of[self._dst] = np.arange(self.count)
