"""``MemoryManager``: the arrays of a program in host memory, and pointers to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError
from ..native.addresses import filled
from ..native.buffers import GUARD, LANES, aligned, as_aligned, padded
from ..plan.arrays import (
    Array,
    InstanceOwner,
    InstanceReceptorOwner,
    Key,
    Kind,
    Role,
    VariableOwner,
)
from ..plan.copies import is_shared
from ..plan.program import Program
from .tables import RingTable

Address = Callable[[str], int]

LIST_WORDS = 5
"""Words of 8 bytes of a list of events, as ``codegen/cpu/event_list.h`` has it."""


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
    """

    gpudata: int
    ld: int
    current: int
    buffer_length: int
    size: int
    dtype: np.dtype


class MemoryManager:
    """Owns the variables, states and parameters of a program on the host.

    Parameters
    ----------
    limit : float
        Bytes that may be used.
    like : MemoryManager, optional
        That of another copy of the program: rows that no step writes and that both programs have
        are shared, until one of them is `own`.

    Raises
    ------
    CircuitError
        When the program needs more than ``limit``.
    """

    def __init__(self, program: Program, limit: float, like: MemoryManager | None = None) -> None:
        self.program, self.layout, self.dtype = program, program.layout, program.dtype
        self._like, self._shares = like, like is not None
        if like is not None:
            like._shares = True
        self._owned: set[Key] = set()
        self._arrays: dict[Key, NDArray[Any]] = {}
        self._buffers: dict[str, NDArray[np.floating]] = {}
        self.active: dict[str, NDArray[np.int64]] = {}
        """Last step at which a row of the ring was not all zero, (depth,)."""
        self.where: dict[str, NDArray[np.int64]] = {}
        self.level: dict[str, NDArray[np.int64]] = {}
        """Whether all values of an input in a row are equal, (depth, inputs)."""
        self.dirty: dict[str, NDArray[np.uint16]] = {}
        """Bits of the elements that may hold an event, (depth * width / LANES,)."""
        self.counted: dict[str, NDArray[np.int64]] = {}
        """Last step at which an event of a row may have been another number than 1."""
        self.lists: dict[str, NDArray[np.int64]] = {}
        """Where the events of each input begin, for kernels that read no row; then zeros."""
        self._check(limit)
        self._allocate()

    def _check(self, limit: float) -> None:
        sizes, claims = self.layout.nbytes(), self.program.claims
        claimed = sum(claims.values())
        if claimed and claimed + sum(sizes.values()) > limit:
            what = max(claims, key=lambda w: claims[w])
            raise CircuitError(
                f"{what} need {claims[what] / 2**30:.1f} GiB, {limit / 2**30:.1f} GiB are "
                f"free; use fewer"
            )
        limit -= claimed
        if sum(sizes.values()) > limit:
            worst = max(sizes, key=lambda v: sizes[v])
            ring = self.layout.rings[worst]
            raise CircuitError(
                f"the variables need {sum(sizes.values()) / 2**30:.1f} GiB, {limit / 2**30:.1f} "
                f"GiB are free; '{worst}' alone keeps {ring.depth:,} rows of {ring.width:,} "
                f"values because of its longest delay: shorten the delay or use a larger dt"
            )

    def _allocate(self) -> None:
        """Make the rings; where the backend holds them, only their row 0."""
        unknown = {
            variable
            for group in self.layout.circuit.groups
            if group.model.runtime.instance
            for variable in group.model.updates
        }
        for variable, ring in self.layout.rings.items():
            rows = ring.depth if self.layout.target.hosted else 1
            self._buffers[variable] = aligned(rows * ring.width + 2 * GUARD, self.dtype)
            self.get_buffer(variable)[0] = self.program.first_row(variable)
            if ring.is_event:
                self.active[variable] = np.full(ring.depth, -1, dtype=np.int64)
                self.dirty[variable] = np.full(rows * ring.width // LANES, 0xFFFF, np.uint16)
                self.mark_ports(variable)
                step = np.iinfo(np.int64).max if variable in unknown else 0
                self.counted[variable] = np.full(ring.depth, step)
            if variable in self.layout.kept:
                self.where[variable] = np.zeros(ring.depth, dtype=np.int64)
                inputs = sum(name == variable for name, _, _ in self.program.slots.places)
                self.level[variable] = np.zeros((ring.depth, inputs), dtype=np.int64)
            if ring.is_event and self.layout.target.hosted:
                count = sum(place[0] == variable for place, _ in self._listed())
                self.lists[variable] = np.zeros((count + 1, LIST_WORDS), dtype=np.int64)

    def ring_tables(self) -> list[RingTable]:
        """Return where the rows of each variable lie, and what describes them."""
        marks = self.active, self.dirty, self.counted, self.where, self.level
        tables = []
        for variable, ring in self.layout.rings.items():
            known = [None if (m := of.get(variable)) is None else m.ctypes.data for of in marks]
            address = self.host_address(variable)
            tables.append(RingTable(address, ring.depth, ring.width, *known))
        return tables

    def _listed(self) -> list[tuple[tuple[str, int, int], int]]:
        """Return the places of inputs whose events are listed, and their numbers."""
        places = enumerate(self.program.slots.places)
        return [(place, i) for i, place in places if self.program.listed[i]]

    def event_lists(self, inputs: int) -> list[int | None]:
        """Return where the list of each input lies, None for those that enter by rows."""
        out: list[int | None] = [None] * inputs
        used = dict.fromkeys(self.lists, 0)
        for (variable, _, _), i in self._listed():
            out[i] = self.lists[variable][used[variable] :].ctypes.data
            used[variable] += 1
        return out

    def array(self, key: Key, order: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Return an array of the table in host memory; it is made at the first call.

        Its elements then have an ``order``: where each of them stands in the table.
        """
        found = self._arrays.get(key)
        if found is None:
            one, like = self.program.arrays[key], self._like
            shared = like is not None and is_shared(one) and like.program.arrays[key] is one
            found = like.array(key) if like is not None and shared else _made(one)
            if order is not None and not shared:
                found = as_aligned(found[order], one.dtype)
            self._arrays[key] = found
        return found

    def own(self, key: Key) -> NDArray[Any]:
        """Return an array of the table that no other copy of the program shares from now on."""
        before = self.array(key)
        if self._shares and key not in self._owned and is_shared(self.program.arrays[key]):
            self._arrays[key] = aligned(before.size, before.dtype)
            self._arrays[key][:] = before
        self._owned.add(key)
        return self._arrays[key]

    def of_threads(self, key: Key, threads: int) -> NDArray[Any]:
        """Return an array of which each thread has its own, one after the other."""
        if key not in self._arrays:
            one = self.program.arrays[key]
            made = self._arrays[key] = aligned(one.size * threads, one.dtype, one.value is None)
            if one.value is not None:
                made.reshape(threads, -1)[:] = one.initial()
        return self._arrays[key]

    def argument(self, key: Key) -> NDArray[Any]:
        """Return what a kernel's argument points to."""
        if not isinstance(key.owner, VariableOwner):
            return self.array(key)
        variable = key.owner.name
        if key.kind is not Kind.ACTIVITY:
            return self.get_buffer(variable)
        known: dict[str, Mapping[str, NDArray[Any]]] = {
            "active": self.active, "dirty": self.dirty, "counted": self.counted, "kept": self.where,
            "level": self.level, "lists": self.lists,
        }  # fmt: skip
        return known[key.name][variable]

    def add(self, one: Array) -> NDArray[Any]:
        """Make an array that a kernel needs beside those of the program."""
        made = self._arrays[one.key] = _made(one)
        return made

    def get_buffer(self, variable: str) -> NDArray[np.floating]:
        """Return the ring of a variable in host memory, (depth or 1, width), without its guards."""
        width = self.layout.rings[variable].width
        return self._buffers[variable][GUARD:-GUARD].reshape(-1, width)

    def fill(self, variable: str, step: int, rows: NDArray[Any]) -> None:
        """Set rows of a variable, (rows, width): row j is that of step ``step - j``.

        Any element of them may hold any event afterwards.
        """
        steps = step - np.arange(len(rows))
        buffer, known = self.get_buffer(variable), steps >= 0
        if self.layout.target.hosted:
            buffer[steps % len(buffer)] = rows
        if variable in self.active:
            depth = len(self.active[variable])
            for marks in (self.active[variable], self.counted[variable]):
                marks[steps[known] % depth] = steps[known]
            self.dirty[variable][:] = 0xFFFF
            self.mark_ports(variable)

    def mark_ports(self, variable: str) -> None:
        """Mark the events in the rows of ports, which maybe nobody writes: no others are there."""
        ring, rows = self.layout.rings[variable], self.get_buffer(variable)
        dirty = self.dirty[variable].reshape(len(rows), -1)
        for owner, segment in ring.segments.items():
            if owner != "inputs" and self.layout.circuit.groups[int(owner)].is_port:
                begin, end = segment.start, segment.start + padded(segment.count)
                bits = np.packbits(rows[:, begin:end] != 0, axis=1, bitorder="little")
                dirty[:, begin // LANES : end // LANES] = bits.view(np.uint16)

    def host_address(self, variable: str) -> int:
        """Return where row 0 of a variable begins in host memory."""
        return self.get_buffer(variable).ctypes.data

    def access_buffer(
        self, variable: str, step: int, address: Address | None = None
    ) -> AccessBuffer:
        """Return where a variable is read at a step.

        ``address`` returns where row 0 of a variable begins, if not in host memory.
        """
        ring = self.layout.rings[variable]
        begin = (address or self.host_address)(variable)
        alone = self.where.get(variable)
        current = step % ring.depth if alone is None else int(alone[step % ring.depth])
        size = ring.width - LANES
        return AccessBuffer(begin, ring.width, current, ring.depth, size, self.dtype)

    def update_pointers(
        self, number: int, step: int, address: Address | None = None
    ) -> dict[str, int]:
        """Return the addresses of a group's segments in the row that a step writes, step + 1."""
        out = {}
        for variable, ring in self.layout.rings.items():
            segment = ring.segments.get(str(number))
            if segment is not None:
                element = (step + 1) % ring.depth * ring.width + segment.start
                start = (address or self.host_address)(variable)
                out[variable] = start + element * self.dtype.itemsize
        return out


def _made(one: Array) -> NDArray[Any]:
    """Return the memory of a row; what no step writes is shared with the table where it can be."""
    if isinstance(one.key.owner, InstanceOwner | InstanceReceptorOwner):
        return filled(0 if one.value is None else one.value, one.size, one.dtype)
    if one.value is None:
        return aligned(one.size, one.dtype)
    if one.role is Role.CONSTANT:
        return as_aligned(np.asarray(one.value), one.dtype)
    out = aligned(one.size, one.dtype)
    out[:] = one.initial().reshape(-1)
    return out
