"""Pairs of spikes that a reward turns into changes."""

from neurodriver.model.component import Parameter
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Doses, Trace


class RewardedSTDP(Plasticity):
    """Rule of three factors: pairs of spikes make a synapse eligible, and dopamine changes it.

    At a spike of the target ``c += A_plus x``, at an arrival ``c -= A_minus y``. The eligibility c
    decays with ``tau_c``. The level n of dopamine decays with ``tau_n``, and each dose adds
    ``dose``. In between ``dw/dt = c (n - base)`` per ms, integrated exactly from event to event;
    doses are events. The weight stays between w_min and w_max at events.

    ``RewardedSTDP(dopamine=neurons)`` names the components whose spikes are doses.
    """

    reference = (
        "Izhikevich 2007, Cereb Cortex 17:2443-2452, doi:10.1093/cercor/bhl152; "
        "Potjans et al. 2010, Front Comput Neurosci 4:141, doi:10.3389/fncom.2010.00141"
    )
    params = {
        "tau_plus": Parameter("ms", default=20.0, above=0.0, doc="decay of x"),
        "tau_minus": Parameter("ms", default=20.0, above=0.0, doc="decay of y"),
        "A_plus": Parameter("", default=0.1, doc="eligibility by one pair, source first"),
        "A_minus": Parameter("", default=0.15, doc="eligibility by one pair, target first"),
        "tau_c": Parameter("ms", default=1000.0, above=0.0, doc="decay of the eligibility"),
        "tau_n": Parameter("ms", default=200.0, above=0.0, doc="decay of dopamine"),
        "dose": Parameter("1", default=0.5, doc="dopamine of one dose"),
        "base": Parameter("1", default=-0.002, doc="dopamine at which nothing changes"),
        "w_min": Parameter("", default=0.0, doc="lower bound"),
        "w_max": Parameter("", default=4.0, doc="upper bound"),
    }
    constants = {"rate": "1 / tau_c + 1 / tau_n"}
    modulators = {"dopamine": Doses("tau_n", "dose", doc="level of dopamine")}
    pre = {"x": Trace("tau_plus", doc="spikes of the source")}
    post = {"y": Trace("tau_minus", doc="spikes of the target")}
    synapse = {"c": Trace("tau_c", doc="eligibility")}
    bounds = ("w_min", "w_max")
    between = """
        real gained = -dopamine * expm1(-since_event * rate) / rate;
        real lost = -base * tau_c * expm1(-since_event / tau_c);
        weight = clip(weight + c * (gained - lost));
    """
    on_arrival = "c -= A_minus * y; send(weight);"
    on_spike = "c += A_plus * x;"
