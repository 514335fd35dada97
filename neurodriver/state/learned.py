"""What connections have learned: from a backend into a ``LearnedState``, and back.

A backend stores the events of sources and targets by its own rows and places. Here a source, or a
target, is known by one of its connections: their order is that of the circuit on every backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..circuit.circuit import Connections
from ..circuit.drawn import Drawn
from ..circuit.plastic import learning_connections, numbers_of_synapses
from ..errors import Faults, StateError, quoted
from ..model.synapse_traces import anchors
from ..plan.delays import axonal_of, forward_of, times_of
from ..plan.program import Program
from ..plan.spikes.learning import MODULATORS, NEVER, LearningPlan
from .snapshot import LearnedState, Snapshot
from .synapses import Synapses, SynapsesOfGroup

Numbers = NDArray[np.int64]

LEARNED_COLUMNS = ("source", "arrival", "target", "spikes", "level", "dosed")
"""Columns of a `LearnedState` that are not named by the rule."""

TEXTS_RUN = 5
"""Word of ``swept_step``: texts of intervals before this step have been run, on a GPU."""

ANCHORS = 2
"""Spikes of a target before those that some synapse has not applied: what traces are read from."""


def take_learned(backend: Backend, step: int) -> dict[str, LearnedState]:
    """Return what the connections have learned when ``step`` steps are done, by their names."""
    every = [*_learning(backend.program)]
    if every:
        backend.live.catch_up(step)
    return {links.name: _taken(Synapses(backend, links)) for links in every}


def _learning(program: Program) -> Iterator[Connections]:
    """Yield the connections that learn, where there are any."""
    return (links for links in learning_connections(program.circuit) if len(links))


def _taken(synapses: Synapses) -> LearnedState:
    parts = [part for part in synapses.parts if part.of_events]
    if not parts:
        return _of_graded(synapses)
    sources = [_SourceRows(synapses, part) for part in parts]
    targets = [_Targets(synapses, part) for part in parts]
    example = _joined([one.example for one in sources])
    _, known = np.unique(identity(synapses.links, synapses.dt, example), axis=0, return_index=True)
    source = {name: _joined([one.read(name) for one in sources])[known] for name in _pre(synapses)}
    most = max((one.kept() for one in targets), default=0)
    target = {name: _joined([one.read(name, most) for one in targets]) for name in _post(synapses)}
    return LearnedState(
        synapses.learns,
        synapses.clamped(),
        {name: synapses.read(name) for name in synapses.names},
        example[known],
        source.pop("arrivals").astype(np.int64),
        source,
        _joined([one.example for one in targets]),
        target.pop("spikes").astype(np.int64),
        target,
        *synapses.modulators(),
    )


def _of_graded(synapses: Synapses) -> LearnedState:
    """Return what synapses of graded neurons have learned: nobody keeps a history there."""
    none = np.zeros(0, np.int64)
    own = {name: synapses.read(name) for name in synapses.names}
    empty = np.zeros((0, 0), np.int64)
    level = np.zeros(0, synapses.backend.program.dtype)
    return LearnedState(
        synapses.learns, 0, own, none, none, {}, none, empty, {}, level, none
    )  # fmt: skip


def check_learned(program: Program, snapshot: Snapshot, faults: Faults) -> None:
    """Note connections that learn whose state a snapshot does not have."""
    for links in _learning(program):
        said, state = f"connections {quoted(links.name)}", snapshot.learned.get(links.name)
        if state is None:
            faults.add(f"what the {said} have learned was not saved")
            continue
        assert links.plasticity is not None
        wanted = {*numbers_of_synapses(links)}
        held = {len(column) for column in state.synapses.values()}
        if state.synapses.keys() != wanted or held != {len(links)}:
            got = f"{', '.join(sorted(state.synapses))} of {max(held, default=0):,} synapses"
            want = f"{', '.join(sorted(wanted))} of {len(links):,}"
            faults.add(f"{said}: there are {want}, but {got} were saved")
        traces = {"pre": links.plasticity.pre, "post": links.plasticity.post}
        for side, names in traces.items():
            if getattr(state, side).keys() != names.keys():
                faults.add(f"{said}: other traces were saved than {side} of the rule has")
        if len(state.level) not in (len(links.plasticity.doses()), anchors(links.plasticity)):
            faults.add(f"{said}: other modulators were saved than the rule has")


def put_learned(backend: Backend, snapshot: Snapshot) -> None:
    """Let a backend's connections go on with what a snapshot says that they have learned."""
    for links in _learning(backend.program):
        synapses, state = Synapses(backend, links), snapshot.learned[links.name]
        for name, values in state.synapses.items():
            synapses.write(name, values)
        known = identity(synapses.links, synapses.dt, state.source)
        for number, part in enumerate(synapses.parts):
            backend.live.write(part.key("learning"), int(state.learns))
            if not part.of_events:
                continue
            _SourceRows(synapses, part).write(state, known)
            waiting = _Targets(synapses, part).write(state, snapshot.step)
            swept = np.zeros(8, np.int64)
            swept[:2] = snapshot.step, waiting
            swept[TEXTS_RUN] = snapshot.step
            _write_each(backend, part, "swept_step", swept)
            for name in ("level", "dosed"):
                one = backend.array(part.key(name))[:MODULATORS].copy()
                one[: len(state.level)] = getattr(state, name)
                _write_each(backend, part, name, one)
            _write_first(backend, part, "clamped", 0 if number else state.clamped)


