"""Hodgkin-Huxley neuron with adjustable conductances."""

from neurodriver.model.component import Access, NDComponent, Parameter, State


class HodgkinHuxley2(NDComponent):
    """Hodgkin-Huxley model of the squid axon, explicit Euler, capacitance 1 uF/cm^2.

    ``dV/dt = I - g_Na m^3 h (V - E_Na) - g_K n^4 (V - E_K) - g_L (V - E_L)`` and
    ``dx/dt = (1 - x) a_x(V) - x b_x(V)`` for the gates n, m and h, with the rates of 1952 for a
    resting potential of -65 mV.

    A spike is a local maximum of V above -30 mV, told one sub-step after the peak.

    Limits: explicit Euler, so the sub-step stays at 0.01 ms or less.
    """

    reference = "Hodgkin & Huxley 1952, J Physiol 117:500-544, doi:10.1113/jphysiol.1952.sp004764"
    accesses = (Access("I", unit="uA/cm^2"),)
    updates = ("spike_state", "V")
    params = {
        "g_K": Parameter("mS/cm^2", at_least=0.0, doc="potassium conductance"),
        "g_Na": Parameter("mS/cm^2", at_least=0.0, doc="sodium conductance"),
        "g_L": Parameter("mS/cm^2", at_least=0.0, doc="leak conductance"),
        "E_K": Parameter("mV", doc="potassium reversal potential"),
        "E_Na": Parameter("mV", doc="sodium reversal potential"),
        "E_L": Parameter("mV", doc="leak reversal potential"),
    }
    states = {
        "V": State("mV", -65.0, doc="membrane potential"),
        "V_before": State("mV", "V", doc="membrane potential one sub-step ago"),
        "n": State("1", 0.0, doc="potassium activation"),
        "m": State("1", 0.0, doc="sodium activation"),
        "h": State("1", 0.92, doc="sodium inactivation"),
    }
    maximum_dt = 1e-5
    # The two quotients tend to 0.1 and 1 where their denominators vanish.
    terms = {
        "d_n": "exp(-(V + 55.0) / 10.0) - 1",
        "d_m": "exp(-(V + 40.0) / 10.0) - 1",
        "a_n": "fabs(d_n) <= 1e-7 ? 0.1 : -0.01 * (V + 55.0) / d_n",
        "b_n": "0.125 * exp(-(V + 65.0) / 80.0)",
        "a_m": "fabs(d_m) <= 1e-7 ? 1.0 : -0.1 * (V + 40.0) / d_m",
        "b_m": "4.0 * exp(-(V + 65.0) / 18.0)",
        "a_h": "0.07 * exp(-(V + 65.0) / 20.0)",
        "b_h": "1 / (exp(-(V + 35.0) / 10.0) + 1)",
    }
    update = """
        real n2 = n * n;
        real dV = I - g_Na * m * m * m * h * (V - E_Na) - g_K * n2 * n2 * (V - E_K)
                  - g_L * (V - E_L);
        n += dt_ms * ((1 - n) * a_n - n * b_n);
        m += dt_ms * ((1 - m) * a_m - m * b_m);
        h += dt_ms * ((1 - h) * a_h - h * b_h);
        real V_new = V + dt_ms * (1 * dV);  // over 1 uF/cm^2
        if (V_before <= V && V >= V_new && V > -30.0) spike_state = 1;
        V_before = V;
        V = V_new;
    """
