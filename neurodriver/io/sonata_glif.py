"""The GLIF neurons of NEST and BMTK, as SONATA files name them.

NEST 3 has one model ``glif_psc``, and three of its parameters say which of the five neurons it is.
The earlier module for NEST has a model for each. BMTK takes the parameter files of the Allen Cell
Types Database for the latter: units are V, s, F and Ohm there, and potentials are relative to
``El_reference``. The conversion of these is that of BMTK 1.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .sonata_template import Column, Derived, Template, TemplateChoice, Theirs, Value

PORTS = ("syn1", "syn2", "syn3", "syn4")
"""Receptors of edges whose ``receptor_type`` is 1 to 4."""

REFERENCE = "El_reference"
ALLEN_TAU = (5.5, 8.5, 2.8, 5.8)
"""Time constants of these receptors in ms, which BMTK gives to the files of the database."""

_OPTIONAL = {
    "asc_init[0]": 0.0,
    "asc_init[1]": 0.0,
    **{f"tau_syn[{i}]": 2.0 for i in range(4)},
}
"""Parameters of the module that a file need not give."""

RESET, CURRENTS, FOLLOWS = (2, 4, 5), (3, 4, 5), (5,)
"""Numbers of the neurons with rules of reset, currents after spikes, a threshold that follows V."""

FLAGS = ("spike_dependent_threshold", "after_spike_currents", "adapting_threshold")
FLAGS_OF = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1))
"""Parameters of ``glif_psc`` that choose the neuron, and their values for GLIF1 to GLIF5."""

_LISTS = {
    "asc_init": (0.0, 0.0),
    "asc_decay": (0.003, 0.1),
    "asc_amps": (-9.18, -198.94),
    "asc_r": (1.0, 1.0),
    "tau_syn": (2.0, 2.0, 2.0, 2.0),
}
_DEFAULTS = {
    "E_L": -78.85,
    "V_m": -78.85,
    "V_th": -51.68,
    "V_reset": -78.85,
    "g": 9.43,
    "C_m": 58.72,
    "t_ref": 3.75,
    "th_spike_add": 0.37,
    "th_spike_decay": 0.009,
    "voltage_reset_fraction": 0.2,
    "voltage_reset_add": 18.51,
    "th_voltage_index": 0.005,
    "th_voltage_decay": 0.09,
    **{f"{name}[{i}]": value for name, values in _LISTS.items() for i, value in enumerate(values)},
}
"""Parameters of ``glif_psc`` with NEST's defaults."""


def _product(*names: str, factor: float = 1.0) -> Derived:
    """Return the product of some parameters and a factor."""

    def product(*columns: Column) -> Column:
        return np.asarray(np.prod(np.array(columns), axis=0) * factor)

    return Derived(product, *names)


def _inverse(*names: str, factor: float = 1.0) -> Derived:
    """Return one over the product of some parameters and a factor."""
    product = _product(*names, factor=factor)
    return Derived(lambda *columns: 1.0 / product.of(*columns), *names)


def _first(value: Column, other: Column) -> Column:
    """Return a value, and another where it is not given."""
    return np.where(np.isnan(value), other, value)


def _either(decay: Column, k: Column) -> Column:
    """Return the time constant of a decay that has one of two names."""
    return np.asarray(1.0 / _first(decay, k))


def _conductance(part: Column, resistance: Column) -> Column:
    """Return nS from Ohm."""
    return np.asarray(part / resistance * 1e9)


def _of(number: int, **values: Value) -> dict[str, Value]:
    """Return those of some parameters that GLIF1 to GLIF5 has, by its number."""
    parts = {"reset_potential": number not in RESET}
    parts |= dict.fromkeys(("reset_fraction", "reset_add"), number in RESET)
    parts |= dict.fromkeys(("threshold_add", "tau_threshold"), number in RESET)
    parts |= dict.fromkeys(("voltage_coupling", "tau_voltage"), number in FOLLOWS)
    return {
        name: value
        for name, value in values.items()
        if (number in CURRENTS if "asc" in name else parts.get(name, True))
    }


def _nest(number: int) -> Template:
    """Return the template of ``glif_psc`` with the flags of one neuron."""
    params = _of(
        number,
        resting_potential="E_L",
        initV="V_m",
        threshold="V_th",
        reset_potential="V_reset",
        leak_conductance="g",
        capacitance="C_m",
        refractory_period="t_ref",
        reset_fraction="voltage_reset_fraction",
        reset_add="voltage_reset_add",
        threshold_add="th_spike_add",
        tau_threshold=_inverse("th_spike_decay"),
        voltage_coupling="th_voltage_index",
        tau_voltage=_inverse("th_voltage_decay"),
        **{f"tau_asc{i + 1}": _inverse(f"asc_decay[{i}]") for i in (0, 1)},
        **{f"asc{i + 1}_add": f"asc_amps[{i}]" for i in (0, 1)},
        **{f"asc{i + 1}_fraction": f"asc_r[{i}]" for i in (0, 1)},
        **{f"initI_asc{i + 1}": f"asc_init[{i}]" for i in (0, 1)},
        **{f"tau_{port}": f"tau_syn[{i}]" for i, port in enumerate(PORTS)},
    )
    defaults = {**_DEFAULTS, **dict.fromkeys(FLAGS, 0.0)}
    return Template(f"GLIF{number}", params, defaults, ports=PORTS)


