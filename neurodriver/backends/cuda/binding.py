"""``Binding``: the arrays of a program in the memory of a GPU, and where each of them lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.simt.device import table_name
from ...native.buffers import Blank
from ...plan.memory import LANES
from ...plan.program import Program, Unit
from .device import INT, POINTER, Device, Loaded, Pool, launch

_HOST_MEMORY = 1 << 40
_CONSTANTS, _ROW_ZERO = 0, 1
"""What ``nd_once`` computes."""


class Binding:
    """Holds rings, arguments and states on a device.

    Parameters
    ----------
    device : Device
    program : Program
        Its memory is allocated here, on the host too: that is what row 0 is brought from.

    Attributes
    ----------
    pool : Pool
        What lies where, after ``allocate``.
    """

    pool: Pool

    def __init__(self, device: Device, program: Program) -> None:
        self.device, self.program, self.dtype = device, program, program.dtype
        self._blanks: dict[int, str] = {}
        program.memory.allocate(_HOST_MEMORY)

    def named(self) -> list[tuple[str, Unit]]:
        """Return the units in the order of the text, what deals out spikes last, with names."""
        program = self.program
        fans = [(f"fan {number}", fan) for number, fan in enumerate(program.fans)]
        return [*((str(number), unit) for number, unit in enumerate(program.units)), *fans]

    def allocate(self, more: Mapping[str, int]) -> None:
        """Take the memory.

        Parameters
        ----------
        more : mapping of str to int
            What else has a place there -> bytes.
        """
        self.pool = Pool(self.device, self._wanted() | dict(more))

    def _wanted(self) -> dict[str, int]:
        """Return the bytes of every array: key -> bytes."""
        memory = self.program.memory
        wanted = {f"ring:{v}": n for v, n in memory.nbytes().items()}
        wanted |= {f"active:{v}": a.nbytes for v, a in memory.active.items()}
        for name, unit in self.named():
            for key in unit.kernel.pointers:
                value = unit.values.get(key)
                if isinstance(value, Blank):  # one unit reads its numbers, another one writes them
                    wanted[self._blanks.setdefault(id(value), f"{name}:{key}")] = value.nbytes
                elif isinstance(value, np.ndarray):
                    real = value.dtype.kind == "f"
                    size = self.dtype.itemsize if real else value.itemsize
                    wanted[f"{name}:{key}"] = value.size * size
            wanted[f"{name}:table"] = 8 * sum(_sizes(unit))
        wanted["tables"] = 8 * max(len(self.program.units) + len(self.program.custom), 1)
        return wanted

    # -- where things lie -----------------------------------------------------------------------

    def ring_address(self, variable: str) -> int:
        """Return where row 0 of a variable begins."""
        return self.pool.address[f"ring:{variable}"] + LANES * self.dtype.itemsize

    def active_address(self, variable: str) -> int:
        """Return the notes on rows of events of a variable, 0 where there are none."""
        return self.pool.address.get(f"active:{variable}", 0)

    def _row_bytes(self, variable: str) -> int:
        return self.program.memory.rings[variable].width * self.dtype.itemsize

    def _address(self, name: str, unit: Unit, key: str) -> int:
        if key.startswith("ring:"):
            return self.ring_address(key[5:])
        if key.startswith("active:"):
            return self.active_address(key[7:])
        value: Any = unit.values.get(key)
        if hasattr(value, "gpudata"):  # an instance holds it, too
            return int(value.gpudata)
        if isinstance(value, Blank):
            return self.pool.address[self._blanks[id(value)]]
        return self.pool.address[f"{name}:{key}"]

    # -- arguments ------------------------------------------------------------------------------

    def known(self, unit: Unit) -> tuple[int | None, ...]:
        """Return the integers that are part of a kernel's text; the seed is not."""
        keys = unit.kernel.integers
        return tuple(None if key == "seed" else self._integer(unit, key) for key in keys)

    def _integer(self, unit: Unit, key: str) -> int:
        kind, _, name = key.partition(":")
        if kind in ("depth", "width"):
            return int(getattr(self.program.memory.rings[name], kind))
        return int(unit.values[key]) & 0xFFFF_FFFF_FFFF_FFFF

    def _table(self, name: str, unit: Unit) -> NDArray[np.uint64]:
        """Return a unit's arguments as they lie in constant memory."""
        pointers = [self._address(name, unit, key) for key in unit.kernel.pointers] or [0]
        integers = [self._integer(unit, key) for key in unit.kernel.integers] or [0]
        scalars = np.array([float(unit.values[k]) for k in unit.kernel.scalars] or [0.0])
        whole = np.array([*pointers, *integers], dtype=np.uint64)
        return np.concatenate([whole, scalars.view(np.uint64)])

    # -- before the first step ------------------------------------------------------------------

    def publish(self, code: Loaded) -> None:
        """Bring the program to the device; compute its constants and row 0 there.

        Parameters
        ----------
        code : Loaded
            Its text.
        """
        device, named = self.device, self.named()
        for variable in self.program.memory.rings:
            device.upload(self.ring_address(variable), self._host_row(variable))
        for variable, notes in self.program.memory.active.items():
            device.upload(self.active_address(variable), notes)
        for name, unit in named:
            self._upload_unit(name, unit)
        tables = [self.pool.address[f"{i}:table"] for i in range(len(self.program.units))]
        device.upload(self.pool.address["tables"], np.array(tables or [0], np.uint64))
        self._call_once(code, _CONSTANTS)
        for number, (name, unit) in enumerate(named):
            self._take_constants(code, number, name, unit)
        self._call_once(code, _ROW_ZERO)

    def spread(self) -> None:
        """Copy row 0 of every variable into all its rows, and into the host's memory."""
        for variable in self.program.memory.rings:
            self.device.download(self.ring_address(variable), self._host_row(variable))
            self._spread(variable)

    def _upload_unit(self, name: str, unit: Unit) -> None:
        for key in unit.kernel.pointers:
            value = unit.values.get(key)
            if isinstance(value, np.ndarray):
                column = value.astype(self.dtype) if value.dtype.kind == "f" else value
                self.device.upload(self._address(name, unit, key), column)
        self.device.upload(self.pool.address[f"{name}:table"], self._table(name, unit))

    def _take_constants(self, code: Loaded, number: int, name: str, unit: Unit) -> None:
        """Bring the shared constants, computed on the device, into constant memory."""
        table = np.empty(sum(_sizes(unit)), np.uint64)
        self.device.download(self.pool.address[f"{name}:table"], table)
        for key, value in zip(unit.kernel.scalars, table[-_sizes(unit)[2] :], strict=False):
            unit.values[key] = float(value.view(np.float64))
        self.device.upload(code.address(table_name(number)), table)

    def _call_once(self, code: Loaded, what: int) -> None:
        most = max((u.count for u in self.program.units), default=1)
        blocks = min(-(-most // 256), 8 * self.device.processors)
        values = (self.pool.address["tables"], what)
        launch(self.device, code.function("nd_once"), blocks, 256, values, (POINTER, INT))
        self.device.stream.synchronize()

    def _host_row(self, variable: str) -> NDArray[Any]:
        row: NDArray[Any] = self.program.memory.get_buffer(variable)[0]
        return row

    def _spread(self, variable: str) -> None:
        ring, size = self.program.memory.rings[variable], self._row_bytes(variable)
        start, rows = self.ring_address(variable), 1
        while rows < ring.depth:
            more = min(rows, ring.depth - rows)
            self.device.cuda.memcpy_dtod(start + rows * size, start, more * size)
            rows += more

    # -- values ---------------------------------------------------------------------------------

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable; before the first step."""
        self._host_row(variable)[elements] = values
        self.device.upload(self.ring_address(variable), self._host_row(variable))
        self._spread(variable)

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return a copy of the row of a step."""
        ring, size = self.program.memory.rings[variable], self._row_bytes(variable)
        out = np.empty(ring.width, self.dtype)
        self.device.download(self.ring_address(variable) + step % ring.depth * size, out)
        return out

    def state(self, number: int, key: str) -> NDArray[Any]:
        """Return a copy of the array of a state of a kernel."""
        unit = self.program.units[number]
        out = np.empty(len(unit.values[key]), self.dtype)
        self.device.download(self._address(str(number), unit, key), out)
        return out

    def free(self) -> None:
        """Give the memory back."""
        self.pool.free()


def _sizes(unit: Unit) -> list[int]:
    kernel = unit.kernel
    return [max(len(t), 1) for t in (kernel.pointers, kernel.integers, kernel.scalars)]
