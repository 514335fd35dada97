"""The rule of the synapses of a path: a spike adds the scaled weight to its target."""

from __future__ import annotations

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity

from .neuron import SOURCE

UNIT = 2.0**-24
"""What a spike adds is rounded down to a multiple of this. So sums are exact."""


class AxonSynapse(Plasticity):
    """Synapse that sends its weight times the scale of its path, in multiples of 2^-24.

    The rule itself does not change the weight. `Trainer` sets weights at the end of a trial.
    """

    reference = SOURCE
    params = {
        "scale": Parameter("1", default=1.0, at_least=0.0, doc="scale of the path"),
        "w_max": Parameter("1", default=1.6, above=0.0, doc="largest weight"),
    }
    bounds = (0.0, "w_max")
    on_arrival = f"send(floor(weight * scale * {1 / UNIT:.0f}) / {1 / UNIT:.0f});"
