"""Sum of synaptic currents."""

from neurodriver.model.component import Access, NDComponent, Parameter
from neurodriver.model.kinds import VariableKind


class Aggregator(NDComponent):
    """Current of all conductances that open onto one component.

    ``I = -sum_j g_j (V - E_j)``: conductance ``g_j`` and reversal potential ``E_j`` of each
    synapse, potential ``V`` of the component that receives the current. One is inserted wherever
    synapses (``g``) are connected straight to a component that accesses ``I``.
    """

    reference = "Destexhe et al. 1994, J Comput Neurosci 1:195-230, doi:10.1007/BF00961734"
    accesses = (
        Access("V", single=True),
        Access(
            "g",
            each="g * (V - reverse)",
            connection={"reverse": Parameter("mV", default=0.0, doc="reversal potential")},
            accumulate="double",
            unit="mS/cm^2",
        ),
    )
    updates = ("I",)
    converts = VariableKind.CONDUCTANCE
    update = """
        I = -g;
    """
