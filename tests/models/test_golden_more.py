"""Rows of the upstream simulator for the models that came later, and for their equals."""

from __future__ import annotations

import numpy as np
import pytest
from support import (
    AMPA,
    HH2,
    alone,
    assert_rows,
    assert_same_bits,
    build,
    node,
    simulate,
    spike_rows,
)

from neurodriver import ArrayInput, Input, StepInput

STEPS = 1000
SPIKES = (0, 40, 41, 400)
HH = {"n": 0.0, "m": 0.0, "h": 1.0}
NMDA = {"gmax": 0.0006, "st": 100.0, "Mg": 1.0}
BOTH = [("V", None), ("spike_state", None)]


def spikes(uids: list[str], **held: float) -> Input:
    """Return four spikes into components, and variables that are held."""
    rows = np.zeros((STEPS, len(uids)))
    rows[list(SPIKES)] = 1.0
    more = {v: (uids, np.full((STEPS, len(uids)), value)) for v, value in held.items()}
    return ArrayInput({"spike_state": (uids, rows), **more})


def test_hodgkin_huxley() -> None:
    """Rows and spikes with ten sub-steps a step; the parameters are where the gates start."""
    data = simulate(
        alone("HodgkinHuxley", HH, initV=-65.0),
        inputs=StepInput("I", ["n"], 40.0, 0.02, 0.08), record=BOTH,
    )  # fmt: skip
    rows = {0: -65.0, 1: -64.68376424, 2: -64.35668655, 10: -60.32562464, 100: -73.08929865,
            201: -60.8544214, 500: 0.5404141799, 999: -64.88804543}  # fmt: skip
    assert_rows(data, "V", rows)
    assert spike_rows(data) == [24, 211, 312, 405, 497, 589, 681, 773]


def test_hodgkin_huxley_is_hodgkin_huxley2(dtype: str) -> None:
    """With the same conductances and gates the bits are the same."""
    gates = {"n": 0.3, "m": 0.05, "h": 0.6}
    circuits = (
        alone("HodgkinHuxley", gates, initV=-60.0),
        alone("HodgkinHuxley2", HH2, initV=-60.0, **{f"init{k}": v for k, v in gates.items()}),
    )
    current = StepInput("I", ["n"], 20.0, 0.02, 0.08)
    one, other = (simulate(c, inputs=current, record=BOTH, dtype=dtype) for c in circuits)
    assert len(spike_rows(one)) == 7
    assert_same_bits(one, other)


def test_synapse_nmda() -> None:
    """Conductance after four spikes at -55 mV; each one shows in the next row."""
    data = simulate(alone("SynapseNMDA", NMDA), inputs=spikes(["n"], V=-55.0), record=[("g", None)])
    rows = {0: 0.0, 1: 3.984340128e-05, 41: 5.400741538e-05, 42: 5.980617222e-05,
            401: 5.529722707e-05, 999: 3.040851792e-05}  # fmt: skip
    assert_rows(data, "g", rows)


@pytest.mark.parametrize("dt", [1e-4, 2.5e-4])
def test_synapse_gaba_is_synapse_ampa(dtype: str, dt: float) -> None:
    """The bits are the same, and so is the current into a neuron."""
    found = []
    for kind in ("SynapseAMPA", "SynapseGABA"):
        circuit = build(
            {
                "s": node(kind, AMPA, reverse=-80.0),
                "b": node("GradedNeuron", {"time_constant": 5.0, "bias": -60.0}),
            },
            [("s", "b")],
        )
        record = [("g", None), ("I", ["auto_0"]), ("V", ["b"])]
        found.append(simulate(circuit, dt, STEPS, spikes(["s"]), record, dtype=dtype))
    assert found[0]["I"].min() < 0.0
    assert_same_bits(*found)
