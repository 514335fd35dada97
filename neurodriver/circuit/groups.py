"""Columns of a circuit: the components of one model, and the connections into one access."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import ArgumentError
from ..errors import CircuitError, near
from ..model.component import NDComponent
from ..model.plasticity import Plasticity
from ..quantities import is_quantity
from .node_columns import JoinedColumns
from .numbered import Column, Numbered


class Port(NDComponent):
    """Place where an LPU takes or gives a variable; it computes nothing."""

    is_port = True


def read_only(column: Column) -> Column:
    """Return a view that cannot be written through."""
    out = column.view()
    out.flags.writeable = False
    return out


def _frozen(columns: Mapping[str, ArrayLike]) -> Mapping[str, Column]:
    """Return views that cannot be written through; quantities stay what they are."""
    if isinstance(columns, JoinedColumns):
        return columns
    out: dict[str, Any] = {
        n: c if is_quantity(c) else read_only(np.asarray(c)) for n, c in columns.items()
    }
    return out


def _taken(columns: Mapping[str, Column], rows: NDArray[np.integer]) -> Mapping[str, Column]:
    """Return some rows of columns; one number for all stays one."""
    if isinstance(columns, JoinedColumns):
        return columns.taken(rows)
    return {name: c[rows] if c.ndim else c for name, c in columns.items()}


@dataclass(frozen=True, eq=False)
class NamesOfSome:
    """Names of some components of a group; they are made when somebody asks for them.

    Attributes
    ----------
    rows : (n,) int
        Which of its components.
    """

    group: Group
    rows: NDArray[np.integer]

    @property
    def shape(self) -> tuple[int]:
        """Number of names."""
        return (len(self.rows),)

    def made(self) -> Column:
        """Return the names, (n,) str."""
        names: Column = self.group.uids[self.rows]
        return names


@dataclass(frozen=True, eq=False)
class FieldValue:
    """The value of a field.

    Attributes
    ----------
    values : array
        () for a number; float64, or int32 where only whole numbers are allowed.
    name : str
        Of what several populations share; empty where the population has it for itself.
    shapes : tuple of tuple of int
        Of a list of arrays, whose values lie one after the other; empty for others.
    """

    values: Column
    name: str = ""
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def array(self) -> Any:
        """The values in their shape: an array, or a list of them."""
        return self.values if not self.shapes else parted(self.values, self.shapes)

    def lengths(self, axis: int) -> tuple[int, ...]:
        """Return the length along an axis, of each array of a list."""
        return tuple(shape[axis] for shape in self.shapes or (self.values.shape,))


def parted(values: Column, shapes: tuple[tuple[int, ...], ...]) -> list[Column]:
    """Return the arrays whose values lie one after the other."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    parts = np.split(values, ends)
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


@dataclass(frozen=True, eq=False)
class Layer:
    """What the texts of a population read beside its own cells.

    Attributes
    ----------
    population : str
        Name of the population.
    sources : mapping of str to tuple of str
        Names of the populations that each source stands for.
    """

    population: str
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def digest_input(self) -> Iterator[bytes]:
        """Yield what the digest of a circuit takes in; nothing without fields and sources."""
        for name, one in sorted(self.fields.items()):
            yield column_bytes(f"field {name} {one.name}", one.values)
            yield f"{one.shapes!r};".encode()
        for name, some in sorted(self.sources.items()):
            yield f"source {name}: {some!r};".encode()


