"""Connections with their ends, and which of them are meant: by numbers, a mask, or ends."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.uids import uid_list
from ..errors import NeurodriverError, RequestError, near, quoted
from .named import likely_names
from .named_values import NamedValues

Numbers = NDArray[np.int64]

Ends = tuple[Any, Any]
"""Sources and targets: uids, a population, or None for all."""


class SynapseChoice(NamedValues):
    """Connections with their ends, of which some can be chosen."""

    name: str
    _scope: str | None = None

    @property
    @abstractmethod
    def _circuit(self) -> Circuit:
        """What is simulated."""

    @property
    @abstractmethod
    def _links(self) -> Connections:
        """The connections, or the rule that draws them."""

    @abstractmethod
    def _uids(self, ends: NDArray[np.int32]) -> NDArray[np.str_]:
        """Return the uids of components."""

    def __len__(self) -> int:
        return len(self._links)

    @property
    def sources(self) -> NDArray[np.str_]:
        """Uids of the presynaptic components, (m,)."""
        return self._uids(self._links.expanded().source)

    @property
    def targets(self) -> NDArray[np.str_]:
        """Uids of the postsynaptic components, (m,)."""
        return self._uids(self._links.expanded().target)

    @property
    def delays(self) -> NDArray[np.float64]:
        """Latencies in seconds, (m,)."""
        links = self._links.expanded()
        return np.broadcast_to(np.asarray(links.delay, np.float64), (len(links),))

    def between(self, sources: Any = None, targets: Any = None) -> Numbers:
        """Return the numbers of the synapses from some components to some, ascending."""
        links = self._links.expanded()
        chosen = np.ones(len(links), bool)
        for given, ends in ((sources, links.source), (targets, links.target)):
            if given is not None:
                member = np.zeros(self._circuit.count, bool)
                member[self._components(given)] = True
                chosen &= member[ends]
        return np.flatnonzero(chosen)

    def _components(self, given: Any) -> Numbers:
        circuit = self._circuit
        if isinstance(given, str) and given in circuit.populations:
            given = circuit.populations[given]
        uids = [given] if isinstance(given, str) else uid_list(given, RequestError)
        found = circuit.find(uids if self._scope is None else [f"{self._scope}/{u}" for u in uids])
        lost = np.flatnonzero(found < 0)
        if len(lost):
            said = f"no component is called {quoted(uids[lost[0]])}"
            raise RequestError(f"'{self.name}': {said}{near(uids[lost[0]], likely_names(circuit))}")
        return found

    def _which(self, at: Any, of: Ends | None) -> Numbers:
        """Return the numbers of the synapses that are meant."""
        if at is not None and of is not None:
            raise NeurodriverError(f"'{self.name}': give 'at' or 'of', not both")
        if of is not None:
            return self.between(*self._ends(of))
        if at is None:
            return np.arange(len(self))
        given, m = np.asarray(at), len(self)
        if given.dtype == bool and given.shape == (m,):
            return np.flatnonzero(given)
        given = given.reshape(-1) if given.ndim == 0 else given
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            want = f"numbers of synapses, or {m:,} booleans"
            raise NeurodriverError(f"'{self.name}', 'at': {want} are needed, got {at!r:.60}")
        out = given.astype(np.int64)
        if out.size and (out.min() < -m or out.max() >= m):
            got = out[(out < -m) | (out >= m)][0]
            raise NeurodriverError(f"'{self.name}', 'at': there are {m:,} synapses, got {got}")
        return out % m if m else out

    def _ends(self, of: Any) -> Ends:
        if isinstance(of, tuple) and len(of) == 2:
            return of
        want = "'of' must be a pair of sources and targets"
        raise NeurodriverError(f"'{self.name}': {want}, got {of!r:.60}")
