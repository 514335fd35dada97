"""Whether a circuit fits into free memory, before anything of its size is made."""

from __future__ import annotations

import numpy as np

from ..circuit.circuit import Circuit
from ..circuit.drawn import Drawn
from ..circuit.least_pairs import least_connections
from ..errors import CircuitError, quoted
from ..model.parameters import SynapseVariable
from ..system import free_memory

GIB = 2.0**30


def check_room(circuit: Circuit, dtype: str) -> None:
    """Raise CircuitError where values of components, or of synapses, exceed free memory.

    Parameters
    ----------
    dtype : {"float64", "float32"}
    """
    size, room = np.dtype(dtype).itemsize, free_memory()
    fix = ", or dtype='float32'" if size > 4 else ""
    free = f"{room / GIB:,.1f} GiB of memory are free"
    groups = [group for group in circuit.groups if not group.is_port]
    need = [g.count * size * len({*g.model.states, *g.model.updates}) for g in groups]
    if sum(need) > room:
        most, worst = max(need), groups[need.index(max(need))]
        part = f"{worst.count:,} {worst.name} need {most / GIB:,.1f} GiB: take fewer cells{fix}"
        wanted = f"states and variables need at least {sum(need) / GIB:,.1f} GiB"
        raise CircuitError(f"{circuit.name}: {wanted}, {free}; {part}")
    for links in circuit.connections:
        if not isinstance(links, Drawn) or links.located is None:
            continue
        names = _variables(circuit, links)
        pairs = float(len(links.begins)) * len(links.reached)
        if not names or pairs * len(names) * size <= room:
            continue
        edges = least_connections(links)
        if (bytes_ := edges * len(names) * size) > room:
            of = f"of at least {edges:,.0f} connections {quoted(links.name)}"
            say = f"{', '.join(map(quoted, names))} {of} need {bytes_ / GIB:,.1f} GiB, {free}"
            raise CircuitError(f"{circuit.name}: {say}; take fewer cells or a shorter reach{fix}")


def _variables(circuit: Circuit, links: Drawn) -> list[str]:
    """Return what each connection has a number of that changes."""
    if not len(links.reached):
        return []
    model = circuit.groups[int(circuit.group_of(links.reached.start))].model
    own = [a.connection.items() for a in model.accesses if a.name == links.access]
    names = [name for one in own for name, rule in one if isinstance(rule, SynapseVariable)]
    return names + ["weight"] * (links.plasticity is not None)
