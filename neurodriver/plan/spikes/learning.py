"""Connections that learn: rows by source, as those that are delivered, with a weight for each.

A synapse stands somewhere on the way of a spike. Of a delay of L steps, ``a`` lie between the
source and the synapse, and ``f`` between the synapse and the target: L = a + f + 1. The synapse
sees the source's spike of row k in step k + a, and its target's spike of row k in step k + b.
Example: with a dendritic delay of 1.5 ms and steps of 0.1 ms, a = 0, f = 14 and b = 15.

A synapse learns when a spike of its source arrives. It applies all spikes of its target that it
has seen since the arrival before, each with the traces of its own step. Until then these spikes
stay in the *history* of the target, a ring of ``depth`` entries. Where a history would overflow,
all synapses are brought up to date. Both ways do the same operations in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...circuit.circuit import Circuit, Connections
from ...errors import CircuitError, quoted
from ...model.component import NDComponent
from ...model.kinds import VariableKind
from ...model.plasticity import Plasticity
from ...native.buffers import as_aligned, padded
from ..arrays import Array, Key, Kind, Owner, Role, row, zeros
from ..delays import axonal_of, forward_of
from ..edges import element_of
from ..layout import Layout
from ..sorting import stable_order
from ..sums.gather import Edges, Gather
from .fanout import ThreadRanges, blocks_of, per_slice
from .weights import BITS, Bounds, Units, WeightStatistics, powers

NEVER = -(1 << 30)
"""Stands for the step of an event that has not been."""

LEAST_HISTORY = 16
"""Spikes of a target that are kept at least."""

MARGIN = 16.0
"""Without bounds, the largest |value| that is sent: so many times the largest first weight."""


@dataclass(frozen=True)
class Way:
    """Where on their way from source to target the synapses of some connections are, in steps.

    Attributes
    ----------
    axonal : (m,) int64
        From the row of a source's spike to the step in which the synapse sees it.
    forward : (m,) int64
        From there to the step in which the target reads what is sent.
    back : (m,) int64
        From the row of a target's spike to the step in which the synapse sees it.
    """

    axonal: NDArray[np.int64]
    forward: NDArray[np.int64]
    back: NDArray[np.int64]

    def taken(self, which: NDArray[np.int64]) -> list[tuple[tuple[int, ...], NDArray[np.int64]]]:
        """Return the places where some synapses stand: a, f, b, and which of them stand there."""
        columns = [one[which] for one in (self.axonal, self.forward, self.back)]
        if all((one == one[0]).all() for one in columns):
            return [(tuple(int(one[0]) for one in columns), np.arange(len(which)))]
        wide = [int(one.max()) + 1 for one in columns]
        key = (columns[0] * wide[1] + columns[1]) * wide[2] + columns[2]
        order = np.argsort(key, kind="stable")
        cuts = np.flatnonzero(np.diff(key[order])) + 1
        parts = np.split(order, cuts)
        return [(tuple(int(one[part[0]]) for one in columns), part) for part in parts]

    @classmethod
    def of(cls, links: Connections, dt: float) -> Way:
        """Return the way of connections that learn."""
        dendritic = links.data.get("dendritic", np.zeros(()))
        back = np.rint(np.asarray(links.data.get("back", dendritic), np.float64) / dt)
        returned = np.broadcast_to(back.astype(np.int64), (len(links),))
        return cls(axonal_of(links, dt), forward_of(links, dt), returned)


@dataclass
class LearningPlan(Gather):
    """The plan of connections that learn, into one access of one group.

    Attributes
    ----------
    rule : Plasticity
    name : str
        Of the connections.
    width : int
        Places of targets.
    depth : int
        Entries of a history; a power of two.
    rows_of_sources : int
    variable : str
        Events of the targets, or "" where they have none.
    order : (m,) int64
        Number of each stored connection among those of the circuit that have this name.
    largest : float
        Largest |value| that is sent.
    learns : bool
        Whether the texts of the rule run.
    dt_ms : float
        Step in ms.
    """

    rule: Plasticity = field(default_factory=Plasticity)
    name: str = ""
    width: int = 0
    depth: int = LEAST_HISTORY
    rows_of_sources: int = 0
    variable: str = ""
    order: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    largest: float = 0.0
    learns: bool = True
    dt_ms: float = 0.0

    def in_units(self, units: Units, dt: float) -> None:
        """Add what depends on the units of the access and on the step."""
        if (units.unit == units.unit[0]).all():
            self.uniform["one_per_unit"] = 1.0 / float(units.unit[0])
        else:
            self.arrays["per_unit"] = np.ones(self.width)
            self.arrays["per_unit"][: len(units.unit)] = 1.0 / units.unit
        self.dt_ms = dt * 1000.0
        for name in self.rule.every:
            steps = self.rule.values[name] / self.dt_ms
            self.limits[f"every {name}"] = max(round(steps), 1)

    def key(self, owner: Owner, name: str) -> Key:
        """Return the key of an array or a number of this plan."""
        if name in ("weight", *self.rule.synapse):
            return Key(owner, Kind.WEIGHT, name)
        if name in ("per_unit", "one_per_unit"):
            return Key(owner, Kind.CONSTANT, name)
        if name in ("code", "block", "listed", "parts"):
            return Key(owner, Kind.INDEX, name)
        return Key(owner, Kind.HISTORY, name)

    def rows(self, owner: Owner, real: DTypeLike) -> list[Array]:  # type: ignore[override]
        """Return the rows of the array table that this plan needs."""
        rule, kept = self.rule, self.width * self.depth
        sources = 2 * self.rows_of_sources
        given = {**self.arrays, **self.uniform}
        out = [
            row(self.key(owner, name), value, real=real) for name, value in given.items()
            if name not in ("weight", *rule.synapse)
        ]  # fmt: skip
        out.append(row(Key(owner, Kind.STEP, "dt_ms"), self.dt_ms))
        for name in ("weight", *rule.synapse):
            unit = rule.synapse[name].unit if name in rule.synapse else ""
            out.append(row(self.key(owner, name), self.arrays[name], Role.LEARNED, real, unit))
        spikes = np.full(kept, NEVER, np.int32)
        of_target = [row(self.key(owner, "spikes"), spikes, Role.HISTORY)]
        of_target += [zeros(self.key(owner, n), kept, real, Role.HISTORY) for n in rule.post]
        of_target.append(zeros(self.key(owner, "unswept"), self.width, np.int32, Role.HISTORY))
        never = np.full(sources, NEVER, np.int32)
        of_source = [row(self.key(owner, "arrivals"), never, Role.OF_THREAD)]
        of_source += [zeros(self.key(owner, n), sources, real, Role.OF_THREAD) for n in rule.pre]
        for name in ("swept_step", "clamped"):
            of_source.append(zeros(self.key(owner, name), 8, np.int64, Role.OF_THREAD))
        out += [*of_target, *of_source]
        learning = np.full(8, int(self.learns), np.int64)
        out.append(row(self.key(owner, "learning"), learning, Role.LEARNED))
        out += [row(Key(owner, Kind.SIZE, name), size) for name, size in self.limits.items()]
        for name, value in rule.values.items():
            out.append(row(Key(owner, Kind.PARAMETER, name), float(value), Role.CONSTANT, real))
        out.append(row(Key(owner, Kind.PARAMETER, "largest sent"), self.largest))
        return out


def plastic_of(circuit: Circuit, number: int, access: str) -> list[Connections]:
    """Return the connections into an access of a group that learn, some of whose targets it has."""
    start, stop = int(circuit.starts[number]), int(circuit.starts[number + 1])
    found = []
    for links in circuit.connections:
        if links.plasticity is None or links.access != access or not len(links):
            continue
        if ((links.target >= start) & (links.target < stop)).any():
            found.append(links)
    return found


def events_of(model: type[NDComponent], variable: str) -> str:
    """Return the variable with a target's own spikes: that of the sources, or its only events."""
    events = [v for v in model.updates if model.kind_of(v) is VariableKind.EVENT]
    return variable if variable in events else next(iter(events), "")


