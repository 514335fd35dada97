"""Graded synapse with a sigmoid."""

from neurodriver.model.component import NDComponent, Parameter


class SigmoidSynapse(NDComponent):
    """Conductance that is a sigmoid of the presynaptic potential, without a state.

    ``g = scale gmax (1 + tanh(-1 + 2 slope (V - threshold))) / 2``.

    Limits: the -1 puts half of the conductance at ``threshold + 1 / (2 slope)``; at the threshold
    it is 12 % of ``scale gmax``.
    """

    reference = (
        "Wicks, Roehrig & Rankin 1996, J Neurosci 16:4017-4031, "
        "doi:10.1523/JNEUROSCI.16-12-04017.1996"
    )
    accesses = ("V",)
    updates = ("g",)
    params = {
        "threshold": Parameter("mV", doc="potential at which 12 % are transmitted"),
        "slope": Parameter("1/mV", doc="steepness"),
        "gmax": Parameter("mS/cm^2", doc="largest conductance at a scale of 1"),
        "scale": Parameter("1", doc="factor of the conductance"),
    }
    maximum_dt = 1e-3
    update = """
        g = scale * gmax * 0.5 * (1 + tanh(-1 + 2 * slope * (V - threshold)));
    """
