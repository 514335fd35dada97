"""The synapses of a path: they send a scaled weight, and the weight changes between trials."""

from __future__ import annotations

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity

from .neuron import SOURCE

UNIT = 2.0**-24
"""What a spike adds is cut to a whole multiple of this, toward zero. So sums are exact."""


class AxonSynapse(Plasticity):
    """Synapse that sends its weight times the scale of its path, in multiples of 2^-24.

    The rule itself changes nothing: weights are set at the end of a trial.
    """

    reference = SOURCE
    params = {
        "scale": Parameter("1", default=1.0, at_least=0.0, doc="scale of the path"),
        "w_max": Parameter("1", default=1.6, above=0.0, doc="largest weight"),
    }
    bounds = (0.0, "w_max")
    on_arrival = f"send(floor(weight * scale * {1 / UNIT:.0f}) / {1 / UNIT:.0f});"
