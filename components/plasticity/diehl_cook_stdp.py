"""Unsupervised learning of digits."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Trace


class DiehlCookSTDP(Plasticity):
    """Rule of a network that learns to tell digits: pairs depress, triplets potentiate.

    At a spike of the target ``w += nu_post x y2``, with y2 just before the spike. An arrival
    carries the weight, and then ``w -= nu_pre y1``. Each spike sets its traces to 1. These events
    leave weights between 0 and w_max. Every ``interval``, which is that of a picture, each weight
    is multiplied by ``total`` over the sum of all weights of its target. The bounds do not limit
    it there. A spike carries w_max at most, unless the projection has a larger ``largest``.
    """

    reference = "Diehl & Cook 2015, Front Comput Neurosci 9:99, doi:10.3389/fncom.2015.00099"
    params = {
        "tau_x": Parameter("ms", default=20.0, above=0.0, doc="decay of x"),
        "tau_1": Parameter("ms", default=20.0, above=0.0, doc="decay of y1"),
        "tau_2": Parameter("ms", default=40.0, above=0.0, doc="decay of y2"),
        "nu_pre": Parameter("", default=1e-4, at_least=0.0, doc="depression by a pair"),
        "nu_post": Parameter("", default=0.01, at_least=0.0, doc="potentiation by a triplet"),
        "w_max": Parameter("", default=1.0, above=0.0, doc="upper bound; the lower one is 0"),
        "interval": Parameter("ms", default=500.0, above=0.0, doc="between two scalings"),
        "total": Parameter("", default=78.0, above=0.0, doc="sum of the weights of a target"),
    }
    pre = {"x": Trace("tau_x", nearest=True, doc="last spike of the source")}
    post = {
        "y1": Trace("tau_1", nearest=True, doc="last spike of the target, fast"),
        "y2": Trace("tau_2", nearest=True, doc="last spike of the target, slow"),
    }
    bounds = (0.0, "w_max")
    on_arrival = "send(weight); weight = clip(weight - nu_pre * y1);"
    on_spike = "weight = clip(weight + nu_post * x * y2);"
    every = {
        "interval": """
            sum_of_weights = sum(weight);
            weight *= sum_of_weights != 0 ? total / sum_of_weights : 1;
        """
    }
