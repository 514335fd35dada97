"""The parameters of `AxonNeuron` with their defaults, and the text of its step.

The defaults are those of Axon 2. The source of each is the name that it has there.
"""

from __future__ import annotations

from neurodriver.model.component import Parameter
from neurodriver.model.fields import Field

SOURCE = (
    "Axon 2, O'Reilly et al., https://github.com/emer/axon (no DOI); O'Reilly, Hazy & Herd 2016, "
    "doi:10.1093/oxfordhb/9780199842193.013.8"
)
"""Source of equations and defaults."""

TRIAL = {
    "start": Field("1", whole=True, default=0, doc="step at which the minus phase begins"),
    "minus": Field("1", whole=True, default=150, doc="cycles of the minus phase"),
    "plus": Field("1", whole=True, default=50, doc="cycles of the plus phase"),
}
"""Fields of a circuit that say when trials and phases begin. A cycle is a step of 1 ms."""

BINS = 20
"""Number of bins that a unit stores. A bin is the mean of CaSyn over ``BIN`` cycles."""

BIN = 10
"""Length of a bin in cycles of 1 ms."""


UNIT = 2.0**-24
"""What a spike adds is rounded down to a multiple of this. So sums are exact."""

EXTERNAL_UNIT = 2.0**-30
"""In the mean over a layer, external input counts as a multiple of this."""


def axon(name: str) -> str:
    """Return the source of a default: the name that the parameter has in Axon."""
    return f"emer/axon at 774c01e1: {name}"


def _tau(default: float, doc: str, name: str) -> Parameter:
    return Parameter("ms", default=default, above=0.0, doc=doc, source=axon(name))


def _g(default: float, doc: str, name: str) -> Parameter:
    return Parameter("1", default=default, at_least=0.0, doc=doc, source=axon(name))


def _share(default: float, doc: str, name: str) -> Parameter:
    return Parameter("1", default=default, at_least=0.0, at_most=1.0, doc=doc, source=axon(name))


