"""Standard cell types of PyNN, by models of neurodriver; and sources of spikes.

A translation leads from PyNN's parameters (nA, nF, uS, mV, ms) to those of a model (pA, pF, nS,
mV, ms). ``nd_model`` is its name, ``nd_states`` the state of each variable that can be recorded,
with the factor that converts it into PyNN's unit, and ``nd_weight`` the factor of weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pyNN.standardmodels import build_translations
from pyNN.standardmodels import cells as standard

Times = NDArray[np.float64]

MEMBRANE = (
    ("v_rest", "resting_potential"),
    ("v_thresh", "threshold"),
    ("v_reset", "reset_potential"),
    ("tau_refrac", "refractory_period"),
    ("i_offset", "i_offset", 1000.0),
)
CURRENT = (*MEMBRANE, ("tau_m", "time_constant"), ("cm", "capacitance", 1000.0))
CONDUCTANCE = (
    *MEMBRANE,
    ("tau_m", "leak_conductance", "1000.0*cm/tau_m", "capacitance/leak_conductance"),
    ("cm", "capacitance", 1000.0),
    ("e_rev_E", "E_exc"),
    ("e_rev_I", "E_inh"),
)
DECAYS = (("tau_syn_E", "tau_exc"), ("tau_syn_I", "tau_inh"))
EXPONENTIAL = (
    *CONDUCTANCE,
    *DECAYS,
    ("a", "a"),
    ("b", "b", 1000.0),
    ("delta_T", "slope_factor"),
    ("tau_w", "tau_w"),
    ("v_spike", "peak"),
)

POTENTIAL = {"v": ("V", 1.0)}
CONDUCTANCES = {**POTENTIAL, "gsyn_exc": ("g_exc", 1e-3), "gsyn_inh": ("g_inh", 1e-3)}
CURRENTS = {**POTENTIAL, "isyn_exc": ("I_exc", 1e-3), "isyn_inh": ("I_inh", 1e-3)}


class PointNeuron:
    """What the neurons of this backend have in common."""

    nd_model: ClassVar[str]
    nd_states: ClassVar[dict[str, tuple[str, float]]] = POTENTIAL
    nd_weight: ClassVar[float] = 1000.0
    nd_receptors: ClassVar[dict[str, str]] = {"excitatory": "exc", "inhibitory": "inh"}


class IF_curr_exp(PointNeuron, standard.IF_curr_exp):
    __doc__ = standard.IF_curr_exp.__doc__
    nd_model, nd_states = "LeakyIAFExpCurrent", CURRENTS
    translations = build_translations(*CURRENT, *DECAYS)


class IF_curr_alpha(PointNeuron, standard.IF_curr_alpha):
    __doc__ = standard.IF_curr_alpha.__doc__
    nd_model, nd_states = "LeakyIAFAlphaCurrent", CURRENTS
    translations = build_translations(*CURRENT, *DECAYS)


class IF_curr_delta(PointNeuron, standard.IF_curr_delta):
    __doc__ = standard.IF_curr_delta.__doc__
    nd_model, nd_weight = "LeakyIAFDelta", 1.0
    nd_receptors: ClassVar[dict[str, str]] = {"excitatory": "", "inhibitory": ""}
    translations = build_translations(*CURRENT)


class IF_cond_exp(PointNeuron, standard.IF_cond_exp):
    __doc__ = standard.IF_cond_exp.__doc__
    nd_model, nd_states = "LeakyIAFExpConductance", CONDUCTANCES
    translations = build_translations(*CONDUCTANCE, *DECAYS)


class IF_cond_alpha(PointNeuron, standard.IF_cond_alpha):
    __doc__ = standard.IF_cond_alpha.__doc__
    nd_model, nd_states = "LeakyIAFAlphaConductance", CONDUCTANCES
    translations = build_translations(*CONDUCTANCE, *DECAYS)


class EIF_cond_exp_isfa_ista(PointNeuron, standard.EIF_cond_exp_isfa_ista):
    __doc__ = standard.EIF_cond_exp_isfa_ista.__doc__
    nd_model = "AdaptiveExpIAFConductance"
    nd_states: ClassVar[dict[str, tuple[str, float]]] = {
        **POTENTIAL,
        "w": ("w", 1e-3),
        "gsyn_exc": ("s_exc", 1e-3),
        "gsyn_inh": ("s_inh", 1e-3),
    }
    translations = build_translations(*EXPONENTIAL)


class EIF_cond_alpha_isfa_ista(PointNeuron, standard.EIF_cond_alpha_isfa_ista):
    __doc__ = standard.EIF_cond_alpha_isfa_ista.__doc__
    nd_model = "AdaptiveExpIAFAlphaConductance"
    nd_states = EIF_cond_exp_isfa_ista.nd_states
    translations = build_translations(*EXPONENTIAL)


class HH_cond_exp(PointNeuron, standard.HH_cond_exp):
    __doc__ = standard.HH_cond_exp.__doc__
    nd_model = "TraubMiles"
    nd_states: ClassVar[dict[str, tuple[str, float]]] = {
        **CONDUCTANCES,
        "m": ("m", 1.0),
        "h": ("h", 1.0),
        "n": ("n", 1.0),
    }
    translations = build_translations(
        ("gbar_Na", "g_Na", 1000.0), ("gbar_K", "g_K", 1000.0), ("g_leak", "g_L", 1000.0),
        ("cm", "capacitance", 1000.0), ("v_offset", "V_T"), ("e_rev_Na", "E_Na"),
        ("e_rev_K", "E_K"), ("e_rev_leak", "E_L"), ("e_rev_E", "E_exc"), ("e_rev_I", "E_inh"),
        *DECAYS, ("i_offset", "i_offset", 1000.0),
    )  # fmt: skip


class Izhikevich(PointNeuron, standard.Izhikevich):
    __doc__ = standard.Izhikevich.__doc__
    nd_model, nd_weight = "Izhikevich", 1.0
    nd_states: ClassVar[dict[str, tuple[str, float]]] = {**POTENTIAL, "u": ("u", 1.0)}
    nd_receptors: ClassVar[dict[str, str]] = {"excitatory": "", "inhibitory": ""}
    translations = build_translations(
        ("a", "a"), ("b", "b"), ("c", "c"), ("d", "d"), ("i_offset", "i_offset", 1000.0)
    )


class SpikeTrains(ABC):
    """Sources whose spikes are drawn here: `drawn` returns the times of one cell in a window."""

    nd_model: ClassVar[str] = "SpikeSource"
    nd_states: ClassVar[dict[str, tuple[str, float]]] = {}

    @staticmethod
    @abstractmethod
    def drawn(given: dict[str, Any], start: float, stop: float, last: float, rng: Any) -> Times:
        """Return the times of the spikes from ``start`` on until before ``stop``, ms.

        ``last`` is the time of the spike before, or of the begin of the train.
        """

    @classmethod
    def renewal(
        cls, interval: Any, given: dict[str, Any], start: float, stop: float, last: float
    ) -> Times:
        """Return a train whose intervals a function draws, n at a time."""
        begin, end = given["start"], given["start"] + given["duration"]
        found, at = [], max(last, begin)
        while at < min(stop, end):
            times = at + np.cumsum(interval(256))
            found.append(times)
            at = float(times[-1])
        times = np.concatenate(found) if found else np.empty(0)
        inside = (times >= start) & (times < min(stop, end))
        return np.asarray(times[inside], dtype=float)


WINDOW = (("start", "start"), ("duration", "duration"))


class SpikeSourceArray(SpikeTrains, standard.SpikeSourceArray):
    __doc__ = standard.SpikeSourceArray.__doc__
    translations = build_translations(("spike_times", "spike_times"))

    @staticmethod
    def drawn(given: dict[str, Any], start: float, stop: float, last: float, rng: Any) -> Times:
        times = np.sort(np.asarray(getattr(given["spike_times"], "value", ()), dtype=float))
        return times[(times >= start) & (times < stop)]


class SpikeSourcePoisson(SpikeTrains, standard.SpikeSourcePoisson):
    __doc__ = standard.SpikeSourcePoisson.__doc__
    translations = build_translations(("rate", "rate"), *WINDOW)

    @staticmethod
    def drawn(given: dict[str, Any], start: float, stop: float, last: float, rng: Any) -> Times:
        rate = given["rate"]
        if rate <= 0:
            return np.empty(0)
        begin = max(start, given["start"])  # a Poisson process has no memory
        draw = lambda n: rng.exponential(1000.0 / rate, n)  # noqa: E731
        return SpikeTrains.renewal(draw, given, start, stop, begin)


class SpikeSourcePoissonRefractory(SpikeTrains, standard.SpikeSourcePoissonRefractory):
    __doc__ = standard.SpikeSourcePoissonRefractory.__doc__
    translations = build_translations(("rate", "rate"), ("tau_refrac", "tau_refrac"), *WINDOW)

    @staticmethod
    def drawn(given: dict[str, Any], start: float, stop: float, last: float, rng: Any) -> Times:
        rest = 1000.0 / given["rate"] - given["tau_refrac"] if given["rate"] > 0 else -1.0
        if rest <= 0:
            return np.empty(0)
        draw = lambda n: given["tau_refrac"] + rng.exponential(rest, n)  # noqa: E731
        return SpikeTrains.renewal(draw, given, start, stop, last)


class SpikeSourceGamma(SpikeTrains, standard.SpikeSourceGamma):
    __doc__ = standard.SpikeSourceGamma.__doc__
    translations = build_translations(("alpha", "alpha"), ("beta", "beta"), *WINDOW)

    @staticmethod
    def drawn(given: dict[str, Any], start: float, stop: float, last: float, rng: Any) -> Times:
        draw = lambda n: rng.gamma(given["alpha"], 1000.0 / given["beta"], n)  # noqa: E731
        return SpikeTrains.renewal(draw, given, start, stop, last)


__all__ = [
    "EIF_cond_alpha_isfa_ista", "EIF_cond_exp_isfa_ista",
    "HH_cond_exp", "IF_cond_alpha", "IF_cond_exp", "IF_curr_alpha",
    "IF_curr_delta", "IF_curr_exp", "Izhikevich", "SpikeSourceArray", "SpikeSourceGamma",
    "SpikeSourcePoisson", "SpikeSourcePoissonRefractory",
]  # fmt: skip
