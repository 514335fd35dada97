"""Port identifiers to and from pandas, which is imported here and only when it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import NeurodriverError, SelectorError
from ...ports.identifiers import Identifiers, Rows
from ...ports.tokens import PAD, Codes, decode_all, encode_all, rank
from .selector import Finder, Selector, SelectorLike, blocks_of, rows_of
from .tuples import tuples_of

if TYPE_CHECKING:
    import pandas as pd

NO_CODES: Codes = np.empty(0, np.int64)

Names = Sequence[Any] | str | int


def import_pandas() -> Any:
    """Import pandas, or say how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise NeurodriverError('tables need pip install "neurodriver[ports]"') from error
    return pandas


def multiindex(codes: Codes, names: Sequence[Any]) -> pd.MultiIndex:
    """Return a pandas index of tokens; padding is ''.

    Parameters
    ----------
    codes : (levels, n) int64
    names : sequence
        One name per level.
    """
    pandas = import_pandas()
    levels, places = [], []
    for column in codes:
        found, inverse = np.unique(column, return_inverse=True)
        order = np.argsort(rank(found))
        place = np.empty(len(found), np.int64)
        place[order] = np.arange(len(found))
        tokens = decode_all(found[order])
        mixed = len({isinstance(t, str) for t in tokens}) > 1
        levels.append(pandas.Index(tokens, dtype=object if mixed or not tokens else None))
        places.append(place[inverse.reshape(-1)])
    if not len(codes):
        levels, places = [pandas.Index([], dtype=object) for _ in names], [NO_CODES for _ in names]
    return pandas.MultiIndex(levels=levels, codes=places, names=names, verify_integrity=False)


def identifiers_of(
    index: pd.Index, start: int | None = None, stop: int | None = None
) -> Identifiers:
    """Return the `Identifiers` of a pandas index, or of some of its levels."""
    pandas = import_pandas()
    if not isinstance(index, pandas.MultiIndex):
        return Identifiers(encode_all(_plain(index))[None])
    chosen = range(index.nlevels)[start:stop]
    columns = []
    for level in chosen:
        codes = np.append(encode_all(_plain(index.levels[level])), PAD)
        columns.append(codes[np.asarray(index.codes[level])])  # -1 is a missing value
    return Identifiers(np.array(columns, np.int64).reshape(len(chosen), len(index)))


def _plain(values: Iterable[Any]) -> list[Any]:
    """Return tokens without NumPy's types; what is missing is padding."""
    out = []
    for value in values:
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float):
            value = "" if np.isnan(value) else int(value) if value.is_integer() else value
        out.append("" if value is None else value)
    return out


def _names(names: Names, levels: int) -> list[Any]:
    if isinstance(names, str | int):
        names = [names]
    return list(names) if len(names) else list(range(max(levels, 1)))


def make_index(selector: SelectorLike, names: Names = ()) -> pd.MultiIndex:
    """Return a pandas index of the identifiers of an unambiguous selector.

    Parameters
    ----------
    names : sequence or scalar
        Names of the levels; 0, 1, ... by default. Shorter identifiers are filled with ''.
    """
    ids = Selector(selector).ids
    return multiindex(ids.codes, _names(names, ids.levels))


def make_index_two_concat(
    sel_0: SelectorLike, sel_1: SelectorLike, names: Names = ()
) -> pd.MultiIndex:
    """Return an index whose rows are those of both selectors side by side, one by one."""
    a, b = Selector(sel_0).ids, Selector(sel_1).ids
    if len(a) != len(b):
        message = f"selectors hold {len(a):,} and {len(b):,} ports, equally many are needed"
        raise SelectorError(f"invalid selector: {message}")
    levels = max(a.levels, b.levels)
    codes = np.concatenate([a.padded(levels), b.padded(levels)])
    return multiindex(codes, _names(names, 2 * levels))


def make_index_two_prod(
    sel_0: SelectorLike, sel_1: SelectorLike, names: Names = ()
) -> pd.MultiIndex:
    """Return an index of every identifier of the one beside every identifier of the other."""
    a, b = Selector(sel_0).ids, Selector(sel_1).ids
    levels = max(a.levels, b.levels)
    left = np.repeat(a.padded(levels), len(b), axis=1)
    right = np.tile(b.padded(levels), len(a))
    return multiindex(np.concatenate([left, right]), _names(names, 2 * levels))


def index_to_selector(idx: pd.Index) -> list[tuple[Any, ...]]:
    """Return the rows of an index as token tuples."""
    ids = identifiers_of(idx)
    return tuples_of(ids, ids.levels)


def _rows(df: Any, selector: SelectorLike, start: int | None, stop: int | None) -> Rows:
    """Return the rows of a frame or series that a selector means."""
    ids = identifiers_of(df.index, start, stop)
    levels = max((len(b.levels) for b in blocks_of(selector)), default=0)
    if levels > ids.levels:
        message = f"the selector has {levels} levels, the index of the table {ids.levels}"
        raise SelectorError(f"invalid selector: {message}")
    return rows_of(selector, Finder(ids), below=True)


def select(
    df: Any, selector: SelectorLike, start: int | None = None, stop: int | None = None
) -> Any:
    """Return the rows of a frame or series that a selector means.

    Parameters
    ----------
    df : pandas.DataFrame or pandas.Series
        Its index holds identifiers.
    selector : SelectorLike
        Unambiguous: rows in its order, and an identifier that is not there means all rows below
        it. Ambiguous: rows in the order of the table. Missing ports give no row.
    start, stop : int, optional
        Levels of the index that are looked at.
    """
    return df.iloc[_rows(df, selector, start, stop)]


def get_tuples(
    df: Any, selector: SelectorLike, start: int | None = None, stop: int | None = None
) -> list[tuple[Any, ...]]:
    """Return the index labels of the rows that a selector means, in the order of the table."""
    return index_to_selector(df.index[np.sort(_rows(df, selector, start, stop))])


def get_index(
    df: Any,
    selector: SelectorLike,
    start: int | None = None,
    stop: int | None = None,
    names: Names = (),
) -> pd.MultiIndex:
    """Return the index of the rows that a selector means.

    Raises
    ------
    SelectorError
        When there is none.
    """
    rows = np.sort(_rows(df, selector, start, stop))
    if not len(rows):
        raise SelectorError(f"no port of the table matches the selector {selector!r}")
    ids = identifiers_of(df.index[rows])
    return multiindex(ids.codes, _names(names, ids.levels))
