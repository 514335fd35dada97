"""Inserts an Aggregator wherever conductances are connected straight to a component."""

from __future__ import annotations

import numpy as np

from ..circuit.circuit import Circuit, Connections, Group
from ..errors import CircuitError
from ..library import shipped


def insert_aggregators(circuit: Circuit) -> Circuit:
    """Return the circuit with every ``g -> I`` connection led through an Aggregator.

    All conductances of one target share one Aggregator, named ``auto_<n>`` in the order in which
    the connections name their targets. The conductance connections keep their order, delay and
    data; the Aggregator reads the target's ``V`` and feeds its ``I`` after all direct inputs.

    Raises
    ------
    CircuitError
        When a target of a conductance does not update ``V``.
    """
    groups = list(circuit.groups)
    kept: list[Connections] = []
    direct: list[Connections] = []
    for links in circuit.connections:
        into_current = links.variable == "g" and links.access not in ("", "g")
        (direct if into_current else kept).append(links)
    for links in direct:
        targets, first = np.unique(links.target, return_index=True)
        _require_potential(circuit, targets)
        names = np.empty(len(targets), dtype=object)
        names[np.argsort(first)] = _free_names(circuit, len(targets))
        start = sum(g.count for g in groups)
        model = shipped()["Aggregator"]
        groups.append(Group(model, {}, len(targets), names.astype(np.str_)))
        own = (start + np.searchsorted(targets, links.target)).astype(np.int32)
        auto = (start + np.arange(len(targets))).astype(np.int32)
        sums = Connections("g", "g", links.source, own, links.delay, links.data)
        potentials = Connections("V", "V", targets.astype(np.int32), auto)
        currents = Connections("I", links.access, auto, targets.astype(np.int32))
        kept += [sums, potentials, currents]
    return circuit.with_parts(groups, kept)


def _require_potential(circuit: Circuit, targets: np.ndarray) -> None:
    which = np.unique(np.searchsorted(circuit.starts, targets, side="right") - 1)
    for g in which:
        model = circuit.groups[g].model
        if "V" not in model.updates:
            raise CircuitError(
                f"{circuit.name}: conductances (g) are connected to {model.__name__}, which does "
                f"not update V; the driving force needs the potential of the target"
            )


def _free_names(circuit: Circuit, count: int) -> list[str]:
    taken = set(circuit.uids[np.strings.startswith(circuit.uids, "auto_")].tolist())
    names: list[str] = []
    n = 0
    while len(names) < count:
        if f"auto_{n}" not in taken:
            names.append(f"auto_{n}")
        n += 1
    return names