PARAMETERS = {
    "gi": _g(1.0, "strength of pooled inhibition", "Inhib.Layer.Gi"),
    "fb": _g(1.0, "strength of feedback by spikes in fast inhibition", "Inhib.Layer.FB"),
    "fs_threshold": _g(0.1, "threshold of fast inhibition", "Inhib.Layer.FS0"),
    "tau_fs": _tau(6.0, "decay of fast inhibition", "Inhib.Layer.FSTau"),
    "tau_ss": _tau(50.0, "slow inhibition", "Inhib.Layer.SSiTau"),
    "tau_ssf": _tau(20.0, "decay of the facilitation of slow inhibition", "Inhib.Layer.SSfTau"),
    "ss": _g(30.0, "strength of slow inhibition", "Inhib.Layer.SS"),
    "clamped_least": _g(
        0.05, "mean external input above which it replaces fast inhibition",
        "Inhib.Layer.ClampExtMin",
    ),
    "clamps": _share(
        0.0, "1 if external input replaces fast inhibition",
        "pools of input and target layers: Clamped",
    ),
    "gi_mult": _g(1.0, "second factor of pooled inhibition, changed between trials", "LayerGiMult"),
    "gi_base": _g(0.0, "inhibitory conductance of paths at the start", "Acts.Init.GiBase"),
    "dendrite_ss": _g(2.0, "strength of slow inhibition of the dendrite", "Acts.Dend.SSGi"),
    "clamp": _g(1.5, "strength of external input", "Acts.Clamp.Ge of an input layer"),
    "decay_act": _share(0.2, "decay of activity between trials", "Acts.Decay.Act"),
    "decay_glong": _share(0.6, "decay of slow conductances between trials", "Acts.Decay.Glong"),
    "decay_ahp": _share(0.0, "decay of potassium conductances between trials", "Acts.Decay.AHP"),
    "clears": _share(
        0.0, "1 if a trial begins without the synaptic conductances of the last",
        "Acts.Decay.GBuffs",
    ),
    "tau_e": _tau(5.0, "AMPA", "Acts.Dt.GeTau"),
    "tau_i": _tau(7.0, "GABA-A", "Acts.Dt.GiTau"),
    "nmda": _g(0.006, "NMDA conductance", "Acts.NMDA.Ge"),
    "tau_nmda": _tau(100.0, "NMDA", "Acts.NMDA.Tau"),
    "mg": Parameter(
        "mM", default=1.4, at_least=0.0, doc="magnesium of NMDA",
        source=axon("Acts.NMDA.MgC"),
    ),
    "learn_nmda": _g(0.006, "NMDA conductance that learning sees", "Learn.LearnNMDA.Ge"),
    "tau_learn_nmda": _tau(100.0, "NMDA that learning sees", "Learn.LearnNMDA.Tau"),
    "learn_mg": Parameter(
        "mM", default=1.4, at_least=0.0, doc="magnesium that learning sees",
        source=axon("Learn.LearnNMDA.MgC"),
    ),
    "vgcc": _g(0.02, "conductance of voltage-gated calcium channels", "Acts.VGCC.Ge"),
    "vgcc_spike": _g(35.0, "calcium that a spike adds", "Learn.CaLearn.SpikeVgccCa"),
    "tau_vgcc": _tau(10.0, "decay of the calcium of spikes", "Learn.CaLearn.VgccTau"),
    "ak": _g(0.1, "conductance of A-type potassium channels", "Acts.AK.Gk"),
    "mahp": _g(0.05, "conductance of medium afterhyperpolarisation", "Acts.Mahp.Gk"),
    "kna": _g(
        0.1, "largest value of each sodium-gated potassium conductance",
        "Acts.KNa.Med.Gk, Acts.KNa.Slow.Gk",
    ),
    "sahp": _g(0.05, "conductance of slow afterhyperpolarisation", "Acts.Sahp.Gk"),
    "sahp_half": _g(
        0.8, "calcium at half activation of slow afterhyperpolarisation",
        "Acts.Sahp.Off",
    ),
    "sahp_slope": Parameter(
        "1", default=0.02, above=0.0, doc="slope of this activation",
        source=axon("Acts.Sahp.Slope"),
    ),
    "tau_sahp": Parameter(
        "1", default=5.0, above=0.0, doc="average of its calcium, in trials",
        source=axon("Acts.Sahp.CaTau"),
    ),
    "gabab": _g(0.015, "GABA-B", "Acts.GabaB.Gk"),
    "gabab_base": _g(0.2, "GABA-B without activity", "Acts.GabaB.Gbase"),
    "capacitance": Parameter(
        "pF", default=281.0, above=0.0, doc="of the soma",
        source=axon("Acts.Dt.VmC"),
    ),
    "dendrite_capacitance": Parameter(
        "pF", default=500.0, above=0.0, doc="of the dendrite",
        source=axon("Acts.Dt.VmDendC"),
    ),
    "g_unit": Parameter(
        "nS", default=100.0, above=0.0, doc="unit of conductances",
        source=axon("Acts.Gbar.E"),
    ),
    "g_leak": Parameter("nS", default=20.0, at_least=0.0, doc="leak", source=axon("Acts.Gbar.L")),
    "g_refractory": Parameter(
        "nS", default=80.0, at_least=0.0, doc="leak of refractory dendrites",
        source=axon("(1 + Acts.Dend.GR) Acts.Gbar.L"),
    ),
    "e_leak": Parameter(
        "mV", default=-70.0, doc="reversal of the leak, and reset",
        source=axon("Acts.Erev.L, Acts.Spikes.VmR"),
    ),
    "e_inh": Parameter(
        "mV", default=-90.0, doc="reversal of inhibition and potassium",
        source=axon("Acts.Erev.I, Acts.Erev.K"),
    ),
    "exp_slope": Parameter(
        "mV", default=2.0, above=0.0, doc="slope of the exponential current",
        source=axon("Acts.Spikes.ExpSlope"),
    ),
    "exp_at": Parameter(
        "mV", default=-50.0, doc="threshold of the exponential current",
        source=axon("Acts.Spikes.Thr"),
    ),
    "exp_dend": _share(0.2, "share of the exponential current in the dendrite", "Acts.Dend.GExp"),
    "threshold": Parameter(
        "mV", default=-10.0, doc="potential at which a spike is fired",
        source=axon("Acts.Spikes.ExpThr"),
    ),
    "refractory": Parameter(
        "ms", default=3.0, at_least=0.0, doc="refractory period",
        source=axon("Acts.Spikes.Tr"),
    ),
    "tau_reset": _tau(1.6667, "return to rest after a spike", "Acts.Spikes.RTau"),
    "max_hz": Parameter(
        "Hz", default=180.0, above=0.0, doc="rate at which Act is 1",
        source=axon("Acts.Spikes.MaxHz"),
    ),
    "tau_isi": Parameter(
        "1", default=5.0, above=0.0, doc="average of intervals, in spikes",
        source=axon("Acts.Spikes.ISITau"),
    ),
    "spike_ca": _g(
        8.0, "calcium of a spike in traces",
        "Learn.CaSpike.SpikeCaM, Learn.CaSpike.SpikeCaSyn",
    ),
    "tau_m": _tau(5.0, "CaM", "Learn.CaSpike.Dt.MTau"),
    "tau_p": _tau(40.0, "CaP", "Learn.CaSpike.Dt.PTau, Learn.CaLearn.Dt.PTau"),
    "tau_d": _tau(40.0, "CaD", "Learn.CaSpike.Dt.DTau, Learn.CaLearn.Dt.DTau"),
    "tau_syn": _tau(30.0, "CaSyn", "Learn.CaSpike.CaSynTau"),
    "learn_norm": Parameter(
        "1", default=80.0, above=0.0, doc="calcium that counts as 1",
        source=axon("Learn.CaLearn.Norm"),
    ),
    "tau_learn_m": _tau(2.0, "LearnCaM", "Learn.CaLearn.Dt.MTau"),
    "tau_int": _tau(40.0, "averages of Ge, Gi and Act", "Acts.Dt.IntTau"),
    "plus_int": _g(3.0, "how much faster ActInt is in the plus phase", "intdt *= 3 in PostSpike"),
}  # fmt: skip

