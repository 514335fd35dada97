"""Computes the pools that texts read: each becomes components that read its members.

Most texts read pools of the values of the step before. These pools come first in a step. A text of
a later phase reads pools of the values that an earlier phase computes in the same step. These pools
come directly after that phase. So pools are phases between those of the circuit.

A pool that is recorded is one of the second kind. Its row of a step then belongs to the values of
its members in this row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.axis import Axis
from ...circuit.circuit import Circuit, Group
from ...circuit.groups import FieldValue, Layer
from ...circuit.node_columns import POPULATION
from ...circuit.numbered import Numbered
from ...circuit.pointers import group_of, pool_source
from ...circuit.pools import GROUP, PoolGroups, pool_groups
from ...circuit.space import AxisGrid, Space
from ...model.component import NDComponent
from ...model.language import tree
from ...model.texts import texts_of
from ..pool_models import BLOCK, VALUE, WHICH, member_pool, pool_model
from .draft import Draft


def apply(draft: Draft) -> Draft:
    """Return a draft with the pools that its texts and recorders read."""
    circuit = draft.circuit
    if not any(group.model.pools for group in circuit.groups):
        return draft
    shown = frozenset(_recorded(circuit, draft.merging.requests if draft.merging else ()))
    return replace(draft, circuit=_Pools(circuit, shown).made())


def _recorded(circuit: Circuit, requests: Sequence[tuple[Any, str, Any]]) -> Iterator[_Wanted]:
    """Yield the pools that recorders ask for."""
    for scope, name, uids in requests:
        mine = circuit.members(scope)
        for number, group in enumerate(circuit.groups):
            if name not in group.model.pools or not mine[circuit.starts[number]]:
                continue
            head = f"{_own_name(group)}.{name}/"
            if uids is None or any(uid.startswith(head) for uid in uids):
                yield _Wanted(number, name, True)


def _own_name(group: Group) -> str:
    """Return the name of a population, without that of its LPU in a joined circuit."""
    assert group.layer is not None
    name = group.layer.population
    return name.partition("/")[2] if group.scopes else name


@dataclass(frozen=True)
class _Wanted:
    """A pool that is read.

    Attributes
    ----------
    group : int
        The population.
    ahead : bool
        Whether values of this step are read, or else those of the step before.
    """

    group: int
    pool: str
    ahead: bool


@dataclass
class _Pools:
    """Makes the groups of pools.

    Attributes
    ----------
    shown : frozenset of _Wanted
        Pools that are recorded.
    chains : dict of _Wanted to list of Group
        Levels of each pool, without their phases.
    read : dict of int to dict of str to tuple of str
        Group -> what its text reads: source and pool -> names of the pools' populations.
    """

    circuit: Circuit
    shown: frozenset[_Wanted]
    chains: dict[_Wanted, list[tuple[Group, Space]]] = field(default_factory=dict)
    read: dict[int, dict[str, tuple[str, ...]]] = field(default_factory=dict)

    def made(self) -> Circuit:
        """Return the circuit with its pools."""
        circuit = self.circuit
        for reader, group in enumerate(circuit.groups):
            if group.layer is not None:
                self._read_by(reader, group)
        for wanted in sorted(self.shown, key=lambda one: (one.group, one.pool)):
            self._population(wanted)
        depth = max((self._before(one) + len(c) for one, c in self.chains.items()), default=0)
        if not depth:
            return circuit
        groups = [self._reader(number, group, depth) for number, group in enumerate(circuit.groups)]
        spaces = dict(circuit.spaces)
        for one, chain in self.chains.items():
            first = circuit.groups[one.group].phase * (depth + 1) + depth + 1 if one.ahead else 0
            for level, (group, space) in enumerate(chain):
                assert group.layer is not None
                spaces[group.layer.population] = space
                groups.append(replace(group, phase=first + self._before(one) + level))
        return circuit.changed(groups=tuple(groups), spaces=spaces)

    def _reader(self, number: int, group: Group, depth: int) -> Group:
        """Return a group of the circuit in its phase, with the pools that its text reads."""
        phase = 0 if group.is_port else group.phase * (depth + 1) + depth
        layer = group.layer
        if number in self.read and layer is not None:
            layer = replace(layer, sources={**layer.sources, **self.read[number]})
        return replace(group, phase=phase, layer=layer)

    def _read_by(self, reader: int, group: Group) -> None:
        assert group.layer is not None
        for source, pool in sorted(pools_read(group.model)):
            some = (group.layer.population,) if source == "here" else group.layer.sources[source]
            names = []
            for population in some:
                number = group_of(self.circuit, population, group.layer.population)[0]
                target = self.circuit.groups[number]
                known = pool in target.model.pools
                wanted = _Wanted(number, pool, target.phase < group.phase)
                names.append(self._population(wanted) if known else "")
            if any(names):
                self.read.setdefault(reader, {})[pool_source(source, pool)] = tuple(names)

    def _population(self, wanted: _Wanted) -> str:
        """Return the name of what has the result of a pool; it is made where it is new."""
        if wanted not in self.chains:
            self.chains[wanted] = list(self._chain(wanted))
        layer = self.chains[wanted][-1][0].layer
        assert layer is not None
        return layer.population

    def _shown(self, made: Group, members: Group) -> Group:
        """Return the last level of a pool as a population that recorders find."""
        assert made.layer is not None
        scopes = tuple((scope, made.count) for scope, _ in members.scopes[:1])
        name = _own_name(replace(made, scopes=scopes))
        columns = {POPULATION: np.broadcast_to(np.array(name), (made.count,))}
        names = Numbered(((name, made.count),))
        return replace(made, hidden=False, scopes=scopes, names=names, columns=columns)

    def _before(self, wanted: _Wanted) -> int:
        """Return how many levels come before those of a pool."""
        pools = self.circuit.groups[wanted.group].model.pools
        below = replace(wanted, pool=pools[wanted.pool].variable)
        return self._before(below) + len(self.chains[below]) if below.pool in pools else 0

    def _chain(self, wanted: _Wanted) -> Iterator[tuple[Group, Space]]:
        """Yield the levels of a pool."""
        group = self.circuit.groups[wanted.group]
        assert group.layer is not None
        space = self.circuit.spaces.get(group.layer.population)
        pools, name = group.model.pools, group.layer.population
        rule, found = pools[wanted.pool], pool_groups(group, space, wanted.pool)
        variable, source = rule.variable, name
        if variable in pools:
            source = self._population(replace(wanted, pool=variable))
            variable = WHICH if pools[variable].reduce == "argmax" else VALUE
        shown = wanted.pool if wanted in self.shown else ""
        own = f"{name}.{wanted.pool}" + ("" if shown else ".now" if wanted.ahead else ".before")
        if rule.multiple_of is not None:
            yield from self._summed_by_members(wanted, found)
            return
        order = np.argsort(found.of, kind="stable")
        members = order[found.of[order] >= 0]
        ends, level = _ends(found.sizes), 0
        while True:
            last = bool((np.diff(ends) <= BLOCK).all())
            bounds, ends = _blocks(ends, last)
            population = own if last else f"{own}.{level}"
            axes = dict(found.axes) if last and found.axes else {GROUP: Axis(len(bounds) - 1)}
            listed = members if not level and (np.diff(members) != 1).any() else None
            shape = tuple(axis.count for axis in axes.values())
            fields = {"low": bounds[:-1].reshape(shape), "high": bounds[1:].reshape(shape)}
            if not level and listed is None and len(members):
                fields = {n: one + members[0] for n, one in fields.items()}
            if listed is not None:
                fields["list"] = listed
            if rule.reduce == "mean" and last:
                fields["members"] = found.sizes.reshape(shape)
            form: Any = pool_model
            show = (shown, _unit(group, wanted.pool)) if last and shown else ()
            where = not level, last, listed is not None
            model = form(rule.reduce, variable, tuple(axes), *where, *show)
            layer = Layer(population, _values(fields), {"cells": (source,)})
            count = len(bounds) - 1
            names = Numbered(((population, count),))
            made = Group(model, {}, count, names, hidden=True, layer=layer)
            yield (self._shown(made, group) if show else made), AxisGrid(axes)
            if last:
                return
            source, level = population, level + 1

    def _summed_by_members(
        self, wanted: _Wanted, found: PoolGroups
    ) -> Iterator[tuple[Group, Space]]:
        """Yield a pool whose members add to it, and what recorders read."""
        group, name = self.circuit.groups[wanted.group], wanted.pool
        assert group.layer is not None
        rule, population = group.model.pools[name], group.layer.population
        own = f"{population}.{name}.{'now' if wanted.ahead else 'before'}"
        axes = dict(found.axes) or {GROUP: Axis(1)}
        model: Any = member_pool(name, rule.variable, tuple(axes))
        layer, names = Layer(own, {}, {"cells": (population,)}), Numbered(((own, found.count),))
        made = Group(model, {}, found.count, names, hidden=True, layer=layer)
        yield made, AxisGrid(axes)
        if wanted in self.shown:
            shape = tuple(axis.count for axis in axes.values())
            bounds = np.arange(found.count + 1)
            fields = {"low": bounds[:-1].reshape(shape), "high": bounds[1:].reshape(shape)}
            where = tuple(axes), False, True, False
            form: Any = pool_model
            model = form("sum", VALUE, *where, name, _unit(group, name))
            shown = f"{population}.{name}"
            layer = Layer(shown, _values(fields), {"cells": (own,)})
            made = Group(model, {}, found.count, names, hidden=True, layer=layer)
            yield self._shown(made, group), AxisGrid(axes)


def _unit(group: Group, pool: str) -> str:
    """Return the unit of a pool's numbers."""
    rule = group.model.pools[pool]
    if rule.reduce in ("count", "any", "argmax", "product"):
        return ""
    if rule.variable in group.model.pools:
        return _unit(group, rule.variable)
    return group.model.units.get(rule.variable, "")


