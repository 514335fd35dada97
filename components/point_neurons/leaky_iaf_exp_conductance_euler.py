"""Leaky integrate-and-fire neuron with exponential conductances, explicit Euler."""

from .leaky_iaf_exp_conductance import LeakyIAFExpConductance


class LeakyIAFExpConductanceEuler(LeakyIAFExpConductance):
    """LeakyIAFExpConductance with explicit Euler for V and both conductances.

    The integrator with which simulators run the benchmark of 2007. It costs no exponential; of
    first order in the step.

    Limits: ``dt`` well below every ``tau``, and below the capacitance over the largest sum of
    conductances.
    """

    reference = LeakyIAFExpConductance.reference.split("; ")[0]
    constants = {"decay_exc": "1 - dt_ms / tau_exc", "decay_inh": "1 - dt_ms / tau_inh"}
    terms = {
        "g_e": "g_exc",
        "g_i": "g_inh",
        "total": "leak_conductance + g_e + g_i",
        "goal": "leak_conductance * resting_potential + g_e * E_exc + g_i * E_inh + I",
        "free": "V + per_capacitance * (goal - total * V)",
    }
