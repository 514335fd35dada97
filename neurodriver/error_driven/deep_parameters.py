"""The parameters of deep layers, and the parts of the text of a unit that they replace.

The defaults are those of Axon 2. The source of each is the name that it has there.
"""

from __future__ import annotations

from neurodriver.model.component import Parameter

from .neuron_text import axon

TRIAL = 200
"""Cycles of a trial for which ``tau_ctxt`` is given; in other trials it is in proportion."""


def _g(default: float, doc: str, name: str) -> Parameter:
    return Parameter("1", default=default, at_least=0.0, doc=doc, source=axon(name))


BURST_PARAMETERS = {
    "selects": Parameter(
        "1", default=0.0, at_least=0.0, at_most=1.0,
        doc="1 if in the plus phase only CaP above a threshold counts as a burst",
        source=axon("PostSpikeSpecial of a layer that is not a SuperLayer"),
    ),
    "burst_share": _g(
        0.1, "threshold of bursts, from the mean CaP (0) to the greatest (1)", "Bursts.ThrRel"
    ),
    "burst_least": _g(0.1, "least threshold of bursts", "Bursts.ThrAbs"),
}  # fmt: skip

CONTEXT_PARAMETERS = {
    "ctxt_gain": _g(1.0, "strength of context", "CT.GeGain"),
    "tau_ctxt": Parameter(
        "ms", default=50.0, at_least=0.0,
        doc=f"decay of context, for trials of {TRIAL} cycles; 0: new context replaces it",
        source=axon("CT.DecayTau"),
    ),
    "maint": _g(0.007, "NMDA conductance of maintenance paths", "Acts.MaintNMDA.Ge"),
    "tau_maint": Parameter(
        "ms", default=200.0, above=0.0, doc="NMDA of maintenance paths",
        source=axon("Acts.MaintNMDA.Tau"),
    ),
    "maint_mg": Parameter(
        "mM", default=1.4, at_least=0.0, doc="magnesium of these channels",
        source=axon("Acts.MaintNMDA.MgC"),
    ),
}  # fmt: skip

PULVINAR_PARAMETERS = {
    "drive": _g(0.1, "excitation by a burst of the driver", "Pulvinar.DriveScale"),
    "full_drive": Parameter(
        "1", default=0.6, above=0.0,
        doc="greatest CaP of the driver from which on nothing else excites the layer",
        source=axon("Pulvinar.FullDriveAct"),
    ),
}  # fmt: skip

CONTEXT_RATES = {
    "per_maint": "1 / tau_maint",
    "maint_mg_share": "maint_mg / 3.57",
    "kept_ctxt": "tau_ctxt > 0 ? 1 : 0",
    "per_ctxt": f"tau_ctxt > 0 ? {TRIAL} / tau_ctxt : 0",
}

BURST = """
    const real mean = mean_factor * here.cap_mean;
    const real least = mean + burst_share * (here.cap_max - mean);
    if (begins > 0) BurstPrv = Burst;
    Burst = selects * in_plus > 0 && CaP < fmax(least, burst_least) ? 0 : CaP;
    cap = CaP;
"""

CONTEXT = """
    if (decays > 0) GMaintSyn *= glong;
    GMaintSyn += arrivals.raw_m[$unit] - per_maint * GMaintSyn;
    const real context = ctxt_gain * Ctxt;
    Ctxt -= per_ctxt / (minus + plus) * Ctxt;
    const real raw_e = arriving + context, ampa = GeSyn + tau_e * context;
"""

ARRIVING_CONTEXT = """
    if (ends > 0) Ctxt = kept_ctxt * Ctxt + CtxtRaw;
"""
"""Context arrives after the spike of the last cycle, so it excites from the next trial on."""

EXTERNAL_CONTEXT = """
    excitation += maint * GMaintSyn * nmda_open(d, maint_mg_share);
    GeExt = tau_e * context;
    Ge = fmax(excitation, 0);
"""

RESETS = "const real goes_on = 1 - fmax(1 - fabs(k - turn), 0);"
"""In the first cycle of the plus phase, activity begins anew."""

DRIVEN = """
    const real undriven = 1 - in_plus * fmin(driver.cap_max / full_drive, 1);
    const real burst = in_plus * drive * Driven * driver.Burst[here.unit];
    const real raw_e = undriven * arriving + burst, ampa = undriven * GeSyn + tau_e * burst;
"""

EXTERNAL_PULVINAR = """
    GeExt = in_plus * ampa;
    Ge = fmax(excitation, 0);
"""

UNDRIVEN_DENDRITE = "in_plus * undriven * dendrite_ss"
