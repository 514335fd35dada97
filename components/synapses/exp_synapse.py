"""Saturating exponential synapse."""

from neurodriver.model.component import NDComponent, Parameter, State


class ExpSynapse(NDComponent):
    """Saturating conductance that decays exponentially, explicit Euler of one sub-step.

    ``ds/dt = -s / tau``, and during the step after a spike ``a (1 - s)`` more; ``g = gmax s``. A
    spike acts for one step: it brings ``s`` closer to 1 by the share ``a dt``.

    Limits: that share grows with the step, so a circuit keeps its meaning only at one ``dt``
    (SynapseAMPA and SynapseNMDA do not depend on it); ``dt`` below ``tau`` and ``1 / a``.
    """

    reference = "Destexhe et al. 1994, J Comput Neurosci 1:195-230, doi:10.1007/BF00961734"
    accesses = ("spike_state",)
    updates = ("g",)
    params = {
        "gmax": Parameter("mS/cm^2", doc="conductance where s is 1"),
        "tau": Parameter("ms", above=0.0, doc="decay time constant"),
        "a": Parameter("1/ms", at_least=0.0, doc="rate at which a spike opens what is closed"),
    }
    states = {"s": State("1", doc="gating variable")}
    update = """
        real rise = spike_state > 0 ? a * (1 - s) : 0;
        s += dt_ms * (rise - s / tau);
    """
    outputs = {"g": "gmax * s"}
