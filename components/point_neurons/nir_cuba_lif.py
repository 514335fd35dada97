"""Integrate-and-fire neuron with a synaptic current of NIR."""

from neurodriver.model.component import Parameter

from .nir_cuba_li import NIRCubaLI


class NIRCubaLIF(NIRCubaLI):
    """Leaky integrate-and-fire neuron of NIR with a synaptic current, integrated exactly.

    NIRCubaLI; when ``V > v_threshold``, it spikes and ``V = v_reset``. The parameters have the
    names and units of NIR's ``CubaLIF``.

    Limits: as NIRLI.
    """

    updates = {"spike_state": "", "V": "1"}
    params = {
        "v_threshold": Parameter("1", doc="potential above which it fires"),
        "v_reset": Parameter("1", default=0.0, doc="potential after a spike"),
    }
    update = """
        bool fires = free > v_threshold;
        V = fires ? v_reset : free;
        I_syn = goal + decay * (I_syn - goal);
        spike_state = fires ? 1 : 0;
    """
