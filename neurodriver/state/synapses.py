"""Synapses that learn, in the order of the circuit's connections, in the memory of a backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..circuit.circuit import Circuit, Connections
from ..circuit.plastic import numbers_of_synapses
from ..model.synapse_traces import anchors
from ..model.traces import Doses
from ..plan.arrays import Key, ReceptorOwner
from ..plan.spikes.learning import MODULATORS, LearningPlan
from ..plan.sums.learned import LearnedSum
from .drift import values_at

Numbers = NDArray[np.int64]


def _rows(arrays: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return what threads have counted, one thread after the other, (n, 8)."""
    none = np.zeros((0, 8), np.int64)
    return np.concatenate([none, *(one.reshape(-1, 8) for one in arrays)])


@dataclass(frozen=True)
class SynapsesOfGroup:
    """Those synapses of some connections whose targets are in one group."""

    backend: Backend
    owner: ReceptorOwner
    plan: LearningPlan | LearnedSum

    @property
    def order(self) -> Numbers:
        """Number of each stored synapse among all connections, (m,).

        `plan.places` says where it is stored.
        """
        stored, order = self.backend.live.stored_order(self.owner), self.plan.order
        return order if stored is None else order[stored]

    @property
    def in_order(self) -> bool:
        """Whether stored synapses are the first connections, one after the other."""
        plain = isinstance(self.plan, LearningPlan) and self.plan.rank is None
        return plain and self.backend.live.stored_order(self.owner) is None

    @property
    def of_events(self) -> bool:
        """Whether they learn from spikes, of which their ends keep a history."""
        return isinstance(self.plan, LearningPlan)

    def key(self, name: str) -> Key:
        """Return the key of an array of the plan."""
        return self.plan.key(self.owner, name)

    @property
    def first(self) -> Numbers:
        """Where the stored connections of each row of sources begin, and the last ones end."""
        assert isinstance(self.plan, LearningPlan)
        parts = self.plan.parts
        first = self.plan.arrays["begin"] if parts is None else parts.first
        return np.asarray(first, np.int64)


