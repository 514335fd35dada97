"""Models written as equations, which several tests use: after Brian2's examples."""

from __future__ import annotations

from neurodriver import NDComponent, Parameter, State, Weighted

ARRIVING = (Weighted("spike_state", "exc"), Weighted("spike_state", "inh"))


class CubaEquations(NDComponent):
    """Leaky neuron with exponential currents, in mV (Brian2's CUBA)."""

    accesses = ARRIVING
    updates = ("spike_state", "V")
    params = {
        "E_L": Parameter("mV", -49.0),
        "V_t": Parameter("mV", -50.0),
        "V_r": Parameter("mV", -60.0),
        "tau_m": Parameter("ms", 20.0, above=0.0),
        "tau_e": Parameter("ms", 5.0, above=0.0),
        "tau_i": Parameter("ms", 10.0, above=0.0),
        "t_ref": Parameter("ms", 5.0, at_least=0.0),
    }
    states = {"V": State("mV", "E_L"), "g_e": State("mV"), "g_i": State("mV")}
    equations = """
        dV/dt = (g_e + g_i - (V - E_L)) / tau_m : mV (unless refractory)
        dg_e/dt = -g_e / tau_e : mV
        dg_i/dt = -g_i / tau_i : mV
    """
    arrivals = "g_e += exc; g_i += inh"
    threshold = "V > V_t"
    reset = "V = V_r"
    refractory = "t_ref"


class CobaEquations(NDComponent):
    """Leaky neuron with exponential conductances (Brian2's COBA)."""

    accesses = ("I", *ARRIVING)
    updates = ("spike_state", "V")
    params = {
        "C": Parameter("pF", 200.0, above=0.0),
        "g_L": Parameter("nS", 10.0),
        "E_L": Parameter("mV", -60.0),
        "E_e": Parameter("mV", 0.0),
        "E_i": Parameter("mV", -80.0),
        "tau_e": Parameter("ms", 5.0, above=0.0),
        "tau_i": Parameter("ms", 10.0, above=0.0),
    }
    states = {"V": State("mV", "E_L"), "g_e": State("nS"), "g_i": State("nS")}
    equations = """
        dV/dt = (g_L*(E_L - V) + g_e*(E_e - V) + g_i*(E_i - V) + I) / C : mV (unless refractory)
        dg_e/dt = -g_e / tau_e : nS
        dg_i/dt = -g_i / tau_i : nS
        I : pA
    """
    arrivals = "g_e += exc; g_i += inh"
    threshold = "V > -50*mV"
    reset = "V = -60*mV"
    refractory = "5*ms"
    method = "rk2"


class HodgkinHuxleyEquations(NDComponent):
    """Hodgkin-Huxley neuron after Traub and Miles (Brian2's COBAHH)."""

    accesses = ("I", *ARRIVING)
    updates = ("spike_state", "V")
    params = {
        "C": Parameter("pF", 200.0, above=0.0),
        "g_L": Parameter("nS", 10.0),
        "g_Na": Parameter("nS", 20000.0),
        "g_K": Parameter("nS", 6000.0),
        "E_L": Parameter("mV", -60.0),
        "E_Na": Parameter("mV", 50.0),
        "E_K": Parameter("mV", -90.0),
        "V_T": Parameter("mV", -63.0),
    }
    states = {
        "V": State("mV", "E_L"),
        "m": State("1", 0.02686),
        "h": State("1", 0.99131),
        "n": State("1", 0.06043),
        "g_e": State("nS"),
        "g_i": State("nS"),
    }
    equations = """
        u = (V - V_T) / mV : 1
        dV/dt = (g_L*(E_L - V) + g_e*(0*mV - V) + g_i*(-80*mV - V) + I
                 - g_Na*m**3*h*(V - E_Na) - g_K*n**4*(V - E_K)) / C : mV
        dm/dt = 0.32*(13 - u) / (exp((13 - u)/4) - 1)/ms*(1 - m)
                - 0.28*(u - 40) / (exp((u - 40)/5) - 1)/ms*m : 1
        dh/dt = 0.128*exp((17 - u)/18)/ms*(1 - h) - 4 / (1 + exp((40 - u)/5))/ms*h : 1
        dn/dt = 0.032*(15 - u) / (exp((15 - u)/5) - 1)/ms*(1 - n) - 0.5*exp((10 - u)/40)/ms*n : 1
        dg_e/dt = -g_e/(5*ms) : nS
        dg_i/dt = -g_i/(10*ms) : nS
    """
    arrivals = "g_e += exc; g_i += inh"
    threshold = "V > -20*mV"
    refractory = "V > -20*mV"


class AdExEquations(NDComponent):
    """Adaptive exponential neuron (Brette & Gerstner 2005, doi:10.1152/jn.00686.2005)."""

    accesses = ("I",)
    updates = ("spike_state", "V")
    params = {
        "C": Parameter("pF", 281.0, above=0.0),
        "g_L": Parameter("nS", 30.0),
        "E_L": Parameter("mV", -70.6),
        "V_T": Parameter("mV", -50.4),
        "D": Parameter("mV", 2.0, above=0.0),
        "a": Parameter("nS", 4.0),
        "b": Parameter("pA", 80.5),
        "tau_w": Parameter("ms", 144.0, above=0.0),
        "peak": Parameter("mV", 20.0),
    }
    states = {"V": State("mV", "E_L")}
    equations = """
        dV/dt = (g_L*(E_L - V) + g_L*D*exp((V - V_T)/D) - w + I) / C : mV
        dw/dt = (a*(V - E_L) - w) / tau_w : pA
        I : pA
    """
    threshold = "V >= peak"
    reset = "V = E_L; w += b"
    method = "euler"
