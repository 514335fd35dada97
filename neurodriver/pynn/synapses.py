"""Synapse types of PyNN: static ones, short-term plasticity, and STDP of pairs."""

from __future__ import annotations

from typing import Any, ClassVar

from pyNN.standardmodels import build_translations
from pyNN.standardmodels import synapses as standard

from . import simulator

WEIGHT = (("weight", "weight"), ("delay", "delay"))
"""Weights and delays are kept in PyNN's units."""


class WithDelay:
    """Synapses whose least delay is that of the simulation."""

    def _get_minimum_delay(self) -> Any:
        least = simulator.state.min_delay
        return simulator.state.dt if least == "auto" else least


class StaticSynapse(WithDelay, standard.StaticSynapse):
    __doc__ = standard.StaticSynapse.__doc__
    translations = build_translations(*WEIGHT)


class TsodyksMarkramSynapse(WithDelay, standard.TsodyksMarkramSynapse):
    __doc__ = standard.TsodyksMarkramSynapse.__doc__
    translations = build_translations(
        *WEIGHT, ("U", "U"), ("tau_rec", "tau_rec"), ("tau_facil", "tau_facil")
    )


class STDPMechanism(WithDelay, standard.STDPMechanism):
    __doc__ = standard.STDPMechanism.__doc__
    base_translations = build_translations(
        *WEIGHT, ("dendritic_delay_fraction", "dendritic_delay_fraction")
    )


class AdditiveWeightDependence(standard.AdditiveWeightDependence):
    __doc__ = standard.AdditiveWeightDependence.__doc__
    possible_models: ClassVar[set[str]] = {"PairSTDP"}
    translations = build_translations(("w_max", "w_max"), ("w_min", "w_min"))


class SpikePairRule(standard.SpikePairRule):
    __doc__ = standard.SpikePairRule.__doc__
    possible_models: ClassVar[set[str]] = {"PairSTDP"}
    translations = build_translations(
        ("tau_plus", "tau_plus"), ("tau_minus", "tau_minus"),
        ("A_plus", "A_plus"), ("A_minus", "A_minus"),
    )  # fmt: skip


__all__ = [
    "AdditiveWeightDependence", "STDPMechanism", "SpikePairRule", "StaticSynapse",
    "TsodyksMarkramSynapse",
]  # fmt: skip