@dataclass(frozen=True, eq=False)
class Group:
    """All components of one model.

    Parameters
    ----------
    model : NDComponent subclass
    params : mapping of str to array, (n,) or () float64
        Parameters and ``init...`` values in the units the model declares; () where all share one
        value. NaN in an ``init...`` column means: not given.
    count : int
        Number of components n.
    names : (n,) str array or Numbered, optional
        Names; ``<model>/<number>`` where none are given.
    labels : mapping of str to (n,) array
        Text attributes (for ports: selector, port_type, port_io), and ``extern`` (bool): whether
        a component takes a column of an input file without names.
    hidden : bool
        Whether the components are not recorded unless they are named.
    scopes : tuple of (str, int)
        In a circuit joined from several: their ids and numbers of components, one after the other.
    keys : (n,) uint64 array, optional
        Keys of the random numbers within the circuit's namespace, where they are not to be made
        from the names here.
    columns : mapping of str to (n,) array
        Node columns: text, numbers or booleans by which components are selected; ``population``
        names the population of each. They change nothing that is computed.
    layer : Layer, optional
        Of the one population that the group is, where its model has axes, fields or sources.
    phase : int
        Place in the order of a step: phases are computed one after the other. 0 for ports.
    every, first : int
        The components are computed at step ``first`` and every ``every``-th one after it.
    sends : bool
        Of sources in other parts: whether a GPU delivers their spikes by source.
    learning : frozenset of str
        Of a part: the accesses that connections reach in the whole circuit that learn. Their
        weights have the units of the whole, even where none of these connections reach the part.
    """

    model: type[NDComponent]
    params: Mapping[str, Column]
    count: int
    names: Column | Numbered | NamesOfSome | None = None
    labels: Mapping[str, Column] = field(default_factory=dict)
    hidden: bool = False
    scopes: tuple[tuple[str, int], ...] = ()
    keys: NDArray[np.uint64] | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    layer: Layer | None = None
    phase: int = 0
    every: int = 1
    first: int = 0
    sends: bool = False
    learning: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for columns in ("params", "labels", "columns"):
            object.__setattr__(self, columns, _frozen(getattr(self, columns)))

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.__name__

    @property
    def is_port(self) -> bool:
        """Whether the components are ports."""
        return self.model.is_port

    @cached_property
    def given_uids(self) -> Column | None:
        """Names of the components, (n,) str; None where they follow from the model."""
        names = self.names
        made = names.made() if isinstance(names, Numbered | NamesOfSome) else names
        return None if made is None else read_only(made)

    @cached_property
    def uids(self) -> Column:
        """Names of the components, (n,) str."""
        if self.given_uids is not None:
            return self.given_uids
        return read_only(Numbered(((self.name, self.count),)).made())

    @property
    def full_uids(self) -> Column:
        """Names that are unique in a joined circuit: ``<id>/<uid>``, (n,) str."""
        if not self.scopes:
            return self.uids
        heads = np.array([f"{scope}/" for scope, _ in self.scopes])
        return np.strings.add(np.repeat(heads, [n for _, n in self.scopes]), self.uids)

    def taken(self, rows: NDArray[np.integer]) -> Group:
        """Return some of the components, with the names that they have here."""
        if self.layer is not None and len(rows) < self.count:
            name, need = self.layer.population, "its texts need all of its cells"
            raise CircuitError(f"population '{name}' cannot be divided: {need}; keep it whole")
        tables = ("params", "labels", "columns")
        columns: dict[str, Any] = {name: _taken(getattr(self, name), rows) for name in tables}
        keys = None if self.keys is None else self.keys[rows]
        counted = isinstance(self.names, Numbered | None)
        names = NamesOfSome(self, rows) if counted else self.uids[rows]
        return replace(self, count=len(rows), names=names, keys=keys, **columns)


