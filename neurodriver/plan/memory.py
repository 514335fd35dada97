"""``MemoryManager``: one ring of rows per variable, one segment per model; bytes known first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Port
from ..errors import CircuitError
from ..model.component import EVENT_VARIABLES
from ..native.buffers import aligned
from .target import CPU, Target

Address = Callable[[str], int]

LANES = 16
"""Components that are computed side by side; every segment is padded to a multiple."""


def padded(count: int) -> int:
    """Return ``count`` rounded up to whole vectors."""
    return -(-count // LANES) * LANES


@dataclass(frozen=True)
class Segment:
    """Where the components of one group stand in each row of a variable."""

    owner: str
    start: int
    count: int


@dataclass
class Ring:
    """Rows of one variable.

    Attributes
    ----------
    variable : str
    depth : int
        Rows: the longest delay in steps + 1.
    segments : dict
        Owner (``group number`` as str, or ``inputs``) -> Segment.
    width : int
        Elements of a row; its last ``LANES`` are always zero.
    """

    variable: str
    depth: int
    segments: dict[str, Segment] = field(default_factory=dict)
    width: int = 0

    def add(self, owner: str, count: int) -> None:
        """Append a segment."""
        self.segments[owner] = Segment(owner, self.width, count)
        self.width += padded(count)

    @property
    def inputs_alone(self) -> bool:
        """Whether the rows hold nothing but inputs, read without a delay, and no events.

        Such a ring keeps its row as long as no input changes; ``where`` tells which of its two
        rows belongs to an even and which to an odd step.
        """
        alone = self.depth == 2 and set(self.segments) == {"inputs"}
        return alone and self.variable not in EVENT_VARIABLES  # these are found by their step's row

    @property
    def zero(self) -> int:
        """Index of an element that stays zero."""
        return self.width - LANES


@dataclass(frozen=True)
class AccessBuffer:
    """A variable's ring as a component with its own ``run_step`` reads it.

    The value of connection j at the current step is
    ``ring[(current - delay[j]) mod buffer_length, pre[j]]``.

    Attributes
    ----------
    gpudata : int
        Address of row 0.
    ld : int
        Elements from one row to the next.
    current : int
        Row of the current step.
    buffer_length : int
        Number of rows.
    size : int
        Elements of a row that are in use.
    dtype : dtype
    """

    gpudata: int
    ld: int
    current: int
    buffer_length: int
    size: int
    dtype: np.dtype


class MemoryManager:
    """Owns every variable, state and parameter of a compiled circuit.

    Parameters
    ----------
    circuit : Circuit
        With its Aggregators.
    dtype : dtype
        float64 or float32.
    depths : mapping of variable to int
        Largest delay in steps of each variable.
    injected : mapping of variable to int
        Number of input slots of each variable.
    silent : set of (group number, variable)
        Updated variables that nothing reads outside a fused kernel: they get no memory.
    places : mapping of group number to int
        Storage places of groups that are stored with gaps.
    target : Target
        Backend that the memory is for.
    """

    def __init__(
        self,
        circuit: Circuit,
        dtype: np.dtype,
        depths: dict[str, int],
        injected: dict[str, int],
        silent: frozenset[tuple[int, str]] = frozenset(),
        places: Mapping[int, int] | None = None,
        target: Target = CPU,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.target = target
        self.rings: dict[str, Ring] = {}
        self._buffers: dict[str, NDArray[np.floating]] = {}
        self.active: dict[str, NDArray[np.int64]] = {}
        self.where: dict[str, NDArray[np.int64]] = {}
        self.noted: dict[str, NDArray[np.uint16]] = {}
        """Bits of the elements that may hold an event, (depth * width / LANES,)."""
        self.counted: dict[str, NDArray[np.int64]] = {}
        """Last step at which an event of a row may have been another number than 1."""
        self._unnoted = {
            variable
            for group in circuit.groups
            if group.model.runtime.instance
            for variable in group.model.updates
        }
        self.claims: dict[str, int] = {}  # bytes that kernels keep beside the rings
        for number, group in enumerate(circuit.groups):
            for variable in group.model.updates:
                if (number, variable) not in silent:
                    size = (places or {}).get(number, group.count)
                    self._ring(variable, depths).add(str(number), size)
            if group.model.runtime.instance:  # its instance reads rings
                for access in group.model.accesses:
                    self._ring(access.variable, depths)
        for variable, count in injected.items():
            self._ring(variable, depths).add("inputs", count)
        for number, group in enumerate(circuit.groups):
            if group.model is Port:
                for links in circuit.connections:
                    start = circuit.starts[number]
                    mine = (links.source >= start) & (links.source < start + group.count)
                    if mine.any():
                        ring = self._ring(links.variable, depths)
                        if str(number) not in ring.segments:
                            ring.add(str(number), group.count)
        for ring in self.rings.values():
            ring.width += LANES

    def _ring(self, variable: str, depths: dict[str, int]) -> Ring:
        rows = self.target.depth(depths.get(variable, 1) + 1)
        return self.rings.setdefault(variable, Ring(variable, rows))

    @property
    def kept(self) -> frozenset[str]:
        """Variables whose ring holds inputs alone and keeps its row while nothing changes."""
        rings = self.rings.values() if self.target.keeps_rows else ()
        return frozenset(ring.variable for ring in rings if ring.inputs_alone)

    def nbytes(self) -> dict[str, int]:
        """Return the bytes of each variable's ring."""
        size = self.dtype.itemsize
        return {v: (r.depth * r.width + 2 * LANES) * size for v, r in self.rings.items()}

    def allocate(self, limit: float) -> None:
        """Make the rings, all zero; where the backend holds them, only their row 0.

        Parameters
        ----------
        limit : float
            Bytes that may be used by the rings.

        Raises
        ------
        CircuitError
            When the rings need more than ``limit``.
        """
        sizes = self.nbytes()
        claimed = sum(self.claims.values())
        if claimed and claimed + sum(sizes.values()) > limit:
            what = max(self.claims, key=lambda w: self.claims[w])
            raise CircuitError(
                f"{what} need {self.claims[what] / 2**30:.1f} GiB, {limit / 2**30:.1f} GiB are "
                f"free; use fewer"
            )
        limit -= claimed
        if sum(sizes.values()) > limit:
            worst = max(sizes, key=lambda v: sizes[v])
            ring = self.rings[worst]
            raise CircuitError(
                f"the variables need {sum(sizes.values()) / 2**30:.1f} GiB, {limit / 2**30:.1f} "
                f"GiB are free; '{worst}' alone keeps {ring.depth:,} rows of {ring.width:,} "
                f"values because of its longest delay: shorten the delay or use a larger dt"
            )
        for variable, ring in self.rings.items():
            rows = ring.depth if self.target.hosted else 1
            self._buffers[variable] = aligned(rows * ring.width + 2 * LANES, self.dtype)
            if variable in EVENT_VARIABLES:
                self.active[variable] = np.full(ring.depth, -1, dtype=np.int64)
                self.noted[variable] = np.full(rows * ring.width // LANES, 0xFFFF, np.uint16)
                step = np.iinfo(np.int64).max if variable in self._unnoted else 0
                self.counted[variable] = np.full(ring.depth, step)
            if variable in self.kept:
                self.where[variable] = np.zeros(2, dtype=np.int64)

    def get_buffer(self, variable: str) -> NDArray[np.floating]:
        """Return the ring of a variable in host memory, (depth or 1, width), without its guards."""
        width = self.rings[variable].width
        return self._buffers[variable][LANES:-LANES].reshape(-1, width)

    def segment(self, number: int, variable: str) -> Segment:
        """Return the place of a group in the rows of a variable."""
        return self.rings[variable].segments[str(number)]

    def host_address(self, variable: str) -> int:
        """Return where row 0 of a variable begins in host memory."""
        return self.get_buffer(variable).ctypes.data

    def access_buffer(
        self, variable: str, step: int, address: Address | None = None
    ) -> AccessBuffer:
        """Return where a variable is read at a step.

        ``address`` tells where row 0 of a variable begins, if not in host memory.
        """
        ring = self.rings[variable]
        begin = (address or self.host_address)(variable)
        alone = self.where.get(variable)
        current = step % ring.depth if alone is None else int(alone[step & 1])
        size = ring.width - LANES
        return AccessBuffer(begin, ring.width, current, ring.depth, size, self.dtype)

    def update_pointers(
        self, number: int, step: int, address: Address | None = None
    ) -> dict[str, int]:
        """Return the addresses of a group's segments in the row that a step writes, step + 1."""
        out = {}
        for variable, ring in self.rings.items():
            segment = ring.segments.get(str(number))
            if segment is not None:
                element = (step + 1) % ring.depth * ring.width + segment.start
                start = (address or self.host_address)(variable)
                out[variable] = start + element * self.dtype.itemsize
        return out
