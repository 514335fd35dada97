"""Synapses that learn from given trains: a small circuit that plays them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support import model

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    Connections,
    MemoryRecorder,
    NDComponent,
    Plasticity,
    Weighted,
)  # fmt: skip
from neurodriver.circuit.plastic import largest_sent, learning_connections
from neurodriver.state.synapses import Synapses

Rows = Sequence[Iterable[int]]


class Told(NDComponent):
    """A target that spikes when it is told to: a value ``told`` in step k is a spike of row k + 1.

    V of row k + 1 is the sum of what the spikes of step k carried.
    """

    accesses = (Weighted("spike_state", "learned"), "told")
    updates = ("spike_state", "V")
    update = "V = learned; spike_state = told > 0.5 ? 1 : 0;"


@dataclass(frozen=True)
class Trains:
    """Spikes of sources and targets, and the synapses between them.

    Attributes
    ----------
    pre, post : sequence of iterables of int
        Rows of the spikes of each source and target; a row that is given twice is two spikes.
    source, target : (m,) int
    weight : (m,) float
        First weights.
    late : (m,) int
        Latency L of each synapse in steps.
    forward, back : (m,) int
        Of these, steps from the synapse to the target; steps of a target's spike to the synapse.
    dt : float
        In seconds.
    recurrent : bool
        Whether the targets are the sources, too, so that ``pre`` is ``post``.
    doses : sequence of int
        Rows of the spikes of the component ``dose``.
    """

    pre: Rows
    post: Rows
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    late: NDArray[np.int64]
    forward: NDArray[np.int64]
    back: NDArray[np.int64]
    steps: int
    dt: float = 1e-3
    recurrent: bool = False
    doses: Sequence[int] = ()
    order: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", np.lexsort((self.target, self.source)))

    def circuit(self, *rules: Plasticity) -> Circuit:
        """Return the circuit, with the synapses once for each rule, named after its class.

        They are in the order of the circuit, ``order``.
        """
        s, first = self.order, 0 if self.recurrent else len(self.post)
        groups: list[Any] = [(Told, len(self.post), {}, self.uids("t", self.post))]
        given = [*self.sources, *(["dose"] if self.doses else [])]
        if given:
            groups.append((model("SpikeSource"), len(given), {}, given))
        data = {"weight": self.weight[s], "dendritic": self.forward[s] * self.dt,
                "back": self.back[s] * self.dt}  # fmt: skip
        ways = self.source[s] + first, self.target[s], self.late[s] * self.dt, data
        links = [
            Connections("spike_state", "learned", *ways, rule, type(rule).__name__)
            for rule in rules
        ]
        return Circuit.from_arrays(groups, links, name="trains")

    @property
    def sources(self) -> list[str]:
        """The uids of the sources that are no targets."""
        return [] if self.recurrent else self.uids("s", self.pre)

    @staticmethod
    def uids(letter: str, trains: Rows) -> list[str]:
        """Return the uids of some neurons."""
        return [f"{letter}{i}" for i in range(len(trains))]

    def input(self) -> ArrayInput:
        """Return what makes the neurons spike: the values of a step act one row later."""

        def table(trains: Rows) -> NDArray[np.float64]:
            out = np.zeros((self.steps, len(trains)))
            for i, rows in enumerate(trains):
                at = np.asarray(list(rows), int) - 1
                np.add.at(out[:, i], at[at < self.steps], 1.0)
            return out

        given = {"told": (self.uids("t", self.post), table(self.post))}
        sources = [*self.sources, *(["dose"] if self.doses else [])]
        if sources:
            trains = [*(() if self.recurrent else self.pre), *([self.doses] if self.doses else [])]
            given["spike_state"] = sources, table(trains)
        return ArrayInput(given)

    def lpu(self, *rules: Plasticity, chunk: int | None = None, **settings: Any) -> LPU:
        """Return an LPU that records V of the targets."""
        recorders = [MemoryRecorder([("V", None)])]
        made = LPU(self.circuit(*rules), self.dt, [self.input()], recorders, **settings)
        if chunk is not None:
            made.simulation.length.fixed = chunk
        return made

    def unsorted(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of the circuit's synapses in the order of ours."""
        out = np.empty_like(column)
        out[self.order] = column
        return out


def largest_of(lpu: LPU, weights: NDArray[np.float64]) -> float:
    """Return the largest |value| that synapses send which begin with some weights."""
    return max(largest_sent(links, weights) for links in learning_connections(lpu.circuit))


def learned(lpu: LPU, name: str = "weight", projection: str = "") -> NDArray[np.float64]:
    """Return a number of each synapse of a projection as it is now, in the circuit's order.

    Without ``projection``, of the only one.
    """
    every = learning_connections(lpu.program.circuit)
    (links,) = (c for c in every if projection in ("", c.name))
    synapses = Synapses(lpu.simulation.backend, links)
    synapses.catch_up(lpu.simulation.step)
    return synapses.read(name).astype(np.float64)
