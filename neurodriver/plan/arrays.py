"""The array table: one typed row for every array and number that a program owns.

For example ``program.arrays[Key(PopulationOwner(0), Kind.PARAMETER, "tau")]`` is the row of the
parameter ``tau`` of the first group: its type, shape, unit, role, and its value before the first
step. Kernel arguments are keys of this table. Initial values, bytes and the comparison of backends
are derived from its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..model.kinds import VariableKind
from ..native.buffers import DrawnArray


class Kind(Enum):
    """What the values of an array mean."""

    EVENT = "event"
    GRADED = "graded"
    CONDUCTANCE = "conductance"
    PARAMETER = "parameter"
    CONSTANT = "constant"  # computed from parameters
    STATE = "state"
    WEIGHT = "weight"  # numbers of connections
    INDEX = "index"  # where connections lead
    SIZE = "size"  # integers of the layout
    RANDOM = "random"  # keys and words of random numbers
    ACTIVITY = "activity"  # which rows and elements may hold events
    SUM = "sum"  # sums of arrived spikes
    SUB_UNIT = "sub-unit"
    STEP = "step"  # lengths of time
    HISTORY = "history"  # events that synapses learn from
    FIELD = "field"  # of a population, or of several
    POSITION = "position"  # of cells along axes

    __hash__ = object.__hash__
    """Each member is one object. A hash of its name would cost most of a look-up by `Key`."""


class Role(Enum):
    """What happens to an array while a simulation lives."""

    CONSTANT = "constant"
    SETTABLE = "settable"
    STATE = "state"
    RING = "ring"
    DERIVED = "derived"  # computed from others once
    SCRATCH = "scratch"  # written before it is read, in each step
    LEARNED = "learned"  # numbers of synapses, which a rule changes
    HISTORY = "history"  # what rules remember of past events
    OF_THREAD = "of thread"  # the same; on a CPU each thread has its own


def role_of_synapses(changed: bool) -> Role:
    """Return the role of numbers of synapses, by whether texts of their rule change any."""
    return Role.LEARNED if changed else Role.SETTABLE


@dataclass(frozen=True, slots=True)
class VariableOwner:
    """Owner of the ring of a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class PopulationOwner:
    """Owner of what a group's components have, by the number of the group."""

    number: int


@dataclass(frozen=True, slots=True)
class SegmentOwner:
    """Owner of what belongs to a group's part of the rows of a variable."""

    number: int
    variable: str


@dataclass(frozen=True, slots=True)
class ReceptorOwner:
    """Owner of what belongs to one access of a group."""

    number: int
    access: str


@dataclass(frozen=True, slots=True)
class InstanceOwner:
    """Owner of what the instance of a user's class holds, by the number of the group."""

    number: int


@dataclass(frozen=True, slots=True)
class InstanceReceptorOwner:
    """Owner of what the instance of a user's class holds for one access."""

    number: int
    access: str


@dataclass(frozen=True, slots=True)
class FieldOwner:
    """Owner of a field that several populations share, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class RunOwner:
    """Owner of the numbers of a run: the seed, the threads and their shares."""


Owner = (
    VariableOwner
    | SegmentOwner
    | PopulationOwner
    | ReceptorOwner
    | InstanceOwner
    | InstanceReceptorOwner
    | FieldOwner
    | RunOwner
)


@dataclass(frozen=True, slots=True)
class Key:
    """Name of a row: who owns it, what kind it has, what it is called.

    Its hash is computed once: values are looked up by keys in each call.
    """

    owner: Owner
    kind: Kind
    name: str
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.owner, self.kind, self.name)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Key], tuple[Owner, Kind, str]]:
        return Key, (self.owner, self.kind, self.name)  # another process has other hashes

    def __str__(self) -> str:
        return f"{self.owner}.{self.name} ({self.kind.value})"


_KINDS = {VariableKind.EVENT: Kind.EVENT, VariableKind.CONDUCTANCE: Kind.CONDUCTANCE}


def ring(variable: str, kind: VariableKind) -> Key:
    """Return the key of the ring of a variable of some kind."""
    return Key(VariableOwner(variable), _KINDS.get(kind, Kind.GRADED), variable)


def depth(variable: str) -> Key:
    """Return the key of the number of rows of a ring."""
    return Key(VariableOwner(variable), Kind.SIZE, "depth")


def width(variable: str) -> Key:
    """Return the key of the number of elements of a row."""
    return Key(VariableOwner(variable), Kind.SIZE, "width")


def activity(variable: str, name: str) -> Key:
    """Return the key of an array that describes the rows of a ring.

    ``active``: the last step at which a row was not all zero; ``dirty``: bits of the elements that
    may hold an event; ``counted``: the last step at which an event of a row may have been another
    number than 1; ``kept``: the row of an even and of an odd step, where inputs keep theirs;
    ``level``: of each of these steps and each input, whether all values of its row are equal;
    ``lists``: the events of inputs that enter by no row.
    """
    return Key(VariableOwner(variable), Kind.ACTIVITY, name)


SEED = Key(RunOwner(), Kind.SIZE, "seed")
THREADS = Key(RunOwner(), Kind.SIZE, "threads")
CUTS = Key(RunOwner(), Kind.SIZE, "cuts")
"""The first component of each thread's share of a kernel, and the count: (threads + 1,) int64."""


