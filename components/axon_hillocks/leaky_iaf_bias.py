"""Leaky integrate-and-fire neuron with a bias current."""

from neurodriver.model.component import Parameter

from .leaky_iaf import LeakyIAF


class LeakyIAF_bias(LeakyIAF):
    """Leaky integrate-and-fire neuron with a constant current beside its input.

    LeakyIAF whose input is ``I + bias_current``: ``C dV/dt = (V_rest - V) / R + I + bias_current``.
    The name comes from files of before 2016, whose ``b`` is the bias and whose ``Vr`` is both
    resting and reset potential.

    Limits: as LeakyIAF.
    """

    params = {"bias_current": Parameter("uA/cm^2", doc="constant current")}
    update = """
        V = V * decay + (resistance * (I + bias_current) + resting_potential) * (1 - decay);
        if (V >= threshold) {
            V = reset_potential;
            spike_state = 1;
        }
    """
