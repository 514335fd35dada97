"""Pairs of spikes beside a rate of the target that is kept."""

from neurodriver.model.component import Parameter, State

from .pair_stdp import PairSTDP


class HomeostaticSTDP(PairSTDP):
    """PairSTDP whose weights are scaled by the rate of their target.

    ``dw/dt = w (rate_0 - rate) / (rate_0 tau_scaling)``, at intervals. The rate of the target is
    the mean of its spikes over ``tau_rate``, and begins with rate_0. A target that fires too much
    loses a share of all its weights, and keeps their proportions. The weight stays between w_min
    and w_max.
    """

    reference = (
        "van Rossum, Bi & Turrigiano 2000, J Neurosci 20:8812-8821, "
        "doi:10.1523/JNEUROSCI.20-23-08812.2000; "
        "Song, Miller & Abbott 2000, Nat Neurosci 3:919-926, doi:10.1038/78829"
    )
    params = {
        "rate_0": Parameter("1", default=10.0, above=0.0, doc="rate that is kept, Hz"),
        "tau_rate": Parameter("ms", default=1e4, above=0.0, doc="time over which a rate is a mean"),
        "tau_scaling": Parameter("ms", default=1e5, above=0.0, doc="time of the scaling"),
        "interval": Parameter("ms", default=1e3, above=0.0, doc="between two scalings"),
    }
    constants = {"kept": "exp(-interval / tau_rate)", "gain": "interval / tau_scaling"}
    synapse = {
        "fired": State("1", 0.0, doc="spikes of the target since the last scaling"),
        "rate": State("1", "rate_0", doc="of the target, Hz"),
    }
    on_spike = PairSTDP.on_spike + " fired += 1;"
    every = {
        "interval": """
            rate = kept * rate + (1 - kept) * 1000 * fired / interval;
            weight = clip(weight * (1 + gain * (1 - rate / rate_0)));
            fired = 0;
        """
    }
