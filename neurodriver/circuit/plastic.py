"""What connections that learn must be like, whatever a circuit was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, near, quoted
from ..model.component import NDComponent
from ..model.kinds import VariableKind
from ..model.plasticity import Plasticity
from ..model.rule_columns import misfits, shared_numbers
from ..model.synapse_traces import taus
from .circuit import Circuit, Connections
from .drawn import Drawn
from .projections import models_of

Model = type[NDComponent]
Reals = NDArray[np.float64]

EdgeName = Callable[[object, object], str]

INITIAL = "init"
"""What the name of a column with first values of a variable of synapses begins with."""

MARGIN = 16.0
"""Without bounds, the largest |value| that is sent: so many times the largest first weight."""

_TIMES = ("dendritic", "back")


def events_of(model: Model, variable: str) -> str:
    """Return the variable with a target's own spikes: that of the sources, or its only events."""
    events = [v for v in model.updates if model.kind_of(v) is VariableKind.EVENT]
    return variable if variable in events else next(iter(events), "")


def given_largest(links: Connections) -> float | None:
    """Return the largest |value| sent that somebody has given; None where nobody has."""
    given = links.projection.largest if isinstance(links, Drawn) else links.data.get("largest")
    return None if given is None else float(np.max(given))


def largest_sent(links: Connections, first: Reals) -> float:
    """Return the largest |value| that synapses send which begin with some weights."""
    largest, limits = float(np.abs(first).max(initial=0.0)), limits_of(links)
    if limits is None:
        return MARGIN * largest if largest else 1.0
    return max(largest, *(float(np.abs(one).max(initial=0.0)) for one in limits)) or 1.0


def varied(links: Connections) -> tuple[str, ...]:
    """Return the parameters of the rule of which each synapse has a number of its own."""
    rule = links.plasticity
    if rule is None:
        return ()
    given = rule.columns if isinstance(links, Drawn) else links.data
    return tuple(name for name in rule.params if name in given)


def numbers_of_synapses(links: Connections) -> tuple[str, ...]:
    """Return the names of all numbers that a synapse has: those that texts write come first."""
    assert links.plasticity is not None
    return ("weight", *links.plasticity.synapse, *varied(links))


def first_number(links: Connections, name: str) -> Reals:
    """Return what a number of the synapses is at first, () or (m,); not their weight."""
    rule = links.plasticity
    assert rule is not None
    if name in rule.synapse:
        if not isinstance(links, Drawn) and f"{INITIAL}{name}" in links.data:
            return np.asarray(links.data[f"{INITIAL}{name}"], np.float64)
        start = rule.synapse[name].initial
        if not isinstance(start, str):
            return np.asarray(float(start))
        if start not in varied(links):
            return np.asarray(rule.values[start])
        name = start
    column = links.column(name) if isinstance(links, Drawn) else links.data[name]
    return np.asarray(column, np.float64)


def limits_of(links: Connections) -> tuple[Reals, Reals] | None:
    """Return the numbers between which weights lie, each () or (m,); None where none are given."""
    rule = links.plasticity
    if rule is None or rule.bounds is None or rule.limits is None:
        return None
    own = varied(links)
    low, high = (
        first_number(links, one) if one in own else np.asarray(shared)
        for one, shared in zip(rule.bounds, rule.limits, strict=True)
    )  # fmt: skip
    return low, high


def widest(limits: tuple[Reals, Reals] | None) -> tuple[float, float] | None:
    """Return the least and the greatest of the bounds of weights."""
    return None if limits is None else (float(limits[0].min()), float(limits[1].max()))


def with_largest(links: Connections) -> Connections:
    """Return connections that learn whose parts send no more than the whole."""
    if links.plasticity is None or not len(links):
        return links
    whole = links.expanded()
    largest = given_largest(links)
    if largest is None:
        first = np.asarray(whole.data.get("weight", 1.0), np.float64)
        largest = largest_sent(whole, first)
    return replace(whole, data={**whole.data, "largest": np.asarray(largest)})


