"""Several circuits, wired through ports, -> one circuit.

A value that a component has in row k leaves through an output port and stands at the input port of
the other circuit in row k + 1. So an edge ``component -> output port``, the pattern, and an edge
``input port -> component`` are together one connection whose latency is that of both edges and of
the pattern, one step for the crossing included. Where both circuits are here, that connection
takes the place of the edge from the input port; the order of the target's inputs stays. Where the
source is elsewhere, the input port stays, and the exchange writes into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit, Connections, Group, Port
from ...circuit.groups import Layer, joined_params
from ...circuit.node_columns import joined_columns
from ...circuit.numbered import Column
from ...circuit.random_keys import component_keys
from ...errors import CircuitError
from ...model.component import NDComponent, State
from ..delays import steps_of
from .aggregate import insert_aggregators, joined

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PortSource:
    """What an output port publishes.

    Attributes
    ----------
    port : (m,) int64
        Output ports that an edge leads to, ascending.
    component : (m,) int64
        The component behind each.
    variable : (m,) str
    steps : (m,) int64
        Latency of the edge to the port.
    """

    port: Numbers
    component: Numbers
    variable: Column
    steps: Numbers


@dataclass(frozen=True, eq=False)
class PortLinks:
    """Connections from output ports of one circuit to input ports of another, or of itself.

    Attributes
    ----------
    source, target : str
        Ids of the circuits.
    out_port, in_port : (m,) int64
        Component numbers in their circuits.
    steps : (m,) or () int64
        Latency beyond the one step of every crossing.
    """

    source: str
    target: str
    out_port: Numbers
    in_port: Numbers
    steps: Numbers = field(default_factory=lambda: np.zeros((), np.int64))


@dataclass(frozen=True, eq=False)
class Imports:
    """Input ports that another process feeds.

    Attributes
    ----------
    target : str
        Id of the circuit.
    in_port : (m,) int64
        Component numbers there.
    place : (m,) int64
        Which of the imported values each one takes.
    steps : (m,) int64
        Latency beyond the one step of the crossing: edge to the output port, and pattern.
    """

    target: str
    in_port: Numbers
    place: Numbers
    steps: Numbers


@dataclass(frozen=True, eq=False)
class Relay:
    """Components that hold what input ports hold: in row r what their sources had in row r - s.

    Attributes
    ----------
    component : (m,) int64
    source : (m,) int64
    steps : (m,) int64
        The latency s.
    imported : bool
        Whether the sources are imports.
    """

    variable: str
    component: Numbers
    source_variable: str
    source: Numbers
    steps: Numbers
    imported: bool = False


@dataclass(frozen=True, eq=False)
class Joined:
    """Result of ``join``.

    Attributes
    ----------
    circuit : Circuit
        ``scopes`` of its groups says which components belong to which circuit.
    numbers : dict of str to (count,) int64
        Component numbers of each circuit (its Aggregators included) in the joint one.
    parts : dict of str to Circuit
        The circuits with their Aggregators.
    imports : int
        Number of the group whose row k holds what other processes had in row k - 1; -1: none.
    """

    circuit: Circuit
    numbers: dict[str, Numbers]
    parts: dict[str, Circuit]
    relays: list[Relay]
    imports: int = -1


def port_sources(circuit: Circuit, dt: float) -> PortSource:
    """Return what the output ports of a circuit publish.

    Raises
    ------
    CircuitError
        When two edges lead to one port.
    """
    is_port = np.repeat([g.is_port for g in circuit.groups], [g.count for g in circuit.groups])
    ports, components, steps, names = [], [], [], []
    for links in circuit.connections:
        rows = np.flatnonzero(is_port[links.target])
        if len(rows):
            ports.append(links.target[rows].astype(np.int64))
            components.append(links.source[rows].astype(np.int64))
            steps.append(np.broadcast_to(steps_of(links, dt), (len(links),))[rows])
            names.append(np.full(len(rows), links.variable))
    if not ports:
        none = np.empty(0, dtype=np.int64)
        return PortSource(none, none, np.empty(0, dtype="U1"), none)
    port = np.concatenate(ports)
    order = np.argsort(port, kind="stable")
    twice = np.flatnonzero(np.diff(port[order]) == 0)
    if len(twice):
        uid = circuit.uids[port[order][twice[0]]]
        more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
        raise CircuitError(
            f"{circuit.name}: node '{uid}'{more} (Port): several edges lead to it, but a port "
            f"publishes one value; leave one of them, or add a component that sums"
        )
    columns = (np.concatenate(c)[order] for c in (components, names, steps))
    component, variable, step = columns
    return PortSource(port[order], component, variable, step)


def join(
    circuits: Mapping[str, Circuit],
    links: Sequence[PortLinks],
    imports: Sequence[Imports],
    dt: float,
    imported: int = 0,
    held: Sequence[tuple[str, str, Numbers]] = (),
) -> Joined:
    """Join circuits into one; components of one model become one group.

    Parameters
    ----------
    circuits : mapping of id to Circuit
    links : sequence of PortLinks
        Between these circuits. Every input port is fed at most once.
    imports : sequence of Imports
        From elsewhere.
    dt : float
        Step in seconds.
    imported : int
        How many values come from elsewhere.
    held : sequence of (id, variable, (m,) int64)
        Input ports whose values have to be there to be read (recorded ones).
    """
    parts = {name: insert_aggregators(circuit) for name, circuit in circuits.items()}
    groups, numbers = _merge(parts)
    if imported:
        uids = np.strings.add("import ", np.arange(imported).astype("U"))
        groups.append(Group(Port, {}, imported, uids, hidden=True))
    start = np.concatenate([[0], np.cumsum([g.count for g in groups])])
    phase = Circuit.from_columns("", groups, ()).phase_of
    feed = _Feeds(int(start[-1]))
    for one in links:
        feed.add(one, parts, numbers, dt)
    for entry in imports:
        port = numbers[entry.target][entry.in_port]
        feed.source[port] = start[-2] + entry.place
        feed.steps[port] = entry.steps
    sets: dict[tuple[str, str, str], list[Connections]] = {}
    replaced = []
    relays = _Relays(int(start[-1]))
    for name, part in parts.items():
        for one_set in part.connections:
            ends = (numbers[name][e].astype(np.int32) for e in (one_set.source, one_set.target))
            source, target = ends
            moved = replace(_in_scope(one_set, name), source=source, target=target)
            crossed, original = _crossed(moved, feed, relays, dt, phase)
            if original is not None:
                replaced.append(original)
            learns = moved.name if moved.plasticity is not None else ""
            sets.setdefault((moved.variable, moved.access, learns), []).append(crossed)
    shown = []
    for lpu, variable, inner in held:
        ports = numbers[lpu][inner]
        ports = ports[feed.source[ports] >= 0]
        direct = (feed.variable[ports] < 0) & (feed.steps[ports] == 0)
        shown.append((variable, ports[direct], feed.source[ports[direct]]))
        ports = ports[~direct]
        shown.append((variable, ports, relays.of(variable, ports, feed).astype(np.int64)))
    connections = [joined(p) for p in sets.values()] + relays.connections(dt)
    name = " + ".join(parts)
    every = (*groups, *relays.groups())
    more: dict[str, Any] = {
        "replaced": tuple(replaced),
        "held": tuple(shown),
        "joined_from": numbers,
    }
    more |= {"source": name, "random_namespace": ""}
    more["spaces"] = {
        f"{scope}/{population}": space
        for scope, part in parts.items()
        for population, space in part.spaces.items()
    }
    circuit = Circuit.from_columns(name, every, connections, **more)
    own = len(groups) - 1 if imported else -1
    return Joined(circuit, numbers, parts, relays.starts, own)


def _in_scope(links: Connections, scope: str) -> Connections:
    """Return connections as columns; those that learn with names of the joint circuit."""
    out, rule = links.expanded(), links.plasticity
    if rule is None:
        return out
    released = {
        modulator: np.strings.add(f"{scope}/", np.asarray(uids, np.str_))
        for modulator, uids in rule.released_by.items()
    }
    return replace(out, plasticity=rule.released(released), name=f"{scope}/{links.name}")


def _layer_in_scope(layer: Layer | None, scope: str) -> Layer | None:
    """Return a layer with the names of populations and values that the joint circuit has."""
    if layer is None:
        return None
    fields = {
        name: replace(one, name=f"{scope}/{one.name}" if one.name else "")
        for name, one in layer.fields.items()
    }
    sources = {
        name: tuple(f"{scope}/{population}" for population in some)
        for name, some in layer.sources.items()
    }
    return Layer(f"{scope}/{layer.population}", fields, sources)


class _Feeds:
    """For every component of the joint circuit: what feeds it, if it is an input port."""

    def __init__(self, count: int) -> None:
        self.source = np.full(count, -1, dtype=np.int64)
        self.steps = np.zeros(count, dtype=np.int64)  # added to those of the edge from the port
        self.variable = np.full(count, -1, dtype=np.int64)  # -1: imported, any variable
        self.names: list[str] = []

    def add(
        self,
        links: PortLinks,
        parts: Mapping[str, Circuit],
        numbers: Mapping[str, Numbers],
        dt: float,
    ) -> None:
        """Note the sources of some input ports; output ports without a source give nothing."""
        known = port_sources(parts[links.source], dt)
        if not len(known.port):
            return
        at = np.minimum(np.searchsorted(known.port, links.out_port), len(known.port) - 1)
        good = known.port[at] == links.out_port
        at = at[good]
        port = numbers[links.target][links.in_port[good]]
        self.source[port] = numbers[links.source][known.component[at]]
        extra = np.broadcast_to(links.steps, good.shape)[good]
        self.steps[port] = known.steps[at] + extra
        names, which = np.unique(known.variable[at], return_inverse=True)
        place = [self._name(str(n)) for n in names]
        self.variable[port] = np.asarray(place, dtype=np.int64)[which]

    def _name(self, variable: str) -> int:
        if variable not in self.names:
            self.names.append(variable)
        return self.names.index(variable)


def _merge(parts: Mapping[str, Circuit]) -> tuple[list[Group], dict[str, Numbers]]:
    """Return groups of all parts, one for each model, and where each part's components went."""
    members: dict[Any, list[tuple[str, int]]] = {}
    for name, part in parts.items():
        for number, group in enumerate(part.groups):
            own = None if group.layer is None else (name, number)  # one population is one group
            kind = group.model, group.hidden, (group.phase, group.every, group.first), own
            members.setdefault(kind, []).append((name, number))
    numbers = {name: np.empty(part.count, dtype=np.int64) for name, part in parts.items()}
    groups, first = [], 0
    for (model, hidden, (phase, every, first_step), _), entries in members.items():
        pieces = [parts[name].groups[number] for name, number in entries]
        counts = [p.count for p in pieces]
        for (name, number), piece in zip(entries, pieces, strict=True):
            begin = int(parts[name].starts[number])
            numbers[name][begin : begin + piece.count] = first + np.arange(piece.count)
            first += piece.count
        keys = None
        if model.draws_random():  # of each part's namespace, so the joined circuit's is empty
            keys = np.concatenate([component_keys(parts[n], number) for n, number in entries])
        groups.append(
            Group(
                model,
                joined_params(model, [p.params for p in pieces], counts),
                sum(counts),
                np.concatenate([p.uids for p in pieces]),
                {
                    k: np.concatenate([p.labels[k] for p in pieces])
                    for k in pieces[0].labels
                    if all(k in p.labels for p in pieces)  # `extern` only where a file had it
                },
                hidden,
                tuple((name, p.count) for (name, _), p in zip(entries, pieces, strict=True)),
                keys,
                joined_columns([p.columns for p in pieces], counts),
                phase=phase,
                every=every,
                first=first_step,
                layer=_layer_in_scope(pieces[0].layer, entries[0][0]),
                learning=frozenset().union(*(p.learning for p in pieces)),
            )
        )
    return groups, numbers


