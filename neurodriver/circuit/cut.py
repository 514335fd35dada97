"""One circuit -> several, wired through ports.

Wherever a connection leads from one part to another, the source gets an output port in its part,
and that port an input port in the other part, from which the connection goes on. The order of each
component's inputs stays. A crossing takes one step more than the connection did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError
from ..model.component import EVENT_VARIABLES
from ..ports import Pattern
from .circuit import Circuit, Column, Connections, Group, Port
from .random_keys import component_keys

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """The pieces of a circuit.

    Attributes
    ----------
    circuits : dict of str to Circuit
    crossings : dict of (str, str) to (str, str)
        (source part, target part) -> selectors of output and of input ports, which belong together
        pair by pair.
    """

    circuits: dict[str, Circuit]
    crossings: dict[tuple[str, str], tuple[str, str]]

    def patterns(self) -> dict[tuple[str, str], Pattern]:
        """Return a pattern for each pair of parts between which something flows."""
        out = {}
        for (source, target), (sends, takes) in self.crossings.items():
            out[source, target] = Pattern.from_concat(
                sends, takes, from_sel=sends, to_sel=takes, data=1
            )
        return out


def cut(circuit: Circuit, part: ArrayLike, names: Sequence[str]) -> Parts:
    """Cut a circuit into parts.

    Parameters
    ----------
    circuit : Circuit
    part : (count,) int
        Part of each component.
    names : sequence of str
        Names of the parts, identifiers.

    Raises
    ------
    CircuitError
        Where a conductance crosses: a synapse belongs to the part of its target, as the driving
        force needs the potential there.
    """
    of = np.asarray(part, dtype=np.int64)
    if of.shape != (circuit.count,) or (of < 0).any() or (of >= len(names)).any():
        want = f"one number from 0 to {len(names) - 1} for each of {circuit.count} components"
        raise CircuitError(f"cut: {want} is needed")
    bridges = _bridges(circuit, of)
    circuits = {name: _one(circuit, of, n, names, bridges) for n, name in enumerate(names)}
    crossings = {}
    for (a, b), found in bridges.items():
        sends, takes = _selectors(names, a, b, found)
        crossings[names[a], names[b]] = (",".join(sends), ",".join(takes))
    return Parts(circuits, crossings)


Bridges = dict[tuple[int, int], dict[str, Numbers]]
"""(source part, target part) -> variable -> sources, ascending."""


def _bridges(circuit: Circuit, of: Numbers) -> Bridges:
    found: dict[tuple[int, int], dict[str, list[Numbers]]] = {}
    for links in circuit.connections:
        a, b = of[links.source], of[links.target]
        across = np.flatnonzero(a != b)
        if len(across) and links.variable == "g" and links.access != "g":
            uids = circuit.uids
            at = across[0]
            raise CircuitError(
                f"cut: edge '{uids[links.source[at]]}' -> '{uids[links.target[at]]}' carries a "
                f"conductance from one part to another; put the synapse into the part of its target"
            )
        pairs = a[across] * (int(of.max()) + 1) + b[across]
        for pair in np.unique(pairs).tolist():
            rows = across[pairs == pair]
            key = divmod(pair, int(of.max()) + 1)
            sources = links.source[rows].astype(np.int64)
            found.setdefault(key, {}).setdefault(links.variable, []).append(sources)
    return {
        key: {v: np.unique(np.concatenate(parts)) for v, parts in sorted(table.items())}
        for key, table in sorted(found.items())
    }


def _selectors(
    names: Sequence[str], a: int, b: int, found: Mapping[str, Numbers]
) -> tuple[list[str], list[str]]:
    sends = [f"/{names[a]}/to_{names[b]}/{v}[0:{len(n)}]" for v, n in found.items()]
    takes = [f"/{names[b]}/from_{names[a]}/{v}[0:{len(n)}]" for v, n in found.items()]
    return sends, takes


def _ports(head: str, variable: str, count: int, io: str) -> tuple[list[Column], dict[str, Column]]:
    selector = np.strings.add(f"{head}/{variable}/", np.arange(count).astype("U"))
    kind = "spike" if variable in EVENT_VARIABLES else "gpot"
    labels = {
        "selector": selector,
        "port_type": np.full(count, kind),
        "port_io": np.full(count, io),
    }
    return [np.strings.add("port ", selector)], labels


def _one(
    circuit: Circuit, of: Numbers, part: int, names: Sequence[str], bridges: Bridges
) -> Circuit:
    """Return the circuit of one part: its components in their order, then its ports."""
    groups: list[Group] = []
    number = np.full(circuit.count, -1, dtype=np.int64)
    first = 0
    for g, group in enumerate(circuit.groups):
        start = int(circuit.starts[g])
        mine = np.flatnonzero(of[start : start + group.count] == part)
        if not len(mine):
            continue
        number[start + mine] = first + np.arange(len(mine))
        first += len(mine)
        params = {k: c if c.ndim == 0 else c[mine] for k, c in group.params.items()}
        labels = {k: c[mine] for k, c in group.labels.items()}
        uids_here, keys = group.uids[mine], component_keys(circuit, g)[mine]
        groups.append(
            replace(
                group,
                params=params,
                count=len(mine),
                given_uids=uids_here,
                labels=labels,
                keys=keys if group.model.draws_random() else None,
            )
        )
    uids: list[Column] = []
    tables: list[dict[str, Column]] = []
    outgoing: list[Connections] = []
    entry: dict[tuple[int, str], tuple[Numbers, int]] = {}
    for (a, b), found in bridges.items():
        for variable, sources in found.items():
            if part not in (a, b):
                continue
            io = "out" if part == a else "in"
            head = f"/{names[a]}/to_{names[b]}" if part == a else f"/{names[b]}/from_{names[a]}"
            names_of, labels = _ports(head, variable, len(sources), io)
            uids += names_of
            tables.append(labels)
            if part == a:
                here = number[sources].astype(np.int32)
                there = first + np.arange(len(sources), dtype=np.int32)
                outgoing.append(Connections(variable, "", here, there))
            else:
                entry[a, variable] = sources, first
            first += len(sources)
    if uids:
        labels = {k: np.concatenate([t[k] for t in tables]) for k in tables[0]}
        groups.append(Group(Port, {}, sum(map(len, uids)), np.concatenate(uids), labels))
    links = [_own(links, of, part, number, entry) for links in circuit.connections]
    kept = tuple(one for one in links if len(one))
    return Circuit(names[part], tuple(groups), kept + tuple(outgoing), circuit.source)


def _own(
    links: Connections,
    of: Numbers,
    part: int,
    number: Numbers,
    entry: Mapping[tuple[int, str], tuple[Numbers, int]],
) -> Connections:
    """Return the connections into one part, in their order; those from elsewhere from ports."""
    rows = np.flatnonzero(of[links.target] == part)
    whole = links.source[rows].astype(np.int64)
    source = number[whole]
    for (a, variable), (sources, first) in entry.items():
        if variable == links.variable:
            mine = of[whole] == a
            source[mine] = first + np.searchsorted(sources, whole[mine])
    delay = links.delay if links.delay.ndim == 0 else links.delay[rows]
    data = {k: c if c.ndim == 0 else c[rows] for k, c in links.data.items()}
    target = number[links.target[rows]].astype(np.int32)
    return Connections(links.variable, links.access, source.astype(np.int32), target, delay, data)