@dataclass(frozen=True, eq=False)
class Connections:
    """All connections that carry one variable into accesses of one name.

    Parameters
    ----------
    variable : str
        The variable that flows.
    access : str
        Name of the access of the target (its receptor where it has one).
    source, target : (m,) int32
        Components, numbered through the groups in their order; or their uids, (m,) str.
    delay : (m,) or () float64
        Total latency in seconds.
    data : mapping of str to (m,) float64
        Numbers of each connection (``weight``, ``reverse``, ...). Where they learn, ``dendritic``
        is the part of the delay from the synapse to the target, and ``back`` the time after which
        the synapse sees a spike of its target; both in seconds. A column can have the name of a
        parameter of the rule.
    plasticity : Plasticity, optional
        The rule by which the weights learn.
    name : str
        Of connections that learn.
    """

    variable: str
    access: str
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    delay: Column = field(default_factory=lambda: np.zeros(()))
    data: Mapping[str, Column] = field(default_factory=dict)
    plasticity: Plasticity | None = None
    name: str = ""

    def __new__(cls, *given: Any, **named: Any) -> Connections:
        known = [one.name for one in fields(cls)]
        if lost := [name for name in named if name not in known]:
            say = f"no argument is called '{lost[0]}'{near(lost[0], known)}"
            want = f"data={{'weight': 3.0}} gives numbers of connections, here '{lost[0]}'"
            raise ArgumentError(f"Connections: {say}; {want}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        data: object = self.data
        if not isinstance(data, Mapping):
            want = "a mapping of names to numbers, such as {'weight': 3.0}"
            raise ArgumentError(f"Connections: data must be {want}, got {data!r:.60}")
        columns = _frozen({"source": self.source, "target": self.target, "delay": self.delay})
        for name, column in columns.items():
            object.__setattr__(self, name, column)
        self._take_columns()
        object.__setattr__(self, "data", _frozen(self.data))

    def _take_columns(self) -> None:
        """Let numbers of each synapse that the rule has be columns like all others."""
        rule = self.plasticity
        if not getattr(rule, "columns", None) or rule is None:  # a wrong rule is told of later
            return
        given = {name: one for name, one in rule.columns.items() if isinstance(one, np.ndarray)}
        object.__setattr__(self, "data", {**given, **self.data})
        if all(name in self.data for name in rule.columns):
            object.__setattr__(self, "plasticity", rule.without_columns())

    def __len__(self) -> int:
        return len(self.source)

    def begin_in(self, first: int, last: int) -> bool:
        """Whether a source is one of the components ``first`` to ``last - 1``."""
        return bool(((self.source >= first) & (self.source < last)).any())

    def taken(self, rows: NDArray[np.integer]) -> Connections:
        """Return some of the connections."""
        ends, data = (self.source[rows], self.target[rows]), _taken(self.data, rows)
        delay = self.delay[rows] if self.delay.ndim else self.delay
        learning = self.plasticity, self.name
        return Connections(self.variable, self.access, *ends, delay, data, *learning)

    def expanded(self) -> Connections:
        """Return these connections as columns: themselves, unless a rule gives them."""
        return self

    def digest_input(self) -> Iterator[bytes]:
        """Yield what the digest of a circuit takes in."""
        yield f"{self.variable}:{self.access};".encode()
        if self.plasticity is not None:
            yield f"{self.plasticity.digest_input()};".encode()
        ends = {"source": self.source, "target": self.target, "delay": self.delay}
        for name, column in [*ends.items(), *sorted(self.data.items())]:
            yield column_bytes(name, column)


def joined_params(
    model: type[NDComponent], tables: Sequence[Mapping[str, Column]], counts: Sequence[int]
) -> dict[str, Column]:
    """Return the parameters of several groups of a model, one after the other.

    Where a part has none, it has the default, or NaN: not given.
    """
    out: dict[str, Column] = {}
    for name in dict.fromkeys(n for table in tables for n in table):
        rule = model.params.get(name)
        none = np.nan if rule is None or rule.default is None else rule.default
        columns = [np.asarray(table.get(name, none), dtype=np.float64) for table in tables]
        if all(c.ndim == 0 and c == columns[0] for c in columns):
            out[name] = columns[0]
        else:
            wide = [np.broadcast_to(c, (n,)) for c, n in zip(columns, counts, strict=True)]
            out[name] = np.concatenate(wide)
    return out


def column_bytes(name: str, column: Column) -> bytes:
    """Return a column as the digest takes it in; columns of other shapes or names differ."""
    head = f"{name}:{column.dtype}:{column.shape};".encode()
    return head + np.ascontiguousarray(column).tobytes()
