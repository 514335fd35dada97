"""Generalised leaky integrate-and-fire neuron 2 of the Allen Institute: reset rules."""

from neurodriver.model.component import NDComponent, Parameter, State

from . import glif


class GLIF2(NDComponent):
    """Generalised leaky integrate-and-fire neuron 2 (LIF-R): reset and threshold follow rules.

    GLIF1, but at a spike ``V = E + reset_fraction (V - E) + reset_add`` with the potential of the
    step before it. The threshold has a part theta that a spike raises by ``threshold_add`` and that
    decays with ``tau_threshold``. It decays over the refractory period at once, at the spike.

    Limits: as GLIF1. A neuron whose potential is above its threshold after the reset fires until
    the end; so ``reset_fraction (threshold - E) + reset_add`` should be below
    ``threshold - E + threshold_add``.
    """

    reference = glif.REFERENCE
    accesses = glif.ACCESSES
    updates = ("spike_state", "V")
    terms = glif.TERMS
    update = glif.UPDATE
    params = {
        **glif.PARAMS,
        "reset_fraction": Parameter(
            "1", at_least=0.0, at_most=1.0, doc="part of V - E that is left after a spike"
        ),
        "reset_add": Parameter("mV", doc="potential added at a spike"),
        "threshold_add": Parameter("mV", doc="rise of the threshold at a spike"),
        "tau_threshold": Parameter("ms", above=0.0, doc="time constant of that rise"),
    }
    states = {**glif.STATES, "theta": State("mV", doc="rise of the threshold by spikes")}
    constants = {
        **glif.CONSTANTS,
        "fade": "exp(-dt_ms / tau_threshold)",
        "fade_at_rest": "exp(-refractory_period / tau_threshold)",
    }
    parts = {
        **glif.PARTS,
        "thresholds": "real raised = clamped ? theta : theta * fade; $adapted",
        "adapted": "",
        "level": "threshold + raised",
        "reset": "resting_potential + reset_fraction * (V - resting_potential) + reset_add",
        "after": "theta = fires ? raised * fade_at_rest + threshold_add : raised; $currents",
        "currents": "",
    }
