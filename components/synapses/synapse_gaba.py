"""Exponentially decaying inhibitory synapse."""

from .synapse_ampa import SynapseAMPA


class SynapseGABA(SynapseAMPA):
    """Conductance that jumps by ``gmax`` at each spike and decays exponentially, as SynapseAMPA.

    ``ds/dt = -s / st``, integrated exactly; each spike adds 1 to ``s``; ``g = gmax s``. What makes
    it inhibitory is its reversal potential: ``reverse`` of the synapse or of its edge, in mV.

    Limits: ``s`` is not bounded.
    """
