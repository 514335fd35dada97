"""The models of a layer whose sub-pools have inhibition of their own."""

from __future__ import annotations

from neurodriver.model.component import State
from neurodriver.model.fields import Source
from neurodriver.model.pools import Reduce

from .neuron import AnyArrivals, AnyAxonNeuron
from .neuron_text import EXTERNAL_UNIT, POOL_PARAMETERS, POOLS, UNIT


class AxonPoolArrivals(AnyArrivals):
    """Arriving spikes of a layer with sub-pools."""

    axes = ("pool", "unit")
    parts = {"unit": "here.pool * size(here.unit) + here.unit"}
    pools = {
        "pool_e": Reduce(
            "mean", "raw_e", over="unit", multiple_of=UNIT, doc="excitation of the sub-pool"
        )
    }


class AxonPoolNeuron(AnyAxonNeuron):
    """Unit of a layer with sub-pools.

    The inhibition of a sub-pool has the equations of that of a layer, with the parameters
    ``pool_gi`` and ``pool_fb``. A unit gets the stronger one of both. The slow inhibition of its
    dendrite is that of the sub-pool.
    """

    axes = ("pool", "unit")
    pools = {
        "pool_firing": Reduce("mean", "Spike", over="unit", multiple_of=1, doc="share that spiked"),
        "pool_external": Reduce(
            "mean", "GeExt", over="unit", multiple_of=EXTERNAL_UNIT, doc="external input"
        ),
    }
    sources = {"arrivals": Source("raw_e", "raw_i", model=AxonPoolArrivals)}
    params = POOL_PARAMETERS
    parts = {"unit": "here.pool, here.unit", "pools": POOLS}
    states = {
        "SubFSi": State("1", 0.0, doc="fast inhibition of the sub-pool"),
        "SubSSi": State("1", 0.0, doc="slow inhibition of the sub-pool"),
        "SubSSf": State("1", 0.0, doc="facilitation of slow inhibition of the sub-pool"),
    }
