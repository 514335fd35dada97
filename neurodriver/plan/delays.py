"""Delays in seconds -> rows back."""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.drawn import Drawn
from ..circuit.seconds import DELAY, warn_of_delay
from ..circuit.validate import edge_name
from ..errors import CircuitError, Faults, quoted

Spread = frozenset[tuple[int, str]]
"""(Group number, access) of accesses that spikes reach by their sources."""

LONGEST = 1_000_000
"""Longest delay in steps."""


def steps_of(
    links: Connections, dt: float, phase: NDArray[np.integer] | None = None
) -> NDArray[np.int64]:
    """Return each connection's latency in steps, () or (m,) int64.

    The ratio ``delay / dt`` is rounded half to even, and is 1 at least, so anything below 1.5 dt
    is one step. With the ``phase`` of each component (-1: a port), a delay of 0 from an earlier
    phase to a later one is 0 steps.
    """
    steps = _steps(np.asarray(links.delay, dtype=np.float64), dt)
    if phase is None or not len(links):
        return steps
    source, target = phase[links.source], phase[links.target]
    same = (source >= 0) & (source < target) & (links.delay == 0)
    if not same.any():
        return steps
    return np.zeros((), np.int64) if same.all() else np.where(same, 0, steps)


def _steps(delay: NDArray[np.float64], dt: float) -> NDArray[np.int64]:
    ratio = delay / dt
    return np.asarray(np.maximum(np.rint(np.minimum(ratio, 2.0**53)), 1), np.int64)


def longest(
    circuit: Circuit,
    dt: float,
    spread: Spread = frozenset(),
    known: Mapping[Connections, int] | None = None,
    outside: Container[int] = (),
) -> dict[str, int]:
    """Return for each variable how many steps its rows are looked back upon.

    That is the largest latency, but the least of the connections of a group into an access whose
    spikes are delivered as soon as the first of them is due. ``known`` holds the result for some
    connections; spikes of the groups ``outside`` are summed by their targets all the same.

    Raises
    ------
    CircuitError
        For a delay of more than ``LONGEST`` steps.

    Warns
    -----
    CircuitWarning
        Of delays that look like milliseconds.
    """
    faults = Faults(circuit.name)
    out: dict[str, int] = {}
    for links in circuit.connections:
        if known and links in known:
            out[links.variable] = max(out.get(links.variable, 1), known[links])
        elif links.plasticity is not None and isinstance(links, Drawn) and links.equal_times():
            rows = int(axonal_of(links, dt)) + 1
            check_longest(links, rows, dt, circuit.name)
            out[links.variable] = max(out.get(links.variable, 1), rows)
        elif isinstance(links, Drawn) and links.located is not None and _equal(links):
            rows = int(_steps(np.asarray(links.latency.least), dt))
            check_longest(links, rows, dt, circuit.name)
            out[links.variable] = max(out.get(links.variable, 1), rows)
        elif len(links):
            learns = links.plasticity is not None
            steps = axonal_of(links, dt) + 1 if learns else steps_of(links, dt, circuit.phase_of)
            said = f"connections of {quoted(links.variable)} to {quoted(links.access)}"
            warn_of_delay(faults, said, float(np.max(links.delay)), dt)
            rows = _looked_back(circuit, links, steps, spread, outside)
            out[links.variable] = max(out.get(links.variable, 1), rows)
            far = np.flatnonzero(np.broadcast_to(steps > LONGEST, (len(links),)))
            delay = np.broadcast_to(links.delay, (len(links),))
            uids = circuit.uids if len(far) else links.source
            texts = (
                f"{edge_name(uids[links.source[i]], uids[links.target[i]])}, attribute 'delay': "
                f"{delay[i]:g} s are {delay[i] / dt:,.0f} steps of {dt:g} s, {LONGEST:,} are "
                f"allowed (delays are in seconds)"
                for i in far
            )
            faults.add_each(texts, len(far))
    faults.finish()
    return out


def read_by_rules(circuit: Circuit, dt: float) -> dict[str, int]:
    """Return for each variable on how many steps rules of plasticity look back.

    A synapse that the source reaches in L steps sees row n + 1 - L of it in step n.
    """
    out: dict[str, int] = {}
    for links in circuit.connections:
        rule = links.plasticity
        for value in () if rule is None else rule.every_value():
            back = np.rint(times_of(links, "back") / dt)
            steps = int(np.max(axonal_of(links, dt) if value.side == "pre" else back, initial=0))
            rows = steps + 1 + (rule.steps_late(value, 1e3 * dt) if rule else 0)
            variable = value.variable(links.variable)
            out[variable] = max(out.get(variable, 1), rows)
        for one in () if rule is None else rule.levels().values():
            out.setdefault(one.variable, 1)
    return out


def _equal(links: Drawn) -> bool:
    """Whether all connections of a projection have one delay; no connection is looked at."""
    return links.latency.least == links.latency.most and links.plasticity is None


def times_of(links: Connections, name: str) -> NDArray[np.float64]:
    """Return a time of connections that learn, in seconds, () or (m,).

    It is ``delay``, ``dendritic`` or ``back``. Equal times of a projection are not drawn.
    """
    if isinstance(links, Drawn):
        known = links.equal_times()
        if known is not None:
            return np.asarray(known[name])
    if name == "delay":
        return np.asarray(links.delay, np.float64)
    dendritic = links.data.get("dendritic", np.zeros(()))
    return np.asarray(links.data.get(name, dendritic), np.float64)


def forward_of(links: Connections, dt: float) -> NDArray[np.int64]:
    """Return the steps from a synapse that learns to its target, () or (m,)."""
    dendritic = np.rint(times_of(links, "dendritic") / dt).astype(np.int64)
    return np.minimum(dendritic, _steps(times_of(links, "delay"), dt) - 1)


def axonal_of(links: Connections, dt: float) -> NDArray[np.int64]:
    """Return the steps from a source's row to that in which a synapse sees it, () or (m,)."""
    return _steps(times_of(links, "delay"), dt) - 1 - forward_of(links, dt)


def check_longest(links: Drawn, steps: int, dt: float, name: str) -> None:
    """Raise CircuitError where the longest delay of a projection is more than ``LONGEST`` steps."""
    if steps <= LONGEST and steps * dt < DELAY:
        return
    said = f"projection {quoted(links.projection.label)}"
    if steps > LONGEST:
        raise CircuitError(
            f"{said}: 'delay': the longest is {steps:,} steps "
            f"of {dt:g} s, {LONGEST:,} are allowed (delays are in seconds)"
        )
    if steps > 1:  # the least there is, whatever the delay
        faults = Faults(name)
        warn_of_delay(faults, said, steps * dt, dt)
        faults.finish()


def _looked_back(
    circuit: Circuit,
    links: Connections,
    steps: NDArray[np.int64],
    spread: Spread,
    outside: Container[int],
) -> int:
    """Return the largest number of steps that rows are looked back upon for some connections."""
    if links.access not in {access for _, access in spread} or not steps.ndim:
        return int(steps.max())
    to = circuit.group_of(links.target)
    of = circuit.group_of(links.source)
    most = 1
    for target in np.unique(to).tolist():
        for source in np.unique(of[to == target]).tolist():
            some = steps[(to == target) & (of == source)]
            delivered = (target, links.access) in spread and source not in outside
            delivered &= not circuit.groups[source].is_port and links.plasticity is None
            most = max(most, int(some.min() if delivered else some.max()))
    return most
