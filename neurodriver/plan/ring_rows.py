"""How many rows the ring of each variable has, and how many steps follow without a barrier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..circuit.circuit import Circuit, Connections
from ..circuit.drawn import Drawn
from ..circuit.pointers import pointers
from ..model.kinds import VariableKind
from .delays import Spread, longest, read_by_rules
from .instances import needs_instance
from .spikes.drawn import DrawnBySource, looked_back
from .spikes.fanout import outsiders, window
from .target import Target


@dataclass(frozen=True)
class Uses:
    """Who uses rows beside the sums of connections.

    Attributes
    ----------
    read : frozenset of str
        Variables whose rows recorders, texts and rules of plasticity read.
    by_rules : mapping of str to int
        Variable -> steps that rules of plasticity look back upon.
    injected : frozenset of str
        Variables that inputs inject.
    elsewhere : mapping of str to callable
        Variables that backends or other processes use; the rows that they need, from the rows that
        are needed here.
    """

    read: frozenset[str]
    by_rules: Mapping[str, int]
    injected: frozenset[str]
    elsewhere: Mapping[str, Callable[[int], int]]

    @classmethod
    def of(
        cls,
        circuit: Circuit,
        dt: float,
        recorded: frozenset[str],
        injected: Mapping[str, int],
        elsewhere: Mapping[str, Callable[[int], int]] | None,
    ) -> Uses:
        """Return the uses in a circuit, beside what is recorded and injected."""
        by_rules = read_by_rules(circuit, dt)
        read = recorded | _read_by_texts(circuit) | by_rules.keys()
        return cls(read, by_rules, frozenset(injected), elsewhere or {})

    @property
    def enters(self) -> frozenset[str]:
        """Variables that get values from outside."""
        return self.injected | self.elsewhere.keys()


def ring_rows(
    circuit: Circuit,
    dt: float,
    spread: Spread,
    drawn_accesses: Mapping[tuple[int, str], DrawnBySource],
    uses: Uses,
    target: Target,
    longest_window: int,
    known: dict[Connections, int],
) -> tuple[dict[str, int], int]:
    """Return how many steps the rows of each variable are looked back upon, and the window.

    Parameters
    ----------
    spread : frozenset of (group number, access)
        Accesses whose spikes are delivered by source.
    drawn_accesses : mapping of (group number, access) to DrawnBySource
        Projections that are drawn by source already.
    longest_window : int
        Steps from one barrier to the next at most.
    known : dict of Connections to int
        How many steps connections that are stencils look back upon.
    """
    pointed, drawn = pointers(circuit), looked_back(circuit, drawn_accesses) | known
    rows = longest(circuit, dt, spread, drawn, outsiders(circuit, target))
    rows |= {v: max(rows.get(v, 1), back) for v, back in uses.by_rules.items()}
    steps = 1
    if longest_window > 1 and not (pointed or _ends_windows(circuit, uses, target)):
        steps = min(window(circuit, dt, spread, drawn_accesses, drawn, target), longest_window)
    rows |= _of_windows(circuit, rows, steps, uses)
    for one in pointed:
        rows |= {v: max(rows.get(v, 1), one.history + 1) for v in one.reads}
    rows |= dict.fromkeys(_own_affairs(circuit) - uses.read - uses.enters, 0)
    for variable, needed in uses.elsewhere.items():
        rows[variable] = needed(rows.get(variable, 1) + 1) - 1
    return rows, steps


def _ends_windows(circuit: Circuit, uses: Uses, target: Target) -> bool:
    """Whether windows have one step because of spikes that nobody reads, or of what enters.

    Where nothing joins components, rows of many steps do not pay. On a GPU, connections from ports
    are summed by target, but for those of sources in other parts, and synapses that learn read rows
    between windows.
    """
    joined = any(isinstance(links, Drawn) or len(links) for links in circuit.connections)
    if not target.threads:
        return not joined and bool(circuit.kinds.updated(VariableKind.EVENT))
    if any(links.plasticity is not None for links in circuit.connections):
        return bool(uses.enters)
    imports = [group.sends for group in circuit.groups if group.is_port]
    if uses.elsewhere and not all(imports):
        return True
    return bool(uses.injected) and not joined


def _of_windows(
    circuit: Circuit, rows: Mapping[str, int], steps: int, uses: Uses
) -> dict[str, int]:
    """Return how many steps rows are looked back upon where windows have several steps.

    Rows of one window are read while those of the next are written. What enters from outside is
    there before its window, while that before is computed.
    """
    if steps == 1:
        return {}
    events = circuit.kinds.updated(VariableKind.EVENT)
    shared = {*uses.read, *events, *(links.variable for links in circuit.connections)}
    out = {v: max(rows.get(v, 1), steps) + steps - 1 for v in shared}
    own = {v: rows.get(v, 1) + steps - 1 for v in uses.enters if v not in shared}
    return {v: n + (steps - 1) * (v in uses.enters) for v, n in (out | own).items()}


def _read_by_texts(circuit: Circuit) -> set[str]:
    """Return variables of which texts read the cells of populations, their own one included."""
    own = {
        variable
        for group in circuit.groups
        if group.model.axes or group.model.pools
        for variable in group.model.updates
    }
    return own | {variable for one in pointers(circuit) for variable in one.reads}


def _own_affairs(circuit: Circuit) -> set[str]:
    """Return variables that no connection reads: a component may write over its own value."""
    if any(needs_instance(group) for group in circuit.groups):
        return set()
    updated = {variable for group in circuit.groups for variable in group.model.updates}
    events = circuit.kinds.updated(VariableKind.EVENT)
    return updated - {*events, *(links.variable for links in circuit.connections)}
