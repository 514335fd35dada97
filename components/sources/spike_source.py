"""Source of spikes whose times are given."""

from neurodriver.model.component import NDComponent


class SpikeSource(NDComponent):
    """Sends on, one step later, the spikes that are injected into it.

    ``spike_state[k + 1]`` is the sum of what arrives at step k. With an input of events
    (`ArrayInput`, `FileInput`) it is an array of spike times; its edges have weights, delays and
    receptors as those of a neuron. Numbers above 1 are several spikes of one step, at most 1,023
    for weighted edges, also where more inputs than one add up to it.
    """

    reference = (
        "Perkel, Gerstein & Moore 1967, Biophys J 7:391-418, doi:10.1016/S0006-3495(67)86596-2"
    )
    accesses = ("spike_state",)
    updates = ("spike_state",)
    update = """
        spike_state = input_spike_state;
    """
