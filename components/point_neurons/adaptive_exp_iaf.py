"""Adaptive exponential integrate-and-fire neuron with exponential currents."""

from neurodriver.model.component import Access, NDComponent, Parameter, State, Weighted

from .leaky_iaf_exp_current import LeakyIAFExpCurrent


class AdaptiveExpIAF(NDComponent):
    """Adaptive exponential integrate-and-fire neuron with exponential currents, explicit Euler.

    ``C dV/dt = g_L (E_L - V) + g_L D exp((V - V_T) / D) - w + s_exc + s_inh + I`` with the slope
    factor D, ``tau_w dw/dt = a (V - E_L) - w`` and ``ds_x/dt = -s_x / tau_x``. When ``V >= peak``
    the neuron spikes, ``V = reset_potential`` and w grows by b. A spike that arrives at receptor x
    (exc or inh) adds its edge's weight (pA) to ``s_x``, so inhibition has negative weights; one of
    row k over an edge of d steps arrives in row k + d. Defaults are those of the paper.

    Refractory: for ``round(refractory_period / dt)`` sub-steps after a spike V stays at the reset
    potential while w and the synapses go on. What arrives enters the synapses in the last sub-step
    of a step; if that one is refractory, it is dropped where ``keep_input`` is 0.

    Limits: of first order in the sub-step; at most one spike a step is told. The upstroke takes
    less than a sub-step near the peak, so where the peak lies hardly matters.
    """

    reference = "Brette & Gerstner 2005, J Neurophysiol 94:3637-3642, doi:10.1152/jn.00686.2005"
    accesses = (
        Access("I", unit="pA"),
        Weighted("spike_state", receptor="exc"),
        Weighted("spike_state", receptor="inh"),
    )
    updates = ("spike_state", "V")
    params = {
        "capacitance": Parameter("pF", default=281.0, above=0.0, doc="membrane capacitance C"),
        "leak_conductance": Parameter("nS", default=30.0, above=0.0, doc="leak conductance g_L"),
        "resting_potential": Parameter("mV", default=-70.6, doc="reversal of the leak E_L"),
        "threshold": Parameter("mV", default=-50.4, doc="where the upstroke begins V_T"),
        "slope_factor": Parameter("mV", default=2.0, above=0.0, doc="sharpness of the upstroke D"),
        "peak": Parameter("mV", default=20.0, doc="potential at which the spike is told"),
        "reset_potential": Parameter("mV", default=-70.6, doc="potential after a spike"),
        "a": Parameter("nS", default=4.0, doc="adaptation to the potential"),
        "b": Parameter("pA", default=80.5, doc="adaptation to a spike"),
        "tau_w": Parameter("ms", default=144.0, above=0.0, doc="time constant of the adaptation"),
        "tau_exc": Parameter("ms", default=5.0, above=0.0, doc="time constant of excitation"),
        "tau_inh": Parameter("ms", default=10.0, above=0.0, doc="time constant of inhibition"),
        "refractory_period": Parameter("ms", default=0.0, at_least=0.0, doc="rest after a spike"),
        "keep_input": LeakyIAFExpCurrent.params["keep_input"],
    }
    states = {
        "V": State("mV", "resting_potential", doc="membrane potential"),
        "w": State("pA", doc="adaptation current"),
        "left": State("1", doc="sub-steps of the refractory period that are left"),
        "s_exc": State("pA", doc="excitatory current"),
        "s_inh": State("pA", doc="inhibitory current"),
    }
    constants = {
        "per_capacitance": "dt_ms / capacitance",
        "share_w": "dt_ms / tau_w",
        "decay_exc": "exp(-dt_ms / tau_exc)",
        "decay_inh": "exp(-dt_ms / tau_inh)",
        "refractory_steps": "floor(refractory_period / dt_ms + 0.5)",
    }
    maximum_dt = 1e-4
    terms = {
        "synaptic": "s_exc + s_inh",
        "upstroke": "slope_factor * exp((V - threshold) / slope_factor)",
    }
    update = """
        bool clamped = left > 0;
        bool last = substep == substeps - 1;
        real current = leak_conductance * (resting_potential - V + upstroke) - w + synaptic + I;
        real free = V + per_capacitance * current;
        w += share_w * (a * (V - resting_potential) - w);
        V = clamped ? reset_potential : free;
        left = fmax(left - 1, 0);
        real open = last ? (clamped ? keep_input : 1) : 0;
        s_exc = decay_exc * s_exc + open * exc;
        s_inh = decay_inh * s_inh + open * inh;
        if (!clamped && V >= peak) {
            V = reset_potential;
            w += b;
            left = refractory_steps;
            spike_state = 1;
        }
    """
