"""Rules that every circuit keeps, whatever it was made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError, Faults, near, quoted
from ..model.component import NDComponent, Parameter
from ..model.kinds import CircuitKinds, VariableKind
from .circuit import Circuit, Connections, Group
from .drawn import Drawn, warn_of_none
from .node_columns import storable
from .numbered import Numbered
from .plastic import check_learning
from .pools import pool_groups
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


def unfit_uid(uid: str) -> str:
    """Return what is wrong with a uid, "" where nothing is."""
    if len(uid) > LONGEST_UID:
        allowed = f"{LONGEST_UID} are allowed; use a shorter one and keep the text in 'label'"
        return f"the uid has {len(uid):,} characters, {allowed}"
    if not storable(uid):
        return "the uid holds a character that cannot be stored (NUL, half of a pair); leave it out"
    return ""


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
        check_parameters(group, faults)
        if group.layer is None and group.model.layered():
            need = "reads axes, fields or sources of a population"
            faults.add(f"{group.name} {need}: make it by nd.Population(...), in nd.Circuit(...)")
        _pools(circuit, group, faults)
        if group.is_port:
            _ports(group, faults)
    _uids(circuit, faults)
    unclear = CircuitKinds([group.model for group in circuit.groups]).faults
    for text in unclear:
        faults.add(text)
    for links in () if unclear else circuit.connections:  # their rules depend on kinds
        if isinstance(links, Drawn):  # checked when it was bound
            warn_of_none(links, faults)
        else:
            _links(circuit, links, faults)
    if not unclear:
        check_learning(circuit, faults, edge_name)
    _port_edges(circuit, faults)
    _single_accesses(circuit, faults)


def check_group(group: Group, faults: Faults) -> None:
    """Note every broken rule of the columns of a group."""
    before = faults.count
    _shapes(group, faults)
    if faults.count == before:
        check_parameters(group, faults)


def _pools(circuit: Circuit, group: Group, faults: Faults) -> None:
    """Note pools whose groups the population does not have."""
    if group.layer is None:
        return
    population = group.layer.population
    for name in group.model.pools:
        try:
            pool_groups(group, circuit.spaces.get(population), name)
        except CircuitError as error:
            faults.add(f"population {quoted(population)}: {error}")


def _shapes(group: Group, faults: Faults) -> None:
    model = group.model
    known = {**model.params, **dict.fromkeys(model.initial_names(), Parameter())}
    for name, column in group.params.items():
        if name not in known and not model.runtime.opaque:  # code may read any number
            first = (
                f"; the first value of a state is 'init{name}'" if f"init{name}" in known else ""
            )
            every = [*known, *model.fields, *model.sources]
            among = f"; there are {', '.join(every)}" if every else "; it has none"
            hint = first or near(name, every) or among
            faults.add(f"{group.name}: no parameter '{name}'{hint}")
        elif column.shape not in ((), (group.count,)):
            want = f"a number or {group.count} of them"
            faults.add(f"{group.name}.{name}: expected {want}, got shape {column.shape}")
    for name, parameter in model.params.items():
        if name not in group.params and parameter.default is None:
            faults.add(f"{group.name}: parameter '{name}' [{parameter.unit}] is missing")
    if group.names is not None and group.names.shape != (group.count,):
        faults.add(f"{group.name}: expected {group.count} uids, got {group.names.shape}")


def admits(rule: Parameter, column: NDArray[np.float64]) -> bool:
    """Whether a rule allows all numbers; the least and the largest tell it, NaN included."""
    if not column.size:
        return True
    low, high = float(column.min()), float(column.max())
    if not (-math.inf < low and high < math.inf and rule.above < low):
        return False
    whole = not rule.whole or bool((column == np.floor(column)).all())
    return rule.at_least <= low and high <= rule.at_most and whole


def _numbers(
    rule: Parameter,
    column: NDArray[np.float64],
    count: int,
    faults: Faults,
    name: Callable[[int], str],
    unit: str,
    optional: bool,
) -> None:
    """Note numbers that a rule refuses; NaN stands for one that is not given where optional."""
    if admits(rule, column):
        return
    bad = np.isinf(column) if optional else ~np.isfinite(column)
    for limit, beyond in (
        (rule.at_least, np.less),
        (rule.at_most, np.greater),
        (rule.above, np.less_equal),
    ):
        if np.isfinite(limit):
            bad = bad | beyond(column, limit)
    if rule.whole:
        bad = bad | (column != np.floor(column))
    if bad.any():  # one number for all is looked at once
        allowed = " and ".join(dict.fromkeys(("finite", rule.allowed())))
        values = np.broadcast_to(column, (count,))
        faults.add_for(
            np.flatnonzero(np.broadcast_to(bad, (count,))),
            lambda i: f"{name(i)}: must be {allowed} (got {values[i]:g}{unit})",
        )


def _node_attribute(group: Group, key: str, row: int) -> str:
    return f"{node_name(group.uids[row])} ({group.name}), attribute '{key}'"


def _attribute_of_all(group: Group, key: str, row: int) -> str:
    whose = f"all {group.count:,} nodes" if group.count > 1 else node_name(group.uids[row])
    return f"{whose} ({group.name}), attribute '{key}'"


def check_parameters(group: Group, faults: Faults) -> None:
    for key, column in group.params.items():
        known = group.model.params.get(key)
        rule = known or Parameter(group.model.optional_unit(key))
        name = partial(_node_attribute, group, key)
        count = group.count
        if not column.ndim:  # one number for all is told of once
            name, count = partial(_attribute_of_all, group, key), min(count, 1)
        _numbers(rule, column, count, faults, name, f" {rule.unit}", known is None)


def _ports(group: Group, faults: Faults) -> None:
    from ..ports.spelling import spelled  # circuits without ports load no grammar

    for key, allowed in (("port_type", ("spike", "gpot")), ("port_io", ("in", "out"))):
        _port_choices(group, key, allowed, faults)
    selectors, name = group.labels["selector"], partial(_node_attribute, group, "selector")
    lengths = np.strings.str_len(selectors)
    faults.add_for(np.flatnonzero(lengths == 0), lambda i: f"{name(i)} is missing")
    allow = f"{LONGEST_SELECTOR:,} characters are allowed"
    faults.add_for(
        np.flatnonzero(lengths > LONGEST_SELECTOR),
        lambda i: f"{name(i)}: {allow} (got more: {quoted(selectors[i])})",
    )
    given = np.flatnonzero((lengths > 0) & (lengths <= LONGEST_SELECTOR))
    plain, wrong = spelled(selectors[given])
    faults.add_for([*wrong], lambda row: f"{name(int(given[row]))} {wrong[row]}")
    for value, first, second in repeats(plain):
        if first in wrong:
            continue
        names = f"{quoted(group.uids[given[first]])} and {quoted(group.uids[given[second]])}"
        faults.add(f"nodes {names} (Port), attribute 'selector': both have {quoted(value)}")


def _port_choices(group: Group, key: str, allowed: tuple[str, str], faults: Faults) -> None:
    column = group.labels[key]
    hints = {value: near(value, allowed) for value in set(column.tolist())}

    def say(i: int) -> str:
        got = quoted(column[i]) if column[i] else "none"
        want = f"must be '{allowed[0]}' or '{allowed[1]}'"
        return f"{_node_attribute(group, key, i)}: {want} (got {got}){hints[str(column[i])]}"

    faults.add_for(np.flatnonzero(~np.isin(column, allowed)), say)


def repeats(values: NDArray[np.str_]) -> Iterator[tuple[str, int, int]]:
    """Yield values that stand twice, and where."""
    order = np.argsort(values, kind="stable")
    same = np.flatnonzero(values[order][1:] == values[order][:-1])
    for i in same:
        yield str(values[order[i]]), int(order[i]), int(order[i + 1])


def _counted_apart(circuit: Circuit) -> bool:
    """Whether all names count, each population with a name of its own: no two are equal."""
    names: list[str] = []
    for group in circuit.groups:
        if (group.names is not None and not isinstance(group.names, Numbered)) or group.scopes:
            return False
        parts = ((group.name, 0),) if group.names is None else group.names.parts
        names += [name for name, _ in parts]
    return len({*names}) == len(names) and all(names)


def _uids(circuit: Circuit, faults: Faults) -> None:
    if all(g.names is None for g in circuit.groups) or _counted_apart(circuit):
        return
    uids = circuit.uids
    lengths = np.strings.str_len(uids)
    empty = np.flatnonzero(lengths == 0)
    faults.add_for(empty, lambda i: f"component number {i} has an empty uid; name it")
    if lengths.max(initial=0) > LONGEST_UID or not storable("".join(uids.tolist())):
        odd = [uid for uid in uids.tolist() if unfit_uid(uid)]
        faults.add_for(odd, lambda uid: f"{node_name(uid)}: {unfit_uid(uid)}")
    twice = list(repeats(uids[lengths > 0]))
    say = "two components have this uid; uids must be unique"
    faults.add_for(twice, lambda found: f"{node_name(found[0])}: {say}")


def _links(circuit: Circuit, links: Connections, faults: Faults) -> None:
    uids = circuit.uids if faults.room() else None

    def name(key: str, row: int) -> str:
        if uids is None:
            return f"connection {row}, attribute '{key}'"
        ends = uids[links.source[row]], uids[links.target[row]]
        return f"{edge_name(*ends)}, attribute '{key}'"

    before = faults.count
    for which in ("source", "target"):
        ends = getattr(links, which)
        if ends.min(initial=0) < 0 or ends.max(initial=0) >= circuit.count:
            out = np.flatnonzero((ends < 0) | (ends >= circuit.count))
            say = f"allowed are 0 to {circuit.count - 1}"
            texts = (f"connection {i}: {which} is {ends[i]}, {say}" for i in out)
            faults.add_each(texts, len(out))
    if faults.count > before:
        return
    rules = {"delay": Parameter("s", at_least=0.0)}
    if circuit.kinds.of(links.variable) is VariableKind.CONDUCTANCE:
        rules["reverse"] = Parameter("mV", default=0.0)
    rules |= numbers_of(circuit, links.variable, links.access, groups_of(circuit, links.target))
    _unused_weight(circuit, links, rules, faults)
    columns = {"delay": links.delay, **links.data}
    for key, rule in rules.items():
        if key in columns:
            optional, unit = rule.default is not None, " s" if key == "delay" else ""
            _numbers(rule, columns[key], len(links), faults, partial(name, key), unit, optional)
        elif rule.default is None and len(links):
            where = f"connections '{links.variable}' into '{links.access}'"
            what = f" ({rule.doc})" if rule.doc else ""
            faults.add(f"{where}: every edge needs the attribute '{key}' [{rule.unit}]{what}")


def _unused_weight(
    circuit: Circuit, links: Connections, rules: dict[str, Parameter], faults: Faults
) -> None:
    """Warn of weights that change nothing, since no target reads them."""
    if "weight" not in links.data or "weight" in rules or links.plasticity is not None:
        return
    models = groups_of(circuit, links.target)
    weight = links.data["weight"]
    others = int((~np.isnan(weight) & (weight != 1.0)).sum()) if weight.ndim else len(links)
    if others and not any(model.runtime.opaque for model in models):
        names = ", ".join(model.__name__ for model in models)
        what = f"into '{links.access}' of {names}" if links.access else "into ports"
        faults.warn(f"the 'weight' of edges '{links.variable}' {what} is not used", others)


def groups_of(circuit: Circuit, ends: NDArray[np.int32]) -> list[type[NDComponent]]:
    """Return the models among some components, in the circuit's order; numbers beyond are none."""
    # before the first, groups, behind the last
    seen = np.zeros(len(circuit.groups) + 2, dtype=bool)
    for begin in range(0, len(ends), BLOCK):
        part = ends[begin : begin + BLOCK]
        seen[np.searchsorted(circuit.starts, part, side="right")] = True
        if seen[1:-1].all():
            break
    return [g.model for g, there in zip(circuit.groups, seen[1:-1], strict=True) if there]


