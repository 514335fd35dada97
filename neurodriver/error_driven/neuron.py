"""The models of a layer: the spikes that arrive at its units, and the neurons.

A layer is two populations. `AxonArrivals` is computed first in each step. It sums the weights of
the spikes that arrive. `AxonNeuron` is computed later in the same step. It reads the sum of its own
unit, and the mean over the layer for inhibition.
"""

from __future__ import annotations

from typing import ClassVar

from neurodriver.model.component import NDComponent, State, Weighted
from neurodriver.model.fields import Field, Source
from neurodriver.model.pools import Reduce

from .inhibition import MEAN_FACTOR, AxonInhibition
from .neuron_text import (
    BINS,
    CONSTANTS,
    EXTERNAL_UNIT,
    FUNCTIONS,
    NEVER,
    NUMBERS,
    PARAMETERS,
    PARTS,
    POOL_PARAMETERS,
    POOLS,
    SOURCE,
    TRIAL,
    UNIT,
    UPDATE,
    VGCC,
)

ARRIVING = {"raw_e": "1", "raw_i": "1"}
"""What sums of arriving spikes are, with units."""

OF_POOLS = (
    "FSi", "SSi", "SSf", "SSGi", "PoolGi", "SubFSi", "SubSSi", "SubSSf",
)  # fmt: skip
"""States that are equal for all units of a layer or of a sub-pool."""

UPDATES = {"spike_state": "1", "Spike": "1", "GeExt": "1", "Vm": "mV", "Act": "1"}
"""What units show to others, with units."""


class AxonSpikes(NDComponent):
    """Sums of the weights of the spikes that arrive at a unit in a step.

    These units are computed together, whatever their layer.
    """

    reference = SOURCE
    accesses = (
        Weighted("spike_state", receptor="exc"),
        Weighted("spike_state", receptor="inh"),
        Weighted("spike_state", receptor="maint"),
    )
    updates: ClassVar[dict[str, str]] = {"sum_e": "1", "sum_i": "1", "sum_m": "1"}
    update = "sum_e = exc; sum_i = inh; sum_m = maint;"


class AnyArrivals(NDComponent):
    """What arrives at the units of a layer in a step, and its mean over the layer.

    In the first ``ignored`` cycles of the minus phase nothing arrives, so that spikes of the trial
    before have no effect.
    """

    abstract = True
    reference = SOURCE
    updates = ARRIVING
    pools = {"mean_e": Reduce("mean", "raw_e", multiple_of=UNIT, doc="excitation of the layer")}
    sources = {"spikes": Source("sum_e", "sum_i", model=AxonSpikes, by_number=True)}
    shared = TRIAL
    fields = {"ignored": Field("1", whole=True, default=0, doc="cycles without arrivals")}
    parts = {"more": ""}
    update = """
        const bool arrive = step < start || step - start >= ignored;
        raw_e = arrive ? spikes.sum_e[$unit] : 0;
        raw_i = arrive ? spikes.sum_i[$unit] : 0;
        $more
    """


class AxonArrivals(AnyArrivals):
    """Arriving spikes of a layer without sub-pools."""

    axes = ("unit",)
    parts = {"unit": "here.unit"}


