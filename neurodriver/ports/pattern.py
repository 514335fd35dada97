"""Patterns: which port of one interface feeds which port of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PortError, SelectorError
from . import pattern_files
from .frames import import_pandas
from .identifiers import Identifiers, PortIndex
from .interface import Interface
from .labels import by_column, split_key
from .links import Links
from .pattern_queries import PatternQueries
from .port_table import named
from .selector import Selector, SelectorLike, rows_of

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


class Pattern(PatternQueries):
    """Connections between the ports of two or more interfaces.

    ``p[sources, destinations] = 1`` connects every source with every destination. A source may feed
    many ports; a destination has one source. The direction is told as the pattern sees it: the
    ``io`` of a source becomes 'in', that of a destination 'out'.

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

    def __init__(self, *selectors: SelectorLike, columns: Sequence[str] = ("conn",)) -> None:
        parts = [Selector(s).ids for s in selectors]
        super().__init__(Interface._of(_disjoint(parts)), columns)
        number = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
        for i in range(len(parts)):
            self.interface.labels["interface"].set(number == i, i)

    @classmethod
    def from_concat(
        cls,
        *selectors: SelectorLike,
        from_sel: SelectorLike | None = None,
        to_sel: SelectorLike | None = None,
        gpot_sel: SelectorLike | None = None,
        spike_sel: SelectorLike | None = None,
        data: Any = None,
        columns: Sequence[str] = ("conn",),
        validate: bool = True,
    ) -> Pattern:
        """Return a pattern that connects sources and destinations one by one.

        Parameters
        ----------
        *selectors : SelectorLike
            Ports of interface 0, 1, ...; none may be empty.
        from_sel, to_sel : SelectorLike, optional
            Sources and destinations, equally many.
        gpot_sel, spike_sel : SelectorLike, optional
            Ports whose type is set.
        data : scalar, array, mapping or DataFrame, optional
            Data of the connections, in their order; NaN when it is left out.
        columns : sequence of str
            Names of the data.
        validate : bool
            Refuse a second source of a destination.
        """
        return cls._made(
            False, selectors, from_sel, to_sel, (gpot_sel, spike_sel), data, columns, validate
        )

    @classmethod
    def from_product(
        cls,
        *selectors: SelectorLike,
        from_sel: SelectorLike | None = None,
        to_sel: SelectorLike | None = None,
        gpot_sel: SelectorLike | None = None,
        spike_sel: SelectorLike | None = None,
        data: Any = None,
        columns: Sequence[str] = ("conn",),
        validate: bool = True,
    ) -> Pattern:
        """Return a pattern that connects every source with every destination.

        The parameters are those of `from_concat`. More than one source is a fan-in, which needs
        ``validate=False``.
        """
        return cls._made(
            True, selectors, from_sel, to_sel, (gpot_sel, spike_sel), data, columns, validate
        )

    @classmethod
    def _made(
        cls,
        product: bool,
        selectors: Sequence[SelectorLike],
        from_sel: SelectorLike | None,
        to_sel: SelectorLike | None,
        typed: tuple[SelectorLike | None, SelectorLike | None],
        data: Any,
        columns: Sequence[str],
        validate: bool,
    ) -> Pattern:
        for number, selector in enumerate(selectors):
            if not Selector(selector).nonempty:
                raise PortError(f"cannot create pattern with empty selector (number {number})")
        out = cls(*selectors, columns=columns)
        if (from_sel is None) != (to_sel is None):
            raise PortError("from_sel and to_sel are given both or not at all")
        if from_sel is not None and to_sel is not None:
            src, dst = out.interface.rows(from_sel), out.interface.rows(to_sel)
            if product:
                src, dst = np.repeat(src, len(dst)), np.tile(dst, len(src))
            elif len(src) != len(dst):
                message = f"{len(src):,} sources and {len(dst):,} destinations"
                raise SelectorError(f"invalid selector: {message} cannot be joined one by one")
            out.connect(src, dst, _columns(data, columns), validate)
            out.links.sorted = True  # kept in the order that was asked for
        for kind, ports in zip(("gpot", "spike"), typed, strict=True):
            if ports is not None:
                out.interface[ports, "type"] = kind
        return out

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

    @classmethod
    def from_graph(cls, g: nx.DiGraph, return_key_order: bool = False) -> Any:
        """Return the pattern of a graph whose nodes are ports.

        Parameters
        ----------
        g : networkx.DiGraph
            Nodes: identifiers with ``interface``, and if known ``type`` and ``io``. Edges:
            connections.
        return_key_order : bool
            Also return the values of ``interface`` in the order of the numbers they got.

        Returns
        -------
        Pattern, or (Pattern, list)
        """
        out, keys = pattern_files.from_graph(cls, g)
        return (out, keys) if return_key_order else out

    def to_graph(self) -> nx.DiGraph:
        """Return a graph of the ports and connections that GEXF can hold; unset is ''."""
        return pattern_files.to_graph(self)

    @staticmethod
    def split_multiindex(idx: pd.MultiIndex, a: slice, b: slice) -> tuple[Any, Any]:
        """Return two indices of pandas, each of some levels of one."""
        pandas = import_pandas()
        levels = range(idx.nlevels)
        parts = [[idx.get_level_values(n) for n in levels[which]] for which in (a, b)]
        made = [pandas.MultiIndex.from_arrays(p) if len(p) > 1 else p[0] for p in parts]
        return made[0], made[1]

    def clear(self) -> None:
        """Remove all ports and connections."""
        self.interface.clear()
        self.links, self._rank = Links(0, self.links.names), None

    def __setitem__(self, key: Any, value: Any) -> None:
        (source, destination), names = split_key(key, 2)
        src, dst = self.interface.rows(source), self.interface.rows(destination)
        src, dst = np.repeat(src, len(dst)), np.tile(dst, len(src))
        self.connect(src, dst, by_column(names, self.links.names, value))

    def __getitem__(self, key: Any) -> pd.DataFrame:
        (source, destination), names = split_key(key, 2)
        place = np.full((2, len(self.interface)), -1)
        for side, selector in enumerate((source, destination)):
            rows = rows_of(selector, self.interface.find, below=True)
            place[side, rows] = np.arange(len(rows))
        links = self.sorted_links()
        src, dst = place[0, links.src], place[1, links.dst]
        held = np.flatnonzero((src >= 0) & (dst >= 0))
        order = held[np.lexsort((dst[held], src[held]))]
        return self.frame(order, list(names) or None)


def _disjoint(parts: Sequence[Identifiers]) -> Identifiers:
    """Return all identifiers; none may be in two parts."""
    ids = Identifiers.joined(parts)
    number = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    index = PortIndex(ids)
    again = index.duplicates
    shared = again[number[index.find(ids.take(again))] != number[again]]
    if len(shared):
        raise PortError(f"the interfaces of a pattern share ports: {named(ids, shared)}")
    return ids


def _columns(data: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Return data by column: from a scalar, an array, a mapping or a table."""
    if data is None:
        return {}
    if isinstance(data, Mapping):
        return dict(data)
    if hasattr(data, "columns"):
        return {str(name): data[name].to_numpy() for name in data.columns}
    if np.ndim(data) == 2:
        return dict(zip(columns, np.asarray(data).T, strict=True))
    if np.ndim(data) == 0:
        return dict.fromkeys(columns, data)
    return {columns[0]: np.asarray(data)}
