"""Patterns from and to graphs, which GEXF can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import Faults, PortError, SelectorError, quoted
from .grammar import parse_list
from .identifiers import Identifiers
from .selector import Selector

if TYPE_CHECKING:
    import networkx as nx

    from .pattern import Pattern

P = TypeVar("P", bound="Pattern")

NOT_DATA = frozenset(["id", "label", "conn"])
"""Attributes of a graph's edges that are not data of a connection."""


def _identifiers(nodes: list[Any], faults: Faults) -> Identifiers:
    """Return the identifiers of a graph's nodes, one each."""
    if all(isinstance(node, str) for node in nodes):
        listed = parse_list(",".join(nodes))
        if sum(map(len, listed)) == len(nodes):
            return Selector.of_blocks(listed).ids
    parts = []
    for node in nodes:
        try:
            ids = Selector(node).ids if isinstance(node, str) else Selector().ids
            if len(ids) != 1:
                raise SelectorError("not one port identifier, as '/a/0'")
            parts.append(ids)
        except SelectorError as error:
            faults.add(f"node {quoted(node)}: {error}")
    return Identifiers.joined(parts)


def from_graph(kind: type[P], graph: nx.DiGraph) -> tuple[P, list[Any]]:
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
    ids = _identifiers(list(nodes), faults)
    for node, attributes in nodes.items():
        if attributes.get("interface") in (None, ""):
            faults.add(f"node {quoted(node)}: attribute 'interface' is missing")
    if faults.count:
        raise PortError(faults.report())
    given = [attributes["interface"] for attributes in nodes.values()]
    keys = sorted(set(given), key=lambda k: (isinstance(k, str), k))
    number = {key: i for i, key in enumerate(keys)}
    interface = kind.interface_class.of_identifiers(ids)
    interface.labels["interface"].set(slice(None), [number[key] for key in given])
    for name in ("io", "type"):
        values = [attributes.get(name) for attributes in nodes.values()]
        interface.labels[name].set(slice(None), values)
    order = ids.order()
    place = dict(zip(nodes, np.argsort(order).tolist(), strict=True))
    edges = list(graph.edges(data=True))
    columns = dict.fromkeys(n for _, _, data in edges for n in data if n not in NOT_DATA)
    out = kind.of_interface(interface.taken(order), ["conn", *columns])
    attributes = {n: [data.get(n, np.nan) for _, _, data in edges] for n in columns}
    src = np.array([place[a] for a, _, _ in edges], np.int64)
    dst = np.array([place[b] for _, b, _ in edges], np.int64)
    out.connect(src, dst, {"conn": 1, **attributes})
    return out, keys


def to_graph(pattern: Pattern) -> nx.DiGraph:
    """Return a graph of ports ('/a/0') and connections; unset attributes are ''."""
    import networkx as nx

    graph = nx.DiGraph()
    interface, links = pattern.interface, pattern.sorted_links()
    names = interface.ids.texts()
    attributes = {
        name: ["" if value != value else value for value in column.values().tolist()]
        for name, column in interface.labels.items()
    }
    for i, node in enumerate(names):
        graph.add_node(node, **{name: values[i] for name, values in attributes.items()})
    data = {name: links.column(name).tolist() for name in links.names if name != "conn"}
    for i, (a, b) in enumerate(zip(links.src.tolist(), links.dst.tolist(), strict=True)):
        known = {name: values[i] for name, values in data.items() if values[i] == values[i]}
        graph.add_edge(names[a], names[b], **known)
    return graph
