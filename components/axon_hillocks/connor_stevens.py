"""Connor-Stevens neuron."""

from neurodriver.model.component import Access, NDComponent, Parameter, State


class ConnorStevens(NDComponent):
    """Hodgkin-Huxley neuron with a transient potassium current, explicit Euler, 1 uF/cm^2.

    ``dV/dt = I - g_l (V - E_l) - g_Na m^3 h (V - E_Na) - g_K n^4 (V - E_K) - g_a a^3 b (V - E_a)``
    and ``dx/dt = (x_inf(V) - x) / tau_x(V)`` for the gates; for m and h that is
    ``3.8 ((1 - x) a_x - x b_x)``, for n ``1.9 ((1 - n) a_n - n b_n)``. It fires as slowly as the
    current asks. The parameters are where the gates start.

    A spike is a local maximum of V above -30 mV, told one sub-step after the peak.

    Limits: explicit Euler, so the sub-step stays at 0.01 ms or less.
    """

    reference = (
        "Connor, Walter & McKown 1977, Biophys J 18:81-102, doi:10.1016/S0006-3495(77)85598-7"
    )
    accesses = (Access("I", unit="uA/cm^2"),)
    updates = ("spike_state", "V")
    params = {
        "n": Parameter("1", doc="initial potassium activation"),
        "m": Parameter("1", doc="initial sodium activation"),
        "h": Parameter("1", doc="initial sodium inactivation"),
        "a": Parameter("1", doc="initial activation of the transient potassium current"),
        "b": Parameter("1", doc="initial inactivation of the transient potassium current"),
    }
    states = {
        "V": State("mV", -65.0, doc="membrane potential"),
        "V_before": State("mV", "V", doc="membrane potential one sub-step ago"),
        "n": State("1", "n", doc="potassium activation"),
        "m": State("1", "m", doc="sodium activation"),
        "h": State("1", "h", doc="sodium inactivation"),
        "a": State("1", "a", doc="activation of the transient potassium current"),
        "b": State("1", "b", doc="inactivation of the transient potassium current"),
    }
    # mS/cm^2 and mV
    constants = {
        "g_K": "20",
        "g_Na": "120",
        "g_l": "0.3",
        "g_a": "47.7",
        "E_K": "-72",
        "E_Na": "55",
        "E_l": "-17",
        "E_a": "-75",
    }
    maximum_dt = 1e-5
    # The rates of 1952, their potentials shifted by -5.3 (m), -12 (h) and -4.3 mV (n). Two
    # quotients tend to 1 and 0.1 where their denominators vanish; expm1 keeps digits around there.
    terms = {
        "u_m": "V + 29.7",
        "u_n": "V + 45.7",
        "d_m": "expm1(-u_m / 10)",
        "d_n": "expm1(-u_n / 10)",
        "a_m": "fabs(d_m) <= 1e-7 ? 1.0 : -0.1 * u_m / d_m",
        "b_m": "4 * exp(-(V + 54.7) / 18)",
        "a_h": "0.07 * exp(-(V + 48) / 20)",
        "b_h": "1 / (1 + exp(-(V + 18) / 10))",
        "a_n": "fabs(d_n) <= 1e-7 ? 0.1 : -0.01 * u_n / d_n",
        "b_n": "0.125 * exp(-(V + 55.7) / 80)",
        "a_inf": "pow(0.0761 * exp((V + 94.22) / 31.84) / (1 + exp((V + 1.17) / 28.93)), 0.3333)",
        "tau_a": "0.3632 + 1.158 / (1 + exp((V + 55.96) / 20.12))",
        "b_root": "1 / (1 + exp((V + 53.3) / 14.54))",
        "b_inf": "b_root * b_root * b_root * b_root",
        "tau_b": "1.24 + 2.678 / (1 + exp((V + 50) / 16.027))",
    }
    update = """
        real n2 = n * n;
        real dV = I - g_l * (V - E_l) - g_Na * m * m * m * h * (V - E_Na)
                  - g_K * n2 * n2 * (V - E_K) - g_a * a * a * a * b * (V - E_a);
        n += dt_ms * 1.9 * ((1 - n) * a_n - n * b_n);
        m += dt_ms * 3.8 * ((1 - m) * a_m - m * b_m);
        h += dt_ms * 3.8 * ((1 - h) * a_h - h * b_h);
        a += dt_ms * (a_inf - a) / tau_a;
        b += dt_ms * (b_inf - b) / tau_b;
        real V_new = V + dt_ms * dV;
        if (V_before <= V && V >= V_new && V > -30.0) spike_state = 1;
        V_before = V;
        V = V_new;
    """
