"""Rectified leaky integrator."""

from neurodriver.model.component import Access, NDComponent, Parameter, State, Weighted


class GradedNeuron(NDComponent):
    """Non-spiking neuron that transmits its rectified potential, explicit Euler.

    ``tau dV/dt = -V + bias + sum of weight * r + I`` with ``r = max(V, 0)`` of the presynaptic
    neurons. ``V`` has arbitrary units. A time constant below the step is taken as the step.
    """

    reference = "Lappalainen et al. 2024, Nature 634:1132-1140, doi:10.1038/s41586-024-07939-3"
    accesses = (Weighted("r"), Access("I", unit="1"))
    updates = {"V": "1", "r": "1"}
    params = {
        "time_constant": Parameter("ms", at_least=0.0, doc="time constant tau"),
        "bias": Parameter("1", default=0.0, doc="resting potential"),
    }
    states = {"V": State("1", "bias", doc="potential")}
    constants = {"rate": "dt_ms / fmax(time_constant, dt_ms)"}
    update = """
        V += rate * (bias - V + input_r + I);
    """
    outputs = {"r": "fmax(V, 0)"}
