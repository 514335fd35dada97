"""Whether a step is too long for the time constants of a circuit's models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, quoted
from ..model.component import NDComponent
from ..model.stability import Overshoot, overshoot, sampled
from .circuit import Circuit, Group
from .initial import initial_states

_LOOKED_AT = 256
"""Components of a group that are looked at, beside the extremes of each parameter."""

_Found = tuple[Overshoot, str, Mapping[str, NDArray[np.float64]]]


def warn_of_overshoot(faults: Faults, circuit: Circuit, dt: float) -> None:
    """Note a warning for each model whose mathematics overshoots in a step of ``dt`` seconds."""
    worst: dict[type[NDComponent], _Found] = {}
    for group in circuit.groups:
        if group.is_port or not group.count or group.hidden:
            continue
        found = _overshoot(group, dt)
        known = worst.get(group.model)
        if found is not None and (known is None or found[0].factor < known[0].factor):
            worst[group.model] = found
    for model, (one, uid, params) in worst.items():
        faults.warn(_message(model, one, uid, params, dt))


def _overshoot(group: Group, dt: float) -> _Found | None:
    model = group.model
    rules = model.params
    columns = {
        name: np.asarray(group.params.get(name, rules[name].default), dtype=np.float64)
        for name in model.fixed_params()
    }
    places = np.array(sampled(columns, group.count, _LOOKED_AT))
    params = {
        name: np.broadcast_to(column, (group.count,))[places] for name, column in columns.items()
    }
    states = {name: column[places] for name, column in initial_states(group).items()}
    found = overshoot(model, params, states, dt)
    if found is None:
        return None
    uid = str(group.uids[places[found.component]])
    return found, uid, {name: column[found.component] for name, column in params.items()}


def _message(
    model: type[NDComponent],
    one: Overshoot,
    uid: str,
    params: Mapping[str, NDArray[np.float64]],
    dt: float,
) -> str:
    """Return what is wrong, why, and what to do."""
    decides = ""
    if one.parameter:
        unit = model.params[one.parameter].unit
        decides = f", by {one.parameter} = {params[one.parameter]:g}{f' {unit}' if unit else ''}"
    within = "step" if model.substeps(dt) == 1 else "sub-step"
    return (
        f"{model.__name__}: dt = {dt:g} s is too long for its equations: each {within} multiplies "
        f"a deviation of {one.state} by {one.factor:.3g} (component {quoted(uid)}{decides}), so "
        f"the values grow without bound; above {one.stable:.2g} s it is not stable, take a tenth "
        f"of that or less"
    )
