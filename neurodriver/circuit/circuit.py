"""``Circuit``: what is simulated, as columns; validated once, then immutable."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError
from ..model.kinds import CircuitKinds, VariableKind
from ..profiling.phases import phased
from .builders import BUILDERS
from .changes import CircuitChanges
from .counted_names import CountedNames, numbers_of_group
from .followed import CircuitNeighbours
from .groups import Connections as Connections
from .groups import Group as Group
from .groups import Port as Port
from .groups import column_bytes as column_bytes
from .groups import read_only
from .numbered import Column as Column
from .numbered import Numbered
from .readers import CircuitReaders
from .selection import Selection, named_populations, whole
from .summary import circuit_html, circuit_text
from .uids import Uids

if TYPE_CHECKING:
    from .population import Population
    from .projections import Projection
    from .space import Space


@dataclass(frozen=True, eq=False, init=False)
class Circuit(CircuitReaders, CircuitNeighbours, CircuitChanges):
    """Populations of components and the connections between them.

    Circuits that exist already are read by ``from_file``, ``from_graph``, ``from_arrays``,
    ``from_tables`` or ``from_sonata``.

    Parameters
    ----------
    populations : mapping of str to Population, or sequence of Population
        With a mapping its keys become the names of populations that have none.
    projections : sequence of Projection or Connections
        What connects them.
    order : "listed", "derived", or sequence of sequence of Population, optional
        Which populations are computed after others within a step; see `in_order`.
    name : str
        Name used in messages.
    seed : int
        Seed of what projections and parameters draw.
    strict : bool
        Turn warnings into errors.
    shared : mapping of str to value
        Fields that models declare as ``shared``: one value for the circuit.

    Raises
    ------
    CircuitError
        With all faults.
    """

    name: str
    groups: tuple[Group, ...]
    connections: tuple[Connections, ...]
    source: str = ""
    replaced: tuple[Connections, ...] = ()
    """Connections from input ports that lead straight to their sources now (joined circuits)."""
    held: tuple[tuple[str, NDArray[np.int64], NDArray[np.int64]], ...] = ()
    """Variable, input ports, and the components that hold what each has (joined circuits)."""
    joined_from: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Components of each circuit joined here, in its own order."""
    spaces: Mapping[str, Space] = field(default_factory=dict)
    """Where the cells of populations are, by name of the population."""
    random_namespace: str | None = None
    """Namespace of the random numbers; None: that of the LPU which runs the circuit."""

    def __init__(
        self,
        populations: Mapping[str, Population] | Iterable[Population],
        projections: Iterable[Projection | Connections] = (),
        *,
        order: Any = None,
        name: str = "circuit",
        seed: int = 0,
        strict: bool = False,
        shared: Mapping[str, Any] | None = None,
    ) -> None:
        build = BUILDERS["from_populations"]
        made = build(populations, projections, name, seed, strict, order, shared=shared or {})
        vars(self).update(vars(made))

    @classmethod
    def from_columns(
        cls, name: str, groups: Iterable[Group], connections: Iterable[Connections], **more: Any
    ) -> Circuit:
        """Return a circuit of columns that are known to be right; ``more`` are further fields."""
        made = cls.__new__(cls)
        vars(made).update({f.name: f.default for f in fields(cls)}, joined_from={}, spaces={})
        parts = {"groups": tuple(groups), "connections": tuple(connections)}
        vars(made).update({"name": name, **parts, **more})
        return made

    def changed(self, **changes: Any) -> Circuit:
        """Return a circuit that differs in some fields."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        return self.from_columns(**{**kept, **changes})

    def in_order(self, order: Any) -> Circuit:
        """Return the same circuit with an order of its populations within a step.

        Phases are computed one after the other. A connection whose delay is 0 brings what an
        earlier phase wrote in the same step; from the same phase or a later one it takes one step.
        Delays above 0 mean what they mean without an order.

        Parameters
        ----------
        order : "listed", "derived", or sequence
            A list of phases, each a list of populations or their names. ``"listed"``: each
            population after the one before it. ``"derived"``: each population after those from
            which connections of delay 0 lead to it.

        Raises
        ------
        CircuitError
            With all faults: populations that are left out, named twice or unknown; a loop of
            connections with delay 0, where the order is derived.

        Examples
        --------
        >>> Circuit.from_file("lamina.gexf").in_order("derived")  # doctest: +SKIP
        """
        return BUILDERS["in_order"](self, order)

    @property
    def phases(self) -> tuple[tuple[str, ...], ...]:
        """Names of the populations of each phase; one phase where there is no order."""
        found: dict[int, list[str]] = {}
        for name, members in self.populations.items():
            of = self.group_of(members.numbers)
            for phase in sorted({self.groups[g].phase for g in np.unique(of).tolist()}):
                found.setdefault(phase, []).append(name)
        return tuple(tuple(found[phase]) for phase in sorted(found))

    @cached_property
    def phase_of_group(self) -> NDArray[np.int64] | None:
        """Phase of each group, -1 for ports, (groups,); None where all have one phase."""
        if not any(group.phase for group in self.groups):
            return None
        return np.array([-1 if g.is_port else g.phase for g in self.groups], dtype=np.int64)

    @cached_property
    def phase_of(self) -> NDArray[np.int32] | None:
        """Phase of each component, -1 for ports, (count,); None where all have one phase."""
        phase = self.phase_of_group
        counts = [group.count for group in self.groups]
        return None if phase is None else np.repeat(phase.astype(np.int32), counts)

    def save(self, path: str | Path, compress: bool = False) -> None:
        """Write the circuit to a file, which is there when it is complete.

        Parameters
        ----------
        path : str or Path
            ``.h5`` or ``.hdf5`` for columns, exactly as they are; ``circuit_config.json`` for
            SONATA, with its files in the folder ``circuit_config``; ``.nir`` for models of NIR;
            ``.gexf`` or ``.gexf.gz`` for a graph, where the circuit is small.
        compress : bool
            Of HDF5 and SONATA: compress numbers, too.

        Raises
        ------
        NeurodriverError
            When it cannot be written.
        """
        BUILDERS["save"](self, Path(path), compress)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First component number of each group, and the total, (groups + 1,)."""
        return np.concatenate([[0], np.cumsum([g.count for g in self.groups])]).astype(np.int64)

    def group_of(self, numbers: ArrayLike) -> NDArray[np.int64]:
        """Return the numbers of the groups that components belong to, by their own numbers."""
        return np.asarray(np.searchsorted(self.starts, numbers, side="right") - 1)

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
        parts = [g.full_uids for g in self.groups] or [np.empty(0, "U1")]
        return read_only(np.concatenate(parts) if len(parts) > 1 else parts[0])

    @cached_property
    def populations(self) -> Mapping[str, Selection]:
        """Populations by name; without names, the components of each model are one.

        Names come from the `Population` objects, or from the column ``population`` of a file.
        """
        return named_populations(self)

    def select(self, mask: Any = None, **conditions: Any) -> Selection:
        """Return the components that fulfil conditions on node columns.

        For example ``circuit.select(type="T4a", side="left")``. `Selection.select` explains the
        conditions.
        """
        return whole(self).select(mask, **conditions)

    def members(self, scope: str | None) -> NDArray[np.bool_]:
        """Return which components belong to a circuit joined here; all for None."""
        if scope is None:
            return np.ones(self.count, dtype=bool)
        parts = [part for g in self.groups for part in g.scopes or (("", g.count),)]
        return np.repeat([name == scope for name, _ in parts], [count for _, count in parts])

    def numbers(self, scope: str | None) -> NDArray[np.int64]:
        """Return the components of a circuit joined here, in its own order; all for None."""
        known = None if scope is None else self.joined_from.get(scope)
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

    def find(self, uids: Uids) -> NDArray[np.int64]:
        """Return component numbers of names, -1 where there is none, (len(uids),) int64."""
        if (own := numbers_of_group(self, uids)) is not None:
            return own
        if (counted := self._counted) is not None:
            return counted.find(uids)
        order, known = self._sorted_uids
        wanted = np.asarray(uids, dtype=np.str_)
        if not len(known):
            return np.full(len(wanted), -1)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[at] == wanted, order[at], -1)

    @cached_property
    def _counted(self) -> CountedNames | None:
        return CountedNames.of(self)

    @cached_property
    def _sorted_uids(self) -> tuple[Column, Column]:
        order = np.argsort(self.uids, kind="stable")
        return order, self.uids[order]

    @cached_property
    @phased("digest")
    def digest(self) -> str:
        """Hash of everything that is simulated, 64 hexadecimal digits.

        Node columns and names of populations are not part of it.
        """
        return hash_of(self)

    def with_parts(self, groups: Iterable[Group], connections: Iterable[Connections]) -> Circuit:
        """Return a circuit with other groups and connections and the same name."""
        return self.changed(groups=groups, connections=connections)

    def in_random_namespace(self, namespace: str | None) -> Circuit:
        """Return the same circuit with another namespace of its random numbers.

        Equal uids draw independent numbers in different namespaces. An LPU without a Manager has
        the empty one. None stands for the id that a Manager gives the LPU.
        """
        return self.changed(random_namespace=_checked_namespace(namespace, self.name))

    __repr__, _repr_html_ = circuit_text, circuit_html

    def __str__(self) -> str:
        counts = ", ".join(f"{g.count:,} {g.name}" for g in self.groups)
        return f"{self.name}: {counts}; {self.edges:,} connections"