def _module(number: int) -> Template:
    """Return the template of a neuron of the module for NEST 2. It needs nearly all parameters."""
    params = _of(
        number,
        resting_potential="E_L",
        initV=Derived(_first, "V_m", "E_L"),
        threshold="V_th",
        reset_potential="V_reset",
        leak_conductance="g",
        capacitance="C_m",
        refractory_period="t_ref",
        reset_fraction="a_reset",
        reset_add="b_reset",
        threshold_add="a_spike",
        tau_threshold=_inverse("b_spike"),
        voltage_coupling="a_voltage",
        tau_voltage=_inverse("b_voltage"),
        **{f"tau_asc{i + 1}": Derived(_either, f"asc_decay[{i}]", f"k[{i}]") for i in (0, 1)},
        **{f"asc{i + 1}_add": f"asc_amps[{i}]" for i in (0, 1)},
        **{f"initI_asc{i + 1}": f"asc_init[{i}]" for i in (0, 1)},
        **{f"tau_{port}": f"tau_syn[{i}]" for i, port in enumerate(PORTS)},
    )
    exact = {"V_dynamics_method": ("linear_exact",)}
    return Template(f"GLIF{number}", params, _OPTIONAL, ports=PORTS, words=exact)


def _allen(number: int) -> Template:
    """Return the template of a neuron of the Allen Cell Types Database, as BMTK converts it."""
    tau, amp = "asc_tau_array", "asc_amp_array"
    spike, reset = "threshold_dynamics_method.params", "voltage_reset_method.params"
    rest = Derived(lambda el, zero: (el + zero) * 1e3, "El", REFERENCE)
    params = _of(
        number,
        resting_potential=rest,
        initV=rest,
        threshold=Derived(
            lambda part, rise, zero: (part * rise + zero) * 1e3,
            *("coeffs.th_inf", "th_inf", REFERENCE),
        ),
        reset_potential=_product(REFERENCE, factor=1e3),
        leak_conductance=Derived(_conductance, "coeffs.G", "R_input"),
        capacitance=_product("coeffs.C", "C", factor=1e12),
        refractory_period=_product("spike_cut_length", "dt", factor=1e3),
        reset_fraction=f"{reset}.a",
        reset_add=_product(f"{reset}.b", factor=1e3),
        threshold_add=_product(f"{spike}.a_spike", factor=1e3),
        tau_threshold=_inverse(f"{spike}.b_spike", factor=1e-3),
        voltage_coupling=_product(f"{spike}.a_voltage", "coeffs.a", factor=1e-3),
        tau_voltage=_inverse(f"{spike}.b_voltage", "coeffs.b", factor=1e-3),
        **{f"tau_asc{i + 1}": _product(f"{tau}[{i}]", factor=1e3) for i in (0, 1)},
        **{
            f"asc{i + 1}_add": _product(f"{amp}[{i}]", f"coeffs.{amp}[{i}]", factor=1e12)
            for i in (0, 1)
        },
        **{f"initI_asc{i + 1}": _product(f"init_AScurrents[{i}]", factor=1e12) for i in (0, 1)},
        **{f"tau_{port}": value for port, value in zip(PORTS, ALLEN_TAU, strict=True)},
    )
    return Template(f"GLIF{number}", params, ports=PORTS, aside=("*",))


def _by_flags(p: Theirs, count: int) -> NDArray[np.int64]:
    given = np.array([np.nan_to_num(p.get(name, np.zeros(count))) for name in FLAGS]) != 0
    same = (given.T[:, None, :] == np.array(FLAGS_OF, bool)).all(axis=2)
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)


def _by_type(p: Theirs, count: int) -> NDArray[np.int64]:
    """Return 1 for nodes whose parameters are those of the database."""
    return np.broadcast_to(np.asarray(p.get("type", "")) == "GLIF", count).astype(np.int64)


_NUMBERS = {"lif": 1, "lif_r": 2, "lif_asc": 3, "lif_r_asc": 4, "lif_r_asc_a": 5}
_COMBINED = "none of " + ", ".join(FLAGS) + "; the first, the second, or both; or all three"
GLIF: dict[str, Template | TemplateChoice] = {
    "nest:glif_psc": TemplateChoice(tuple(_nest(n) for n in range(1, 6)), _by_flags, _COMBINED),
    **{
        f"nest:glif_{name}_psc": TemplateChoice((_module(number), _allen(number)), _by_type)
        for name, number in _NUMBERS.items()
    },
}
"""Templates of GLIF neurons."""
