"""Leaky integrate-and-fire neuron with exponential currents."""

from neurodriver.model.component import Access, Parameter, State, Weighted

from .leaky_iaf_delta import LeakyIAFDelta
from .propagators import mean_of_decay


def passing(receptor: str) -> dict[str, str]:
    """Return the constants with which the current of a receptor reaches the membrane.

    A current of 1 that decays with ``tau`` moves V within a step h by ``pass``, the integral of
    ``exp(-(h - s) / time_constant) exp(-s / tau) / C``. It is symmetric in both time constants.
    """
    own = f"tau_{receptor}"
    return {
        f"decay_{receptor}": f"exp(-dt_ms / {own})",
        f"gap_{receptor}": f"fabs(dt_ms / {own} - dt_ms / time_constant)",
        f"pass_{receptor}": f"dt_ms / capacitance * exp(-dt_ms / fmax({own}, time_constant))"
        f" * {mean_of_decay(f'gap_{receptor}')}",
    }


class LeakyIAFExpCurrent(LeakyIAFDelta):
    """Leaky integrate-and-fire neuron with exponential currents, integrated exactly.

    ``C dV/dt = C (V_rest - V) / time_constant + I_exc + I_inh + I`` and ``dI_x/dt = -I_x / tau_x``;
    a spike that arrives at receptor x (exc or inh) adds its edge's weight (pA) to ``I_x``, so
    inhibition has negative weights. A spike of row k over an edge of d steps arrives in row k + d.
    Equal time constants are no special case. Threshold and reset as LeakyIAFDelta.

    Refractory: for ``round(refractory_period / dt)`` steps after a spike V stays at the reset
    potential while the currents go on. What arrives in these rows enters them, or is dropped where
    ``keep_input`` is 0.

    Limits: I is taken as constant over a step.
    """

    accesses = (
        Access("I", unit="pA"),
        Weighted("spike_state", receptor="exc"),
        Weighted("spike_state", receptor="inh"),
    )
    params = {
        "capacitance": Parameter("pF", above=0.0, doc="membrane capacitance"),
        "tau_exc": Parameter("ms", above=0.0, doc="time constant of the excitatory current"),
        "tau_inh": Parameter("ms", above=0.0, doc="time constant of the inhibitory current"),
        "keep_input": Parameter(
            "1", default=1.0, at_least=0.0, at_most=1.0, whole=True,
            doc="0: what arrives while refractory is dropped",
        ),
    }  # fmt: skip
    states = {
        "I_exc": State("pA", doc="excitatory current"),
        "I_inh": State("pA", doc="inhibitory current"),
    }
    constants = {**passing("exc"), **passing("inh")}
    terms = {"jump": "pass_exc * I_exc + pass_inh * I_inh", "at_exc": "exc", "at_inh": "inh"}
    update = f"""
        real open = left > 0 ? keep_input : 1;
        {LeakyIAFDelta.update}
        I_exc = I_exc * decay_exc + open * at_exc;
        I_inh = I_inh * decay_inh + open * at_inh;
    """
