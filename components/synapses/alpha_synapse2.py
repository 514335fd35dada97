"""Alpha-function synapse, integrated exactly."""

from neurodriver.model.component import NDComponent, Parameter, State
from neurodriver.model.linear import ARRIVAL, Linear


class AlphaSynapse2(NDComponent):
    """Conductance of AlphaSynapse without its lag, integrated exactly, times ``scale``.

    ``z'' = -(ar + ad) z' - ar ad z``, each spike adds ``ar ad`` to ``z'``; ``g = scale gmax z``. A
    spike in row k shows in row k + 1 as the closed form after one step, whatever the step; equal
    rates give ``ar^2 t exp(-ar t)``.

    Limits: the name comes from a branch of the old library whose text is lost: that ``scale`` is
    a factor of the conductance is assumed.
    """

    reference = "Destexhe et al. 1994, J Comput Neurosci 1:195-230, doi:10.1007/BF00961734"
    accesses = ("spike_state",)
    updates = ("g",)
    params = {
        "gmax": Parameter("mS/cm^2", doc="conductance per unit of z at a scale of 1"),
        "ar": Parameter("1/ms", above=0.0, doc="rise rate"),
        "ad": Parameter("1/ms", above=0.0, doc="decay rate"),
        "scale": Parameter("1", default=1.0, doc="factor of the conductance"),
    }
    states = {
        "z": State("1", doc="gating variable"),
        "y": State("1/ms", doc="its drive: z' + ad z"),
    }
    constants = {
        "kick": "ar * ad",
        "rise": "exp(-ar * dt_ms)",
        "decay": "exp(-ad * dt_ms)",
        "apart": "(ar - ad) * dt_ms",
        "share": "decay * dt_ms * (apart == 0 ? 1 : -expm1(-apart) / apart)",
    }
    terms = {"arrived": ARRIVAL}
    maximum_dt = 1e-4
    update = """
        if (arrived != 0) y += kick * arrived;
        z = z * decay + y * share;
        y *= rise;
    """
    outputs = {"g": "scale * gmax * z"}
    linear = Linear(factors=("scale", "gmax"))
