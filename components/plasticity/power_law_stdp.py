"""Pairs of spikes, potentiation by a power of the weight."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Trace


class PowerLawSTDP(Plasticity):
    """Rule for all pairs of spikes: potentiation by a power law, multiplicative depression.

    At a spike of the target ``w += learning_rate w_0^(1 - mu) w^mu x``, at an arrival
    ``w = max(w - alpha learning_rate w y, 0)``. With independent spikes the two balance near
    ``w_0 (tau_plus / (alpha tau_minus))^(1 / (1 - mu))``, so weights have one peak and need no
    upper bound. The defaults are those of NEST's `hpc_benchmark`, for weights in pA.
    """

    reference = (
        "Morrison, Aertsen & Diesmann 2007, Neural Comput 19:1437-1467, "
        "doi:10.1162/neco.2007.19.6.1437"
    )
    params = {
        "tau_plus": Parameter("ms", default=15.0, above=0.0, doc="decay of x"),
        "tau_minus": Parameter("ms", default=30.0, above=0.0, doc="decay of y"),
        "learning_rate": Parameter("1", default=0.1, at_least=0.0, doc="lambda"),
        "alpha": Parameter("1", default=0.0513, at_least=0.0, doc="depression over potentiation"),
        "mu": Parameter("1", default=0.4, at_least=0.0, doc="power of the potentiation"),
        "w_0": Parameter("", default=1.0, above=0.0, doc="weight at which lambda is the change"),
    }
    constants = {"up": "learning_rate * pow(w_0, 1 - mu)", "down": "learning_rate * alpha"}
    pre = {"x": Trace("tau_plus", doc="spikes of the source")}
    post = {"y": Trace("tau_minus", doc="spikes of the target")}
    on_arrival = "weight = fmax(weight - down * weight * y, 0); send(weight);"
    on_spike = "weight += up * pow(weight, mu) * x;"
