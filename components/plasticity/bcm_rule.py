"""Hebbian learning of rates with a threshold that slides."""

from neurodriver.model.component import Parameter, State
from neurodriver.model.plasticity import Plasticity


class BCMRule(Plasticity):
    """Rule of two rates with a threshold: ``dw/dt = eta x y (y - theta)``, explicit Euler.

    x is the value of the source and y that of the target, of the variable that the connections
    carry. The threshold follows ``dtheta/dt = (y^2 - theta) / tau_theta``, after the weight. A
    target strengthens what drives it above the threshold, and weakens it below.
    """

    reference = (
        "Bienenstock, Cooper & Munro 1982, J Neurosci 2:32-48, "
        "doi:10.1523/JNEUROSCI.02-01-00032.1982; "
        "Intrator & Cooper 1992, Neural Netw 5:3-17, doi:10.1016/S0893-6080(05)80003-6"
    )
    params = {
        "eta": Parameter("1/ms", default=1e-3, at_least=0.0, doc="rate of learning"),
        "tau_theta": Parameter("ms", default=1000.0, above=0.0, doc="of the threshold"),
        "theta_0": Parameter("", default=0.0, doc="first threshold"),
        "w_min": Parameter("", default=0.0, doc="lower bound"),
        "w_max": Parameter("", default=1.0, doc="upper bound"),
    }
    synapse = {"theta": State("", "theta_0", doc="threshold of the target")}
    bounds = ("w_min", "w_max")
    on_step = """
        real y = post.value;
        weight = clip(weight + dt_ms * eta * pre.value * y * (y - theta));
        theta += dt_ms / tau_theta * (y * y - theta);
    """
