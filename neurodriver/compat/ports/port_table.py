"""Ports as tables of pandas, with further attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ...errors import PortError
from ...ports import interface as ports
from ...ports import selector as core
from ...ports.blocks import Blocks
from ...ports.identifiers import Mask, Rows
from ...ports.interface import COLUMNS
from ...ports.labels import Labels, by_column, is_sequence
from .frames import identifiers_of, import_pandas, multiindex
from .selector import Finder, Selector, SelectorLike, blocks_of, rows_of

if TYPE_CHECKING:
    import pandas as pd


class PortTable(ports.Interface):
    """An interface as a table of pandas, with further attributes.

    Parameters
    ----------
    selector : SelectorLike
        The ports.
    columns : sequence of str
        Names of the attributes; 'interface', 'io' and 'type' have to be among them.

    Raises
    ------
    PortError
        When an identifier stands twice, or a column is missing.
    """

    index_class = Finder
    selector_class = Selector
    find: Finder

    def __init__(self, selector: Any = "", columns: Sequence[str] = COLUMNS) -> None:
        missing = [name for name in COLUMNS if name not in list(columns)]
        if missing:
            raise PortError(f"an interface needs the column '{missing[0]}' (got {list(columns)})")
        super().__init__(selector)
        self.labels = {str(name): self._column(str(name)) for name in columns}

    def _blocks(self, selector: SelectorLike) -> Blocks:
        return blocks_of(selector)

    def rows(self, selector: SelectorLike) -> Rows:
        """Return the rows of the ports of a selector; every one has to be there."""
        return super().rows(selector)  # type: ignore[arg-type]

    def _column(self, name: str) -> Labels:
        """Return an attribute; a new name makes a new one."""
        return self.labels.get(name) or Labels(name, len(self))

    @property
    def num_levels(self) -> int:
        """Number of levels of the longest identifier."""
        return self.ids.levels

    @property
    def columns(self) -> list[str]:
        """Names of the attributes."""
        return list(self.labels)

    def __setitem__(self, key: Any, value: Any) -> None:
        (selector,), names = split_key(key, 1)
        rows = self.rows(selector)
        if len(rows):
            self.assign(rows, by_column(names, self.columns, value))

    def __getitem__(self, key: Any) -> pd.DataFrame:
        (selector,), names = split_key(key, 1)
        rows = rows_of(selector, self.find, below=True)
        return self.frame(rows, list(names) or self.columns)

    def frame(self, rows: Rows | Mask, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the attributes of some ports as a table.

        Raises
        ------
        PortError
            When there is no such attribute.
        """
        pandas = import_pandas()
        ids = self.ids.take(rows)
        index = multiindex(ids.codes, list(range(max(ids.levels, 1))))
        for name in names or ():
            if name not in self.labels:
                raise PortError(f"no attribute '{name}'; there are {', '.join(self.labels)}")
        columns = {n: self.labels[n].values(rows) for n in names or self.columns}
        return pandas.DataFrame(columns, index=index, dtype=object)

    def to_df(self) -> pd.DataFrame:
        """Return all ports and attributes as a table."""
        return self.frame(np.arange(len(self)))

    @property
    def data(self) -> pd.DataFrame:
        """All ports and attributes as a table; a copy: set attributes with [...]."""
        return self.to_df()

    @property
    def index(self) -> pd.MultiIndex:
        """The identifiers as an index of pandas."""
        return multiindex(self.ids.codes, list(range(max(self.num_levels, 1))))

    @property
    def idx_levels(self) -> int:
        """Number of levels of the index."""
        return max(self.num_levels, 1)

    @classmethod
    def from_df(cls, df: pd.DataFrame) -> Self:
        """Return the ports of a table.

        Parameters
        ----------
        df : pandas.DataFrame
            Its index holds identifiers; its columns, 'interface', 'io' and 'type' among them,
            attributes.
        """
        ids = identifiers_of(df.index).trimmed()
        out = cls(Selector.of_identifiers(ids), list(map(str, df.columns)))
        for name in df.columns:
            out.labels[str(name)].set(slice(None), df[name].to_numpy(dtype=object))
        return out

    def copy(self) -> Self:
        """Return a copy that shares nothing."""
        return self.taken(slice(None))  # type: ignore[arg-type]

    __copy__ = copy

    def clear(self) -> None:
        """Remove all ports."""
        empty = self.taken(np.empty(0, np.int64))
        self.__dict__.pop("find", None)
        self.ids, self.labels = empty.ids, empty.labels

    def equals(self, other: PortTable) -> bool:
        """Return whether another table holds the same ports and attributes in the same order."""
        levels = max(self.num_levels, other.num_levels)
        if len(self) != len(other) or self.columns != other.columns:
            return False
        everything = np.arange(len(self))
        return np.array_equal(self.ids.padded(levels), other.ids.padded(levels)) and all(
            same(self.labels[n], everything, other.labels[n], everything).all()
            for n in self.columns
        )


def same(labels: Labels, rows: Rows, other: Labels, others: Rows) -> Mask:
    """Return where some ports have the values of some of another column, or both have none."""
    mine, theirs = labels.values(rows), other.values(others)
    both: Mask = labels.unset[rows] & other.unset[others]
    equal: npt.NDArray[np.bool_] = np.asarray(mine == theirs, np.bool_)
    return both | equal


def split_key(key: Any, selectors: int) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Return the selectors and the column names of ``table[selector, ..., 'name', ...]``.

    A tuple of token sequences is itself a selector.
    """
    if not isinstance(key, tuple) or (selectors == 1 and key and _is_term(key[0])):
        key = (key,)
    names = key[selectors:]
    if len(key) < selectors or not all(isinstance(n, str) for n in names):
        wanted = "a selector" if selectors == 1 else "two selectors"
        raise PortError(f"[...] takes {wanted}, then names of columns (got {key!r})")
    return key[:selectors], names


def _is_term(part: Any) -> bool:
    """Return whether a part of a key is a token sequence rather than a selector."""
    if isinstance(part, str | core.Selector) or not is_sequence(part) or not len(part):
        return False
    return any(not is_sequence(token) for token in part)
