"""Pairs of nearest spikes, symmetric scheme."""

from neurodriver.model.traces import Trace

from .weighted_stdp import WeightedSTDP


class NearestSTDP(WeightedSTDP):
    """Rule for pairs of nearest spikes: the symmetric scheme.

    A spike of the target is paired with the last arrival alone, and an arrival with the last spike
    of the target. The changes are those of `WeightedSTDP`.
    """

    reference = (
        "Morrison, Diesmann & Gerstner 2008, Biol Cybern 98:459-478, doi:10.1007/s00422-008-0233-1"
    )
    pre = {"x": Trace("tau_plus", nearest=True, doc="last spike of the source")}
    post = {"y": Trace("tau_minus", nearest=True, doc="last spike of the target")}
