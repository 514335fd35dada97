"""Every default of an error-driven network has a source, and the value that it has there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from neurodriver.error_driven import deep, neuron, striatum
from neurodriver.error_driven.neuron import AnyAxonNeuron
from neurodriver.error_driven.neuron_text import axon
from neurodriver.error_driven.settings import KIND_SOURCES, KINDS, RULES
from neurodriver.error_driven.synapse import AxonSynapse
from neurodriver.model.component import Parameter

MODELS = [
    deep.AxonNeuron, deep.AxonBurstNeuron, deep.AxonContextNeuron, deep.AxonPulvinarNeuron,
    neuron.AxonPoolNeuron, striatum.AxonMatrixNeuron, striatum.AxonMatrixPoolNeuron,
]  # fmt: skip

IN_AXON = {
    "Inhib.Layer.Gi": 1.0, "Inhib.Layer.FB": 1, "Inhib.Layer.SS": 30, "Inhib.Layer.FSTau": 6,
    "Inhib.Layer.SSfTau": 20, "Inhib.Layer.SSiTau": 50, "Inhib.Layer.FS0": 0.1,
    "Inhib.Layer.ClampExtMin": 0.05, "Inhib.Pool.Gi": 1.0, "Inhib.Pool.FB": 1,
    "Inhib.Pool.On": False, "Inhib.ActAvg.Nominal": 0.1, "Inhib.ActAvg.AdaptGi": False,
    "LayerGiMult": 1, "Acts.Init.GiBase": 0, "Acts.Dend.SSGi": 2, "Acts.Dend.GExp": 0.2,
    "(1 + Acts.Dend.GR) Acts.Gbar.L": (1 + 3) * 20, "Acts.Clamp.Ge of an input layer": 1.5,
    "Acts.Decay.Act": 0.2, "Acts.Decay.Glong": 0.6, "Acts.Decay.AHP": 0,
    "Acts.Decay.GBuffs": False, "Acts.Dt.GeTau": 5, "Acts.Dt.GiTau": 7, "Acts.Dt.IntTau": 40,
    "Acts.Dt.LongAvgTau": 20, "Acts.Dt.VmC": 281, "Acts.Dt.VmDendC": 500, "Acts.NMDA.Ge": 0.006,
    "Acts.NMDA.Tau": 100, "Acts.NMDA.MgC": 1.4, "Acts.MaintNMDA.Ge": 0.007,
    "Acts.MaintNMDA.Tau": 200, "Acts.MaintNMDA.MgC": 1.4, "Acts.VGCC.Ge": 0.02,
    "Acts.AK.Gk": 0.1, "Acts.Mahp.Gk": 0.05, "Acts.KNa.Med.Gk": 0.1, "Acts.KNa.Slow.Gk": 0.1,
    "Acts.Sahp.Gk": 0.05, "Acts.Sahp.Off": 0.8, "Acts.Sahp.Slope": 0.02, "Acts.Sahp.CaTau": 5,
    "Acts.GabaB.Gk": 0.015, "Acts.GabaB.Gbase": 0.2, "Acts.Gbar.E": 100, "Acts.Gbar.L": 20,
    "Acts.Erev.L": -70, "Acts.Erev.I": -90, "Acts.Erev.K": -90, "Acts.Spikes.VmR": -70,
    "Acts.Spikes.ExpSlope": 2, "Acts.Spikes.Thr": -50, "Acts.Spikes.ExpThr": -10,
    "Acts.Spikes.Tr": 3, "Acts.Spikes.RTau": 1.6667, "Acts.Spikes.MaxHz": 180,
    "Acts.Spikes.ISITau": 5, "Learn.LearnNMDA.Ge": 0.006, "Learn.LearnNMDA.Tau": 100,
    "Learn.LearnNMDA.MgC": 1.4, "Learn.CaLearn.SpikeVgccCa": 35, "Learn.CaLearn.VgccTau": 10,
    "Learn.CaLearn.Norm": 80, "Learn.CaLearn.Dt.MTau": 2, "Learn.CaLearn.Dt.PTau": 40,
    "Learn.CaLearn.Dt.DTau": 40, "Learn.CaSpike.SpikeCaM": 8, "Learn.CaSpike.SpikeCaSyn": 8,
    "Learn.CaSpike.Dt.MTau": 5, "Learn.CaSpike.Dt.PTau": 40, "Learn.CaSpike.Dt.DTau": 40,
    "Learn.CaSpike.CaSynTau": 30, "Learn.RLRate.On": True, "Learn.RLRate.SigmoidMin": 0.05,
    "Learn.TrgAvgAct.ErrLRate": 0.02, "Learn.TrgAvgAct.SubMean": 1, "Bursts.ThrRel": 0.1,
    "Bursts.ThrAbs": 0.1, "CT.GeGain": 1, "CT.DecayTau": 50, "Pulvinar.DriveScale": 0.1,
    "Pulvinar.FullDriveAct": 0.6, "PathScale.Rel": 1, "PathScale.Abs": 1, "Com.Delay": 2,
    "Learn.Learn": True, "Learn.Hebb.On": False, "Learn.LRate.Base": 0.04,
    "Learn.DWt.LearnThr": 0, "Learn.DWt.SynTraceTau": 1, "Learn.DWt.CaPScale": 1,
    "Learn.DWt.SubMean": 0, "SWts.Init.Mean": 0.5, "SWts.Init.Var": 0.25, "SWts.Init.SPct": 0.5,
    "SWts.Init.Sym": True, "SWts.Adapt.On": True, "SWts.Adapt.LRate": 0.1, "SWts.Limit.Min": 0.2,
    "SWts.Limit.Max": 0.8, "intdt *= 3 in PostSpike": 3, "VSMatrix.Credit": 0.6,
    "Learn.NeuroMod.DAMod is D2Mod": False, "Learn.NeuroMod.DAModGain": 0,
    "Learn.NeuroMod.BurstGain": 1, "Learn.NeuroMod.DipGain": 1, "Learn.NeuroMod.AChLRateMod": 0,
}  # fmt: skip
"""Values that the methods ``Defaults`` of Axon set, read at commit 774c01e1."""

OURS = {"clamps", "selects"}
"""Switches that choose between kinds of layers; in Axon the kind itself does."""


def defaults() -> Iterator[tuple[str, str, Parameter]]:
    """Yield where a parameter is declared, its name and the parameter."""
    for model in (*MODELS, AxonSynapse):
        yield from ((model.__name__, name, one) for name, one in model.params.items())
    for what, rules in RULES.items():
        yield from ((what, name, one) for name, one in rules.items())


def test_every_default_has_a_source() -> None:
    """Each parameter of a model, of layers and of paths; and what kinds change."""
    missing = [(where, name) for where, name, one in defaults() if not one.source]
    assert not missing
    assert {kind for kind, changed in KINDS.items() if changed} == set(KIND_SOURCES)
    assert len(RULES["layer"]) > 70 and len(RULES["path"]) > 15


@pytest.mark.parametrize("where", sorted({where for where, *_ in defaults()} - {"AxonSynapse"}))
def test_defaults_are_those_of_axon(where: str) -> None:
    """Where a source names several parameters of Axon, all have the same value."""
    begin = axon("")
    for declared, name, one in defaults():
        if declared == where and name not in OURS:
            assert one.source.startswith(begin)
            for known in one.source.removeprefix(begin).split(", "):
                assert IN_AXON[known] == one.default, (name, known)


def test_neurons_are_all_there() -> None:
    """A model of a neuron that is added is tested here, too."""

    def below(model: type) -> set[type]:
        return {model}.union(*(below(one) for one in model.__subclasses__()))

    ours = {one for one in below(AnyAxonNeuron) if one.__module__.startswith("neurodriver.")}
    assert ours - {AnyAxonNeuron} == set(MODELS)
