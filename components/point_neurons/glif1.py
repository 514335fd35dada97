"""Generalised leaky integrate-and-fire neuron 1 of the Allen Institute: a fixed threshold."""

from neurodriver.model.component import NDComponent, Parameter

from . import glif


class GLIF1(NDComponent):
    """Generalised leaky integrate-and-fire neuron 1 (LIF): fixed threshold, fixed reset.

    ``C dV/dt = g (E - V) + I + sum of the currents of four receptors``, integrated exactly. When
    ``V > threshold``, it spikes and ``V = reset_potential``. A spike that arrives adds
    the alpha-shaped current ``weight (t / tau) exp(1 - t / tau)``, as in LeakyIAFAlphaCurrent; its
    edge's weight (pA) is the peak.

    Refractory: for ``round(refractory_period / dt)`` steps after a spike V stays where it is while
    the currents of the receptors go on.

    Limits: I is taken as constant over a step.
    """

    reference = glif.REFERENCE
    accesses = glif.ACCESSES
    updates = ("spike_state", "V")
    constants = glif.CONSTANTS
    terms = glif.TERMS
    update = glif.UPDATE
    params = {
        **glif.PARAMS,
        "reset_potential": Parameter("mV", doc="potential after a spike"),
    }
    states = glif.STATES
    parts = {**glif.PARTS, "reset": "reset_potential"}
