"""Hebbian learning of rates with a decay that keeps the weights of a target bounded."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity


class OjaRule(Plasticity):
    """Rule of two rates: ``dw/dt = eta y (x - y w)``, explicit Euler.

    x is the value of the source and y that of the target, of the variable that the connections
    carry. The weights of a target approach the first principal component of its
    inputs, of length 1.
    """

    reference = "Oja 1982, J Math Biol 15:267-273, doi:10.1007/BF00275687"
    params = {
        "eta": Parameter("1/ms", default=1e-3, at_least=0.0, doc="rate of learning"),
        "w_min": Parameter("", default=-1.0, doc="lower bound"),
        "w_max": Parameter("", default=1.0, doc="upper bound"),
    }
    bounds = ("w_min", "w_max")
    on_step = """
        weight = clip(weight + dt_ms * eta * post.value * (pre.value - post.value * weight));
    """
