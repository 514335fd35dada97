"""What the five generalised leaky integrate-and-fire neurons of the Allen Institute share."""

from neurodriver.model.component import Access, Parameter, State, Weighted

from .leaky_iaf_alpha_current import rising
from .leaky_iaf_exp_current import passing

RECEPTORS = ("syn1", "syn2", "syn3", "syn4")
"""Receptors of all GLIF models, in the order of the ports of NEST's ``glif_psc``."""


def of_each(text: str) -> str:
    """Return a text for each receptor; ``#`` stands for its name."""
    return " ".join(text.replace("#", receptor) for receptor in RECEPTORS)


REFERENCE = (
    "Teeter et al. 2018, Nat Commun 9:709, doi:10.1038/s41467-017-02717-4; Rotter & Diesmann "
    "1999, Biol Cybern 81:381-402, doi:10.1007/s004220050570"
)
ACCESSES = (
    Access("I", unit="pA"),
    *(Weighted("spike_state", receptor=receptor) for receptor in RECEPTORS),
)
PARAMS = {
    "resting_potential": Parameter("mV", doc="potential without input, E"),
    "threshold": Parameter("mV", doc="potential above which it fires, after a long rest"),
    "leak_conductance": Parameter("nS", above=0.0, doc="membrane conductance g"),
    "capacitance": Parameter("pF", above=0.0, doc="membrane capacitance C"),
    "refractory_period": Parameter("ms", default=0.0, at_least=0.0, doc="rest after a spike"),
    **{
        f"tau_{receptor}": Parameter(
            "ms", default=2.0, above=0.0, doc=f"time to the peak of the current of {receptor}"
        )
        for receptor in RECEPTORS
    },
}
STATES = {
    "V": State("mV", "resting_potential", doc="membrane potential"),
    "left": State("1", doc="steps of the refractory period that are left"),
    **{f"I_{name}": State("pA", doc=f"current of {name}") for name in RECEPTORS},
    **{
        f"y_{name}": State("pA/ms", doc=f"slope of the current of {name} that is left")
        for name in RECEPTORS
    },
}
CONSTANTS = {
    "time_constant": "capacitance / leak_conductance",
    "leak": "-expm1(-dt_ms / time_constant)",
    "refractory_steps": "floor(refractory_period / dt_ms + 0.5)",
    **{
        name: text
        for receptor in RECEPTORS
        for name, text in {**passing(receptor), **rising(receptor)}.items()
    },
}
TERMS = {
    "synapses": " + ".join(f"pass_{r} * I_{r} + rise_{r} * y_{r}" for r in RECEPTORS),
}
PARTS = {
    "jump": "synapses",
    "thresholds": "",
    "level": "threshold",
    "after": "",
}
UPDATE = f"""
    bool clamped = left > 0;
    real goal = resting_potential + I / leak_conductance;
    real free = V + leak * (goal - V) + $jump;
    $thresholds
    bool fires = !clamped & (free > $level);
    $after
    V = clamped ? V : fires ? $reset : free;
    left = fires ? refractory_steps : clamped ? left - 1 : 0;
    {of_each("I_# = decay_# * (I_# + dt_ms * y_#);")}
    {of_each("y_# = decay_# * y_# + kick_# * #;")}
    spike_state = fires ? 1 : 0;
"""
