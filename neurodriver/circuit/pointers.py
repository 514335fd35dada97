"""The populations that texts of others read: where their cells are among those of a circuit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CircuitError, quoted
from ..model.texts import numbered_accesses
from .groups import Layer
from .pools import GROUP
from .selection import members_of
from .space import Space

if TYPE_CHECKING:
    from .circuit import Circuit, Connections


@dataclass(frozen=True)
class Pointer:
    """A population that a source of a group stands for.

    Attributes
    ----------
    reader : int
        Number of the group whose text reads it.
    source : str
        Name of the source; ``here`` for the reader's own population.
    place : int
        Its number among those of the source.
    group : int
        Number of the group that it belongs to.
    first : int
        Its first component within that group.
    space : Space or None
        Where its cells are.
    layer : Layer or None
        Its own fields.
    reads : tuple of str
        Variables that are read.
    history : int
        How many steps back.
    """

    reader: int
    source: str
    place: int
    population: str
    group: int
    first: int
    count: int
    space: Space | None
    layer: Layer | None
    reads: tuple[str, ...]
    history: int = 0


def pointers_of(circuit: Circuit, reader: int) -> Iterator[Pointer]:
    """Yield the populations that the text of a group reads, its own one first."""
    group = circuit.groups[reader]
    if group.layer is None:
        return
    name = group.layer.population
    if group.model.axes or group.model.pools:
        space = circuit.spaces.get(name)
        own = tuple(group.model.updates)
        yield Pointer(reader, "here", 0, name, reader, 0, group.count, space, group.layer, own)
    for source, some in group.layer.sources.items():
        rule = group.model.sources.get(source)
        for place, population in enumerate(some):
            if not population:  # it has no such pool
                continue
            number, first, count = group_of(circuit, population, name)
            target = circuit.groups[number]
            by_number = rule is not None and rule.by_number
            space = None if by_number else circuit.spaces.get(population)
            if rule is None and space is not None and space.names == (GROUP,):
                space = None  # a pool of one group has no index
            reads = target.model.updates[-1:] if rule is None else rule.reads
            reads = tuple(one for one in reads if one not in target.model.pools)
            history = 0 if rule is None else rule.history
            where = (number, first, count, space, target.layer, reads, history)
            yield Pointer(reader, source, place, population, *where)


def numbered_connections(circuit: Circuit) -> Iterator[Connections]:
    """Yield the connections of which a text reads where their sources are in their population."""
    named = [numbered_accesses(group.model) for group in circuit.groups]
    for links in circuit.connections if any(named) else ():
        groups = np.unique(circuit.group_of(links.target))
        if any(links.access in named[number] for number in groups):
            yield links


def pool_source(source: str, pool: str) -> str:
    """Return under which name a compiled circuit has what a text reads of a source's pool."""
    return f"{source}.{pool}"


def pointers(circuit: Circuit) -> list[Pointer]:
    """Return all populations that texts read, but for their own ones."""
    every = range(len(circuit.groups))
    return [one for number in every for one in pointers_of(circuit, number) if one.source != "here"]


def group_of(circuit: Circuit, population: str, reader: str) -> tuple[int, int, int]:
    """Return group, first component within it, and count of a population."""
    for number, one in enumerate(circuit.groups):
        if one.layer is not None and one.layer.population == population:
            return number, 0, one.count
    numbers = members_of(circuit, population)
    say = f"{circuit.name}: population {quoted(reader)} reads {quoted(population)}"
    if not len(numbers):
        raise CircuitError(f"{say}, which is not in this circuit; keep both in one")
    group = int(circuit.group_of(numbers[0]))
    whole = len(numbers) == numbers[-1] - numbers[0] + 1 and numbers[-1] < circuit.starts[group + 1]
    if not whole:
        raise CircuitError(f"{say}, whose cells do not lie one after the other")
    return group, int(numbers[0] - circuit.starts[group]), len(numbers)
