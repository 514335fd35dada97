"""Weights of a simulation between calls: read and set, connection by connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.drawn import Drawn
from ..circuit.validate import groups_of
from ..circuit.wiring import numbers_of as numbers_of_access
from ..errors import NeurodriverError, near
from ..model.component import Parameter
from ..model.parameters import SynapseVariable
from ..quantities import is_quantity, magnitude
from .copied_values import copied
from .live import numbers_of
from .synapse_choice import Ends
from .synapse_summaries import SynapseSummaries

Now = Callable[[], Circuit]

Changed = Callable[[Circuit], None]
"""Compiles another form of the circuit, which goes on from the state at hand."""

Learning = Callable[[str], "LiveConnections"]
"""Returns connections that learn by their name."""


class LiveConnections(SynapseSummaries):
    """The connections of one projection, or of one variable into one access.

    Their numbers are attributes, too: ``loop.weight`` reads, ``loop.weight = 0.5`` sets.

    Parameters
    ----------
    now : callable
        Returns the circuit with the parameters and weights that it has now.
    number : int
        Which of its connections.
    """

    _now: Now
    _number: int
    _changed: Changed

    def __init__(self, now: Now, number: int, name: str, changed: Changed) -> None:
        self._put(_now=now, _number=number, name=name, _changed=changed)

    def _put(self, **own: Any) -> None:
        """Set attributes of the object itself."""
        vars(self).update(own)

    @property
    def _circuit(self) -> Circuit:
        return self._now()

    @property
    def _links(self) -> Connections:
        return self._now().connections[self._number]

    def _uids(self, ends: NDArray[np.int32]) -> NDArray[np.str_]:
        uids: NDArray[np.str_] = self._now().uids[ends]
        return uids

    def __repr__(self) -> str:
        return f"'{self.name}': {len(self):,} connections"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers that each connection has; ``weight`` for most."""
        declared = (rules for *_, rules in self._rules())
        variable = SynapseVariable
        own = (n for some in declared for n, rule in some.items() if not isinstance(rule, variable))
        return tuple(dict.fromkeys([*self._links.expanded().data, *own]))

    def get(self, name: str = "weight", of: Ends | None = None) -> NDArray[np.float64]:
        """Return a number of each connection, (m,).

        It is what the access of the target declares where the connections say nothing else.

        Parameters
        ----------
        name : str
            ``weight`` for most.
        of : (sources, targets), optional
            Only the connections between these: uids, a population, or None for all.
        """
        whole = self._numbers_of(name)
        return whole if of is None else whole[self.between(*self._ends(of))]

    def _numbers_of(self, name: str) -> NDArray[np.float64]:
        links = self._links.expanded()
        given = links.data.get(name)
        if given is None and name not in self.names:
            raise NeurodriverError(self._unknown(name))
        out = np.array(np.broadcast_to(np.nan if given is None else given, (len(links),)), float)
        if given is not None and not np.isnan(out).any():
            return out
        for first, last, rules in self._rules():
            default = rules[name].default if name in rules else None
            mine = (links.target >= first) & (links.target < last) & np.isnan(out)
            out[mine] = 0.0 if default is None else default
        return out

    def _rules(self) -> Iterator[tuple[int, int, Mapping[str, Parameter]]]:
        """Yield first and last component of each group that they reach, and declared numbers."""
        circuit, links = self._now(), self._links.expanded()
        for number in np.unique(circuit.group_of(links.target)).tolist():
            first, last = circuit.starts[number : number + 2].tolist()
            for access in circuit.groups[number].model.accesses:
                if access.name == links.access and access.variable == links.variable:
                    yield first, last, access.connection

    def set(self, name: str, values: ArrayLike, *, at: Any = None, of: Ends | None = None) -> None:
        """Set a number of each connection; the circuit is compiled anew and goes on.

        Weighted spikes that are on their way keep the weights with which they were sent.

        Parameters
        ----------
        name : str
            ``weight`` for most.
        values : float or array
            Finite, one for each connection that is meant.
        at : array of int or of bool, optional
            Numbers of connections, or a mask; all by default.
        of : (sources, targets), optional
            The connections between these: uids, a population, or None for all.

        Raises
        ------
        NeurodriverError
            For values that the access refuses. Nothing has been changed then.
        """
        numbers = self.changed(name, values, at, of)
        links = self._links.expanded()
        data = {**links.data, name: numbers}
        own = Connections(links.variable, links.access, links.source, links.target, links.delay)
        circuit = self._now()
        sets = list(circuit.connections)
        sets[self._number] = replace(own, data=data)
        self._changed(circuit.with_parts(circuit.groups, sets))

    def __getattr__(self, name: str) -> Any:
        return copied(super().__getattr__(name))

    def _unknown(self, name: str) -> str:
        known = self.names
        have = ", ".join(known) or "nothing"
        return f"'{self.name}': no '{name}'{near(name, known)}; connections have: {have}"

    def _plain(self, name: str, values: Any) -> Any:
        """Return the numbers of quantities in the unit in which connections have them."""
        if not is_quantity(values):
            return values
        links, circuit = self._links.expanded(), self._circuit
        models = groups_of(circuit, links.target)
        rules = numbers_of_access(circuit, links.variable, links.access, models)
        rules |= {} if links.plasticity is None else links.plasticity.params
        unit = rules[name].unit if name in rules else None
        return magnitude(values, unit, f"'{self.name}', '{name}'")

    def changed(
        self, name: str, values: ArrayLike, at: Any, of: Ends | None
    ) -> NDArray[np.float64]:
        """Return the numbers of all connections, (m,), where some are given."""
        whole, which = self.get(name).astype(np.float64), self._which(at, of)
        plain = self._plain(name, values)
        numbers = numbers_of(plain, (len(which),), f"'{self.name}', '{name}'")
        if not np.isfinite(numbers).all():
            raise NeurodriverError(f"'{self.name}', '{name}': values must be finite")
        whole[which] = numbers
        return whole


class ConnectionsByName(Mapping[str, LiveConnections]):
    """All connections of an LPU by name: that of a projection, or ``variable -> access``.

    Parameters
    ----------
    now : callable
        Returns the circuit with the parameters and weights that it has now.
    first : Circuit
        The same before any change: the names are those that it gives.
    make : callable
        Returns connections that do not learn, by their number and name.
    """

    def __init__(
        self, now: Now, first: Circuit, learning: Learning, make: Callable[..., LiveConnections]
    ) -> None:
        self._now, self._learning, self._make = now, learning, make
        self._numbers: dict[str, int] = {}
        self._learns: dict[str, str] = {}
        for number, links in enumerate(first.connections):
            plain = name = _name(links)
            times = 2
            while name in self._numbers:
                name, times = f"{plain} ({times})", times + 1
            self._numbers[name] = number
            if links.plasticity is not None:
                self._learns[name] = links.name

    def __getitem__(self, name: str) -> LiveConnections:
        if name not in self._numbers:
            raise NeurodriverError(f"no connections are called '{name}'{near(name, self)}")
        if name in self._learns:
            return self._learning(self._learns[name])
        return self._make(self._numbers[name], name)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return "\n".join(repr(self[name]) for name in self)


def _name(links: Any) -> str:
    if isinstance(links, Drawn):
        return links.projection.label
    if links.plasticity is not None:
        return str(links.name)
    return f"{links.variable} -> {links.access or 'port'}"
