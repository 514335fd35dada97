"""Graded synapse with a power law."""

from neurodriver.model.component import NDComponent, Parameter


class PowerGPotGPot(NDComponent):
    """Conductance set by the presynaptic potential, without a state.

    ``g = min(saturation, slope * max(0, V - threshold)^power)``, with ``0^0 = 1``.
    """

    reference = "Givon & Lazar 2016, PLoS ONE 11:e0146581, doi:10.1371/journal.pone.0146581"
    accesses = ("V",)
    updates = ("g",)
    params = {
        "threshold": Parameter("mV", doc="potential below which nothing is transmitted"),
        "slope": Parameter("mS/cm^2/mV^power", doc="conductance per mV^power"),
        "power": Parameter("1", at_least=0.0, doc="exponent"),
        "saturation": Parameter("mS/cm^2", doc="largest conductance"),
    }
    # a power of 1 is common, and pow takes most of the step
    update = """
        real above = fmax(0, V - threshold);
        g = fmin(saturation, slope * (power == 1 ? above : pow(above, power)));
    """
