"""What a Manager was asked for: LPUs, Modules and patterns; the same on every rank."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import CircuitError, near
from ..run.lpu import LPU
from .module import Module
from .patterns import PatternLinks, wiring


@dataclass
class Order:
    """One LPU or Module as it was asked for.

    Attributes
    ----------
    id : str
    target : class
    args, kwargs
        What its constructor takes.
    rank : int or None
        Where it shall run.
    """

    id: str
    target: type[LPU] | type[Module]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    rank: int | None = None

    def given(self, plan: JobPlan) -> dict[str, Any]:
        """Return the named arguments, with those that a manager supplies."""
        takes = _accepted(self.target)
        supplied = {"id": self.id, **plan.supplied}
        return {**{k: v for k, v in supplied.items() if k in takes}, **self.kwargs}

    def make(self, plan: JobPlan) -> LPU | Module:
        """Construct it."""
        made = self.target(*self.args, **self.given(plan))
        if isinstance(made, Module):
            made.id = self.id
        return made


def _accepted(target: type[LPU] | type[Module]) -> set[str]:
    """Return the named arguments of a constructor.

    A Module whose constructor has ``**given`` also takes the arguments of its bases.
    """
    names: set[str] = set()
    for kind in target.__mro__:
        if "__init__" not in vars(kind):
            continue
        parameters = inspect.signature(kind).parameters.values()
        names |= {p.name for p in parameters}
        if kind is Module or not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
        if not issubclass(target, Module):
            break
    return names


@dataclass
class JobPlan:
    """LPUs, Modules and patterns.

    Attributes
    ----------
    supplied : dict
        Named arguments for every constructor that takes them; each gets its ``id``, too.
    threads : int or None
        Worker threads of each rank.
    timeout : float
        Seconds without progress of a rank after which the job ends; 0: never.
    strict : bool
        Turn warnings into errors.
    last_wins : bool
        Of several connections to one input port the last one counts, with a warning; else they
        are an error.
    """

    orders: list[Order] = field(default_factory=list)
    wirings: list[PatternLinks] = field(default_factory=list)
    supplied: dict[str, Any] = field(default_factory=dict)
    threads: int | None = None
    timeout: float = 0.0
    strict: bool = False
    last_wins: bool = False

    @property
    def ids(self) -> list[str]:
        """Ids in the order in which they were added."""
        return [order.id for order in self.orders]

    def add(self, order: Order) -> None:
        """Note an LPU or a Module.

        Raises
        ------
        CircuitError
            For something else, an id that is there already, or arguments that do not fit.
        """
        target: Any = order.target
        if not (inspect.isclass(target) and issubclass(target, LPU | Module)):
            kinds = "LPU, Module or a subclass"
            raise CircuitError(f"Manager.add: target must be {kinds}, got {target!r:.60}")
        if order.id in self.ids:
            raise CircuitError(f"Manager.add: there is an LPU '{order.id}' already")
        try:
            inspect.signature(target).bind(*order.args, **order.given(self))
        except TypeError as error:
            raise CircuitError(f"Manager.add: {order.id}: {target.__name__}: {error}") from None
        self.orders.append(order)

    def connect(
        self, ids: tuple[str, str], pattern: Any, interfaces: tuple[int, int], delay: float
    ) -> None:
        """Note a pattern between two of them.

        Raises
        ------
        CircuitError
            For unknown ids, something else than a pattern, interfaces that it does not have.
        """
        known = self.ids
        for name in ids:
            if name not in known:
                hint = near(str(name), known)
                raise CircuitError(f"Manager.connect: there is no LPU '{name}'{hint}; add it first")
        self.wirings.append(wiring(pattern, ids, interfaces, delay))


def deal(costs: Mapping[str, float], asked: Mapping[str, int], size: int) -> dict[str, int]:
    """Return the rank of each LPU from the costs of its steps and the ranks that were asked for.

    Raises
    ------
    CircuitError
        When a rank was asked for that does not exist.
    """
    bad = {name: rank for name, rank in asked.items() if not 0 <= rank < size}
    if bad:
        said = ", ".join(f"{name}: {rank}" for name, rank in bad.items())
        raise CircuitError(f"manager: ranks are 0 to {size - 1}, asked for were {said}")
    load = [0.0] * size
    out = dict(asked)
    for name, rank in asked.items():
        load[rank] += costs[name]
    free = [name for name in costs if name not in asked]
    for name in sorted(free, key=lambda n: -costs[n]):  # stable: equal costs keep their order
        rank = min(range(size), key=lambda r: load[r])
        out[name] = rank
        load[rank] += costs[name]
    return {name: out[name] for name in costs}
