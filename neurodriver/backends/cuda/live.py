"""Changes of a program's arrays in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.simt.spike_delivery import sent_by
from ...model.synapse_texts import SynapseTexts
from ...native.shared import CUDA, SharedArray
from ...plan.arrays import Key, Kind, Owner, SegmentOwner
from ...plan.sums.gather import Gather
from ..live import ALL, At
from .state_reads import DeviceReads, span
from .state_writes import DeviceWrites
from .synapse_place import DeviceSynapses

if TYPE_CHECKING:
    from .backend import CUDABackend


class DeviceLiveMemory:
    """Reads and writes the memory of a CUDA backend; `LiveMemory` says what the methods do."""

    def __init__(
        self, owner: CUDABackend, follow: Callable[[int | None], None] | None = None
    ) -> None:
        self.owner, self.binding = owner, owner.binding
        self.device, self.program = owner.device, owner.program
        self.place, self._follow = (CUDA, owner.device.number), follow

    def read(self, key: Key, at: At) -> NDArray[Any]:
        row, address = self.program.arrays[key], self.binding.address(key)
        return self._read(address, row.size, row.dtype, at)

    def lasting(self, key: Key, at: At) -> None:
        """Return None: values are in the memory of the device."""

    def reads(
        self,
        wanted: Sequence[Sequence[tuple[Key, slice]]],
        others: Sequence[DeviceLiveMemory] = (),
    ) -> DeviceReads:
        return DeviceReads([self.owner, *(one.owner for one in others)], wanted)

    def writes(
        self, wanted: Sequence[tuple[Key, slice]], others: Sequence[DeviceLiveMemory] = ()
    ) -> DeviceWrites:
        for key, _ in wanted:
            for one in (self, *others):
                one._own(key)
        owners = [self.owner, *(one.owner for one in others)]
        places = [[span(owner, key, at) for owner in owners] for key, at in wanted]
        return DeviceWrites(self.owner, places)

    def address(self, key: Key) -> int:
        """Return where an array is in the memory of the device."""
        return self.binding.address(key)

    def synapses(self, texts: SynapseTexts, threads: int) -> DeviceSynapses:
        return DeviceSynapses(texts, self.program.dtype, self.device)

    def read_row(self, variable: str, step: int, at: At) -> NDArray[Any]:
        width = self.program.layout.rings[variable].width
        address = self.binding.row_address(variable, step)
        return self._read(address, width, self.program.dtype, at)

    def _read(self, address: int, size: int, dtype: np.dtype, at: At) -> NDArray[Any]:
        self.owner.check_open()
        with self.device.current():
            return self.binding.values.read(address, size, dtype, at)

    def copy_out(self, address: int, out: NDArray[Any]) -> None:
        self.owner.check_open()
        with self.device.current():
            self.device.synchronize()  # the other library may be writing it
            self.device.download(address, out)

    def number(self, key: Key) -> float:
        return self.binding.number(key)

    def write(self, key: Key, values: Any, at: At = ALL) -> None:
        """Set a number, or elements of an array of the program, from the next step on."""
        self.owner.check_open()
        row = self.program.arrays[key]
        if row.shape:
            self._write(self._own(key), row.size, row.dtype, at, values)
        else:
            self.binding.numbers[key] = float(values)

    def write_row(self, variable: str, step: int, at: At, values: Any) -> None:
        width = self.program.layout.rings[variable].width
        self._write(self.binding.row_address(variable, step), width, self.program.dtype, at, values)

    def _write(self, address: int, size: int, dtype: np.dtype, at: At, values: Any) -> None:
        """Set elements of an array at an address."""
        self.owner.check_open()
        with self.device.current():
            self.binding.values.write(address, size, dtype, at, values)

    def catch_up(self, step: int) -> None:
        if self.owner.generated.learning:
            with self.device.current():
                self.owner.launches.catch_up(step)
                self.device.stream.synchronize()

    def stored_order(self, owner: Owner) -> None:
        return None

    def share(self, key: Key, at: slice) -> SharedArray:
        row = self.program.arrays[key]
        return self._shared(self._own(key), row.size, row.dtype, at)

    def _own(self, key: Key) -> int:
        """Return where an array of this program alone lies."""
        self.owner.check_open()
        before = self.binding.address(key)
        if not self.binding.borrows(key):
            return before
        with self.device.current():
            address = self.binding.own(key)
            if address != before:
                self.binding.compute_constants(self.owner.code)
        return address

    def share_row(self, variable: str, step: int, at: slice) -> SharedArray:
        width = self.program.layout.rings[variable].width
        return self._shared(self.binding.row_address(variable, step), width, self.program.dtype, at)

    def _shared(self, address: int, size: int, dtype: np.dtype, at: slice) -> SharedArray:
        self.owner.check_open()
        start, stop, _ = at.indices(size)
        if self.device.busy and not self.device.following:
            with self.device.current():
                self.device.wait()  # other streams do not wait for what has been written
        begin, place = address + start * dtype.itemsize, (CUDA, self.device.number)
        return SharedArray(begin, stop - start, dtype, place, self.owner, self._follow)

    def fill(self, variable: str, step: int, rows: NDArray[Any]) -> None:
        binding = self.binding
        with self.device.current():
            for back, values in enumerate(rows):
                row = np.ascontiguousarray(values, self.program.dtype)
                self.device.upload(binding.row_address(variable, step - back), row)
            binding.memory.fill(variable, step, rows)
            if variable in binding.memory.active:
                active = binding.memory.active[variable]
                self.device.upload(binding.active_address(variable), active)
            for one in self.program.arrays.select(kind=Kind.ACTIVITY):
                if isinstance(one.key.owner, SegmentOwner) and one.key.owner.variable == variable:
                    marks = np.ones(one.size, one.dtype)  # anything may hold an event
                    self.device.upload(binding.address(one.key), marks)

    def recompute(self, group: int, step: int | None = None) -> None:
        """Compute the constants of all kernels again; with a step, a group's outputs in its row."""
        binding, code = self.binding, self.owner.code
        with self.device.current():
            binding.compute_constants(code)
            if step is None:
                return
            rings = self.program.layout.rings
            before = {variable: binding.row(variable, 0) for variable in rings}
            binding.compute_row_zero(code)
            after = {variable: binding.row(variable, 0) for variable in rings}
            for variable, kept in before.items():
                self.device.upload(binding.ring_address(variable), kept)
        for variable in self.program.circuit.groups[group].model.outputs:
            if variable in rings and str(group) in rings[variable].segments:
                at = self.program.layout.elements(group, variable)
                self.write_row(variable, step, at, after[variable][at])

    def facts(self) -> dict[str, int]:
        """Return the shape of a launch, and what the kernel of the step loop takes."""
        plan = self.owner.plan
        self.owner.check_open()
        with self.device.current():
            taken = self.owner.code.taken("nd_advance")
        return {"blocks": plan.blocks, "threads of a block": plan.shape.threads, **taken}

    def lists_spikes(self, gather: Gather) -> bool:
        how = self.owner.delivery
        return not (how.window or how.lookahead) and sent_by(gather) == "pieces"
