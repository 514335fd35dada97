"""White noise current."""

from neurodriver.model.component import NDComponent, Parameter


class NoisyCurrent(NDComponent):
    """Random current without memory: white noise around a mean.

    ``I = mean + sigma n / sqrt(dt)`` with a new normal number n at each step, so that the charge
    of a time t has the standard deviation ``sigma sqrt(t)`` whatever the step.

    Limits: row 0 is 0, as every variable before the first step; the value itself depends on the
    step (OrnsteinUhlenbeckCurrent does not).
    """

    reference = "Gillespie 1996, Phys Rev E 54:2084-2091, doi:10.1103/PhysRevE.54.2084"
    accesses = ()
    updates = ("I",)
    params = {
        "mean": Parameter("uA/cm^2", default=0.0, doc="expected current"),
        "sigma": Parameter("uA/cm^2 ms^0.5", at_least=0.0, doc="intensity of the noise"),
    }
    constants = {"spread": "sigma / sqrt(dt_ms)"}
    update = """
        I = mean + spread * normal();
    """