NEVER = 2**31 - 1
"""Value of ``clamped_from`` in layers without external input: no trial has so many cycles."""

POOL_PARAMETERS = {
    "pool_gi": _g(1.0, "strength of the inhibition of sub-pools", "Inhib.Pool.Gi"),
    "pool_fb": _g(1.0, "feedback of spikes in the fast inhibition of sub-pools", "Inhib.Pool.FB"),
}
"""Parameters of a unit in a sub-pool that has inhibition of its own."""

_RATES = {
    "fs": "tau_fs", "ss": "tau_ss", "ssf": "tau_ssf", "e": "tau_e", "i": "tau_i",
    "nmda": "tau_nmda", "learn_nmda": "tau_learn_nmda", "vgcc": "tau_vgcc",
    "m": "tau_m", "p": "tau_p", "d": "tau_d",
    "syn": "tau_syn", "learn_m": "tau_learn_m", "int": "tau_int", "reset": "tau_reset",
    "isi": "tau_isi", "norm": "learn_norm", "slope": "exp_slope",
}  # fmt: skip

CONSTANTS = {
    **{f"per_{name}": f"1 / {of}" for name, of in _RATES.items()},
    "replacing": "clamps > 0 ? clamped_least : 1e30",
    "per_c": "1 / capacitance",
    "half_c": "0.5 / capacitance",
    "half_dend": "0.5 / dendrite_capacitance",
    "per_act": "g_unit / capacitance",
    "max_rate": "max_hz / 1000",
    "most": "100 * capacitance",
    "per_sahp": "1 / tau_sahp",
    "per_sahp_slope": "1 / sahp_slope",
    "mg_share": "mg / 3.57",
    "learn_mg_share": "learn_mg / 3.57",
    "mahp_q": "pow(2.3, 1.4)",
    "gabab_peak": "pow(50 / 45, 9)",
}
"""Numbers that are computed from the parameters once, such as rates from time constants."""

