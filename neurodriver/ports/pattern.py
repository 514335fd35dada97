"""Patterns: which port of one interface feeds which port of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..errors import PortError, SelectorError
from . import graphs
from .identifiers import Identifiers, PortIndex, Rows
from .interface import Interface, named
from .labels import by_column
from .links import DESTINATION, SOURCE, Links, prepared
from .selector import SelectorLike

if TYPE_CHECKING:
    import networkx as nx


class Pattern:
    """Connections between the ports of two or more interfaces.

    ``p[sources, destinations] = 1`` connects every source with every destination. A source may feed
    many ports; a destination has one source. The direction is told as the pattern sees it: the
    ``io`` of a source becomes 'in', that of a destination 'out'.

    Parameters
    ----------
    *selectors : SelectorLike
        Ports of interface 0, 1, ...; no port in two of them.
    columns : sequence of str
        Names of the connections' data. A connection whose ``conn`` is 0 does not count.

    Attributes
    ----------
    interface : Interface
        All ports; ``p.interface[ports, 'type'] = 'spike'`` states their type.

    Raises
    ------
    PortError
        When the selectors share a port.
    """

    interface_class: ClassVar[type[Interface]] = Interface

    def __init__(self, *selectors: SelectorLike, columns: Sequence[str] = ("conn",)) -> None:
        parts = [self.interface_class.selector_class(s).ids for s in selectors]
        self._begin(self.interface_class.of_identifiers(_disjoint(parts)), columns)
        number = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
        for i in range(len(parts)):
            self.interface.labels["interface"].set(number == i, i)

    def _begin(self, interface: Any, columns: Sequence[str]) -> None:
        self.interface = interface
        self.links = Links(len(interface), columns)
        self._rank: Rows | None = None

    @classmethod
    def of_interface(cls, interface: Interface, columns: Sequence[str] = ("conn",)) -> Self:
        """Return a pattern without connections between given ports."""
        out = cls.__new__(cls)
        out._begin(interface, columns)
        return out

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
        product: bool = False,
    ) -> Self:
        """Return a pattern that connects sources and destinations one by one.

        Parameters
        ----------
        *selectors : SelectorLike
            Ports of interface 0, 1, ...; none may be empty.
        from_sel, to_sel : SelectorLike, optional
            Sources and destinations, equally many.
        gpot_sel, spike_sel : SelectorLike, optional
            Ports whose type is set.
        data : scalar, array or mapping, optional
            Data of the connections, in their order; NaN when it is left out.
        columns : sequence of str
            Names of the data.
        validate : bool
            Refuse a second source of a destination.
        product : bool
            Connect every source with every destination instead.
        """
        for number, selector in enumerate(selectors):
            if not len(cls.interface_class.selector_class(selector)):
                raise PortError(f"cannot create pattern with empty selector (number {number})")
        out = cls(*selectors, columns=columns)
        for kind, ports in (("gpot", gpot_sel), ("spike", spike_sel)):
            if ports is not None:
                out.interface[ports, "type"] = kind
        if (from_sel is None) != (to_sel is None):
            raise PortError("from_sel and to_sel are given both or not at all")
        if from_sel is not None and to_sel is not None:
            src, dst = out.interface.rows(from_sel), out.interface.rows(to_sel)
            if product:
                src, dst = np.repeat(src, len(dst)), np.tile(dst, len(src))
            elif len(src) != len(dst):
                message = f"{len(src):,} sources and {len(dst):,} destinations"
                raise SelectorError(f"invalid selector: {message} cannot be joined one by one")
            out.connect(src, dst, _by_name(data, columns), validate)
            out.links.sorted = True  # kept in the order that was asked for
        return out

    @classmethod
    def from_product(cls, *selectors: SelectorLike, **options: Any) -> Self:
        """Return a pattern that connects every source with every destination.

        The options are those of `from_concat`. More than one source is a fan-in, which needs
        ``validate=False``.
        """
        return cls.from_concat(*selectors, product=True, **options)

    @classmethod
    def from_graph(cls, graph: nx.DiGraph) -> Self:
        """Return the pattern of a graph whose nodes are ports.

        Parameters
        ----------
        graph : networkx.DiGraph
            Nodes: identifiers with ``interface``, and if known ``type`` and ``io``. Edges:
            connections.

        Raises
        ------
        PortError
            All faults of the nodes at once.
        """
        return graphs.from_graph(cls, graph)[0]

    def to_graph(self) -> nx.DiGraph:
        """Return a graph of the ports and connections that GEXF can hold; unset is ''."""
        return graphs.to_graph(self)

    def __len__(self) -> int:
        return self.links.count

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, tuple) or len(key) < 2:
            raise PortError(f"p[...] takes two selectors, then names of columns (got {key!r})")
        source, destination, *names = key
        src, dst = self.interface.rows(source), self.interface.rows(destination)
        src, dst = np.repeat(src, len(dst)), np.tile(dst, len(src))
        self.connect(src, dst, by_column(names, self.links.names, value))

    def connect(
        self, src: Rows, dst: Rows, values: Mapping[str, Any], validate: bool = True
    ) -> None:
        """Connect ports by their rows in the interface; pairs that are there get new values.

        Parameters
        ----------
        src, dst : (n,) int64
            Rows of sources and destinations.
        values : mapping
            Data by column, one value for all or one each.
        validate : bool
            Refuse a second source, repeated pairs, ports that are both source and destination, and
            connections within one interface.

        Raises
        ------
        PortError
            Nothing is changed then.
        """
        if not len(src):
            return
        data = prepared(values, len(src))
        rows = self.links.find(src, dst)
        new = rows < 0
        if new.any():
            fresh = slice(None) if new.all() else new
            if validate:
                self._refuse(src[fresh], dst[fresh])
            rows[fresh] = self.links.append(src[fresh], dst[fresh])
        self.interface.labels["io"].set(src, "in")
        self.interface.labels["io"].set(dst, "out")
        self.links.set(rows, data)

    def _refuse(self, src: Rows, dst: Rows) -> None:
        twice, second, turned = self.links.clashes(src, dst)
        number = self.interface.labels["interface"].codes
        for mask, message in (
            (number[src] == number[dst], "ports of one interface cannot be connected."),
            (twice, "Duplicate pattern entries detected."),
            (turned, "Ports cannot both receive input and send output."),
            (second, "Fan-in pattern entries detected."),
        ):
            if mask.any():
                rows = np.flatnonzero(mask)
                raise PortError(f"{message} Concerned: {self.named_pairs(src[rows], dst[rows])}")

    def named_pairs(self, src: Rows, dst: Rows) -> str:
        """Return some connections as a message shows them."""
        ids = self.interface.ids
        pairs = zip(ids.take(src[:3]).texts(), ids.take(dst[:3]).texts(), strict=True)
        more = f" and {len(src) - 3:,} more" if len(src) > 3 else ""
        return ", ".join(f"'{a}' -> '{b}'" for a, b in pairs) + more

    def sorted_links(self) -> Links:
        """Return the connections in lexicographic order."""
        if not self.links.sorted:
            if self._rank is None:
                self._rank = np.empty(len(self.interface), np.int64)
                self._rank[self.interface.ids.order()] = np.arange(len(self.interface))
            self.links.sort(self._rank)
        return self.links

    def between(self, source: int, destination: int) -> tuple[Rows, Rows]:
        """Return the connections from one interface to another whose ``conn`` is not 0.

        Returns
        -------
        src, dst : (n,) int64
            Rows of the ports in the interface, in the order of `sorted_links`.

        Raises
        ------
        PortError
            When there is no such interface, or both are the same.
        """
        known = self.interface.interface_ids
        for number in (source, destination):
            if number not in known:
                raise PortError(f"no interface {number!r}; there are {sorted(known, key=str)}")
        if source == destination:
            raise PortError(f"source and destination are both interface {source!r}")
        links = self.sorted_links()
        held = self.interface.mask(source)[links.src] & self.interface.mask(destination)[links.dst]
        if "conn" in links.names:
            held &= np.asarray(links.column("conn") != 0, np.bool_)  # unset counts as connected
        return links.src[held], links.dst[held]

    def pairs(self) -> list[tuple[str, str]]:
        """Return source and destination of all connections, as texts such as ``'/a/0'``."""
        links, ids = self.sorted_links(), self.interface.ids
        sides = [ids.take(rows).texts() for rows in (links.src, links.dst)]
        return list(zip(*sides, strict=True))

    def __repr__(self) -> str:
        sources = int((self.links.role == SOURCE).sum())
        destinations = int((self.links.role == DESTINATION).sum())
        return (
            f"<{type(self).__name__} of {len(self):,} connections "
            f"from {sources:,} to {destinations:,} ports; {self.interface!r}>"
        )


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


def _by_name(data: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Return data by column: from a scalar, an array or a mapping."""
    if data is None:
        return {}
    if isinstance(data, Mapping):
        return dict(data)
    if np.ndim(data) == 2:
        return dict(zip(columns, np.asarray(data).T, strict=True))
    if np.ndim(data) == 0:
        return dict.fromkeys(columns, data)
    return {columns[0]: np.asarray(data)}
