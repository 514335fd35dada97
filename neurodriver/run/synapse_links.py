"""``LinkedSets``: sets of synapses whose texts read the states of an LPU and set its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..backends.synapse_place import ALONE
from ..backends.synapse_sets import SynapseSets
from ..backends.synapse_tables import SynapseSet
from ..circuit.plastic import learning_connections
from ..errors import NeurodriverError, quoted
from ..model.synapse_texts import SynapseTexts
from ..model.vectors import elements
from ..plan.arrays import Key, Kind, PopulationOwner
from ..plan.program import Program
from ..state.synapses import Synapses
from .program_cache import ProgramCache

if TYPE_CHECKING:
    from .live_values import LiveValues

Reals = NDArray[np.float64]

Places = NDArray[np.int32]
Addresses = Mapping[str, tuple[int, ...]]
"""Name of connections -> where their weights are, in each memory that has them."""


@dataclass(frozen=True)
class Linked:
    """How a set of synapses belongs to an LPU.

    Attributes
    ----------
    ends : (str, str)
        Populations of sources and targets.
    name : str
        Of the connections that carry the weights; empty where spikes carry none.
    first : int
        Number of the first of the synapses among these connections; they follow each other.
    order : (synapses,) int64 or None
        Numbers of the synapses in the order of these connections.
    """

    ends: tuple[str, str]
    name: str = ""
    first: int = 0
    order: NDArray[np.int64] | None = None


class LinkedSets:
    """Sets of synapses beside an LPU.

    The connections that carry their weights have a rule that does not change them. They are in the
    memory of the backend, and the texts write to it. All copies of a batch have them in common,
    unless somebody has set those of one copy.

    Parameters
    ----------
    lpu : LPU
        One that is not divided between devices.
    links : mapping of str to Linked
        How each set belongs to the LPU.
    targets : int
        Targets of all sets, for what the caller gives.
    """

    def __init__(
        self,
        lpu: LiveValues,
        texts: SynapseTexts,
        sets: Mapping[str, SynapseSet],
        links: Mapping[str, Linked],
        targets: int,
    ) -> None:
        self._lpu, self._links, self._texts = lpu, links, texts
        simulation = lpu.simulation
        backends = self._backends()
        self._first = backends[0]
        place = self._first.live.synapses(texts, simulation.backend.threads)
        self.sets = SynapseSets(place, texts, sets, len(backends), targets)
        self._found = ProgramCache()
        self._bound_to: Program | None = None
        self._sent: Addresses = {}
        self._together = True

    def _backends(self) -> list[Backend]:
        """Return the backends of all copies, when no call is in flight."""
        simulation = self._lpu.simulation
        simulation.check_whole()
        simulation.complete_calls()
        return [copy.backend for copy in simulation.copies]

    def run(
        self,
        texts: Mapping[str, str],
        given: Mapping[str, Reals] | None = None,
        share: int = ALONE,
    ) -> None:
        """Run a text for each of some sets; see `SynapseSets.run`."""
        self._bring()
        self._apart()
        self.sets.run(texts, given or {}, share)
        self._apart()

    def prepare(self, texts: Mapping[str, str]) -> bool:
        """Prepare a run of texts; return whether ``sets.run`` may begin behind steps, see `Behind`.

        It may not where texts write numbers that synapses keep in each copy.
        """
        self._bring()
        return self._together and not self.sets.prepare(texts).keeps

    def _bring(self) -> None:
        """Let the sets know where the program has what they read and set."""
        backends = self._backends()
        self._together = backends[0] is self._first
        program = self._lpu.simulation.program
        found = self._found.get(program, "weights", lambda: self._weights(program, backends[0]))
        sent = {
            name: tuple(dict.fromkeys(one.live.address(weights) for one in backends))
            for name, (weights, _) in found.items()
        }
        if self._bound_to is not program or self._sent != sent:
            self._bound_to, self._sent = program, sent
            self._bind(backends, {name: places for name, (_, places) in found.items()}, sent)

    def _apart(self) -> None:
        """Wait for all work of a GPU where the circuit was compiled anew.

        Then texts are in another stream than the steps, and neither waits for the other.
        """
        if not self._together:
            self.sets.place.synchronize()

    def _bind(
        self, backends: Sequence[Backend], stored: Mapping[str, Places], sent: Addresses
    ) -> None:
        """Tell the sets where the program has states and weights."""
        states, addresses, places = {}, {}, {}
        for name, link in self._links.items():
            states[name] = np.array(
                [[self._states(one, of) for of in link.ends] for one in backends], np.uint64
            )
            if link.name:
                assert link.order is not None
                addresses[name] = np.array(sent[link.name], np.uint64)
                places[name] = place = np.empty(len(link.order), np.int32)
                of_edge = stored[link.name][link.first :]
                place[link.order] = of_edge[: len(link.order)]
        self.sets.bind(states, addresses, places)

    def _states(self, backend: Backend, population: str) -> list[int]:
        """Return the addresses of all states of a population; 0 of those that it does not have."""
        program, (part, *others) = backend.program, self._lpu[population]._parts
        if others or part.number in program.layout.positions:
            raise NeurodriverError(f"{quoted(population)}: texts read whole populations only")
        return [
            self._state(backend, part.number, one)
            for name, size in self._texts.states.items()
            for one in ([name] if size is None else elements(name, size))
        ]

    @staticmethod
    def _state(backend: Backend, number: int, name: str) -> int:
        key = Key(PopulationOwner(number), Kind.STATE, name)
        return backend.live.address(key) if key in backend.program.arrays else 0

    def _weights(self, program: Program, backend: Backend) -> dict[str, tuple[Key, Places]]:
        """Return the weights of connections, and where each of them is there."""
        sets = {one.name: one for one in learning_connections(program.circuit)}
        found = {}
        for name in {link.name for link in self._links.values() if link.name}:
            parts = Synapses(backend, sets[name]).parts if name in sets else []
            if len(parts) != 1:
                raise NeurodriverError(f"{quoted(name)}: no connections into one population")
            (part,) = parts
            places = np.empty(part.plan.edges, np.int32)
            places[part.order] = part.plan.places
            found[name] = part.key("weight"), places
        return found

    def close(self) -> None:
        """Give the memory back."""
        self.sets.close()
