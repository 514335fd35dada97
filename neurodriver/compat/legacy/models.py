"""What the models of the legacy form meant by their numbers, and what they are called now.

The legacy form was in volts, with some rates per second. One rule for each quantity keeps the
dynamics as they were, to rounding:

* A potential in V becomes mV: x 1000.
* ``MorrisLecar`` was ``dV/dt = I - g (V - E) + offset`` in V/ms with g in mS/cm^2 and 1 uF/cm^2, so
  a current was in mA/cm^2: x 1000 makes it uA/cm^2. Conductances and ``phi`` keep their numbers.
  Its reversal potentials and conductances were fixed in its code.
* ``LeakyIAF`` rests at 0 and has ``V = R I`` in V and ``tau = R C`` in s. With a current in
  uA/cm^2 R is in MOhm cm^2: x 1000 makes it kOhm cm^2, then R C is in ms, and C and currents keep
  their numbers. A conductance onto it was in uA/cm^2/V: x 0.001 makes it mS/cm^2.
* ``AlphaSynapse``: the rates ``ar`` and ``ad`` per s become rates per ms. A spike adds the number
  ``ar ad`` to ``z'``: per s it is 10^6 times the number per ms, and ``z'`` itself is only 10^3
  times, so ``z`` was 1000 times as large: ``gmax`` x 1000.
* ``power_gpot_gpot``: ``slope (V - threshold)^power`` keeps its value in mV with ``slope x
  1000^-power``; ``saturation`` is a conductance.

Source: Givon & Lazar 2016, PLoS ONE 11:e0146581, doi:10.1371/journal.pone.0146581 (the library),
and the kernels of its releases before September 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MILLI = 1e3
"""Millivolts in a volt, and everything else that is a thousandth."""

Renamed = Mapping[str, tuple[str, float]]
"""Legacy name of a parameter -> its name now, and the factor of its number."""


@dataclass(frozen=True)
class Neuron:
    """A legacy neuron model.

    Attributes
    ----------
    model : str
        Its name now.
    params : mapping of str to (str, float)
        Legacy parameters.
    optional : frozenset of str
        Legacy parameters that may be missing.
    fixed : mapping of str to float
        Parameters that were constants in the code, in the units of now.
    spiking : bool
        Whether it emits spikes.
    current : float
        Factor of a current into it.
    """

    model: str
    params: Renamed
    optional: frozenset[str]
    fixed: Mapping[str, float]
    spiking: bool
    current: float


@dataclass(frozen=True)
class Synapse:
    """A legacy synapse model.

    Attributes
    ----------
    model : str
        Its name now.
    params : mapping of str to (str, float)
        Legacy parameters.
    conductances : tuple of str
        Those that are conductances (names of now): they follow the unit of the target's current.
    spiking : bool
        Whether its source emits spikes.
    power : tuple of (str, str) or ()
        A parameter per mV to a power, and the parameter that is the power.
    """

    model: str
    params: Renamed
    conductances: tuple[str, ...]
    spiking: bool
    power: tuple[str, str] | tuple[()] = field(default=())


NEURONS: Mapping[str, Neuron] = {
    "LeakyIAF": Neuron(
        model="LeakyIAF",
        params={
            "V": ("initV", MILLI),
            "Vr": ("reset_potential", MILLI),
            "Vt": ("threshold", MILLI),
            "R": ("resistance", MILLI),
            "C": ("capacitance", 1.0),
        },
        optional=frozenset({"V"}),
        fixed={"resting_potential": 0.0},
        spiking=True,
        current=1.0,
    ),
    "MorrisLecar": Neuron(
        model="MorrisLecar",
        params={
            **{name: (name, MILLI) for name in ("V1", "V2", "V3", "V4", "offset", "initV")},
            **{name: (name, 1.0) for name in ("phi", "initn")},
        },
        optional=frozenset({"initV", "initn"}),
        fixed={"V_L": -50.0, "V_Ca": 100.0, "V_K": -70.0, "g_L": 0.5, "g_Ca": 1.1, "g_K": 2.0},
        spiking=False,
        current=MILLI,
    ),
}

SYNAPSES: Mapping[str, Synapse] = {
    "AlphaSynapse": Synapse(
        model="AlphaSynapse",
        params={"ar": ("ar", 1 / MILLI), "ad": ("ad", 1 / MILLI), "gmax": ("gmax", MILLI)},
        conductances=("gmax",),
        spiking=True,
    ),
    "power_gpot_gpot": Synapse(
        model="PowerGPotGPot",
        params={
            "threshold": ("threshold", MILLI),
            "slope": ("slope", 1.0),
            "power": ("power", 1.0),
            "saturation": ("saturation", 1.0),
        },
        conductances=("slope", "saturation"),
        spiking=False,
        power=("slope", "power"),
    ),
}

PORTS: Mapping[str, str] = {"port_in_gpot": "gpot", "port_in_spk": "spike"}
"""Legacy model of an input port -> its ``port_type``."""

CURRENTS: Mapping[str, float] = {neuron.model: neuron.current for neuron in NEURONS.values()}
"""Factor of a legacy current into a model (its name now)."""

UNITS: Mapping[str, str] = {
    "MorrisLecar": "potentials V -> mV, currents mA -> uA per cm^2, constants added",
    "LeakyIAF": "potentials V -> mV, R x 1000 (R C in ms), currents as they are, rest at 0 mV",
    "AlphaSynapse": "ar, ad 1/s -> 1/ms, gmax x 1000 onto MorrisLecar; reverse V -> mV",
    "PowerGPotGPot": "threshold, reverse V -> mV, slope x 1000^-power",
}
"""What becomes of the numbers of a model (its name now)."""