def _degrees(
    circuit: Circuit, number: int, end: str, access: str | None = None
) -> NDArray[np.int64]:
    """Return how many connections begin or end at each component of a group."""
    first, last = circuit.starts[number : number + 2].tolist()
    out = np.zeros(last - first, dtype=np.int64)
    for links in circuit.connections:
        if access is None or links.access == access:
            ends = getattr(links, end)
            mine = ends[(ends >= first) & (ends < last)] - first
            out += np.bincount(mine, minlength=len(out))
    return out


def _port_edges(circuit: Circuit, faults: Faults) -> None:
    """Warn of ports that no edge touches, and of edges against a port's direction."""
    for g, group in enumerate(circuit.groups):
        if not group.is_port:
            continue
        sent, got = (_degrees(circuit, g, end) for end in ("source", "target"))
        if lost := int(((sent == 0) & (got == 0)).sum()):
            faults.warn("ports that no edge touches", lost)
        for io, degree, verb in (("in", got, "lead to"), ("out", sent, "start at")):
            if times := int(degree[group.labels["port_io"] == io].sum()):
                faults.warn(f"edges that {verb} a port with port_io '{io}'", times)


def _single_accesses(circuit: Circuit, faults: Faults) -> None:
    """A connected component has one edge, no more and no less, into each ``single`` access.

    An Aggregator, say, needs the one potential that drives its synapses.
    """
    for g, group in enumerate(circuit.groups):
        single = [a for a in group.model.accesses if a.single]
        if not single:
            continue
        degrees = {a.name: _degrees(circuit, g, "target", a.name) for a in group.model.accesses}
        connected = np.sum(list(degrees.values()), axis=0) > 0
        for access in single:
            found = degrees[access.name]
            bad = np.flatnonzero(connected & (found != 1))
            say = f"({group.name}): needs one edge that carries '{access.variable}' "
            say += f"into '{access.name}'" if access.receptor else "from the component it drives"
            texts = (f"{node_name(group.uids[i])} {say} (got {found[i]})" for i in bad)
            faults.add_each(texts, len(bad))
