"""Graded values whose weights learn: a sum by target that changes its weights.

Texts of intervals that are due change the weights first. A target reads the weights of this step.
Then the text ``on_step`` of the rule changes them. All texts read row n of both neurons: the weight
of step n + 1 follows from that of step n and from row n.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...circuit.circuit import Connections
from ...circuit.plastic import first_number, numbers_of_synapses, varied
from ...model.component import Access
from ...model.plasticity import Plasticity
from ...model.rule_values import IN_STEPS, ValueRead
from ...native.buffers import LANES
from ..arrays import Array, Key, Kind, Owner, Role, role_of_synapses, row
from ..edges import edges_of, element_of, elements_of_values
from ..layout import Layout
from .gather import Edges, Gather, sliced_plan

Columns = dict[str, NDArray[np.generic]]

_RANK, _SOURCE = "nd rank", "nd source"
"""Columns that are carried along while connections are sorted."""


@dataclass
class LearnedSum(Gather):
    """The plan of graded connections that learn, into one access of one group.

    Attributes
    ----------
    name : str
        Of the connections.
    variable : str
        What they carry.
    order : (m,) int64
        Number of each connection among those of its set, by target.
    places : (m,) int64
        Where each of them is stored.
    learns : bool
        Whether the text of the rule runs.
    dt_ms : float
        Step in ms.
    varied : tuple of str
        Parameters of the rule of which each synapse has a number.
    elements : mapping of str to int
        Where the variables stand in their rows that are modulators.
    """

    rule: Plasticity = field(default_factory=Plasticity)
    name: str = ""
    variable: str = ""
    order: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    learns: bool = True
    dt_ms: float = 0.0
    varied: tuple[str, ...] = ()
    elements: Mapping[str, int] = field(default_factory=dict)

    @property
    def own(self) -> list[str]:
        """Names of the numbers of each synapse."""
        return ["weight", *self.rule.synapse, *self.varied]

    def key(self, owner: Owner, name: str) -> Key:
        if name in self.own:
            return Key(owner, Kind.WEIGHT, name)
        if name == "learning":
            return Key(owner, Kind.HISTORY, name)
        return super().key(owner, name)

    def rows(self, owner: Owner, real: DTypeLike) -> Iterator[Array]:
        for one in super().rows(owner, real):
            if one.key.name not in self.own:
                yield one
        for name in self.own:
            unit = self.rule.unit_of(name)
            role = role_of_synapses(self.rule.changes_synapses())
            yield row(self.key(owner, name), self.arrays[name], role, real, unit)
        learning = np.full(8, int(self.learns), np.int64)
        yield row(self.key(owner, "learning"), learning, Role.LEARNED)
        yield row(Key(owner, Kind.STEP, "dt_ms"), self.dt_ms)
        shared = (n for n in self.rule.values.items() if n[0] not in self.varied)
        for name, number in shared:
            yield row(Key(owner, Kind.PARAMETER, name), float(number), Role.CONSTANT, real)
        for name, element in self.elements.items():
            yield row(Key(owner, Kind.SIZE, name), element)
        for name in self.rule.every:
            steps = max(round(self.rule.values[name] / self.dt_ms), 1)
            yield row(Key(owner, Kind.SIZE, f"every {name}"), steps)
        for value in self.rule.every_value():
            yield row(self.late(owner, value), self.rule.steps_late(value, self.dt_ms))

    @staticmethod
    def late(owner: Owner, value: ValueRead) -> Key:
        """Return the key of the steps by which a value is seen later."""
        return Key(owner, Kind.SIZE, f"late {value.symbol}")


def seen_elsewhere(rule: Plasticity, carried: str) -> list[ValueRead]:
    """Return the values of sources that a rule reads beside what the connections bring."""
    values = [one for one in rule.values_read(*IN_STEPS) if one.side == "pre"]
    return [one for one in values if one.variable(carried) != carried or str(one) in rule.late]


def learned_sum(
    layout: Layout, number: int, access: Access, links: Connections, count: int
) -> LearnedSum:
    """Return the plan of graded connections that learn.

    Parameters
    ----------
    number : int
        Group of the targets.
    count : int
        Storage places of targets.
    """
    rule, whole = links.plasticity, links.expanded()
    assert rule is not None
    names = [*numbers_of_synapses(whole)]
    data = {"weight": whole.data.get("weight", np.ones(()))}
    data |= {name: first_number(whole, name) for name in names[1:]}
    data |= {_RANK: np.arange(len(whole)), _SOURCE: whole.source}
    carrying = Connections(
        whole.variable, whole.access, whole.source, whole.target, whole.delay, data
    )
    edges = edges_of(layout, number, access.name, access.variable, True, carrying)
    kept = {n: c.astype(np.int64) for n, c in edges.data.items() if n in (_RANK, _SOURCE)}
    m = len(edges.target)
    columns = {n: np.broadcast_to(edges.data[n], (m,)) for n in names}
    for value in seen_elsewhere(rule, access.variable):
        place = element_of(layout, kept[_SOURCE], value.variable(access.variable))
        columns[value.symbol] = place.astype(np.float64)
    degree = np.bincount(edges.target, minlength=count)
    made = sliced_plan(
        Edges(edges.target, edges.element, edges.back, columns),
        list(columns), degree, -(-count // LANES),
    )  # fmt: skip
    assert made.place is not None
    return LearnedSum(
        "learned", m, _filled(made.arrays, made.place, names), made.back, cost=3.0 * made.cost,
        tail=made.tail, rule=rule, name=links.name, variable=access.variable, order=kept[_RANK],
        places=made.place, dt_ms=layout.dt * 1000.0, varied=varied(whole),
        elements=elements_of_values(layout, whole),
    )  # fmt: skip


def _filled(arrays: Columns, place: NDArray[np.int64], names: list[str]) -> Columns:
    """Return the arrays; what belongs to no connection begins as the first one does."""
    out = dict(arrays)
    free = np.ones(len(out["element"]), bool)
    free[place] = False
    for name, column in out.items():
        if name in names:
            column[free] = column[place[0]]
        elif name.startswith("pre_"):
            out[name] = column.astype(np.int32)
    return out
