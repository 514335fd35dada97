"""Exponentially decaying synapse."""

from neurodriver.model.component import NDComponent, Parameter, State
from neurodriver.model.linear import ARRIVAL, Linear


class SynapseAMPA(NDComponent):
    """Conductance that jumps by ``gmax`` at each spike and decays exponentially.

    ``ds/dt = -s / st``, integrated exactly; each spike adds 1 to ``s``; ``g = gmax s``.

    Limits: ``s`` is not bounded.
    """

    reference = "Destexhe et al. 1994, J Comput Neurosci 1:195-230, doi:10.1007/BF00961734"
    accesses = ("spike_state",)
    updates = ("g",)
    params = {
        "gmax": Parameter("mS/cm^2", doc="conductance added by one spike"),
        "st": Parameter("ms", above=0.0, doc="decay time constant"),
    }
    states = {"s": State("1", doc="gating variable")}
    constants = {"decay": "exp(-dt_ms / st)"}
    terms = {"arrived": ARRIVAL}
    maximum_dt = 1e-4
    update = """
        s *= decay;
        if (arrived != 0) s += arrived;
    """
    outputs = {"g": "gmax * s"}
    linear = Linear(factors=("gmax",))
