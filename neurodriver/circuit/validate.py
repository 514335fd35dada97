"""Rules that every circuit keeps, whatever it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..component import NDComponent, Parameter
from ..errors import Faults, near
from .circuit import Circuit, Connections, Group, Port

LONGEST_UID = 256
"""Longest uid in characters: names are fixed-width columns."""


def node_name(uid: str) -> str:
    """Return how messages call a node."""
    return f"node '{uid}'" if len(uid) <= 60 else f"node '{uid[:60]}...'"


def checked(circuit: Circuit, strict: bool) -> Circuit:
    """Return the circuit, or raise CircuitError with all its faults."""
    faults = Faults(circuit.name)
    if not circuit.count:
        faults.add("the circuit is empty: no components")
    for group in circuit.groups:
        _shapes(group, faults)
    if not faults.count:
        check(circuit, faults)
    faults.finish(strict)
    return circuit


def check(circuit: Circuit, faults: Faults) -> None:
    """Note every broken rule of a circuit whose columns have the right shapes."""
    for group in circuit.groups:
        _parameters(group, faults)
        if group.model is Port:
            _ports(group, faults)
    _uids(circuit, faults)
    for links in circuit.connections:
        _links(circuit, links, faults)
    _unconnected_ports(circuit, faults)


def _shapes(group: Group, faults: Faults) -> None:
    model = group.model
    known = {**model.params, **dict.fromkeys(model.initial_names(), Parameter())}
    for name, column in group.params.items():
        if name not in known:
            faults.add(f"{group.name}: no parameter '{name}'{near(name, known)}")
        elif column.shape not in ((), (group.count,)):
            want = f"a number or {group.count} of them"
            faults.add(f"{group.name}.{name}: expected {want}, got shape {column.shape}")
    for name, parameter in model.params.items():
        if name not in group.params:
            if parameter.default is None:
                faults.add(f"{group.name}: parameter '{name}' [{parameter.unit}] is missing")
    if group.given_uids is not None and group.given_uids.shape != (group.count,):
        faults.add(f"{group.name}: expected {group.count} uids, got {group.given_uids.shape}")


def _parameters(group: Group, faults: Faults) -> None:
    for name, column in group.params.items():
        rule = group.model.params.get(name)
        optional = rule is None
        rule = rule or Parameter(group.model.states[name.removeprefix("init")].unit)
        # NaN in an initial value: not given
        bad = np.isinf(column) if optional else ~np.isfinite(column)
        bad |= (column <= rule.above) & (rule.above > -np.inf)
        bad |= (column < rule.at_least) | (column > rule.at_most)
        where = np.flatnonzero(np.broadcast_to(bad, (group.count,)))
        values = np.broadcast_to(column, (group.count,))
        texts = (
            f"{node_name(str(group.uids[i]))} ({group.name}), attribute '{name}': must be "
            f"{rule.allowed()} (got {values[i]:g} {rule.unit})"
            for i in where
        )
        faults.add_each(texts, len(where))


def _ports(group: Group, faults: Faults) -> None:
    allowed = {"port_type": ("spike", "gpot"), "port_io": ("in", "out")}
    selectors = group.labels["selector"]
    for i in np.flatnonzero(selectors == ""):
        faults.add(f"{node_name(str(group.uids[i]))} (Port): attribute 'selector' is missing")
    for name, values in allowed.items():
        column = group.labels[name]
        for i in np.flatnonzero(~np.isin(column, values)):
            message = f"must be '{values[0]}' or '{values[1]}' (got '{column[i]}')"
            faults.add(f"{node_name(str(group.uids[i]))} (Port), attribute '{name}': {message}")
    for value, first, second in _repeats(selectors[selectors != ""]):
        pair = f"nodes '{group.uids[first]}' and '{group.uids[second]}'"
        faults.add(f"{pair} (Port), attribute 'selector': both have '{value}'")


def _repeats(values: NDArray[np.str_]) -> Iterator[tuple[str, int, int]]:
    order = np.argsort(values, kind="stable")
    same = np.flatnonzero(values[order][1:] == values[order][:-1])
    for i in same:
        yield str(values[order[i]]), int(order[i]), int(order[i + 1])


def _uids(circuit: Circuit, faults: Faults) -> None:
    if all(g.given_uids is None for g in circuit.groups):
        return
    uids = circuit.uids
    for i in np.flatnonzero(np.strings.str_len(uids) == 0):
        faults.add(f"component number {i} has an empty uid; name it")
    if uids.dtype.itemsize > 4 * LONGEST_UID:
        for i in np.flatnonzero(np.strings.str_len(uids) > LONGEST_UID):
            length = len(str(uids[i]))
            faults.add(
                f"{node_name(str(uids[i]))}: the uid has {length} characters, "
                f"{LONGEST_UID} are allowed; use a shorter one and keep the text in 'label'"
            )
    for value, _, _ in _repeats(uids):
        faults.add(f"{node_name(value)}: two components have this uid; uids must be unique")


def _links(circuit: Circuit, links: Connections, faults: Faults) -> None:
    uids = circuit.uids if faults.room() else None

    def name(i: int) -> str:
        if uids is None:
            return f"connection {i}"
        return f"edge '{uids[links.source[i]]:.60}' -> '{uids[links.target[i]]:.60}'"

    def note(bad: NDArray[np.bool_], text: Callable[[int], str]) -> None:
        where = np.flatnonzero(np.broadcast_to(bad, (len(links),)))
        faults.add_each((f"{name(i)}, {text(i)}" for i in where.tolist()), len(where))

    for which in ("source", "target"):
        ends = getattr(links, which)
        out = np.flatnonzero((ends < 0) | (ends >= circuit.count))
        if len(out):
            allowed = f"0 to {circuit.count - 1}"
            texts = (f"connection {i}: {which} is {ends[i]}, allowed are {allowed}" for i in out)
            faults.add_each(texts, len(out))
            return
    delay = np.broadcast_to(links.delay, (len(links),))
    note(
        ~(np.isfinite(delay) & (delay >= 0)),
        lambda i: f"attribute 'delay': must be finite and not negative (got {delay[i]:g} s)",
    )
    for key, rule in _connection_rules(circuit, links).items():
        if key in links.data:
            column = np.broadcast_to(links.data[key], (len(links),))
            note(
                np.isinf(column) | (np.isnan(column) & (rule.default is None)),
                lambda i, c=column, k=key: f"attribute '{k}': must be finite (got {c[i]:g})",  # type: ignore[misc]
            )


def _connection_rules(circuit: Circuit, links: Connections) -> dict[str, Parameter]:
    rules: dict[str, Parameter] = {}
    if links.variable == "g":
        rules["reverse"] = Parameter("mV", default=0.0)
    if len(links):
        which = np.searchsorted(circuit.starts, links.target, side="right") - 1
        for g in np.unique(which):
            model: type[NDComponent] = circuit.groups[g].model
            for access in model.accesses:
                if access.name == links.access and access.variable == links.variable:
                    rules.update(access.connection)
    return rules


def _unconnected_ports(circuit: Circuit, faults: Faults) -> None:
    for g, group in enumerate(circuit.groups):
        if group.model is Port:
            start = int(circuit.starts[g])
            seen = np.zeros(group.count, dtype=bool)
            for links in circuit.connections:
                for ends in (links.source, links.target):
                    mine = ends[(ends >= start) & (ends < start + group.count)] - start
                    seen[mine] = True
            lost = int((~seen).sum())
            if lost:
                faults.warn("ports that no edge touches", lost)
