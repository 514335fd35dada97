"""Simple model of spiking neurons with random input of its own."""

from neurodriver.model.component import Parameter

from .izhikevich import Izhikevich


class IzhikevichNoisy(Izhikevich):
    """Izhikevich with white noise of its own, the thalamic input of the paper's network.

    A normal number of standard deviation ``noise / sqrt(dt)``, with ``dt`` in ms, is added to I in
    each step: 5 for the paper's excitatory neurons and 2 for its inhibitory ones. The numbers
    depend on the uid, its namespace, the seed and the step. Spike rule, arrivals and presets as
    Izhikevich.

    Limits: as Izhikevich.
    """

    params = {"noise": Parameter("mV/ms^0.5", at_least=0.0, doc="intensity of the noise")}
    constants = {"spread": "noise / sqrt(dt_ms)"}
    terms = {"drive": "I + per_ms * input_spike_state + spread * normal()"}