def _crossed(
    links: Connections, feed: _Feeds, relays: _Relays, dt: float, phase: NDArray[np.int32] | None
) -> tuple[Connections, Connections | None]:
    """Lead connections from fed ports straight to the sources; also return what they replace."""
    rows = np.flatnonzero(feed.source[links.source] >= 0)
    if not len(rows):
        return links, None
    m = len(links)
    steps = np.broadcast_to(steps_of(links, dt, phase), (m,)).copy()
    source = links.source.copy()
    ports = links.source[rows]
    known = np.array([n == links.variable for n in feed.names] + [True])
    straight = known[feed.variable[ports]]
    source[rows[straight]] = feed.source[ports[straight]]
    steps[rows[straight]] += feed.steps[ports[straight]]
    if not straight.all():
        source[rows[~straight]] = relays.of(links.variable, ports[~straight], feed)
    delay = np.broadcast_to(links.delay, (m,))[rows]
    data = {k: np.broadcast_to(c, (m,))[rows] for k, c in links.data.items()}
    ends = links.source[rows], links.target[rows]
    original = Connections(links.variable, links.access, *ends, delay, data)
    return replace(links, source=source, delay=steps * dt), original


class _Relays:
    """Hidden components that hold what an input port holds: one step after its source."""

    def __init__(self, first: int) -> None:
        self._next = first
        self._groups: list[Group] = []
        self._links: list[tuple[str, Numbers, Numbers, Numbers]] = []
        self._known: dict[tuple[str, int], int] = {}
        self.starts: list[Relay] = []

    def of(self, variable: str, ports: Numbers, feed: _Feeds) -> Numbers:
        """Return the relays of a variable for some input ports, made where there is none."""
        new = [p for p in np.unique(ports).tolist() if (variable, p) not in self._known]
        names = {p: (*feed.names, variable)[feed.variable[p]] for p in new}  # -1: any variable
        for name, imported in sorted({(names[p], feed.variable[p] < 0) for p in new}):
            some = [p for p in new if (names[p], feed.variable[p] < 0) == (name, imported)]
            mine = np.array(some)
            number = self._next + np.arange(len(mine))
            self._next += len(mine)
            self._known.update(
                {(variable, p): n for p, n in zip(mine.tolist(), number.tolist(), strict=True)}
            )
            uids = np.strings.add(f"relay of {variable} at port ", mine.astype("U"))
            self._groups.append(Group(relay(name, variable), {}, len(mine), uids, hidden=True))
            self._links.append((name, feed.source[mine], number, feed.steps[mine]))
            ends = number, name, feed.source[mine], feed.steps[mine]
            self.starts.append(Relay(variable, *ends, bool(imported)))
        return np.array([self._known[variable, p] for p in ports.tolist()], dtype=np.int32)

    def groups(self) -> list[Group]:
        """Return the groups of the relays."""
        return self._groups

    def connections(self, dt: float) -> list[Connections]:
        """Return the connections from the sources to the relays."""
        return [
            Connections(name, name, s.astype(np.int32), t.astype(np.int32), steps * dt)
            for name, s, t, steps in self._links
        ]


def relay(source: str, variable: str) -> type[NDComponent]:
    """Return the model of a component that passes one variable on as another (or the same)."""
    read = f"input_{source}" if source == variable else source
    body = {
        "__doc__": "What an input port holds: the value of its source, one step later.",
        "accesses": (source,),
        "updates": (variable,),
        "states": {variable: State()},
        "update": f"{variable} = {read};",
    }
    return type(f"PortRelay_{source}_{variable}", (NDComponent,), body)