def _checked_namespace(namespace: object, circuit: str) -> str | None:
    if namespace is None or (isinstance(namespace, str) and "\0" not in namespace):
        return namespace
    want = "a namespace of random numbers must be None or a text without null characters"
    raise CircuitError(f"{circuit}: {want}, got {namespace!r:.60}")


def hash_of(circuit: Circuit, layers: bool = True) -> str:
    """Return the digest of a circuit; older versions left out fields and sources, ``layers``."""
    state = hashlib.sha256()
    if circuit.random_namespace is not None:
        state.update(f"random namespace {circuit.random_namespace!r};".encode())
    for group in circuit.groups:
        state.update(f"{group.name}:{group.count};".encode())
        if isinstance(group.names, Numbered):
            for names in group.names.joined():
                state.update(names)
        elif group.names is not None:
            state.update("\0".join(group.uids.tolist()).encode())
        for name, column in sorted({**group.params, **group.labels}.items()):
            state.update(column_bytes(name, column))
        if group.phase:
            state.update(f"phase {group.phase};".encode())
        if (group.every, group.first) != (1, 0):
            state.update(f"every {group.every} from {group.first};".encode())
        if group.learning:
            state.update(f"learning {sorted(group.learning)};".encode())
        for part in group.layer.digest_input() if layers and group.layer is not None else ():
            state.update(part)
    for name, space in sorted(circuit.spaces.items()):
        state.update(f"space {name!r};".encode())
        for part in space.digest_input():
            state.update(part)
    for links in circuit.connections:
        for part in links.digest_input():
            state.update(part)
    return state.hexdigest()
