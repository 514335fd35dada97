"""What a population is given: places of its components, laws of its parameters, vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError, Faults, UnitError
from ..model.component import NDComponent, Parameter
from ..model.vectors import elements
from ..quantities import is_quantity
from .bounds import out_of_bounds
from .distributions import Distribution, Uniform, faults_of, in_unit
from .space import Space, grid_of, points_of


def law_in_unit(
    law: Distribution, unit: str | None, name: str, faults: Faults, rule: Parameter
) -> Distribution:
    """Return a distribution of plain numbers; note quantities of another dimension."""
    try:
        converted = in_unit(law, unit, name)
    except UnitError as error:
        faults.add(str(error))
        return Uniform(rule.harmless, rule.harmless)
    assert isinstance(converted, Distribution)
    return converted


def space_given(
    model: type[NDComponent],
    count: object,
    axes: object,
    mask: ArrayLike | None,
    positions: object,
    period: object,
    where: str,
) -> Space | None:
    """Return where components are, None where that is not said."""
    given = {"a count": count, "axes": axes, "positions": positions}
    said = [name for name, value in given.items() if value is not None]
    if len(said) != 1:
        got = " and ".join(said) or "none of them"
        want = "give a count, axes or positions, and one of them alone"
        raise CircuitError(f"{where}: {want} (got {got})")
    for name, value, of in (("mask", mask, "axes"), ("period", period, "positions")):
        if value is not None and said != [of]:
            raise CircuitError(f"{where}: '{name}' belongs to {of}=, which is not given")
    declared = tuple(getattr(model, "axes", ()))
    if axes is not None:
        return grid_of(axes, mask, declared, where)
    if positions is not None:
        return points_of(positions, period, declared, where)
    if declared:
        want = f"give axes={{...}} with {', '.join(declared)}, which the model declares"
        raise CircuitError(f"{where}: {want} (got a count)")
    return None


def rule_of(model: type[NDComponent], name: str) -> Parameter:
    return model.params.get(name) or Parameter(model.optional_unit(name))


def stand_in(
    model: type[NDComponent], name: str, law: Distribution, faults: Faults
) -> NDArray[np.float64]:
    """Return one number that a law may draw; note what is wrong with the law or its bounds."""
    wrong = list(faults_of(law))
    for text in wrong:
        faults.add(f"{model.__name__}.{name}: {text}")
    rule = rule_of(model, name)
    harmless = np.array(rule.harmless)
    if wrong:
        return harmless
    bounds = law.law()
    text = out_of_bounds(rule, bounds.least, bounds.most)
    if rule.whole:
        text = "takes whole numbers, and no distribution draws them; give an array"
    if text:
        faults.add(f"{model.__name__}.{name} {text}")
        return harmless
    return np.array(bounds.least)


def with_elements(
    model: type[NDComponent], given: dict[str, Any], faults: Faults
) -> dict[str, Any]:
    """Return keywords of a population with the elements of vectors in the place of vectors.

    Parameters
    ----------
    given : dict
        The value of a vector is one number or one distribution for all elements, (size,) numbers,
        or one number for each component and element: (count, size), or the population's shape +
        (size,).
    """
    out: dict[str, Any] = {}
    for name, value in given.items():
        vector = name if name in model.vectors else name.removeprefix("init")
        size = model.vectors.get(vector, 0)
        if not size or (name == vector and f"{name}__0" not in model.params):
            out[name] = value
            continue
        own = elements(name, size)
        if isinstance(value, Distribution) or is_quantity(value) or np.ndim(value) == 0:
            out |= dict.fromkeys(own, value)
            continue
        columns = np.asarray(value)
        if columns.shape[-1] != size:
            want = f"its last axis has {size} elements"
            faults.add(f"{model.__name__}.{name}: {want}, got shape {columns.shape}")
            columns = np.zeros(size)
        for place, one in enumerate(own):
            out[one] = columns[..., place]
    return out
