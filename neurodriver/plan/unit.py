"""``KernelSpec`` and ``Unit``: what one kernel computes, before any text is written.

A ``KernelSpec`` holds the model of one group and the plans of its accesses. A ``Unit`` is one
kernel: one spec, or two specs that are fused. A ``Delivery`` says along which connections the
spikes of an access are delivered on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..model.component import Access, NDComponent
from ..model.kinds import CircuitKinds
from ..native.buffers import LANES
from .arrays import (
    InstanceOwner,
    InstanceReceptorOwner,
    Key,
    Kind,
    PopulationOwner,
    ReceptorOwner,
    SegmentOwner,
    ring,
)
from .cells_by_thread import SideBySide
from .diagnostics import OFF, Diagnostics
from .member_sums import MemberSum
from .places import Surroundings
from .sums.gather import Gather, learning_part, outside


@dataclass(frozen=True)
class KernelSpec:
    """All that determines the text of a group's kernel.

    Attributes
    ----------
    number : int
        Of the group.
    kinds : CircuitKinds
        Of the circuit's variables.
    uniform : frozenset of str
        Parameters and constants that all components share.
    published : frozenset of str
        Updated variables that have a ring.
    gathers : mapping of str to Gather
        Access name -> plan of its sum.
    inputs_alone : frozenset of str
        Variables whose rings hold nothing but inputs.
    count : int
        Components of the group.
    unseen : frozenset of str
        Updated variables that only their own component reads: a ring of one row.
    watch : Diagnostics
        What the kernel watches.
    reordered : bool
        Whether the components are stored in another order than the circuit's.
    every, first : int
        At which steps the components are computed.
    place : Surroundings, optional
        What the text reads beside its own components.
    plans : bool
        Whether neighbours may be computed together; the results are the same.
    side : SideBySide, optional
        Cells that a thread computes together, on a GPU.
    split : bool
        Whether the threads of a warp share the loops of a cell.
    adds : tuple of MemberSum
        Pools that the components add to.
    """

    number: int
    model: type[NDComponent]
    kinds: CircuitKinds
    dtype: str
    substeps: int
    uniform: frozenset[str]
    published: frozenset[str]
    gathers: Mapping[str, Gather]
    inputs_alone: frozenset[str] = frozenset()
    count: int = 0
    unseen: frozenset[str] = frozenset()
    watch: Diagnostics = OFF
    reordered: bool = False
    every: int = 1
    first: int = 0
    place: Surroundings | None = None
    plans: bool = True
    side: SideBySide | None = None
    split: bool = False
    adds: tuple[MemberSum, ...] = ()

    @property
    def accesses(self) -> list[Access]:
        """The accesses of the model; those of the parts of a sum come before it."""
        out = []
        for access in self.model.accesses:
            if outside(access.name) in self.gathers:
                out.append(replace(access, receptor=outside(access.name)))
            learned = self.learned_parts(access.name)
            out += [replace(access, receptor=part, each="") for part in learned]
            out.append(access)
        return out

    def learned_parts(self, access: str) -> list[str]:
        """Return the names of the plans that sum graded values with weights that learn."""
        plans = enumerate(self.gathers[access].learning)
        return [learning_part(access, i) for i, plan in plans if plan.form == "learned"]

    @property
    def apart(self) -> bool:
        """Whether threads may share a slice of components: no events are collected by slices."""
        return self.model.sub_units is not None and not any(map(self.is_event, self.published))

    def ring(self, variable: str) -> Key:
        """Return the key of the ring of a variable."""
        return ring(variable, self.kinds.of(variable))

    def is_event(self, variable: str) -> bool:
        """Whether a variable is one of events."""
        return self.kinds.is_event(variable)

    @property
    def shared_by_warp(self) -> bool:
        """Whether the threads of a warp share a component: long sums, sub-units, split loops."""
        rows = any(gather.form == "rows" for gather in self.gathers.values())
        return rows or self.model.sub_units is not None or self.split

    @property
    def template(self) -> bool:
        """Whether the text is written by the instance of a user's class."""
        return self.model.runtime.kernel

    def key(self, kind: Kind, name: str) -> Key:
        """Return the key of what the group's components have."""
        owner = InstanceOwner if self.template else PopulationOwner
        return Key(owner(self.number), kind, name)

    def parameter(self, name: str) -> Key:
        """Return the key of a parameter."""
        return self.key(Kind.PARAMETER, name)

    @property
    def components(self) -> Key:
        """Key of the number of components, as a template gets it."""
        return self.key(Kind.SIZE, "components")

    @property
    def dt(self) -> Key:
        """Key of the length of a sub-step in seconds, as a template gets it."""
        return self.key(Kind.STEP, "dt")

    @property
    def dt_ms(self) -> Key:
        """Key of the length of a sub-step in milliseconds."""
        return self.key(Kind.STEP, "dt_ms")

    def receptor(self, access: str, kind: Kind, name: str) -> Key:
        """Return the key of what belongs to an access."""
        return Key(ReceptorOwner(self.number, access), kind, name)

    def connection(self, access: str, name: str) -> Key:
        """Return the key of an array, or a number, of an access's connections."""
        return self.gathers[access].key(ReceptorOwner(self.number, access), name)

    def size(self, access: str, name: str) -> Key:
        """Return the key of an integer of an access's plan."""
        return self.receptor(access, Kind.SIZE, name)

    def input_sum(self, access: str) -> Key:
        """Return the key of the sums that a template reads."""
        return Key(InstanceReceptorOwner(self.number, access), Kind.SUM, "input")

    def segment(self, variable: str, name: str, kind: Kind = Kind.SIZE) -> Key:
        """Return the key of what belongs to the group's segment of a variable."""
        return Key(SegmentOwner(self.number, variable), kind, name)


