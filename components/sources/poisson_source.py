"""Poisson spike train."""

from neurodriver.model.component import Access, NDComponent, Parameter


class PoissonSource(NDComponent):
    """Spikes at random times, independent of each other.

    At each step it spikes with the probability ``1 - exp(-rate dt)``, that of at least one event of
    a Poisson process. The variable ``rate`` (Hz) that it accesses is added to its parameter, so an
    input or another component may modulate it; a sum below 0 is 0.

    Limits: at most one spike a step; the train depends on the uid, its namespace, the
    seed and the step.
    """

    reference = (
        "Perkel, Gerstein & Moore 1967, Biophys J 7:391-418, doi:10.1016/S0006-3495(67)86596-2"
    )
    accesses = (Access("rate", unit="Hz"),)
    updates = ("spike_state",)
    params = {"rate": Parameter("Hz", default=0.0, at_least=0.0, doc="expected spikes a second")}
    update = """
        real hz = fmax(rate + input_rate, 0);
        if (uniform() < -expm1(-hz * dt_ms / 1000)) spike_state = 1;
    """
