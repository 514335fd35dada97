"""Generalised leaky integrate-and-fire neuron 3 of the Allen Institute: after-spike currents."""

from neurodriver.model.component import Parameter, State

from .glif1 import GLIF1
from .leaky_iaf_exp_current import passing

CURRENTS = ("asc1", "asc2")
"""After-spike currents."""

PARAMS = {
    **{
        f"tau_{name}": Parameter("ms", above=0.0, doc=f"time constant of {name}")
        for name in CURRENTS
    },
    **{f"{name}_add": Parameter("pA", doc=f"what a spike adds to {name}") for name in CURRENTS},
    **{
        f"{name}_fraction": Parameter(
            "1", default=1.0, at_least=0.0, at_most=1.0, doc=f"part of {name} that a spike leaves"
        )
        for name in CURRENTS
    },
}
STATES = {f"I_{name}": State("pA", doc=f"after-spike current {name[-1]}") for name in CURRENTS}
CONSTANTS = {
    **passing("asc1"),
    **passing("asc2"),
    **{
        f"left_of_{name}": f"{name}_fraction * exp(-refractory_period / tau_{name})"
        for name in CURRENTS
    },
}
JUMP = "synapses + pass_asc1 * I_asc1 + pass_asc2 * I_asc2"
AFTER = " ".join(
    f"real {name} = clamped ? I_{name} : I_{name} * decay_{name};"
    f" I_{name} = fires ? {name} * left_of_{name} + {name}_add : {name};"
    for name in CURRENTS
)


class GLIF3(GLIF1):
    """Generalised leaky integrate-and-fire neuron 3 (LIF-ASC): currents after spikes.

    GLIF1 with two currents that enter the membrane and decay with ``tau_asc1`` and ``tau_asc2``. At
    a spike a current becomes ``fraction I + add``. It decays over the refractory period at once, at
    the spike. The membrane is integrated exactly, the decay of the currents included.

    Limits: as GLIF1.
    """

    params = PARAMS
    states = STATES
    constants = CONSTANTS
    parts = {"jump": JUMP, "after": AFTER}
