"""``Linear``: what a synapse declares so that many of one target can be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError

if TYPE_CHECKING:
    from .component import NDComponent

Columns = Mapping[str, NDArray[np.float64]]
Condition = Callable[[Columns, float], NDArray[np.bool_]]

ARRIVED = "arrived"
"""Term by which a linear synapse reads its input."""

ARRIVAL = "substep == 0 && spike_state > 0 ? 1 : 0"
"""That term: 1 in the first sub-step of a step in which a spike arrives, otherwise 0."""


@dataclass(frozen=True)
class Linear:
    """A synapse whose conductance is linear in its states, and these in what arrives.

    A model declares it where all of this holds:

    * ``spike_state`` is its only access, ``g`` its only updated variable;
    * the mathematics reads the input through the term ``arrived`` alone (`ARRIVAL`);
    * new states are linear in old states and ``arrived``, with coefficients that do not change;
    * ``g`` is the product of ``factors`` and something linear in the states.

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
        accesses = [(a.name, a.each) for a in model.accesses]
        if accesses != [("spike_state", "")] or list(model.updates) != ["g"]:
            raise ModelError(f"{name}: the model must access spike_state alone and update g alone")
        if model.terms.get(ARRIVED) != ARRIVAL:
            raise ModelError(f"{name}: the model needs the term {ARRIVED!r}: {ARRIVAL!r}")
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
