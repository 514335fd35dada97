"""Pairs of spikes whose effect depends on the weight."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Trace


class WeightedSTDP(Plasticity):
    """Rule for all pairs of spikes, whose changes are powers of the weight.

    With v = w / w_max, at a spike of the target ``v += learning_rate (1 - v)^mu_plus x``, at an
    arrival ``v -= alpha learning_rate v^mu_minus y``; v stays between 0 and 1. Both powers 0 are
    the additive rule, both 1 the multiplicative one (Rubin et al. 2001). 0 and 1 are the rule of
    van Rossum et al. (2000), and powers in between that of Guetig et al. (2003).
    """

    reference = (
        "Guetig et al. 2003, J Neurosci 23:3697-3714, doi:10.1523/JNEUROSCI.23-09-03697.2003; "
        "van Rossum et al. 2000, J Neurosci 20:8812-8821, doi:10.1523/JNEUROSCI.20-23-08812.2000; "
        "Rubin et al. 2001, Phys Rev Lett 86:364-367, doi:10.1103/PhysRevLett.86.364"
    )
    params = {
        "tau_plus": Parameter("ms", default=20.0, above=0.0, doc="decay of x"),
        "tau_minus": Parameter("ms", default=20.0, above=0.0, doc="decay of y"),
        "learning_rate": Parameter("1", default=0.01, at_least=0.0, doc="lambda, of w_max"),
        "alpha": Parameter("1", default=1.0, at_least=0.0, doc="depression over potentiation"),
        "mu_plus": Parameter("1", default=1.0, at_least=0.0, doc="power of the potentiation"),
        "mu_minus": Parameter("1", default=1.0, at_least=0.0, doc="power of the depression"),
        "w_max": Parameter("", default=1.0, above=0.0, doc="upper bound; the lower one is 0"),
    }
    constants = {"up": "learning_rate * w_max", "down": "alpha * up"}
    pre = {"x": Trace("tau_plus", doc="spikes of the source")}
    post = {"y": Trace("tau_minus", doc="spikes of the target")}
    bounds = (0.0, "w_max")
    on_arrival = """
        weight = clip(weight - down * pow(weight / w_max, mu_minus) * y);
        send(weight);
    """
    on_spike = "weight = clip(weight + up * pow(1 - weight / w_max, mu_plus) * x);"
