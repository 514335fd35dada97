"""Inhibition that balances excitation."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Trace


class InhibitorySTDP(Plasticity):
    """Symmetric rule for inhibitory synapses, which holds the rate of their targets.

    At a spike of the target ``w += eta x``, at an arrival ``w += eta (y - 2 rho_0 tau)``, between 0
    and w_max. Spikes near each other in either order strengthen inhibition, and arrivals alone
    weaken it. So the target comes to fire at about ``rho_0``. The weight is that of an inhibitory
    conductance, and positive.
    """

    reference = "Vogels et al. 2011, Science 334:1569-1573, doi:10.1126/science.1211095"
    params = {
        "tau": Parameter("ms", default=20.0, above=0.0, doc="decay of x and y"),
        "eta": Parameter("", default=0.01, at_least=0.0, doc="learning rate"),
        "rho_0": Parameter("Hz", default=3.0, at_least=0.0, doc="rate that targets come to"),
        "w_max": Parameter("", default=100.0, above=0.0, doc="upper bound; the lower one is 0"),
    }
    constants = {"alpha": "2 * rho_0 * tau / 1000"}
    pre = {"x": Trace("tau", doc="spikes of the source")}
    post = {"y": Trace("tau", doc="spikes of the target")}
    bounds = (0.0, "w_max")
    on_arrival = "weight = clip(weight + eta * (y - alpha)); send(weight);"
    on_spike = "weight = clip(weight + eta * x);"
