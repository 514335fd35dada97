"""Questions to a pattern: which ports feed which."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import PortError
from .connection_table import ConnectionTable
from .identifiers import Mask, Rows
from .interface import Interface, Tuples
from .links import DESTINATION, SOURCE
from .selector import SelectorLike, rows_of


class PatternQueries(ConnectionTable):
    """What can be asked about the connections between interfaces."""

    def _between(
        self, src_int: Any, dest_int: Any, src_type: str | None, dest_type: str | None
    ) -> tuple[Mask, Mask]:
        """Return which ports are sources and destinations of these interfaces and types."""
        known = self.interface.interface_ids
        for number in (src_int, dest_int):
            if number not in known:
                message = f"no interface {number!r}; there are {sorted(known, key=str)}"
                raise PortError(message)
        if src_int == dest_int:
            raise PortError(f"source and destination are both interface {src_int!r}")
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
        return self.interface.ids.take(rows if duplicates else _once(rows)).tuples()

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
        return self.interface.ids.take(_once(rows)).tuples()

    def is_connected(self, from_int: Any, to_int: Any) -> bool:
        """Return whether a connection leads from one interface to another, with conn not 0."""
        from_mask, to_mask = self._between(from_int, to_int, None, None)
        held = from_mask[self.links.src] & to_mask[self.links.dst]
        if "conn" in self.links.names:
            held &= np.asarray(self.links.column("conn") != 0, np.bool_)
        return bool(held.any())

    def connected_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the ports that have a connection, in lexicographic order."""
        rows = np.unique(np.concatenate([self.links.src, self.links.dst]))
        rows = rows[self.interface.mask(i)[rows]]
        rows = rows[self.interface.ids.take(rows).order()]
        return self.interface.ids.take(rows).tuples() if tuples else self.interface.taken(rows)

    def connected_port_pairs(self, as_str: bool = False) -> list[tuple[Any, Any]]:
        """Return (source, destination) of all connections, as tuples or as texts ``'/a/0'``."""
        links, ids = self.sorted_links(), self.interface.ids
        sides = [ids.take(rows) for rows in (links.src, links.dst)]
        told = [side.texts() if as_str else side.tuples() for side in sides]
        return list(zip(*told, strict=True))

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

    def __repr__(self) -> str:
        sources = int((self.links.role == SOURCE).sum())
        destinations = int((self.links.role == DESTINATION).sum())
        return (
            f"<{type(self).__name__} of {len(self):,} connections "
            f"from {sources:,} to {destinations:,} ports; {self.interface!r}>"
        )


def _once(rows: Rows) -> Rows:
    """Return the distinct rows in the order of their first place."""
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]
