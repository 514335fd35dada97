"""Leaky integrate-and-fire neuron."""

from neurodriver.model.component import Access, NDComponent, Parameter, State


class LeakyIAF(NDComponent):
    """Leaky integrate-and-fire neuron, integrated exactly for a constant input.

    ``C dV/dt = (V_rest - V) / R + I``; when ``V >= threshold`` the neuron spikes and
    ``V = reset_potential``. The published ``V`` is the one after the reset. ``capacitance *
    resistance`` is the membrane time constant in ms.

    Limits: no refractory period; at most one spike a step is reported.
    """

    reference = "Burkitt 2006, Biol Cybern 95:1-19, doi:10.1007/s00422-006-0068-6"
    accesses = (Access("I", unit="uA/cm^2"),)
    updates = ("spike_state", "V")
    params = {
        "resting_potential": Parameter("mV", doc="potential without input"),
        "threshold": Parameter("mV", doc="potential at which it fires"),
        "reset_potential": Parameter("mV", doc="potential after a spike"),
        "capacitance": Parameter("uF/cm^2", above=0.0, doc="membrane capacitance"),
        "resistance": Parameter("kOhm cm^2", above=0.0, doc="membrane resistance"),
    }
    states = {"V": State("mV", "resting_potential", doc="membrane potential")}
    constants = {"decay": "exp(-dt_ms / (capacitance * resistance))"}
    maximum_dt = 1e-4
    update = """
        V = V * decay + (resistance * I + resting_potential) * (1 - decay);
        if (V >= threshold) {
            V = reset_potential;
            spike_state = 1;
        }
    """