class Synapses:
    """The synapses of connections that learn, as a backend holds them.

    Parameters
    ----------
    backend : Backend
    links : Connections
        Of its program's circuit.
    """

    def __init__(self, backend: Backend, links: Connections) -> None:
        self.backend, self.links = backend, links
        assert links.plasticity is not None
        self.rule = links.plasticity
        self.parts = [
            SynapsesOfGroup(backend, ReceptorOwner(number, access), plan)
            for (number, access), plan in backend.program.gathers.items()
            if isinstance(plan, LearningPlan | LearnedSum) and plan.name == links.name
        ]

    def __len__(self) -> int:
        return len(self.links)

    @property
    def circuit(self) -> Circuit:
        """The circuit that has the connections."""
        return self.backend.program.circuit

    @property
    def dt(self) -> float:
        """Step in seconds."""
        return self.backend.program.dt

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type in which numbers of synapses are stored."""
        return np.dtype(self.backend.program.dtype)

    @property
    def names(self) -> tuple[str, ...]:
        """Numbers of each synapse: those that the rule changes, and parameters."""
        return numbers_of_synapses(self.links)

    def read(self, name: str) -> NDArray[np.floating]:
        """Return a number of each synapse, (m,), as it was stored last."""
        out: NDArray[np.floating] = np.empty(len(self), self.dtype)
        for part in self.parts:
            stored = self.backend.array(part.key(name))
            if part.in_order:
                out[: part.plan.edges] = stored[: part.plan.edges]
            else:
                out[part.order] = stored[part.plan.places]
        return out

    def write(self, name: str, values: NDArray[Any]) -> None:
        """Store a number of each synapse, (m,)."""
        for part in self.parts:
            plan, key = part.plan, part.key(name)
            if isinstance(plan, LearningPlan):
                order = self.backend.live.stored_order(part.owner)
                whole = values if plan.rank is None else values[plan.rank]
                whole = whole if order is None else whole[order]
                self.backend.live.write(key, whole, slice(0, plan.edges))
                continue
            whole = self.backend.array(key).copy()
            whole[plan.places] = values[plan.order]
            self.backend.live.write(key, whole)

    def catch_up(self, step: int) -> None:
        """Let the synapses learn all that they saw before a step."""
        self.backend.live.catch_up(step)

    def at(self, name: str, step: int) -> NDArray[np.floating]:
        """Return a number of each synapse after ``step`` steps, (m,); they are up to date."""
        return values_at(self, name, step)

    def limits(self) -> tuple[NDArray[np.floating], NDArray[np.floating]] | None:
        """Return the numbers between which weights lie now, each () or (m,), as they are stored."""
        if self.rule.bounds is None or self.rule.limits is None:
            return None
        low, high = (
            self.read(one) if isinstance(one, str) and one in self.names
            else np.asarray(shared, self.dtype)
            for one, shared in zip(self.rule.bounds, self.rule.limits, strict=True)
        )  # fmt: skip
        return low, high

    @property
    def learns(self) -> bool:
        """Whether the texts of the rule run."""
        return any(bool(self.backend.array(part.key("learning"))[0]) for part in self.parts)

    def learn(self, on: bool, step: int) -> None:
        """Let the texts of the rule run, or not, from a step on.

        What the synapses have seen before is learned, or is not, before that changes.
        """
        if on != self.learns:
            self.settle(step)
        for part in self.parts:
            self.backend.live.write(part.key("learning"), int(on))

    def settle(self, step: int) -> None:
        """Let the synapses drift up to a step, as an event of all of them, before a change."""
        if not (self.rule.between and self.parts):
            self.catch_up(step)
        elif self.rule.doses():
            name = next(iter(self.rule.doses()))
            self.set_level(name, self.level(name, step), step)
        else:
            self._anchor(0, 0.0, step)

    def level(self, name: str, step: int) -> float:
        """Return the level of a modulator when ``step`` steps are done."""
        number, doses = self._modulator(name)
        level, dosed = self.modulators()
        dt_ms = self.dt * 1e3
        passed = (step - int(dosed[number])) * dt_ms
        return float(level[number]) * math.exp(-passed / self.rule.numbers(dt_ms)[doses.tau])

    def set_level(self, name: str, level: float, step: int) -> None:
        """Set the level of a modulator from a step on; synapses take up what was before it."""
        self._anchor(self._modulator(name)[0], level, step)

    def _anchor(self, number: int, level: float, step: int) -> None:
        """Let the synapses drift up to a step, in which a modulator has a level."""
        live = self.backend.live
        for part in self.parts:
            live.write(part.key("dosing"), 1)
        live.catch_up(step)
        for part in self.parts:
            live.write(part.key("dosing"), 0)
            for key, value in (("level", level), ("dosed", step)):
                whole = self.backend.array(part.key(key)).copy()
                whole.reshape(-1, MODULATORS)[:, number] = value
                live.write(part.key(key), whole)

    def _modulator(self, name: str) -> tuple[int, Doses]:
        doses = self.rule.doses()
        return [*doses].index(name), doses[name]

    def clamped(self) -> int:
        """Return how many values were too large to be sent."""
        return self.counts([self.backend.array(key) for key in self.counted()])[0]

    def counted(self) -> list[Key]:
        """Return the arrays in which threads count, (threads * 8,) each: see ``event_order.h``."""
        return [part.key("clamped") for part in self.parts if part.of_events]

    def counts(self, arrays: Sequence[NDArray[np.int64]]) -> tuple[int, int, int]:
        """Return how many values were too large to be sent, or no numbers, and sums too large."""
        clamped, undefined, overflown = _rows(arrays)[:, :3].sum(axis=0).tolist()
        return clamped, undefined, overflown

    def largest_sum(self) -> tuple[int, float, float]:
        """Return a sum that was too large: its number in texts of intervals, value and range."""
        counted = _rows([self.backend.array(key) for key in self.counted()])
        row = next(row for row in counted if row[2])
        value, limit = row[4:6].view(np.float64).tolist()
        return int(row[3]), value, limit

    def modulators(self) -> tuple[NDArray[Any], Numbers]:
        """Return the levels of modulators after their last doses, and the steps of these.

        A thread without targets does not know of the doses.
        """
        count, part = anchors(self.rule), self.parts[0]
        stored = (self.backend.array(part.key(name)) for name in ("level", "dosed"))
        level, dosed = (one.reshape(-1, MODULATORS)[:, :count] for one in stored)
        newest = dosed.argmax(axis=0), np.arange(count)
        return level[newest], dosed[newest].astype(np.int64)


class ChosenSynapses:
    """Some synapses, which are read again and again.

    Parameters
    ----------
    which : (n,) int64
        Their numbers among the connections.
    """

    def __init__(self, synapses: Synapses, which: Numbers) -> None:
        self.backend, self.count = synapses.backend, len(which)
        self._places: list[tuple[SynapsesOfGroup, Numbers, Numbers]] = []
        for part in synapses.parts:
            place = np.full(len(synapses), -1, np.int64)
            place[part.order] = part.plan.places
            mine = np.flatnonzero(place[which] >= 0)
            if len(mine):
                self._places.append((part, place[which[mine]], mine))

    def read(self, name: str) -> NDArray[np.floating]:
        """Return a number of each, (n,)."""
        backend = self.backend
        out: NDArray[np.floating] = np.empty(self.count, backend.program.dtype)
        for part, places, mine in self._places:
            out[mine] = backend.array(part.key(name))[places]
        return out


class SynapseNames:
    """Names of synapses for messages: those of their ends."""

    def __init__(self, circuit: Circuit, links: Connections) -> None:
        self._circuit, self._links = circuit, links

    @cached_property
    def _uids(self) -> NDArray[np.str_]:
        uids: NDArray[np.str_] = self._circuit.uids
        return uids

    def __getitem__(self, number: int) -> tuple[str, str]:
        ends = self._links.source[number], self._links.target[number]
        return str(self._uids[ends[0]]), str(self._uids[ends[1]])
