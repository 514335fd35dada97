"""Merge: linear synapses of one target and equal kinetics are computed as one.

A synapse that declares `Linear` adds ``factor * x`` to the conductance of its target, where ``x``
depends on its spikes and kinetics alone. The sum over synapses of one Aggregator that share
kinetics, reversal potential and the delay of the conductance is the ``x`` of one synapse at which
each spike arrives with its factor as weight. Circuit and input slots come in and go out: numbers
and names of components stay, hidden groups are appended.

What is merged depends on the target's own synapses only, and everything stays in the order of
their conductances, so cutting a circuit into LPUs or ranks changes no bit, unless it parts a
synapse from its target: then a port reads its conductance, and it is not merged. Recording changes
no bit either: the conductance of a synapse that is recorded is computed beside the merged one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit, Connections, Group
from ...circuit.initial import initial_states
from ...model.component import Access, NDComponent, Parameter
from ...model.kinds import VariableKind
from ...model.linear import ARRIVED, Linear, linear_form
from ..delays import steps_of
from ..injection import Slots
from .aggregate import picked
from .draft import Draft, Flags, Merged, Numbers, Recorded

MEMBERS = 2
"""Synapses that become one at least."""

_CONDUCTANCE = VariableKind.CONDUCTANCE


def apply(draft: Draft) -> Draft:
    """Return a draft whose linear synapses are merged, where that is asked for."""
    if draft.merging is None:
        return replace(draft, merged=Merged(draft.circuit, draft.slots))
    merged = merge(draft.circuit, draft.dt, draft.slots, draft.merging)
    return replace(draft, circuit=merged.circuit, slots=merged.slots, merged=merged)


def merge(circuit: Circuit, dt: float, slots: Slots, recorded: Recorded) -> Merged:
    """Merge what can be merged.

    Parameters
    ----------
    circuit : Circuit
        With its Aggregators.
    dt : float
        Step in seconds.
    slots : Slots
    recorded : Recorded
    """
    forms = {n: f for n, g in enumerate(circuit.groups) if (f := linear_form(g.model))}
    if not forms:
        return Merged(circuit, slots)
    sums = _Sums.of(circuit, dt)
    free = _free(circuit, slots, sums, recorded)
    into = np.full(circuit.count, -1, dtype=np.int64)  # component that a synapse is merged into
    weight = np.zeros(circuit.count)
    groups, heads, first = list(circuit.groups), np.zeros(len(sums.source), bool), circuit.count
    for number, form in forms.items():
        group, start = circuit.groups[number], int(circuit.starts[number])
        mine = slice(start, start + group.count)
        free[mine] &= _linear(group, form, dt)
        inside = (sums.source >= start) & (sums.source < start + group.count)
        rows = np.flatnonzero(inside & free[sums.source])
        which, head = sums.classes(rows, _kinetics(group, form, sums.source[rows] - start))
        if len(head):
            heads[head] = True
            rows, which = rows[which >= 0], which[which >= 0]
            into[sums.source[rows]] = first + which
            weight[mine] = _factor(group, form)
            groups.append(_one_each(group, form, sums.source[head] - start))
            first += len(head)
    if first == circuit.count:
        return Merged(circuit, slots)
    beside = _recorded(circuit, recorded) & (into >= 0)
    return _rewired(circuit, slots, groups, _Moves(into, weight, beside, sums.rank), heads)


@dataclass(frozen=True)
class _Sums:
    """The conductances that Aggregators sum, in order.

    Attributes
    ----------
    source, target, steps : (m,) int64
    reverse : (m,) float64
    rank : (count,) int64
        Row of each component that is the source of a single one; -1 for all others.
    """

    source: Numbers
    target: Numbers
    steps: Numbers
    reverse: NDArray[np.float64]
    rank: Numbers

    @classmethod
    def of(cls, circuit: Circuit, dt: float) -> _Sums:
        sets = [one for one in circuit.connections if _conducts(circuit, one.variable)]
        summed = np.repeat(
            [g.model.converts is _CONDUCTANCE for g in circuit.groups],
            [g.count for g in circuit.groups],
        )

        def column(each: list[NDArray[np.generic]]) -> NDArray[np.generic]:
            parts = [np.broadcast_to(c, (len(s),)) for c, s in zip(each, sets, strict=True)]
            return np.concatenate(parts) if parts else np.empty(0)

        source = column([s.source for s in sets]).astype(np.int64)
        target = column([s.target for s in sets]).astype(np.int64)
        steps = column([steps_of(s, dt, circuit.phase_of) for s in sets]).astype(np.int64)
        none = np.zeros(())
        reverse = column([s.data.get("reverse", none) for s in sets]).astype(np.float64)
        rank = np.full(circuit.count, -1, dtype=np.int64)
        rank[source] = np.arange(len(source))
        rank[np.bincount(source, minlength=circuit.count) > 1] = -1
        rank[source[~summed[target]]] = -1
        return cls(source, target, steps, np.nan_to_num(reverse), rank)

    def classes(
        self, rows: Numbers, kinetics: Sequence[NDArray[np.float64]]
    ) -> tuple[Numbers, Numbers]:
        """Return which merged component each row belongs to (-1: none), and their first rows."""
        columns = [*kinetics, self.reverse[rows], self.steps[rows], self.target[rows]]
        keys = [c for c in columns if len(c) and (c != c[0]).any()] or [np.zeros(len(rows))]
        order = np.lexsort(keys)  # stable: the first of a class is its first row
        fresh = np.ones(len(rows), dtype=bool)
        if len(rows):
            fresh[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
        label = np.cumsum(fresh) - 1
        first = order[fresh]
        large = np.bincount(label, minlength=len(first)) >= MEMBERS
        number = np.full(len(first), -1, dtype=np.int64)
        chosen = np.flatnonzero(large)
        number[chosen[np.argsort(first[chosen])]] = np.arange(len(chosen))
        which = np.empty(len(rows), dtype=np.int64)
        which[order] = number[label]
        return which, rows[np.sort(first[chosen])]


@dataclass(frozen=True)
class _Moves:
    """For every component: where it goes, its factor, whether it stays too, its place in order."""

    into: Numbers
    weight: NDArray[np.float64]
    beside: Flags
    rank: Numbers

    def split(self, links: Connections) -> tuple[Connections | None, Connections]:
        """Return the connections to merged synapses, and those that stay."""
        away = self.into[links.target] >= 0
        if not away.any():
            return None, links
        return picked(links, away), picked(links, ~away | self.beside[links.target])

    def joined(self, parts: Sequence[Connections | None]) -> list[Connections]:
        """Return spikes to synapses as weighted spikes to what these are merged into, in order."""
        sets = [one for one in parts if one is not None]
        names = dict.fromkeys((one.variable, one.access) for one in sets)
        return [
            self._joined([one for one in sets if (one.variable, one.access) == name])
            for name in names
        ]

    def _joined(self, sets: Sequence[Connections]) -> Connections:
        variable, access = sets[0].variable, sets[0].access
        synapse = np.concatenate([one.target for one in sets])
        order = np.argsort(self.rank[synapse], kind="stable")
        synapse = synapse[order]
        source = np.concatenate([one.source for one in sets])[order]
        delay = np.concatenate([np.broadcast_to(one.delay, (len(one),)) for one in sets])[order]
        ends = source, self.into[synapse].astype(np.int32)
        data = {"weight": self.weight[synapse]}
        return Connections(variable, access, *ends, delay, data)


def _rewired(
    circuit: Circuit, slots: Slots, groups: list[Group], moves: _Moves, heads: Flags
) -> Merged:
    """Lead spikes to merged components, and a conductance from each in place of its first one."""
    kept, moved, at = [], [], 0
    for one in circuit.connections:
        spikes = None
        if _conducts(circuit, one.variable):
            away, head = moves.into[one.source], heads[at : at + len(one)]
            at += len(one)
            source = np.where(head, away, one.source).astype(np.int32)
            one = picked(replace(one.expanded(), source=source), head | (away < 0))
        elif circuit.kinds.is_event(one.variable):
            spikes, one = moves.split(one)
        kept.append(one)
        moved.append(spikes)
    pairs = [moves.split(one) for one in slots.connections]
    inputs = [*[rest for _, rest in pairs], *moves.joined([spikes for spikes, _ in pairs])]
    computed: dict[int, Flags] = {}
    for number, (group, start) in enumerate(zip(circuit.groups, circuit.starts, strict=False)):
        mine = slice(start, start + group.count)
        gone = moves.into[mine] >= 0
        if gone.any():
            computed[number] = ~gone | moves.beside[mine]
    links = [one for one in [*kept, *moves.joined(moved)] if len(one)]
    return Merged(
        circuit.with_parts(groups, links),
        replace(slots, connections=inputs),
        computed,
        frozenset(range(len(circuit.groups), len(groups))),
    )


def _conducts(circuit: Circuit, variable: str) -> bool:
    return circuit.kinds.of(variable) is _CONDUCTANCE


def _free(circuit: Circuit, slots: Slots, sums: _Sums, recorded: Recorded) -> Flags:
    """Return whose conductance an Aggregator alone reads, and which have at most one input."""
    dead = np.repeat(
        [g.is_port and not g.hidden for g in circuit.groups],
        [g.count for g in circuit.groups],
    )  # nothing ever stands in the place of a port itself
    degree = np.zeros(circuit.count, dtype=np.int64)
    for one in circuit.connections:
        degree += np.bincount(one.target[~dead[one.source]], minlength=circuit.count)
        if one.plasticity is not None:  # what learns at a target stays its own
            degree[one.target] = MEMBERS
    for one in slots.connections:
        degree += np.bincount(one.target, minlength=circuit.count)
    free: Flags = (sums.rank >= 0) & (degree <= 1)
    for scope in recorded.apart:
        free &= ~circuit.members(scope)
    for scope, model in recorded.kept:
        of_model = [group.name == model for group in circuit.groups]
        free &= ~(circuit.members(scope) & np.repeat(of_model, np.diff(circuit.starts)))
    return free


def _recorded(circuit: Circuit, recorded: Recorded) -> Flags:
    """Return the components whose conductance, or a state, is recorded."""
    out = np.zeros(circuit.count, dtype=bool)
    for scope, variable, uids in recorded.requests:
        state = any(linear_form(g.model) and variable in g.model.states for g in circuit.groups)
        if not state and not _conducts(circuit, variable):
            continue
        if uids is None:
            out |= circuit.members(scope)
        else:
            found = circuit.find(uids if scope is None else [f"{scope}/{uid}" for uid in uids])
            out[found[found >= 0]] = True
    return out


def _column(group: Group, name: str) -> NDArray[np.float64]:
    given = group.params.get(name, group.model.params[name].default)
    return np.asarray(given, dtype=np.float64)


def _kinetics(group: Group, form: Linear, members: Numbers) -> list[NDArray[np.float64]]:
    """Return the parameters that a merged component's synapses share, where not all do."""
    columns = [_column(group, name) for name in group.model.params if name not in form.factors]
    return [column[members] for column in columns if column.ndim]


