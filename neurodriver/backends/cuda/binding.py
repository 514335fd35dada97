"""``Binding``: the arrays of a program in the memory of a GPU, and where each of them lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegen.generate import Generated, Task
from ...codegen.kernel import Kernel
from ...codegen.simt.shared_texts import table_sizes
from ...native.buffers import LANES, DrawnArray
from ...plan.arrays import SEED, Array, Key, Kind, VariableOwner
from ...plan.copies import is_shared
from ...plan.program import Program
from ...plan.spikes.due import TURNS
from ..memory import MemoryManager
from .device import INT, POINTER, Device, Loaded, Pool, launch
from .locked import LockedCopies

_HOST_MEMORY = 1 << 40
_CONSTANTS, _ROW_ZERO = 0, 1
"""What ``nd_once`` computes."""


class Binding:
    """Holds rings, arguments and states on a device.

    Parameters
    ----------
    like : Binding, optional
        That of another copy of the program: rows that no step writes and that both programs have
        are shared, until one of them is `own`.

    Attributes
    ----------
    memory : MemoryManager
        On the host: row 0 of the rings is brought from there.
    values : LockedCopies
        Reads and writes them.
    pool : Pool
        What lies where, after ``allocate``.
    taken : set of Key
        What the kernels of the program take, after ``generated``.
    symbols : list of (str, int)
        Where a kernel reads its table: name of the memory, and bytes behind its begin.
    """

    pool: Pool
    tables: Pool
    symbols: list[tuple[str, int]]

    def __init__(self, device: Device, program: Program, like: Binding | None = None) -> None:
        self._like, self._shares = like, like is not None
        if like is not None:
            like._shares = True
        self._owned: dict[Key, Any] = {}
        self._drawn: list[tuple[Key, DrawnArray]] = []
        self.device, self.program, self.dtype = device, program, program.dtype
        self.memory = MemoryManager(program, _HOST_MEMORY)
        self.values = LockedCopies(device)
        self.taken: set[Key] = set()
        self.numbers: dict[Key, float] = {}  # those that have been set
        self._kernels: list[Kernel] = []
        self._tasks: tuple[Task, ...] = ()
        self._sent: dict[Key, float] | None = None  # the numbers that are in the tables there

    def allocate(self, more: Mapping[str, int]) -> None:
        """Allocate all arrays, and copy their initial values, except of those that are drawn there.

        States of one name lie side by side, as they are read together.

        Parameters
        ----------
        more : mapping of str to int
            What else has a place there -> bytes.
        """
        wanted: dict[Any, int] = {f"ring:{v}": n for v, n in self.program.layout.nbytes().items()}
        wanted |= {f"active:{v}": a.nbytes for v, a in self.memory.active.items()}
        rows = [row for row in self.program.arrays.values() if row.shape and not self._shared(row)]
        rows.sort(key=lambda row: row.key.name if row.key.kind is Kind.STATE else "")
        self.pool = Pool(self.device, wanted | {row.key: row.nbytes for row in rows} | dict(more))
        for row in rows:
            if isinstance(row.value, DrawnArray):
                self._drawn.append((row.key, row.value))
            elif row.value is not None:
                self.device.upload(self.pool.address[row.key], np.ascontiguousarray(row.initial()))

    def draw(self) -> None:
        """Draw the arrays that are drawn where they lie."""
        self.device.wait()  # another stream draws what this one has cleared
        for key, numbers in self._drawn:
            numbers.there(self.pool.address[key])

    def _shared(self, row: Array) -> bool:
        """Whether an array of the other copy is this one's, too."""
        like = self._like
        return like is not None and is_shared(row) and like.program.arrays[row.key] is row

    def borrows(self, key: Key) -> bool:
        """Whether an array may be that of other copies, too."""
        return self._shares and key not in self._owned and is_shared(self.program.arrays[key])

    def own(self, key: Key) -> int:
        """Return the address of an array that no other copy shares from now on.

        The tables of the kernels have the old address until the constants are computed again.
        """
        if self.borrows(key):
            row = self.program.arrays[key]
            before, memory = self.address(key), self.device.allocate(max(row.nbytes, 16))
            self.device.duplicate(int(memory), before, row.nbytes)
            self._owned[key], self._sent = memory, None
        return self.address(key)

    def take(self, generated: Generated) -> None:
        """Make room for the arguments of all kernels."""
        self._tasks, self._kernels = generated.tasks, generated.kernels
        self.taken = {key for kernel in self._kernels for key in kernel.pointers}
        wanted = {f"table {i}": 8 * sum(table_sizes(k)) for i, k in enumerate(self._kernels)}
        wanted["tables"] = 8 * max(len(self._tasks), 1)
        self.tables = Pool(self.device, wanted)

    # -- where things lie -----------------------------------------------------------------------

    def ring_address(self, variable: str) -> int:
        """Return where row 0 of a variable begins."""
        return self.pool.address[f"ring:{variable}"] + LANES * self.dtype.itemsize

    def active_address(self, variable: str) -> int:
        """Return the address of the active rows of a variable, 0 where there are none."""
        return self.pool.address.get(f"active:{variable}", 0)

    def row_address(self, variable: str, step: int) -> int:
        """Return where the row of a step begins."""
        place = step % self.program.layout.rings[variable].depth
        return self.ring_address(variable) + place * self.row_bytes(variable)

    def row_bytes(self, variable: str) -> int:
        """Return the bytes of a row of a variable."""
        return self.program.layout.rings[variable].width * self.dtype.itemsize

    def address(self, key: Key) -> int:
        """Return where an array lies."""
        if key in self._owned:
            return int(self._owned[key])
        if not isinstance(key.owner, VariableOwner):
            here = self.pool.address.get(key)
            if here is None and self._like is not None:
                return self._like.pool.address[key]
            return self.pool.address[key]
        variable = key.owner.name
        ring = key.kind is not Kind.ACTIVITY
        return self.ring_address(variable) if ring else self.active_address(variable)

    # -- arguments ------------------------------------------------------------------------------

    def known(self, kernel: Kernel) -> tuple[int | None, ...]:
        """Return the integers that are part of a kernel's text; None for those that are not."""
        keys = kernel.integers
        return tuple(
            None if key == SEED or key.name == TURNS else self._integer(key) for key in keys
        )

    def _integer(self, key: Key) -> int:
        return int(self.program.arrays[key].value) & 0xFFFF_FFFF_FFFF_FFFF  # type: ignore[arg-type]

    def _table(self, kernel: Kernel) -> NDArray[np.uint64]:
        """Return a kernel's arguments as they lie in constant memory."""
        pointers = [self.address(key) for key in kernel.pointers] or [0]
        integers = [self._integer(key) for key in kernel.integers] or [0]
        numbers = [self.number(key) for key in kernel.scalars] or [0.0]
        whole = np.array([*pointers, *integers], dtype=np.uint64)
        return np.concatenate([whole, np.array(numbers, np.float64).view(np.uint64)])

    def number(self, key: Key) -> float:
        """Return a number that kernels get by value, as it has been set."""
        value = self.numbers.get(key, self.program.arrays[key].value)
        return float(value)  # type: ignore[arg-type]

    # -- before the first step ------------------------------------------------------------------

    def publish(self, code: Loaded) -> None:
        """Copy the program to the device; compute its constants and row 0 there.

        Parameters
        ----------
        code : Loaded
            Its text.
        """
        device = self.device
        for variable in self.program.layout.rings:
            device.upload(self.ring_address(variable), self._host_row(variable))
        for variable, last in self.memory.active.items():
            device.upload(self.active_address(variable), last)
        tables = [self.tables.address[f"table {number}"] for number in range(len(self._tasks))]
        device.upload(self.tables.address["tables"], np.array(tables or [0], np.uint64))
        self.compute_constants(code)
        self.compute_row_zero(code)

    def compute_constants(self, code: Loaded) -> None:
        """Compute what follows from the parameters, on the device."""
        if self.numbers != self._sent:
            for number, kernel in enumerate(self._kernels):
                self.device.upload(self.tables.address[f"table {number}"], self._table(kernel))
            self._sent = dict(self.numbers)
        self._call_once(code, _CONSTANTS)
        for number, kernel in enumerate(self._kernels) if not self._shares else ():
            # to constant memory, with the constants; launches bring those of copies
            name, behind = self.symbols[number]
            begin, size = self.places[number], 8 * sum(table_sizes(kernel))
            self.device.duplicate(code.address(name) + behind, begin, size)

    @property
    def places(self) -> list[int]:
        """Addresses of the tables of all kernels; those of copies are brought by each launch."""
        return [self.tables.address[f"table {number}"] for number in range(len(self._kernels))]

    def compute_row_zero(self, code: Loaded) -> None:
        """Compute the outputs of the states into row 0, on the device."""
        self._call_once(code, _ROW_ZERO)

    def spread(self) -> None:
        """Copy row 0 of every variable into all its rows, and into the host's memory."""
        for variable in self.program.layout.rings:
            self.device.download(self.ring_address(variable), self._host_row(variable))
            self._spread(variable)

    def _call_once(self, code: Loaded, what: int) -> None:
        most = max((task.count for task in self._tasks), default=1)
        blocks = min(-(-most // 256), 8 * self.device.processors)
        values = (self.tables.address["tables"], what)
        launch(self.device, code.function("nd_once"), blocks, 256, values, (POINTER, INT))

    def _host_row(self, variable: str) -> NDArray[Any]:
        row: NDArray[Any] = self.memory.get_buffer(variable)[0]
        return row

    def _spread(self, variable: str) -> None:
        ring, size = self.program.layout.rings[variable], self.row_bytes(variable)
        start, rows = self.ring_address(variable), 1
        while rows < ring.depth:
            more = min(rows, ring.depth - rows)
            self.device.duplicate(start + rows * size, start, more * size)
            rows += more

    # -- values ---------------------------------------------------------------------------------

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable; all others stay."""
        for step in range(self.program.layout.rings[variable].depth):
            row = self.row(variable, step)
            row[elements] = values
            self.device.upload(self.row_address(variable, step), row)

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return a copy of the row of a step."""
        out = np.empty(self.program.layout.rings[variable].width, self.dtype)
        self.device.download(self.row_address(variable, step), out)
        return out

    def array(self, key: Key) -> NDArray[Any]:
        """Return a copy of an array of the program."""
        row = self.program.arrays[key]
        out = np.empty(row.size, row.dtype)
        self.device.download(self.address(key), out)
        return out

    def free(self) -> None:
        """Give the memory back."""
        for memory in self._owned.values():
            memory.free()
        self.pool.free()
        self.tables.free()
