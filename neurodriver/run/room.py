"""Whether a circuit fits into free memory, before anything of its size is made."""

from __future__ import annotations

import numpy as np

from ..circuit.circuit import Circuit
from ..circuit.drawn import Drawn
from ..circuit.least_pairs import least_connections
from ..circuit.room import FEWER, GIB, check_free, fits
from ..errors import quoted
from ..model.parameters import SynapseVariable


def check_room(circuit: Circuit, dtype: str) -> None:
    """Raise CircuitError where values of components, or of synapses, exceed free memory.

    Parameters
    ----------
    dtype : {"float64", "float32"}
    """
    size = np.dtype(dtype).itemsize
    fix = ", or dtype='float32'" if size > 4 else ""
    groups = [group for group in circuit.groups if not group.is_port]
    need = [g.count * size * len({*g.model.states, *g.model.updates}) for g in groups]
    most, worst = max(need, default=0), groups[need.index(max(need))] if groups else None
    if worst is not None:
        part = f"{worst.count:,} {worst.name} need {most / GIB:,.1f} GiB: take fewer cells{fix}"
        check_free(sum(need), f"{circuit.name}: states and variables", part)
    for links in circuit.connections:
        if not isinstance(links, Drawn) or links.located is None:
            continue
        names = _variables(circuit, links)
        size_of_one = len(names) * size
        pairs = float(len(links.begins)) * len(links.reached)
        if not fits(pairs * size_of_one):
            edges = least_connections(links.located, links.ends)
            of = f"of at least {edges:,.0f} connections {quoted(links.name)}"
            what = f"{circuit.name}: {', '.join(map(quoted, names))} {of}"
            check_free(edges * size_of_one, what, f"{FEWER}{fix}")
        elif links.projection.stored is True:
            links.check_stored()


def _variables(circuit: Circuit, links: Drawn) -> list[str]:
    """Return what each connection has a number of that changes."""
    if not len(links.reached):
        return []
    model = circuit.groups[int(circuit.group_of(links.reached.start))].model
    own = [a.connection.items() for a in model.accesses if a.name == links.access]
    names = [name for one in own for name, rule in one if isinstance(rule, SynapseVariable)]
    return names + ["weight"] * (links.plasticity is not None)
