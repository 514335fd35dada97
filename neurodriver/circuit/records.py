"""Node and edge records: what a file or a graph says, before it is checked."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..errors import CircuitError, Faults


@dataclass
class Records:
    """Nodes and edges in the order of the file.

    ``source`` is the file or graph, for messages; ``sources`` and ``targets`` are the uids of the
    ends of each edge; ``faults`` holds what was found wrong so far. ``models`` are classes that the
    records bring with them.
    """

    source: str
    uids: list[str] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    models: list[type] = field(default_factory=list)
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.faults = Faults(self.source)


RESERVED = frozenset(
    {"class", "id", "key", "pid", "start", "end", "parents", "slices", "spells", "viz"}
)
"""Names that mean something else in a file: a node column gets a ``_`` behind it there."""


def plain_name(name: str) -> str:
    """Return the name of a node column that an attribute of a file holds."""
    plain = name.removesuffix("_")
    return plain if plain in RESERVED else name


def from_networkx(graph: Any, name: str = "") -> Records:
    """Return the records of a directed networkx graph; the graph is only read.

    Node ids become uids by ``str``; the sub-dictionaries ``params``, ``states`` (as
    ``init<state>``) and ``attr_dict`` are flattened.
    """
    import networkx as nx

    source = name or getattr(graph, "name", "") or "graph"
    if not isinstance(graph, nx.Graph):
        message = f"expected a networkx graph, got {type(graph).__name__}"
        raise CircuitError(f"{source}: {message}; for a file use Circuit.from_file")
    if not graph.is_directed():
        raise CircuitError(f"{source}: the graph is undirected; a circuit needs a directed one")
    records = Records(source)
    for node, data in graph.nodes(data=True):
        records.uids.append(str(node))
        records.nodes.append(flattened(data))
    for start, end, data in graph.edges(data=True):
        records.sources.append(str(start))
        records.targets.append(str(end))
        records.edges.append(flattened(data))
    return records


def to_networkx(records: Records, integers: bool = False) -> Any:
    """Return records as a networkx.MultiDiGraph, whose ids are integers on demand."""
    import networkx as nx

    kind = int if integers else str
    made = nx.MultiDiGraph()
    made.add_nodes_from((kind(u), d) for u, d in zip(records.uids, records.nodes, strict=True))
    ends = map(kind, records.sources), map(kind, records.targets)
    made.add_edges_from(zip(*ends, records.edges, strict=True))
    return made


def flattened(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with the sub-dictionaries of a node or edge among them; a copy.

    What ``params`` and ``states`` hold are numbers, also where they are written as text.
    """
    out = dict(data)
    for key, prefix in (("attr_dict", ""), ("params", ""), ("states", "init")):
        inner = out.get(key)
        if isinstance(inner, Mapping):
            del out[key]
            values = {prefix + str(name): value for name, value in inner.items()}
            numbers = key != "attr_dict"
            out.update({n: _number(v) for n, v in values.items()} if numbers else values)
    return out


def _number(value: Any) -> Any:
    """Return the number that a text stands for; anything else as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


@contextmanager
def no_collection() -> Iterator[None]:
    """Stop the cyclic garbage collector: a million records have no cycles to find."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
