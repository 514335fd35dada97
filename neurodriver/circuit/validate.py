"""Rules that every circuit keeps, whatever it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, near, quoted
from ..model.component import NDComponent, Parameter
from .circuit import Circuit, Connections, Group, Port
from .projections import Drawn, warn_of_none
from .wiring import numbers_of

LONGEST_UID = 256
"""Longest uid in characters: names are fixed-width columns."""


LONGEST_SELECTOR = 1000
"""Longest selector in characters."""


BLOCK = 2**20
"""Connections looked at in one go."""


def node_name(uid: object) -> str:
    """Return how messages call a node."""
    return f"node {quoted(uid)}"


def edge_name(source: object, target: object) -> str:
    """Return how messages call an edge."""
    return f"edge {quoted(source)} -> {quoted(target)}"


def storable(text: str) -> bool:
    """Whether fixed-width columns and files hold a text unchanged."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


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
        if isinstance(links, Drawn):  # checked when it was bound
            warn_of_none(links, faults)
        else:
            _links(circuit, links, faults)
    _port_edges(circuit, faults)
    _single_accesses(circuit, faults)


def _shapes(group: Group, faults: Faults) -> None:
    model = group.model
    known = {**model.params, **dict.fromkeys(model.initial_names(), Parameter())}
    for name, column in group.params.items():
        if name not in known and not model.in_old_style():  # those take any number
            first = (
                f"; the first value of a state is 'init{name}'" if f"init{name}" in known else ""
            )
            faults.add(f"{group.name}: no parameter '{name}'{first or near(name, known)}")
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
        rule = rule or Parameter(group.model.optional_unit(name))
        # NaN in an initial value: not given
        bad = np.isinf(column) if optional else ~np.isfinite(column)
        bad |= (column <= rule.above) & (rule.above > -np.inf)
        bad |= (column < rule.at_least) | (column > rule.at_most)
        bad |= rule.whole & (column != np.floor(column))
        where = np.flatnonzero(np.broadcast_to(bad, (group.count,)))
        allowed = " and ".join(dict.fromkeys(("finite", rule.allowed())))
        values = np.broadcast_to(column, (group.count,))
        texts = (
            f"{node_name(group.uids[i])} ({group.name}), attribute '{name}': must be "
            f"{allowed} (got {values[i]:g} {rule.unit})"
            for i in where
        )
        faults.add_each(texts, len(where))


def _ports(group: Group, faults: Faults) -> None:
    def note(where: NDArray[np.intp], text: Callable[[int], str]) -> None:
        texts = (f"{node_name(group.uids[i])} (Port), {text(i)}" for i in where.tolist())
        faults.add_each(texts, len(where))

    allowed = {"port_type": ("spike", "gpot"), "port_io": ("in", "out")}
    selectors = group.labels["selector"]
    for name, values in allowed.items():
        column = group.labels[name]
        say = f"attribute '{name}': must be '{values[0]}' or '{values[1]}'"
        hints = {value: near(value, values) for value in set(column.tolist())}
        note(
            np.flatnonzero(~np.isin(column, values)),
            lambda i, c=column, s=say, h=hints: (  # type: ignore[misc]
                f"{s} (got {quoted(c[i]) if c[i] else 'none'}){h[str(c[i])]}"
            ),
        )
    lengths = np.strings.str_len(selectors)
    note(np.flatnonzero(lengths == 0), lambda i: "attribute 'selector' is missing")
    allow = f"{LONGEST_SELECTOR:,} characters are allowed"
    note(
        np.flatnonzero(lengths > LONGEST_SELECTOR),
        lambda i: f"attribute 'selector': {allow} (got more: {quoted(selectors[i])})",
    )
    given = np.flatnonzero(lengths > 0)
    for value, first, second in repeats(selectors[given]):
        names = f"{quoted(group.uids[given[first]])} and {quoted(group.uids[given[second]])}"
        faults.add(f"nodes {names} (Port), attribute 'selector': both have {quoted(value)}")


def repeats(values: NDArray[np.str_]) -> Iterator[tuple[str, int, int]]:
    """Yield values that stand twice, and where."""
    order = np.argsort(values, kind="stable")
    same = np.flatnonzero(values[order][1:] == values[order][:-1])
    for i in same:
        yield str(values[order[i]]), int(order[i]), int(order[i + 1])


def _uids(circuit: Circuit, faults: Faults) -> None:
    if all(g.given_uids is None for g in circuit.groups):
        return
    uids = circuit.uids
    lengths = np.strings.str_len(uids)
    empty = np.flatnonzero(lengths == 0)
    faults.add_each((f"component number {i} has an empty uid; name it" for i in empty), len(empty))
    long = np.flatnonzero(lengths > LONGEST_UID)
    texts = (
        f"{node_name(uids[i])}: the uid has {lengths[i]:,} characters, "
        f"{LONGEST_UID} are allowed; use a shorter one and keep the text in 'label'"
        for i in long
    )
    faults.add_each(texts, len(long))
    if not storable("".join(uids.tolist())):
        odd = [uid for uid in uids.tolist() if not storable(uid)]
        say = "the uid holds a character that cannot be stored; leave it out"
        faults.add_each((f"{node_name(uid)}: {say}" for uid in odd), len(odd))
    twice = list(repeats(uids[lengths > 0]))
    say = "two components have this uid; uids must be unique"
    faults.add_each((f"{node_name(uid)}: {say}" for uid, _, _ in twice), len(twice))


