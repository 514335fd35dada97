"""The LPUs of one rank: made, wired with those of all ranks, run, closed."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compile.aggregators import insert_aggregators
from ..compile.join import Joined, join
from ..compile.program import Program
from ..errors import CircuitError, NeurodriverError
from ..lpu import LPU, managed
from ..simulation import Member, Simulation
from .deal import deal
from .directory import PortTable, port_table
from .exchange import Exchange, Timing, imported_variables, least_latency
from .mpi import World
from .routes import Crossing, Routes, make_routes

Error = tuple[str, int, list[str]]
"""Id of the LPU, step, lines of the traceback."""


@dataclass
class Order:
    """One LPU as it was asked for.

    Attributes
    ----------
    id : str
    make : callable
        Constructs it.
    rank : int or None
        Where it shall run.
    """

    id: str
    make: Callable[[], LPU]
    rank: int | None = None


@dataclass
class _Told:
    """What a rank tells the others about one of its LPUs."""

    table: PortTable
    dt: float
    dtype: str
    seed: int
    cost: float


class Job:
    """This rank's share of a run.

    Parameters
    ----------
    world : World
    orders : sequence of Order
        All LPUs, the same on every rank.
    connections : sequence of callable
        Each returns the crossings of one pattern for a dt.
    seconds : float
        How long to wait for other ranks.
    threads : int, optional
    strict : bool
        Turn warnings into errors.

    Attributes
    ----------
    lpus : dict of str to LPU
        Those of this rank.
    ranks : dict of str to int
        Rank of every LPU.
    errors : list of (id, step, lines)
    simulation : Simulation or None
        None where the rank has no LPU.
    """

    def __init__(
        self,
        world: World,
        orders: Sequence[Order],
        connections: Sequence[Callable[[float], list[Crossing]]],
        *,
        seconds: float = 0.0,
        threads: int | None = None,
        strict: bool = False,
    ) -> None:
        self.world = world
        self.orders = {order.id: order for order in orders}
        self.seconds = seconds
        self.errors: list[Error] = []
        self.lpus: dict[str, LPU] = {}
        self.simulation: Simulation | None = None
        self.ranks = deal(dict.fromkeys(self.orders, 1.0), self._asked(), world.size)
        told = self._together(self._make)
        first, self.ranks = (
            self.ranks,
            deal({name: t.cost for name, t in told.items()}, self._asked(), world.size),
        )
        if self.ranks != first:
            told = self._together(self._make)
        self.dt = _common("dt", {k: t.dt for k, t in told.items()})
        dtype = _common("dtype", {k: t.dtype for k, t in told.items()})
        seed = _common("seed", {k: t.seed for k, t in told.items()})
        crossings = [one for make in connections for one in make(self.dt)]
        tables = {name: t.table for name, t in told.items()}
        routes = make_routes(tables, self.ranks, crossings, world.rank, strict=strict)
        self._together(lambda: self._build(routes, dtype, seed, threads))

    def _asked(self) -> dict[str, int]:
        return {o.id: o.rank for o in self.orders.values() if o.rank is not None}

    def _together(self, work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Do something on every rank and share what it gave; an error of one is an error of all."""
        given: Mapping[str, Any] = {}
        failed: BaseException | None = None
        try:
            given = work()
        except (Exception, SystemExit) as error:
            failed = error
            self.errors.append((self._working, 0, traceback.format_exc().splitlines(True)))
        everything = self.world.gather((given, self.errors), self.seconds)
        self.errors = [e for _, errors in everything for e in errors]
        if self.errors:
            raise ConstructionError(self.errors) from failed
        return {name: value for values, _ in everything for name, value in values.items()}

    _working = ""

    def _make(self) -> dict[str, _Told]:
        """Construct the LPUs that fall to this rank and are not there yet."""
        for name in list(self.lpus):
            if self.ranks[name] != self.world.rank:
                del self.lpus[name]
        out = {}
        for name, order in self.orders.items():
            if self.ranks[name] != self.world.rank:
                continue
            self._working = name
            if name not in self.lpus:
                with managed():
                    self.lpus[name] = order.make()
            lpu = self.lpus[name]
            table = port_table(lpu.circuit, lpu.dt)
            cost = float(lpu.circuit.count + lpu.circuit.edges)
            settings = lpu.settings
            out[name] = _Told(table, lpu.dt, settings.dtype, settings.seed, cost)
        return out

    def _build(
        self, routes: Routes, dtype: str, seed: int, threads: int | None
    ) -> dict[str, float]:
        """Join this rank's circuits and make them ready to run."""
        self._working = next(iter(self.lpus), "")
        joined = None
        least = 0
        if self.lpus:
            circuits = {name: insert_aggregators(lpu.circuit) for name, lpu in self.lpus.items()}
            held = _recorded_ports(self.lpus)
            feeds = routes.links, routes.imports
            joined = join(circuits, *feeds, self.dt, routes.imported, held)
            least = least_latency(joined, self.dt)
            if least and any(len(ports) for _, _, ports in held):
                least = 1  # what is recorded must be there in time
        shortest = [n for n in self.world.gather(least, self.seconds) if n]
        if joined is None:
            return {}
        least = min(shortest, default=0)
        border = None
        if routes.incoming or routes.outgoing:
            border = _Border(self.world, routes, joined, Timing.of(least), self.seconds)
        members = [
            Member(name, lpu.inputs, lpu.recorders, lpu.attributes)
            for name, lpu in self.lpus.items()
        ]
        self.simulation = Simulation(
            joined.circuit,
            self.dt,
            members,
            dtype=dtype,
            threads=threads,
            seed=seed,
            plans=all(lpu.settings.plans for lpu in self.lpus.values()),
            border=border,
            relays=joined.relays,
        )
        for name, lpu in self.lpus.items():
            lpu.join(self.simulation, name)
        return {}


