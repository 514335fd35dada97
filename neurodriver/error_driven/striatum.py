"""Layers of the striatum, whose paths dopamine teaches.

A unit of the striatum has receptors of one kind for dopamine. Units with D1 receptors are called
Go, and those with D2 receptors NoGo. A path to them keeps a trace of what was active. When a
reward comes or is missed, dopamine turns the trace into changes of weights: a burst of dopamine
strengthens Go and weakens NoGo, and a dip does the reverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from neurodriver.errors import CircuitError, near, quoted
from neurodriver.model.component import Parameter, State

from .neuron import AxonNeuron, AxonPoolNeuron
from .neuron_text import axon

if TYPE_CHECKING:
    from .layers import NetworkLayer

LEAST_ACH = 0.1
"""Without a reward, traces change only where acetylcholine is not below this level."""

LEVELS = {"dopamine": ("DA", 0.0), "acetylcholine": ("ACh", 1.0), "reward": ("HasRew", 0.0)}
"""Modulator -> the state of a unit that has its level, and the level where none is given."""


def _number(default: float, doc: str, name: str, most: float = float("inf")) -> Parameter:
    return Parameter("1", default=default, at_least=0.0, at_most=most, doc=doc, source=axon(name))


MATRIX_PARAMETERS = {
    "d2": _number(
        0.0, "share of D2 receptors, instead of D1: 0 in Go units, 1 in NoGo units",
        "Learn.NeuroMod.DAMod is D2Mod", 1.0,
    ),
    "da_gain": _number(
        0.0, "effect of dopamine on the conductances of a unit", "Learn.NeuroMod.DAModGain"
    ),
    "burst_gain": _number(1.0, "factor of dopamine above 0", "Learn.NeuroMod.BurstGain"),
    "dip_gain": _number(1.0, "factor of dopamine below 0", "Learn.NeuroMod.DipGain"),
    "ach_rate": _number(
        0.0, "share of the learning rate that needs acetylcholine", "Learn.NeuroMod.AChLRateMod",
        1.0,
    ),
}  # fmt: skip
"""Parameters of a unit of the striatum."""

READ_BY_PATHS = ("d2", "burst_gain", "dip_gain", "ach_rate")
"""Those that striatal paths read once, when a network is built."""

_DOPAMINE = {"da_sign": "1 - 2 * d2"}

_MODULATED = """
    const real dopamine = (DA > 0 ? burst_gain : dip_gain) * DA;
    const real effect = fmax(1 + da_sign * da_gain * dopamine, 0);
    Ge *= effect;
    Gi *= effect;
"""

_STATES = {
    "DA": State("1", 0.0, doc="dopamine: 0 is its usual level"),
    "ACh": State("1", 1.0, doc="acetylcholine, from 0 to 1"),
    "HasRew": State("1", 0.0, doc="above 0 in a trial in which a reward comes or is missed"),
}

STRIATAL = """
    const real error = post.CaP - post.CaD;
    const real active = post.CaD > synapse_threshold ? credit * post.CaD : 0;
    const real laid = (rated > 0 ? steep : 1) * post.ACh * pre.CaD * (error + active);
    const real heard = 1 - ach_rate * (1 - fmin(fabs(post.ACh), 1));
    const real dopamine = da_sign * (post.DA > 0 ? burst_gain : dip_gain) * post.DA;
    add(post.HasRew > 0 ? lrate * heard * dopamine * trace : 0);
    trace = post.HasRew > 0 ? 0 : trace + laid;
"""
"""Rule of a striatal path; see `AxonMatrixNeuron`. ``steep`` is the first factor of its rate."""

RELEASED = f"post.HasRew > 0 || post.ACh >= {LEAST_ACH}"
"""In other trials, neither weights nor traces change."""


class AxonMatrixNeuron(AxonNeuron):
    """Unit of a layer of the striatum: a medium spiny neuron of the matrix.

    Dopamine DA multiplies Ge and Gi by ``max(0, 1 + da_gain g DA)`` with D1 receptors, and by
    ``max(0, 1 - da_gain g DA)`` with D2 receptors. g is ``burst_gain`` for DA > 0, otherwise
    ``dip_gain``.

    Each synapse of a striatal path has a trace T. With the sender q and the receiver r, a trial
    without a reward and with ACh >= 0.1 adds::

        R ACh CaD_q (CaP_r - CaD_r + (credit CaD_r if CaD_r > synapse_threshold else 0))

    R is ``max(4 y (1 - y), rate_least)``. y is CaD_r divided by the greatest CaD of the layer. In a
    trial with a reward the change of the weight is ``lrate D T``, and T becomes 0. D is
    ``g DA (1 - ach_rate (1 - |ACh|))``, with the opposite sign for D2 receptors.

    These are the equations of a VSMatrixLayer and a VSMatrixPath of Axon at 774c01e1 (GNeuroMod,
    RLRate, LRMod, DWtSynVSMatrix), with RewActLearn off. Go and NoGo units with opposite effects of
    dopamine are those of Frank 2005, doi:10.1162/0898929052880093.
    """

    params = MATRIX_PARAMETERS
    constants = _DOPAMINE
    parts = {"modulated": _MODULATED}
    states = _STATES


class AxonMatrixPoolNeuron(AxonPoolNeuron):
    """`AxonMatrixNeuron` of a layer with sub-pools that inhibit."""

    params = MATRIX_PARAMETERS
    constants = _DOPAMINE
    parts = {"modulated": _MODULATED}
    states = _STATES


def named_modulators(
    name: str, kind: str, given: Mapping[str, str] | None, layers: Mapping[str, NetworkLayer]
) -> dict[str, str]:
    """Return the names by which the levels of a layer's modulators are given.

    ``layers`` are those that were added before.
    """
    where = f"layer {quoted(name)}, modulators"
    if kind != "matrix" and given is not None:
        raise CircuitError(f"{where}: only matrix layers have them (got kind {quoted(kind)})")
    names = dict(given or {})
    for one, called in names.items():
        if one not in LEVELS:
            raise CircuitError(f"{where}: no {one!r:.60}{near(str(one), LEVELS)}")
        if not isinstance(called, str) or not called:
            raise CircuitError(f"{where}, {one}: a name is needed (got {called!r:.60})")
    out = {one: names.get(one, one) for one in LEVELS} if kind == "matrix" else {}
    meant = [*out.items()] + [one for layer in layers.values() for one in layer.modulators.items()]
    used = {called for _, called in meant}
    for called in sorted({*out.values()}):
        several = sorted({one for one, other in meant if other == called})
        if len(several) > 1:
            say = f"{quoted(called)} would be the name of {' and '.join(several)}"
            raise CircuitError(f"{where}: {say}")
    for one in {*out.values()} & {name, *layers} | used & {name}:
        raise CircuitError(f"{where}: {quoted(one)} would name a layer and a modulator")
    return out