def _links(circuit: Circuit, links: Connections, faults: Faults) -> None:
    uids = circuit.uids if faults.room() else None

    def name(i: int) -> str:
        if uids is None:
            return f"connection {i}"
        return edge_name(uids[links.source[i]], uids[links.target[i]])

    def note(bad: NDArray[np.bool_], text: Callable[[int], str]) -> None:
        if not bad.any():
            return
        where = np.flatnonzero(np.broadcast_to(bad, (len(links),)))
        faults.add_each((f"{name(i)}, {text(i)}" for i in where.tolist()), len(where))

    before = faults.count
    for which in ("source", "target"):
        ends = getattr(links, which)
        if ends.min(initial=0) >= 0 and ends.max(initial=0) < circuit.count:
            continue
        out = np.flatnonzero((ends < 0) | (ends >= circuit.count))
        allowed = f"0 to {circuit.count - 1}"
        texts = (f"connection {i}: {which} is {ends[i]}, allowed are {allowed}" for i in out)
        faults.add_each(texts, len(out))
    if faults.count > before:
        return
    delay = np.broadcast_to(links.delay, (len(links),))
    note(
        ~(np.isfinite(links.delay) & (links.delay >= 0)),
        lambda i: f"attribute 'delay': must be finite and not negative (got {delay[i]:g} s)",
    )
    rules = {"reverse": Parameter("mV", default=0.0)} if links.variable == "g" else {}
    rules |= numbers_of(links.variable, links.access, groups_of(circuit, links.target))
    for key, rule in rules.items():
        if key not in links.data and rule.default is None and len(links):
            where = f"connections '{links.variable}' into '{links.access}'"
            what = f" ({rule.doc})" if rule.doc else ""
            faults.add(f"{where}: every edge needs the attribute '{key}' [{rule.unit}]{what}")
        if key in links.data:
            column = np.broadcast_to(links.data[key], (len(links),))
            given = links.data[key]  # one number is looked at once
            bad = ~np.isfinite(given) if rule.default is None else np.isinf(given)
            for limit, beyond in (
                (rule.at_least, np.less),
                (rule.at_most, np.greater),
                (rule.above, np.less_equal),
            ):
                if np.isfinite(limit):
                    bad = bad | beyond(given, limit)
            say = f"attribute '{key}': must be " + " and ".join(
                dict.fromkeys(("finite", rule.allowed()))
            )
            note(bad, lambda i, c=column, s=say: f"{s} (got {c[i]:g})")  # type: ignore[misc]


def groups_of(circuit: Circuit, ends: NDArray[np.int32]) -> list[type[NDComponent]]:
    """Return the models among some components, in the circuit's order; numbers beyond are none."""
    seen = np.zeros(
        len(circuit.groups) + 2, dtype=bool
    )  # before the first, groups, behind the last
    for begin in range(0, len(ends), BLOCK):
        part = ends[begin : begin + BLOCK]
        seen[np.searchsorted(circuit.starts, part, side="right")] = True
        if seen[1:-1].all():
            break
    return [g.model for g, there in zip(circuit.groups, seen[1:-1], strict=True) if there]


def _port_edges(circuit: Circuit, faults: Faults) -> None:
    """Warn of ports that no edge touches, and of edges against a port's direction."""
    for g, group in enumerate(circuit.groups):
        if group.model is not Port:
            continue
        start = int(circuit.starts[g])
        as_source, as_target = (np.zeros(group.count, dtype=np.int64) for _ in range(2))
        for links in circuit.connections:
            for ends, seen in ((links.source, as_source), (links.target, as_target)):
                mine = ends[(ends >= start) & (ends < start + group.count)] - start
                np.add.at(seen, mine, 1)
        lost = int(((as_source == 0) & (as_target == 0)).sum())
        if lost:
            faults.warn("ports that no edge touches", lost)
        against = {"in": (as_target, "lead to"), "out": (as_source, "start at")}
        for io, (seen, verb) in against.items():
            if times := int(seen[group.labels["port_io"] == io].sum()):
                faults.warn(f"edges that {verb} a port with port_io '{io}'", times)


def _single_accesses(circuit: Circuit, faults: Faults) -> None:
    """A connected component has one edge, no more and no less, into each ``single`` access.

    An Aggregator, say, needs the one potential that drives its synapses.
    """
    for g, group in enumerate(circuit.groups):
        single = [a for a in group.model.accesses if a.single]
        if not single:
            continue
        start = int(circuit.starts[g])
        names = [a.name for a in group.model.accesses]
        count = {name: np.zeros(group.count, dtype=np.int64) for name in names}
        for links in circuit.connections:
            if links.access in count:
                mine = links.target[(links.target >= start) & (links.target < start + group.count)]
                np.add.at(count[links.access], mine - start, 1)
        connected = np.sum(list(count.values()), axis=0) > 0
        for access in single:
            found = count[access.name]
            bad = np.flatnonzero(connected & (found != 1))
            say = f"({group.name}): needs one edge that carries '{access.variable}' "
            say += f"into '{access.name}'" if access.receptor else "from the component it drives"
            told = bad[: faults.room()]
            texts = [f"{node_name(group.uids[i])} {say} (got {found[i]})" for i in told]
            faults.add_each(texts, len(bad))
