"""Node columns: attributes of components that are no parameters, such as type, side or region.

They are text, truth values or numbers, one for each component of a group. An empty text and NaN
mean that a component has none. The column ``population`` names the population of each component.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import Faults, quoted

Column = NDArray[Any]

POPULATION = "population"
"""Column with the name of each component's population."""

LONGEST_TEXT = 256
"""Longest text of a node column in characters: columns have a fixed width."""


def column_of(values: Sequence[Any], name: str, faults: Faults) -> Column | None:
    """Return the values of an attribute, None for those that are not given, as a column.

    What is neither text nor a number (a list, say) is nothing that a column can hold: None is
    returned. So it is, with a warning, for texts that are too long or cannot be stored.
    """
    given = [value for value in values if value is not None]
    kinds = {_kind(value) for value in given}
    if not kinds or None in kinds:
        return None
    if name == POPULATION or "text" in kinds or ("bool" in kinds and len(kinds) > 1):
        return _texts(values, name, faults)
    if kinds == {"bool"}:
        return np.array([bool(value) for value in values])
    if kinds == {"int"} and len(given) == len(values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else float(value) for value in values])


def _kind(value: object) -> str | None:
    """Return what a value is: text, a truth value, a whole number, a number; None for others."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int" if abs(int(value)) < 2**53 else "text"
    return "float" if isinstance(value, float | np.floating) else None


def _texts(values: Iterable[Any], name: str, faults: Faults) -> Column | None:
    texts = ["" if value is None else str(value) for value in values]
    return np.array(texts, dtype=np.str_) if fit_for_column(texts, name, faults) else None


def fit_for_column(texts: Sequence[str], name: str, faults: Faults) -> bool:
    """Whether a column can hold some texts; a warning says why not."""
    longest = max(map(len, texts), default=0)
    if longest > LONGEST_TEXT:
        reason = f"has up to {longest:,} characters, {LONGEST_TEXT} are allowed"
    elif not storable("".join(texts)):
        reason = "holds a character that cannot be stored (NUL, half of a pair)"
    else:
        return True
    faults.warn(f"the node attribute {quoted(name)} {reason}; it is not kept")
    return False


def storable(text: str) -> bool:
    """Whether fixed-width columns and files hold a text unchanged."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def given_columns(
    given: Mapping[str, ArrayLike], count: int, where: str, faults: Faults
) -> dict[str, Column]:
    """Return columns that a user gave, one value for all or one for each; note what does not fit.

    Parameters
    ----------
    given : mapping of str to scalar or (count,) array
        Text, truth values or numbers.
    count : int
        Number of components.
    where : str
        What messages call the components.
    """
    out: dict[str, Column] = {}
    for name, values in given.items():
        say = f"{where}, column {quoted(name)}"
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_TEXT or not storable(name):
            want = f"a text of 1 to {LONGEST_TEXT} characters that files can hold"
            faults.add(f"{say}: the name of a column must be {want}")
            continue
        try:
            column = np.asarray(values)
        except ValueError:
            column = np.empty((), dtype=object)
        if column.dtype.kind == "O" and column.ndim == 1:  # texts with None among them
            made = column_of(column.tolist(), name, faults)
            column = column if made is None else made
        if column.dtype.kind not in "Ubfiu":
            faults.add(f"{say}: must be text, numbers or booleans (got {values!r:.60})")
        elif column.shape not in ((), (count,)):
            faults.add(f"{say}: expected one value or {count}, got shape {column.shape}")
        elif column.dtype.kind == "U" and column.dtype.itemsize > 4 * LONGEST_TEXT:
            faults.add(f"{say}: {LONGEST_TEXT} characters are allowed in a text")
        elif name == POPULATION and column.dtype.kind != "U":
            faults.add(f"{say}: must be text (got {column.dtype})")
        else:
            out[name] = np.broadcast_to(column, (count,))
    return out


def joined_columns(
    tables: Sequence[Mapping[str, Column]], counts: Sequence[int]
) -> dict[str, Column]:
    """Return node columns one after the other; where a part has none, its components have none."""
    out = {}
    for name in dict.fromkeys(n for table in tables for n in table):
        there = [table[name] for table in tables if name in table]
        kinds = {column.dtype.kind for column in there}
        if "U" in kinds or ("b" in kinds and len(kinds) > 1):
            none: Column = np.array("")
            there = [column.astype(np.str_) for column in there]
        elif kinds == {"b"}:
            none = np.array(False)
        else:
            none = np.array(np.nan) if len(there) < len(tables) else there[0][:0]
        again = iter(there)
        parts = [
            next(again) if name in table else np.broadcast_to(none, (count,))
            for table, count in zip(tables, counts, strict=True)
        ]
        out[name] = np.concatenate(parts)
    return out


class JoinedColumns(Mapping[str, Column]):
    """Node columns of several parts, one after the other; they are joined when somebody asks.

    The names of populations would take 32 bytes a component, joined.

    Parameters
    ----------
    tables : sequence of mapping of str to array, (n,) or with one value for all
    counts : sequence of int
        Components of each part.
    rows : (m,) int, optional
        Some of the components; by default all.
    """

    def __init__(
        self,
        tables: Sequence[Mapping[str, Column]],
        counts: Sequence[int],
        rows: NDArray[np.integer] | None = None,
    ) -> None:
        self._tables, self._counts, self._rows = list(tables), list(counts), rows

    def taken(self, rows: NDArray[np.integer]) -> JoinedColumns:
        """Return the columns of some components."""
        rows = rows if self._rows is None else self._rows[rows]
        return JoinedColumns(self._tables, self._counts, rows)

    def __getitem__(self, name: str) -> Column:
        tables = [{n: table[n] for n in table if n == name} for table in self._tables]
        column = joined_columns(tables, self._counts)[name]
        column = column if self._rows is None else column[self._rows]
        column.flags.writeable = False
        return column

    def __contains__(self, name: object) -> bool:
        return any(name in table for table in self._tables)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for table in self._tables for name in table))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def parts(self) -> Iterator[tuple[Mapping[str, Column], int]]:
        """Yield the columns and the number of components of each part."""
        if self._rows is None:
            yield from zip(self._tables, self._counts, strict=True)
        else:
            yield self, len(self._rows)


def tables_of(
    columns: Mapping[str, Column], count: int
) -> Iterable[tuple[Mapping[str, Column], int]]:
    """Return node columns in the parts that they are kept in, with their numbers of components."""
    return columns.parts() if isinstance(columns, JoinedColumns) else [(columns, count)]
