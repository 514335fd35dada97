"""The texts by which weights and averages change: one for each rule, and those that apply changes.

``linear`` is the linear weight, ``structural`` the structural weight, ``slow`` the sum of changes
since structural weights changed last. A spike carries ``weight`` times ``scale``. Each rule adds
the change that follows from one item. ``bin_weights`` are the weights of the bins in the sum of
products of both ends.

``on`` is 0 where an end of a synapse is switched off, else 1. Only paths and layers with such units
have it, and texts of their own: those whose names end with `LESIONED`.

``activity`` and ``target`` are long-term averages of a unit: ActAvg and TrgAvg. Each is a set of
synapses from the units to themselves, so it has texts, too, and sums over items and ranks.
"""

from __future__ import annotations

from neurodriver.model.synapse_texts import SynapseText, SynapseTexts

from .contrast import GAIN
from .neuron_text import BINS
from .striatum import LEVELS, RELEASED, STRIATAL
from .synapse import CARRIED

LEAST_CAD = 0.1
"""In hidden layers the weights into a unit change only if its CaD is above this value."""

LESIONED = ", lesioned"
"""End of the name of a text that leaves out synapses at whose ends a unit is switched off."""

_PRODUCT = f"""
    real product = 0;
    unroll({BINS}) for (int b = 0; b < {BINS}; ++b)
        product += bin_weights[b] * post.bins[b] * pre.bins[b];
"""

_BOUNDED = """
    add(change * (change > 0 ? 1 - linear : linear));
"""
"""Changes become smaller, the nearer the linear weight is to a bound."""

_AVERAGED = """
    trace += (product - trace) / tau_trace;
"""

_STEEP = """
    const real y = post.greatest > 0 ? fmin(post.CaD / post.greatest, 1) : 1;
    const real steep = post.greatest > 0 ? fmax(4 * y * (1 - y), rate_least) : 1;
"""
"""It is small if CaD is near 0 or near ``greatest``.

This is the greatest CaD of the layer before the last cycle. If it is 0, the factor is 1.
"""

_RATE = f"""
    {_STEEP}
    const real settled = fmax(post.CaP, post.CaD), apart = fabs(post.CaP - post.CaD);
    const real dif = settled <= 0.1 || apart < 0.02 ? 0.001 : apart / settled;
    const real rate = rated > 0 ? steep * dif : 1;
"""
"""Learning rate factor of the receiver. It is also small if CaP and CaD are alike."""

_CORTEX = """
    const real delta = (post.LearnCaP - post.LearnCaD) * rate;
    const real change = lrate * (product > synapse_threshold ? {} * delta : 0);
"""

_CONTEXT = """
    const real change = lrate * ({} * (post.LearnCaP - post.LearnCaD));
"""

_TARGET = """
    const real change = lrate * (rate * product);
"""

_HEBB = """
    const real up = 0.5 * pre.LearnCaP * (1 - linear), down = (1 - pre.LearnCaP) * linear;
    add({}lrate * (post.LearnCaP * (up - down)));
"""

_CONTRAST = """
    {
        real up = linear * linear, down = (1 - linear) * (1 - linear);
        up = up * up * up;
        down = down * down * down;
        weight = structural * (2 * up / (up + down));
    }
"""
"""See `contrast`."""

_APPLY = f"""
    slow += change;
    linear = fmin(fmax(linear + change, 0), 1);
    {_CONTRAST}
    changed = 0;
    send({CARRIED});
"""

_CENTRED = """
    total = sum(changed);
    moved = sum(changed != 0 ? 1 : 0);
    const real change = moved > 1 ? changed - sub_mean * (total / moved) : changed;
"""
"""The share ``sub_mean`` of the mean of the receiver's nonzero changes is subtracted from each."""


