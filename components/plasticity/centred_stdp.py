"""Pairs of spikes, centred on arrivals."""

from neurodriver.model.component import State
from neurodriver.model.traces import Trace

from .weighted_stdp import WeightedSTDP


class CentredSTDP(WeightedSTDP):
    """Rule for pairs of spikes: the scheme that is centred on arrivals.

    An arrival is paired with the last spike of the target and with the next one. So a spike of the
    target is paired with all arrivals since the one before. The changes are those of
    `WeightedSTDP`.

    The trace x of all arrivals belongs to the source. What of it came before the last spike of the
    target has been used, so each synapse keeps how large that was.
    """

    reference = (
        "Morrison, Diesmann & Gerstner 2008, Biol Cybern 98:459-478, doi:10.1007/s00422-008-0233-1"
    )
    post = {"y": Trace("tau_minus", nearest=True, doc="last spike of the target")}
    synapse = {"used": State("1", 0.0, doc="x at the last spike of the target")}
    on_spike = """
        real unused = fmax(x - used * exp(-since_spike / tau_plus), 0);
        weight = clip(weight + up * pow(1 - weight / w_max, mu_plus) * unused);
        used = x;
    """
