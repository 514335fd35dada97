"""What the components of a model have: parameters, states, and accesses of others' variables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelError
from .attributes import fault_of


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that each component of a model has.

    Parameters
    ----------
    unit : str
        Unit, for instance ``"mV"``.
    default : float, optional
        Value where a node gives none; without it the parameter is required.
    above, at_least, at_most : float, optional
        Bounds; ``above`` excludes its own value.
    doc : str
        What it is.
    whole : bool
        Whether only whole numbers are allowed.
    size : int, optional
        Of a vector: ``beta[2]`` is an element in texts, and a population gets (n, size) numbers.
    source : str
        Where the default comes from, if it has another source than the model.
    """

    unit: str = ""
    default: float | None = None
    above: float = -math.inf
    at_least: float = -math.inf
    at_most: float = math.inf
    doc: str = ""
    whole: bool = False
    size: int | None = None
    source: str = ""

    def allowed(self) -> str:
        """Return the admissible range in words."""
        parts = ["a whole number"] if self.whole else []
        if self.above > -math.inf:
            parts.append("positive" if self.above == 0 else f"above {self.above:g}")
        if self.at_least > -math.inf:
            parts.append(f"at least {self.at_least:g}")
        if self.at_most < math.inf:
            parts.append(f"at most {self.at_most:g}")
        return " and ".join(parts) or "finite"

    @property
    def harmless(self) -> float:
        """A number that is allowed, in place of one that is missing or wrong."""
        return min(max(1.0, self.at_least, self.above + 1), self.at_most)


@dataclass(frozen=True, slots=True)
class State:
    """A number that each component carries from step to step.

    Parameters
    ----------
    unit : str
        Unit of the state.
    initial : float or str
        Value before step 0, or the name of a parameter or an earlier state. A required parameter
        may share the state's own name: it is the initial value and nothing else. The optional
        parameter ``init<name>`` of a node comes before all of them.
    doc : str
        What it is.
    infinite : bool
        Whether it may be infinite or NaN; a run that stops at such values does not test it.
    size : int, optional
        Of a vector: ``bins[2]`` is an element in texts.
    """

    unit: str = ""
    initial: float | str = 0.0
    doc: str = ""
    infinite: bool = False
    size: int | None = None


@dataclass(frozen=True, slots=True)
class SynapseVariable(Parameter):
    """A number of each connection that the text of the target changes; ``default`` is its start."""


@dataclass(frozen=True, slots=True)
class Access:
    """One variable that a model reads, summed over all connections of a component.

    Parameters
    ----------
    variable : str
        Name of the variable.
    receptor : str
        Name under which an edge's attribute ``receptor`` picks this access; the mathematics uses
        it in place of the variable's name.
    each : str
        What one connection adds, in terms of the variable, of ``connection`` data, and of the
        model's accesses declared before this one. Default: the variable itself.
    connection : mapping of str to Parameter or State
        Numbers that every connection carries (with defaults). A `State` is a variable of the
        synapse: the text of the target reads and writes it in a loop over the connections.
    accumulate : {"real", "double"}
        Type of the sum.
    single : bool
        Whether it makes sense with one connection alone: a connected component has exactly one.
    unit : str
        Unit of the variable's values, as connections and inputs bring them, for instance ``"pA"``.
        V is in mV, spikes and rates of graded neurons are numbers and photons in 1/s, if nothing
        else is said. Other variables have no unit then, and quantities are refused for them.
    reduce : {"sum", "max", "min", "mean", "product", "any", "argmax"}
        What is made of the values of all connections. ``any`` is 1 where one of them is not 0.
        ``argmax`` is the number of the first connection with the greatest value, counted from 0 in
        the order of the component's connections. Without a connection a product is 1, ``argmax``
        is -1, and all others are 0.
    model : NDComponent subclass, optional
        Model of all sources, with axes. A loop over the connections reads the index of the source
        along each of them.
    """

    variable: str
    receptor: str = ""
    each: str = ""
    connection: Mapping[str, Parameter] = field(default_factory=dict)
    accumulate: str = "real"
    single: bool = False
    unit: str = ""
    reduce: str = "sum"
    model: Any = None

    def __post_init__(self) -> None:
        self._check_connection()
        self._check_model()
        rules = {name: _of_synapse(name, rule) for name, rule in self.connection.items()}
        object.__setattr__(self, "connection", rules)

    def _check_connection(self) -> None:
        given, say = self.connection, f"Access({self.variable!r}): connection"
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ModelError(
                f"{say}= takes the numbers of each connection by their names, as "
                f"{{'weight': nd.Parameter(default=1.0)}}, got {given!r:.60}"
            )
        for name, rule in given.items():
            if not isinstance(rule, Parameter | State):
                raise ModelError(
                    f"{say}[{name!r}] takes an nd.Parameter, whose default a connection has that "
                    f"says nothing else, or an nd.State that texts change, got {rule!r:.60}"
                )
            if rule.size is not None:
                raise ModelError(f"{say}[{name!r}] is one number, no vector (got size={rule.size})")
            if fault := fault_of(rule, f"nd.Projection(..., {name}=...)"):
                raise ModelError(f"{say}[{name!r}]: {fault}")

    def _check_model(self) -> None:
        if self.model is None:
            return
        axes = getattr(self.model, "axes", ())
        if not (isinstance(self.model, type) and axes):
            raise ModelError(f"Access: model= takes a model with axes, got {self.model!r:.60}")
        if twice := {self.variable, "index", *self.connection} & {*axes}:
            say = f"{min(twice)!r} is a name of a connection and of an axis of the sources"
            raise ModelError(f"Access: {say}; choose another name for the connection")

    @property
    def places(self) -> tuple[str, ...]:
        """Axes of the sources, along which a loop reads their indices."""
        return () if self.model is None else tuple(self.model.axes)

    @property
    def written(self) -> tuple[str, ...]:
        """Names of the variables of each synapse."""
        rules = self.connection.items()
        return tuple(name for name, rule in rules if isinstance(rule, SynapseVariable))

    @property
    def name(self) -> str:
        """Name of the sum in the mathematics."""
        return self.receptor or self.variable

    @property
    def weighted(self) -> bool:
        """Whether an edge's ``weight`` multiplies here."""
        return "weight" in self.connection


def _of_synapse(name: str, rule: Parameter | State) -> Parameter:
    """Return what a connection carries; a state becomes a variable of the synapse."""
    if not isinstance(rule, State):
        return rule
    if isinstance(rule.initial, str):
        raise ModelError(f"Access: connection[{name!r}] starts at a number, got {rule.initial!r}")
    return SynapseVariable(rule.unit, default=float(rule.initial), doc=rule.doc)


def Weighted(variable: str, receptor: str = "", at_least: float = -math.inf) -> Access:
    """Return an access whose connections are multiplied by their edge's ``weight``.

    ``at_least`` is the least weight that is allowed: 0 for conductances.
    """
    weight = Parameter("", default=1.0, at_least=at_least, doc="factor of this connection")
    return Access(variable, receptor, f"weight * {variable}", {"weight": weight})
