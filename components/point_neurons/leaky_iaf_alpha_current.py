"""Leaky integrate-and-fire neuron with alpha-shaped currents."""

from neurodriver.model.component import State

from .leaky_iaf_delta import LeakyIAFDelta
from .leaky_iaf_exp_current import LeakyIAFExpCurrent
from .propagators import mean_of_ramp


def rising(receptor: str) -> dict[str, str]:
    """Return the constants of a current that rises before it decays.

    A slope of 1 moves V within a step h by ``rise``, the integral of
    ``exp(-(h - s) / time_constant) s exp(-s / tau) / C``.
    """
    own = f"tau_{receptor}"
    ramp = mean_of_ramp(f"apart_{receptor}", f"slow_{receptor}", f"fast_{receptor}")
    return {
        f"kick_{receptor}": f"2.718281828459045 / {own}",
        f"slow_{receptor}": "exp(-dt_ms / time_constant)",
        f"fast_{receptor}": f"exp(-dt_ms / {own})",
        f"apart_{receptor}": f"dt_ms / {own} - dt_ms / time_constant",
        f"rise_{receptor}": f"dt_ms * dt_ms / capacitance * {ramp}",
    }


class LeakyIAFAlphaCurrent(LeakyIAFExpCurrent):
    """Leaky integrate-and-fire neuron with alpha-shaped currents, integrated exactly.

    LeakyIAFExpCurrent, but a spike that arrives adds to ``I_x`` the current
    ``weight (t / tau_x) exp(1 - t / tau_x)``: its peak is the weight (pA), ``tau_x`` after the
    arrival. ``y_x`` is the slope that is left: ``dI_x/dt = y_x - I_x / tau_x``,
    ``dy_x/dt = -y_x / tau_x``.

    Refractory period and limits: as LeakyIAFExpCurrent.
    """

    reference = LeakyIAFExpCurrent.reference.split("; ")[1]
    states = {
        "y_exc": State("pA/ms", doc="slope of the excitatory current that is left"),
        "y_inh": State("pA/ms", doc="slope of the inhibitory current that is left"),
    }
    constants = {**rising("exc"), **rising("inh")}
    terms = {
        "jump": "pass_exc * I_exc + rise_exc * y_exc + pass_inh * I_inh + rise_inh * y_inh",
    }
    update = f"""
        real open = left > 0 ? keep_input : 1;
        {LeakyIAFDelta.update}
        I_exc = decay_exc * (I_exc + dt_ms * y_exc);
        I_inh = decay_inh * (I_inh + dt_ms * y_inh);
        y_exc = decay_exc * y_exc + open * kick_exc * at_exc;
        y_inh = decay_inh * y_inh + open * kick_inh * at_inh;
    """
