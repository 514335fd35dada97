"""Leaky integrate-and-fire neuron with exponential currents and a background of spikes."""

from neurodriver.model.component import Parameter

from .leaky_iaf_exp_current import LeakyIAFExpCurrent


class LeakyIAFExpCurrentDriven(LeakyIAFExpCurrent):
    """LeakyIAFExpCurrent with a Poisson background of its own: ``drive_rate``, ``drive_weight``.

    In each step a Poisson number of spikes of mean ``drive_rate dt`` arrives at the excitatory
    receptor, each of the weight ``drive_weight``. The numbers depend on the uid, its
    namespace, the seed and the step.

    Limits: as LeakyIAFExpCurrent; above 16 spikes a step the distribution is right within 4e-6.
    """

    reference = (
        "Potjans & Diesmann 2014, Cereb Cortex 24:785-806, doi:10.1093/cercor/bhs358; "
        + LeakyIAFExpCurrent.reference.split("; ")[1]
    )
    params = {
        "drive_rate": Parameter("Hz", at_least=0.0, doc="spikes a second from outside"),
        "drive_weight": Parameter("pA", doc="weight of each of them"),
    }
    terms = {"at_exc": "exc + drive_weight * poisson(drive_rate * dt_ms / 1000)"}
