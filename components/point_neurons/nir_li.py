"""Leaky integrator of the Neuromorphic Intermediate Representation."""

from neurodriver.model.component import Access, NDComponent, Parameter, State, Weighted


class NIRLI(NDComponent):
    """Leaky integrator of NIR, integrated exactly.

    ``tau dV/dt = v_leak - V + r (W S + I + bias)``. The parameters have the names and units of
    ``LI`` in the Neuromorphic Intermediate Representation: time is in seconds, and all else are
    plain numbers. ``bias`` is that of an ``Affine`` before it, W its weights.

    A spike that arrives is a pulse of height 1 that lasts one step, as in the programs that write
    such networks. So its effect depends on the step.

    Limits: inputs are taken as constant over a step.
    """

    reference = "Pedersen et al. 2024, Nat Commun 15:8122, doi:10.1038/s41467-024-52259-9"
    accesses = (Access("I", unit="1"), Weighted("spike_state", receptor="spikes"))
    updates = {"V": "1"}
    params = {
        "tau": Parameter("s", above=0.0, doc="membrane time constant"),
        "r": Parameter("1", doc="resistance"),
        "v_leak": Parameter("1", doc="potential without input"),
        "bias": Parameter("1", default=0.0, doc="constant input"),
    }
    states = {"V": State("1", 0.0, doc="membrane potential")}
    constants = {"leak": "-expm1(-dt_ms / (1000 * tau))"}
    terms = {"arrives": "spikes + I + bias"}
    update = """
        V = V + leak * (v_leak + r * arrives - V);
    """
