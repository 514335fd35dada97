"""Coloured noise current."""

from neurodriver.model.component import NDComponent, Parameter, State


class OrnsteinUhlenbeckCurrent(NDComponent):
    """Random current with a correlation time, integrated exactly.

    ``dI = (mean - I) dt / time_constant + sigma sqrt(2 / time_constant) dW``: normally distributed
    around ``mean`` with the standard deviation ``sigma`` and the correlation
    ``exp(-t / time_constant)``. The law of I at the steps does not depend on the step.

    Limits: it starts at ``mean`` (or ``initI``) and is stationary after a few time constants.
    """

    reference = "Gillespie 1996, Phys Rev E 54:2084-2091, doi:10.1103/PhysRevE.54.2084"
    accesses = ()
    updates = ("I",)
    params = {
        "mean": Parameter("uA/cm^2", default=0.0, doc="expected current"),
        "sigma": Parameter("uA/cm^2", at_least=0.0, doc="standard deviation"),
        "time_constant": Parameter("ms", above=0.0, doc="correlation time"),
    }
    states = {"I": State("uA/cm^2", "mean", doc="current")}
    constants = {
        "decay": "exp(-dt_ms / time_constant)",
        "spread": "sigma * sqrt(-expm1(-2 * dt_ms / time_constant))",
    }
    update = """
        I = mean + (I - mean) * decay + spread * normal();
    """
