"""Integrate-and-fire neuron of the Neuromorphic Intermediate Representation."""

from neurodriver.model.component import Access, NDComponent, Parameter, State, Weighted

from .nir_li import NIRLI


class NIRIF(NDComponent):
    """Integrate-and-fire neuron of NIR: ``dV/dt = r (W S + I + bias)``, with time in seconds.

    When ``V > v_threshold``, it spikes and ``V = v_reset``. The parameters have the names and units
    of NIR's ``IF``. Spikes that arrive are those of NIRLI.

    Limits: as NIRLI.
    """

    reference = NIRLI.reference
    accesses = (Access("I", unit="1"), Weighted("spike_state", receptor="spikes"))
    updates = {"spike_state": "", "V": "1"}
    params = {
        "r": NIRLI.params["r"],
        "bias": NIRLI.params["bias"],
        "v_threshold": Parameter("1", doc="potential above which it fires"),
        "v_reset": Parameter("1", default=0.0, doc="potential after a spike"),
    }
    states = {"V": State("1", 0.0, doc="membrane potential")}
    update = """
        real free = V + dt_ms / 1000 * r * (spikes + I + bias);
        bool fires = free > v_threshold;
        V = fires ? v_reset : free;
        spike_state = fires ? 1 : 0;
    """