def plastic_of(circuit: Circuit, number: int, access: str) -> list[Connections]:
    """Return the connections into an access of a group that learn, some of whose targets it has."""
    start, stop = int(circuit.starts[number]), int(circuit.starts[number + 1])
    found = []
    for links in circuit.connections:
        if links.plasticity is None or links.access != access or not len(links):
            continue
        if isinstance(links, Drawn):
            ends = links.ends.target
            reaches = ends.start < stop and ends.stop > start
            reaches = reaches and links.rows(range(start, stop)).edges > 0
        else:
            reaches = bool(((links.target >= start) & (links.target < stop)).any())
        if reaches:
            found.append(links)
    return found


def learns(circuit: Circuit, number: int, access: str) -> bool:
    """Whether connections learn into an access of a group, here or in the whole circuit."""
    return access in circuit.groups[number].learning or bool(plastic_of(circuit, number, access))


def learning_connections(circuit: Circuit) -> Iterator[Connections]:
    """Yield the connections of a circuit that learn."""
    for links in circuit.connections:
        if links.plasticity is not None:
            yield links


def check_learning(circuit: Circuit, faults: Faults, edge_name: EdgeName) -> None:
    """Note what is wrong with the connections of a circuit that learn."""
    names: set[str] = set()
    for links in circuit.connections:
        if links.plasticity is None:
            _check_times_without(links, faults)
            continue
        said = f"connections {quoted(links.name or f'{links.variable} -> {links.access}')}"
        given: object = links.plasticity
        if not isinstance(given, Plasticity):
            want = "must be a rule with its numbers, as PairSTDP() is"
            faults.add(f"{said}, 'plasticity': {want} (got {given!r:.60})")
            continue
        if links.name in names:
            faults.add(f"{said}: others that learn have this name, too; names must be unique")
        names.add(links.name)
        for text in (*_unfit_targets(circuit, links), *_unknown_values(circuit, links)):
            faults.add(f"{said}: {text}")
        if isinstance(links, Drawn):
            for text in _unfit_projection(links):
                faults.add(f"{said}: {text}")
        else:
            _check_columns(circuit, links, said, faults, edge_name)


def _check_times_without(links: Connections, faults: Faults) -> None:
    """Warn of times that only synapses which learn have."""
    given = links.projection if isinstance(links, Drawn) else None
    if given is None:
        times = [name for name in _TIMES if name in links.data and np.any(links.data[name] != 0)]
    else:
        times = [name for name in _TIMES if getattr(given, name)]
    for name in times:
        named = links.name or (given.label if given else f"{links.variable} -> {links.access}")
        said = f"connections {quoted(named)}"
        faults.warn(f"{said}: '{name}' is not used, as they do not learn")


def _unfit_targets(circuit: Circuit, links: Connections) -> Iterator[str]:
    """Yield why the targets of connections cannot learn by their rule."""
    assert links.plasticity is not None
    rule = type(links.plasticity).__name__
    for model in _targets(circuit, links):
        access = next((a for a in model.accesses if a.name == links.access), None)
        if access is None:
            if model.is_port:
                yield f"they lead to ports; {rule} needs targets that take weighted spikes"
            continue  # what is connected there is told of by the rules of all connections
        into = f"the access {quoted(access.name)} of {model.__name__}"
        event = model.kind_of(access.variable) is VariableKind.EVENT
        if not access.weighted:
            want = f"Weighted('{access.variable}', ...) is needed"
            yield f"{into} takes no weights, so nothing can be learned by {rule}; {want}"
        elif access.reduce != "sum":
            yield f"{into} takes the {access.reduce} of its inputs; only a sum can be learned"
        elif access.each != f"weight * {access.variable}" or [*access.connection] != ["weight"]:
            want = f"a plain Weighted('{access.variable}', ...) is needed"
            yield f"{into} does more than to sum weights; {want}"
        elif not event:
            yield from (f"{into} {text}" for text in _unfit_graded(links, model))
        if links.plasticity.on_spike and not events_of(model, links.variable):
            without = "use a rule without 'on_spike', or targets that spike"
            yield (
                f"{rule} has a text 'on_spike' for spikes of the target, but {model.__name__} "
                f"updates no events; {without}"
            )