def _pre(synapses: Synapses) -> list[str]:
    return ["arrivals", *synapses.rule.pre]


def _post(synapses: Synapses) -> list[str]:
    return ["spikes", *synapses.rule.post]


def _joined(columns: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(columns, axis=-1)


def identity(links: Connections, dt: float, connection: Numbers) -> Numbers:
    """Return source and place on the way of some connections, (n, 4)."""
    back = np.rint(times_of(links, "back") / dt)
    way = (axonal_of(links, dt), forward_of(links, dt), back.astype(np.int64))
    shape = connection.shape
    places = [np.broadcast_to(c[connection] if c.ndim else c, shape) for c in way]
    return np.stack([_sources_of(links, connection), *places], axis=1)


def _sources_of(links: Connections, connection: Numbers) -> Numbers:
    """Return the sources of some connections; those of a projection need not be drawn."""
    if not isinstance(links, Drawn):
        return links.source[connection].astype(np.int64)
    ends = np.cumsum(links.rows().count)
    return links.ends.source.start + np.searchsorted(ends, connection, side="right")


def _write_each(backend: Backend, part: SynapsesOfGroup, name: str, one: NDArray[Any]) -> None:
    """Write an array of which each thread may have its own."""
    copies = len(backend.array(part.key(name))) // one.size
    backend.live.write(part.key(name), np.tile(one.reshape(-1), copies))


def _write_first(backend: Backend, part: SynapsesOfGroup, name: str, value: int) -> None:
    """Write a number that is the sum of what threads have."""
    values = np.zeros(len(backend.array(part.key(name))), np.int64)
    values[0] = value
    backend.live.write(part.key(name), values)


class _SourceRows:
    """The rows of sources that a plan has connections of."""

    def __init__(self, synapses: Synapses, part: SynapsesOfGroup) -> None:
        self.synapses, self.part, self.backend = synapses, part, synapses.backend
        assert isinstance(part.plan, LearningPlan)
        self.plan, first = part.plan, part.first
        self.rows = np.flatnonzero(np.diff(first))
        self.example: Numbers = part.plan.order[first[self.rows]].astype(np.int64)

    def _stored(self, name: str) -> NDArray[Any]:
        """Return what the threads have stored, (threads, rows, 2)."""
        stored = self.backend.array(self.part.key(name))
        return stored.reshape(-1, self.plan.rows_of_sources, 2)

    def read(self, name: str) -> NDArray[Any]:
        """Return the last arrival, or a trace after it, (r,), of a thread that has seen it."""
        newest = self._stored("arrivals")[:, self.rows, 0].argmax(axis=0)
        found: NDArray[Any] = self._stored(name)[newest, self.rows, 0]
        return found

    def write(self, state: LearnedState, known: Numbers) -> None:
        """Store what a snapshot says of the sources, which are ``known`` by what they are.

        Nobody asks for the arrival before the last one, as all synapses are up to date.
        """
        mine = identity(self.synapses.links, self.synapses.dt, self.example)
        which = matches(known, mine)
        if (which < 0).any():
            name = quoted(self.synapses.links.name)
            raise StateError(f"state: connections {name} had other delays when saved")
        for name, values in {"arrivals": state.arrival, **state.pre}.items():
            one = self._stored(name)[0].copy()
            one[self.rows] = values[which][:, None]
            _write_each(self.backend, self.part, name, one)


def matches(known: Numbers, wanted: Numbers) -> Numbers:
    """Return where each row of an array stands in another one, -1 where it does not."""
    _, label = np.unique(np.concatenate([known, wanted]), axis=0, return_inverse=True)
    label = label.reshape(-1)
    place = np.full(label.max(initial=-1) + 1, -1, np.int64)
    place[label[: len(known)]] = np.arange(len(known))
    return place[label[len(known) :]]


class _Targets:
    """The targets that a plan has connections to, and the histories of their spikes."""

    def __init__(self, synapses: Synapses, part: SynapsesOfGroup) -> None:
        assert isinstance(part.plan, LearningPlan)
        self.part, self.plan, self.backend = part, part.plan, synapses.backend
        self.depth = part.plan.depth
        example = np.full(part.plan.width, -1, np.int64)
        example[part.plan.arrays["code"]] = part.plan.order
        self.places = np.flatnonzero(example >= 0)
        self.example = example[self.places]
        self._count = len(synapses)

    def _stored(self, name: str) -> NDArray[Any]:
        """Return the histories, (places, depth), the newest first, or a number of each place."""
        stored = self.backend.array(self.part.key(name))
        return self.plan.histories(stored) if name != "unswept" else stored

    def kept(self) -> int:
        """Return how many spikes of a target are taken: those not applied, and the ones before."""
        waiting = int(self._stored("unswept")[self.places].max(initial=0))
        return min(self.depth, waiting + ANCHORS)

    def read(self, name: str, most: int) -> NDArray[Any]:
        """Return rows of spikes, or a trace after them, (most, t), the newest first."""
        out = np.full((most, len(self.places)), NEVER if name == "spikes" else 0)
        stored = self._stored(name)
        out = out.astype(stored.dtype)
        out[: self.depth] = stored[self.places, :most].T
        return out

    def write(self, state: LearnedState, step: int) -> int:
        """Store what a snapshot says of the targets; return the most spikes not applied by all."""
        place = np.full(self._count, -1, np.int32)
        place[self.part.plan.order] = self.part.plan.arrays["code"]
        known = place[state.target]
        which = np.full(self.plan.width, -1, np.int64)
        which[known[known >= 0]] = np.flatnonzero(known >= 0)
        which = which[self.places]
        for name, values in {"spikes": state.spikes, **state.post}.items():
            stored = self._stored(name).copy()
            most = min(len(values), self.depth)
            stored[self.places, :most] = values[:most, which].T
            self.backend.live.write(self.part.key(name), self.plan.stored_histories(stored))
        late = state.spikes[:, which] + self.part.plan.limits["longest back"] >= step
        unswept = self._stored("unswept").copy()
        unswept[self.places] = late.sum(axis=0)
        self.backend.live.write(self.part.key("unswept"), unswept)
        return int(unswept.max(initial=0))


def learned_columns(states: Mapping[str, LearnedState]) -> Iterator[tuple[str, str, NDArray[Any]]]:
    """Yield the name of the connections, a path and a column of each state, to be stored."""
    for name, state in states.items():
        for part in LEARNED_COLUMNS:
            yield name, part, getattr(state, part)
        for part in ("synapses", "pre", "post"):
            for key, column in getattr(state, part).items():
                yield name, f"{part}/{key}", column


def with_learned(links: Connections, weights: NDArray[Any]) -> Connections:
    """Return connections that begin with other weights."""
    own = links.expanded()
    data = {**own.data, "weight": np.asarray(weights, np.float64)}
    made = Connections(own.variable, own.access, own.source, own.target, own.delay, data)
    return Connections(**{**vars(made), "plasticity": links.plasticity, "name": links.name})
