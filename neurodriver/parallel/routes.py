"""Patterns and the ports of all LPUs -> what each rank wires, sends and receives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Column
from ..errors import Faults
from ..plan.passes.join import Imports, PortLinks
from .directory import PortColumns

Numbers = NDArray[np.int64]

LISTED = 256
"""Values of a window from which on events go as lists; fewer are sent as rows in less time."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """One direction of a pattern between two LPUs: columns with an entry for each connection.

    ``steps`` is the latency beyond the one step of every crossing. Types are 'gpot' or 'spike'
    where the pattern says so, and empty where the LPUs' ports decide.
    """

    source: str  # ids of the LPUs
    target: str
    out_port: Column  # selectors
    in_port: Column
    steps: Numbers = field(default_factory=lambda: np.zeros((), np.int64))
    out_type: Column = field(default_factory=lambda: np.array(""))
    in_type: Column = field(default_factory=lambda: np.array(""))


@dataclass(frozen=True, eq=False)
class ValueBlock:
    """Values of one variable that go from one rank to another in each step.

    ``rank`` is the other rank; it is the own one between an LPU and a Module, or two Modules, of
    one process.
    """

    rank: int
    variable: str  # what the sources update
    lpus: Column  # (n,), of the output ports
    ports: Numbers  # (n,), the output ports: component numbers in the LPUs
    of_modules: bool = False  # whether Modules are at its ends, and not LPUs
    to_modules: bool = False
    components: Numbers | None = None  # (n,), in this rank's circuit, where they are known
    events: bool = False  # whether all ranks know that nearly all values are zero

    def __len__(self) -> int:
        return len(self.ports)

    def listed(self, window: int) -> bool:
        """Whether the values of a window that are not zero go as lists."""
        many = len(self) * window >= LISTED
        return self.events and many and not (self.of_modules or self.to_modules)


@dataclass(eq=False)
class Routes:
    """What one rank does for the crossings.

    ``imports`` are input ports of its LPUs fed from elsewhere, ``feeds`` those of its Modules;
    their ``place`` counts through ``incoming``.
    """

    links: list[PortLinks] = field(default_factory=list)  # between its own LPUs
    imports: list[Imports] = field(default_factory=list)
    feeds: list[Imports] = field(default_factory=list)
    incoming: list[ValueBlock] = field(default_factory=list)
    outgoing: list[ValueBlock] = field(default_factory=list)

    @property
    def imported(self) -> int:
        """How many values come in for LPUs."""
        return sum(len(b) for b in self.incoming if not b.to_modules)


@dataclass(frozen=True, eq=False)
class _Resolved:
    """A crossing as rows of the port tables."""

    source: str
    target: str
    out_row: Numbers
    in_row: Numbers
    steps: Numbers


@dataclass(frozen=True)
class _Map:
    """All ports of a job, and who is where."""

    tables: Mapping[str, PortColumns]
    ranks: Mapping[str, int]
    modules: frozenset[str]
    lists: bool

    def events(self, parts: Sequence[tuple[str, Numbers]]) -> bool:
        """Return whether rows of the port tables of some LPUs are events that go as lists."""
        return self.lists and all(self.tables[lpu].spike[rows].all() for lpu, rows in parts)

    def way(self, one: _Resolved) -> tuple[int, int, bool, bool]:
        """Return the ranks at both ends, and whether Modules are there."""
        ends = one.source, one.target
        a, b = (self.ranks[name] for name in ends)
        return a, b, ends[0] in self.modules, ends[1] in self.modules


def make_routes(
    tables: Mapping[str, PortColumns],
    ranks: Mapping[str, int],
    crossings: Sequence[Crossing],
    rank: int,
    name: str = "manager",
    strict: bool = False,
    modules: Iterable[str] = (),
    last_wins: bool = False,
    lists: bool = False,
) -> Routes:
    """Check the crossings and deal them out.

    Parameters
    ----------
    tables : mapping of id to PortColumns
        All LPUs of the job.
    ranks : mapping of id to int
        Where each LPU runs.
    rank : int
        The rank to make routes for.
    name : str
        Name used in messages.
    strict : bool
        Turn warnings into errors.
    modules : iterable of str
        Ids of what is a Module and no LPU.
    last_wins : bool
        Of several connections to one input port the last one counts, with a warning; else they
        are a fault.
    lists : bool
        Whether all ranks can send events as lists.

    Raises
    ------
    CircuitError
        With all faults: ports that do not exist, point the wrong way, differ in type, publish
        nothing, or are fed twice.
    """
    faults = Faults(name)
    resolved = [_resolve(one, tables, faults) for one in crossings]
    if last_wins:
        resolved = _last_sources(resolved, tables, faults)
    _fan_in(resolved, tables, faults)
    _unfed(resolved, tables, faults)
    faults.finish(strict)
    routes = Routes()
    known = _Map(tables, ranks, frozenset(modules), lists)
    far = []
    for one in resolved:
        a, b, of_module, to_module = known.way(one)
        if a != b or of_module or to_module:
            far.append(one)
        elif a == rank and len(one.out_row):
            ends = tables[one.source].number[one.out_row], tables[one.target].number[one.in_row]
            routes.links.append(PortLinks(one.source, one.target, *ends, one.steps))
    first = [0, 0]  # of LPUs, of Modules
    for peer in sorted(set(ranks.values()) | {rank}):
        for to in (False, True):
            for of in (False, True):
                routes.outgoing += _blocks(far, known, (rank, peer, of, to), peer)
                way = (peer, rank, of, to)
                blocks = _blocks(far, known, way, peer)
                found = _imports(far, known, way, blocks, first[to])
                (routes.feeds if to else routes.imports).extend(found)
                routes.incoming += blocks
                first[to] += sum(map(len, blocks))
    return routes


def _resolve(one: Crossing, tables: Mapping[str, PortColumns], faults: Faults) -> _Resolved:
    """Find the ports of a crossing; connections of ports that do not fit are faults."""
    between = f"pattern {one.source} -> {one.target}"
    ends = []
    for lpu, selectors, kinds, out in (
        (one.source, one.out_port, one.out_type, True),
        (one.target, one.in_port, one.in_type, False),
    ):
        table = tables[lpu]
        row = table.find(selectors)
        lost = np.flatnonzero(row < 0)
        texts = (f"{between}: {lpu} has no port '{selectors[i]}'" for i in lost.tolist())
        faults.add_each(texts, len(lost))
        wrong = (row >= 0) & (table.out[row] != out)
        io = "an output port (port_io is 'in')" if out else "an input port (port_io is 'out')"
        texts = (
            f"{between}: port '{selectors[i]}' of {lpu} must be {io}" for i in np.flatnonzero(wrong)
        )
        faults.add_each(texts, int(wrong.sum()))
        asked = np.broadcast_to(kinds, row.shape)
        there = _kinds(table, row) if len(table.spike) else asked
        other = (row >= 0) & (asked != "") & (asked != there)
        texts = (
            f"{between}: port '{selectors[i]}' is of type {asked[i]} in the pattern and of type "
            f"{there[i]} in {lpu}"
            for i in np.flatnonzero(other)
        )
        faults.add_each(texts, int(other.sum()))
        ends.append(np.where(wrong | other, -1, row))
    good = (ends[0] >= 0) & (ends[1] >= 0)
    steps = np.broadcast_to(one.steps, good.shape)[good]
    out_row, in_row = ends[0][good], ends[1][good]
    source, target = tables[one.source], tables[one.target]
    kinds_of = _kinds(source, out_row), _kinds(target, in_row)
    odd = np.flatnonzero(kinds_of[0] != kinds_of[1])
    texts = (
        f"{between}: port '{source.selector[out_row[i]]}' is of type {kinds_of[0][i]}, port "
        f"'{target.selector[in_row[i]]}' of type {kinds_of[1][i]}; both must be the same"
        for i in odd
    )
    faults.add_each(texts, len(odd))
    mute = np.flatnonzero(source.variable[out_row] == "")
    texts = (
        f"{between}: no edge leads to the output port '{source.selector[out_row[i]]}' of "
        f"{one.source}, so it has nothing to publish"
        for i in mute
    )
    faults.add_each(texts, len(mute))
    if not len(one.out_port):
        faults.warn(f"{between} connects no ports")
    return _Resolved(one.source, one.target, out_row, in_row, steps)


def _kinds(table: PortColumns, rows: Numbers) -> Column:
    return np.where(table.spike[rows], "spike", "gpot")


def _fan_in(
    resolved: Sequence[_Resolved], tables: Mapping[str, PortColumns], faults: Faults
) -> None:
    """Note input ports that several connections feed, over all patterns."""
    for lpu, table in tables.items():
        fed = [one.in_row for one in resolved if one.target == lpu]
        times = np.bincount(np.concatenate([*fed, []]).astype(int), minlength=len(table.selector))
        twice = np.flatnonzero(times > 1)
        texts = (
            f"port '{table.selector[i]}' of {lpu} is fed by {times[i]} connections; an input port "
            f"takes one: use several ports, or sum with a component"
            for i in twice
        )
        faults.add_each(texts, len(twice))


def _last_sources(
    resolved: Sequence[_Resolved], tables: Mapping[str, PortColumns], faults: Faults
) -> list[_Resolved]:
    """Leave one connection to each input port, the last one; warn of those that are left out."""
    fed = {lpu: np.zeros(len(table.selector), dtype=bool) for lpu, table in tables.items()}
    left: list[_Resolved] = []
    for one in reversed(resolved):
        table, taken = tables[one.target], fed[one.target]
        _, last = np.unique(one.in_row[::-1], return_index=True)
        last = np.sort(len(one.in_row) - 1 - last)
        kept = last[~taken[one.in_row[last]]]
        lost = np.setdiff1d(np.arange(len(one.in_row)), kept)
        if len(lost):
            port = table.selector[one.in_row[lost[0]]]
            faults.warn(
                f"pattern {one.source} -> {one.target}: connections to input ports that a later "
                f"connection feeds are left out, the first is to '{port}'",
                len(lost),
            )
        taken[one.in_row] = True
        rows = one.out_row[kept], one.in_row[kept], one.steps[kept]
        left.append(_Resolved(one.source, one.target, *rows))
    return left[::-1]


def _unfed(
    resolved: Sequence[_Resolved], tables: Mapping[str, PortColumns], faults: Faults
) -> None:
    """Warn of input ports that no pattern feeds."""
    for lpu, table in tables.items():
        fed = np.zeros(len(table.selector), dtype=bool)
        for one in resolved:
            if one.target == lpu:
                fed[one.in_row] = True
        lost = int((~fed & ~table.out).sum())
        if lost and resolved:
            faults.warn(f"{lpu}: input ports that no pattern feeds", lost)


_Way = tuple[int, int, bool, bool]


def _blocks(resolved: Sequence[_Resolved], known: _Map, way: _Way, other: int) -> list[ValueBlock]:
    """Return what goes one way: each port once, ordered by variable, LPU and port."""
    columns: dict[tuple[str, str], list[Numbers]] = {}
    for one in resolved:
        if known.way(one) == way:
            table = known.tables[one.source]
            for variable in np.unique(table.variable[one.out_row]).tolist():
                rows = one.out_row[table.variable[one.out_row] == variable]
                columns.setdefault((variable, one.source), []).append(rows)
    blocks: dict[str, list[tuple[str, Numbers]]] = {}
    for (variable, lpu), parts in sorted(columns.items()):
        blocks.setdefault(variable, []).append((lpu, np.unique(np.concatenate(parts))))
    return [
        ValueBlock(
            other,
            variable,
            np.concatenate([np.full(len(rows), lpu) for lpu, rows in parts]),
            np.concatenate([known.tables[lpu].number[rows] for lpu, rows in parts]),
            *way[2:],
            events=known.events(parts),
        )
        for variable, parts in blocks.items()
    ]


def _imports(
    resolved: Sequence[_Resolved], known: _Map, way: _Way, blocks: Sequence[ValueBlock], first: int
) -> list[Imports]:
    """Return which input ports take which of the imported values."""
    tables = known.tables
    place: dict[str, Numbers] = {}
    for block in blocks:
        for lpu in np.unique(block.lpus).tolist():
            mine = np.flatnonzero(block.lpus == lpu)
            at = place.setdefault(lpu, np.full(tables[lpu].number.max() + 1, -1))
            at[block.ports[mine]] = first + mine
        first += len(block)
    out = []
    for one in resolved:
        if known.way(one) == way and len(one.out_row):
            number = tables[one.source].number[one.out_row]
            steps = tables[one.source].steps[one.out_row] - 1 + one.steps
            ports = tables[one.target].number[one.in_row]
            out.append(Imports(one.target, ports, place[one.source][number], steps))
    return out