@dataclass(frozen=True, slots=True)
class Array:
    """A row of the table.

    Attributes
    ----------
    key : Key
    dtype : dtype
        Floating numbers have the working type of the program.
    shape : tuple of int
        () for a number that a kernel gets by value.
    role : Role
    unit : str
        As the model declares it; empty where there is none.
    value : array or number or None
        Before the first step; None for zeros, which are not stored. A `DrawnArray` is drawn where
        it lies. A column may be shorter than the row: spare places have its first number.
    """

    key: Key
    dtype: np.dtype
    shape: tuple[int, ...]
    role: Role
    unit: str = ""
    value: NDArray[Any] | DrawnArray | float | int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in the memory of a backend."""
        return self.size * self.dtype.itemsize

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(math.prod(self.shape))

    def initial(self) -> NDArray[Any]:
        """Return the value before the first step in the row's type and shape, not to be changed.

        The value itself where it has that type.
        """
        if self.value is None:
            return np.zeros(self.shape, self.dtype)
        value = np.asarray(self.value)
        if value.ndim == 1 and len(value) < self.size:
            out = np.full(self.shape, value[0], self.dtype)
            out[: len(value)] = value
            return out
        return np.asarray(np.broadcast_to(value, self.shape), dtype=self.dtype)


def row(
    key: Key,
    value: Any,
    role: Role = Role.CONSTANT,
    real: DTypeLike = np.float64,
    unit: str = "",
) -> Array:
    """Return the row of an array or a number; floating numbers get the type ``real``."""
    if isinstance(value, DrawnArray):
        return Array(key, value.dtype, value.shape, role, unit, value)
    array = np.asarray(value)
    dtype = np.dtype(real) if array.dtype.kind == "f" else array.dtype
    if array.ndim == 0:
        return Array(key, np.dtype(array.dtype), (), role, unit, array.item())
    return Array(key, dtype, array.shape, role, unit, value)


def zeros(key: Key, size: int, dtype: DTypeLike, role: Role = Role.SCRATCH) -> Array:
    """Return the row of an array that begins as zeros."""
    return Array(key, np.dtype(dtype), (size,), role, "")


class ArrayTable(Mapping[Key, Array]):
    """Rows by their keys, in the order in which they were added; no row can be changed.

    Raises
    ------
    ValueError
        For two rows of one key.
    """

    def __init__(self, rows: Iterable[Array]) -> None:
        self._rows: dict[Key, Array] = {}
        for one in rows:
            if one.key in self._rows:
                raise ValueError(f"two arrays are called {one.key}")
            self._rows[one.key] = one

    def __getitem__(self, key: Key) -> Array:
        return self._rows[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def select(
        self, owner: Owner | None = None, kind: Kind | None = None, role: Role | None = None
    ) -> Iterator[Array]:
        """Yield the rows of an owner, a kind and a role, as far as these are given."""
        for one in self._rows.values():
            if (
                (owner is None or one.key.owner == owner)
                and (kind is None or one.key.kind is kind)
                and (role is None or one.role is role)
            ):
                yield one

    def with_rows(self, rows: Iterable[Array]) -> ArrayTable:
        """Return a table in which some rows are replaced by others of the same keys."""
        changed = {one.key: one for one in rows}
        return ArrayTable(changed.get(key, one) for key, one in self._rows.items())

    def having(self, rows: Iterable[Array]) -> ArrayTable:
        """Return a table with more rows."""
        return ArrayTable([*self._rows.values(), *rows])
