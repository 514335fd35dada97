"""Which projections of spikes are stored nowhere: those along stencils, and those computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...circuit.circuit import Circuit, Connections
from ...circuit.drawn import Drawn
from ...circuit.plastic import learns
from ...model.kinds import VariableKind
from ..delays import LONGEST, Spread, check_longest
from ..target import Target
from .computed import ComputedSpikes
from .computed_rows import possible
from .fanout import sends
from .stencils import LISTED, StencilSpikes, latencies

FEW = 1 << 16
"""Connections of a projection that are stored, where nobody says whether."""

UnstoredSpikes = StencilSpikes | ComputedSpikes

StencilAccesses = Mapping[tuple[int, str], Sequence[UnstoredSpikes]]
"""Such projections by (group number, access) of their targets."""


class StencilSet:
    """The projections of a circuit whose spikes find their connections by a rule.

    Parameters
    ----------
    spread : frozenset of (group number, access)
        Accesses whose spikes are delivered by source.

    Attributes
    ----------
    accesses : mapping of (group number, access) to list
        `StencilSpikes` and `ComputedSpikes`.
    others : Circuit
        Without these projections.
    looked_back : dict of Connections to int
        Past rows of spikes that each of them reads.
    window : int
        Steps from one barrier to the next at most.

    Raises
    ------
    CircuitError
        For a delay of too many steps.
    """

    def __init__(self, circuit: Circuit, spread: Spread, dt: float, target: Target) -> None:
        self.accesses: dict[tuple[int, str], list[UnstoredSpikes]] = {}
        conductances = {*circuit.kinds.updated(VariableKind.CONDUCTANCE)}
        for links in circuit.connections:
            if not isinstance(links, Drawn) or links.located is None:
                continue
            if target.threads and not _sent_by_kernels(circuit, links):
                continue  # and stored ones are faster there
            number = _group_of(circuit, links.ends.target)
            if number is None or (number, links.access) not in spread:
                continue
            if conductances & {*circuit.groups[number].model.updates}:
                continue  # such components may be stored in another order
            one: UnstoredSpikes | None = _shared(circuit, links, dt, target.threads)
            if one is None and (not target.threads or possible(links)):
                one = _computed(circuit, links, dt)
            if one is not None and not learns(circuit, number, links.access):
                self.accesses.setdefault((number, links.access), []).append(one)
        every = [one for some in self.accesses.values() for one in some]
        self.looked_back: dict[Connections, int] = {
            one.links: one.shortest if target.threads else one.looked_back for one in every
        }
        self.window = min([LONGEST, *(one.shortest for one in every)])
        if target.threads and every:
            self.window = min(self.window, max(LISTED // sum(one.pieces for one in every), 1))
        self.others = circuit
        if every:
            rest = [one for one in circuit.connections if one not in self.looked_back]
            self.others = circuit.with_parts(circuit.groups, rest)


def _group_of(circuit: Circuit, numbers: range) -> int | None:
    """Return the group that has some components; None where several have, or a port."""
    group = int(circuit.group_of(numbers.start))
    inside = len(numbers) and numbers.stop <= circuit.starts[group + 1]
    return group if inside and not circuit.groups[group].is_port else None


def _sent_by_kernels(circuit: Circuit, links: Drawn) -> bool:
    """Whether connections must not be stored, and kernels deliver the spikes of their sources."""
    group = _group_of(circuit, links.ends.source)
    return links.projection.stored is False and group is not None and sends(circuit.groups[group])


def _shared(circuit: Circuit, links: Drawn, dt: float, threads: bool) -> StencilSpikes | None:
    """Return a projection as stencils; None where its connections are to be stored."""
    group = _group_of(circuit, links.ends.source)
    if group is None or links.projection.stored is True or links.plasticity is not None:
        return None
    sources, targets = links.stencils("source"), links.stencils("target")
    if sources is None or targets is None or not len(sources.partner):
        return None
    if threads and (sources.cell is not None or targets.cell is not None):
        return None  # kernels of a GPU know no masks
    if links.projection.stored is not False and sources.edges < FEW:
        return None
    weight, delay = links.numbers(sources)
    steps = latencies(delay, dt)
    check_longest(links, int(steps.max()), dt, circuit.name)
    return StencilSpikes(links, group, sources, targets, weight, steps)


def _computed(circuit: Circuit, links: Drawn, dt: float) -> ComputedSpikes | None:
    """Return a projection that is computed; None where it may be stored, or follows no rule."""
    group = _group_of(circuit, links.ends.source)
    if group is None or links.projection.stored is not False or links.plasticity is not None:
        return None
    return ComputedSpikes.of(links, group, dt, circuit.name) if len(links) else None
