"""Alpha-function synapse."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from neurodriver.model.component import NDComponent, Parameter, State
from neurodriver.model.linear import ARRIVAL, Linear


def stays_positive(params: Mapping[str, NDArray[np.float64]], dt_ms: float) -> NDArray[np.bool_]:
    """Return where ``z`` of AlphaSynapse cannot fall below zero without its clamp, (n,).

    With ``p = ar dt_ms``, ``q = ad dt_ms``, ``c = p + q``, ``e = p q``: the three statements of
    a sub-step, without the clamp and started at rest, are for any train of spikes ``s``

        z[n+2] - 2 z[n+1] + (1 + c) z[n] - (c - e) z[n-1] = e / dt_ms s[n].

    The generating function of ``z`` is that of ``s``, with a positive factor, over
    ``(1 - a x) (1 - b x) (1 - d x)``, where ``a - 1``, ``b - 1``, ``d - 1`` are the roots of
    ``m^3 + m^2 + c m + e``. If these are real, they are negative, as all coefficients are
    positive, and their sum is -1; so a, b, d lie between 0 and 1. Then each ``1 / (1 - a x)`` has
    coefficients ``a^n > 0``, so has their product, and ``z[n] >= 0``. They are real where the
    discriminant is not negative.

    Sub-steps change nothing: a spike acts in the first one. A negative ``gmax`` would bring the
    sum of weighted states below zero. For equal rates the condition is ``p <= 4/27``. It is
    sufficient: next to it the clamp may still never act. Rounding may bring ``z`` below zero by
    a rounding of itself.
    """
    p, q = params["ar"] * dt_ms, params["ad"] * dt_ms
    c, e = p + q, p * q
    discriminant = c**2 - 4 * c**3 - 4 * e - 27 * e**2 + 18 * c * e
    positive: NDArray[np.bool_] = (discriminant >= 0) & (params["gmax"] >= 0)
    return positive


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
    terms = {"arrived": ARRIVAL}
    maximum_dt = 1e-4
    update = """
        real z_new = fmax(0, z + dt_ms * dz);
        real dz_new = dz + dt_ms * d2z;
        if (arrived != 0) dz_new += kick * arrived;
        d2z = -damping * dz - kick * z;
        z = z_new;
        dz = dz_new;
    """
    outputs = {"g": "gmax * z"}
    linear = Linear(factors=("gmax",), where=stays_positive)
