"""``Program``: a compiled circuit, before any text is written.

``compile_circuit`` makes a program from a circuit and a step. ``codegen`` turns it into text, and a
backend runs it. A program never changes. Its parts are: the layout (where each variable lies), the
array table (every array and number in memory), the units (what each kernel advances), and a plan of
sums for each access.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..circuit.initial import initial_states
from .arrays import ArrayTable
from .delays import Spread
from .injection import Slots
from .layout import Layout
from .passes.draft import Merged
from .pool_models import POOLS
from .spikes.input_lists import listed_inputs
from .sums.gather import Gather
from .target import Target
from .unit import Delivery, Unit


@dataclass(frozen=True)
class Custom:
    """A group whose class has its own Python code, so that the run needs an instance of it.

    Attributes
    ----------
    number : int
        Of the group.
    stepwise : bool
        Whether the class has its own ``run_step``.
    """

    number: int
    stepwise: bool = False


@dataclass(frozen=True)
class Program:
    """A compiled circuit.

    Attributes
    ----------
    layout : Layout
        The offset of each variable in memory.
    arrays : ArrayTable
        Each array and number that kernels and instances use.
    units : tuple of Unit
        One for each kernel.
    deliveries : tuple of Delivery
        Accesses whose spikes are delivered by source, on a GPU; empty on a CPU.
    gathers : mapping of (group number, access) to Gather
        The plan of each access: how its connections are summed.
    merged : Merged
        Synapses that are computed as one.
    custom : tuple of Custom
        Groups with instances.
    spread : frozenset of (group number, access)
        Accesses whose spikes are delivered by source (form ``fanout``).
    claims : mapping of str to int
        Bytes beside the rings; the key says in words what needs them, for error messages.
    """

    layout: Layout
    seed: int
    arrays: ArrayTable
    units: tuple[Unit, ...]
    gathers: Mapping[tuple[int, str], Gather]
    merged: Merged
    deliveries: tuple[Delivery, ...] = ()
    custom: tuple[Custom, ...] = ()
    spread: Spread = frozenset()
    claims: Mapping[str, int] = field(default_factory=dict)

    @property
    def circuit(self) -> Circuit:
        """The circuit, with its Aggregators."""
        return self.layout.circuit

    @property
    def dt(self) -> float:
        """Step in seconds."""
        return self.layout.dt

    @property
    def dtype(self) -> np.dtype:
        """Working type."""
        return self.layout.dtype

    @property
    def target(self) -> Target:
        """Backend that the program is for."""
        return self.layout.target

    @property
    def slots(self) -> Slots:
        """Where inputs inject."""
        return self.layout.slots

    @cached_property
    def listed(self) -> tuple[bool, ...]:
        """Of which inputs kernels take events from lists, for each place of the slots."""
        return listed_inputs(self.layout, self.gathers)

    @property
    def stages(self) -> int:
        """Parts of a step, with a barrier between them."""
        return max(self.layout.stages, default=0) + 1

    @property
    def phases(self) -> int:
        """Phases of a step."""
        return max((group.phase for group in self.circuit.groups), default=0) + 1

    @property
    def phase_ends(self) -> list[int]:
        """Behind which phase each phase of the circuit ends; pools are phases between them."""
        groups = self.circuit.groups
        own = {g.phase for g in groups if not (g.is_port or g.model.__module__ == POOLS)}
        return [*sorted(own)[1:], self.phases]

    @property
    def window(self) -> int:
        """Steps from one barrier to the next."""
        return self.layout.window

    def first_row(self, variable: str) -> NDArray[np.floating]:
        """Return row 0 of a variable from the initial states, (width,); outputs come later."""
        out = np.zeros(self.layout.rings[variable].width, self.dtype)
        for number in {g for unit in self.units for g in unit.groups}:
            group = self.circuit.groups[number]
            if variable in group.model.states and not group.model.runtime.opaque:
                if str(number) in self.layout.rings[variable].segments:
                    column = initial_states(group)[variable]
                    out[self.layout.elements(number, variable)] = column
        return out
