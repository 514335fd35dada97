"""Leaky integrator with a synaptic current of the Neuromorphic Intermediate Representation."""

from neurodriver.model.component import Access, NDComponent, Parameter, State, Weighted

from .nir_li import NIRLI
from .propagators import mean_of_decay


class NIRCubaLI(NDComponent):
    """Leaky integrator of NIR with a synaptic current, integrated exactly.

    ``tau_syn dI_syn/dt = w_in (W S + I + bias) - I_syn``, ``tau_mem dV/dt = v_leak - V + r I_syn``.
    The parameters have the names and units of NIR's ``CubaLI``: time is in seconds. Equal time
    constants are no special case. Spikes that arrive are those of NIRLI.

    Limits: as NIRLI.
    """

    reference = NIRLI.reference
    accesses = (Access("I", unit="1"), Weighted("spike_state", receptor="spikes"))
    updates = {"V": "1"}
    params = {
        "tau_syn": Parameter("s", above=0.0, doc="synaptic time constant"),
        "tau_mem": Parameter("s", above=0.0, doc="membrane time constant"),
        "r": NIRLI.params["r"],
        "v_leak": NIRLI.params["v_leak"],
        "w_in": Parameter("1", default=1.0, doc="weight of all that arrives"),
        "bias": NIRLI.params["bias"],
    }
    states = {
        "V": State("1", 0.0, doc="membrane potential"),
        "I_syn": State("1", 0.0, doc="synaptic current"),
    }
    constants = {
        "leak": "-expm1(-dt_ms / (1000 * tau_mem))",
        "decay": "exp(-dt_ms / (1000 * tau_syn))",
        "gap": "fabs(dt_ms / (1000 * tau_syn) - dt_ms / (1000 * tau_mem))",
        "passes": "dt_ms / (1000 * tau_mem) * exp(-dt_ms / (1000 * fmax(tau_syn, tau_mem)))"
        f" * {mean_of_decay('gap')}",
    }
    terms = {
        "goal": "w_in * (spikes + I + bias)",
        "free": "V + leak * (v_leak + r * goal - V) + r * passes * (I_syn - goal)",
    }
    update = """
        V = free;
        I_syn = goal + decay * (I_syn - goal);
    """
