"""Leaky integrate-and-fire neuron with alpha-shaped currents and a background of spikes."""

from .leaky_iaf_alpha_current import LeakyIAFAlphaCurrent
from .leaky_iaf_exp_current_driven import LeakyIAFExpCurrentDriven


class LeakyIAFAlphaCurrentDriven(LeakyIAFAlphaCurrent):
    """LeakyIAFAlphaCurrent with a Poisson background of its own: ``drive_rate``, ``drive_weight``.

    In each step a Poisson number of spikes of mean ``drive_rate dt`` arrives at the excitatory
    receptor, each of the weight ``drive_weight``. The numbers depend on the uid, its namespace, the
    seed and the step.

    Limits: as LeakyIAFExpCurrentDriven.
    """

    reference = LeakyIAFAlphaCurrent.reference
    params = {
        name: LeakyIAFExpCurrentDriven.params[name] for name in ("drive_rate", "drive_weight")
    }
    terms = {"at_exc": LeakyIAFExpCurrentDriven.terms["at_exc"]}
