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
* ``LeakyIAF_bias`` is LeakyIAF with the bias current ``b`` beside its input, and it rests where it
  is reset, at ``Vr``. ``MorrisLecar_a`` is MorrisLecar with its constants as parameters.
* ``ExpSynapse``: the time constant ``tau`` in s becomes ms, the rate ``a`` per s becomes per ms.
* ``power_gpot_gpot_sig``: ``slope`` is the largest conductance, ``saturation`` a potential.

Some models bear the names of later branches of the library, which were in mV, ms and uA/cm^2. Their
numbers have the names and units of now, also in this form.

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
    copies : mapping of str to str
        Parameters of now that are equal to another one of now.
    fixed : mapping of str to float
        Parameters that were constants in the code, in the units of now.
    spiking : bool
        Whether it emits spikes.
    current : float
        Factor of a current into it.
    potential : float
        Factor of its potentials, reversal potentials of its synapses among them.
    """

    model: str
    params: Renamed
    spiking: bool
    current: float
    optional: frozenset[str] = frozenset()
    copies: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    potential: float = MILLI

    @property
    def conductance(self) -> float:
        """Factor of a conductance onto it."""
        return self.current / self.potential


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
    unused : frozenset of str
        Legacy parameters without a meaning.
    receptors : tuple of (str, str) or ()
        Of a synapse that also reads its target: where the source goes, and where the target.
    """

    model: str
    params: Renamed
    conductances: tuple[str, ...]
    spiking: bool
    power: tuple[str, str] | tuple[()] = field(default=())
    unused: frozenset[str] = frozenset()
    receptors: tuple[str, str] | tuple[()] = field(default=())


def _kept(*names: str) -> Renamed:
    return {name: (name, 1.0) for name in names}


def _volts(*names: str) -> Renamed:
    return {name: (name, MILLI) for name in names}


def _later(model: str, *params: str) -> Neuron:
    """Return a spiking neuron whose numbers have the names and units of now."""
    return Neuron(model, _kept(*params), spiking=True, current=1.0, potential=1.0)


_LEAKY = {
    "V": ("initV", MILLI),
    "Vr": ("reset_potential", MILLI),
    "Vt": ("threshold", MILLI),
    "R": ("resistance", MILLI),
    "C": ("capacitance", 1.0),
}
_MORRIS_LECAR = {**_volts("V1", "V2", "V3", "V4", "offset", "initV"), **_kept("phi", "initn")}

NEURONS: Mapping[str, Neuron] = {
    "LeakyIAF": Neuron(
        model="LeakyIAF",
        params=_LEAKY,
        optional=frozenset({"V"}),
        fixed={"resting_potential": 0.0},
        spiking=True,
        current=1.0,
    ),
    "LeakyIAF_bias": Neuron(
        model="LeakyIAF_bias",
        params={**_LEAKY, "b": ("bias_current", 1.0)},
        optional=frozenset({"V"}),
        copies={"resting_potential": "reset_potential"},
        spiking=True,
        current=1.0,
    ),
    "LeakyIAFwithRefactoryPeriod": _later(
        "LeakyIAFwithRefactoryPeriod", "resting_potential", "threshold", "reset_voltage",
        "capacitance", "refractory_period", "time_constant", "bias_current",
    ),
    "MorrisLecar": Neuron(
        model="MorrisLecar",
        params=_MORRIS_LECAR,
        optional=frozenset({"initV", "initn"}),
        fixed={"V_L": -50.0, "V_Ca": 100.0, "V_K": -70.0, "g_L": 0.5, "g_Ca": 1.1, "g_K": 2.0},
        spiking=False,
        current=MILLI,
    ),
    "MorrisLecar_a": Neuron(
        model="MorrisLecar_a",
        params={
            **_MORRIS_LECAR,
            **_volts("V_l", "V_ca", "V_k"),
            **_kept("G_l", "G_ca", "G_k"),
        },
        optional=frozenset({"initV", "initn"}),
        spiking=False,
        current=MILLI,
    ),
    "Rinzel": _later("Rinzel"),
    "Wilson": _later("Wilson"),
}  # fmt: skip

SYNAPSES: Mapping[str, Synapse] = {
    "AlphaSynapse": Synapse(
        model="AlphaSynapse",
        params={"ar": ("ar", 1 / MILLI), "ad": ("ad", 1 / MILLI), "gmax": ("gmax", MILLI)},
        conductances=("gmax",),
        spiking=True,
    ),
    "AlphaSynapse2": Synapse(
        model="AlphaSynapse2",
        params=_kept("ar", "ad", "gmax"),
        conductances=("gmax",),
        spiking=True,
    ),
    "ExpSynapse": Synapse(
        model="ExpSynapse",
        params={"tau": ("tau", MILLI), "a": ("a", 1 / MILLI), "gmax": ("gmax", 1.0)},
        conductances=("gmax",),
        spiking=True,
    ),
    "exponential_with_stdp": Synapse(
        model="exponential_with_stdp",
        params=_kept("tau_g", "tau_plus", "tau_minus", "eta_plus", "eta_minus", "w_max", "w_min"),
        conductances=("w_max", "w_min"),
        spiking=True,
        receptors=("pre", "post"),
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
    "power_gpot_gpot_sig": Synapse(
        model="power_gpot_gpot_sig",
        params={**_volts("threshold", "saturation"), **_kept("slope")},
        conductances=("slope",),
        spiking=False,
        unused=frozenset({"power"}),
    ),
}

PORTS: Mapping[str, str] = {"port_in_gpot": "gpot", "port_in_spk": "spike"}
"""Legacy model of an input port -> its ``port_type``."""

CURRENTS: Mapping[str, float] = {neuron.model: neuron.current for neuron in NEURONS.values()}
"""Factor of a legacy current into a model (its name now)."""
