"""Ports and their attributes as columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..errors import SHOWN, PortError
from .blocks import one_identifier
from .frames import identifiers_of, import_pandas, multiindex
from .identifiers import Identifiers, Mask, PortIndex, Rows
from .labels import Labels, by_column, split_key
from .selector import Selector, SelectorLike, blocks_of, rows_of

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("interface", "io", "type")


def named(ids: Identifiers, rows: Rows) -> str:
    """Return some identifiers as a message shows them."""
    texts = ids.take(rows[:SHOWN]).texts()
    more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    return ", ".join(f"'{text}'" for text in texts) + more


class PortTable:
    """Ports, each with attributes.

    Parameters
    ----------
    ids : Identifiers
        Distinct identifiers.
    columns : sequence of str
        Names of the attributes; 'interface', 'io' and 'type' have to be among them.

    Raises
    ------
    PortError
        When an identifier stands twice, or a column is missing.
    """

    def __init__(self, ids: Identifiers, columns: Sequence[str] = COLUMNS) -> None:
        missing = [name for name in COLUMNS if name not in list(columns)]
        if missing:
            raise PortError(f"an interface needs the column '{missing[0]}' (got {list(columns)})")
        self.ids = ids
        self.labels = {str(name): Labels(str(name), len(ids)) for name in columns}
        if len(again := self.find.duplicates):
            message = f"Duplicate interface index entries detected: {named(ids, again)}"
            raise PortError(message)

    @cached_property
    def find(self) -> PortIndex:
        """The index that finds ports."""
        return PortIndex(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_levels(self) -> int:
        """Number of levels of the longest identifier."""
        return self.ids.levels

    @property
    def columns(self) -> list[str]:
        """Names of the attributes."""
        return list(self.labels)

    def rows(self, selector: SelectorLike) -> Rows:
        """Return the rows of the ports of a selector; every one has to be there.

        Raises
        ------
        PortError
            Which names the ports that are not.
        """
        blocks = blocks_of(selector)
        one = one_identifier(blocks)  # the short way for p['/a[0]', '/b[0]'] = 1
        if one and (row := self.find.find_one(one)) >= 0:
            return np.array([row])
        if any(b.ambiguous for b in blocks):
            rows = rows_of(selector, self.find)
            if not len(rows):
                raise PortError(f"no port matches the selector {selector!r}")
            return rows
        ids = Selector(selector).ids
        rows = self.find.find(ids)
        if len(missing := np.flatnonzero(rows < 0)):
            message = f"no such port: {named(ids, missing)}"
            raise PortError(f"{message}; '/a/*' means the ports below '/a'")
        return rows

    def __setitem__(self, key: Any, value: Any) -> None:
        (selector,), names = split_key(key, 1)
        rows = self.rows(selector)
        if len(rows):
            self.assign(rows, by_column(names, self.columns, value))

    def assign(self, rows: Rows, values: Any) -> None:
        """Set attributes of some ports; a new name makes a new column."""
        columns = {str(n): self.labels.get(str(n)) or Labels(str(n), len(self)) for n in values}
        numbers = [columns[str(n)].numbers(len(rows), value) for n, value in values.items()]
        for (name, column), number in zip(columns.items(), numbers, strict=True):
            column.codes[rows] = number
            self.labels[name] = column

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
        out = cls.__new__(cls)
        PortTable.__init__(out, ids, list(df.columns))
        for name in df.columns:
            out.labels[str(name)].set(slice(None), df[name].to_numpy(dtype=object))
        return out

    def taken(self, rows: Rows | Mask) -> Self:
        """Return some of the ports with their attributes."""
        out = self.__class__.__new__(self.__class__)
        out.__dict__.update({k: v for k, v in self.__dict__.items() if k not in ("find", "labels")})
        out.ids = self.ids.take(rows)
        out.labels = {name: column.take(rows) for name, column in self.labels.items()}
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
            self.labels[n].same(everything, other.labels[n], everything).all() for n in self.columns
        )

    def __repr__(self) -> str:
        shown = [f"{name}: {_counted(column)}" for name, column in self.labels.items()]
        return f"<{type(self).__name__} of {len(self):,} ports; {'; '.join(shown)}>"


def _counted(column: Labels) -> str:
    values = sorted(column.distinct(), key=str)
    told = [f"{int(column.equal(v).sum()):,} {v!r}" for v in values[:4]]
    told += ["..."] if len(values) > 4 else []
    unset = int(column.unset.sum())
    return ", ".join(told + ([f"{unset:,} unset"] if unset else []))
