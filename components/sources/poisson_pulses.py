"""Pulses of current at random times."""

from neurodriver.model.component import Parameter, State

from .poisson_source import PoissonSource


class PoissonPulses(PoissonSource):
    """Pulses of current at random times, independent of each other.

    A pulse begins at each step with the probability ``1 - exp(-rate dt)``, that of at least one
    event of a Poisson process. It lasts ``round(duration / dt)`` steps, at least one. A pulse that
    begins within another one makes it longer. The variable ``rate`` (Hz) that it accesses is added
    to its parameter, so an input or another component may modulate it; a sum below 0 is 0.

    Limits: pulses do not add up; the train depends on the uid, its namespace, the seed and the
    step.
    """

    updates = ("I",)
    params = {
        **PoissonSource.params,
        "amplitude": Parameter("", doc="current of a pulse, in the unit of the target"),
        "duration": Parameter("ms", default=1.0, above=0.0, doc="length of a pulse"),
    }
    states = {"left": State("1", doc="steps of the pulse that are left")}
    constants = {"steps": "fmax(floor(duration / dt_ms + 0.5), 1)"}
    update = """
        real hz = fmax(rate + input_rate, 0);
        if (uniform() < -expm1(-hz * dt_ms / 1000)) left = steps;
        I = left > 0 ? amplitude : 0;
        left = fmax(left - 1, 0);
    """
