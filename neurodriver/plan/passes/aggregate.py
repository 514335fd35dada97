"""Inserts an Aggregator, or GapJunctions, wherever something else than a current meets an ``I``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...circuit.circuit import Circuit, Connections, Group
from ...circuit.wiring import INSERTED, Inserted
from ...errors import CircuitError
from ...model.library import shipped


def insert_aggregators(circuit: Circuit) -> Circuit:
    """Return the circuit with every ``g -> I`` and ``V -> I`` connection led through a sum.

    All conductances of one target share one Aggregator, named ``auto_<n>`` in the order in which
    the connections name their targets. The conductance connections keep their order, delay and
    data; the Aggregator reads the target's ``V`` and feeds its ``I`` after all direct inputs. The
    same holds for potentials and GapJunctions, named ``gap_<n>``, which come after these.

    Raises
    ------
    CircuitError
        When a target of a conductance or of a gap junction does not update ``V``.
    """
    groups = list(circuit.groups)
    kept: list[Connections] = []
    direct: dict[str, dict[str, list[Connections]]] = {variable: {} for variable in INSERTED}
    for links in circuit.connections:
        if _into_current(circuit, links):
            direct[links.variable].setdefault(links.access, []).append(links)
        else:
            kept.append(_undelayed(circuit, links))
    for variable, by_access in direct.items():
        taken = 0
        for access, parts in by_access.items():
            new, more = _between(circuit, joined(parts), access, INSERTED[variable], groups, taken)
            taken += new.count
            groups.append(new)
            kept += more
    return circuit.with_parts(groups, kept)


def _between(
    circuit: Circuit,
    links: Connections,
    access: str,
    inserted: Inserted,
    groups: list[Group],
    taken: int,
) -> tuple[Group, list[Connections]]:
    """Return the components that one set of connections goes through, and their connections."""
    targets, first = np.unique(links.target, return_index=True)
    _require_potential(circuit, targets, inserted)
    free = _free_names(circuit, inserted.prefix, taken + len(targets))[taken:]
    names = np.empty(len(targets), dtype=object)
    names[np.argsort(first)] = free
    start = sum(g.count for g in groups)
    group = Group(shipped()[inserted.model], {}, len(targets), names.astype(np.str_), hidden=True)
    own = (start + np.searchsorted(targets, links.target)).astype(np.int32)
    auto = (start + np.arange(len(targets))).astype(np.int32)
    sums = Connections(links.variable, inserted.access, links.source, own, links.delay, links.data)
    potentials = Connections("V", inserted.own, targets.astype(np.int32), auto)
    currents = Connections("I", access, auto, targets.astype(np.int32))
    return group, [sums, potentials, currents]


def _into_current(circuit: Circuit, links: Connections) -> bool:
    """Whether something else than currents is connected to an access of current."""
    if links.variable not in INSERTED or not links.access or not len(links):
        return False
    owner = int(np.searchsorted(circuit.starts, links.target[0], side="right") - 1)
    return circuit.groups[owner].model.access(links.access).variable == "I"


def _undelayed(circuit: Circuit, links: Connections) -> Connections:
    """Return the connections without delays of the potentials that Aggregators read."""
    if links.variable != "V" or not links.delay.any():
        return links
    owner = np.searchsorted(circuit.starts, links.target, side="right") - 1
    sums = np.array([group.name == "Aggregator" for group in circuit.groups])
    return replace(links.expanded(), delay=np.where(sums[owner], 0.0, links.delay))


def joined(parts: list[Connections]) -> Connections:
    """Return several sets of connections as one, in order; NaN where a set lacks a number."""
    if len(parts) == 1:
        return parts[0]
    sizes = [len(p) for p in parts]

    def column(values: list[np.ndarray]) -> np.ndarray:
        if all(v.ndim == 0 and v == values[0] for v in values):
            return values[0]
        return np.concatenate(
            [np.broadcast_to(v, (n,)) for v, n in zip(values, sizes, strict=True)]
        )

    names = sorted(set().union(*[p.data for p in parts]))
    data = {n: column([np.asarray(p.data.get(n, np.nan)) for p in parts]) for n in names}
    source, target = (np.concatenate([getattr(p, e) for p in parts]) for e in ("source", "target"))
    first = parts[0]
    delay = column([p.delay for p in parts])
    return Connections(first.variable, first.access, source, target, delay, data)


def _require_potential(circuit: Circuit, targets: np.ndarray, inserted: Inserted) -> None:
    what = "conductances (g)" if inserted.access == "g" else "gap junctions (V)"
    which = np.unique(np.searchsorted(circuit.starts, targets, side="right") - 1)
    for g in which:
        model = circuit.groups[g].model
        if "V" not in model.updates:
            raise CircuitError(
                f"{circuit.name}: {what} are connected to {model.__name__}, which does "
                f"not update V; the driving force needs the potential of the target"
            )


def _free_names(circuit: Circuit, prefix: str, count: int) -> list[str]:
    taken = set(circuit.uids[np.strings.startswith(circuit.uids, f"{prefix}_")].tolist())
    names: list[str] = []
    n = 0
    while len(names) < count:
        if f"{prefix}_{n}" not in taken:
            names.append(f"{prefix}_{n}")
        n += 1
    return names
