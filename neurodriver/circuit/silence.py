"""A circuit without some of its connections."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import CircuitError, Faults, quoted
from .builders import builds
from .circuit import Circuit, Connections
from .drawn import Drawn
from .selection import population_names
from .stimulate import numbers_of
from .uids import Who

ENDS = {"outgoing": ("source",), "incoming": ("target",), "both": ("source", "target")}


@builds("silence")
def silence(circuit: Circuit, who: Who, which: str) -> Circuit:
    """Return the circuit of `Circuit.silence`."""
    if which not in ENDS:
        want = "'outgoing', 'incoming' or 'both'"
        raise CircuitError(f"{circuit.name}: silence: which must be {want}, got {which!r:.60}")
    faults = Faults(f"{circuit.name}: silence")
    numbers = numbers_of(circuit, who, faults)
    silent = np.zeros(circuit.count, dtype=bool)
    silent[numbers] = True
    if "source" in ENDS[which]:
        names = np.unique(population_names(circuit)[silent])
        for reader, name in _readers(circuit, {str(name) for name in names}):
            say = f"the text of {quoted(reader)} reads cells of {quoted(name)} by their place"
            faults.add(f"{say}, without connections; such cells cannot be silenced")
    faults.finish()
    links = [_left(one, silent, ENDS[which]) for one in circuit.connections]
    return circuit.with_parts(circuit.groups, tuple(one for one in links if one is not None))


def _left(links: Connections, silent: np.ndarray, ends: tuple[str, ...]) -> Connections | None:
    """Return what is left of some connections; None where nothing is."""
    if isinstance(links, Drawn):
        spans = [getattr(links.ends, end) for end in ends]
        if not any(silent[span.start : span.stop].any() for span in spans):
            return links
    whole = links.expanded()
    kept = np.ones(len(whole), dtype=bool)
    for end in ends:
        kept &= ~silent[getattr(whole, end)]
    if kept.all():
        return links
    return whole.taken(np.flatnonzero(kept)) if kept.any() else None


def _readers(circuit: Circuit, names: set[str]) -> Iterator[tuple[str, str]]:
    """Yield populations whose texts read some others, and these."""
    for group in circuit.groups:
        if group.layer is not None:
            read = {name for some in group.layer.sources.values() for name in some}
            yield from ((group.layer.population, name) for name in sorted(read & names))
