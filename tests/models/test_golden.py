"""Rows of the upstream simulator's models, as they were observed in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from support import (
    ALPHA,
    AMPA,
    HH2,
    IAF,
    ML,
    POWER,
    alone,
    assert_rows,
    build,
    node,
    simulate,
    spike_rows,
)

from neurodriver import ArrayInput, Input, RampInput, StepInput

STEPS = 1000


def pulse(value: float, start: float = 0.02, stop: float = 0.08) -> Input:
    """Return a current into ``n`` from step 200 to 799."""
    return StepInput("I", ["n"], value, start, stop)


def spikes(*steps: int) -> Input:
    """Return spikes into ``n`` at some steps."""
    rows = np.zeros((STEPS, 1))
    rows[list(steps)] = 1.0
    return ArrayInput({"spike_state": (["n"], rows)})


def test_leaky_iaf() -> None:
    """Rows and spikes of a leaky integrate-and-fire neuron."""
    record = [("V", None), ("spike_state", None)]
    data = simulate(alone("LeakyIAF", IAF), inputs=pulse(10.0), record=record)
    rows = {200: -70.0, 201: -69.50124792, 202: -69.00498337, 300: -51.0584246,
            500: -65.12294245, 999: -66.48161624}  # fmt: skip
    assert_rows(data, "V", rows)
    assert spike_rows(data) == [258, 316, 374, 432, 490, 548, 606, 664, 722, 780]


def test_hodgkin_huxley2() -> None:
    """Rows and spikes with ten sub-steps a step."""
    given = {**HH2, "initV": -60.0, "initn": 0.3, "initm": 0.05, "inith": 0.6}
    record = [("V", None), ("spike_state", None)]
    data = simulate(alone("HodgkinHuxley2", given), inputs=pulse(20.0), record=record)
    rows = {0: -60.0, 1: -60.18712738, 10: -59.62390066, 100: -74.36586401, 201: -63.23568555,
            999: -64.58257297}  # fmt: skip
    assert_rows(data, "V", rows)
    assert spike_rows(data) == [44, 216, 337, 453, 568, 684, 800]


def test_hodgkin_huxley2_with_the_default_gates() -> None:
    """Rows from n = m = 0, h = 0.92 with one sub-step a step."""
    circuit = alone("HodgkinHuxley2", HH2, initV=-60.0)
    data = simulate(circuit, dt=1e-5, inputs=pulse(20.0, 0.0, 1.0))
    rows = {1: -59.783161, 10: -57.85440873, 100: 49.13790541}
    assert_rows(data, "V", rows)


def test_morris_lecar() -> None:
    """Rows during and after a current that ends at 40 ms."""
    circuit = alone("MorrisLecar", ML, initV=-46.08, initn=0.3525)
    data = simulate(circuit, inputs=pulse(5.0, 0.02, 0.04))
    rows = {1: -46.07930507, 201: -45.66930181, 300: -45.00766162, 401: -45.44731824,
            999: -46.12571291}  # fmt: skip
    assert_rows(data, "V", rows)


@pytest.mark.parametrize(
    ("model", "params", "rows"),
    [
        # the first spike shows in row 2
        ("AlphaSynapse", ALPHA,
         {1: 0.0, 2: 6.27e-06, 3: 1.254e-05, 40: 1.407193376e-04, 42: 1.497779352e-04,
          100: 4.594214743e-04, 999: 1.105787787e-06}),
        # each spike shows in the next row
        ("SynapseAMPA", AMPA,
         {0: 0.0, 1: 0.003, 2: 2.985037438e-03, 41: 5.456192259e-03, 42: 8.428979387e-03,
          401: 4.400284871e-03, 999: 2.21279047e-04}),
    ],
)  # fmt: skip
def test_synapses(model: str, params: dict[str, float], rows: dict[int, float]) -> None:
    """Conductance after four spikes."""
    data = simulate(alone(model, params), inputs=spikes(0, 40, 41, 400), record=[("g", None)])
    assert_rows(data, "g", rows)


def test_power_gpot_gpot() -> None:
    """Conductance while the presynaptic potential rises from -70 to -30 mV in 100 ms."""
    circuit = alone("PowerGPotGPot", POWER)
    ramp = RampInput("V", ["n"], 0.0, 0.1, -70.0, -30.0)
    data = simulate(circuit, inputs=ramp, record=[("g", None)])
    assert_rows(data, "g", {376: 0.0, 377: 0.0008, 500: 0.0992, 875: 0.3992, 876: 0.4})


def test_latency_of_a_chain() -> None:
    """A current at step 1: spike in row 2, g in row 3, I in row 4, V in row 5."""
    eager = {**IAF, "threshold": -69.9999}
    circuit = build(
        {
            "n": node("LeakyIAF", eager),
            "s": node("SynapseAMPA", AMPA, reverse=0.0),
            "b": node("LeakyIAF", IAF),
        },
        [("n", "s"), ("s", "b")],
    )
    current = np.zeros((10, 1))
    current[1] = 100.0
    record = [("spike_state", ["n"]), ("g", ["s"]), ("I", ["auto_0"]), ("V", ["b"])]
    data = simulate(circuit, steps=10, inputs=ArrayInput({"I": (["n"], current)}), record=record)
    assert spike_rows(data) == [2]
    changed = {v: int(np.argmax(data[v][:, 0] != data[v][0, 0])) for v in ("g", "I", "V")}
    assert changed == {"g": 3, "I": 4, "V": 5}
