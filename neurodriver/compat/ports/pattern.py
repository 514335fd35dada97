"""Patterns with the methods of the old library: tables, queries by interface, CSV files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import PortError
from ...ports import graphs
from ...ports.identifiers import Mask, Rows
from ...ports.labels import by_column
from ...ports.links import Links
from . import pattern_files
from .connection_table import ConnectionTable
from .interface import Interface
from .port_table import split_key
from .selector import SelectorLike, rows_of
from .tuples import Tuples, tuples_of

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


class Pattern(ConnectionTable):
    """A `neurodriver.Pattern` whose selectors may be sequences and whose content is tables, too.

    Parameters
    ----------
    *selectors : SelectorLike
        Ports of interface 0, 1, ...; no port in two of them.
    columns : sequence of str
        Names of the connections' data.

    Raises
    ------
    PortError
        When the selectors share a port.
    """

    @classmethod
    def from_concat(cls, *selectors: Any, data: Any = None, **options: Any) -> Pattern:
        """Return what `neurodriver.Pattern.from_concat` does; ``data`` may be a table."""
        if hasattr(data, "columns"):
            data = {str(name): data[name].to_numpy() for name in data.columns}
        return super().from_concat(*selectors, data=data, **options)

    @classmethod
    def from_graph(cls, g: nx.DiGraph, return_key_order: bool = False) -> Any:
        """Return the pattern of a graph whose nodes are ports.

        Parameters
        ----------
        g : networkx.DiGraph
            As for `neurodriver.Pattern.from_graph`.
        return_key_order : bool
            Also return the values of ``interface`` in the order of the numbers they got.

        Returns
        -------
        Pattern, or (Pattern, list)
        """
        out, keys = graphs.from_graph(cls, g)
        return (out, keys) if return_key_order else out

    @classmethod
    def from_df(cls, df_int: pd.DataFrame, df_pat: pd.DataFrame, validate: bool = True) -> Pattern:
        """Return the pattern of two tables: ports as in `Interface.from_df`, and connections.

        Parameters
        ----------
        df_int : pandas.DataFrame
            Ports; 'interface' has to be set.
        df_pat : pandas.DataFrame
            Connections; the levels of its index are ``from_0 ... to_0 ...``.
        validate : bool
            Refuse a second source of a destination.
        """
        return pattern_files.from_df(cls, df_int, df_pat, validate)

    def from_csv(self, file_name: str | Path, **kwargs: Any) -> None:
        """Replace the connections by those of a file: levels of source and destination, then data.

        The file may have a head as ``p.data.to_csv(file)`` writes it. ``kwargs`` are passed to
        ``pandas.read_csv``.
        """
        pattern_files.read_csv(self, file_name, **kwargs)

    def clear(self) -> None:
        """Remove all ports and connections."""
        self.interface.clear()
        self.links, self._rank = Links(0, self.links.names), None

    def __setitem__(self, key: Any, value: Any) -> None:
        (source, destination), names = split_key(key, 2)
        columns = by_column(names, self.links.names, value)
        super().__setitem__((source, destination), columns)

    def connect(
        self, src: Rows, dst: Rows, values: Mapping[str, Any], validate: bool = True
    ) -> None:
        """Connect ports by their rows in the interface; see `neurodriver.Pattern.connect`."""
        self._check()
        super().connect(src, dst, values, validate)

    def sorted_links(self) -> Links:
        """Return the connections in lexicographic order."""
        self._check()
        return super().sorted_links()

    def _check(self) -> None:
        if len(self.interface) != len(self.links.role):
            raise PortError("the ports of a pattern's interface cannot be added to or removed")

    def _between(
        self, src_int: Any, dest_int: Any, src_type: str | None, dest_type: str | None
    ) -> tuple[Mask, Mask]:
        """Return which ports are sources and destinations of these interfaces and types."""
        self.between(src_int, dest_int)  # raises for unknown interfaces
        kinds = [{} if kind is None else {"type": kind} for kind in (src_type, dest_type)]
        return (
            self.interface.mask(src_int, **kinds[0]),
            self.interface.mask(dest_int, **kinds[1]),
        )

    def _restricted(self, mask: Mask, selector: SelectorLike | None) -> Mask:
        if selector is None:
            return mask
        chosen = np.zeros(len(self.interface), np.bool_)
        chosen[rows_of(selector, self.interface.find, below=True)] = True
        return mask & chosen

    def src_rows(
        self,
        src_int: Any,
        dest_int: Any,
        src_type: str | None = None,
        dest_type: str | None = None,
        src_ports: SelectorLike | None = None,
        dest_ports: SelectorLike | None = None,
    ) -> tuple[Rows, Rows]:
        """Return the connections from one interface to another as rows of the interface's ports.

        Returns
        -------
        src, dst : (n,) int64
        """
        from_mask, to_mask = self._between(src_int, dest_int, src_type, dest_type)
        from_mask = self._restricted(from_mask, src_ports)
        to_mask = self._restricted(to_mask, dest_ports)
        links = self.sorted_links()
        held = from_mask[links.src] & to_mask[links.dst]
        return links.src[held], links.dst[held]

    def src_idx(
        self,
        src_int: Any,
        dest_int: Any,
        src_type: str | None = None,
        dest_type: str | None = None,
        dest_ports: SelectorLike | None = None,
        duplicates: bool = False,
    ) -> Tuples:
        """Return the sources of connections from one interface to another, as tuples.

        Parameters
        ----------
        src_int, dest_int : int
            Interfaces.
        src_type, dest_type : str, optional
            Only ports of this type.
        dest_ports : SelectorLike, optional
            Only connections to these.
        duplicates : bool
            A source once for each of its connections.
        """
        rows, _ = self.src_rows(src_int, dest_int, src_type, dest_type, dest_ports=dest_ports)
        return tuples_of(self.interface.ids.take(rows if duplicates else _once(rows)))

    def dest_idx(
        self,
        src_int: Any,
        dest_int: Any,
        src_type: str | None = None,
        dest_type: str | None = None,
        src_ports: SelectorLike | None = None,
    ) -> Tuples:
        """Return the destinations of connections from one interface to another, as tuples."""
        _, rows = self.src_rows(src_int, dest_int, src_type, dest_type, src_ports=src_ports)
        return tuples_of(self.interface.ids.take(_once(rows)))

    def is_connected(self, from_int: Any, to_int: Any) -> bool:
        """Return whether a connection leads from one interface to another, with conn not 0."""
        return bool(len(self.between(from_int, to_int)[0]))

    def connected_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the ports that have a connection, in lexicographic order."""
        rows = np.unique(np.concatenate([self.links.src, self.links.dst]))
        rows = rows[self.interface.mask(i)[rows]]
        rows = rows[self.interface.ids.take(rows).order()]
        return tuples_of(self.interface.ids.take(rows)) if tuples else self.interface.taken(rows)

    def connected_port_pairs(self, as_str: bool = False) -> list[tuple[Any, Any]]:
        """Return (source, destination) of all connections, as tuples or as texts ``'/a/0'``."""
        if as_str:
            return list(self.pairs())
        links, ids = self.sorted_links(), self.interface.ids
        sides = [tuples_of(ids.take(rows)) for rows in (links.src, links.dst)]
        return list(zip(*sides, strict=True))

    get_conns = connected_port_pairs

    @property
    def interface_ids(self) -> set[Any]:
        """Numbers of the interfaces."""
        return self.interface.interface_ids

    def which_int(self, s: SelectorLike) -> set[Any]:
        """Return the numbers of the interfaces that hold ports of a selector."""
        return self.interface.which_int(s)

    def is_in_interfaces(self, selector: SelectorLike) -> bool:
        """Return whether every port of a selector is in the pattern."""
        return self.interface.is_in_interfaces(selector)

    def in_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the sources: ports that the pattern takes input from."""
        return self.interface.in_ports(i, tuples)

    def out_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the destinations: ports that the pattern gives output to."""
        return self.interface.out_ports(i, tuples)

    def gpot_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the graded potential ports."""
        return self.interface.gpot_ports(i, tuples)

    def spike_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the spike ports."""
        return self.interface.spike_ports(i, tuples)

    def interface_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the ports of an interface, or all."""
        return self.interface.interface_ports(i, tuples)


def _once(rows: Rows) -> Rows:
    """Return the distinct rows in the order of their first place."""
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]
