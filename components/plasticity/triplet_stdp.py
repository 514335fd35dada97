"""Triplets of spikes."""

from typing import Any, Self

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Trace


class TripletSTDP(Plasticity):
    """Rule for pairs and triplets of spikes, all of them.

    At a spike of the target ``w += r1 (A2_plus + A3_plus o2)``, at an arrival
    ``w -= o1 (A2_minus + A3_minus r2)``, between 0 and w_max. The traces r1 and r2 of the source
    and o1 and o2 of the target jump by 1 at each spike. With ``tau_y`` of 100 ms, potentiation
    grows with the rate of the pairs, as in visual cortex, whose parameters are the defaults.

    ``TripletSTDP.hippocampal(...)`` has those of cultures of hippocampus.
    """

    reference = (
        "Pfister & Gerstner 2006, J Neurosci 26:9673-9682, doi:10.1523/JNEUROSCI.1425-06.2006"
    )
    params = {
        "tau_plus": Parameter("ms", default=16.8, above=0.0, doc="decay of r1"),
        "tau_x": Parameter("ms", default=101.0, above=0.0, doc="decay of r2"),
        "tau_minus": Parameter("ms", default=33.7, above=0.0, doc="decay of o1"),
        "tau_y": Parameter("ms", default=125.0, above=0.0, doc="decay of o2"),
        "A2_plus": Parameter("", default=5e-10, doc="potentiation by a pair"),
        "A3_plus": Parameter("", default=6.2e-3, doc="potentiation by a triplet"),
        "A2_minus": Parameter("", default=7e-3, doc="depression by a pair"),
        "A3_minus": Parameter("", default=2.3e-4, doc="depression by a triplet"),
        "w_max": Parameter("", default=1.0, above=0.0, doc="upper bound; the lower one is 0"),
    }
    pre = {
        "r1": Trace("tau_plus", doc="spikes of the source, fast"),
        "r2": Trace("tau_x", doc="spikes of the source, slow"),
    }
    post = {
        "o1": Trace("tau_minus", doc="spikes of the target, fast"),
        "o2": Trace("tau_y", doc="spikes of the target, slow"),
    }
    bounds = (0.0, "w_max")
    on_arrival = "weight = clip(weight - o1 * (A2_minus + A3_minus * r2)); send(weight);"
    on_spike = "weight = clip(weight + r1 * (A2_plus + A3_plus * o2));"

    @classmethod
    def hippocampal(cls, **values: Any) -> Self:
        """Return the rule with the paper's parameters for hippocampus, and ``values``."""
        found = {"A2_plus": 6.1e-3, "A3_plus": 6.7e-3, "A2_minus": 1.6e-3, "A3_minus": 1.4e-3,
                 "tau_x": 946.0, "tau_y": 27.0}  # fmt: skip
        return cls(**{**found, **values})
