"""Exponential synapse that learns from the order of spikes."""

from neurodriver.model.component import Access, NDComponent, Parameter, State


class exponential_with_stdp(NDComponent):
    """Exponentially decaying conductance whose weight follows spike-timing dependent plasticity.

    ``dg/dt = -g / tau_g``; a presynaptic spike adds ``weight / tau_g`` to g. The traces decay as
    ``dx/dt = -x / tau_plus`` and ``dy/dt = -y / tau_minus``; a presynaptic spike adds 1 to x, a
    postsynaptic one 1 to y. For the step of a postsynaptic spike the weight grows at the rate
    ``eta_plus (w_max - weight) x``, for that of a presynaptic spike it falls at the rate
    ``eta_minus (weight - w_min) y``; it stays between ``w_min`` and ``w_max``.

    Its two edges: from the presynaptic neuron with ``receptor`` pre, from the postsynaptic one
    with ``receptor`` post (old files say ``order`` 0 and 1).

    Limits: what a pair of spikes changes grows with the step, as it always did in this model; a
    pair in one step counts the traces before it; one input of each kind.
    """

    reference = (
        "Morrison, Diesmann & Gerstner 2008, Biol Cybern 98:459-478, doi:10.1007/s00422-008-0233-1"
    )
    accesses = (
        Access("spike_state", receptor="pre", single=True),
        Access("spike_state", receptor="post", single=True),
    )
    updates = ("g",)
    params = {
        "tau_g": Parameter("ms", above=0.0, doc="time constant of the conductance"),
        "tau_plus": Parameter("ms", above=0.0, doc="time constant of the presynaptic trace"),
        "tau_minus": Parameter("ms", above=0.0, doc="time constant of the postsynaptic trace"),
        "eta_plus": Parameter("1/ms", at_least=0.0, doc="rate of growth"),
        "eta_minus": Parameter("1/ms", at_least=0.0, doc="rate of decline"),
        "w_max": Parameter("mS/cm^2 ms", doc="largest weight"),
        "w_min": Parameter("mS/cm^2 ms", doc="smallest weight"),
    }
    states = {
        "s": State("mS/cm^2", doc="conductance"),
        "weight": State("mS/cm^2 ms", 0.5, doc="weight"),
        "x": State("1", doc="presynaptic trace"),
        "y": State("1", doc="postsynaptic trace"),
    }
    constants = {
        "decay": "exp(-dt_ms / tau_g)",
        "decay_x": "exp(-dt_ms / tau_plus)",
        "decay_y": "exp(-dt_ms / tau_minus)",
    }
    update = """
        real slope = 0;
        if (post > 0) slope += eta_plus * (w_max - weight) * x;
        if (pre > 0) slope -= eta_minus * (weight - w_min) * y;
        weight = fmax(fmin(weight + dt_ms * slope, w_max), w_min);
        x *= decay_x;
        y *= decay_y;
        s *= decay;
        if (pre > 0) {
            x += 1;
            s += weight / tau_g;
        }
        if (post > 0) y += 1;
    """
    outputs = {"g": "s"}
