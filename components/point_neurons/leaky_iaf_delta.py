"""Leaky integrate-and-fire neuron whose potential jumps at each spike that arrives."""

from typing import Any, ClassVar

from neurodriver.model.component import Access, NDComponent, Parameter, State, Weighted


class LeakyIAFDelta(NDComponent):
    """Leaky integrate-and-fire neuron with delta synapses, integrated exactly.

    ``time_constant dV/dt = V_rest - V + (time_constant / C) I``; a spike that arrives adds its
    edge's weight (mV) to V. A spike of row k over an edge of d steps arrives in row k + d. When
    ``V >= threshold``, arrivals of the row included, it spikes and ``V = reset_potential``.

    Refractory: for ``round(refractory_period / dt)`` steps after a spike V stays at the reset
    potential, and what arrives in these rows is lost. So the least interval between two spikes is
    the period and one step; a period below half a step is none.

    Limits: I is taken as constant over a step. Units may be pF, nS and pA or uF/cm^2, mS/cm^2 and
    uA/cm^2.
    """

    reference = (
        "Brunel 2000, J Comput Neurosci 8:183-208, doi:10.1023/A:1008925309027; Rotter & Diesmann "
        "1999, Biol Cybern 81:381-402, doi:10.1007/s004220050570"
    )
    accesses: ClassVar[Any] = (Access("I", unit="pA"), Weighted("spike_state"))
    updates = ("spike_state", "V")
    params = {
        "resting_potential": Parameter("mV", doc="potential without input"),
        "threshold": Parameter("mV", doc="potential at which it fires"),
        "reset_potential": Parameter("mV", doc="potential after a spike"),
        "time_constant": Parameter("ms", above=0.0, doc="membrane time constant"),
        "capacitance": Parameter("pF", default=1.0, above=0.0, doc="membrane capacitance"),
        "refractory_period": Parameter("ms", default=0.0, at_least=0.0, doc="rest after a spike"),
    }
    states = {
        "V": State("mV", "resting_potential", doc="membrane potential"),
        "left": State("1", doc="steps of the refractory period that are left"),
    }
    constants = {
        "leak": "-expm1(-dt_ms / time_constant)",
        "resistance": "time_constant / capacitance",
        "refractory_steps": "floor(refractory_period / dt_ms + 0.5)",
    }
    terms = {"jump": "input_spike_state"}
    update = """
        bool clamped = left > 0;
        real free = V + leak * (resting_potential + resistance * I - V) + jump;
        bool fires = !clamped & (free >= threshold);
        V = clamped | fires ? reset_potential : free;
        left = fires ? refractory_steps : clamped ? left - 1 : 0;
        spike_state = fires ? 1 : 0;
    """
