"""Short-term depression and facilitation."""

from neurodriver.model.component import Parameter, State
from neurodriver.model.plasticity import Plasticity


class ShortTerm(Plasticity):
    """Short-term depression and facilitation of synapses.

    A spike releases the share u of what is left, x, and carries ``w u x``. h after the arrival
    before, ``u' = U + u (1 - U) exp(-h / tau_f)`` and ``x' = 1 + (x - x u - 1) exp(-h / tau_d)``.
    The first spike finds u = U and x = 1. With ``tau_f = 0``, u is always U. The weight itself
    never changes. The defaults depress; U 0.15, tau_d 130 and tau_f 530 ms facilitate.
    """

    reference = (
        "Tsodyks & Markram 1997, Proc Natl Acad Sci USA 94:719-723, doi:10.1073/pnas.94.2.719; "
        "Maass & Markram 2002, Neural Netw 15:155-161, doi:10.1016/S0893-6080(01)00144-7"
    )
    params = {
        "U": Parameter("1", default=0.5, at_least=0.0, at_most=1.0, doc="share of a lone spike"),
        "tau_d": Parameter("ms", default=800.0, above=0.0, doc="recovery from depression"),
        "tau_f": Parameter("ms", default=0.0, at_least=0.0, doc="decay of facilitation"),
    }
    synapse = {
        "u": State("1", "U", doc="share that the last spike released"),
        "x": State("1", 1.0, doc="what was left before it"),
    }
    on_arrival = """
        x = 1 + (x - x * u - 1) * exp(-since_arrival / tau_d);
        u = U + u * (1 - U) * exp(-since_arrival / tau_f);
        send(weight * u * x);
    """
