"""Times that look like milliseconds are told of, others are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support import spiking_network

from neurodriver import Circuit, Connections, FixedProbability, Population, Projection
from neurodriver.errors import CircuitWarning
from neurodriver.model.library import shipped
from neurodriver.plan.compile import compile_circuit

DT = 1e-4
NEURON = {
    "resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0, "capacitance": 250.0,
    "time_constant": 10.0, "tau_exc": 0.5, "tau_inh": 0.5,
}  # fmt: skip


def network(delay: float, drawn: bool) -> Circuit:
    """Return neurons whose spikes travel for so many seconds, listed or drawn."""
    group = (shipped()["LeakyIAFExpCurrent"], 40, NEURON, None)
    if drawn:
        rule = FixedProbability(0.2)
        links = Projection("spike_state", "exc", range(40), range(40), rule, 1.0, delay)
        return Circuit.from_arrays([group], [links], "net")
    ends = np.arange(40, dtype=np.int32)
    late = np.where(ends == 7, delay, 1e-3)
    listed = Connections("spike_state", "exc", ends, ends[::-1].copy(), late, {"weight": 1.0})
    return Circuit.from_arrays([group], [listed], "net")


@pytest.mark.parametrize("drawn", [False, True], ids=["listed", "drawn"])
def test_delays_in_milliseconds(drawn: bool) -> None:
    """The longest delay is told, in seconds and in steps."""
    with pytest.warns(CircuitWarning, match=r"^net: .*up to 1\.5, 15,000 steps: delays are in sec"):
        compile_circuit(network(1.5, drawn), DT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_circuit(network(0.4, drawn), DT)


def test_a_step_in_milliseconds() -> None:
    """A model is named once, with its sub-steps; another whose step is short enough is not."""
    circuit = spiking_network(10, 2, seed=1)
    with pytest.warns(CircuitWarning) as told:
        compile_circuit(circuit, 0.1)
    texts = [str(one.message) for one in told]
    assert [text for text in texts if "LeakyIAF takes 1,000 sub-steps a step: dt = 0.1 is" in text]
    assert len(texts) == len(set(texts)) == len(circuit.groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_circuit(circuit, 4e-3)


def test_a_step_of_a_millisecond() -> None:
    """Channels take a hundred sub-steps then, which is nobody's mistake; a delay of 0 is none."""
    params = {"g_K": 36.0, "g_Na": 120.0, "g_L": 0.3, "E_K": -77.0, "E_Na": 50.0, "E_L": -54.4}
    circuit = Circuit.from_arrays([(shipped()["HodgkinHuxley2"], 3, params, None)])
    assert circuit.groups[0].model.substeps(1e-3) == 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_circuit(circuit, 1e-3)
        compile_circuit(network(0.0, drawn=True), 4e-3)


@pytest.mark.parametrize(
    ("population", "match"),
    [
        (Population("LeakyIAFExpCurrent", 3, **NEURON), "time_constant = 10 ms is shorter"),
        (Population("Izhikevich", 3), "Izhikevich fires once at most in a step of dt = 0.1"),
        (Population("PoissonSource", 3, rate=5.0), ""),
        (Population("GradedNeuron", 3, bias=0.0, time_constant=200.0), ""),
    ],
    ids=["decays", "spikes", "source", "slow"],
)
def test_a_step_that_is_longer_than_what_happens_in_it(population: Population, match: str) -> None:
    """It is told where a model takes no sub-steps; sources and slow models have no such step."""
    circuit = Circuit([population])
    if match:
        with pytest.warns(CircuitWarning, match=f"{match}.*dt is in seconds, 0.1 ms is dt=1e-4"):
            compile_circuit(circuit, 0.1)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_circuit(circuit, 0.1)
