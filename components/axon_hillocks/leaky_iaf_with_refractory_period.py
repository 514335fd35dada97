"""Leaky integrate-and-fire neuron with a refractory period."""

from neurodriver.model.component import Access, NDComponent, Parameter, State


class LeakyIAFwithRefractoryPeriod(NDComponent):
    """Leaky integrate-and-fire neuron that ignores its input for a while after each spike.

    ``time_constant dV/dt = V_rest - V + (time_constant / C) (I + bias_current)``, integrated
    exactly for a constant input; when ``V >= threshold`` the neuron spikes and
    ``V = reset_potential``. For ``refractory_period`` ms after a spike the term with the current
    is 0: V is not clamped, it relaxes to rest. The published ``V`` is the one after the reset.

    Limits: the threshold is tested while refractory, too, and such a spike lengthens the period;
    the period ends with a sub-step, and rounding may make a multiple of the sub-step one longer;
    at most one spike a step is reported.
    """

    reference = "Burkitt 2006, Biol Cybern 95:1-19, doi:10.1007/s00422-006-0068-6"
    accesses = (Access("I", unit="uA/cm^2"),)
    updates = ("spike_state", "V")
    params = {
        "resting_potential": Parameter("mV", doc="potential without current"),
        "threshold": Parameter("mV", doc="potential at which it fires"),
        "reset_potential": Parameter("mV", doc="potential after a spike"),
        "capacitance": Parameter("uF/cm^2", above=0.0, doc="membrane capacitance"),
        "refractory_period": Parameter("ms", at_least=0.0, doc="time without input after a spike"),
        "time_constant": Parameter("ms", above=0.0, doc="membrane time constant"),
        "bias_current": Parameter("uA/cm^2", doc="constant current"),
    }
    states = {
        "V": State("mV", "resting_potential", doc="membrane potential"),
        "r": State("ms", doc="refractory time that is left"),
    }
    constants = {
        "decay": "exp(-dt_ms / time_constant)",
        "resistance": "time_constant / capacitance",
    }
    maximum_dt = 1e-4
    update = """
        real drive = r == 0 ? resistance * (I + bias_current) : 0;
        V = V * decay + (drive + resting_potential) * (1 - decay);
        r = fmax(r - dt_ms, 0);
        if (V >= threshold) {
            V = reset_potential;
            spike_state = 1;
            r += refractory_period;
        }
    """
