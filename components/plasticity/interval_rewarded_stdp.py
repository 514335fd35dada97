"""Pairs of spikes that a reward turns into changes, at intervals."""

from neurodriver.model.component import Parameter, State

from .rewarded_stdp import RewardedSTDP


class IntervalRewardedSTDP(RewardedSTDP):
    """RewardedSTDP as the author's own program has it: weights change at intervals.

    Every ``interval``, ``w += c (n - base)``, between w_min and w_max; then c decays by
    ``exp(-interval / tau_c)``. In between neither changes but by pairs.
    """

    reference = "Izhikevich 2007, Cereb Cortex 17:2443-2452, doi:10.1093/cercor/bhl152"
    params = {"interval": Parameter("ms", default=10.0, above=0.0, doc="between two changes")}
    constants = {"kept": "exp(-interval / tau_c)"}
    synapse = {"c": State("", 0.0, doc="eligibility")}
    between = ""
    every = {"interval": "weight = clip(weight + c * (dopamine - base)); c *= kept;"}
