"""Pairs of spikes, additive, between hard bounds."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Trace


class PairSTDP(Plasticity):
    """Additive rule for all pairs of spikes, with hard bounds.

    At a spike of the target ``w += A_plus w_max x``, at an arrival
    ``w -= ratio A_plus w_max y``. The traces x of the source and y of the target jump by 1 at each
    spike, and decay with ``tau_plus`` and ``tau_minus``. A spike carries the weight after the
    change. With ``ratio > 1`` unrelated spikes depress, so inputs compete, and weights gather at
    both bounds.
    """

    reference = "Song, Miller & Abbott 2000, Nat Neurosci 3:919-926, doi:10.1038/78829"
    params = {
        "tau_plus": Parameter("ms", default=20.0, above=0.0, doc="decay of x"),
        "tau_minus": Parameter("ms", default=20.0, above=0.0, doc="decay of y"),
        "A_plus": Parameter("1", default=0.005, doc="potentiation by one pair, of w_max"),
        "ratio": Parameter("1", default=1.05, doc="depression over potentiation"),
        "w_min": Parameter("", default=0.0, doc="lower bound"),
        "w_max": Parameter("", default=1.0, doc="upper bound"),
    }
    constants = {"up": "A_plus * w_max", "down": "ratio * up"}
    pre = {"x": Trace("tau_plus", doc="spikes of the source")}
    post = {"y": Trace("tau_minus", doc="spikes of the target")}
    bounds = ("w_min", "w_max")
    on_arrival = "weight = clip(weight - down * y); send(weight);"
    on_spike = "weight = clip(weight + up * x);"
