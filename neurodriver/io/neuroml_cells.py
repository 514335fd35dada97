"""The point neurons of NeuroML 2 that can be written as equations.

The equations are those of the component types of NeuroML 2 (Cannon et al. 2014, Front Neuroinform
8:79, doi:10.3389/fninf.2014.00079). The membrane potential is V here, and v there. What enters the
membrane, ``iSyn`` there, is the input I.
"""

from __future__ import annotations

from dataclasses import dataclass

VOLTAGE, TIME, CURRENT, NUMBER = "mV", "ms", "pA", "1"
CONDUCTANCE, CAPACITANCE = "nS", "pF"


@dataclass(frozen=True)
class CellType:
    """A component type of NeuroML.

    Attributes
    ----------
    params : dict of str to str
        Parameter -> the unit that it has here.
    equations : str
        What moves the states.
    start : dict of str to str, float or tuple of str
        State -> its first value: a parameter, a number, or the product of the values of parameters
        in the file.
    threshold, reset, refractory : str
        As in a model that is written as equations.
    positive : tuple of str
        Parameters that must be above 0.
    """

    params: dict[str, str]
    equations: str
    start: dict[str, str | float | tuple[str, ...]]
    threshold: str = ""
    reset: str = ""
    refractory: str = ""
    positive: tuple[str, ...] = ()


_IAF = {"leakReversal": VOLTAGE, "thresh": VOLTAGE, "reset": VOLTAGE}
_TAU = {**_IAF, "tau": TIME}
_CAP = {**_IAF, "C": CAPACITANCE, "leakConductance": CONDUCTANCE}
_TAU_LINE = "dV/dt = (leakReversal - V) / tau : mV"
_CAP_LINES = "I : pA\ndV/dt = (leakConductance * (leakReversal - V) + I) / C : mV"
_RESTS = " (unless refractory)"
_FIRES = {"threshold": "V > thresh", "reset": "V = reset"}
_START: dict[str, str | float | tuple[str, ...]] = {"V": "leakReversal"}

CELL_TYPES = {
    "iafTauCell": CellType(_TAU, _TAU_LINE, _START, **_FIRES, positive=("tau",)),
    "iafTauRefCell": CellType(
        {**_TAU, "refract": TIME},
        _TAU_LINE + _RESTS,
        _START,
        **_FIRES,
        refractory="refract",
        positive=("tau",),
    ),
    "iafCell": CellType(_CAP, _CAP_LINES, _START, **_FIRES, positive=("C", "leakConductance")),
    "iafRefCell": CellType(
        {**_CAP, "refract": TIME},
        _CAP_LINES + _RESTS,
        _START,
        **_FIRES,
        refractory="refract",
        positive=("C", "leakConductance"),
    ),
    "izhikevichCell": CellType(
        {"v0": VOLTAGE, "thresh": VOLTAGE, **dict.fromkeys("abcd", NUMBER)},
        """
        I : 1
        dV/dt = (0.04 * V**2 / mV + 5 * V + (140 - U + I) * mV) / ms : mV
        dU/dt = a * (b * V / mV - U) / ms : 1
        """,
        {"V": "v0", "U": ("b", "v0")},
        threshold="V > thresh",
        reset="V = c * mV; U += d",
    ),
    "izhikevich2007Cell": CellType(
        {
            **dict.fromkeys(("v0", "vr", "vt", "vpeak", "c"), VOLTAGE),
            **{"C": CAPACITANCE, "k": "nS/mV", "a": "1/ms", "b": CONDUCTANCE, "d": CURRENT},
        },
        """
        I : pA
        dV/dt = (k * (V - vr) * (V - vt) + I - u) / C : mV
        du/dt = a * (b * (V - vr) - u) : pA
        """,
        {"V": "v0", "u": 0.0},
        threshold="V > vpeak",
        reset="V = c; u += d",
        positive=("C",),
    ),
    "adExIaFCell": CellType(
        {
            **dict.fromkeys(("EL", "VT", "thresh", "reset", "delT"), VOLTAGE),
            **{"C": CAPACITANCE, "gL": CONDUCTANCE, "a": CONDUCTANCE, "b": CURRENT},
            **{"tauw": TIME, "refract": TIME},
        },
        """
        I : pA
        upstroke = gL * delT * exp((V - VT) / delT) : pA
        dV/dt = (gL * (EL - V) + upstroke - w + I) / C : mV (unless refractory)
        dw/dt = (a * (V - EL) - w) / tauw : pA
        """,
        {"V": "EL", "w": 0.0},
        threshold="V > thresh",
        reset="V = reset; w += b",
        refractory="refract",
        positive=("C", "delT", "tauw"),
    ),
    "fitzHughNagumoCell": CellType(
        {"I": NUMBER},
        """
        dV/dt = (V - V**3 / 3 - W + drive) / (1000*ms) : 1
        dW/dt = 0.08 * (V + 0.7 - 0.8 * W) / (1000*ms) : 1
        """,
        {"V": 0.0, "W": 0.0},
    ),
    "fitzHughNagumo1969Cell": CellType(
        dict.fromkeys(("a", "b", "I", "phi", "V0", "W0"), NUMBER),
        """
        dV/dt = (V - V**3 / 3 - W + drive) / ms : 1
        dW/dt = phi * (V + a - b * W) / ms : 1
        """,
        {"V": "V0", "W": "W0"},
    ),
}
"""Element -> what it means."""

RENAMED = {"I": "drive"}
"""Parameters of NeuroML that have another name here, because I is an input."""
