"""``PartedSynapses``: synapses that learn, of a circuit in several parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..circuit.circuit import Circuit, Connections
from ..circuit.plastic import learning_connections
from ..state.synapses import Synapses

Numbers = NDArray[np.int64]
Everywhere = Callable[[Callable[[], list[Any]]], list[Any]]


class PartedSynapses(Synapses):
    """The synapses of connections that learn, each in the part of its target.

    Each rank makes the same calls, and gets the numbers of all synapses.

    Parameters
    ----------
    circuit : Circuit
        The whole.
    links : Connections
        Of the whole.
    of : (count,) int64
        Part of each component.
    here : mapping of int to Backend
        Number of each part of this process -> its backend.
    everywhere : callable
        Gets what this process has found, by a function; returns what all have, or raises the first
        error of any of them.
    dt : float
        Step in seconds.
    """

    def __init__(
        self,
        circuit: Circuit,
        links: Connections,
        of: Numbers,
        here: Mapping[int, Backend],
        everywhere: Everywhere,
        dt: float,
    ) -> None:
        assert links.plasticity is not None
        self.links, self.rule = links, links.plasticity
        self._circuit, self._dt, self._everywhere = circuit, dt, everywhere
        self._of = of[links.expanded().target]
        self._dtype = np.dtype(next(iter(here.values())).program.dtype)
        self._local = {
            number: Synapses(backend, own)
            for number, backend in here.items()
            for own in learning_connections(backend.program.circuit)
            if own.name == links.name
        }

    @property
    def circuit(self) -> Circuit:
        """The whole circuit."""
        return self._circuit

    @property
    def dt(self) -> float:
        return self._dt

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def _numbers(self, part: int) -> Numbers:
        """Return the numbers of the synapses of a part, ascending: they keep their order."""
        return np.flatnonzero(self._of == part)

    def _found(self, work: Callable[[Synapses], Any]) -> list[tuple[int, Any]]:
        """Return what each part has found, with its number, on all ranks."""
        return self._everywhere(lambda: [(n, work(own)) for n, own in self._local.items()])

    def _joined(self, work: Callable[[Synapses], NDArray[Any]]) -> NDArray[np.floating]:
        out: NDArray[np.floating] = np.empty(len(self), self._dtype)
        for number, values in self._found(work):
            out[self._numbers(number)] = values
        return out

    def read(self, name: str) -> NDArray[np.floating]:
        return self._joined(lambda own: own.read(name))

    def at(self, name: str, step: int) -> NDArray[np.floating]:
        return self._joined(lambda own: own.at(name, step))

    def write(self, name: str, values: NDArray[Any]) -> None:
        def work() -> list[Any]:
            for number, own in self._local.items():
                own.write(name, values[self._numbers(number)])
            return []

        self._everywhere(work)

    def catch_up(self, step: int) -> None:
        self._found(lambda own: own.catch_up(step))

    @property
    def learns(self) -> bool:
        return any(on for _, on in self._found(lambda own: own.learns))

    def learn(self, on: bool, step: int) -> None:
        self._found(lambda own: own.learn(on, step))

    def settle(self, step: int) -> None:
        self._found(lambda own: own.settle(step))

    def set_level(self, name: str, level: float, step: int) -> None:
        self._found(lambda own: own.set_level(name, level, step))

    def modulators(self) -> tuple[NDArray[Any], Numbers]:
        found = [one for _, one in self._found(Synapses.modulators)]
        level, dosed = (np.stack(columns) for columns in zip(*found, strict=True))
        newest = dosed.argmax(axis=0), np.arange(dosed.shape[1])
        return level[newest], dosed[newest]

    def clamped(self) -> int:
        return sum(count for _, count in self._found(Synapses.clamped))
