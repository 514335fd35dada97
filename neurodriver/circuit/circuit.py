"""``Circuit``: what is simulated, as columns; validated once, then immutable."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError
from ..model.component import NDComponent
from ..model.kinds import CircuitKinds, VariableKind
from ..profiling.phases import phased
from ..quantities import is_quantity
from .builders import BUILDERS

if TYPE_CHECKING:
    from .projections import Projection

Column = NDArray[Any]


class Port(NDComponent):
    """Place where an LPU takes or gives a variable; it computes nothing."""

    is_port = True


def _frozen(columns: Mapping[str, ArrayLike]) -> dict[str, Column]:
    """Return views that cannot be written through; quantities stay what they are."""
    out: dict[str, Any] = {
        n: c if is_quantity(c) else np.asarray(c).view() for n, c in columns.items()
    }
    for column in (c for c in out.values() if not is_quantity(c)):
        column.flags.writeable = False
    return out


def _taken(columns: Mapping[str, Column], rows: NDArray[np.integer]) -> dict[str, Column]:
    """Return some rows of columns; one number for all stays one."""
    return {name: c[rows] if c.ndim else c for name, c in columns.items()}


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
    uids : (n,) str array, optional
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
    """

    model: type[NDComponent]
    params: Mapping[str, Column]
    count: int
    given_uids: Column | None = None
    labels: Mapping[str, Column] = field(default_factory=dict)
    hidden: bool = False
    scopes: tuple[tuple[str, int], ...] = ()
    keys: NDArray[np.uint64] | None = None

    def __post_init__(self) -> None:
        for columns in ("params", "labels"):
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
    def uids(self) -> Column:
        """Names of the components, (n,) str."""
        if self.given_uids is not None:
            return self.given_uids
        return np.strings.add(f"{self.name}/", np.arange(self.count).astype("U"))

    @property
    def full_uids(self) -> Column:
        """Names that are unique in a joined circuit: ``<id>/<uid>``, (n,) str."""
        if not self.scopes:
            return self.uids
        heads = np.array([f"{scope}/" for scope, _ in self.scopes])
        return np.strings.add(np.repeat(heads, [n for _, n in self.scopes]), self.uids)

    def taken(self, rows: NDArray[np.integer]) -> Group:
        """Return some of the components, with the names that they have here."""
        columns = _taken(self.params, rows), _taken(self.labels, rows)
        keys = None if self.keys is None else self.keys[rows]
        uids = self.uids[rows]
        return replace(
            self, params=columns[0], count=len(rows), given_uids=uids, labels=columns[1], keys=keys
        )


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
        Components, numbered through the groups in their order.
    delay : (m,) or () float64
        Total latency in seconds.
    data : mapping of str to (m,) float64
        Numbers of each connection (``weight``, ``reverse``, ...).
    """

    variable: str
    access: str
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    delay: Column = field(default_factory=lambda: np.zeros(()))
    data: Mapping[str, Column] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = _frozen({"source": self.source, "target": self.target, "delay": self.delay})
        for name, column in columns.items():
            object.__setattr__(self, name, column)
        object.__setattr__(self, "data", _frozen(self.data))

    def __len__(self) -> int:
        return len(self.source)

    def taken(self, rows: NDArray[np.integer]) -> Connections:
        """Return some of the connections."""
        ends, data = (self.source[rows], self.target[rows]), _taken(self.data, rows)
        delay = self.delay[rows] if self.delay.ndim else self.delay
        return Connections(self.variable, self.access, *ends, delay, data)

    def expanded(self) -> Connections:
        """Return these connections as columns: themselves, unless a rule gives them."""
        return self

    def told(self) -> Iterator[bytes]:
        """Yield what the digest of a circuit takes in."""
        yield f"{self.variable}:{self.access};".encode()
        ends = {"source": self.source, "target": self.target, "delay": self.delay}
        for name, column in [*ends.items(), *sorted(self.data.items())]:
            yield told(name, column)


@dataclass(frozen=True, eq=False)
class Circuit:
    """Components grouped by model and their connections.

    Use ``from_file``, ``from_graph``, ``from_arrays``, ``from_tables`` or ``from_sonata``.
    """

    name: str
    groups: tuple[Group, ...]
    connections: tuple[Connections, ...]
    source: str = ""
    replaced: tuple[Connections, ...] = ()
    """Connections from input ports that lead straight to their sources now (joined circuits)."""
    held: tuple[tuple[str, NDArray[np.int64], NDArray[np.int64]], ...] = ()
    """Variable, input ports, and the components that hold what each has (joined circuits)."""
    order: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Components of each circuit joined here, in its own order."""
    random_namespace: str | None = None
    """Namespace of the random numbers; None: that of the LPU which runs the circuit."""

    @classmethod
    @phased("read file")
    def from_file(
        cls,
        path: str | Path,
        models: Any = (),
        strict: bool = False,
        lenient: bool = False,
    ) -> Circuit:
        """Read a circuit file: GEXF, our own HDF5 or SONATA, told by what is in it.

        Parameters
        ----------
        path : str or Path
            GEXF 1.1 to 1.3, plain or gzipped, in our form or another known one; what `save` wrote;
            or the circuit_config.json of a SONATA circuit (`from_sonata`).
        models : NDComponent subclass, module, path, or nested sequence of these
            Models beside the shipped ones.
        strict : bool
            Turn warnings into errors.
        lenient : bool
            Of GEXF: ignore edges between models without a common variable, with a warning. An
            `LPU` that is given a file or a graph does.

        Raises
        ------
        CircuitError
            With all faults of the file.
        """
        return BUILDERS["from_file"](Path(path), models, strict, lenient)

    def save(self, path: str | Path, compress: bool = False) -> None:
        """Write the circuit to a file, which is there when it is complete.

        Parameters
        ----------
        path : str or Path
            ``.h5`` or ``.hdf5`` for columns, exactly as they are; ``.gexf`` or ``.gexf.gz`` for a
            graph, where the circuit is small.
        compress : bool
            Of HDF5: compress numbers, too.

        Raises
        ------
        NeurodriverError
            When it cannot be written.
        """
        BUILDERS["save"](self, Path(path), compress)

    @classmethod
    @phased("read file")
    def from_tables(
        cls, edges: str | Path, nodes: str | Path | None = None, **columns: Any
    ) -> Circuit:
        """Read tables of edges and nodes: Parquet, CSV or Feather.

        `neurodriver.io.tables.read_tables` explains the arguments: ``model``, and which
        column means what: ``source``, ``target``, ``weight``, ``delay``, ...
        """
        return BUILDERS["from_tables"](edges, nodes, **columns)

    @classmethod
    @phased("read file")
    def from_sonata(
        cls, config: str | Path, models: Mapping[str, Any] | None = None, **more: Any
    ) -> Circuit:
        """Read a SONATA circuit of point neurons from its circuit_config.json.

        ``models`` says what a ``model_template`` becomes, where the known ones do not say it;
        `neurodriver.io.sonata.read_sonata` explains the rest.
        """
        return BUILDERS["from_sonata"](config, models, **more)

    @classmethod
    def from_graph(
        cls,
        graph: Any,
        models: Any = (),
        strict: bool = False,
        name: str = "",
        lenient: bool = False,
    ) -> Circuit:
        """Build from a directed networkx graph, which is not changed.

        Parameters
        ----------
        graph : networkx.DiGraph or MultiDiGraph
            Nodes are components with the attribute ``class``; edges may carry ``delay`` (s),
            ``variable``, ``weight``, ``receptor`` and a reversal potential (mV).
        models, strict, lenient
            As in ``from_file``.
        name : str
            Name used in messages.
        """
        return BUILDERS["from_graph"](graph, models, strict, name, lenient)

    @classmethod
    def from_arrays(
        cls,
        groups: Sequence[tuple[type[NDComponent], int, Mapping[str, ArrayLike], ArrayLike | None]],
        connections: Sequence[Connections | Projection] = (),
        name: str = "circuit",
        strict: bool = False,
        seed: int = 0,
    ) -> Circuit:
        """Build from columns, without an object per component.

        Parameters
        ----------
        groups : sequence of (model, count, params, uids)
            ``params`` are scalars or (count,) arrays; ``uids`` None for ``<model>/<number>``,
            numbered through all groups of the model that have none.
        connections : sequence of Connections or Projection
            Columns, or rules, which are drawn when they are first looked at.
        name : str
            Name used in messages.
        strict : bool
            Turn warnings into errors.
        seed : int
            Seed of what projections draw.

        Raises
        ------
        CircuitError
            With all faults.
        """
        return BUILDERS["from_arrays"](groups, connections, name, strict, seed)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First component number of each group, and the total, (groups + 1,)."""
        return np.concatenate([[0], np.cumsum([g.count for g in self.groups])]).astype(np.int64)

    @property
    def count(self) -> int:
        """Number of components."""
        return int(self.starts[-1])

    @cached_property
    def kinds(self) -> CircuitKinds:
        """Kinds of the variables; CircuitError where two models give one different kinds."""
        return CircuitKinds.agreed([group.model for group in self.groups], self.name)

    @property
    def edges(self) -> int:
        """Number of connections."""
        return sum(len(c) for c in self.connections)

    @property
    def usual_variables(self) -> list[str]:
        """What is recorded when nobody says what: potentials and events, else all variables."""
        usual = self.kinds.updated(VariableKind.POTENTIAL, VariableKind.EVENT)
        return usual or sorted({v for g in self.groups for v in g.model.updates})

    @cached_property
    def uids(self) -> Column:
        """Names of all components in order, unique, (count,) str."""
        parts = [g.full_uids for g in self.groups]
        return np.concatenate(parts) if parts else np.empty(0, "U1")

    def members(self, scope: str | None) -> NDArray[np.bool_]:
        """Return which components belong to a circuit joined here; all for None."""
        if scope is None:
            return np.ones(self.count, dtype=bool)
        parts = [part for g in self.groups for part in g.scopes or (("", g.count),)]
        return np.repeat([name == scope for name, _ in parts], [count for _, count in parts])

    def numbers(self, scope: str | None) -> NDArray[np.int64]:
        """Return the components of a circuit joined here, in its own order; all for None."""
        known = None if scope is None else self.order.get(scope)
        return np.flatnonzero(self.members(scope)) if known is None else known

    def holders(self, variable: str) -> NDArray[np.int64]:
        """Return for each port the component that holds its value of a variable, -1 elsewhere.

        An output port shows what its edge brings within the shortest latency; an input port what
        a manager's pattern brings, if it is recorded.
        """
        out = np.full(self.count, -1, dtype=np.int64)
        for links in self.connections:
            if links.variable == variable and not links.access:
                out[links.target] = links.source
        for name, ports, components in self.held:
            if name == variable:
                out[ports] = components
        return out

    def group(self, model: str) -> Group:
        """Return the group of that model name."""
        return next(g for g in self.groups if g.name == model)

    def find(self, uids: Sequence[str]) -> NDArray[np.int64]:
        """Return component numbers of names, -1 where there is none, (len(uids),) int64."""
        order, known = self._sorted_uids
        wanted = np.asarray(uids, dtype=np.str_)
        if not len(known):
            return np.full(len(wanted), -1)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[at] == wanted, order[at], -1)

    @cached_property
    def _sorted_uids(self) -> tuple[Column, Column]:
        order = np.argsort(self.uids, kind="stable")
        return order, self.uids[order]

    @cached_property
    @phased("digest")
    def digest(self) -> str:
        """Hash of everything the circuit holds, 64 hexadecimal digits."""
        return _digest(self)

    def with_parts(self, groups: Iterable[Group], connections: Iterable[Connections]) -> Circuit:
        """Return a circuit with other groups and connections and the same name."""
        return replace(self, groups=tuple(groups), connections=tuple(connections))

    def in_random_namespace(self, namespace: str | None) -> Circuit:
        """Return the same circuit with another namespace of its random numbers.

        Equal uids draw independent numbers in different namespaces. An LPU without a Manager has
        the empty one. None stands for the id that a Manager gives the LPU.
        """
        return replace(self, random_namespace=_checked_namespace(namespace, self.name))

    def __str__(self) -> str:
        counts = ", ".join(f"{g.count:,} {g.name}" for g in self.groups)
        return f"{self.name}: {counts}; {self.edges:,} connections"


def _checked_namespace(namespace: object, circuit: str) -> str | None:
    if namespace is None or (isinstance(namespace, str) and "\0" not in namespace):
        return namespace
    want = "a namespace of random numbers must be None or a text without null characters"
    raise CircuitError(f"{circuit}: {want}, got {namespace!r:.60}")


def _digest(circuit: Circuit) -> str:
    state = hashlib.sha256()
    if circuit.random_namespace is not None:
        state.update(f"random namespace {circuit.random_namespace!r};".encode())
    for group in circuit.groups:
        state.update(f"{group.name}:{group.count};".encode())
        if group.given_uids is not None:
            state.update("\0".join(group.given_uids.tolist()).encode())
        for name, column in sorted({**group.params, **group.labels}.items()):
            state.update(told(name, column))
    for links in circuit.connections:
        for part in links.told():
            state.update(part)
    return state.hexdigest()


def told(name: str, column: Column) -> bytes:
    """Return a column as the digest takes it in; columns of other shapes or names differ."""
    head = f"{name}:{column.dtype}:{column.shape};".encode()
    return head + np.ascontiguousarray(column).tobytes()
