"""The models of deep layers, which predict the next input, and of the layers that they read.

The deep cells of the cortex (``ct``) get their context once in a trial. In the next trial they
excite a layer of the pulvinar, which predicts there what its driver will be. In the plus phase the
driver itself excites it.
"""

from __future__ import annotations

from neurodriver.model.component import State
from neurodriver.model.fields import Source
from neurodriver.model.pools import Reduce

from .deep_parameters import (
    ARRIVING_CONTEXT,
    BURST,
    BURST_PARAMETERS,
    CONTEXT,
    CONTEXT_PARAMETERS,
    CONTEXT_RATES,
    DRIVEN,
    EXTERNAL_CONTEXT,
    EXTERNAL_PULVINAR,
    PULVINAR_PARAMETERS,
    RESETS,
    UNDRIVEN_DENDRITE,
)
from .neuron import ARRIVING, UPDATES, AxonArrivals, AxonNeuron, AxonSpikes


class AxonBurstNeuron(AxonNeuron):
    """Unit of a layer that sends context, or drives a layer of the pulvinar.

    In the plus phase, CaP counts as a burst if it is above a threshold. In other layers than super
    layers, and in the minus phase, Burst is CaP itself.
    """

    updates = {**UPDATES, "cap": "1", "Burst": "1"}
    pools = {
        "cap_mean": Reduce("mean", "cap", doc="mean CaP of the layer"),
        "cap_max": Reduce("max", "cap", doc="greatest CaP of the layer"),
    }
    params = BURST_PARAMETERS
    parts = {"burst": BURST}
    states = {
        "Burst": State("1", 0.0, doc="CaP where it is a burst"),
        "BurstPrv": State("1", 0.0, doc="Burst at the end of the trial before"),
    }


class AxonContextArrivals(AxonArrivals):
    """Arriving spikes of a ct layer, with those of maintenance paths."""

    updates = {**ARRIVING, "raw_m": "1"}
    sources = {"spikes": Source("sum_e", "sum_i", "sum_m", model=AxonSpikes, by_number=True)}
    parts = {"more": "raw_m = arrive ? spikes.sum_m[$unit] : 0;"}


class AxonContextNeuron(AxonBurstNeuron):
    """Unit of a ct layer.

    Context arrives at the end of the last cycle of a trial, as ``CtxtRaw``. It excites the unit in
    the next trial, and decays. Maintenance paths excite it through slow NMDA channels.
    """

    sources = {"arrivals": Source("raw_e", "raw_i", "raw_m", model=AxonContextArrivals)}
    params = CONTEXT_PARAMETERS
    constants = CONTEXT_RATES
    parts = {"driven": CONTEXT, "external": EXTERNAL_CONTEXT, "burst": BURST + ARRIVING_CONTEXT}
    states = {
        "CtxtRaw": State("1", 0.0, doc="context that arrives at the end of the last cycle"),
        "Ctxt": State("1", 0.0, doc="context"),
        "GMaintSyn": State("1", 0.0, doc="NMDA activation of maintenance paths"),
    }


class AxonPulvinarNeuron(AxonBurstNeuron):
    """Unit of a pulvinar layer, with the unit of the same number in its driver.

    In the plus phase the burst of its driver excites it. If the driver is active, other excitation
    has no effect then. When the plus phase begins, its activity is that of a unit at rest.
    """

    sources = {"driver": Source("Burst", "cap_max", model=AxonBurstNeuron)}
    params = PULVINAR_PARAMETERS
    states = {"Driven": State("1", 1.0, doc="0 in units that are switched off")}
    parts = {
        "resets": RESETS,
        "driven": DRIVEN,
        "external": EXTERNAL_PULVINAR,
        "dendrite": UNDRIVEN_DENDRITE,
    }
