"""Patterns from and to tables, CSV files and graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Faults, PortError, SelectorError, quoted
from .frames import identifiers_of, import_pandas
from .grammar import parse_list
from .identifiers import Identifiers, Rows
from .interface import Interface
from .links import Links
from .methods import is_identifier
from .port_table import named
from .selector import Selector
from .tokens import encode_all

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from .pattern import Pattern

NOT_DATA = frozenset(["id", "label", "conn"])
"""Attributes of a graph's edges that are not data of a connection."""


def _rows(interface: Interface, ids: Identifiers, side: str) -> Rows:
    rows = interface.find.find(ids)
    if len(unknown := np.flatnonzero(rows < 0)):
        raise PortError(f"{side} that are not in the interface: {named(ids, unknown)}")
    return rows


def _bare(kind: type[Pattern], interface: Interface, columns: list[str]) -> Pattern:
    """Return a pattern without connections on given ports."""
    out = kind(columns=columns)
    out.interface = interface
    out.links = Links(len(interface), columns)
    return out


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
    out = _bare(kind, interface, columns)
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


def _graph_ids(nodes: list[Any], faults: Faults) -> Identifiers:
    """Return the identifiers of a graph's nodes, one each."""
    if all(isinstance(node, str) for node in nodes):
        listed = parse_list(",".join(nodes))
        if sum(map(len, listed)) == len(nodes):
            return Selector._of(listed).ids
    parts = []
    for node in nodes:
        try:
            if not isinstance(node, str) or not is_identifier(node):
                raise SelectorError("not one port identifier, as '/a/0'")
            parts.append(Selector(node).ids)
        except SelectorError as error:
            faults.add(f"node {quoted(node)}: {error}")
    return Identifiers.joined(parts)


def from_graph(kind: type[Pattern], graph: nx.DiGraph) -> tuple[Pattern, list[Any]]:
    """Return the pattern of a graph, and the values of ``interface`` in the order of their numbers.

    Raises
    ------
    PortError
        All faults of the nodes at once.
    """
    if not graph.is_directed() or graph.is_multigraph():
        raise PortError(f"a pattern needs a networkx.DiGraph (got {type(graph).__name__})")
    faults = Faults("pattern graph")
    nodes = dict(graph.nodes(data=True))
    ids = _graph_ids(list(nodes), faults)
    for node, attributes in nodes.items():
        if attributes.get("interface") in (None, ""):
            faults.add(f"node {quoted(node)}: attribute 'interface' is missing")
    if faults.count:
        raise PortError(faults.report())
    given = [attributes["interface"] for attributes in nodes.values()]
    keys = sorted(set(given), key=lambda k: (isinstance(k, str), k))
    number = {key: i for i, key in enumerate(keys)}
    interface = Interface._of(ids)
    interface.labels["interface"].set(slice(None), [number[key] for key in given])
    for name in ("io", "type"):
        values = [attributes.get(name) for attributes in nodes.values()]
        interface.labels[name].set(slice(None), values)
    order = ids.order()
    place = dict(zip(nodes, np.argsort(order).tolist(), strict=True))
    edges = list(graph.edges(data=True))
    columns = dict.fromkeys(n for _, _, data in edges for n in data if n not in NOT_DATA)
    out = _bare(kind, interface.taken(order), ["conn", *columns])
    told = {n: [data.get(n, np.nan) for _, _, data in edges] for n in columns}
    src = np.array([place[a] for a, _, _ in edges], np.int64)
    dst = np.array([place[b] for _, b, _ in edges], np.int64)
    out.connect(src, dst, {"conn": 1, **told})
    return out, keys


def to_graph(pattern: Pattern) -> nx.DiGraph:
    """Return a graph of ports ('/a/0') and connections; unset attributes are ''."""
    import networkx as nx

    graph = nx.DiGraph()
    interface, links = pattern.interface, pattern.sorted_links()
    names = interface.ids.texts()
    told = {
        name: ["" if value != value else value for value in column.values().tolist()]
        for name, column in interface.labels.items()
    }
    for i, node in enumerate(names):
        graph.add_node(node, **{name: values[i] for name, values in told.items()})
    data = {name: links.column(name).tolist() for name in links.names if name != "conn"}
    for i, (a, b) in enumerate(zip(links.src.tolist(), links.dst.tolist(), strict=True)):
        known = {name: values[i] for name, values in data.items() if values[i] == values[i]}
        graph.add_edge(names[a], names[b], **known)
    return graph
