"""MorrisLecar with the parameter names of before 2016."""

from neurodriver.model.component import NDComponent

from .morris_lecar import MorrisLecar

NAMES = {"V_L": "V_l", "V_Ca": "V_ca", "V_K": "V_k", "g_L": "G_l", "g_Ca": "G_ca", "g_K": "G_k"}
"""Name in MorrisLecar -> name here."""


class MorrisLecar_a(NDComponent):
    """Morris-Lecar membrane, as files of before 2016 spell its parameters.

    MorrisLecar with ``V_l``, ``V_ca``, ``V_k``, ``G_l``, ``G_ca`` and ``G_k`` for ``V_L``,
    ``V_Ca``, ``V_K``, ``g_L``, ``g_Ca`` and ``g_K``; the same equations and units.

    Limits: as MorrisLecar.
    """

    reference = MorrisLecar.reference
    accesses = MorrisLecar.accesses
    updates = MorrisLecar.updates
    params = {NAMES.get(name, name): rule for name, rule in MorrisLecar.params.items()}
    states = MorrisLecar.states
    constants = NAMES
    maximum_dt = MorrisLecar.maximum_dt
    terms = MorrisLecar.terms
    update = MorrisLecar.update
