"""The connections of a pattern as tables of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ports import pattern as core
from ...ports.identifiers import Rows
from .frames import import_pandas, multiindex
from .interface import Interface
from .port_table import split_key
from .selector import rows_of

if TYPE_CHECKING:
    import pandas as pd


class ConnectionTable(core.Pattern):
    """A pattern whose connections are rows of a table with the index ``from_0 ... to_0 ...``."""

    interface_class = Interface
    interface: Interface

    def __getitem__(self, key: Any) -> pd.DataFrame:
        (source, destination), names = split_key(key, 2)
        place = np.full((2, len(self.interface)), -1)
        for side, selector in enumerate((source, destination)):
            rows = rows_of(selector, self.interface.find, below=True)
            place[side, rows] = np.arange(len(rows))
        links = self.sorted_links()
        src, dst = place[0, links.src], place[1, links.dst]
        held = np.flatnonzero((src >= 0) & (dst >= 0))
        order = held[np.lexsort((dst[held], src[held]))]
        return self.frame(order, list(names) or None)

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

    @staticmethod
    def split_multiindex(idx: pd.MultiIndex, a: slice, b: slice) -> tuple[Any, Any]:
        """Return two indices of pandas, each of some levels of one."""
        pandas = import_pandas()
        levels = range(idx.nlevels)
        parts = [[idx.get_level_values(n) for n in levels[which]] for which in (a, b)]
        made = [pandas.MultiIndex.from_arrays(p) if len(p) > 1 else p[0] for p in parts]
        return made[0], made[1]