def _adapt(on: str = "", also: str = "", count: str = "inputs", counted: str = "") -> str:
    """Return the text of the slow change of structural weights.

    Parameters
    ----------
    on, also : str
        Factor and condition that leave synapses out.
    count, counted : str
        Number of the other synapses of a target, and the sum that finds it.
    """
    return f"""
    shift = sum({on}slow * (slow >= 0 ? swt_most - structural : structural - swt_least));
    total = sum({on}weight);{counted}
    if (adapts > 0{also}) {{
        const real room = slow >= 0 ? swt_most - structural : structural - swt_least;
        structural += swt_rate * (slow * room - shift / {count});
        slow = 0;
        const real share = fmin(fmax(weight / structural / 2, 0), 1);
        linear = 1 / (1 + pow((1 - share) / share, 1 / {GAIN}.0));
        linear -= linear * fmin(fmax(0.0008 * (total / {count} - 0.5), 0), 0.0008);
        {_CONTRAST}
    }}
    if (balances > 0{also}) {{
        const real pull = -0.005 * post.difference;
        linear += pull * structural * (pull >= 0 ? 1 - linear : linear);
        {_CONTRAST}
    }}
    send({on}{CARRIED});
"""


_ACTIVITY = "add({}((pre.ActM - activity) / tau_average));"

_APPLY_TARGET = """
    total = sum(changed);{}
    const real moved = fmin(fmax(target + (changed - trg_sub_mean * (total / {})), 0.5), 2);
    target = {};
    changed = 0;
"""
"""The share ``trg_sub_mean`` of the mean over the units of a set is subtracted from each."""

_THERE = """
    there = sum(on);"""
"""The number of synapses of a target that are not left out."""

_ACTIVE = f"post.CaD > {LEAST_CAD}"

TEXTS = SynapseTexts(
    own=("weight", "linear", "structural", "slow", "activity", "target", "on"),
    kept=("trace",),
    numbers=(
        "lrate", "tau_trace", "synapse_threshold", "sub_mean", "swt_rate", "swt_least", "swt_most",
        "adapts", "balances", "scale", "rated", "rate_least", "credit", "da_sign", "burst_gain",
        "dip_gain", "ach_rate", "tau_average", "trg_rate", "trg_sub_mean",
    ),
    vectors={"bin_weights": BINS},
    states={
        "bins": BINS,
        **dict.fromkeys(("LearnCaP", "LearnCaD", "CaP", "CaD", "BurstPrv", "ActM", "CaDBefore")),
        **dict.fromkeys(state for state, _ in LEVELS.values()),
    },
    given=("difference",),
    greatest={"greatest": "CaDBefore"},
    texts={
        "cortex": SynapseText(
            _PRODUCT + _RATE + _CORTEX.format("product") + _BOUNDED, where=_ACTIVE
        ),
        "cortex, averaged": SynapseText(
            _PRODUCT + _AVERAGED + _RATE + _CORTEX.format("trace") + _BOUNDED, where=_ACTIVE
        ),
        "target": SynapseText(_PRODUCT + _RATE + _TARGET + _BOUNDED),
        "context": SynapseText(_CONTEXT.format("pre.BurstPrv") + _BOUNDED),
        "context, averaged": SynapseText(
            "const real product = pre.BurstPrv;" + _AVERAGED + _CONTEXT.format("trace") + _BOUNDED
        ),
        "hebb": SynapseText(_HEBB.format("")),
        "striatal": SynapseText(_STEEP + STRIATAL, where=RELEASED),
        "apply": SynapseText("const real change = changed;" + _APPLY, when="changed != 0"),
        "apply, centred": SynapseText(_CENTRED + _APPLY, when="changed != 0"),
        "adapt": SynapseText(_adapt()),
        "send": SynapseText(f"send({CARRIED});"),
        "activity": SynapseText(_ACTIVITY.format("")),
        "apply activity": SynapseText("activity += changed; changed = 0;"),
        "target average": SynapseText("add(trg_rate * (pre.CaP - pre.CaD));"),
        "apply target average": SynapseText(_APPLY_TARGET.format("", "inputs", "moved")),
        f"hebb{LESIONED}": SynapseText(_HEBB.format("on * ")),
        f"adapt{LESIONED}": SynapseText(_adapt("on * ", " && on > 0", "there", _THERE)),
        f"send{LESIONED}": SynapseText(f"send(on * {CARRIED});"),
        f"activity{LESIONED}": SynapseText(_ACTIVITY.format("on * ")),
        f"apply target average{LESIONED}": SynapseText(
            _APPLY_TARGET.format(_THERE, "there", "on > 0 ? moved : target")
        ),
    },
)  # fmt: skip
"""The texts of all paths, and of the averages of all layers."""