def _recorded_ports(lpus: Mapping[str, LPU]) -> list[tuple[str, str, NDArray[np.int64]]]:
    """Return the input ports that recorders ask for: LPU, variable, component numbers."""
    out = []
    for name, lpu in lpus.items():
        table = port_table(lpu.circuit, lpu.dt)
        inputs = table.number[~table.out]
        for recorder in lpu.recorders:
            for variable, uids in recorder.record:
                if uids is not None and len(inputs):
                    found = lpu.circuit.find(uids)
                    asked = found[np.isin(found, inputs)]
                    if len(asked):
                        out.append((name, variable, asked))
    return out


@dataclass
class _Border:
    """Makes the exchange of a simulation."""

    world: World
    routes: Routes
    joined: Joined
    timing: Timing
    seconds: float
    exported: set[str] = field(init=False)
    depth: Mapping[str, Callable[[int], int]] = field(init=False)

    def __post_init__(self) -> None:
        self.exported = {block.variable for block in self.routes.outgoing}
        read = imported_variables(self.joined)
        self.depth = dict.fromkeys(sorted(self.exported | read), self.timing.depth)

    def open(self, program: Program) -> Exchange:
        """Return buffers and requests."""
        parts = self.world, self.routes, self.joined
        return Exchange(*parts, program, self.timing, self.seconds)


class ConstructionError(NeurodriverError):
    """An LPU of some rank cannot be made."""

    def __init__(self, errors: Sequence[Error]) -> None:
        super().__init__(errors[0][2][-1].strip() if errors else "")
        self.errors = list(errors)


def _common(name: str, values: Mapping[str, Any]) -> Any:
    """Return the value that all LPUs share."""
    different = dict.fromkeys(values.values())
    if len(different) > 1:
        said = ", ".join(f"{lpu}: {value}" for lpu, value in list(values.items())[:5])
        raise CircuitError(f"manager: all LPUs need the same {name}, got {said}")
    return next(iter(different))
