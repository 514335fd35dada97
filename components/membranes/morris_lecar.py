"""Morris-Lecar membrane."""

from neurodriver.model.component import Access, NDComponent, Parameter, State


class MorrisLecar(NDComponent):
    """Morris-Lecar model with instantaneous calcium, explicit Euler, capacitance 1 uF/cm^2.

    ``dV/dt = I - g_L (V - V_L) - g_K n (V - V_K) - g_Ca m_inf(V) (V - V_Ca) + offset`` and
    ``dn/dt = phi cosh((V - V3) / (2 V4)) (n_inf(V) - n)``.

    Limits: explicit Euler, so the sub-step stays at 0.01 ms or less.
    """

    reference = "Morris & Lecar 1981, Biophys J 35:193-213, doi:10.1016/S0006-3495(81)84782-0"
    accesses = (Access("I", unit="uA/cm^2"),)
    updates = ("V",)
    params = {
        "V1": Parameter("mV", doc="half activation of calcium"),
        "V2": Parameter("mV", doc="slope of the calcium activation"),
        "V3": Parameter("mV", doc="half activation of potassium"),
        "V4": Parameter("mV", doc="slope of the potassium activation"),
        "phi": Parameter("1/ms", at_least=0.0, doc="rate of the potassium activation"),
        "offset": Parameter("uA/cm^2", doc="constant current"),
        "V_L": Parameter("mV", doc="leak reversal potential"),
        "V_Ca": Parameter("mV", doc="calcium reversal potential"),
        "V_K": Parameter("mV", doc="potassium reversal potential"),
        "g_L": Parameter("mS/cm^2", at_least=0.0, doc="leak conductance"),
        "g_Ca": Parameter("mS/cm^2", at_least=0.0, doc="calcium conductance"),
        "g_K": Parameter("mS/cm^2", at_least=0.0, doc="potassium conductance"),
    }
    states = {
        "V": State("mV", -70.0, doc="membrane potential"),
        "n": State("1", 0.3525, doc="potassium activation"),
    }
    maximum_dt = 1e-5
    terms = {
        "n_inf": "0.5 * (1 + tanh((V - V3) / V4))",
        "m_inf": "0.5 * (1 + tanh((V - V1) / V2))",
        "dn": "phi * cosh((V - V3) / (2 * V4)) * (n_inf - n)",
        "dV": "I - g_L * (V - V_L) - g_K * n * (V - V_K) - g_Ca * m_inf * (V - V_Ca) + offset",
    }
    update = """
        V += dt_ms * (1 * dV);  // over 1 uF/cm^2
        n += dt_ms * dn;
    """
