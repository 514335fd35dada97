"""Leaky integrate-and-fire neuron with exponential conductances."""

from neurodriver.model.component import Access, NDComponent, Parameter, State, Weighted

from .leaky_iaf_delta import LeakyIAFDelta
from .leaky_iaf_exp_current import LeakyIAFExpCurrent
from .propagators import mean_of_decay


class LeakyIAFExpConductance(NDComponent):
    """Leaky integrate-and-fire neuron with exponential conductances, of second order in the step.

    ``C dV/dt = g_L (V_rest - V) + g_exc (E_exc - V) + g_inh (E_inh - V) + I`` and
    ``dg_x/dt = -g_x / tau_x``; a spike that arrives at receptor x (exc or inh) adds its edge's
    weight (nS) to ``g_x``. A spike of row k over an edge of d steps arrives in row k + d. The
    conductances are exact; V is exact for conductances that stay at their mean of the step.
    Threshold and reset as LeakyIAFDelta.

    Refractory: for ``round(refractory_period / dt)`` steps after a spike V stays at the reset
    potential while the conductances go on. What arrives in these rows enters them, or is dropped
    where ``keep_input`` is 0.

    Limits: I is taken as constant over a step; weights are not negative.
    """

    reference = (
        "Brette et al. 2007, J Comput Neurosci 23:349-398, doi:10.1007/s10827-007-0038-6; "
        "Hochbruck & Ostermann 2010, Acta Numer 19:209-286, doi:10.1017/S0962492910000048"
    )
    accesses = (
        Access("I", unit="pA"),
        Weighted("spike_state", receptor="exc", at_least=0.0),
        Weighted("spike_state", receptor="inh", at_least=0.0),
    )
    updates = LeakyIAFDelta.updates
    params = {
        "resting_potential": Parameter("mV", doc="potential without input"),
        "threshold": Parameter("mV", doc="potential at which it fires"),
        "reset_potential": Parameter("mV", doc="potential after a spike"),
        "capacitance": Parameter("pF", above=0.0, doc="membrane capacitance"),
        "leak_conductance": Parameter("nS", above=0.0, doc="conductance of the leak"),
        "E_exc": Parameter("mV", default=0.0, doc="reversal potential of excitation"),
        "E_inh": Parameter("mV", default=-80.0, doc="reversal potential of inhibition"),
        "tau_exc": Parameter("ms", above=0.0, doc="time constant of excitation"),
        "tau_inh": Parameter("ms", above=0.0, doc="time constant of inhibition"),
        "refractory_period": Parameter("ms", default=0.0, at_least=0.0, doc="rest after a spike"),
        "keep_input": LeakyIAFExpCurrent.params["keep_input"],
    }
    states = {
        "V": State("mV", "resting_potential", doc="membrane potential"),
        "left": State("1", doc="steps of the refractory period that are left"),
        "g_exc": State("nS", doc="excitatory conductance"),
        "g_inh": State("nS", doc="inhibitory conductance"),
    }
    constants = {
        "decay_exc": "exp(-dt_ms / tau_exc)",
        "decay_inh": "exp(-dt_ms / tau_inh)",
        "step_exc": "dt_ms / tau_exc",
        "step_inh": "dt_ms / tau_inh",
        "mean_exc": mean_of_decay("step_exc"),
        "mean_inh": mean_of_decay("step_inh"),
        "per_capacitance": "dt_ms / capacitance",
        "refractory_steps": "floor(refractory_period / dt_ms + 0.5)",
    }
    terms = {
        "g_e": "mean_exc * g_exc",
        "g_i": "mean_inh * g_inh",
        "total": "leak_conductance + g_e + g_i",
        "goal": "(leak_conductance * resting_potential + g_e * E_exc + g_i * E_inh + I) / total",
        "free": "goal + (V - goal) * exp(-per_capacitance * total)",
    }
    update = """
        bool clamped = left > 0;
        real open = clamped ? keep_input : 1;
        bool fires = !clamped & (free >= threshold);
        V = clamped | fires ? reset_potential : free;
        left = fires ? refractory_steps : clamped ? left - 1 : 0;
        spike_state = fires ? 1 : 0;
        g_exc = decay_exc * g_exc + open * exc;
        g_inh = decay_inh * g_inh + open * inh;
    """
