"""Leaky integrate-and-fire neuron of the model of the whole fly brain."""

from neurodriver.component import Parameter, State, Weighted

from .leaky_iaf_delta import LeakyIAFDelta
from .propagators import mean_of_decay


class LeakyIAFShiu(LeakyIAFDelta):
    """Leaky integrate-and-fire neuron of the fly brain model, integrated exactly.

    ``time_constant dV/dt = V_rest - V + s`` and ``ds/dt = -s / tau``; a spike that arrives at the
    receptor syn adds its edge's weight (mV) to s, one at the receptor kick to V. A spike of row k
    over an edge of d steps arrives in row k + d. When ``V >= threshold``, after the arrivals of the
    row, the neuron spikes, ``V = reset_potential`` and ``s = 0``. Defaults are those of the paper.

    Refractory: for ``round(refractory_period / dt)`` steps after a spike V stays at the reset
    potential and s at 0, and what arrives in these rows, and in that of the spike, is dropped.

    Limits: the paper's program counts the step of the spike as the first refractory one, so its
    neurons rest one step less.
    """

    reference = (
        "Shiu et al. 2024, Nature 634:210-219, doi:10.1038/s41586-024-07763-9; "
        + LeakyIAFDelta.reference.split("; ")[1]
    )
    accesses = (
        Weighted("spike_state", receptor="syn"),
        Weighted("spike_state", receptor="kick"),
    )
    params = {
        "resting_potential": Parameter("mV", default=-52.0, doc="potential without input"),
        "threshold": Parameter("mV", default=-45.0, doc="potential at which it fires"),
        "reset_potential": Parameter("mV", default=-52.0, doc="potential after a spike"),
        "time_constant": Parameter("ms", default=20.0, above=0.0, doc="membrane time constant"),
        "tau": Parameter("ms", default=5.0, above=0.0, doc="time constant of the synapses"),
        "refractory_period": Parameter("ms", default=2.2, at_least=0.0, doc="rest after a spike"),
    }
    states = {"s": State("mV", doc="sum of the synapses")}
    constants = {
        "decay": "exp(-dt_ms / tau)",
        "gap": "fabs(dt_ms / tau - dt_ms / time_constant)",
        "through": "dt_ms / time_constant * exp(-dt_ms / fmax(tau, time_constant)) * "
        + mean_of_decay("gap"),
    }
    terms = {"jump": "kick"}
    update = """
        bool clamped = left > 0;
        real free = V + leak * (resting_potential - V) + through * s + jump;
        bool fires = !clamped & (free >= threshold);
        bool rests = clamped | fires;
        V = rests ? reset_potential : free;
        s = rests ? 0 : s * decay + syn;
        left = fires ? refractory_steps : clamped ? left - 1 : 0;
        spike_state = fires ? 1 : 0;
    """
