"""Inserts an Aggregator, or GapJunctions, where something else reaches an access of a current."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit, Connections, Group
from ...circuit.step_order import parted
from ...circuit.wiring import INSERTED, Inserted, carried, into_current
from ...errors import CircuitError
from ...model.component import NDComponent
from ...model.kinds import POTENTIAL, VariableKind
from .draft import Draft

_POTENTIAL = VariableKind.POTENTIAL


def apply(draft: Draft) -> Draft:
    """Return a draft with the Aggregators and GapJunctions that its circuit needs."""
    return replace(draft, circuit=insert_aggregators(draft.circuit))


def insert_aggregators(circuit: Circuit) -> Circuit:
    """Return the circuit with every conductance and gap junction into a current led through a sum.

    All conductances of one target and one name share one Aggregator, named ``auto_<n>`` in the
    order in which the connections name their targets. The conductance connections keep their order,
    delay and data; the Aggregator reads the target's potential and feeds its current after all
    direct inputs. The same holds for potentials and GapJunctions, named ``gap_<n>``, which come
    after these.

    Raises
    ------
    CircuitError
        When a target of a conductance or of a gap junction does not update a potential.
    """
    groups = list(circuit.groups)
    kept: list[Connections] = []
    direct: dict[VariableKind, dict[_Opening, list[Connections]]] = {kind: {} for kind in INSERTED}
    for links in circuit.connections:
        if into_current(circuit, links):
            by_opening = direct[circuit.kinds.of(links.variable)]
            for opening, part in _openings(circuit, links):
                by_opening.setdefault(opening, []).append(part)
        else:
            kept.append(_undelayed(circuit, links))
    for kind, by_opening in direct.items():
        taken = 0
        for opening, parts in by_opening.items():
            new, more = _between(circuit, joined(parts), opening, INSERTED[kind], groups, taken)
            taken += new.count
            groups += parted(new, _phases(circuit, more[-1].target))
            kept += more
    return circuit.with_parts(groups, kept)


def _phases(circuit: Circuit, targets: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the phases of targets, which are those of what is inserted before them."""
    known = circuit.phase_of
    return np.zeros(len(targets), np.int64) if known is None else known[targets]


class _Opening(NamedTuple):
    """What is made a current of, and what its target calls its potential and its current."""

    variable: str
    access: str
    potential: str
    current: str


def _openings(circuit: Circuit, links: Connections) -> Iterator[tuple[_Opening, Connections]]:
    """Yield connections by the names that their targets have."""
    of = circuit.group_of(links.target)
    found: dict[_Opening, list[int]] = {}
    for number in np.unique(of).tolist():
        model = circuit.groups[number].model
        current = model.access(links.access).variable
        potential = next((v for v in model.updates if circuit.kinds.of(v) is _POTENTIAL), "")
        if not potential:
            raise CircuitError(_no_potential(circuit, links, model))
        opening = _Opening(links.variable, links.access, potential, current)
        found.setdefault(opening, []).append(number)
    for opening, numbers in found.items():
        yield opening, links if len(found) == 1 else picked(links, np.isin(of, numbers))


def _between(
    circuit: Circuit,
    links: Connections,
    opening: _Opening,
    inserted: Inserted,
    groups: list[Group],
    taken: int,
) -> tuple[Group, list[Connections]]:
    """Return the components that one set of connections goes through, and their connections."""
    targets, first = np.unique(links.target, return_index=True)
    free = _free_names(circuit, inserted.prefix, taken + len(targets))[taken:]
    names = np.empty(len(targets), dtype=object)
    names[np.argsort(first)] = free
    start = sum(g.count for g in groups)
    model = inserted.model(opening.variable, opening.potential, opening.current)
    group = Group(model, {}, len(targets), names.astype(np.str_), hidden=True)
    own = (start + np.searchsorted(targets, links.target)).astype(np.int32)
    auto = (start + np.arange(len(targets))).astype(np.int32)
    ends, aims = (links.source, own), targets.astype(np.int32)
    sums = Connections(opening.variable, carried(model).name, *ends, links.delay, links.data)
    drives = next(access.name for access in model.accesses if access.single)
    potentials = Connections(opening.potential, drives, aims, auto)
    currents = Connections(opening.current, opening.access, auto, aims)
    return group, [sums, potentials, currents]


def _undelayed(circuit: Circuit, links: Connections) -> Connections:
    """Return the connections without delays of the potentials that Aggregators read."""
    if circuit.kinds.of(links.variable) is not _POTENTIAL or not links.delay.any():
        return links
    owner = circuit.group_of(links.target)
    sums = np.array([g.model.converts is VariableKind.CONDUCTANCE for g in circuit.groups])
    return replace(links.expanded(), delay=np.where(sums[owner], 0.0, links.delay))


def picked(links: Connections, rows: NDArray[np.bool_]) -> Connections:
    """Return some of a set of connections."""
    if rows.all():
        return links
    delay = links.delay[rows] if links.delay.ndim else links.delay
    data = {name: c[rows] if c.ndim else c for name, c in links.data.items()}
    ends = links.source[rows], links.target[rows]
    return replace(links.expanded(), source=ends[0], target=ends[1], delay=delay, data=data)


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


def _no_potential(circuit: Circuit, links: Connections, model: type[NDComponent]) -> str:
    gap = circuit.kinds.of(links.variable) is _POTENTIAL
    what = f"{'gap junctions' if gap else 'conductances'} ({links.variable})"
    return (
        f"{circuit.name}: {what} are connected to {model.__name__}, which does not update "
        f"{POTENTIAL} or another potential; the driving force needs the potential of the target"
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
