"""Instances on a GPU: PyCUDA's arrays, addresses of its memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from ..codegen.component import Shape
from ..codegen.kernel import Kernel
from ..codegen.simt.device import DEVICE
from ..codegen.simt.thread_template import thread_template
from ..codegen.source import prelude
from ..codegen.template import Signature
from ..errors import ModelError
from ..native.headers import header
from ..plan.memory import LANES, AccessBuffer, padded
from .arrays import DeviceAddress, HostArray
from .place import Arrays
from .plan import columns_of

if TYPE_CHECKING:
    from ..backends.cuda.binding import Binding
    from ..plan.program import Unit


_THREADS = 128
"""Of a block of the helpers."""


def helper_text(dtype: str) -> str:
    """Return the text of the kernels that sum inputs and note events for instances."""
    shape = [f"#define ND_THREADS {_THREADS}", "#define ND_AHEAD 0", "#define ND_WORD 8"]
    parts = [*shape, *prelude([], dtype, DEVICE), header("codegen/simt/instance.cuh")]
    return "\n".join([f"/* instances, {dtype} */", *parts])


class DevicePlace:
    """The memory of the CUDA backend.

    Parameters
    ----------
    owner : Binding
        Its memory is there when ``fill`` is called.
    """

    def __init__(self, owner: Binding) -> None:
        self.owner, self.program = owner, owner.program
        self.device = owner.device
        self._columns: dict[int, dict[str, HostArray]] = columns_of(self.program, "cuda")
        self.held: dict[int, Arrays] = {}

    def wanted(self) -> dict[str, int]:
        """Return the bytes of what instances and their templates need: key -> bytes.

        The kernel of a template is not known yet, but what it may be given is.
        """
        out = {
            f"instance {number}:{key}": column.nbytes
            for number, columns in self._columns.items()
            for key, column in columns.items()
        }
        number = len(self.program.units)
        for one in self.program.custom:
            if one.shape is not None:
                arrays = {k: v for k, v in one.values.items() if isinstance(v, np.ndarray)}
                for key, column in arrays.items():
                    size = self.program.dtype.itemsize if column.dtype.kind == "f" else 0
                    out[f"{number}:{key}"] = column.size * (size or column.itemsize)
                known = len(one.values) + len(self._columns[one.number])
                out[f"{number}:table"] = 8 * (known + 4 * len(self.program.memory.rings) + 3)
                number += 1
        return out

    def fill(self) -> None:
        """Bring the arrays of the instances to the device."""
        for number, columns in self._columns.items():
            self.held[number] = {}
            for key, column in columns.items():
                address = self.owner.pool.address[f"instance {number}:{key}"]
                self.device.upload(address, np.asarray(column))
                self.held[number][key] = self._array(address, column.size, column.dtype)
        self._columns.clear()

    @staticmethod
    def _array(address: int, count: int, dtype: DTypeLike) -> Any:
        from pycuda.gpuarray import GPUArray

        return GPUArray((count,), np.dtype(dtype), gpudata=DeviceAddress(address))

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the GPU the current one; wait for what is under way before and after."""
        context = self.device.cuda.Context
        with self.device.current():
            context.synchronize()
            yield
            context.synchronize()

    def _ring(self, variable: str) -> DeviceAddress:
        return DeviceAddress(self.owner.ring_address(variable))

    def buffer(self, variable: str, step: int) -> AccessBuffer:
        """Return where a variable is read at a step."""
        return self.program.memory.access_buffer(variable, step, self._ring)

    def pointers(self, number: int, step: int) -> dict[str, int]:
        """Return the addresses of a group's segments in row ``step + 1``."""
        plain = self.program.memory.update_pointers(number, step, self._ring)
        return {variable: DeviceAddress(address) for variable, address in plain.items()}

    def state(self, unit: Unit, name: str) -> Any:
        """Return the array of a hidden state of a unit; None where it has none of that name."""
        key = f"state:{name}"
        if key not in unit.kernel.pointers:
            return None
        number = next(i for i, one in enumerate(self.program.units) if one is unit)
        address = self.owner.pool.address[f"{number}:{key}"]
        return self._array(address, unit.count, self.program.dtype)

    def store(self, address: int, column: Any, count: int) -> None:
        """Copy a column of ``count`` numbers, on the host or on the device, to an address."""
        with self.current():
            values = np.asarray(column.get() if hasattr(column, "get") else column)
            whole = np.broadcast_to(values, (count,)).astype(self.program.dtype)
            self.device.upload(address, whole)

    @cached_property
    def _helpers(self) -> dict[str, Any]:
        from ..backends.cuda.compiler import compile_cubin
        from ..backends.cuda.device import Loaded

        text = helper_text(self.program.dtype.name)
        self._code = Loaded(self.device, compile_cubin(text, self.device.arch))
        return {name: self._code.function(name) for name in ("nd_inputs", "nd_note")}

    def _call(self, name: str, count: int, pointers: list[int], numbers: list[int]) -> None:
        """Start a helper with its addresses and whole numbers, and wait for it."""
        from ..backends.cuda.device import LONG, POINTER, launch

        values = (*pointers, *numbers)
        types = (POINTER,) * len(pointers) + (LONG,) * len(numbers)
        with self.current():
            blocks = -(-count // _THREADS)
            launch(self.device, self._helpers[name], blocks, _THREADS, values, types)
            self.device.stream.synchronize()

    def inputs(self, number: int, access: str, step: int, out: Any, first_only: bool) -> None:
        """Write the sums of an access's inputs, or the first inputs, into an array."""
        group, held = self.program.circuit.groups[number], self.held[number]
        count, dtype = group.count, self.program.dtype
        if getattr(out, "dtype", None) != dtype or getattr(out, "size", 0) < count:
            want = f"a PyCUDA array of {count} {dtype} is needed"
            raise ModelError(f"{group.name}: sum of '{access}': {want}, got {type(out).__name__}")
        declared = group.model.access(access)
        ring = self.buffer(declared.variable, step)
        keys = (f"pre:{access}", f"cumpre:{access}", f"conn:{access}:delay")
        addresses = [int(held[key].gpudata) for key in keys]
        weight = int(held[f"conn:{access}:weight"].gpudata) if declared.weighted else 0
        pointers = [ring.gpudata, *addresses, weight, int(out.gpudata)]
        shape = [count, ring.current, ring.buffer_length, ring.ld, int(first_only)]
        self._call("nd_inputs", count, pointers, shape)

    def note(self, number: int, variable: str, step: int) -> None:
        """Note whether row ``step + 1`` of a group holds events."""
        memory, owner = self.program.memory, self.owner
        ring, slices = memory.rings[variable], padded(memory.segment(number, variable).count)
        slices //= LANES
        row = (step + 1) % ring.depth
        written = 0
        for i, unit in enumerate(self.program.units):
            if number in unit.groups and f"written:{variable}" in unit.kernel.pointers:
                written = owner.pool.address[f"{i}:written:{variable}"] + row * slices
        begin = self.pointers(number, step)[variable]
        active = owner.active_address(variable) + 8 * row
        self._call("nd_note", slices, [begin, written, active], [slices, step + 1])

    def template(self, shape: Shape, text: str, signature: Signature) -> Kernel:
        """Return the kernel around the text of a template."""
        return thread_template(shape, text, signature)
