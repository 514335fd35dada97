"""Every shipped model: alone, with random parameters, and a random input into all that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import neurodriver as nd

from .case import COUNT, DT, STEPS, Case, How, Values, drawn, named, simulated
from .names import shipped

Ranges = dict[str, Any]
"""Name -> a number, or bounds between which components differ."""

IAF: Ranges = {
    "resting_potential": -70.0, "threshold": (-60.0, -50.0), "reset_potential": -70.0,
    "capacitance": (1.5, 2.5), "resistance": (8.0, 12.0), "initV": (-70.0, -60.0),
}  # fmt: skip
REFRACTORY: Ranges = {
    "resting_potential": -70.0, "threshold": (-60.0, -50.0), "reset_potential": -70.0,
    "capacitance": (1.5, 2.5), "refractory_period": (0.5, 3.0), "time_constant": (5.0, 20.0),
    "bias_current": (0.0, 1.0), "initV": (-70.0, -60.0),
}  # fmt: skip
REFACTORY: Ranges = {
    ("reset_voltage" if name == "reset_potential" else name): given
    for name, given in REFRACTORY.items()
}
POINT: Ranges = {
    "resting_potential": -70.0, "threshold": (-60.0, -50.0), "reset_potential": -65.0,
    "capacitance": (200.0, 300.0), "refractory_period": (0.0, 2.0), "tau_exc": (0.5, 2.0),
    "tau_inh": (2.0, 5.0), "initV": (-70.0, -50.0),
}  # fmt: skip
CURRENT: Ranges = {**POINT, "time_constant": (8.0, 12.0)}
CONDUCTANCE: Ranges = {**POINT, "leak_conductance": (10.0, 20.0)}
ADAPTIVE: Ranges = {"b": (60.0, 100.0), "initV": (-70.0, -45.0)}
DELTA: Ranges = {
    "resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
    "time_constant": (10.0, 20.0), "refractory_period": (0.0, 1.0), "initV": (-60.0, -48.0),
}  # fmt: skip
MORRIS_LECAR: Ranges = {
    "V1": -1.2, "V2": 18.0, "V3": 2.0, "V4": 30.0, "phi": (0.03, 0.05), "offset": 0.0,
    "V_L": -60.0, "V_Ca": 120.0, "V_K": -84.0, "g_L": (0.05, 0.15), "g_Ca": 0.22, "g_K": 0.4,
    "initV": (-60.0, -30.0),
}  # fmt: skip
MORRIS_LECAR_A: Ranges = {
    {"V_L": "V_l", "V_Ca": "V_ca", "V_K": "V_k", "g_L": "G_l", "g_Ca": "G_ca", "g_K": "G_k"}.get(
        name, name
    ): given
    for name, given in MORRIS_LECAR.items()
}
GATES: Ranges = {"n": (0.2, 0.4), "m": 0.05, "h": (0.5, 0.7)}
SQUID: Ranges = {
    "g_K": (30.0, 40.0), "g_Na": (110.0, 130.0), "g_L": 0.3, "E_K": -77.0, "E_Na": 50.0,
    "E_L": -54.387, "initn": 0.3, "initm": 0.05, "inith": 0.6,
}  # fmt: skip
ALPHA: Ranges = {"gmax": (0.01, 0.05), "ar": (0.5, 1.0), "ad": (0.2, 0.4)}
AMPA: Ranges = {"gmax": (0.01, 0.05), "st": (2.0, 8.0)}
IZHIKEVICH: Ranges = {
    "a": (0.02, 0.1), "b": (0.2, 0.25), "c": (-65.0, -50.0), "d": (2.0, 8.0),
    "initV": (-65.0, -40.0),
}  # fmt: skip
GLIF: Ranges = {
    "resting_potential": -70.0, "threshold": (-60.0, -50.0), "leak_conductance": (8.0, 12.0),
    "capacitance": (60.0, 120.0), "refractory_period": (0.5, 3.0), "tau_syn2": 5.0,
    "initV": (-70.0, -60.0),
}  # fmt: skip
GLIF_RULES: Ranges = {
    "reset_fraction": (0.1, 0.3), "reset_add": (0.0, 3.0), "threshold_add": (0.5, 2.0),
    "tau_threshold": (20.0, 100.0),
}  # fmt: skip
GLIF_CURRENTS: Ranges = {
    "tau_asc1": 300.0, "tau_asc2": (5.0, 20.0), "asc1_add": -9.0, "asc2_add": (-90.0, 50.0),
    "asc2_fraction": 0.5,
}  # fmt: skip
NIR_LEAK: Ranges = {"tau": (0.01, 0.03), "r": (0.5, 2.0), "v_leak": (-0.5, 0.5), "bias": 0.2}
NIR_CUBA: Ranges = {
    "tau_syn": (0.004, 0.006), "tau_mem": (0.01, 0.02), "r": (0.5, 2.0), "v_leak": (-0.5, 0.5),
    "w_in": (0.5, 2.0),
}  # fmt: skip
NIR_FIRE: Ranges = {"v_threshold": (0.6, 1.0), "v_reset": (-0.2, 0.0)}
POWER: Ranges = {"threshold": -55.0, "slope": 0.02, "power": (0.5, 2.0), "saturation": 0.4}

SPIKES = (0.0, 0.05)
"""Stands for spikes instead of values: the mean of a step lies between these."""
VOLTS, LIGHT = (-80.0, 0.0), (0.0, 3e4)

MODELS: dict[str, tuple[Ranges, dict[str, tuple[float, float]]]] = {
    "AdaptiveExpIAF": (ADAPTIVE, {"I": (500.0, 2000.0), "spike_state": SPIKES}),
    "AdaptiveExpIAFAlphaConductance": (ADAPTIVE, {"I": (500.0, 2000.0), "spike_state": SPIKES}),
    "AdaptiveExpIAFConductance": (ADAPTIVE, {"I": (500.0, 2000.0), "spike_state": SPIKES}),
    "AlphaSynapse": (ALPHA, {"spike_state": SPIKES}),
    "AlphaSynapse2": ({**ALPHA, "ar": (1.0, 2.0)}, {"spike_state": SPIKES}),
    "BufferPhoton": ({}, {"photon": LIGHT}),
    "BufferVoltage": ({}, {"V": VOLTS}),
    "ConnorStevens": ({**GATES, "a": 0.5, "b": 0.1}, {"I": (0.0, 80.0)}),
    "ExpSynapse": ({"gmax": (0.01, 0.05), "tau": (2.0, 8.0), "a": 0.5}, {"spike_state": SPIKES}),
    "GLIF1": ({**GLIF, "reset_potential": -68.0}, {"I": (100.0, 500.0), "spike_state": SPIKES}),
    "GLIF2": ({**GLIF, **GLIF_RULES}, {"I": (100.0, 500.0), "spike_state": SPIKES}),
    "GLIF3": (
        {**GLIF, "reset_potential": -68.0, **GLIF_CURRENTS},
        {"I": (100.0, 500.0), "spike_state": SPIKES},
    ),
    "GLIF4": (
        {**GLIF, **GLIF_RULES, **GLIF_CURRENTS},
        {"I": (100.0, 500.0), "spike_state": SPIKES},
    ),
    "GLIF5": (
        {**GLIF, **GLIF_RULES, **GLIF_CURRENTS, "voltage_coupling": 0.005, "tau_voltage": 11.0},
        {"I": (100.0, 500.0), "spike_state": SPIKES},
    ),
    "GradedNeuron": (
        {"time_constant": (5.0, 20.0), "bias": (-0.5, 0.5)},
        {"I": (-1.0, 2.0), "r": (0.0, 1.0)},
    ),
    "HodgkinHuxley": (GATES, {"I": (0.0, 40.0)}),
    "HodgkinHuxley2": (SQUID, {"I": (0.0, 40.0)}),
    "Izhikevich": (IZHIKEVICH, {"I": (0.0, 40.0), "spike_state": SPIKES}),
    "IzhikevichEuler": (IZHIKEVICH, {"I": (0.0, 40.0), "spike_state": SPIKES}),
    "IzhikevichNoisy": ({**IZHIKEVICH, "noise": 10.0}, {"I": (0.0, 40.0), "spike_state": SPIKES}),
    "LeakyIAF": (IAF, {"I": (0.0, 8.0)}),
    "LeakyIAFAlphaConductance": (CONDUCTANCE, {"I": (0.0, 1000.0), "spike_state": SPIKES}),
    "LeakyIAFAlphaCurrent": (CURRENT, {"I": (0.0, 1000.0), "spike_state": SPIKES}),
    "LeakyIAFAlphaCurrentDriven": (
        {**CURRENT, "drive_rate": (5e3, 1e4), "drive_weight": 80.0},
        {"I": (0.0, 500.0), "spike_state": SPIKES},
    ),
    "LeakyIAFDelta": (DELTA, {"I": (0.0, 2.0), "spike_state": SPIKES}),
    "LeakyIAFDeltaDriven": (
        {**DELTA, "drive_rate": (5e3, 1e4), "drive_weight": 0.3},
        {"I": (0.0, 2.0), "spike_state": SPIKES},
    ),
    "LeakyIAFExpConductance": (CONDUCTANCE, {"I": (0.0, 1000.0), "spike_state": SPIKES}),
    "LeakyIAFExpConductanceEuler": (CONDUCTANCE, {"I": (0.0, 1000.0), "spike_state": SPIKES}),
    "LeakyIAFExpCurrent": (CURRENT, {"I": (0.0, 1000.0), "spike_state": SPIKES}),
    "LeakyIAFExpCurrentDriven": (
        {**CURRENT, "drive_rate": (5e3, 1e4), "drive_weight": 80.0},
        {"I": (0.0, 500.0), "spike_state": SPIKES},
    ),
    "LeakyIAFShiu": ({"initV": (-52.0, -44.0), "tau": (1.0, 5.0)}, {"spike_state": (0.1, 0.5)}),
    "LeakyIAF_bias": ({**IAF, "bias_current": (0.0, 1.0)}, {"I": (0.0, 8.0)}),
    "LeakyIAFwithRefactoryPeriod": (REFACTORY, {"I": (0.0, 10.0)}),
    "LeakyIAFwithRefractoryPeriod": (REFRACTORY, {"I": (0.0, 10.0)}),
    "MorrisLecar": (MORRIS_LECAR, {"I": (0.0, 10.0)}),
    "MorrisLecar_a": (MORRIS_LECAR_A, {"I": (0.0, 10.0)}),
    "NIRCubaLI": (NIR_CUBA, {"I": (0.0, 1.0), "spike_state": SPIKES}),
    "NIRCubaLIF": ({**NIR_CUBA, **NIR_FIRE}, {"I": (0.0, 2.0), "spike_state": SPIKES}),
    "NIRIF": ({**NIR_FIRE, "r": (50.0, 200.0)}, {"I": (0.0, 2.0), "spike_state": SPIKES}),
    "NIRLI": (NIR_LEAK, {"I": (0.0, 1.0), "spike_state": SPIKES}),
    "NIRLIF": ({**NIR_LEAK, **NIR_FIRE}, {"I": (0.0, 2.0), "spike_state": SPIKES}),
    "NoisyCurrent": ({"mean": (0.0, 1.0), "sigma": (0.5, 1.0)}, {}),
    "OrnsteinUhlenbeckCurrent": (
        {"mean": (0.0, 1.0), "sigma": (0.5, 1.0), "time_constant": (2.0, 8.0)},
        {},
    ),
    "PhotoreceptorModel": ({"init_V": (-84.0, -80.0)}, {"photon": LIGHT, "I": (0.0, 0.5)}),
    "PoissonCounts": ({"rate": (500.0, 2e4)}, {"rate": (0.0, 1e4)}),
    "PoissonPulses": (
        {"rate": (100.0, 500.0), "amplitude": (1.0, 2.0), "duration": (0.5, 2.0)},
        {"rate": (0.0, 500.0)},
    ),
    "PoissonSource": ({"rate": (100.0, 500.0)}, {"rate": (0.0, 500.0)}),
    "PowerGPotGPot": (POWER, {"V": VOLTS}),
    "Rinzel": ({"initW": (0.35, 0.45)}, {"I": (0.0, 40.0)}),
    "SigmoidSynapse": (
        {"threshold": -55.0, "slope": (0.02, 0.1), "gmax": 0.4, "scale": (0.5, 2.0)},
        {"V": VOLTS},
    ),
    "SpikeSource": ({}, {"spike_state": SPIKES}),
    "SynapseAMPA": (AMPA, {"spike_state": SPIKES}),
    "SynapseGABA": (AMPA, {"spike_state": SPIKES}),
    "SynapseNMDA": ({**AMPA, "Mg": (0.5, 1.5)}, {"spike_state": SPIKES, "V": VOLTS}),
    "TraubMiles": (
        {"g_L": (8.0, 12.0), "initV": (-70.0, -40.0)},
        {"I": (0.0, 2000.0), "spike_state": SPIKES},
    ),
    "Wilson": ({"tau_R": (1.5, 2.5)}, {"I": (0.0, 120.0)}),
    "power_gpot_gpot_sig": (
        {"threshold": -55.0, "slope": (0.2, 0.6), "saturation": 20.0},
        {"V": VOLTS},
    ),
}
"""Model -> parameters and inputs, which are uniform numbers between two bounds."""

WIRED = ("Aggregator", "GapJunction", "GapJunctions", "exponential_with_stdp")
"""Models that compute nothing without connections; `networks` has them."""

CELLS = 143
"""Photoreceptors, as these take long."""


def cases() -> Iterator[Case]:
    """Yield a case for each model.

    Raises
    ------
    RuntimeError
        Where a shipped model is missing here.
    """
    unknown = set(shipped()) ^ {*MODELS, *WIRED}
    if unknown:
        raise RuntimeError(f"the zoo's models and the shipped ones differ in {sorted(unknown)}")
    for name in MODELS:
        yield Case(f"model {name}", partial(alone, name))


def alone(name: str, how: How) -> Values:
    """Run components of one model without connections."""
    ranges, inputs = MODELS[name]
    rng = np.random.default_rng(len(name))
    count = CELLS if name == "PhotoreceptorModel" else COUNT
    params = drawn(rng, ranges, count)
    if name == "PhotoreceptorModel":
        params["num_microvilli"] = rng.integers(30, 61, count).astype(float)
    uids = named(name, count)
    model = shipped()[name]
    circuit = nd.Circuit.from_arrays([(model, count, params, uids)])
    rows: dict[str, Any] = {}
    for variable, (low, high) in inputs.items():
        if variable == "spike_state":
            values = rng.poisson(rng.uniform(low, high, count), (STEPS, count)).astype(float)
        else:
            # each component has its own level, and swings around it from step to step
            level, swing = rng.uniform(low, high, count), rng.uniform(0.8, 1.2, (STEPS, count))
            values = level * swing
        rows[variable] = uids, values
    given = [nd.ArrayInput(rows)] if rows else []
    return simulated(how, circuit, given, list(model.updates), dt=DT, seed=3)
