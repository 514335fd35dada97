"""Pairs of nearest spikes, each of which counts once."""

from neurodriver.model.component import State

from .nearest_stdp import NearestSTDP


class RestrictedSTDP(NearestSTDP):
    """Rule for pairs of nearest spikes: the scheme that is restricted to the first pair.

    A spike of the target is paired with the last arrival if no other spike of the target came
    since. An arrival is paired with the last spike of the target if no other arrival came since.
    The changes are those of `WeightedSTDP`.
    """

    reference = (
        "Morrison, Diesmann & Gerstner 2008, Biol Cybern 98:459-478, doi:10.1007/s00422-008-0233-1"
    )
    synapse = {
        "arrived": State("1", 0.0, doc="1 where an arrival waits for a spike of the target"),
        "spiked": State("1", 0.0, doc="1 where a spike of the target waits for an arrival"),
    }
    on_arrival = """
        weight = clip(weight - down * pow(weight / w_max, mu_minus) * spiked * y);
        arrived = 1;
        spiked = 0;
        send(weight);
    """
    on_spike = """
        weight = clip(weight + up * pow(1 - weight / w_max, mu_plus) * arrived * x);
        spiked = 1;
        arrived = 0;
    """
