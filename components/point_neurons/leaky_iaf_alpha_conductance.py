"""Leaky integrate-and-fire neuron with alpha-shaped conductances."""

from neurodriver.model.component import State

from .leaky_iaf_exp_conductance import LeakyIAFExpConductance
from .propagators import mean_of_ramp


class LeakyIAFAlphaConductance(LeakyIAFExpConductance):
    """Leaky integrate-and-fire neuron with alpha-shaped conductances, of second order.

    LeakyIAFExpConductance, but a spike that arrives adds to ``g_x`` the conductance
    ``weight (t / tau_x) exp(1 - t / tau_x)``: its peak is the weight (nS), ``tau_x`` after the
    arrival. ``y_x`` is the slope that is left: ``dg_x/dt = y_x - g_x / tau_x``,
    ``dy_x/dt = -y_x / tau_x``.

    Refractory period and limits: as LeakyIAFExpConductance.
    """

    states = {
        "y_exc": State("nS/ms", doc="slope of the excitatory conductance that is left"),
        "y_inh": State("nS/ms", doc="slope of the inhibitory conductance that is left"),
    }
    constants = {
        "kick_exc": "2.718281828459045 / tau_exc",
        "kick_inh": "2.718281828459045 / tau_inh",
        "ramp_exc": f"dt_ms * {mean_of_ramp('step_exc')}",
        "ramp_inh": f"dt_ms * {mean_of_ramp('step_inh')}",
    }
    terms = {
        "g_e": "mean_exc * g_exc + ramp_exc * y_exc",
        "g_i": "mean_inh * g_inh + ramp_inh * y_inh",
    }
    update = LeakyIAFExpConductance.update.replace(
        "g_exc = decay_exc * g_exc + open * exc;\n        g_inh = decay_inh * g_inh + open * inh;",
        """g_exc = decay_exc * (g_exc + dt_ms * y_exc);
        g_inh = decay_inh * (g_inh + dt_ms * y_inh);
        y_exc = decay_exc * y_exc + open * kick_exc * exc;
        y_inh = decay_inh * y_inh + open * kick_inh * inh;""",
    )
