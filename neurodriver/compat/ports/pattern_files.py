"""Patterns from tables and CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import PortError
from ...ports.identifiers import Identifiers, Rows
from ...ports.interface import named
from ...ports.links import Links
from ...ports.tokens import encode_all
from .frames import identifiers_of, import_pandas
from .interface import Interface

if TYPE_CHECKING:
    import pandas as pd

    from .pattern import Pattern


def _rows(interface: Interface, ids: Identifiers, side: str) -> Rows:
    rows = interface.find.find(ids)
    if len(unknown := np.flatnonzero(rows < 0)):
        raise PortError(f"{side} that are not in the interface: {named(ids, unknown)}")
    return rows


def from_df(
    kind: type[Pattern], df_int: pd.DataFrame, df_pat: pd.DataFrame, validate: bool
) -> Pattern:
    """Return a pattern from a table of ports and a table of connections.

    Raises
    ------
    PortError
        When an interface is unset, an index is misnamed, or a port is unknown.
    """
    interface = Interface.from_df(df_int)
    if len(unset := np.flatnonzero(interface.labels["interface"].unset)):
        raise PortError(f"interface column must be set: {named(interface.ids, unset)}")
    names = list(df_pat.index.names)
    half = len(names) // 2
    expected = [f"{side}_{n}" for side in ("from", "to") for n in range(half)]
    if names != expected or half < interface.num_levels:
        message = f"from_0 ... to_{interface.num_levels - 1} needed (got {names})"
        raise PortError(f"incorrectly named pattern index levels: {message}")
    columns = [str(name) for name in df_pat.columns]
    out = kind.of_interface(interface, columns)
    src = _rows(interface, identifiers_of(df_pat.index, 0, half), "sources")
    dst = _rows(interface, identifiers_of(df_pat.index, half, None), "destinations")
    out.connect(src, dst, {name: df_pat[name].to_numpy() for name in columns}, validate)
    out.links.sorted = True
    return out


def _token(text: Any) -> Any:
    """Return a token from a cell of a file."""
    return int(text) if isinstance(text, str) and text.isdecimal() else text


def _data(cells: Any) -> Any:
    """Return a column of a file as numbers where all are numbers; an empty cell is NaN."""
    kept = [np.nan if cell == "" else cell for cell in cells]
    try:
        return np.array(kept, float)
    except ValueError:
        return np.array(kept, object)


def read_csv(pattern: Pattern, file_name: str | Path, **kwargs: Any) -> None:
    """Replace the connections of a pattern by those of a CSV file.

    Raises
    ------
    PortError
        When a port of the file is not in the pattern; the pattern is left as it was.
    """
    pandas = import_pandas()
    levels, names = pattern.interface.num_levels, pattern.links.names
    places = range(2 * levels)
    options = {"header": None, "dtype": str, "keep_default_na": False} | kwargs
    table = pandas.read_csv(file_name, **options)
    if len(table) and table.iloc[0, 0] == "from_0":
        names = [str(cell) for cell in table.iloc[0, 2 * levels :]]
        table = table.iloc[1:]
    given = table.shape[1] - 2 * levels
    if not 0 <= given <= len(names):
        message = f"{2 * levels} levels and at most {len(names)} columns of data are needed"
        raise PortError(f"{file_name}: {message} (got {table.shape[1]} columns)")
    codes = np.array([encode_all([_token(x) for x in table.iloc[:, n]]) for n in places])
    codes = codes.reshape(2 * levels, len(table))
    src = _rows(pattern.interface, Identifiers(codes[:levels]), f"{file_name}: sources")
    dst = _rows(pattern.interface, Identifiers(codes[levels:]), f"{file_name}: destinations")
    before, pattern.links = pattern.links, Links(len(pattern.interface), names)
    values = {name: _data(table.iloc[:, 2 * levels + n]) for n, name in enumerate(names[:given])}
    try:
        pattern.connect(src, dst, values)
    except PortError:
        pattern.links = before
        raise
    gone = (before.role != 0) & (pattern.links.role == 0)
    pattern.interface.labels["io"].set(gone, None)
