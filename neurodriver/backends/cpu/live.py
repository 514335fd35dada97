"""Changes of a program's arrays in host memory."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...model.synapse_texts import SynapseTexts
from ...native.shared import CPU
from ...plan.arrays import Key, Owner, Role
from ...plan.layout import Segment
from ...plan.sums.gather import Gather
from ..live import ALL, At
from .synapse_place import HostSynapses

if TYPE_CHECKING:
    from .backend import CPUBackend


class HostReads:
    """Reads states in host memory: they are where they are.

    Parameters
    ----------
    groups : sequence of sequence of sequence of array
        Of each group, what shows the present values of each copy, one array after the other.
    """

    def __init__(self, groups: Sequence[Sequence[Sequence[NDArray[Any]]]]) -> None:
        self._groups = groups

    def begin(self) -> Callable[[], list[NDArray[Any]]]:
        """Return what copies the values."""
        return lambda: [_joined(group) for group in self._groups]


def _joined(group: Sequence[Sequence[NDArray[Any]]]) -> NDArray[Any]:
    """Return the values of each copy in a row, one array after the other."""
    out = np.empty((len(group), sum(map(len, group[0]))), group[0][0].dtype)
    for row, views in zip(out, group, strict=True):
        np.concatenate(views, out=row)
    return out


class HostWrites:
    """Sets values in host memory, where they are.

    Parameters
    ----------
    views : sequence of sequence of array
        Of each array, what shows the values of each copy.
    """

    def __init__(self, owner: HostLiveMemory, views: Sequence[Sequence[NDArray[Any]]]) -> None:
        self._owner, self._views = owner, views

    def write(self, values: Sequence[NDArray[Any]]) -> None:
        """Set the elements of each array: (copies, elements), or (elements,) for all copies."""
        self._owner.check_open()
        for views, given in zip(self._views, values, strict=True):
            rows = np.broadcast_to(given, (len(views), given.shape[-1]))
            for view, row in zip(views, rows, strict=True):
                view[:] = row


class HostLiveMemory:
    """Reads and writes the memory of a CPU backend; `LiveMemory` says what the methods do."""

    place = CPU, 0

    def __init__(self, owner: CPUBackend) -> None:
        self.owner = owner

    def copy_out(self, address: int, out: NDArray[Any]) -> None:
        """Copy from an address of the host."""
        ct.memmove(out.ctypes.data, address, out.nbytes)

    def check_open(self) -> None:
        """Raise NeurodriverError after the end of the threads: no step would read what is set."""
        if self.owner.pool is not None:
            self.owner.pool.check_open()

    def read(self, key: Key, at: At) -> NDArray[Any]:
        out: NDArray[Any] = self.owner.memory.array(key)[at]
        return out

    def lasting(self, key: Key, at: At) -> NDArray[Any] | None:
        if not isinstance(at, slice) or self.owner.program.arrays[key].role is not Role.STATE:
            return None
        return self.read(key, at)

    def reads(
        self,
        wanted: Sequence[Sequence[tuple[Key, slice]]],
        others: Sequence[HostLiveMemory] = (),
    ) -> HostReads:
        copies = self, *others
        return HostReads(
            [[[one.read(key, at) for key, at in group] for one in copies] for group in wanted]
        )

    def writes(
        self, wanted: Sequence[tuple[Key, slice]], others: Sequence[HostLiveMemory] = ()
    ) -> HostWrites:
        copies = self, *others
        views = [[one.owner.binding.own(key)[at] for one in copies] for key, at in wanted]
        return HostWrites(self, views)

    def address(self, key: Key) -> int:
        """Return where an array is in host memory."""
        return int(self.owner.memory.array(key).ctypes.data)

    def synapses(self, texts: SynapseTexts, threads: int) -> HostSynapses:
        return HostSynapses(texts, self.owner.dtype, threads)

    def read_row(self, variable: str, step: int, at: At) -> NDArray[Any]:
        return self.owner.row(variable, step)[at]

    def number(self, key: Key) -> float:
        return float(self.owner.binding.number(key))

    def write(self, key: Key, values: Any, at: At = ALL) -> None:
        """Set a number, or elements of an array of the program, from the next step on."""
        self.check_open()
        if self.owner.program.arrays[key].shape:
            self.owner.binding.own(key)[at] = values
            return
        self.owner.binding.set_number(key, values)

    def write_row(self, variable: str, step: int, at: At, values: Any) -> None:
        self.check_open()
        self.owner.row(variable, step)[at] = values

    def share(self, key: Key, at: slice) -> NDArray[Any]:
        self.check_open()
        out: NDArray[Any] = self.owner.binding.own(key)[at]
        return out

    def share_row(self, variable: str, step: int, at: slice) -> NDArray[Any]:
        self.check_open()
        return self.owner.row(variable, step)[at]

    def catch_up(self, step: int) -> None:
        for kernel, cuts in self.owner.binding.learners:
            for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
                if begin < end:  # a thread without targets has no synapses of its own
                    span = map(ct.c_longlong, (step, begin, end))
                    self.owner.runtime.nd_launch(ct.byref(kernel), *span)

    def stored_order(self, owner: Owner) -> NDArray[np.int64] | None:
        return self.owner.binding.stored_order(owner)

    def recompute(self, group: int, step: int | None = None) -> None:
        for task, (library, args) in zip(
            self.owner.generated.tasks, self.owner.binding.initial, strict=True
        ):
            if group in task.groups:
                library.nd_constants(ct.byref(args))
                if step is not None:
                    self._publish_again(library, args, group, step)

    def _publish_again(self, library: ct.CDLL, args: Any, group: int, step: int) -> None:
        """Compute the outputs of a group by what fills row 0, which stays as it is."""
        rings = [self.owner.memory.get_buffer(variable) for variable in self.owner.ring_number]
        before = [rows[0].copy() for rows in rings]
        library.nd_initial(ct.byref(args))
        for variable, rows, kept in zip(self.owner.ring_number, rings, before, strict=True):
            made = rows[0].copy()
            rows[0] = kept
            outputs = self.owner.program.circuit.groups[group].model.outputs
            if variable in outputs and str(group) in self._segments(variable):
                at = self.owner.program.layout.elements(group, variable)
                rows[step % len(rows), at] = made[at]

    def _segments(self, variable: str) -> Mapping[str, Segment]:
        return self.owner.program.layout.rings[variable].segments

    def fill(self, variable: str, step: int, rows: NDArray[Any]) -> None:
        self.owner.memory.fill(variable, step, rows)

    def lists_spikes(self, gather: Gather) -> bool:
        """Return False: threads deliver the spikes that are due, and no others."""
        return False