def largest_sent(links: Connections) -> float:
    """Return the largest |value| that the synapses of a projection send."""
    rule = links.plasticity
    first = float(np.abs(links.data.get("weight", np.ones(()))).max(initial=0.0))
    limits = None if rule is None else rule.limits
    if limits is None:
        return MARGIN * first if first else 1.0
    return max(first, *map(abs, limits)) or 1.0


def common_units(
    static: Edges, learning: list[tuple[NDArray[np.int64], float]], count: int, dtype: str
) -> Units:
    """Return the units of an access that connections reach that learn: powers of two.

    Parameters
    ----------
    static : Edges
        Of the connections that do not learn.
    learning : list of ((m,) int64, float)
        The targets of the others, and the largest |value| that they send.
    count : int
        Targets.
    dtype : str
    """
    none = np.zeros(count, np.int64), np.full(count, np.inf), np.zeros(count), np.zeros(count)
    bounds = Bounds(*none)
    if len(static.target):
        bounds = WeightStatistics.of(static, count).bounds
    for target, largest in learning:
        degree = np.bincount(target, minlength=count)
        bounds = Bounds(
            bounds.degree + degree,
            bounds.least,
            np.maximum(bounds.greatest, np.where(degree > 0, largest, 0.0)),
            bounds.total + degree * largest,
        )
    unit = powers(bounds, BITS[dtype])
    has = bounds.degree > 0
    unit[~has] = unit[has].min(initial=1.0)
    return Units.covering(bounds, unit)


