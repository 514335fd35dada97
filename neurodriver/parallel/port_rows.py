"""``PortRows``: which elements of a rank hold what output ports have sent, and since when.

A port's *history* is the rows of its source: row j is that of step k - j. The elements of a rank
hold parts of it, whichever way LPUs lie on ranks:

* The source itself, where it is on this rank. Connections read it directly.
* A relay on this rank. It holds a row as many steps later as its latency says.
* An import, one step later. The newest rows are with the rank of the source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Column
from ..plan.edges import element_of
from ..plan.passes.join import Joined, Relay, port_sources
from ..run.simulation import Simulation
from ..state.sent import Placed, Underway
from ..state.snapshot import SentRows, Snapshot
from ..state.together import sent_together
from .exchange import Exchange
from .routes import Routes, ValueBlock
from .window import longest_latency

Numbers = NDArray[np.int64]
Rows = NDArray[Any]


@dataclass(frozen=True, eq=False)
class _Sources:
    """Ports whose sources are on this rank, all of one variable."""

    variable: str
    lpus: Column
    ports: Numbers
    component: Numbers


class PortRows:
    """The histories of the ports that LPUs of a rank read."""

    def __init__(self, simulation: Simulation, joined: Joined, routes: Routes) -> None:
        self._simulation, self._joined, self._routes = simulation, joined, routes
        self._backend, self._layout = simulation.backend, simulation.program.layout
        exchange = simulation.exchange
        self._exchange = exchange if isinstance(exchange, Exchange) else None
        self._came: list[Rows] = []

    @cached_property
    def groups(self) -> frozenset[int]:
        """Groups of relays and imports."""
        first = np.array([one.component[0] for one in self._joined.relays], np.int64)
        relays = np.searchsorted(self._joined.circuit.starts, first, side="right") - 1
        imports = [self._joined.imports] * (self._joined.imports >= 0)
        return frozenset([*relays.tolist(), *imports])

    def underway(self, step: int) -> Underway:
        """Return what is on its way to relays and imports; other ranks are asked, and ask."""
        out = Underway(step)
        for one in self._relays_of(None):
            elements = element_of(self._layout, one.component, one.variable)
            source = element_of(self._layout, one.source, one.source_variable)
            for ahead in range(1, int(one.steps.max(initial=0)) + 1):
                late = np.flatnonzero(one.steps >= ahead)
                values = np.empty(len(late), self._backend.program.dtype)
                for steps in np.unique(one.steps[late]).tolist():
                    some = one.steps[late] == steps
                    row = self._backend.row(one.source_variable, step + ahead - steps)
                    values[some] = row[source[late[some]]]
                out.add(one.variable, step + ahead, elements[late], values)
        self._came = self._exchange.latest(step) if self._exchange else []
        for i, _, reads in self._imports():
            for variable, at in reads.items():
                for back, values in enumerate(self._came[i]):
                    out.add(variable, step + 1 - back, at, values)
        return out

    def kept(self, step: int) -> Mapping[str, SentRows]:
        """Return the histories as far as this rank has them, after `underway` at this step."""
        parts: dict[str, list[SentRows]] = defaultdict(list)
        for sources in self._sources():
            parts[sources.variable].append(self._kept_here(sources, step))
        for i, block, elements in self._imports():
            parts[block.variable].append(self._kept_imports(i, block, elements, step))
        return {variable: sent_together(some) for variable, some in parts.items()}

    def placed(self, snapshot: Snapshot) -> Mapping[str, Sequence[Placed]]:
        """Return the rows of sources, relays and imports that follow from histories."""
        out: dict[str, list[Placed]] = defaultdict(list)
        for variable, one in (*self._placed_here(snapshot), *self._placed_imports(snapshot)):
            out[variable].append(one)
        return out

    def _placed_here(self, snapshot: Snapshot) -> Iterator[tuple[str, Placed]]:
        """Yield the rows of sources, and of relays behind them."""
        for sources in self._sources():
            if sources.variable not in snapshot.sent:
                continue
            found = _found(snapshot.sent[sources.variable], sources.lpus, sources.ports)
            elements = element_of(self._layout, sources.component, sources.variable)
            yield sources.variable, Placed(elements, *found)
            for relay in self._relays_of(sources.variable):
                yield relay.variable, self._placed_relay(relay, sources.component, *found, 0)

    def _placed_imports(self, snapshot: Snapshot) -> Iterator[tuple[str, Placed]]:
        """Yield the rows of imports, and of relays behind them."""
        for i, block, reads in self._imports():
            if block.variable not in snapshot.sent:
                continue
            found = _found(snapshot.sent[block.variable], block.lpus, block.ports)
            component = self._first_import(i) + np.arange(len(block))
            for relay in [one for one in self._joined.relays if one.imported]:
                yield relay.variable, self._placed_relay(relay, component, *found, 1)
            rows, counts = _later(*found, np.ones(len(block), np.int64))
            # the newest come by the exchange, but kernels take no row before step 0 from it
            rows[: min(self._known, snapshot.step + 1)] = 0
            for variable, at in reads.items():
                yield variable, Placed(at, rows, counts)

    def _placed_relay(
        self, relay: Relay, component: Numbers, rows: Rows, counts: Numbers, more: int
    ) -> Placed:
        """Return the rows of relays, and ``more`` steps late, from the histories of components."""
        column, mine = _matching(component, relay.source)
        at = element_of(self._layout, relay.component[mine], relay.variable)
        late = relay.steps[mine] + more
        return Placed(at, *_later(rows[:, column], counts[column], late))

    @property
    def _known(self) -> int:
        """The newest row of imports that is there at step k is row k minus this number."""
        assert self._exchange is not None
        return self._exchange.timing.back + 1

    def _relays_of(self, variable: str | None) -> list[Relay]:
        """Return the relays of a variable, or all, whose sources are on this rank."""
        here = [one for one in self._joined.relays if not one.imported]
        return [one for one in here if variable in (None, one.source_variable)]

    def _sources(self) -> Iterator[_Sources]:
        """Yield the output ports of this rank that its own LPUs read."""
        for name, part in self._joined.parts.items():
            ports = [one.out_port for one in self._routes.links if one.source == name]
            if not ports:
                continue
            known = port_sources(part, self._simulation.dt)
            read = np.flatnonzero(np.isin(known.port, np.concatenate(ports)))
            component = self._joined.numbers[name][known.component]
            for variable in np.unique(known.variable[read]).tolist():
                at = read[known.variable[read] == variable]
                at = at[self._in_ring(variable, component[at])]
                if len(at):
                    lpus = np.full(len(at), name)
                    yield _Sources(variable, lpus, known.port[at], component[at])

    def _in_ring(self, variable: str, component: Numbers) -> NDArray[np.bool_]:
        """Return which components have elements in the rows of a variable."""
        ring, circuit = self._layout.rings.get(variable), self._joined.circuit
        if ring is None:
            return np.zeros(len(component), bool)
        has = np.array([str(number) in ring.segments for number in range(len(circuit.groups))])
        kept: NDArray[np.bool_] = has[np.searchsorted(circuit.starts, component, "right") - 1]
        return kept

    def _imports(self) -> Iterator[tuple[int, ValueBlock, dict[str, Numbers]]]:
        """Yield what comes in for LPUs: number, block, and elements of each variable read of it."""
        for i, block in enumerate(self._routes.incoming):
            if not block.to_modules and self._exchange is not None:
                reads = self._exchange.takes.reads[i]
                yield i, block, {v: first + np.arange(len(block)) for v, first in reads}

    def _first_import(self, number: int) -> int:
        """Return the component that stands for the first value of a block."""
        before = self._routes.incoming[:number]
        start = int(self._joined.circuit.starts[self._joined.imports])
        return start + sum(len(block) for block in before if not block.to_modules)

    def _kept_here(self, sources: _Sources, step: int) -> SentRows:
        """Return the rows of sources, and older ones that relays have."""
        elements = element_of(self._layout, sources.component, sources.variable)
        depth = self._layout.rings[sources.variable].depth
        relays = self._relays_of(sources.variable)
        longest = [int(r.steps.max()) + self._layout.rings[r.variable].depth for r in relays]
        rows = np.zeros((max([depth, *longest]), len(elements)), self._backend.program.dtype)
        for back in range(depth):
            rows[back] = self._backend.row(sources.variable, step - back)[elements]
        counts = np.full(len(elements), depth)
        for relay in relays:
            column, mine = _matching(sources.component, relay.source)
            at = element_of(self._layout, relay.component[mine], relay.variable)
            for back in range(self._layout.rings[relay.variable].depth):
                row = self._backend.row(relay.variable, step - back)
                rows[back + relay.steps[mine], column] = row[at]
            many = relay.steps[mine] + self._layout.rings[relay.variable].depth
            np.maximum.at(counts, column, many)
        return SentRows(sources.lpus, sources.ports, rows, counts)

    def _kept_imports(
        self, number: int, block: ValueBlock, elements: Mapping[str, Numbers], step: int
    ) -> SentRows:
        """Return the rows that came for imports, and the older ones that they have."""
        came = self._came[number]
        longest = longest_latency(self._joined, self._simulation.dt)
        parts = [came]
        for variable, at in elements.items():
            depth = min(self._layout.rings[variable].depth, longest)
            olds = range(self._known, depth)
            parts += [self._backend.row(variable, step - back)[None, at] for back in olds]
            break  # every variable holds the same
        rows = np.concatenate(parts)
        return SentRows(block.lpus, block.ports, rows, np.full(len(block), len(rows)))


def _matching(component: Numbers, wanted: Numbers) -> tuple[Numbers, Numbers]:
    """Return all pairs of equal components: their places among the one and the other."""
    order = np.argsort(component, kind="stable")
    first = np.searchsorted(component[order], wanted, side="left")
    count = np.searchsorted(component[order], wanted, side="right") - first
    mine = np.repeat(np.arange(len(wanted)), count)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
    return order[np.repeat(first, count) + within], mine


def _later(rows: Rows, counts: Numbers, steps: Numbers) -> tuple[Rows, Numbers]:
    """Return histories as they are some steps later: row j is row j + steps of each."""
    wanted = np.arange(len(rows))[:, None] + steps
    out = np.take_along_axis(rows, np.minimum(wanted, len(rows) - 1), axis=0)
    return out, np.maximum(counts - steps, 0)


def _found(sent: SentRows, lpus: Column, ports: Numbers) -> tuple[Rows, Numbers]:
    """Return the longest history of each port; none where it was not kept."""
    names = {name: number for number, name in enumerate(np.unique(sent.lpus).tolist())}
    keys = np.array([names[name] for name in sent.lpus.tolist()], np.int64)
    order = np.lexsort((sent.counts, sent.ports, keys))
    width = int(sent.ports.max(initial=0)) + 1
    have = (keys * width + sent.ports)[order]
    wanted = np.array([names.get(name, -1) for name in lpus.tolist()], np.int64) * width + ports
    wanted[ports >= width] = -1
    at = np.searchsorted(have, wanted, side="right") - 1
    good = (at >= 0) & (have[np.maximum(at, 0)] == wanted)
    column = order[np.where(good, at, 0)]
    return sent.rows[:, column].copy(), np.where(good, sent.counts[column], 0)
