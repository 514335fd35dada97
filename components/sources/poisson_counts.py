"""Poisson source that tells how many spikes fall into a step."""

from .poisson_source import PoissonSource


class PoissonCounts(PoissonSource):
    """Poisson process of any rate: ``spike_state`` is the number of its events in the step.

    The number has a Poisson distribution of mean ``rate dt``. A weighted edge multiplies it, so a
    step with three events adds three weights. The variable ``rate`` (Hz) that it accesses is added
    to its parameter, so an input or another component may modulate it; a sum below 0 is 0.

    Limits: cumulative probabilities are right within 2^-32 up to 16 events a step, 4e-6 above;
    weighted edges count 1,023 events of a step at most, so a mean above 850 is cut; synapses that
    are components of their own take a number as one spike, and recordings of events tell only
    where it is not 0. The numbers depend on the uid, its namespace, the seed and the step.
    """

    update = """
        spike_state = poisson(fmax(rate + input_rate, 0) * dt_ms / 1000);
    """