class AnyAxonNeuron(NDComponent):
    """Unit of a layer: a neuron with a soma and a dendrite, and the pooled inhibition of its layer.

    The text computes a step of 1 ms. Conductances are in units of 100 nS (`g_unit`). States have
    the names that they have in Axon. Each step computes, as in Axon:

    1. the decay of activity and conductances, in the first step of the minus phase;
    2. the synaptic conductances, to which the arriving spikes are added;
    3. the fast and slow inhibition (FS-FFFB), from the mean excitation in this step, and from the
       mean of the spikes in the step before; or that of named layers, where it is stronger;
    4. the conductances of the channels, from the potentials of the step before;
    5. the potentials of soma and dendrite, by two half steps of explicit Euler;
    6. the spike, the rate and the traces of calcium; a bin is the mean of CaSyn over 10 cycles;
    7. at the end of a phase, the averages that learning reads, and at the end of a trial, the slow
       potassium conductance of the next one.

    Cycles count from the beginning of the minus phase. Those of an interval before it are negative.
    From the cycle ``clamped_from`` on, the external input ``Ext`` replaces the synaptic excitation.
    In an input layer this is cycle 0, in a target layer the first cycle of the plus phase. `NEVER`
    means that there is no external input.
    """

    abstract = True
    reference = SOURCE
    fixed_dt = 1e-3
    updates = UPDATES
    pools = {
        "firing": Reduce("mean", "Spike", multiple_of=1, doc="share of the units that spiked"),
        "external": Reduce(
            "mean", "GeExt", multiple_of=EXTERNAL_UNIT, doc="external input of the layer"
        ),
    }
    sources = {"others": Source("PoolGi", model=AxonInhibition, many=True)}
    shared = TRIAL
    fields = {
        "clamped_from": Field(
            "1", whole=True, default=NEVER, doc="first cycle with external input"
        ),
        "mean_factor": MEAN_FACTOR,
    }
    params = PARAMETERS
    constants = CONSTANTS
    numbers = NUMBERS
    parts = {"vgcc": VGCC, **PARTS}
    functions = FUNCTIONS
    states = {
        "Ext": State("1", 0.0, doc="external input, or the target"),
        "Spike": State("1", 0.0, doc="1 where it spiked in the last cycle"),
        "Vm": State("mV", -70.0, doc="potential of the soma"),
        "VmDend": State("mV", -70.0, doc="potential of the dendrite"),
        "ISI": State("ms", -1.0, doc="time since the last spike, -1 none"),
        "ISIAvg": State("ms", -1.0, doc="mean interval of spikes; -1 none, -2 one spike"),
        "Act": State("1", 0.0, doc="rate from the mean interval"),
        "GeSyn": State("1", 0.0, doc="AMPA conductance"),
        "GiSyn": State("1", "gi_base", doc="inhibitory conductance of paths"),
        "GeExt": State("1", 0.0, doc="conductance of external input"),
        "Ge": State("1", 0.0, doc="excitatory conductance"),
        "Gi": State("1", 0.0, doc="inhibitory conductance"),
        "Gk": State("1", 0.0, doc="potassium conductance"),
        "GnmdaSyn": State("1", 0.0, doc="NMDA activation"),
        "GnmdaLrn": State("1", 0.0, doc="NMDA activation that learning sees"),
        "NmdaCa": State("1", 0.0, doc="calcium through NMDA channels"),
        "VgccM": State("1", 0.0, doc="activation of calcium channels"),
        "VgccH": State("1", 0.0, doc="inactivation of calcium channels"),
        "VgccCaInt": State("1", 0.0, doc="calcium of spikes"),
        "MahpN": State("1", 0.0, doc="gate of the medium potassium current"),
        "GknaMed": State("1", 0.0, doc="sodium-gated conductance, medium"),
        "GknaSlow": State("1", 0.0, doc="sodium-gated conductance, slow"),
        "SahpCa": State("1", 0.0, doc="calcium of the slow potassium current"),
        "Gsahp": State("1", 0.0, doc="slow potassium conductance, constant within a trial"),
        "GababM": State("1", 0.0, doc="GABA-B activation"),
        "GababX": State("1", 0.0, doc="second variable of GABA-B"),
        "CaM": State("1", 0.0, doc="first trace of spikes"),
        "CaP": State("1", 0.0, doc="second trace of spikes: potentiation"),
        "CaD": State("1", 0.0, doc="third trace of spikes: depression"),
        "CaDBefore": State("1", 0.0, doc="CaD before the last cycle of the trial"),
        "ActM": State("1", 0.0, doc="ActInt at the end of the minus phase"),
        "ActP": State("1", 0.0, doc="ActInt at the end of the plus phase"),
        "ActBeforeM": State("1", 0.0, doc="Act before the last cycle of the minus phase"),
        "ActBeforeP": State("1", 0.0, doc="Act before the last cycle of the trial"),
        "CaDPrev": State("1", 0.0, doc="CaD at the end of the trial before"),
        "CaSyn": State("1", 0.0, doc="trace of spikes that synapses see"),
        "LearnCa": State("1", 0.0, doc="calcium that learning sees"),
        "LearnCaM": State("1", 0.0, doc="first trace of LearnCa"),
        "LearnCaP": State("1", 0.0, doc="second trace of LearnCa"),
        "LearnCaD": State("1", 0.0, doc="third trace of LearnCa"),
        "CaPMaxCa": State("1", 0.0, doc="trace of CaM from cycle 10 on"),
        "CaPMax": State("1", 0.0, doc="its maximum in the trial"),
        "GeInt": State("1", 0.0, doc="average of Ge"),
        "GiInt": State("1", 0.0, doc="average of GiSyn"),
        "ActInt": State("1", 0.0, doc="average of Act"),
        "BinSum": State("1", 0.0, doc="sum of CaSyn in the present bin"),
        "bins": State("1", 0.0, size=BINS, doc="means of CaSyn in the last bins"),
        "FSi": State("1", 0.0, doc="fast inhibition of the layer"),
        "SSi": State("1", 0.0, doc="slow inhibition of the layer"),
        "SSf": State("1", 0.0, doc="facilitation of slow inhibition"),
        "SSGi": State("1", 0.0, doc="slow inhibitory conductance of the layer"),
        "PoolGi": State("1", 0.0, doc="inhibitory conductance of the layer"),
    }
    update = UPDATE


class AxonNeuron(AnyAxonNeuron):
    """Unit of a layer without sub-pools."""

    axes = ("unit",)
    sources = {"arrivals": Source("raw_e", "raw_i", model=AxonArrivals)}
    parts = {"unit": "here.unit", "pools": ""}


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
    fields = {"pool_mean_factor": Field("1", axes="pool", doc="`mean_factor` of each sub-pool")}
    params = POOL_PARAMETERS
    parts = {"unit": "here.pool, here.unit", "pools": POOLS}
    states = {
        "SubFSi": State("1", 0.0, doc="fast inhibition of the sub-pool"),
        "SubSSi": State("1", 0.0, doc="slow inhibition of the sub-pool"),
        "SubSSf": State("1", 0.0, doc="facilitation of slow inhibition of the sub-pool"),
    }