def _values(fields: dict[str, NDArray[np.int64]]) -> dict[str, FieldValue]:
    return {name: FieldValue(values.astype(np.int32)) for name, values in fields.items()}


def _ends(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)])


def _blocks(ends: NDArray[np.int64], last: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bounds of blocks of members, and the bounds of each group's blocks.

    Parameters
    ----------
    ends : (groups + 1,) int64
        Bounds of the members of each group.
    last : bool
        Whether each group is one block, even if it has no members.
    """
    if last:
        return ends, np.arange(len(ends))
    blocks = -(-np.diff(ends) // BLOCK)
    group = np.repeat(np.arange(len(blocks)), blocks)
    own = _ends(blocks)
    within = np.arange(len(group)) - own[:-1][group]
    return np.append(ends[:-1][group] + within * BLOCK, ends[-1]), own


def pools_read(model: type[NDComponent]) -> set[tuple[str, str]]:
    """Return source and pool of what texts may read so: a name, a point, and another name."""
    found = set()
    for part in texts_of(model).step():
        loops: dict[str, set[str]] = {}
        for node in part.tree.walk():
            if isinstance(node, tree.Each) and isinstance(node.over, tree.Name):
                loops.setdefault(node.name, set()).add(node.over.name)
        for node in part.tree.walk():
            if isinstance(node, tree.Path | tree.Item) and len(node.path) == 2:
                for source in {*loops.get(node.name, ()), node.name}:
                    if source == "here" or source in model.sources:
                        found.add((source, node.path[1]))
    return found