@dataclass(frozen=True)
class Reached:
    """The connections that learn which reach the components of one group.

    Attributes
    ----------
    links : Connections
    rank : (m,) int64
        Their numbers among the connections.
    source : (m,) int32
        Components.
    target : (m,) int64
        Places within the group, ascending.
    """

    links: Connections
    rank: NDArray[np.int64]
    source: NDArray[np.int32]
    target: NDArray[np.int64]

    @classmethod
    def of(cls, layout: Layout, number: int, links: Connections) -> Reached:
        """Return the connections of one set that reach a group."""
        start, stop = layout.circuit.starts[number : number + 2].tolist()
        rank = np.flatnonzero((links.target >= start) & (links.target < stop))
        target = links.target[rank].astype(np.int64) - start
        order = layout.positions.get(number)
        target = target if order is None else order[target]
        if (np.diff(target) < 0).any():
            by_target = stable_order(target)
            rank, target = rank[by_target], target[by_target]
        return cls(links, rank, links.source[rank], target)

    def column(self, name: str, default: float) -> NDArray[np.float64]:
        """Return a number of each connection, (m,)."""
        column = np.asarray(self.links.data.get(name, default), np.float64)
        if column.ndim:
            return np.nan_to_num(column[self.rank], nan=default)
        return np.full(len(self.rank), float(column))


def learn_by_source(
    layout: Layout, number: int, variable: str, reached: Reached, count: int
) -> LearningPlan:
    """Return the plan of connections that learn.

    Raises
    ------
    CircuitError
        Where the rule has a text for spikes of targets that have none.
    """
    links = reached.links
    rule = links.plasticity
    assert rule is not None
    model = layout.circuit.groups[number].model
    spikes = events_of(model, variable)
    if rule.on_spike and not spikes:
        say = f"{layout.circuit.name}: connections {quoted(links.name or links.access)}"
        text = f"{type(rule).__name__} has a text for spikes of the target, but {model.__name__}"
        raise CircuitError(f"{say}: {text} updates no events; use a rule without 'on_spike'")
    way = Way.of(links, layout.dt)
    blocks, listed, source, sources = _rows(layout, variable, reached, way)
    order = stable_order(source)  # targets ascend already
    first = np.zeros(sources + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=sources), out=first[1:])
    width = padded(count)
    arrays: dict[str, Any] = {
        "block": blocks,
        "listed": listed,
        "code": as_aligned(reached.target[order], np.uint16 if width <= 1 << 16 else np.int32),
        "weight": as_aligned(reached.column("weight", 1.0)[order], layout.dtype),
    }
    for name, state in rule.synapse.items():
        start = state.initial
        value = rule.values[start] if isinstance(start, str) else float(start)
        arrays[name] = np.full(len(order), value, layout.dtype)
    depth = max(LEAST_HISTORY, 1 << (int(blocks[:, 6].max()) + 3).bit_length())
    gather = LearningPlan(
        "learning", len(order), arrays, None, rule=rule, name=links.name, width=width,
        depth=depth, rows_of_sources=sources, variable=spikes, order=reached.rank[order],
        largest=largest_sent(links),
    )  # fmt: skip
    gather.limits |= {"blocks": len(blocks), "rows": sources}
    gather.limits["longest back"] = int(blocks[:, 6].max())
    gather.parts = ThreadRanges(first, arrays["code"], width)
    gather.cost = per_slice(np.bincount(reached.target, minlength=count))
    return gather


def _rows(
    layout: Layout, variable: str, reached: Reached, way: Way
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], int]:
    """Return blocks of rows, listed elements, the row of each connection, and how many there are.

    A block is (a, first element or offset into the listed ones, end, first row, listed, f, b).
    Connections that stand at different places of the way are in different blocks.
    """
    element = element_of(layout, reached.source, variable)
    places = way.taken(reached.rank)
    blocks, lists = [], []
    source = np.zeros(len(element), np.int64)
    rows = listed = 0
    for (a, f, b), mine in places:
        lag = np.full(len(mine), a)
        made, ones, which, lags = blocks_of(layout, element[mine], lag, variable)
        made = np.concatenate([made, np.tile([f, b], (len(made), 1))], axis=1)
        made[made[:, 4] == 1, 1:3] += listed
        made[:, 3] += rows
        source[mine] = which + rows
        blocks.append(made)
        lists.append(ones)
        rows, listed = rows + len(lags), listed + len(ones)
    return np.concatenate(blocks), np.concatenate(lists), source, rows
