"""LeakyIAFwithRefractoryPeriod under its first spelling."""

from neurodriver.model.component import NDComponent

from .leaky_iaf_with_refractory_period import LeakyIAFwithRefractoryPeriod as Renamed


class LeakyIAFwithRefactoryPeriod(NDComponent):
    """Leaky integrate-and-fire neuron with a refractory period, as old files spell and mean it.

    LeakyIAFwithRefractoryPeriod with two differences: the parameter is ``reset_voltage``, and the
    refractory time is counted down before the input is gated, so the period is one sub-step
    shorter.

    Limits: as LeakyIAFwithRefractoryPeriod.
    """

    reference = Renamed.reference
    accesses = Renamed.accesses
    updates = Renamed.updates
    params = {
        {"reset_potential": "reset_voltage"}.get(name, name): rule
        for name, rule in Renamed.params.items()
    }
    states = Renamed.states
    constants = Renamed.constants
    maximum_dt = Renamed.maximum_dt
    update = """
        r = fmax(r - dt_ms, 0);
        real drive = r == 0 ? resistance * (I + bias_current) : 0;
        V = V * decay + (drive + resting_potential) * (1 - decay);
        if (V >= threshold) {
            V = reset_voltage;
            spike_state = 1;
            r += refractory_period;
        }
    """