@dataclass(frozen=True)
class Unit:
    """One kernel: the components that it advances and their estimated work.

    Attributes
    ----------
    specs : tuple of KernelSpec
        One; or two, of an Aggregator and of the synapses that are advanced while it sums them.
    count : int
        Components that the kernel loops over.
    cost : (slices,) float64
        Estimated work of each ``grain`` components.
    stepwise : bool
        Whether an instance launches it.
    grain : int
        Components of a thread at least.
    spread : bool
        Whether threads share a component, on a GPU.
    idle : bool
        Whether these sums are zero in most steps, as few sources spike.
    phase, stage : int
        Of the groups; units of one phase are in one stage.
    """

    specs: tuple[KernelSpec, ...]
    count: int
    cost: NDArray[np.float64]
    stepwise: bool = False
    grain: int = LANES
    spread: bool = False
    idle: bool = False
    phase: int = 0
    stage: int = 0

    @property
    def groups(self) -> tuple[int, ...]:
        """Numbers of the groups that it advances."""
        return tuple(spec.number for spec in self.specs)

    def turns(self, own: int) -> int:
        """Return what items are counted in: components, or threads with cells side by side."""
        return self.side.turns(self.count, own) if self.side else self.count

    @property
    def near(self) -> bool:
        """Whether neighbours read much that is the same, so that a block should have neighbours."""
        forms = {gather.form for gather in self.specs[0].gathers.values()}
        return self.side is not None or "by_place" in forms

    @property
    def patches(self) -> Gather | None:
        """The plan that cuts the components into patches of columns, if there is one."""
        gathers = self.specs[0].gathers.values()
        return next((gather for gather in gathers if gather.form == "patches"), None)

    @property
    def side(self) -> SideBySide | None:
        """Cells that a thread computes together, if these are not neighbours in memory."""
        return self.specs[0].side


INPUTS = -1
"""What stands for the inputs among the numbers of groups that send."""


@dataclass(frozen=True)
class Delivery:
    """Connections into one access, found by source, along which a GPU delivers spikes.

    Attributes
    ----------
    spec : KernelSpec
        Of the targets.
    access : str
        It has the slots.
    part : str
        Name of the plan of the connections.
    sources : dict of (variable, group number) to int
        Event variable and group of the senders, or ``INPUTS`` -> number of their first source.
    """

    spec: KernelSpec
    access: str
    part: str
    sources: dict[tuple[str, int], int]

    @property
    def gather(self) -> Gather:
        """The plan of the connections."""
        return self.spec.gathers[self.part]
