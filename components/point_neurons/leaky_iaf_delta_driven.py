"""Leaky integrate-and-fire neuron with delta synapses and a background of spikes."""

from neurodriver.model.component import Parameter

from .leaky_iaf_delta import LeakyIAFDelta


class LeakyIAFDeltaDriven(LeakyIAFDelta):
    """LeakyIAFDelta with a Poisson background of its own: ``drive_rate`` and ``drive_weight``.

    In each step a Poisson number of spikes of mean ``drive_rate dt`` arrives, each of the weight
    ``drive_weight``. The numbers depend on the uid, its namespace, the seed
    and the step.

    Limits: as LeakyIAFDelta; above 16 spikes a step the distribution is right within 4e-6.
    """

    params = {
        "drive_rate": Parameter("Hz", at_least=0.0, doc="spikes a second from outside"),
        "drive_weight": Parameter("mV", doc="weight of each of them"),
    }
    terms = {
        "jump": "input_spike_state + drive_weight * poisson(drive_rate * dt_ms / 1000)",
    }