FUNCTIONS = """
    real sigmoid(real x) { return 1 / (1 + exp(-x)); }
    real clip(real x, real most) { return x > most ? most : x < -most ? -most : x; }
    real vm_clip(real v) { return fmin(fmax(v, -100), 0); }
    real current(real v, real ge, real leak, real rest, real gi, real low) {
        return -ge * v + leak * (rest - v) + gi * (low - v);
    }
    real interval(real a, real i, real per) {
        return a <= 0 || i < 0.8 * a ? i : a + (i - a) * per;
    }
    real nmda_open(real d, real share) {
        return d >= 0 ? 0 : -d / (1 + share * exp(-0.062 * d));
    }
    real ca_drive(real d) {
        const bool small = fabs(d) < 0.5;
        real above = small ? 1 : -d, below = 0.0756 * (1 + 0.0378 * d);
        return above / (small ? below : 1 - exp(0.0756 * d));
    }
"""

_BEGIN = """
    const real k = step - start, from = clamped_from, turn = minus;
    const real begins = fmax(1 - fabs(k), 0), ends = fmax(1 - fabs(k - (minus + plus - 1)), 0);
    const real turns = fmin(k, 1) * fmax(1 - fabs(k - from), 0);
    const real given = fmin(fmax(k - from + 1, 0), 1), ends_minus = fmax(1 - fabs(k - turn + 1), 0);
    const real in_plus = fmin(fmax(k - turn + 1, 0), 1), settled = fmin(fmax(k - BIN + 1, 0), 1);
    const real full = fmax((step - start) % BIN - BIN + 2, 0);
    const real pace = per_int * (1 + (plus_int - 1) * in_plus);

    $resets
    const real stays = 1 - begins * decay_act, act = stays * goes_on;
    const real glong = (1 - begins * decay_glong) * goes_on;
    const real ahp = 1 - begins * decay_ahp, cleared = 1 - begins * clears;
    const real heard = (1 - begins * ceil(decay_act)) * goes_on;
    const real decays = begins + 1 - goes_on, anew = decays + turns;
    const real spiked = heard * Spike, firing = heard * mean_factor * here.firing;
    const real external = (1 - begins) * goes_on * mean_factor * here.external;
    real v = Vm, d = VmDend;
    if (begins > 0) {
        CaDPrev = CaD;
        CaPMax = 0; CaPMaxCa = 0; BinSum = 0;
        FSi *= stays; SSi *= stays; SSf *= stays;
        MahpN *= ahp; SahpCa *= ahp; Gsahp *= ahp; GknaMed *= ahp; GknaSlow *= ahp;
        GeSyn *= cleared;
        GiSyn = cleared * GiSyn + (1 - cleared) * gi_base;
    }
    if (decays > 0) {
        Act *= act; GeInt *= act; GiInt *= act;
        GababM *= glong; GababX *= glong; GnmdaSyn *= glong; VgccM *= glong; VgccH *= glong;
        v += (1 - act) * (e_leak - v); d += (1 - glong) * (e_leak - d);
    }
    if (anew > 0) { ISIAvg = -1; ActInt = 0; }
    if (turns > 0) ISI = -1;
"""

INHIBITION = """
    FSi += mean_factor * arrivals.mean_e + fb * firing - per_fs * FSi;
    const real fast = external > replacing ? external : fmax(FSi - fs_threshold, 0) + external;
    SSi += per_ss * (SSf * firing - SSi);
    SSf += firing * (1 - SSf) - per_ssf * SSf;
    SSGi = gi * ss * SSi;
    PoolGi = gi * fast + SSGi;
"""
"""Fast and slow inhibition of a layer, from the means of what arrives, of spikes and of input."""

_STRONGEST = """
    for (one : others) PoolGi = fmax(PoolGi, one.PoolGi[0]);
    $pools
"""
"""The inhibition of other layers that this layer names, if it is stronger."""

