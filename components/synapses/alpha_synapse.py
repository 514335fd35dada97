"""Alpha-function synapse."""

from neurodriver.component import NDComponent, Parameter, State


class AlphaSynapse(NDComponent):
    """Conductance that rises at rate ``ar`` and decays at rate ``ad`` after each spike.

    ``z'' = -(ar + ad) z' - ar ad z``, each spike adds ``ar ad`` to ``z'``; ``g = gmax z``.
    The second derivative lags by one sub-step, as it always did in this model: a spike in row k
    shows in g at row k + 2 where a step has one sub-step. ``z`` never falls below zero.

    Limits: ``dt_ms * (ar + ad)`` well below 1.
    """

    reference = "Destexhe et al. 1994, J Comput Neurosci 1:195-230, doi:10.1007/BF00961734"
    accesses = ("spike_state",)
    updates = ("g",)
    params = {
        "gmax": Parameter("mS/cm^2", doc="conductance per unit of z"),
        "ar": Parameter("1/ms", above=0.0, doc="rise rate"),
        "ad": Parameter("1/ms", above=0.0, doc="decay rate"),
    }
    states = {
        "z": State("1", doc="gating variable"),
        "dz": State("1/ms", doc="its derivative"),
        "d2z": State("1/ms^2", doc="its second derivative"),
    }
    constants = {"kick": "ar * ad", "damping": "ar + ad"}
    maximum_dt = 1e-4
    update = """
        real z_new = fmax(0, z + dt_ms * dz);
        real dz_new = dz + dt_ms * d2z;
        if (substep == 0 && spike_state > 0) dz_new += kick;
        d2z = -damping * dz - kick * z;
        z = z_new;
        dz = dz_new;
    """
    outputs = {"g": "gmax * z"}
