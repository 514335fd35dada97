"""``Linear``: what a synapse declares so that many of one target can be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .kinds import SPIKES, VariableKind

if TYPE_CHECKING:
    from .component import NDComponent

Columns = Mapping[str, NDArray[np.float64]]
Condition = Callable[[Columns, float], NDArray[np.bool_]]

ARRIVED = "arrived"
"""Term by which a linear synapse reads its input."""


def arrival(variable: str) -> str:
    """Return that term: 1 in the first sub-step of a step in which a spike arrives, otherwise 0."""
    return f"substep == 0 && {variable} > 0 ? 1 : 0"


ARRIVAL = arrival(SPIKES)
"""That term where the spikes have their usual name."""


@dataclass(frozen=True)
class Linear:
    """A synapse whose conductance is linear in its states, and these in what arrives.

    A model declares it where all of this holds:

    * a variable of events is its only access, a conductance its only updated variable;
    * the mathematics reads the input through the term ``arrived`` alone (`arrival`);
    * new states are linear in old states and ``arrived``, with coefficients that do not change;
    * the conductance is the product of ``factors`` and something linear in the states.

    Then the sum of the conductances of synapses that share all other parameters is the
    conductance of one synapse at which spikes arrive with the product of the factors as weight.
    A class that inherits the declaration and changes the mathematics loses it.

    Parameters
    ----------
    factors : tuple of str
        Parameters whose product multiplies the conductance; nothing else reads them.
    where : callable, optional
        Where the mathematics is linear, from the parameters, each (n,), and the length of a
        sub-step in ms: (n,) bool. Without it: everywhere.
    """

    factors: tuple[str, ...]
    where: Condition | None = None

    def check(self, model: type[NDComponent]) -> None:
        """Raise ModelError where a class declares this but is not of the form."""
        name = f"{model.__name__}.linear"
        read = [model.kind_of(a.variable) for a in model.accesses]
        written = [model.kind_of(v) for v in model.updates]
        plain = not any(a.each or a.receptor or a.reduce != "sum" for a in model.accesses)
        if not plain or read != [VariableKind.EVENT] or written != [VariableKind.CONDUCTANCE]:
            want = "access events alone, as they are, and update a conductance alone"
            raise ModelError(f"{name}: the model must {want}")
        term = arrival(model.accesses[0].variable)
        if model.terms.get(ARRIVED) != term:
            raise ModelError(f"{name}: the model needs the term {ARRIVED!r}: {term!r}")
        if lost := [f for f in self.factors if f not in model.params]:
            raise ModelError(f"{name}: no parameter {lost[0]!r} for a factor")


def linear_form(model: type[NDComponent]) -> Linear | None:
    """Return what a model declares, unless the mathematics is not that of the declaring class."""
    if model.linear is None or model.runtime.instance or model.sub_units:
        return None
    owner: Any = next(c for c in model.__mro__ if c.__dict__.get("linear") is model.linear)
    parts = ("accesses", "updates", "states", "constants", "terms", "update", "outputs")
    same = all(getattr(model, part) == getattr(owner, part) for part in parts)
    return model.linear if same and not model.draws_random() else None
