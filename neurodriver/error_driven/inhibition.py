"""The inhibition of a layer, for other layers that get it if it is stronger than their own."""

from __future__ import annotations

from typing import ClassVar

from neurodriver.model.component import NDComponent, State
from neurodriver.model.fields import Field, Source

from .deep_parameters import RESETS
from .neuron_text import CONSTANTS, INHIBITION, PARAMETERS, PARTS, SOURCE, TRIAL

OF_INHIBITION = (
    "gi", "fb", "fs_threshold", "tau_fs", "tau_ss", "tau_ssf", "ss", "clamped_least", "clamps",
    "decay_act",
)  # fmt: skip
"""Parameters of a unit from which the inhibition of its layer follows."""

MEAN_FACTOR = Field(
    "1", default=1.0, doc="units of the layer, divided by those that are not switched off"
)


class AxonInhibition(NDComponent):
    """The fast and slow inhibition (FS-FFFB) that a layer computes for its units.

    It is one component. Its numbers are those that each unit of the layer computes for itself.
    """

    axes = ("layer",)
    reference = SOURCE
    fixed_dt = 1e-3
    updates: ClassVar[dict[str, str]] = {"PoolGi": "1"}
    sources: ClassVar[dict[str, Source]] = {
        "arrivals": Source("mean_e"), "neurons": Source("firing", "external"),
    }  # fmt: skip
    shared = TRIAL
    fields: ClassVar[dict[str, Field]] = {"mean_factor": MEAN_FACTOR}
    params = {name: PARAMETERS[name] for name in OF_INHIBITION}
    constants = {name: CONSTANTS[name] for name in ("per_fs", "per_ss", "per_ssf", "replacing")}
    parts: ClassVar[dict[str, str]] = {"resets": PARTS["resets"]}
    states: ClassVar[dict[str, State]] = {
        "FSi": State("1", 0.0, doc="fast inhibition"),
        "SSi": State("1", 0.0, doc="slow inhibition"),
        "SSf": State("1", 0.0, doc="facilitation of slow inhibition"),
    }
    update = f"""
        const real k = step - start, turn = minus, begins = fmax(1 - fabs(k), 0);
        $resets
        const real stays = 1 - begins * decay_act;
        const real heard = (1 - begins * ceil(decay_act)) * goes_on;
        const real firing = heard * mean_factor * neurons.firing;
        const real external = (1 - begins) * goes_on * mean_factor * neurons.external;
        real SSGi = 0;
        if (begins > 0) {{ FSi *= stays; SSi *= stays; SSf *= stays; }}
        {INHIBITION}
    """


class AxonPulvinarInhibition(AxonInhibition):
    """The same in a pulvinar layer, whose activity begins anew with the plus phase."""

    parts = {"resets": RESETS}
