"""Bytes that a kernel moves in a step, against counts by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import AMPA, IAF, all_to_all, model, spiking_network

from neurodriver import Circuit, Connections
from neurodriver.backends.traffic import Traffic, bytes_of, values_read
from neurodriver.circuits import optic_lobe
from neurodriver.codegen.generate import Task, generate
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.program import Program

DT = 1e-4


def unit_of(program: Program, name: str) -> Task:
    """Return the unit with a kernel of that name."""
    return next(task for task in generate(program).tasks if task.kernel.name == name)


def traffic(name: str, circuit: Circuit, dtype: str = "float64", **given: Any) -> Traffic:
    """Return what one kernel of a circuit moves."""
    program = compile_circuit(circuit, DT, dtype, **given)
    return bytes_of(program, unit_of(program, name))


def test_neurons_with_a_current(dtype: str) -> None:
    """V is read and written, I read, spikes written; places are counted in whole sixteens."""
    circuit = Circuit.from_arrays([(model("LeakyIAF"), 150, IAF, None)])
    found = traffic("LeakyIAF", circuit, dtype, targets=[("I", circuit.uids.tolist())])
    real = np.dtype(dtype).itemsize
    assert found == Traffic((160 + 150) * real, (160 + 160) * real, 0)


def test_synapses() -> None:
    """Parameters count where they differ and are read at each step; sources count once."""
    groups = [
        (model("LeakyIAF"), 16, IAF, None),
        (
            model("SynapseAMPA"),
            32,
            {"gmax": np.arange(1.0, 33.0), "st": np.arange(1.0, 33.0)},
            None,
        ),
    ]
    links = Connections(
        "spike_state",
        "spike_state",
        (np.arange(32) % 3).astype(np.int32),
        16 + np.arange(32, dtype=np.int32),
    )
    circuit = Circuit.from_arrays(groups, [links])
    assert traffic("LeakyIAF", circuit) == Traffic(16 * 8, 2 * 16 * 8, 0)
    indexed = 32 * 4 + 3 * 8  # not read while no neuron spikes
    gmax, decay, s, g = (32 * 8 for _ in range(4))  # st is read once, for decay
    assert traffic("SynapseAMPA", circuit) == Traffic(indexed + gmax + decay + s, s + g, indexed)


def test_delays_are_rows_of_their_own() -> None:
    """One source with two delays is read in two rows; its delays are stored, too."""
    groups = [(model("LeakyIAF"), 16, IAF, None), (model("SynapseAMPA"), 16, AMPA, None)]
    ends = np.zeros(16, np.int32), 16 + np.arange(16, dtype=np.int32)
    delay = np.where(np.arange(16) < 5, 1, 2) * DT
    circuit = Circuit.from_arrays(
        groups, [Connections("spike_state", "spike_state", *ends, delay=delay)]
    )
    s, g = 16 * 8, 16 * 8
    element, back, values = 16 * 4, 16 * 4, 2 * 8
    assert traffic("SynapseAMPA", circuit) == Traffic(element + back + values + s, s + g, 0)


def test_weighted_sums() -> None:
    """The sliced form: where slices start, degrees, sources and weights, with their gaps."""
    n = 20
    source = np.concatenate([np.arange(1, n + 1) % n, np.arange(5, n + 5) % n]).astype(np.int32)
    target = np.tile(np.arange(n, dtype=np.int32), 2)
    weight = {"weight": np.arange(1.0, 2 * n + 1)}
    circuit = Circuit.from_arrays(
        [(model("GradedNeuron"), n, {"time_constant": 5.0, "bias": 1.0}, None)],
        [Connections("r", "r", source, target, data=weight)],
    )
    start, degree, places = 3 * 8, 32 * 4, 2 * 2 * 16
    stored = start + degree + places * (4 + 8)
    values, row = n * 8, 32 * 8
    found = traffic("GradedNeuron", circuit, plans=False)
    assert found == Traffic(stored + values + row, 2 * row, 0)


def test_fused_synapses() -> None:
    """The conductances that only an Aggregator reads are neither written nor read."""
    n, m = 16, 256
    program = compile_circuit(all_to_all(n, seed=1), DT)
    found = bytes_of(program, unit_of(program, "Aggregator+AlphaSynapse"))
    spikes = m * 4 + n * 8
    states, gmax = 3 * m * 8, m * 8
    lists, potential, current = 2 * 8 + n * 4, n * 8, n * 8
    assert found == Traffic(spikes + states + gmax + lists + potential, states + current, spikes)


def test_sub_units() -> None:
    """Clocks and counts of sub-units are read and written, in their own small types."""
    microvilli, places = 100, 112
    cls = model("PhotoreceptorModel")
    given = {n: 0.0 for n, p in cls.params.items() if p.default is None}
    given["num_microvilli"] = microvilli
    circuit = Circuit.from_arrays([(cls, 1, given, None)])
    assert cls.sub_units is not None
    sizes = [1 if kind.most < 256 else 2 for kind in cls.sub_units.species.values()]
    totals = len(cls.sub_units.totals) * 16 * 8
    kept = places * (4 + sum(sizes)) + totals + len(cls.states) * 16 * 8
    found = traffic("PhotoreceptorModel", circuit)
    assert "V" in cls.states and found == Traffic(kept + 3 * 16 * 8, kept, 0)  # first, count, keys


@pytest.mark.parametrize(
    ("make", "variable", "access", "forms"),
    [
        (lambda: optic_lobe.circuit(3), "r", "r", {"lattice", "sliced"}),
        (lambda: spiking_network(300, 3, 1), "spike_state", "spike_state", {"single"}),
        (lambda: spiking_network(300, 3, 1), "g", "g", {"sliced"}),
    ],
)
def test_values_read(make: Any, variable: str, access: str, forms: set[str]) -> None:
    """Every form reads as many values as there are pairs of source and delay among the edges."""
    seen = set()
    for plans in (True, False):
        program = compile_circuit(make(), DT, plans=plans)
        circuit = program.circuit
        for (number, name), gather in program.gathers.items():
            if name != access:
                continue
            zero = program.layout.rings[variable].zero
            first, end = circuit.starts[number : number + 2]
            pairs = set()
            for links in circuit.connections:
                if links.variable == variable:
                    mine = (links.target >= first) & (links.target < end)
                    delay = np.broadcast_to(np.rint(links.delay / DT), len(links))
                    pairs |= set(
                        zip(links.source[mine].tolist(), delay[mine].tolist(), strict=True)
                    )
            assert len(pairs) > 100 and values_read(gather, zero) == len(pairs)
            seen.add(gather.form)
    assert seen == forms


def test_alpha_synapses_that_are_not_fused() -> None:
    """Without plans the conductance goes through its ring: written by one, read by the other."""
    n, m = 16, 256
    program = compile_circuit(all_to_all(n, seed=1), DT, plans=False)
    spikes, states, gmax, g = m * 4 + n * 8, 3 * m * 8, m * 8, m * 8
    found = bytes_of(program, unit_of(program, "AlphaSynapse"))
    assert found == Traffic(spikes + states + gmax, states + g, spikes)
    lists = 2 * 8 + n * 4 + m * 4
    found = bytes_of(program, unit_of(program, "Aggregator"))
    assert found == Traffic(lists + g + n * 8, n * 8, 0)


def test_slots_of_spikes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step reads and clears those of one row, however long the delays; none of a calendar."""
    monkeypatch.setattr("neurodriver.plan.spikes.fanout.TRACKED", 1)
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 160, (2, 900)).astype(np.int32)

    def found(longest: int) -> Traffic:
        delay = (1 + np.arange(900) % longest) * DT
        links = Connections("spike_state", "spike_state", *ends, delay, {"weight": np.asarray(1.0)})
        lif = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
               "time_constant": 20.0}  # fmt: skip
        groups = [(model("LeakyIAFDelta"), 160, lif, None)]
        return traffic("LeakyIAFDelta", Circuit.from_arrays(groups, [links]))

    assert found(2) == found(20)
