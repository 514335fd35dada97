"""Generalised leaky integrate-and-fire neuron 4 of the Allen Institute: reset rules, currents."""

from .glif2 import GLIF2
from .glif3 import AFTER, CONSTANTS, JUMP, PARAMS, STATES


class GLIF4(GLIF2):
    """Generalised leaky integrate-and-fire neuron 4 (LIF-R-ASC): reset rules and currents.

    GLIF2 with the two after-spike currents of GLIF3.

    Limits: as GLIF2.
    """

    params = PARAMS
    states = STATES
    constants = CONSTANTS
    parts = {"jump": JUMP, "currents": AFTER}