POOLS = """
    if (begins > 0) { SubFSi *= stays; SubSSi *= stays; SubSSf *= stays; }
    const real counted = pool_mean_factor[here.pool];
    const real close = heard * counted * here.pool_firing;
    const real entering = (1 - begins) * counted * here.pool_external;
    SubFSi += counted * arrivals.pool_e[here.pool] + pool_fb * close - per_fs * SubFSi;
    const real quick = entering > replacing ? entering : fmax(SubFSi - fs_threshold, 0) + entering;
    SubSSi += per_ss * (SubSSf * close - SubSSi);
    SubSSf += close * (1 - SubSSf) - per_ssf * SubSSf;
    SSGi = pool_gi * ss * SubSSi;
    PoolGi = fmax(PoolGi, pool_gi * quick + SSGi);
"""
"""Inhibition of a sub-pool, with the equations of `INHIBITION`; the stronger one is used."""

_CONDUCTANCES = """
    const real arriving = arrivals.raw_e[$unit], raw_i = arrivals.raw_i[$unit];
    GeSyn += arriving - per_e * GeSyn;
    GiSyn += raw_i - per_i * GiSyn;
    $driven
    GnmdaSyn += raw_e - per_nmda * GnmdaSyn;
    GnmdaLrn += raw_e - per_learn_nmda * GnmdaLrn;
    const real entry = ca_drive(d);
    NmdaCa = learn_nmda * GnmdaLrn * nmda_open(d, learn_mg_share) * entry;
    real excitation = ampa + nmda * GnmdaSyn * nmda_open(d, mg_share);
    $vgcc
    $external
    Gi = gi_mult * PoolGi + GiSyn;

    const real ga = 0.076 * ak * sigmoid(0.075 * (fmin(d, -37) + 2));
    const real z = per_mahp * (v + 30), ez = exp(z);
    const real both = fabs(z) < 1e-4 ? 2 : z * (ez + 1) / (fabs(z) < 1e-4 ? 1 : ez - 1);
    MahpN += (ez / (1 + ez) - MahpN) * 0.009 * both * mahp_q;
    GknaMed += spiked > 0 ? 0.02 * (kna - GknaMed) : -0.005 * GknaMed;
    GknaSlow += spiked > 0 ? 0.001 * (kna - GknaSlow) : -0.001 * GknaSlow;
    const real change = per_gabab * (gabab_peak * GababX - GababM);
    const real bound = 10 * Gi > 20 ? 1 : sigmoid(per_gabab_slope * (10 * Gi - 7.1));
    GababX += bound - 0.02 * GababX;
    GababM += change;
    const real u = fmax(d, -90) + 90;
    const real gb = gabab * (GababM + gabab_base) * u * sigmoid(-0.1 * (u + 10));
    Gk = mahp_q * mahp * MahpN + Gsahp + ga + GknaMed + GknaSlow + gb;
    $modulated
"""

PARTS = {
    "resets": "const real goes_on = 1;",
    "driven": "const real raw_e = arriving, ampa = GeSyn;",
    "external": "GeExt = given * clamp * Ext; Ge = GeExt + (1 - given) * fmax(excitation, 0);",
    "dendrite": "dendrite_ss",
    "burst": "",
    "modulated": "",
}
"""Parts of the text that deep layers and layers of the striatum replace."""

VGCC = """
    excitation += vgcc * entry * VgccM * VgccM * VgccM * VgccH;
    const real m1 = d < -60 ? 0 : d > -10 ? 1 : sigmoid(d + 37);
    const real h1 = d < -50 ? 1 : d > -10 ? 0 : sigmoid(-2 * (d + 41));
    VgccM += per_vgcc_m * (m1 - VgccM);
    VgccH += per_vgcc_h * (h1 - VgccH);
"""
"""Voltage-gated calcium channels, a part of the text that a model can leave out."""

