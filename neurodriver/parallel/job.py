"""The LPUs and Modules of one rank: made, wired with those of all ranks, run, closed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.choice import Choice, agreed, gpu_of, reaching_gpus
from ..circuit.circuit import Circuit
from ..errors import CircuitError, CircuitWarning, NeurodriverError, lines_of
from ..mpi import World
from ..plan.instances import needs_instance
from ..plan.passes.aggregate import insert_aggregators
from ..plan.passes.join import join
from ..run.lpu import LPU, managed
from ..run.member import Member
from ..run.nonfinite import strictest
from ..run.simulation import Simulation
from ..settings import validates
from .border import RankBorder
from .directory import PortColumns, port_table
from .exchange import Exchange
from .job_plan import JobPlan, deal
from .module import Module
from .port_rows import PortRows
from .routes import Routes, make_routes
from .shared_draws import RandomKeys, random_keys, warn_of_shared
from .window import Timing, least_latency

Error = tuple[str, int, list[str]]
"""Id of the LPU, step, lines of the traceback."""

MODULE_COST = 20_000.0
"""A step in Python takes about as long as so many connections."""

FAILED_SECONDS = 2.5
"""How long a rank that has failed waits for the others before it ends them."""


@dataclass
class _Told:
    """What a rank tells the others about one of its LPUs or Modules."""

    table: PortColumns
    cost: float
    dt: float | None = None  # a Module has no settings
    dtype: str = "float64"
    seed: int = 0
    gpu: str = ""
    hosted: bool = True  # whether its rings are in host memory
    keys: RandomKeys = field(default_factory=RandomKeys)


class Job:
    """This rank's share of a run.

    Attributes
    ----------
    lpus, modules : dict of str to LPU, to Module
        Those of this rank.
    ranks : dict of str to int
        Rank of every LPU and Module.
    simulation : Simulation or None
        None where the rank has nothing to do.
    """

    def __init__(self, world: World, plan: JobPlan) -> None:
        self.world = world
        self.plan = plan
        self.orders = {order.id: order for order in plan.orders}
        self.errors: list[Error] = []
        self.lpus: dict[str, LPU] = {}
        self.modules: dict[str, Module] = {}
        self.simulation: Simulation | None = None
        world.number += 1
        self.ranks = deal(dict.fromkeys(self.orders, 1.0), self._asked(), world.size)
        descriptions = self._together(self._make)
        first, self.ranks = (
            self.ranks,
            deal({name: t.cost for name, t in descriptions.items()}, self._asked(), world.size),
        )
        if self.ranks != first:
            descriptions = self._together(self._make)
        lpus = {name: t for name, t in descriptions.items() if t.dt is not None}
        self.dt = _common("dt", {k: t.dt for k, t in lpus.items()}, 1.0)
        dtype = _common("dtype", {k: t.dtype for k, t in lpus.items()}, "float64")
        seed = _common("seed", {k: t.seed for k, t in lpus.items()}, 0)
        if not lpus and any(w.delay for w in plan.wirings):
            raise CircuitError("manager: Modules alone have no dt; leave out the delay in connect")
        crossings = [one for wiring in plan.wirings for one in wiring.crossings(self.dt)]
        tables = {name: t.table for name, t in descriptions.items()}
        modules = [name for name in descriptions if name not in lpus]
        routes = make_routes(
            tables, self.ranks, crossings, world.rank, strict=plan.strict, modules=modules,
            last_wins=plan.last_wins, lists=all(t.hosted for t in lpus.values()),
        )  # fmt: skip
        warn_of_shared({name: t.keys for name, t in lpus.items()}, "manager", plan.strict)
        gpus = {self.ranks[name]: t.gpu for name, t in lpus.items()}
        self._together(lambda: self._build(routes, dtype, seed, bool(modules), gpus))
        self._together(self._fill)

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
            self.errors.append((self._working, 0, lines_of(error)))
        seconds = FAILED_SECONDS if failed else 0.0
        try:
            everything = self.world.gather((given, self.errors), seconds)
        except NeurodriverError:
            if failed is None:
                raise
            raise ConstructionError(
                self.errors, known_to_all=False
            ) from failed  # others are still busy
        self.errors = [e for _, errors in everything for e in errors]
        if self.errors:
            raise ConstructionError(self.errors) from failed
        return {name: value for values, _ in everything for name, value in values.items()}

    _working = ""

    def _make(self) -> dict[str, _Told]:
        """Construct the LPUs and Modules that fall to this rank and are not there yet."""
        here = self.world.rank
        self.lpus = {k: v for k, v in self.lpus.items() if self.ranks[k] == here}
        self.modules = {k: v for k, v in self.modules.items() if self.ranks[k] == here}
        out = {}
        for name, order in self.orders.items():
            if self.ranks[name] != here:
                continue
            self._working = name
            if name not in self.lpus and name not in self.modules:
                with managed(name):
                    made = order.make(self.plan)
                if isinstance(made, LPU):
                    self.lpus[name] = made
                else:
                    self.modules[name] = made
            if name in self.modules:
                table = self.modules[name].ports
                out[name] = _Told(table, MODULE_COST + len(table.number))
                continue
            lpu = self.lpus[name]
            table = port_table(lpu.circuit, lpu.dt)
            cost = float(lpu.circuit.count + lpu.circuit.edges)
            settings = lpu.settings
            out[name] = _Told(table, cost, lpu.dt, settings.dtype, settings.seed)
            out[name].keys = random_keys(lpu.circuit, lpu.inputs)
            out[name].hosted = settings.choice.target.hosted and not validates()
        choices = agreed(lpu.settings.choice for lpu in self.lpus.values())
        gpu = gpu_of(choices[0]) if len(choices) == 1 else ""  # several: they are told of later
        for name, lpu in self.lpus.items():
            own = any(needs_instance(group) for group in lpu.circuit.groups)
            out[name].gpu = "" if own else gpu  # own code may run at each step
        return out

    def _build(
        self, routes: Routes, dtype: str, seed: int, lockstep: bool, gpus: Mapping[int, str]
    ) -> dict[str, float]:
        """Join this rank's circuits and make them ready to run; ``gpus``: of each rank."""
        self._working = next(iter({**self.lpus, **self.modules}), "")
        joined = None
        least = 0
        if self.lpus or self.modules:
            circuits = {name: _namespaced(lpu) for name, lpu in self.lpus.items()}
            held = _recorded_ports(self.lpus)
            feeds = routes.links, routes.imports
            joined = join(circuits, *feeds, self.dt, routes.imported, held)
            least = least_latency(joined, self.dt)
            if least and any(len(ports) for _, _, ports in held):
                least = 1  # what is recorded must be there in time
        shortest = [n for n in self.world.gather(least) if n]
        least = 0 if lockstep else min(shortest, default=0)
        # a kernel that waits would keep another process from its GPU
        gates = least > 0 and all(gpus.values()) and len({*gpus.values()}) == len(gpus)
        peers = gates and self._all_reach(joined is not None)
        if joined is None:
            return {}
        border = None
        if routes.incoming or routes.outgoing or self.modules:
            timing = Timing.of(least, gates)
            choice = self._choice() or Choice.of()
            waits = gates or (least > 0 and not timing.lag and not choice.target.threads)
            border = RankBorder(self.world, routes, joined, timing, waits, self.modules, peers)
        members = [
            Member(name, lpu.inputs, lpu.recorders, lpu.attributes, s.merge, keep=s.keep)
            for name, lpu in self.lpus.items()
            for s in (lpu.settings,)
        ]
        self.simulation = Simulation(
            joined.circuit,
            self.dt,
            members,
            dtype=dtype,
            threads=self.plan.threads,
            seed=seed,
            plans=all(lpu.settings.plans for lpu in self.lpus.values()),
            border=border,
            relays=joined.relays,
            choice=self._choice(),
            debug=any(lpu.settings.debug for lpu in self.lpus.values()),
            nonfinite=strictest(lpu.settings.nonfinite for lpu in self.lpus.values()),
        )
        self.simulation.ports = PortRows(self.simulation, joined, routes)
        for name, lpu in self.lpus.items():
            lpu.join(self.simulation, name)
        return {}

    def _fill(self) -> dict[str, float]:
        """Give imports the rows before step 0, while no value is set."""
        exchange = self.simulation.exchange if self.simulation else None
        if isinstance(exchange, Exchange):
            exchange.fill()
        return {}

    def _all_reach(self, computes: bool) -> bool:
        """Return whether the GPUs of all ranks that compute reach each other's memory."""
        choices = [self._choice() or Choice.of()] if computes else []

        def everywhere(find: Callable[[], list[Any]]) -> list[Any]:
            return [one for found in self.world.gather(find()) for one in found]

        return reaching_gpus(choices, everywhere) > 1

    def _choice(self) -> Choice | None:
        """Return the backend that the LPUs of this process ask for.

        Raises
        ------
        NeurodriverError
            When they ask for different ones.
        """
        asked = {name: lpu.settings.choice for name, lpu in self.lpus.items()}
        choices = agreed(asked.values())
        if len(choices) > 1:
            (first, one), *rest = ((n, replace(c, wish=None)) for n, c in asked.items())
            second, other = next((n, c) for n, c in rest if c != one)
            raise NeurodriverError(
                f"LPUs of one process share a backend: '{first}' asks for {one.description}, "
                f"'{second}' for {other.description}; give them the same, or processes of their own"
            )
        wishes = dict.fromkeys(choice.wish or 0 for choice in asked.values())
        if len(wishes) > 1:
            text = f"LPUs of one process share a GPU; they wish for {', '.join(map(str, wishes))}"
            advice = "that of the rank is taken: run them under mpiexec, one a process"
            warnings.warn(f"{text}; {advice}", CircuitWarning, stacklevel=2)
        return next(iter(choices), None)


def _namespaced(lpu: LPU) -> Circuit:
    """Return the circuit of an LPU with its Aggregators and its namespace of random numbers."""
    return insert_aggregators(lpu.circuit).in_random_namespace(lpu.random_namespace)


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


class ConstructionError(NeurodriverError):
    """An LPU of some rank cannot be made; ``known_to_all``: all ranks know."""

    def __init__(self, errors: Sequence[Error], known_to_all: bool = True) -> None:
        super().__init__(errors[0][2][-1].strip() if errors else "")
        self.errors = list(errors)
        self.known_to_all = known_to_all


def _common(name: str, values: Mapping[str, Any], default: Any) -> Any:
    """Return the value that all LPUs share."""
    different = dict.fromkeys(values.values())
    if len(different) > 1:
        said = ", ".join(f"{lpu}: {value}" for lpu, value in list(values.items())[:5])
        raise CircuitError(f"manager: all LPUs need the same {name}, got {said}")
    return next(iter(different), default)
