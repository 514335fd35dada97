"""Generalised leaky integrate-and-fire neuron 5 of the Allen Institute: an adapting threshold."""

from neurodriver.model.component import Parameter, State

from .glif4 import GLIF4
from .propagators import mean_of_decay, mean_of_ramp


class GLIF5(GLIF4):
    """Generalised leaky integrate-and-fire neuron 5 (LIF-R-ASC-A): the threshold follows V, too.

    GLIF4, and the threshold has a second part, ``dtheta_v/dt = a (V - E) - theta_v / tau_voltage``
    with ``a = voltage_coupling``. It does not change in the refractory period, nor by a spike.

    Limits: as GLIF2. Between two rows V is taken as a line in this equation, so theta_v is of
    second order in the step; all else is exact.
    """

    params = {
        "voltage_coupling": Parameter("1/ms", doc="rise of the threshold by V - E"),
        "tau_voltage": Parameter("ms", above=0.0, doc="time constant of that rise"),
    }
    states = {"theta_v": State("mV", doc="rise of the threshold by the potential")}
    constants = {
        "fade_v": "exp(-dt_ms / tau_voltage)",
        "back": "dt_ms / tau_voltage",
        "of_old": f"voltage_coupling * dt_ms * {mean_of_ramp('back')}",
        "of_both": f"voltage_coupling * dt_ms * {mean_of_decay('back')}",
    }
    parts = {
        "adapted": "real followed = clamped ? theta_v : theta_v * fade_v"
        " + of_old * (V - resting_potential)"
        " + (of_both - of_old) * (free - resting_potential); theta_v = followed;",
        "level": "threshold + raised + followed",
    }
