"""Graded synapse with a sigmoid, as old files name it."""

from neurodriver.model.component import NDComponent, Parameter

from .sigmoid_synapse import SigmoidSynapse


class power_gpot_gpot_sig(NDComponent):
    """Conductance that is a sigmoid of the presynaptic potential, without a state.

    ``g = slope (1 + tanh((V - threshold) / saturation)) / 2``: of the parameters of PowerGPotGPot,
    ``slope`` is the largest conductance, ``saturation`` the width, and a ``power`` is not used.

    Limits: files of before 2016 give volts; this class takes mV.
    """

    reference = SigmoidSynapse.reference
    accesses = ("V",)
    updates = ("g",)
    params = {
        "threshold": Parameter("mV", doc="potential at which half is transmitted"),
        "slope": Parameter("mS/cm^2", doc="largest conductance"),
        "saturation": Parameter("mV", above=0.0, doc="width of the sigmoid"),
    }
    update = """
        g = slope * 0.5 * (1 + tanh((V - threshold) / saturation));
    """
