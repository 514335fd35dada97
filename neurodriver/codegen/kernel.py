"""``Kernel``: text of one kernel with its arguments by key; knows no device and no memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..plan.arrays import Array, Key


@dataclass(frozen=True)
class Kernel:
    """One generated kernel.

    Attributes
    ----------
    name : str
        What it updates.
    text : str
        Functions ``nd_constants``, ``nd_initial`` and ``nd_update`` in the language common to C++
        and CUDA.
    pointers, integers, scalars : tuple of Key
        What the tables of arguments hold, in order: rows of the array table.
    scratch : tuple of Array
        Rows that the text needs beside those of the program.
    delivers : bool
        Whether ``nd_deliver`` comes before each update; on a GPU, whether it delivers out pieces.
    due : bool
        Whether it delivers spikes when they are due, on a GPU.
    record : int
        Bytes a thread and round that the threads of a warp share; 0 where they share nothing.
    learns : bool
        Whether ``nd_catch_up`` brings synapses that learn up to date; on a GPU, whether it is the
        text of such synapses.
    every : bool
        Whether something happens at intervals to these synapses.
    sums : tuple of int
        Where texts of intervals read sums over synapses: the steps of each interval.
    waiting : int
        Bytes of a warp's shared memory for synapses that have spikes to apply, on a GPU.
    warps : int
        That find something to do there.
    pieces : int
        Of these synapses, where their sources can be looked at without a scan: see
        ``learning_direct.cuh``; 0 where they cannot.
    looked : int
        Bytes of a warp's shared memory for what it looks at then.
    rounds : int
        Of so many records at most, if these may stay in shared memory.
    kept : int
        Numbers of a component that its thread keeps in registers, on a GPU.
    patches : int
        Bytes of shared memory of a block for patches of columns, on a GPU; 0 where it has none.
    crosses : tuple of str
        Variables that its warps can send to other GPUs as they compute them.
    adds : bool
        Whether its components add to pools. Then ``nd_open`` comes before the first step of a call.
    lookahead : bool
        Whether its threads can send the spikes of a step before its inputs are there, on a GPU.
    """

    name: str
    text: str
    pointers: tuple[Key, ...]
    integers: tuple[Key, ...]
    scalars: tuple[Key, ...]
    scratch: tuple[Array, ...] = ()
    record: int = 0
    delivers: bool = False
    due: bool = False
    learns: bool = False
    every: bool = False
    sums: tuple[int, ...] = ()
    waiting: int = 0
    warps: int = 0
    pieces: int = 0
    looked: int = 0
    rounds: int = 0
    kept: int = 1
    patches: int = 0
    crosses: tuple[str, ...] = ()
    adds: bool = False
    lookahead: bool = False


@dataclass
class Arguments:
    """Hands out expressions for arguments while a kernel's text is written."""

    pointers: list[Key] = field(default_factory=list)
    integers: list[Key] = field(default_factory=list)
    scalars: list[Key] = field(default_factory=list)
    scratch: dict[Key, Array] = field(default_factory=dict)

    @staticmethod
    def _place(table: list[Key], key: Key) -> int:
        if key not in table:
            table.append(key)
        return table.index(key)

    def pointer(self, key: Key, kind: str = "const real") -> str:
        """Return the expression of a pointer to ``kind``."""
        return f"(({kind} *)nd_a->p[{self._place(self.pointers, key)}])"

    def own(self, row: Array, kind: str) -> str:
        """Return the expression of a pointer to an array that no one else needs."""
        self.scratch[row.key] = row
        return self.pointer(row.key, kind)

    def integer(self, key: Key) -> str:
        """Return the expression of an integer."""
        return f"nd_a->n[{self._place(self.integers, key)}]"

    def scalar(self, key: Key) -> str:
        """Return the expression of a number of the working type."""
        return f"((real)nd_a->u[{self._place(self.scalars, key)}])"

    def exact(self, key: Key) -> str:
        """Return the expression of a number in double precision."""
        return f"nd_a->u[{self._place(self.scalars, key)}]"
