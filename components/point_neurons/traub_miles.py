"""Hodgkin-Huxley neuron of a hippocampal cell with exponential conductances."""

from neurodriver.model.component import NDComponent, Parameter, State

from .leaky_iaf_exp_conductance import LeakyIAFExpConductance


def _quotient(x: str, top: str, bottom: str) -> tuple[str, str]:
    """Return the texts of two numbers whose quotient is ``x / (exp(x) - 1)``.

    They are ``x top`` and ``bottom``, or its series and 1 where the two terms of ``bottom`` would
    cancel. The series is right within 3e-14 for |x| < 0.25.
    """
    square = f"{x} * {x}"
    series = (
        f"1 - 0.5 * {x} + {square} * (1 / 12 - {square} * (1 / 720 - {square} * (1 / 30240 - "
        f"{square} * (1 / 1209600))))"
    )
    near = f"fabs({x}) < 0.25"
    return f"({near} ? {series} : {x} * {top})", f"({near} ? 1 : {bottom})"


_OPENING_M = _quotient("q_m", "1", "25.790339917193062 * (e5 * e20) - 1")
_CLOSING_M = _quotient("p_m", "e5", "0.00033546262790251185 - e5")
_OPENING_N = _quotient("q_n", "1", "20.085536923187668 * e5 - 1")


class TraubMiles(NDComponent):
    """Hodgkin-Huxley neuron after Traub and Miles with exponential conductances.

    ``C dV/dt = g_L (E_L - V) - g_Na m^3 h (V - E_Na) - g_K n^4 (V - E_K) + g_exc (E_exc - V) +
    g_inh (E_inh - V) + I``, ``dx/dt = a_x (1 - x) - b_x x`` for the gates m, h and n with the rates
    of the benchmark of 2007, and ``dg_x/dt = -g_x / tau_x``. A spike that arrives at receptor x
    (exc or inh) adds its edge's weight (nS) to ``g_x``; one of row k over an edge of d steps
    arrives in row k + d. Defaults are those of the benchmark.

    Exponential Euler: V and each gate relax over a sub-step as if the others stood still. A spike
    is an upward crossing of ``threshold``; V is not reset and there is no refractory period.

    Limits: of first order in the sub-step; at most one spike a step is told; the gates start at
    their rest at -60 mV.
    """

    reference = (
        "Brette et al. 2007, J Comput Neurosci 23:349-398, doi:10.1007/s10827-007-0038-6 "
        "(benchmark 3); Traub & Miles 1991, Neuronal Networks of the Hippocampus (no DOI)"
    )
    accesses = LeakyIAFExpConductance.accesses
    updates = LeakyIAFExpConductance.updates
    params = {
        "capacitance": Parameter("pF", default=200.0, above=0.0, doc="membrane capacitance C"),
        "g_L": Parameter("nS", default=10.0, at_least=0.0, doc="leak conductance"),
        "g_Na": Parameter("nS", default=20000.0, at_least=0.0, doc="sodium conductance"),
        "g_K": Parameter("nS", default=6000.0, at_least=0.0, doc="potassium conductance"),
        "E_L": Parameter("mV", default=-60.0, doc="reversal potential of the leak"),
        "E_Na": Parameter("mV", default=50.0, doc="reversal potential of sodium"),
        "E_K": Parameter("mV", default=-90.0, doc="reversal potential of potassium"),
        "V_T": Parameter("mV", default=-63.0, doc="shift of the rates: sets the threshold"),
        "E_exc": Parameter("mV", default=0.0, doc="reversal potential of excitation"),
        "E_inh": Parameter("mV", default=-80.0, doc="reversal potential of inhibition"),
        "tau_exc": Parameter("ms", default=5.0, above=0.0, doc="time constant of excitation"),
        "tau_inh": Parameter("ms", default=10.0, above=0.0, doc="time constant of inhibition"),
        "threshold": Parameter("mV", default=-20.0, doc="potential whose crossing is a spike"),
    }
    states = {
        "V": State("mV", "E_L", doc="membrane potential"),
        "m": State("1", 0.02686, doc="sodium activation"),
        "h": State("1", 0.99131, doc="sodium inactivation"),
        "n": State("1", 0.06043, doc="potassium activation"),
        "g_exc": State("nS", doc="excitatory conductance"),
        "g_inh": State("nS", doc="inhibitory conductance"),
    }
    constants = {
        "per_capacitance": "dt_ms / capacitance",
        "decay_exc": "exp(-dt_ms / tau_exc)",
        "decay_inh": "exp(-dt_ms / tau_inh)",
    }
    maximum_dt = 1e-4
    # The rates of a gate are a / c and b / d, so it goes to rest = a d / (a d + b c) at the pace
    # (a d + b c) / (c d); h and n take both from one division. Three of the six rates are powers of
    # one exponential. V is above V_T - 1000 mV or so, V_T - 150 mV in single precision.
    terms = {
        "above": "V - V_T",
        "e40": "exp(-0.025 * above)",
        "e20": "e40 * e40",
        "e10": "e20 * e20",
        "e5": "e10 * e10",
        "q_m": "0.25 * (13 - above)",
        "q_n": "0.2 * (15 - above)",
        "p_m": "0.2 * (above - 40)",
        "c_m": _OPENING_M[1],
        "d_m": _CLOSING_M[1],
        "ad_m": f"1.28 * {_OPENING_M[0]} * d_m",
        "both_m": f"ad_m + 1.4 * {_CLOSING_M[0]} * c_m",
        "d_h": "1 + 2980.9579870417283 * e5",
        "ad_h": "0.128 * exp(17 / 18 - (1 / 18) * above) * d_h",
        "both_h": "ad_h + 4",
        "per_h": "1 / (both_h * d_h)",
        "c_n": _OPENING_N[1],
        "a_n": f"0.16 * {_OPENING_N[0]}",
        "both_n": "a_n + 0.6420127083438707 * e40 * c_n",
        "per_n": "1 / (both_n * c_n)",
    }
    update = """
        bool last = substep == substeps - 1;
        real sodium = g_Na * m * m * m * h;
        real n2 = n * n;
        real potassium = g_K * n2 * n2;
        real total = g_L + sodium + potassium + g_exc + g_inh;
        real goal = (g_L * E_L + sodium * E_Na + potassium * E_K + g_exc * E_exc + g_inh * E_inh
                     + I) / total;
        real V_new = goal + (V - goal) * exp(-per_capacitance * total);
        real rest_m = ad_m / both_m;
        real rest_h = ad_h * d_h * per_h;
        real rest_n = a_n * c_n * per_n;
        m = rest_m + (m - rest_m) * exp(-dt_ms * (both_m / (c_m * d_m)));
        h = rest_h + (h - rest_h) * exp(-dt_ms * (both_h * both_h * per_h));
        n = rest_n + (n - rest_n) * exp(-dt_ms * (both_n * both_n * per_n));
        g_exc = decay_exc * g_exc + (last ? exc : 0);
        g_inh = decay_inh * g_inh + (last ? inh : 0);
        if (V < threshold && V_new >= threshold) spike_state = 1;
        V = V_new;
    """