_POTENTIALS = """
    const bool quiet = ISI >= 0 && ISI < refractory;
    const real push = g_unit * Ge, pull = g_unit * (Gi + Gk);
    real soma = vm_clip(v + half_c * clip(current(v, push, g_leak, e_leak, pull, e_inh), most));
    soma = vm_clip(soma + half_c * clip(current(soma, push, g_leak, e_leak, pull, e_inh), most));
    const real upstroke = clip(40 * exp((0.5 * (soma + v) - exp_at) * per_slope), most);
    const real resting = ISI == refractory - 1 ? e_leak : v + (e_leak - v) * per_reset;
    Vm = vm_clip(quiet ? resting : soma + upstroke * per_c);
    const real slow = g_unit * (Gi + $dendrite * SSGi + Gk), leak = quiet ? g_refractory : g_leak;
    real dend = vm_clip(d + half_dend * clip(current(d, push, leak, e_leak, slow, e_inh), most));
    dend = vm_clip(dend + half_dend * clip(current(dend, push, leak, e_leak, slow, e_inh), most));
    VmDend = quiet ? dend : vm_clip(dend + exp_dend * upstroke * 2 * half_dend);
"""

_SPIKE = """
    if (ends_minus > 0) ActBeforeM = Act;
    if (ends > 0) { ActBeforeP = Act; CaDBefore = CaD; }
    Spike = Vm >= threshold ? 1 : 0;
    spike_state = Spike;
    const real longer = ISI >= 0 ? ISI + 1 : ISI, isi = longer > 200 ? -1 : longer;
    const real closed = ISI > 0 ? interval(ISIAvg, ISI + 1, per_isi) : ISIAvg;
    const real first = ISIAvg == -1 ? -2 : closed;
    const bool overdue = ISIAvg >= 0 && isi > 0 && isi > 1.2 * ISIAvg;
    const real open = overdue ? interval(ISIAvg, isi, per_isi) : ISIAvg;
    ISIAvg = Spike > 0 ? first : open;
    ISI = Spike > 0 ? 0 : isi;
    const real rate = ISIAvg <= 0 ? 0 : fmin(1 / (max_rate * fmax(ISIAvg, 1)), 1);
    Act += per_act * (rate - Act);
"""

_SHIFTED = " ".join(f"bins[{i}] = bins[{i + 1}];" for i in range(BINS - 1))
"""At the end of a bin, each bin takes the value of the next one, and the last one the new mean."""

_CALCIUM = f"""
    const real ca = spike_ca * Spike;
    CaM += per_m * (ca - CaM);
    CaP += per_p * (CaM - CaP);
    CaD += per_d * (CaP - CaD);
    CaSyn += per_syn * (ca - CaSyn);
    VgccCaInt += vgcc_spike * Spike - per_vgcc * VgccCaInt;
    LearnCa = per_norm * (NmdaCa + VgccCaInt);
    LearnCaM += per_learn_m * (LearnCa - LearnCaM);
    LearnCaP += per_p * (LearnCaM - LearnCaP);
    LearnCaD += per_d * (LearnCaP - LearnCaD);
    GeInt += per_int * (Ge - GeInt);
    GiInt += per_int * (GiSyn - GiInt);
    ActInt += pace * (Act - ActInt);
    CaPMaxCa += settled * per_p * (CaM - CaPMaxCa);
    CaPMax = fmax(CaPMax, CaPMaxCa);
    BinSum += CaSyn;
    if (full > 0) {{ {_SHIFTED} bins[{BINS - 1}] = per_bin * BinSum; BinSum = 0; }}
    $burst
"""

_END = """
    if (ends_minus > 0) ActM = ActInt;
    if (ends > 0) {
        ActP = ActInt;
        Gsahp = sahp * sigmoid((SahpCa - sahp_half) * per_sahp_slope);
        SahpCa += per_sahp * (CaD - SahpCa);
    }
"""

UPDATE = "".join(
    (_BEGIN, INHIBITION, _STRONGEST, _CONDUCTANCES, _POTENTIALS, _SPIKE, _CALCIUM, _END)
)
"""The text of a step, in the order of the docstring of `AnyAxonNeuron`."""

NUMBERS = {
    "BIN": BIN,
    "per_bin": 1 / BIN,
    "per_mahp": 1 / 9,
    "per_gabab": 1 / 45,
    "per_gabab_slope": 1 / 1.4,
    "per_vgcc_m": 1 / 3.6,
    "per_vgcc_h": 1 / 29,
}
"""Constants of the text; ``per_x`` is 1 / x."""
