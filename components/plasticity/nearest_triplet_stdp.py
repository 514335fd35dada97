"""Triplets of nearest spikes."""

from neurodriver.model.component import Parameter
from neurodriver.model.traces import Trace

from .triplet_stdp import TripletSTDP


class NearestTripletSTDP(TripletSTDP):
    """Rule for pairs and triplets of nearest spikes.

    Each spike sets the traces to 1 instead of adding 1. The changes are those of `TripletSTDP`, and
    the defaults the paper's for visual cortex with nearest spikes.
    """

    reference = (
        "Pfister & Gerstner 2006, J Neurosci 26:9673-9682, doi:10.1523/JNEUROSCI.1425-06.2006"
    )
    params = {
        "tau_x": Parameter("ms", default=714.0, above=0.0, doc="decay of r2"),
        "tau_y": Parameter("ms", default=40.0, above=0.0, doc="decay of o2"),
        "A2_plus": Parameter("", default=8.8e-11, doc="potentiation by a pair"),
        "A3_plus": Parameter("", default=5.3e-2, doc="potentiation by a triplet"),
        "A2_minus": Parameter("", default=6.6e-3, doc="depression by a pair"),
        "A3_minus": Parameter("", default=3.1e-3, doc="depression by a triplet"),
    }
    pre = {
        "r1": Trace("tau_plus", nearest=True, doc="last spike of the source, fast"),
        "r2": Trace("tau_x", nearest=True, doc="last spike of the source, slow"),
    }
    post = {
        "o1": Trace("tau_minus", nearest=True, doc="last spike of the target, fast"),
        "o2": Trace("tau_y", nearest=True, doc="last spike of the target, slow"),
    }
