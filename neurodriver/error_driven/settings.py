"""Parameters of layers and paths: their defaults, and rules that set them by kind or name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neurodriver.errors import CircuitError, near, quoted

from .neuron_text import PARAMETERS, POOL_PARAMETERS

LAYER: dict[str, float | bool] = {
    "nominal": 0.1,  # share of units that is expected to be active
    "rate_factor": True,  # receivers whose activity is saturated or unchanged learn less
    "pool_inhibits": False,  # whether sub-pools inhibit themselves beside the layer
    "trg_rate": 0.02,  # change of the target average by CaP - CaD
    "trg_sub_mean": 1.0,  # share of the mean change that is taken off
    "gi_adapts": False,  # gi_mult follows the mean activity, slowly
    "tau_average": 20.0,  # trials of the long averages of activity
}
"""Parameters of a layer beside those of its neurons."""

OF_UNITS = {**PARAMETERS, **POOL_PARAMETERS}
"""Parameters of the neurons of a layer."""

PATH: dict[str, float | bool] = {
    "rel": 1.0,  # strength among the paths into a layer
    "abs": 1.0,  # strength
    "delay": 2.0,  # cycles that a spike takes, beside the one that it is felt in
    "learn": True,
    "hebb": False,  # changes follow from the activity of both ends, not from errors
    "lrate": 0.04,  # learning rate
    "mean": 0.5,  # of first weights
    "var": 0.25,  # half the range of first weights
    "spct": 0.5,  # share of the variance that is structural
    "sym": True,  # the way back begins with mirrored weights
    "synapse_threshold": 0.0,  # least product of traces that counts
    "tau_trace": 1.0,  # trials of the trace of products
    "cap_scale": 1.0,  # weight of potentiation into target layers
    "sub_mean": 0.0,  # share of a receiver's mean change that is taken off
    "swt_adapts": True,
    "swt_rate": 0.1,
    "swt_least": 0.2,
    "swt_most": 0.8,
}
"""Parameters of a path."""

KINDS: dict[str, dict[str, float | bool]] = {
    "super": {},
    "input": {"gi": 0.9, "clamp": 1.5, "clamps": 1.0, "dendrite_ss": 0.0, "trg_sub_mean": 0.0},
    "target": {"clamp": 0.8, "clamps": 1.0, "dendrite_ss": 0.0, "trg_sub_mean": 0.0},
    "compare": {"clamp": 0.8, "clamps": 1.0, "dendrite_ss": 0.0, "trg_sub_mean": 0.0},
    "forward": {},
    "back": {"rel": 0.1},
    "lateral": {},
    "inhib": {"swt_adapts": False},
}
"""Kind of layers and paths -> what differs from the defaults."""

LAYER_KINDS = ("input", "super", "target", "compare")
PATH_KINDS = ("forward", "back", "lateral", "inhib")


def known(what: str) -> list[str]:
    """Return the parameters of layers or of paths."""
    return [*LAYER, *OF_UNITS] if what == "layer" else [*PATH]


def check_names(what: str, names: Iterable[str], where: str) -> None:
    """Raise CircuitError for names that are no parameters of layers or paths."""
    names_known = known(what)
    wrong = [name for name in names if name not in names_known]
    if wrong:
        hints = "; ".join(f"no {what} parameter {quoted(n)}{near(n, names_known)}" for n in wrong)
        raise CircuitError(f"{where}: {hints}")


def value_of(what: str, name: str, given: Any, where: str) -> float | bool:
    """Return a value of a parameter.

    Raises
    ------
    CircuitError
        For what is no finite number, or out of the range of the parameter.
    """
    default = (LAYER if what == "layer" else PATH).get(name)
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = float("nan")
    rule = OF_UNITS.get(name) if what == "layer" else None
    if number != number or abs(number) == float("inf"):
        raise CircuitError(f"{where}, {name}: must be a finite number (got {given!r:.60})")
    if isinstance(default, bool):
        return bool(number)
    if rule is not None and not (rule.at_least <= number <= rule.at_most and number > rule.above):
        raise CircuitError(f"{where}, {name}: must be {rule.allowed()} (got {number:g})")
    if rule is None and number < 0:
        raise CircuitError(f"{where}, {name}: must not be negative (got {number:g})")
    return number


class Rules:
    """What ``set`` has said, by selector: the more specific wins, among equals the later."""

    def __init__(self) -> None:
        self._given: dict[str, dict[str, float | bool]] = {}

    def add(self, selector: str, values: Mapping[str, float | bool]) -> None:
        """Add values for all layers or paths, for a kind (``.back``) or a name (``#Output``)."""
        self._given.setdefault(selector, {}).update(values)

    def resolved(
        self, what: str, kind: str, name: str, own: Mapping[str, float | bool]
    ) -> dict[str, float | bool]:
        """Return all parameters of a layer or a path."""
        defaults: dict[str, float | bool] = dict(LAYER if what == "layer" else PATH)
        if what == "layer":
            numbers = {n: rule.default for n, rule in OF_UNITS.items()}
            defaults |= {n: float(v) for n, v in numbers.items() if v is not None}
        selected = [self._given.get(s, {}) for s in (what, f".{kind}", f"#{name}")]
        out = {**defaults, **KINDS[kind]}
        for some in (*selected, own):
            out.update({n: v for n, v in some.items() if n in defaults})
        return out
