"""Pairs of spikes and potentials: what the target's membrane does decides."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Trace


class ClopathSTDP(Plasticity):
    """Rule of spikes of the source and the potential of the target.

    An arrival depresses: ``w -= A_LTD (u_minus - theta_minus)``. In each step the synapse gains
    ``A_LTP (V - theta_plus) (u_plus - theta_minus) x dt``. Differences below 0 count as 0. The
    trace x of the source jumps by 1 / tau_x. The weight stays between w_min and w_max.

    The model of the target updates V and its low-passes u_plus and u_minus, with 7 and 10 ms in the
    paper. The synapse sees these ``delay_u`` later.
    """

    reference = "Clopath et al. 2010, Nat Neurosci 13:344-352, doi:10.1038/nn.2479"
    params = {
        "A_LTP": Parameter("", default=8e-5, at_least=0.0, doc="potentiation, per mV^2"),
        "A_LTD": Parameter("", default=14e-5, at_least=0.0, doc="depression, per mV"),
        "theta_plus": Parameter("mV", default=-45.3, doc="V that potentiates"),
        "theta_minus": Parameter("mV", default=-70.6, doc="mean potential that changes weights"),
        "tau_x": Parameter("ms", default=15.0, above=0.0, doc="decay of x"),
        "delay_u": Parameter("ms", default=5.0, at_least=0.0, doc="delay of u_plus and u_minus"),
        "w_min": Parameter("", default=0.0, doc="lower bound"),
        "w_max": Parameter("", default=3.0, doc="upper bound"),
    }
    constants = {"jump": "1 / tau_x"}
    pre = {"x": Trace("tau_x", jump="jump", doc="spikes of the source")}
    late = {"post.u_plus": "delay_u", "post.u_minus": "delay_u"}
    bounds = ("w_min", "w_max")
    on_arrival = """
        weight = clip(weight - A_LTD * fmax(post.u_minus - theta_minus, 0));
        send(weight);
    """
    on_step = """
        real gain = fmax(post.V - theta_plus, 0) * fmax(post.u_plus - theta_minus, 0);
        weight = clip(weight + A_LTP * gain * x * dt_ms);
    """
