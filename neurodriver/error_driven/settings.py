"""Parameters of layers and paths: their defaults, and rules that set them by kind or name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from neurodriver.errors import CircuitError, near, quoted
from neurodriver.model.component import Parameter

from .deep_parameters import BURST_PARAMETERS, CONTEXT_PARAMETERS, PULVINAR_PARAMETERS
from .neuron_text import PARAMETERS, POOL_PARAMETERS, axon
from .striatum import MATRIX_PARAMETERS


def _number(default: float, doc: str, name: str) -> Parameter:
    return Parameter(default=default, at_least=0.0, doc=doc, source=axon(name))


def _trials(default: float, doc: str, name: str) -> Parameter:
    """Return the description of a time constant in trials."""
    return Parameter(default=default, at_least=1.0, doc=doc, source=axon(name))


LAYER = {
    "nominal": _number(0.1, "share of units that is expected to be active", "Inhib.ActAvg.Nominal"),
    "rate_factor": _number(
        True, "whether receivers whose activity is saturated or unchanged learn less",
        "Learn.RLRate.On",
    ),
    "rate_least": _number(
        0.05, "least factor for activity that is saturated or small", "Learn.RLRate.SigmoidMin"
    ),
    "pool_inhibits": _number(
        False, "whether sub-pools have inhibition of their own, beside the layer's",
        "Inhib.Pool.On",
    ),
    "trg_rate": _number(
        0.02, "change of a unit's target average in a trial, per CaP - CaD",
        "Learn.TrgAvgAct.ErrLRate",
    ),
    "trg_sub_mean": _number(
        1.0, "share of the layer's mean change that is subtracted from each change",
        "Learn.TrgAvgAct.SubMean",
    ),
    "gi_adapts": _number(
        False, "whether gi_mult changes slowly with the mean activity", "Inhib.ActAvg.AdaptGi"
    ),
    "tau_average": _trials(
        20.0, "time constant of the long-term averages of activity, in trials",
        "Acts.Dt.LongAvgTau",
    ),
}  # fmt: skip
"""Parameters of a layer beside those of its neurons."""

OF_UNITS = {
    **PARAMETERS,
    **POOL_PARAMETERS,
    **BURST_PARAMETERS,
    **CONTEXT_PARAMETERS,
    **PULVINAR_PARAMETERS,
    **MATRIX_PARAMETERS,
}
"""Parameters of the neurons of a layer."""

PATH = {
    "rel": _number(
        1.0, "strength relative to the other paths into the layer, whose sum is scaled to 1",
        "PathScale.Rel",
    ),
    "abs": _number(1.0, "factor of all weights", "PathScale.Abs"),
    "delay": _number(2.0, "a spike arrives delay + 1 cycles after it was fired", "Com.Delay"),
    "learn": _number(True, "whether weights change", "Learn.Learn"),
    "hebb": _number(
        False, "whether the rule is Hebbian, instead of driven by errors; not in striatal paths",
        "Learn.Hebb.On",
    ),
    "lrate": _number(0.04, "learning rate", "Learn.LRate.Base"),
    "mean": _number(0.5, "mean of the initial weights", "SWts.Init.Mean"),
    "var": _number(
        0.25, "initial weights are drawn from mean - var to mean + var", "SWts.Init.Var"
    ),
    "spct": _number(
        0.5, "share of this variation that the structural weights have", "SWts.Init.SPct"
    ),
    "sym": _number(True, "whether the path back begins with the same weights", "SWts.Init.Sym"),
    "synapse_threshold": _number(
        0.0, "a synapse learns where its product of traces is larger; in striatal paths, where "
        "CaD of the receiver is larger", "Learn.DWt.LearnThr",
    ),
    "tau_trace": _trials(
        1.0, "average of these products, in trials; 1: none. Hebbian and striatal paths, "
        "and paths into targets, have none", "Learn.DWt.SynTraceTau",
    ),
    "cap_scale": _number(
        1.0, "factor of potentiation, in paths into target layers", "Learn.DWt.CaPScale"
    ),
    "credit": _number(
        0.6, "part of the traces of striatal paths that does not need an error",
        "VSMatrix.Credit",
    ),
    "sub_mean": _number(
        0.0, "share of a receiver's mean change that is subtracted from each change",
        "Learn.DWt.SubMean",
    ),
    "swt_adapts": _number(True, "whether structural weights change", "SWts.Adapt.On"),
    "swt_rate": _number(0.1, "learning rate of structural weights", "SWts.Adapt.LRate"),
    "swt_least": Parameter(
        default=0.2, above=0.0, doc="smallest structural weight", source=axon("SWts.Limit.Min")
    ),
    "swt_most": Parameter(
        default=0.8, above=0.0, doc="largest structural weight", source=axon("SWts.Limit.Max")
    ),
}  # fmt: skip
"""Parameters of a path."""

RULES = {"layer": {**LAYER, **OF_UNITS}, "path": PATH}
"""All parameters of layers, and all of paths."""

KINDS: dict[str, dict[str, float | bool]] = {
    "super": {"selects": 1.0},
    "input": {"gi": 0.9, "clamp": 1.5, "clamps": 1.0, "dendrite_ss": 0.0, "trg_sub_mean": 0.0},
    "target": {"clamp": 0.8, "clamps": 1.0, "dendrite_ss": 0.0, "trg_sub_mean": 0.0},
    "compare": {"clamp": 0.8, "clamps": 1.0, "dendrite_ss": 0.0, "trg_sub_mean": 0.0},
    "ct": {"gi": 2.2, "decay_act": 0.0, "decay_glong": 0.0},
    "pulvinar": {
        "decay_act": 0.0, "decay_glong": 0.0, "clamps": 1.0, "rate_least": 1.0, "trg_sub_mean": 0.0
    },
    "matrix": {
        "gi": 0.5, "fb": 0.0, "pool_gi": 0.5, "pool_fb": 0.0, "nominal": 0.25, "decay_act": 1.0,
        "decay_glong": 1.0, "rate_least": 0.001,
    },
    "forward": {},
    "back": {"rel": 0.1},
    "lateral": {},
    "inhib": {"swt_adapts": False},
    "context": {},
    "maintenance": {},
    "striatal": {
        "swt_adapts": False, "sym": False, "spct": 0.0, "var": 0.4, "lrate": 0.01,
        "synapse_threshold": 0.1,
    },
}  # fmt: skip
"""Kind of layer or path -> parameters whose defaults differ from those above."""

KIND_SOURCES = {
    "super": axon("PostSpikeSpecial of a SuperLayer"),
    "input": axon("Layer.Defaults, NewStatePool and GiInteg of an InputLayer"),
    "target": axon("Layer.Defaults, MinusPhasePool and GiInteg of a TargetLayer"),
    "compare": axon("as of a TargetLayer, whose target is never applied"),
    "ct": axon("CTDefaults"),
    "pulvinar": axon("PulvinarDefaults, MinusPhasePool; IsLearnTrgAvg is false"),
    "matrix": axon("MatrixDefaults, VSMatrixDefaults"),
    "back": axon("Path.Defaults of a BackPath"),
    "inhib": axon("Path.Defaults of an InhibPath"),
    "striatal": axon("MatrixDefaults of a VSMatrixPath"),
}
"""Kind of layer or path -> where these defaults come from."""

LAYER_KINDS = ("input", "super", "target", "compare", "ct", "pulvinar", "matrix")
PATH_KINDS = ("forward", "back", "lateral", "inhib", "context", "maintenance", "striatal")

SUFFIXES = {"inhib": "Inhib", "context": "Context", "maintenance": "Maintenance"}
"""Kind of path -> end of its name. Two layers may be connected by a path of each of these kinds."""


def path_name(sender: str, receiver: str, kind: str) -> str:
    """Return the name of the path between two layers."""
    return f"{sender}To{receiver}{SUFFIXES.get(kind, '')}"


def known(what: str) -> list[str]:
    """Return the parameters of layers or of paths."""
    return [*RULES[what]]


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
        If the value is not a finite number, or is out of the range of the parameter.
    """
    rule = RULES[what][name]
    default: object = rule.default
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = float("nan")
    if number != number or abs(number) == float("inf"):
        raise CircuitError(f"{where}, {name}: must be a finite number (got {given!r:.60})")
    if isinstance(default, bool):
        return bool(number)
    if name == "delay" and number % 1:
        raise CircuitError(f"{where}, delay: must be a whole number of cycles (got {number:g})")
    if not (rule.at_least <= number <= rule.at_most and number > rule.above):
        raise CircuitError(f"{where}, {name}: must be {rule.allowed()} (got {number:g})")
    return number
