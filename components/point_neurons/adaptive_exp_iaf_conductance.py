"""Adaptive exponential integrate-and-fire neuron with exponential conductances."""

from neurodriver.model.component import Parameter, State

from .adaptive_exp_iaf import AdaptiveExpIAF
from .leaky_iaf_exp_conductance import LeakyIAFExpConductance


class AdaptiveExpIAFConductance(AdaptiveExpIAF):
    """Adaptive exponential integrate-and-fire neuron with exponential conductances.

    AdaptiveExpIAF whose synapses are conductances: ``s_exc (E_exc - V) + s_inh (E_inh - V)`` takes
    the place of ``s_exc + s_inh``, weights are in nS and not negative.

    Refractory period and limits: as AdaptiveExpIAF.
    """

    accesses = LeakyIAFExpConductance.accesses
    params = {
        "E_exc": Parameter("mV", default=0.0, doc="reversal potential of excitation"),
        "E_inh": Parameter("mV", default=-80.0, doc="reversal potential of inhibition"),
    }
    states = {
        "s_exc": State("nS", doc="excitatory conductance"),
        "s_inh": State("nS", doc="inhibitory conductance"),
    }
    terms = {"synaptic": "s_exc * (E_exc - V) + s_inh * (E_inh - V)"}