def _unfit_graded(links: Connections, model: Model) -> Iterator[str]:
    """Yield why graded connections into an access of a model cannot learn by their rule."""
    assert links.plasticity is not None
    rule = type(links.plasticity)
    if not (rule.on_step or rule.every):
        what = f"nothing can be learned by {rule.__name__}"
        yield f"takes no spikes, so {what}; use a rule with 'on_step' or 'every'"
    parts = ("pre", "post", "on_spike", "between")
    given = [name for name in parts if getattr(rule, name)]
    given += [f"modulators['{name}']" for name in rule.doses()]
    if rule.on_arrival != Plasticity.on_arrival:
        given.append("on_arrival")
    if given:
        has = ", ".join(map(repr, given))
        able = "'on_step', texts of intervals and modulators that are values"
        yield f"takes no spikes, but {rule.__name__} has {has}; values learn by {able} alone"
    if model.runtime.kernel or model.sub_units is not None:
        yield f"cannot learn: {model.__name__} has a kernel or sub-units of its own"
    for name in _TIMES:
        times = links.learning if isinstance(links, Drawn) else links.data
        if np.any(np.asarray(times.get(name, 0.0)) != 0):
            yield f"takes values, which have no '{name}' part of the delay; leave it out"


def _unknown_values(circuit: Circuit, links: Connections) -> Iterator[str]:
    """Yield which values of neurons a rule reads that these do not publish."""
    assert links.plasticity is not None
    rule = type(links.plasticity)
    for value in rule.every_value():
        variable = value.variable(links.variable)
        models = _sources(circuit, links) if value.side == "pre" else _targets(circuit, links)
        for model in models:
            published = [links.variable] if model.is_port else [*model.updates]
            if variable not in published:
                known = ", ".join(published) or "nothing"
                hint = near(variable, published)
                yield (
                    f"{rule.__name__} reads {value}, but {model.__name__} does not update "
                    f"'{variable}'{hint}; it updates {known}"
                )


def _sources(circuit: Circuit, links: Connections) -> list[Model]:
    if isinstance(links, Drawn):
        return models_of(circuit, links.ends.source)
    return _models_at(circuit, links.source)


def _targets(circuit: Circuit, links: Connections) -> list[Model]:
    if isinstance(links, Drawn):
        return models_of(circuit, links.ends.target)
    return _models_at(circuit, links.target)


def _models_at(circuit: Circuit, ends: NDArray[np.int32]) -> list[Model]:
    """Return the models of the components at the ends of connections, where these are there."""
    if not len(ends) or ends.min() < 0 or ends.max() >= circuit.count:
        return []
    seen = np.unique(circuit.group_of(ends))
    return [circuit.groups[number].model for number in seen.tolist()]


def _unfit_projection(links: Drawn) -> Iterator[str]:
    """Yield what is wrong with the numbers of a projection that learns."""
    rule, times = links.plasticity, links.learning
    assert rule is not None
    for name, column in rule.columns.items():
        if isinstance(column, np.ndarray) and len(column) != len(links):
            want = f"one for each of the {len(links):,} connections is needed"
            yield f"'{name}': {want} (got {len(column):,} numbers)"
    for name, value in times.items():
        allowed = "above 0" if name == "largest" else "at least 0"
        fits = value > 0 if name == "largest" else value >= 0
        if not (np.isfinite(value) and fits):
            yield f"'{name}' must be finite and {allowed} (got {value:g})"
    if times["dendritic"] > links.latency.least:
        got = f"{times['dendritic']:g} s, and the shortest delay is {links.latency.least:g} s"
        yield f"'dendritic' must not be longer than the delay, of which it is a part (got {got})"
    given = [column for column in rule.columns.values() if isinstance(column, np.ndarray)]
    limits = limits_of(links) if all(len(one) == len(links) for one in given) else None
    if limits is None:
        return
    if limits[0].ndim or limits[1].ndim:
        yield from _beyond_own_bounds(links, *limits)
        return
    factors = np.ones(1)
    if links.filtered:
        factors = np.asarray(links.projection.rule.columns["weights"], np.float64).reshape(-1)
    ends = np.array([links.weight.least, links.weight.most])[:, None] * factors
    low, high = limits
    if ends.size and not (low <= ends.min() and ends.max() <= high):
        got = f"{ends.min():g} to {ends.max():g}"
        said = f"the first weights must lie within the bounds of {type(rule).__name__}"
        yield f"{said}, {low:g} to {high:g} (got {got})"


