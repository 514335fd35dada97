"""Which module sends to which, through which pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import PortError, near
from ...ports.pattern import Pattern
from .frames import import_pandas

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


class RoutingTable:
    """Directed connections between modules, each with a dictionary.

    ``t['a', 'b'] = {'pattern': p, 'int_0': 0, 'int_1': 1}`` replaces what was there; anything but a
    dictionary is kept under 'data'. ``t['a', 'b']`` is that dictionary, or its only value;
    ``t['a', 'b', 'pattern']`` one of them.

    Parameters
    ----------
    g : networkx.DiGraph, optional
        Connections to begin with.
    """

    def __init__(self, g: nx.DiGraph | None = None) -> None:
        import networkx as nx

        if g is not None and (not isinstance(g, nx.DiGraph) or g.is_multigraph()):
            raise PortError(f"a routing table needs a networkx.DiGraph (got {type(g).__name__})")
        self.data: nx.DiGraph = nx.DiGraph() if g is None else g

    @staticmethod
    def _pair(key: Any) -> tuple[Any, Any, tuple[Any, ...]]:
        if not isinstance(key, tuple) or len(key) < 2:
            raise PortError(f"t[...] takes a source and a destination (got {key!r})")
        return key[0], key[1], key[2:]

    def __setitem__(self, key: Any, value: Any) -> None:
        source, target, names = self._pair(key)
        if names:
            held = dict(self.data.get_edge_data(source, target, {}))
            value = held | dict.fromkeys(names, value)
        elif not isinstance(value, Mapping):
            value = {"data": value}
        if self.data.has_edge(source, target):
            self.data.remove_edge(source, target)
        self.data.add_edge(source, target, **value)

    def __getitem__(self, key: Any) -> Any:
        source, target, names = self._pair(key)
        if not self.data.has_edge(source, target):
            raise KeyError(f"no connection from {source!r} to {target!r}")
        held = dict(self.data.get_edge_data(source, target))
        if not names:
            return next(iter(held.values())) if len(held) == 1 else held
        for name in names:
            if name not in held:
                hint = near(str(name), map(str, held))
                raise KeyError(f"{source!r} to {target!r} has no {name!r}{hint}")
        return held[names[0]] if len(names) == 1 else [held[name] for name in names]

    def connect(self, id_0: Any, id_1: Any, pat: Pattern, int_0: Any = 0, int_1: Any = 1) -> None:
        """Enter a pattern between two modules, in every direction in which it connects.

        Parameters
        ----------
        id_0, id_1 : hashable
            Modules.
        pat : Pattern
        int_0, int_1 : int
            The interface of the pattern that belongs to each module, in any order.

        Raises
        ------
        PortError
            When ``pat`` is no pattern or has no such interface.
        """
        if not isinstance(pat, Pattern):
            raise PortError(f"{id_0!r} and {id_1!r} need a Pattern (got {type(pat).__name__})")
        ways = {(id_0, id_1): (int_0, int_1), (id_1, id_0): (int_1, int_0)}
        for (source, target), (a, b) in ways.items():
            if len(pat.between(a, b)[0]):
                self[source, target] = {"pattern": pat, "int_0": a, "int_1": b}

    @property
    def ids(self) -> list[Any]:
        """All modules."""
        return list(self.data.nodes())

    @property
    def connections(self) -> list[tuple[Any, Any]]:
        """All (source, destination)."""
        return list(self.data.edges())

    def has_node(self, id: Any) -> bool:
        """Return whether a module is in the table."""
        return bool(self.data.has_node(id))

    def src_ids(self, dest_id: Any) -> list[Any]:
        """Return the modules that send to one; none when it is unknown."""
        return list(self.data.predecessors(dest_id)) if self.has_node(dest_id) else []

    def dest_ids(self, src_id: Any) -> list[Any]:
        """Return the modules that one sends to; none when it is unknown."""
        return list(self.data.successors(src_id)) if self.has_node(src_id) else []

    def subtable(self, ids: Iterable[Any]) -> RoutingTable:
        """Return the connections among some modules."""
        return type(self)(self.data.subgraph(ids).copy())

    def copy(self) -> RoutingTable:
        """Return a copy; the patterns are shared."""
        return type(self)(self.data.copy())

    __copy__ = copy

    def to_df(self) -> pd.DataFrame:
        """Return the connections as a table with the index ('from', 'to')."""
        pandas = import_pandas()
        edges = list(self.data.edges(data=True))
        pairs = [(a, b) for a, b, _ in edges]
        index = pandas.MultiIndex.from_tuples(pairs, names=["from", "to"]) if pairs else (
            pandas.MultiIndex(levels=[[], []], codes=[[], []], names=["from", "to"])
        )  # fmt: skip
        names = {name: None for _, _, held in edges for name in held}
        columns = {n: pandas.Series([h.get(n) for _, _, h in edges], index, object) for n in names}
        return pandas.DataFrame(columns, index=index, dtype=object)

    def __repr__(self) -> str:
        return f"<RoutingTable of {len(self.ids)} modules and {len(self.connections)} connections>"
