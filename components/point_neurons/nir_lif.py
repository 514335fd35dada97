"""Leaky integrate-and-fire neuron of the Neuromorphic Intermediate Representation."""

from neurodriver.model.component import Parameter

from .nir_li import NIRLI


class NIRLIF(NIRLI):
    """Leaky integrate-and-fire neuron of NIR, integrated exactly.

    NIRLI; when ``V > v_threshold``, it spikes and ``V = v_reset``. The parameters have the names
    and units of NIR's ``LIF``.

    Limits: as NIRLI.
    """

    updates = {"spike_state": "", "V": "1"}
    params = {
        "v_threshold": Parameter("1", doc="potential above which it fires"),
        "v_reset": Parameter("1", default=0.0, doc="potential after a spike"),
    }
    update = """
        real free = V + leak * (v_leak + r * arrives - V);
        bool fires = free > v_threshold;
        V = fires ? v_reset : free;
        spike_state = fires ? 1 : 0;
    """