def _beyond_own_bounds(links: Drawn, low: Reals, high: Reals) -> Iterator[str]:
    """Yield the first synapse of a projection whose bounds or first weight do not fit."""
    weight = np.asarray(links.expanded().data.get("weight", 1.0), np.float64)
    low, high, weight = np.broadcast_arrays(low, high, weight)
    rule = type(links.plasticity).__name__
    bad = np.flatnonzero(~(low <= high))
    if len(bad):
        i = bad[0]
        yield f"the bounds of {rule} must ascend (got {low[i]:g} to {high[i]:g} for synapse {i})"
        return
    bad = np.flatnonzero(~((low <= weight) & (weight <= high)))
    if len(bad):
        i = bad[0]
        want = f"the first weights must lie within the bounds of {rule}, {low[i]:g} to {high[i]:g}"
        yield f"{want} for synapse {i} (got {weight[i]:g})"


def _check_columns(
    circuit: Circuit, links: Connections, said: str, faults: Faults, edge_name: EdgeName
) -> None:
    """Note numbers of single connections that are wrong."""
    rule, m = links.plasticity, len(links)
    assert rule is not None
    data = _plain(links.data, rule, said, faults)
    if not m or any(column.shape not in ((), (m,)) for column in (*data.values(), links.delay)):
        return  # told of already

    def name(key: str, row: int) -> str:
        if not np.ndim(data.get(key, 0.0)):
            return f"{said}, '{key}'"
        return f"{edge_name(*_uids(circuit, links, row))}, attribute '{key}'"

    def add(key: str, bad: NDArray[np.bool_], want: str, *given: Reals) -> None:
        one_for_all = not np.ndim(data.get(key, 0.0)) and not bad.ndim
        rows = np.flatnonzero(bad)[:1] if one_for_all else np.flatnonzero(np.broadcast_to(bad, m))
        *named, values = (np.broadcast_to(one, m) for one in given)

        def said(i: int) -> str:
            allowed = want.format(*(f"{one[i]:g}" for one in named))
            return f"{name(key, i)}: {allowed} (got {values[i]:g})"

        faults.add_for(rows, said)

    for key in _TIMES:
        if key in data:
            add(key, ~(data[key] >= 0) | np.isinf(data[key]), "must be at least 0 s", data[key])
    if "dendritic" in data:
        longer = data["dendritic"] > links.delay
        add("dendritic", longer, "must not be longer than the delay", data["dendritic"])
    if (limits := limits_of(links)) is not None:
        low, high = limits
        weight = data.get("weight", np.ones(()))
        want = f"must lie within the bounds of {type(rule).__name__}, {{}} to {{}}"
        add("weight", ~((weight >= low) & (weight <= high)), want, low, high, weight)
    if "largest" in data:
        bad = ~(data["largest"] > 0) | np.isinf(data["largest"])
        add("largest", bad, "must be finite and above 0", data["largest"])
    for key in data:
        if key in rule.params:
            want = f"must be {rule.params[key].allowed()}"
            add(key, misfits(rule.params[key], data[key]), want, data[key])
        elif key.startswith(INITIAL):
            add(key, ~np.isfinite(data[key]), "must be finite", data[key])


def _plain(
    data: Mapping[str, Reals], rule: Plasticity, said: str, faults: Faults
) -> dict[str, Reals]:
    """Return the columns that the rule knows; note those that name nothing it has."""
    out: dict[str, Reals] = {}
    shared = shared_numbers(type(rule))
    for name in rule.columns:  # numbers would be in `data` by now
        law = "a distribution is for projections; connections have numbers"
        faults.add(f"{said}, '{name}': {law} (got {rule.columns[name]})")
    first = [f"{INITIAL}{name}" for name in rule.synapse if name not in taus(rule.synapse)]
    known = {*_TIMES, "weight", "largest", *first}
    for key, column in data.items():
        if key in known:
            out[key] = np.asarray(column, np.float64)
        elif key.startswith(INITIAL) and key != INITIAL:
            among, hint = ", ".join(first) or "none", near(key, first)
            what = f"{type(rule).__name__} has no variable of synapses called so"
            faults.add(f"{said}, '{key}': {what}{hint}; first values: {among}")
        elif key in shared:
            faults.add(f"{said}, '{key}': must be one number of the rule, as {shared[key]}")
        elif key in rule.params:
            out[key] = np.asarray(column, np.float64)
    return out


def _uids(circuit: Circuit, links: Connections, row: int) -> tuple[str, str]:
    uids = circuit.uids
    return str(uids[links.source[row]]), str(uids[links.target[row]])
