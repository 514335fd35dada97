"""Wilson's simplified neocortical neuron."""

from neurodriver.model.component import Access, NDComponent, Parameter, State


class Wilson(NDComponent):
    """Neocortical neuron of two variables and polynomials, explicit Euler.

    ``C dV/dt = I - (m_0 + m_1 V + m_2 V^2) (V - E_Na) - g_K R (V - E_K)`` and
    ``tau_R dR/dt = R_0 + R_1 V + R_2 V^2 - R``: a sodium current that opens at once and a
    potassium current with recovery R. The defaults are those the model had in the old library,
    scaled from 100 mV to mV; the polynomials of the paper are 17.8, 0.476, 0.00338 (m) and 1.24,
    0.037, 0.00032 (R).

    A spike is a local maximum of V above 20 mV, told one sub-step after the peak.

    Limits: explicit Euler, so the sub-step stays at 0.01 ms or less; without the calcium and
    afterhyperpolarising currents, so no adaptation and no bursts.
    """

    reference = "Wilson 1999, J Theor Biol 200:375-388, doi:10.1006/jtbi.1999.1002"
    accesses = (Access("I", unit="uA/cm^2"),)
    updates = ("spike_state", "V")
    params = {
        "capacitance": Parameter("uF/cm^2", 0.8, above=0.0, doc="membrane capacitance"),
        "E_Na": Parameter("mV", 55.0, doc="sodium reversal potential"),
        "E_K": Parameter("mV", -92.0, doc="potassium reversal potential"),
        "g_K": Parameter("mS/cm^2", 26.0, at_least=0.0, doc="potassium conductance"),
        "m_0": Parameter("mS/cm^2", 17.81, doc="sodium conductance at 0 mV"),
        "m_1": Parameter("mS/cm^2/mV", 0.4771, doc="its slope"),
        "m_2": Parameter("mS/cm^2/mV^2", 0.003263, doc="its curvature"),
        "R_0": Parameter("1", 1.03, doc="recovery that is reached at 0 mV"),
        "R_1": Parameter("1/mV", 0.0135, doc="its slope"),
        "R_2": Parameter("1/mV^2", 0.0, doc="its curvature"),
        "tau_R": Parameter("ms", 1.9, above=0.0, doc="time constant of the recovery"),
    }
    states = {
        "V": State("mV", -70.0, doc="membrane potential"),
        "V_before": State("mV", "V", doc="membrane potential one sub-step ago"),
        "R": State("1", 0.088, doc="recovery"),
    }
    maximum_dt = 1e-5
    terms = {
        "g_Na": "m_0 + (m_1 + m_2 * V) * V",
        "R_inf": "R_0 + (R_1 + R_2 * V) * V",
    }
    update = """
        real V_new = V + dt_ms / capacitance
                     * (I - g_Na * (V - E_Na) - g_K * R * (V - E_K));
        R += dt_ms * (R_inf - R) / tau_R;
        if (V_before <= V && V >= V_new && V > 20.0) spike_state = 1;
        V_before = V;
        V = V_new;
    """
