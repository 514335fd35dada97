"""Learning from the covariance of two rates."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity


class CovarianceRule(Plasticity):
    """Rule of two rates: ``dw/dt = eta (x - x_0) (y - y_0)``, explicit Euler.

    x is the value of the source and y that of the target, of the variable that the connections
    carry. With their means as x_0 and y_0, weights follow the covariance of the two.
    """

    reference = "Sejnowski 1977, J Math Biol 4:303-321, doi:10.1007/BF00275079"
    params = {
        "eta": Parameter("1/ms", default=1e-3, at_least=0.0, doc="rate of learning"),
        "x_0": Parameter("", default=0.0, doc="level of the source"),
        "y_0": Parameter("", default=0.0, doc="level of the target"),
        "w_min": Parameter("", default=0.0, doc="lower bound"),
        "w_max": Parameter("", default=1.0, doc="upper bound"),
    }
    bounds = ("w_min", "w_max")
    on_step = "weight = clip(weight + dt_ms * eta * (pre.value - x_0) * (post.value - y_0));"
