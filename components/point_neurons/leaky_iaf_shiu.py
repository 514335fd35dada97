"""Leaky integrate-and-fire neuron of the model of the whole fly brain."""

from neurodriver.model.component import Parameter, State, Weighted

from .leaky_iaf_delta import LeakyIAFDelta
from .propagators import mean_of_decay


class LeakyIAFShiu(LeakyIAFDelta):
    """Leaky integrate-and-fire neuron of the fly brain model, integrated exactly.

    ``time_constant dV/dt = V_rest - V + s`` and ``ds/dt = -s / tau``; a spike that arrives at the
    receptor syn adds its edge's weight (mV) to s, one at the receptor kick to V. A spike of row k
    over an edge of d steps arrives in row k + d. When ``V >= threshold``, before the arrivals of
    the row, the neuron spikes, ``V = reset_potential`` and ``s = 0``. So a kick makes a spike one
    row after it arrived. Defaults, and the order within a step, are those of the paper's program.

    Refractory: ``round(refractory_period / dt)`` rows, of which that of the spike is the first, in
    which V stays at the reset potential and s at 0, and what arrives is dropped; in the row of the
    spike also where there is no refractory period. So of kicks at 100 Hz and 0.1 ms one in a
    hundred has no effect.
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
        "refractory_steps": "fmax(floor(refractory_period / dt_ms + 0.5) - 1, 0)",
        "decay": "exp(-dt_ms / tau)",
        "gap": "fabs(dt_ms / tau - dt_ms / time_constant)",
        "through": "dt_ms / time_constant * exp(-dt_ms / fmax(tau, time_constant)) * "
        + mean_of_decay("gap"),
    }
    terms = {"jump": "kick"}
    update = """
        bool clamped = left > 0;
        real free = V + leak * (resting_potential - V) + through * s;
        bool fires = !clamped & (free >= threshold);
        bool rests = clamped | fires;
        V = rests ? reset_potential : free + jump;
        s = rests ? 0 : s * decay + syn;
        left = fires ? refractory_steps : clamped ? left - 1 : 0;
        spike_state = fires ? 1 : 0;
    """
