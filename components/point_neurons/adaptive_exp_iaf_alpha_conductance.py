"""Adaptive exponential integrate-and-fire neuron with alpha-shaped conductances."""

from neurodriver.model.component import State

from .adaptive_exp_iaf_conductance import AdaptiveExpIAFConductance


class AdaptiveExpIAFAlphaConductance(AdaptiveExpIAFConductance):
    """Adaptive exponential integrate-and-fire neuron with alpha-shaped conductances.

    AdaptiveExpIAFConductance, but a spike that arrives adds to ``s_x`` the conductance
    ``weight (t / tau_x) exp(1 - t / tau_x)``: its peak is the weight (nS), ``tau_x`` after the
    arrival. ``y_x`` is the slope that is left: ``ds_x/dt = y_x - s_x / tau_x``,
    ``dy_x/dt = -y_x / tau_x``. The conductances are exact.

    Refractory period and limits: as AdaptiveExpIAF.
    """

    states = {
        "y_exc": State("nS/ms", doc="slope of the excitatory conductance that is left"),
        "y_inh": State("nS/ms", doc="slope of the inhibitory conductance that is left"),
    }
    constants = {
        "kick_exc": "2.718281828459045 / tau_exc",
        "kick_inh": "2.718281828459045 / tau_inh",
    }
    update = AdaptiveExpIAFConductance.update.replace(
        "s_exc = decay_exc * s_exc + open * exc;\n        s_inh = decay_inh * s_inh + open * inh;",
        """s_exc = decay_exc * (s_exc + dt_ms * y_exc);
        s_inh = decay_inh * (s_inh + dt_ms * y_inh);
        y_exc = decay_exc * y_exc + open * kick_exc * exc;
        y_inh = decay_inh * y_inh + open * kick_inh * inh;""",
    )
