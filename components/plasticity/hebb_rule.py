"""Hebbian learning of rates with a soft bound and forgetting."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity


class HebbRule(Plasticity):
    """Rule of two rates: ``dw/dt = eta x y (w_max - w) - decay w``, explicit Euler.

    x is the value of the source and y that of the target, of the variable that the connections
    carry. Weights grow where both are active, the slower the nearer they are to w_max, and decay.
    """

    reference = "Gerstner & Kistler 2002, Biol Cybern 87:404-415, doi:10.1007/s00422-002-0353-y"
    params = {
        "eta": Parameter("1/ms", default=1e-3, at_least=0.0, doc="rate of learning"),
        "decay": Parameter("1/ms", default=0.0, at_least=0.0, doc="rate of forgetting"),
        "w_min": Parameter("", default=0.0, doc="lower bound"),
        "w_max": Parameter("", default=1.0, doc="upper bound"),
    }
    bounds = ("w_min", "w_max")
    on_step = """
        weight = clip(weight + dt_ms * (eta * pre.value * post.value * (w_max - weight)
                                        - decay * weight));
    """
