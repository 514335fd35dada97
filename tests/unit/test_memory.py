"""``MemoryManager``: layout in bytes, rings, and what a component of one's own is handed."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.backends.memory import MemoryManager
from neurodriver.model.library import shipped
from neurodriver.native.buffers import GUARD, LANES, padded
from neurodriver.plan.compile import compile_circuit

COUNT = 37
DELAY = 7
DT = 1e-4


def chain() -> nd.Circuit:
    """LeakyIAF neurons, each followed by an AMPA synapse with a delay."""
    neuron = {"resting_potential": -70.0, "threshold": -45.0, "reset_potential": -70.0}
    neuron |= {"capacitance": 2.0, "resistance": 10.0}
    each = np.arange(COUNT, dtype=np.int32)
    links = nd.Connections("spike_state", "spike_state", each, COUNT + each, np.asarray(DELAY * DT))
    return nd.Circuit.from_arrays(
        [
            (shipped()["LeakyIAF"], COUNT, neuron, None),
            (shipped()["SynapseAMPA"], COUNT, {"gmax": 1.0, "st": 5.0}, None),
        ],
        [links],
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bytes_are_known_before_anything_is_compiled(dtype: str) -> None:
    """What is announced is what is allocated."""
    program = compile_circuit(chain(), DT, dtype)
    layout = program.layout
    size = np.dtype(dtype).itemsize
    width = padded(COUNT) + LANES
    assert layout.rings["spike_state"].depth == DELAY + 1
    announced = layout.nbytes()
    assert announced["spike_state"] == ((DELAY + 1) * width + 2 * GUARD) * size
    assert announced["V"] == (width + 2 * GUARD) * size  # nobody else reads it
    read = compile_circuit(chain(), DT, dtype, recorded=frozenset({"V"})).layout.nbytes()
    assert read["V"] == (2 * width + 2 * GUARD) * size
    memory = MemoryManager(program, 1e9)
    for variable, ring in layout.rings.items():
        buffer = memory.get_buffer(variable)
        assert buffer.shape == (ring.depth, ring.width)
        assert buffer.nbytes + 2 * GUARD * size == announced[variable]
        assert buffer.ctypes.data % 64 == 0


def test_too_little_memory_is_an_error_that_names_the_variable() -> None:
    """The variable with the longest delay is named, with what to do."""
    program = compile_circuit(chain(), DT)
    with pytest.raises(nd.CircuitError, match=r"'spike_state' alone keeps 8 rows.*shorten"):
        MemoryManager(program, 1000)


def test_buffers_and_pointers_of_the_contract() -> None:
    """Through address, pitch and row a component finds what the LPU itself reads and writes."""
    with nd.LPU(
        chain(),
        DT,
        [nd.StepInput("I", [f"LeakyIAF/{i}" for i in range(COUNT)], 30.0)],
        [nd.MemoryRecorder([("V", None)])],
        backend="cpu",
    ) as lpu:
        lpu.advance(25)
        memory, step = lpu.backend.memory, lpu.step
        buffer = memory.access_buffer("V", step)
        at = buffer.gpudata + buffer.current * buffer.ld * buffer.dtype.itemsize
        seen = np.ctypeslib.as_array((ctypes.c_double * COUNT).from_address(at))
        assert np.array_equal(seen, lpu.get("V"))
        assert np.ptp(lpu.get("V") - -70.0) >= 0 and (seen > -70.0).all()
        assert (buffer.buffer_length, buffer.size) == (2, padded(COUNT))
        target = memory.update_pointers(0, step)
        assert set(target) == {"spike_state", "V"}
        lpu.advance(1)
        written = np.ctypeslib.as_array((ctypes.c_double * COUNT).from_address(target["V"]))
        assert np.array_equal(written, lpu.get("V"))
        assert not np.array_equal(written, seen)


def test_a_circuit_cannot_be_written_through() -> None:
    """Columns are read-only, and the caller's arrays stay their own."""
    mine = np.full(COUNT, 5.0)
    model = shipped()["SynapseAMPA"]
    circuit = nd.Circuit.from_arrays([(model, COUNT, {"gmax": 1.0, "st": mine}, None)])
    with pytest.raises(ValueError, match="read-only"):
        circuit.groups[0].params["st"][0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        chain().connections[0].source[0] = 1
    mine[0] = 6.0


@pytest.mark.parametrize(("dtype", "most"), [("float32", 6.0), ("float64", 10.0)])
def test_bytes_of_a_synapse_that_learns(dtype: str, most: float) -> None:
    """A weight and two bytes for its target; an eligibility is one number more.

    Histories of targets and what is known of sources come to less than a byte here.
    """
    sources = nd.Population("SpikeSource", 500, name="sources")
    cells = nd.Population("LeakyIAFDelta", 600, name="cells", **CELL)
    word = np.dtype(dtype).itemsize
    for rule, more in ((nd.PairSTDP(), 0), (nd.IntervalRewardedSTDP(), word)):
        links = nd.Projection(
            sources, cells, nd.AllToAll(), weight=0.5, plasticity=rule, name="learning"
        )
        program = compile_circuit(nd.Circuit([sources, cells], [links]), DT, dtype)
        rows = [one for one in program.arrays.values() if "learning" in str(one.key.owner)]
        memory = MemoryManager(program, 1e9)
        allocated = sum(memory.array(one.key).nbytes for one in rows if one.size > 1)
        assert sum(memory.array(one.key).size for one in rows if one.key.name == "weight") >= 3e5
        assert most <= allocated / 3e5 - more < most + 1.0


CELL = {
    "resting_potential": -70.0,
    "threshold": -54.0,
    "reset_potential": -60.0,
    "time_constant": 20.0,
}
