"""Names of the package that are imported when they are first used: one LPU starts without them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import adapters

RULES = (
    "BCMRule", "CentredSTDP", "ClopathSTDP", "CovarianceRule", "DiehlCookSTDP", "HebbRule",
    "HomeostaticSTDP", "InhibitorySTDP", "IntervalRewardedSTDP", "NearestSTDP",
    "NearestTripletSTDP", "NormalisedSTDP", "OjaRule", "PairSTDP", "PowerLawSTDP", "RestrictedSTDP",
    "RewardedSTDP", "ShortTerm", "TripletSTDP", "WeightedSTDP",
)  # fmt: skip
"""Rules of plasticity that are shipped."""

LATER = {
    "Axis": "circuit",
    "BatchRecording": "results",
    "Comparison": "results.comparison",
    "CountRecorder": "recorders",
    "Doses": "model.traces",
    "Field": "model.fields",
    "Formula": "circuit",
    "Level": "model.traces",
    "Manager": "parallel.manager",
    "Movie": "plot",
    "Near": "circuit",
    "Offsets": "circuit",
    "Pattern": "ports",
    "Plasticity": "model.plasticity",
    "PopulationView": "circuit",
    "Profile": "profiling.phases",
    "Reduce": "model.pools",
    "Selector": "ports",
    "SonataInput": "inputs.sonata",
    "Source": "model.fields",
    "SynapseRecorder": "recorders",
    "Trace": "model.traces",
    "Value": "model.fields",
    "Within": "circuit",
    "compare": "results.comparison",
    "describe": "model.page",
    "example": "circuits.example",
    "load_experiment": "experiment",
    "open_sweep": "sweeps",
    "read_nestml": "io.nestml",
    "read_neuroml": "io.neuroml",
    "read_sonata_simulation": "inputs.sonata_simulation",
    "sweep": "sweeps",
    **dict.fromkeys(RULES, "components.plasticity"),
    **adapters.NAMES,
}
"""Name -> module."""

if TYPE_CHECKING:
    from .adapters import *  # noqa: F403
    from .circuit import Axis, Formula, Near, Offsets, PopulationView, Within
    from .circuits.example import example
    from .components.plasticity import *  # noqa: F403
    from .experiment import load_experiment
    from .inputs.sonata import SonataInput
    from .inputs.sonata_simulation import read_sonata_simulation
    from .io.nestml import read_nestml
    from .io.neuroml import read_neuroml
    from .model.page import describe
    from .model.plasticity import Plasticity
    from .model.traces import Doses, Level, Trace
    from .parallel.manager import Manager
    from .plot import Movie
    from .ports import Pattern, Selector
    from .profiling.phases import Profile
    from .recorders import CountRecorder, SynapseRecorder
    from .results import BatchRecording
    from .results.comparison import Comparison, compare
    from .sweeps import open_sweep, sweep

    __all__ = ["Axis", "BatchRecording", "Doses", "Formula", "Manager", "Movie", "Near", "Offsets"]
    __all__ += ["Level", "Pattern", "Plasticity", "SonataInput", "Within", "read_neuroml"]
    __all__ += ["CountRecorder", "read_nestml", "read_sonata_simulation"]
    __all__ += [
        "PopulationView",
        "Profile",
        "Selector",
        "SynapseRecorder",
        "Trace",
        "describe",
        "example",
        "load_experiment",
    ]
    __all__ += ["Comparison", "compare", "open_sweep", "sweep"]
    __all__ += RULES
    __all__ += adapters.__all__
else:
    __all__ = ["__dir__", "__getattr__"]


def public(there: Mapping[str, object]) -> list[str]:
    """Return the names of ``there`` without underscore that are no modules, and those of later."""
    here = (name for name, value in there.items() if not isinstance(value, ModuleType))
    return [name for name in (*here, *LATER) if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    """Return what a name of the package stands for."""
    if name not in LATER:
        raise AttributeError(f"module 'neurodriver' has no attribute {name!r}")
    return getattr(import_module(f"neurodriver.{LATER[name]}"), name)


def __dir__() -> list[str]:
    """Return the names of the package, also those that have not been imported yet."""
    return sorted({*vars(sys.modules["neurodriver"]), *LATER})
