"""Synapse that magnesium blocks."""

from neurodriver.model.component import NDComponent, Parameter, State


class SynapseNMDA(NDComponent):
    """Saturating, exponentially decaying conductance that magnesium blocks at low potentials.

    ``ds/dt = -s / st``, integrated exactly; each spike first brings ``s`` 63 % closer to 1;
    ``g = gmax s / (1 + Mg exp(-0.062 V) / 3.57)``. ``V`` is the postsynaptic potential: connect
    the target back to the synapse by an edge with ``variable`` V.

    Limits: ``V`` is that of the row before, like every input; in row 0 ``g`` is 0.
    """

    reference = (
        "Jahr & Stevens 1990, J Neurosci 10:3178-3182, doi:10.1523/JNEUROSCI.10-09-03178.1990"
    )
    accesses = ("spike_state", "V")
    updates = ("g",)
    params = {
        "gmax": Parameter("mS/cm^2", doc="conductance where s is 1 and nothing is blocked"),
        "st": Parameter("ms", above=0.0, doc="decay time constant"),
        "Mg": Parameter("mM", at_least=0.0, doc="magnesium concentration outside"),
    }
    states = {"s": State("1", doc="gating variable")}
    constants = {"decay": "exp(-dt_ms / st)"}
    maximum_dt = 1e-4
    update = """
        if (substep == 0 && spike_state > 0) s = fmin(s + 0.63 * (1 - s), 1);
        s *= decay;
        g = gmax * s / (1 + Mg * exp(-0.062 * V) / 3.57);
    """
