"""What a circuit needs of memory, and what a simulation consists of, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from .. import html
from ..backends.base import Facts
from ..circuit.builders import builds
from ..circuit.circuit import Circuit
from ..errors import NeurodriverError, near
from ..plan.arrays import (
    FieldOwner,
    InstanceReceptorOwner,
    Key,
    Kind,
    PopulationOwner,
    ReceptorOwner,
    VariableOwner,
)
from ..plan.compile import compile_circuit
from ..plan.program import Program
from ..plan.target import CUDA, TARGETS
from ..quantities import seconds
from .divided import Divided
from .given import check_settings, dtype_name

if TYPE_CHECKING:
    from .simulation import Simulation

_HEADS = "bytes", "of"


@dataclass(frozen=True, eq=False)
class MemoryNeeded(Mapping[str, int]):
    """Bytes of a program, by what they are for; the largest part comes first."""

    backend: str
    parts: Mapping[str, int]

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(self.parts.values())

    def __getitem__(self, name: str) -> int:
        return self.parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        head = f"{self.total:,} bytes on the backend {self.backend}"
        return "\n".join([head, *(f"{size:>16,}  {name}" for name, size in self.parts.items())])

    def _repr_html_(self) -> str:
        rows = [(size, name) for name, size in self.parts.items()]
        return html.table(f"{self.total:,} bytes on the backend {self.backend}", _HEADS, rows)


@builds("memory")
def memory(
    circuit: Circuit, backend: str = "cpu", dt: float = 1e-3, dtype: DTypeLike = "float64"
) -> MemoryNeeded:
    """Return what ``Circuit.memory`` says."""
    if not isinstance(backend, str) or backend not in TARGETS:
        known = f"{near(str(backend), TARGETS)}; there are {', '.join(TARGETS)}"
        raise NeurodriverError(f"memory: no backend {backend!r:.60}{known}")
    dt = seconds(dt, "dt")
    check_settings(dt, None, 0)
    made = compile_circuit(circuit, dt, dtype_name(dtype), target=TARGETS[backend])
    return memory_of(made)


def memory_of(program: Program) -> MemoryNeeded:
    """Return the bytes of a program."""
    found: Counter[str] = Counter()
    if program.target is CUDA:
        from ..backends.cuda.spike_delivery import plan_delivery

        found["spikes that are delivered"] = sum(plan_delivery(program, False).wanted().values())
    for variable, size in program.layout.nbytes().items():
        found[f"rows of '{variable}'"] += size
    for row in program.arrays.values():
        if row.shape:
            found[_said(program, row.key)] += row.nbytes
    for what, size in program.claims.items():
        found[what] += size
    return MemoryNeeded(program.target.name, {what: n for what, n in found.most_common() if n})


_WORDS = {
    Kind.PARAMETER: "parameters", Kind.CONSTANT: "constants", Kind.STATE: "states",
    Kind.FIELD: "fields", Kind.POSITION: "positions", Kind.RANDOM: "keys of random numbers",
    Kind.SUB_UNIT: "sub-units",
}  # fmt: skip


def _said(program: Program, key: Key) -> str:
    """Return in words what an array is for."""
    owner = key.owner
    if isinstance(owner, ReceptorOwner | InstanceReceptorOwner):
        return f"connections into '{owner.access}' of {_name(program, owner.number)}"
    if isinstance(owner, PopulationOwner):
        return f"{_WORDS.get(key.kind, 'tables')} of {_name(program, owner.number)}"
    if isinstance(owner, FieldOwner):
        return f"the field '{owner.name}'"
    if isinstance(owner, VariableOwner):
        return f"rows of '{owner.name}'"
    return "numbers of the run"


def _name(program: Program, number: int) -> str:
    group = program.circuit.groups[number]
    return group.name if group.layer is None else f"{group.layer.population} ({group.name})"


@dataclass(frozen=True)
class DescribedSum:
    """How the inputs of an access are summed."""

    access: str
    connections: int
    plan: str
    bytes: int


@dataclass(frozen=True)
class DescribedKernel:
    """A kernel of a simulation."""

    name: str
    components: int
    sums: tuple[DescribedSum, ...]


@dataclass(frozen=True)
class LPUDescription:
    """What a simulation consists of.

    Attributes
    ----------
    facts : mapping of str to int
        How it runs, such as threads, and on a GPU the registers of a thread.
    memory : MemoryNeeded
        Of a batch, what its first copy takes.
    """

    backend: str
    dtype: str
    kernels: tuple[DescribedKernel, ...]
    facts: Mapping[str, int]
    memory: MemoryNeeded

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value:,}" for name, value in self.facts.items())
        lines = [f"{self.backend}, {self.dtype}: {facts}"]
        for one in self.kernels:
            lines.append(f"{one.name}: {one.components:,} components")
            for total in one.sums:
                links = f"{total.connections:,} connections, {total.plan}, {total.bytes:,} bytes"
                lines.append(f"  {total.access}: {links}")
        return "\n".join([*lines, repr(self.memory)])

    def _repr_html_(self) -> str:
        rows = [(one.name, one.components, total.access, total.connections, total.plan, total.bytes)
                for one in self.kernels
                for total in one.sums or (DescribedSum("", 0, "", 0),)]  # fmt: skip
        heads = ("kernel", "components", "access", "connections", "plan", "bytes")
        return html.table(f"{self.backend}, {self.dtype}", heads, rows) + self.memory._repr_html_()


@dataclass(frozen=True)
class DescribedPart:
    """A part of a circuit.

    Attributes
    ----------
    part : int
    components : int
    connections : int
        Into its components.
    crossing : int
        Those that begin in other parts.
    imports : int
        Components of other parts whose values it gets.
    window : int
        Steps between two exchanges with other parts.
    consists : LPUDescription
        Of its kernels and memory.
    """

    part: int
    components: int
    connections: int
    crossing: int
    imports: int
    window: int
    consists: LPUDescription


@dataclass(frozen=True)
class PartsDescription:
    """What a circuit in several parts consists of.

    Attributes
    ----------
    parts : tuple of DescribedPart
    """

    parts: tuple[DescribedPart, ...]

    def __repr__(self) -> str:
        lines = []
        for one in self.parts:
            bytes_, steps = one.consists.memory.total, "step" if one.window == 1 else "steps"
            lines += [
                f"part {one.part}: {one.components:,} components, {one.connections:,} connections, "
                f"{bytes_:,} bytes",
            ]
            if len(self.parts) > 1:
                lines.append(
                    f"  {one.crossing:,} connections from {one.imports:,} components of other "
                    f"parts, an exchange each {one.window:,} {steps}"
                )
            lines += [f"  {line}" for line in repr(one.consists).splitlines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = ("part", "components", "connections", "crossing", "imports", "window", "bytes")
        rows = [(one.part, one.components, one.connections, one.crossing, one.imports, one.window,
                 one.consists.memory.total) for one in self.parts]  # fmt: skip
        return html.table(f"{len(rows)} parts", heads, rows)


def described(simulation: Simulation | Divided | Any) -> LPUDescription | PartsDescription:
    """Return what a simulation consists of."""
    if isinstance(simulation, Divided):
        return PartsDescription(tuple(simulation.described()))
    backend, program = simulation.backend, simulation.program
    size = program.dtype.itemsize
    kernels = []
    for task in backend.generated.tasks:
        sums = tuple(
            DescribedSum(access, gather.edges, gather.form, gather.nbytes(size))
            for (owner, access), gather in program.gathers.items()
            if owner in task.groups
        )
        kernels.append(DescribedKernel(task.kernel.name, task.count, sums))
    facts = {"threads": backend.threads}
    facts |= {"copies": len(simulation.variants)} if simulation.variants else {}
    facts |= backend.live.facts() if isinstance(backend.live, Facts) else {}
    dtype = np.dtype(program.dtype).name
    return LPUDescription(program.target.name, dtype, tuple(kernels), facts, memory_of(program))
