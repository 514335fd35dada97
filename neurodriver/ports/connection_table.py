"""The connections of a pattern: added, checked, put in order, shown as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PortError
from .frames import import_pandas, multiindex
from .identifiers import Rows
from .interface import Interface
from .links import Links, prepared

if TYPE_CHECKING:
    import pandas as pd


class ConnectionTable:
    """The ports of a pattern and the rows of its connections.

    Parameters
    ----------
    interface : Interface
        All ports.
    columns : sequence of str
        Names of the connections' data.
    """

    def __init__(self, interface: Interface, columns: Sequence[str] = ("conn",)) -> None:
        self.interface = interface
        self.links = Links(len(interface), columns)
        self._rank: Rows | None = None

    def __len__(self) -> int:
        return self.links.count

    @property
    def num_levels(self) -> dict[str, int]:
        """Number of levels of the identifiers, as {'from': n, 'to': n}."""
        levels = self.interface.num_levels
        return {"from": levels, "to": levels}

    @property
    def from_slice(self) -> slice:
        """The levels of the sources in the index."""
        return slice(0, self.interface.num_levels)

    @property
    def to_slice(self) -> slice:
        """The levels of the destinations in the index."""
        return slice(self.interface.num_levels, 2 * self.interface.num_levels)

    def sorted_links(self) -> Links:
        """Return the connections in lexicographic order."""
        self._check()
        if not self.links.sorted:
            if self._rank is None:
                self._rank = np.empty(len(self.interface), np.int64)
                self._rank[self.interface.ids.order()] = np.arange(len(self.interface))
            self.links.sort(self._rank)
        return self.links

    def _check(self) -> None:
        if len(self.interface) != len(self.links.role):
            raise PortError("the ports of a pattern's interface cannot be added to or removed")

    def connect(
        self, src: Rows, dst: Rows, values: Mapping[str, Any], validate: bool = True
    ) -> None:
        """Connect ports by their rows in the interface; pairs that are there get new values.

        Parameters
        ----------
        src, dst : (n,) int64
            Rows of sources and destinations.
        values : mapping
            Data by column, one value for all or one each.
        validate : bool
            Refuse a second source, repeated pairs, ports that are both source and destination, and
            connections within one interface.

        Raises
        ------
        PortError
            Nothing is changed then.
        """
        self._check()
        if not len(src):
            return
        data = prepared(values, len(src))
        rows = self.links.find(src, dst)
        new = rows < 0
        if new.any():
            fresh = slice(None) if new.all() else new
            if validate:
                self._refuse(src[fresh], dst[fresh])
            rows[fresh] = self.links.append(src[fresh], dst[fresh])
        self.interface.labels["io"].set(src, "in")
        self.interface.labels["io"].set(dst, "out")
        self.links.set(rows, data)

    def _refuse(self, src: Rows, dst: Rows) -> None:
        twice, second, turned = self.links.clashes(src, dst)
        number = self.interface.labels["interface"].codes
        for mask, message in (
            (number[src] == number[dst], "ports of one interface cannot be connected."),
            (twice, "Duplicate pattern entries detected."),
            (turned, "Ports cannot both receive input and send output."),
            (second, "Fan-in pattern entries detected."),
        ):
            if mask.any():
                rows = np.flatnonzero(mask)
                raise PortError(f"{message} Concerned: {self._named_pairs(src[rows], dst[rows])}")

    def _named_pairs(self, src: Rows, dst: Rows) -> str:
        ids = self.interface.ids
        pairs = zip(ids.take(src[:3]).texts(), ids.take(dst[:3]).texts(), strict=True)
        more = f" and {len(src) - 3:,} more" if len(src) > 3 else ""
        return ", ".join(f"'{a}' -> '{b}'" for a, b in pairs) + more

    def frame(self, rows: Rows, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return some connections as a table with the index ``from_0 ... to_0 ...``."""
        pandas = import_pandas()
        links = self.sorted_links()
        index = multiindex(self._codes(rows), self._index_names())
        columns = {name: links.column(name)[rows] for name in names or links.names}
        return pandas.DataFrame(columns, index=index)

    def _codes(self, rows: Rows) -> Any:
        links, codes = self.sorted_links(), self.interface.ids.codes
        return np.concatenate([codes[:, links.src[rows]], codes[:, links.dst[rows]]])

    def _index_names(self) -> list[str]:
        levels = range(self.interface.num_levels)
        return [f"from_{n}" for n in levels] + [f"to_{n}" for n in levels]

    def to_df(self) -> pd.DataFrame:
        """Return all connections as a table with the index ``from_0 ... to_0 ...``."""
        return self.frame(np.arange(len(self)))

    @property
    def data(self) -> pd.DataFrame:
        """All connections as a table; a copy."""
        return self.to_df()

    @property
    def index(self) -> pd.MultiIndex:
        """Sources and destinations as an index of pandas."""
        return multiindex(self._codes(np.arange(len(self))), self._index_names())