def _factor(group: Group, form: Linear) -> NDArray[np.float64]:
    product: NDArray[np.float64] = np.ones(())
    for name in form.factors:
        product = product * _column(group, name)
    return product


def _linear(group: Group, form: Linear, dt: float) -> Flags:
    """Return which synapses are linear and start at rest."""
    rest = np.ones(group.count, dtype=bool)
    for column in initial_states(group).values():
        rest &= column == 0
    if form.where is None:
        return rest
    columns = {n: np.broadcast_to(_column(group, n), (group.count,)) for n in group.model.params}
    return rest & form.where(columns, dt * 1000.0 / group.model.substeps(dt))


def _one_each(group: Group, form: Linear, heads: Numbers) -> Group:
    """Return the hidden group of merged components; each has the kinetics of its first synapse."""
    params = {}
    for name in group.model.params:
        column = np.ones(()) if name in form.factors else _column(group, name)
        params[name] = column[heads] if column.ndim else column
    uids = np.strings.add("merged ", group.full_uids[heads])  # the same on any number of ranks
    model = weighted_form(group.model)
    return Group(model, params, len(heads), uids, hidden=True, phase=group.phase)


def weighted_form(model: type[NDComponent]) -> type[NDComponent]:
    """Return a linear synapse at which spikes arrive with weights; its factors are to be 1."""
    unit, variable = model.units[model.updates[0]], model.accesses[0].variable
    weight = Parameter(unit, default=1.0, doc="product of the factors of a synapse")
    spikes = Access(
        variable,
        each=f"{variable} > 0 ? weight : 0",
        connection={"weight": weight},
        accumulate="double",
    )
    text = {
        "__module__": __name__,
        "__doc__": f"{model.__name__}s of one target as one.",
        "accesses": (spikes,),
        "terms": {ARRIVED: f"substep == 0 ? {variable} : 0"},
        "linear": None,
    }
    return type(f"Merged{model.__name__}", (model,), text)
