"""Rinzel's reduced Hodgkin-Huxley neuron."""

from neurodriver.model.component import Access, NDComponent, State

from .hodgkin_huxley import HodgkinHuxley


class Rinzel(NDComponent):
    """Hodgkin-Huxley neuron reduced to two variables, explicit Euler, capacitance 1 uF/cm^2.

    ``dV/dt = I - g_Na m_inf(V)^3 (1 - W) (V - E_Na) - g_K (W / S)^4 (V - E_K) - g_L (V - E_L)``
    and ``dW/dt = 3 (W_inf(V) - W) / tau_W(V)``. W stands for sodium inactivation and potassium
    activation together: ``W_inf = S (n_inf + S (1 - h_inf)) / (1 + S^2)`` and
    ``tau_W = 1 + 5 exp(-(V + 75)^2 / 55^2)`` ms, with ``S = (1 - h_inf) / n_inf`` at rest. Rates
    and conductances are those of HodgkinHuxley, for a resting potential of -65 mV.

    A spike is a local maximum of V above -10 mV, told one sub-step after the peak.

    Limits: explicit Euler, so the sub-step stays at 0.01 ms or less. The old library's branch of
    this name lost a pair of brackets in ``tau_W``, which made it 1 ms nearly everywhere; its
    traces differ.
    """

    reference = "Rinzel 1985, Fed Proc 44:2944-2946 (no DOI)"
    accesses = (Access("I", unit="uA/cm^2"),)
    updates = ("spike_state", "V")
    states = {
        "V": State("mV", -65.0, doc="membrane potential"),
        "V_before": State("mV", "V", doc="membrane potential one sub-step ago"),
        "W": State("1", 0.4, doc="recovery"),
    }
    constants = {
        **HodgkinHuxley.constants,
        "n_rest": "0.1 / (0.1 + 0.125 * expm1(1))",
        "h_rest": "0.07 / (0.07 + 1 / (exp(3) + 1))",
        "S": "(1 - h_rest) / n_rest",
    }
    maximum_dt = 1e-5
    terms = {
        **HodgkinHuxley.terms,
        "n_inf": "a_n / (a_n + b_n)",
        "m_inf": "a_m / (a_m + b_m)",
        "h_inf": "a_h / (a_h + b_h)",
        "W_inf": "S * (n_inf + S * (1 - h_inf)) / (1 + S * S)",
        "tau_W": "1 + 5 * exp(-(V + 75) * (V + 75) / (55 * 55))",
    }
    update = """
        real open = W / S;
        real n2 = open * open;
        real dV = I - g_Na * m_inf * m_inf * m_inf * (1 - W) * (V - E_Na)
                  - g_K * n2 * n2 * (V - E_K) - g_L * (V - E_L);
        W += dt_ms * 3 * (W_inf - W) / tau_W;
        real V_new = V + dt_ms * dV;
        if (V_before <= V && V >= V_new && V > -10.0) spike_state = 1;
        V_before = V;
        V = V_new;
    """
