"""What one part of a circuit computes: its components, with all connections into them.

Sources in other parts are a hidden group, the imports. Row k of an import is row k of its source.
So connections keep their delays, and a part computes the same bits as the whole circuit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.kinds import VariableKind
from .circuit import Circuit, Connections, Group, Port
from .cut import Bridge, bridges_of, into_part, own_groups, part_numbers, spaces_of_part
from .drawn_share import DrawnShare
from .numbered import Numbered
from .plastic import with_largest

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Share:
    """One part of a circuit.

    Attributes
    ----------
    circuit : Circuit
        Its components in their order, then the imports.
    imports : int
        Number of the group of imports, or -1 without imports.
    incoming : tuple of Bridge
        What other parts send. Their sources are the imports, one bridge after the other.
    outgoing : tuple of (Bridge, (n,) int64)
        What this part sends, and the components of ``circuit`` that are its sources.
    events : frozenset of str
        Variables of events.
    """

    part: int
    circuit: Circuit
    imports: int
    incoming: tuple[Bridge, ...]
    outgoing: tuple[tuple[Bridge, Numbers], ...]
    events: frozenset[str]


def shares(
    circuit: Circuit, of: Numbers, wanted: Sequence[int] | None = None, sends: bool = False
) -> Iterator[Share]:
    """Yield the shares of parts; ``of`` is the part of each component.

    Parameters
    ----------
    circuit : Circuit
    of : (count,) int64
    wanted : sequence of int, optional
        The parts; by default all.
    sends : bool
        Whether a GPU delivers the spikes of sources in other parts by source.

    Raises
    ------
    CircuitError
        For components in different parts that must be in the same one.
    """
    count = int(of.max(initial=0)) + 1
    bridges = bridges_of(circuit, of, [f"part{number}" for number in range(count)])
    for part in range(count) if wanted is None else wanted:
        yield _share(circuit, of, part, bridges, sends)


def _share(circuit: Circuit, of: Numbers, part: int, bridges: list[Bridge], sends: bool) -> Share:
    groups, number = own_groups(circuit, of, part)
    incoming = tuple(one for one in bridges if one.target == part)
    outgoing = tuple((one, number[one.sources]) for one in bridges if one.source == part)
    first = int((of == part).sum())
    entries = []
    for one in incoming:
        entries.append((one, first))
        first += len(one.sources)
    imported = first - int((of == part).sum())
    if imported:
        names = Numbered((("import", imported),))
        groups.append(Group(Port, {}, imported, names, hidden=True, sends=sends))
    whole = map(with_largest, circuit.connections)
    numbers = part_numbers(number, entries)
    links = [into_part(circuit, one, of, part, numbers) for one in whole]
    made = Circuit.from_columns(
        circuit.name,
        groups,
        tuple(one for one in links if not _is_empty(one)),
        source=circuit.source,
        spaces=spaces_of_part(circuit, of, part),
        random_namespace=circuit.random_namespace or "",
    )
    events = circuit.kinds.updated(VariableKind.EVENT)
    own = len(groups) - 1 if imported else -1
    return Share(part, made, own, incoming, outgoing, frozenset(events))


def _is_empty(links: Connections) -> bool:
    """Whether there is no connection; a share of a projection is not drawn to know it."""
    return links.is_empty if isinstance(links, DrawnShare) else not len(links)


def counted(share: Share) -> tuple[int, int]:
    """Return how many connections a part has, and how many of them begin in other parts.

    Connections that are drawn are counted anew, and not kept.
    """
    own = share.circuit.count - sum(len(one.sources) for one in share.incoming)
    every = crossing = 0
    for links in share.circuit.connections:
        if isinstance(links, DrawnShare):
            count, sources = links.rows().count, links.sources
        else:
            count, sources = np.ones(len(links), np.int64), links.source
        every += int(count.sum())
        crossing += int(count[sources >= own].sum())
    return every, crossing
