"""``HostBinding``: the kernels of a program bound to arrays in host memory."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.finite import infinite_constants
from ...codegen.generate import Task
from ...codegen.kernel import Kernel
from ...native.buffers import as_aligned
from ...plan.arrays import CUTS, THREADS, ArrayTable, Key, Kind, Owner, ReceptorOwner, Role
from ...plan.program import Program
from ...plan.spikes.learning import LearningPlan
from ...plan.spikes.thread_ranges import ThreadRanges
from ...plan.spikes.thread_shares import SharesByThread
from ..memory import MemoryManager

_ptr = ct.c_void_p


class Args(ct.Structure):
    _fields_ = [("p", _ptr), ("n", _ptr), ("u", _ptr)]


class BoundKernel(ct.Structure):
    _fields_ = [("update", _ptr), ("deliver", _ptr), ("args", Args), ("cuts", _ptr)]
    _fields_ += [("phase", ct.c_longlong), ("waits", ct.c_longlong), ("open", _ptr)]


def parts_of(program: Program) -> dict[Key, ThreadRanges]:
    """Return what each thread's shares are found from, by the keys of the kernels' arguments."""
    return {
        gather.key(ReceptorOwner(number, access), name): gather.parts
        for (number, access), gather in program.gathers.items()
        if gather.parts is not None
        for name in ("parts", "blocks")
    }


class HostBinding:
    """Tables of the arguments of kernels, and the values that are part of them.

    Parameters
    ----------
    memory : MemoryManager
        Of the program.
    arrays : ArrayTable
        Rows of the program and of the text.

    Attributes
    ----------
    numbers : dict of Key to number
        Those that differ from the program's: they have been set.
    initial : list of (library, Args)
        What computes constants and row 0 of each kernel.
    learners : list of (BoundKernel, cuts)
        What brings weights that learn up to date.
    """

    def __init__(self, memory: MemoryManager, threads: int, arrays: ArrayTable) -> None:
        self.memory, self.program = memory, memory.program
        self._threads, self._arrays = threads, arrays
        self.learners: list[tuple[BoundKernel, NDArray[np.int64]]] = []
        self.numbers: dict[Key, Any] = {THREADS: threads}
        self.initial: list[tuple[ct.CDLL, Args]] = []
        self._scalars: list[tuple[Kernel, NDArray[np.float64]]] = []
        self._uses: dict[Key, list[tuple[NDArray[np.uint64], int]]] = {}
        self._parts = parts_of(self.program)
        self._by_thread = {
            gather.key(ReceptorOwner(number, access), name): gather.parts
            for (number, access), gather in self.program.gathers.items()
            if isinstance(gather, LearningPlan) and isinstance(gather.parts, SharesByThread)
            for name in ("code", *gather.own)
        }
        self._cuts: dict[Owner, NDArray[np.int64]] = {}
        self._shares: dict[Owner, NDArray[np.int64]] = {}
        self._keep: list[Any] = []

    def bind(self, task: Task, library: ct.CDLL, cuts: NDArray[np.int64]) -> BoundKernel:
        """Fill the tables of a kernel's arguments and compute its constants.

        Parameters
        ----------
        library : CDLL
            Its compiled text.
        cuts : (threads + 1,) int64
            The first component of each thread, and the count.
        """
        kernel = task.kernel
        for row in kernel.scratch:
            self.memory.add(row)
        addresses = [self._address(key, cuts) for key in kernel.pointers]
        integers = [self.number(key) & 0xFFFF_FFFF_FFFF_FFFF for key in kernel.integers]
        p = np.array(addresses or [0], dtype=np.uint64)
        n = np.array(integers or [0], dtype=np.uint64).view(np.int64)
        u = np.array([float(self.number(key)) for key in kernel.scalars] or [0.0])
        args = Args(self._pointer(p), self._pointer(n), self._pointer(u))
        self._scalars.append((kernel, u))
        for place, key in enumerate(kernel.pointers):
            self._uses.setdefault(key, []).append((p, place))
        library.nd_constants(ct.byref(args))
        if not (np.isfinite(u).all() and self._finite_constants(kernel.pointers)):
            for spec in task.specs:
                if (key := infinite_constants(spec)) in kernel.integers:
                    n[kernel.integers.index(key)] = 1
        update = ct.cast(library.nd_update, _ptr).value
        self._keep += [args, library]
        self.initial.append((library, args))
        deliver = ct.cast(library.nd_deliver, _ptr).value if kernel.delivers else None
        if kernel.learns:
            catch_up = ct.cast(library.nd_catch_up, _ptr).value
            self.learners.append((BoundKernel(catch_up, None, args, None), cuts))
        opens = ct.cast(library.nd_open, _ptr).value if kernel.adds else None
        return BoundKernel(update, deliver, args, self._pointer(cuts), open=opens)

    def number(self, key: Key) -> Any:
        """Return an argument that a kernel gets by value."""
        return self.numbers[key] if key in self.numbers else self.program.arrays[key].value

    def set_number(self, key: Key, value: float) -> None:
        """Set an argument that kernels get by value."""
        self.numbers[key] = value
        for kernel, args in self._scalars:
            for place in np.flatnonzero([one == key for one in kernel.scalars]):
                args[place] = value

    def own(self, key: Key) -> NDArray[Any]:
        """Return an array that no other copy of the program shares from now on."""
        array = self.memory.own(key)
        for addresses, place in self._uses.get(key, ()):
            addresses[place] = array.ctypes.data
        return array

    def _pointer(self, array: NDArray[Any]) -> int:
        self._keep.append(array)
        return array.ctypes.data

    def _finite_constants(self, keys: Sequence[Key]) -> bool:
        """Whether the constants among a kernel's arrays are finite."""
        constants = (key for key in keys if key.kind is Kind.CONSTANT)
        return all(np.isfinite(self.memory.array(key)).all() for key in constants)

    def _share(self, key: Key, cuts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the threads' parts of connections, or the blocks in which they look for spikes."""
        ranges = self._parts[key]
        if key.owner not in self._shares:
            self._shares[key.owner] = ranges.of(cuts)
        parts = self._shares[key.owner]
        return parts if key.name == "parts" else ranges.blocks_of(parts).reshape(-1)

    def _address(self, key: Key, cuts: NDArray[np.int64]) -> int:
        """Return where an argument of a kernel lies, whose threads have shares from ``cuts`` on."""
        if key == CUTS:
            return self._pointer(cuts)
        if key in self._parts:
            return self._pointer(as_aligned(self._share(key, cuts)))
        if (one := self._arrays.get(key)) and one.role is Role.OF_THREAD:
            return self._pointer(self.memory.of_threads(key, self._threads))
        if key in self._by_thread:
            self._cuts[key.owner] = cuts
            return self._pointer(self.memory.array(key, self.stored_order(key.owner)))
        return self._pointer(self.memory.argument(key))

    def stored_order(self, owner: Owner) -> NDArray[np.int64] | None:
        """Return the number of each stored synapse in the order of its plan, None: they have it."""
        if owner not in self._cuts:
            return None
        shares = next(one for key, one in self._by_thread.items() if key.owner == owner)
        return shares.order(self._cuts[owner])
