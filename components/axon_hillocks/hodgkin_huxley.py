"""Hodgkin-Huxley neuron with the conductances of the squid axon."""

from neurodriver.model.component import NDComponent, Parameter, State

from .hodgkin_huxley2 import HodgkinHuxley2


class HodgkinHuxley(NDComponent):
    """Hodgkin-Huxley model of the squid axon with fixed conductances, explicit Euler.

    The equations of HodgkinHuxley2: ``dV/dt = I - g_Na m^3 h (V - E_Na) - g_K n^4 (V - E_K) -
    g_L (V - E_L)`` and ``dx/dt = (1 - x) a_x(V) - x b_x(V)`` for the gates n, m and h, with the
    conductances of 1952 and a capacitance of 1 uF/cm^2. The parameters are where the gates start.

    A spike is a local maximum of V above -30 mV, told one sub-step after the peak.

    Limits: explicit Euler, so the sub-step stays at 0.01 ms or less.
    """

    reference = HodgkinHuxley2.reference
    accesses = HodgkinHuxley2.accesses
    updates = HodgkinHuxley2.updates
    params = {
        "n": Parameter("1", doc="initial potassium activation"),
        "m": Parameter("1", doc="initial sodium activation"),
        "h": Parameter("1", doc="initial sodium inactivation"),
    }
    states = {
        **HodgkinHuxley2.states,
        "n": State("1", "n", doc="potassium activation"),
        "m": State("1", "m", doc="sodium activation"),
        "h": State("1", "h", doc="sodium inactivation"),
    }
    # mS/cm^2 and mV
    constants = {
        "g_K": "36",
        "g_Na": "120",
        "g_L": "0.3",
        "E_K": "-77",
        "E_Na": "50",
        "E_L": "-54.387",
    }
    maximum_dt = HodgkinHuxley2.maximum_dt
    terms = HodgkinHuxley2.terms
    update = HodgkinHuxley2.update
