"""Copies of a circuit that run together: each has the bits of its lone run."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noisy import noisy_graph, random_inputs

import neurodriver as nd
from neurodriver.__main__ import main
from neurodriver.backends.cpu.batch import CPUBatch
from neurodriver.errors import CircuitWarning, NonFiniteError
from neurodriver.model.library import shipped
from neurodriver.plan.copies import shared_bytes

DT, STEPS, COPIES = 1e-4, 240, 5
MODELS = shipped()
RECORD: Any = [("V", None), ("spike_state", None)]
COUNT = 37

CELL = {
    "resting_potential": -70.0, "threshold": -50.0, "reset_potential": -65.0,
    "time_constant": 10.0, "capacitance": 250.0, "refractory_period": 1.0, "tau_exc": 0.5,
    "tau_inh": 2.0,
}  # fmt: skip


def recorder() -> nd.MemoryRecorder:
    return nd.MemoryRecorder(RECORD)


def alone(circuit: nd.Circuit, seed: int = 0, inputs: Any = None, **options: Any) -> nd.Recording:
    """Return what an LPU without a batch records."""
    given = random_inputs(circuit) if inputs is None else inputs
    with nd.LPU(circuit, DT, given, [recorder()], seed=seed, **options) as lpu:
        return lpu.run(STEPS).recording


def batched(circuit: nd.Circuit, batch: Any, inputs: Any = None, **options: Any) -> nd.LPU:
    """Return a batch of a circuit that records."""
    given = random_inputs(circuit) if inputs is None else inputs
    return nd.LPU(circuit, DT, given, [recorder()], batch=batch, **options)


def assert_equal(one: nd.Recording, other: nd.Recording, events: int = 10) -> None:
    """Two recordings have the same values, and something happens in them."""
    assert one.variables == other.variables
    for name in one.variables:
        if one.is_events(name):
            (time, index), (when, which) = one.events(name), other.events(name)
            assert len(time) >= events
            assert np.array_equal(time, when) and np.array_equal(index, which)
        else:
            assert np.array_equal(one.data(name)[:], other.data(name)[:])
            assert np.ptp(one.data(name)[:]) > 0
        assert one.uids(name) == other.uids(name) and one.unit(name) == other.unit(name)
        assert np.array_equal(one.time, other.time) and one.duration == other.duration


def network(**changes: Any) -> nd.Circuit:
    """Two populations with weights and delays between them, and Poisson sources."""
    rng = np.random.default_rng(5)
    given: dict[str, Any] = {**CELL, "initV": rng.uniform(-70.0, -50.0, 3 * COUNT), **changes}
    exc = nd.Population(MODELS["LeakyIAFExpCurrent"], 2 * COUNT, name="exc", **_part(given, 0))
    inh = nd.Population(MODELS["LeakyIAFExpCurrent"], COUNT, name="inh", **_part(given, 1))
    drive = nd.Population(MODELS["PoissonSource"], 20, name="drive", rate=700.0)
    late = nd.Uniform(1e-4, 2e-3)
    rule = nd.FixedInDegree(9)
    return nd.Circuit(
        [exc, inh, drive],
        [
            nd.Projection(exc, inh, rule, receptor="exc", weight=160.0, delay=late),
            nd.Projection(inh, exc, rule, receptor="inh", weight=-60.0, delay=late),
            nd.Projection(drive, exc, rule, receptor="exc", weight=900.0, delay=1e-4),
            nd.Projection(drive, inh, rule, receptor="exc", weight=800.0, delay=3e-4),
        ],
        seed=2,
    )


def _part(given: dict[str, Any], which: int) -> dict[str, Any]:
    rows = slice(0, 2 * COUNT) if which == 0 else slice(2 * COUNT, None)
    return {name: v[rows] if np.ndim(v) else v for name, v in given.items()}


# -- bits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_seeds_give_the_bits_of_lone_runs(dtype: str, threads: int) -> None:
    """Noise, Poisson sources, delays; every copy, any number of threads."""
    circuit = noisy_graph(30)
    seeds = [3, 0, 2**63, 3, 77]
    with batched(circuit, COPIES, seed=seeds, dtype=dtype, threads=threads) as lpu:
        recording: Any = lpu.run(STEPS).recording
    assert len(recording) == COPIES
    assert np.array_equal(recording[0].V[:], recording[3].V[:])
    assert not np.array_equal(recording[0].V[:], recording[1].V[:])
    for copy, seed in enumerate(seeds):
        assert_equal(alone(circuit, seed, dtype=dtype), recording[copy])


@pytest.mark.parametrize("length", [1, 7, 64])
def test_chunks_and_runs_change_no_bit(length: int) -> None:
    """Calls of any length, several runs."""
    circuit = noisy_graph(20)
    with batched(circuit, 3, seed=[1, 2, 3]) as lpu:
        lpu.simulation.length.fixed = length
        lpu.run(100)
        lpu.run(STEPS - 100)
        recording: Any = lpu.recording
    for copy in range(3):
        assert_equal(alone(circuit, copy + 1), recording[copy])


def test_more_events_than_buffers_have_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy whose buffer is full goes on when it has been emptied; all others are unmoved."""
    circuit, seeds = noisy_graph(40), [1, 2, 3]
    expected = [alone(circuit, seed) for seed in seeds]
    monkeypatch.setattr("neurodriver.backends.cpu.batch.SPARE", 8)
    with batched(circuit, 3, seed=seeds) as lpu:
        lpu.simulation.length.fixed = STEPS
        recording: Any = lpu.run(STEPS).recording
        assert isinstance(lpu.backend, CPUBatch)
    for copy in range(3):
        assert len(expected[copy].events()[0]) > 100
        assert_equal(expected[copy], recording[copy])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_parameters_of_copies(dtype: str) -> None:
    """One number for each copy, one for each neuron and copy, a first value, part of a model."""
    circuit = network()
    rng = np.random.default_rng(4)
    time_constant = np.linspace(8.0, 12.0, COPIES)
    threshold = rng.uniform(-52.0, -48.0, (COPIES, COUNT))
    start = rng.uniform(-70.0, -60.0, (COPIES, 3 * COUNT))
    batch = nd.Batch(
        COPIES,
        seeds=range(COPIES),
        parameters={
            ("LeakyIAFExpCurrent", "time_constant"): time_constant,
            ("inh", "threshold"): threshold,
            ("LeakyIAFExpCurrent", "initV"): start,
        },
    )
    with batched(circuit, batch, [], dtype=dtype) as lpu:
        assert np.array_equal(lpu["inh"].threshold, threshold.astype(dtype))
        assert np.array_equal(lpu["exc"].V, start[:, : 2 * COUNT].astype(dtype))
        recording: Any = lpu.run(STEPS).recording
    for copy in range(COPIES):
        own = np.concatenate([np.full(2 * COUNT, -50.0), threshold[copy]])
        same = network(initV=start[copy], threshold=own, time_constant=time_constant[copy])
        assert_equal(alone(same, copy, [], dtype=dtype), recording[copy])


def scaled(circuit: nd.Circuit, factor: float) -> nd.Circuit:
    """Return a circuit whose weights are multiplied before it is compiled."""
    links = []
    for one in circuit.connections:
        columns = one.expanded()
        data = {**columns.data, "weight": columns.data["weight"] * factor}
        ends = columns.source, columns.target, columns.delay
        links.append(nd.Connections(columns.variable, columns.access, *ends, data))
    return circuit.with_parts(circuit.groups, links)


def test_scales_of_weights() -> None:
    """Copies have the bits of circuits whose weights were multiplied before."""
    circuit, scales = network(), np.array([0.5, 1.0, 2.0, 1.37])
    with batched(circuit, nd.Batch(4, weight_scale=scales), []) as lpu:
        recording: Any = lpu.run(STEPS).recording
    assert not np.array_equal(recording[0].V[:], recording[3].V[:])
    for copy, scale in enumerate(scales.tolist()):
        assert_equal(alone(scaled(circuit, scale), 0, []), recording[copy], 3)


def test_scales_of_real_weights() -> None:
    """Weights of graded connections are multiplied, too; each copy stores its own."""
    rng = np.random.default_rng(8)
    weight = rng.uniform(-1.0, 1.0, 400)
    ends = rng.integers(0, COUNT, (2, 400)).astype(np.int32)

    def graded(factor: float) -> nd.Circuit:
        links = nd.Connections("r", "r", *ends, np.asarray(2e-4), {"weight": factor * weight})
        given = {"time_constant": 20.0, "bias": 0.5, "initV": np.linspace(0.1, 2.0, COUNT)}
        return nd.Circuit.from_arrays([(MODELS["GradedNeuron"], COUNT, given, None)], [links])

    def run(circuit: nd.Circuit, batch: Any = None) -> Any:
        kept = nd.MemoryRecorder([("V", None)])
        with nd.LPU(circuit, DT, [], [kept], batch=batch) as lpu:
            return lpu.run(STEPS).recording

    scales = [0.7, 1.0, 1.9]
    found = run(graded(1.0), nd.Batch(3, weight_scale=scales))
    for copy, scale in enumerate(scales):
        assert_equal(run(graded(scale)), found[copy])


def test_inputs_of_copies() -> None:
    """Inputs that all copies get, and inputs of each copy; drawn ones, rows, events."""
    circuit = noisy_graph(20)
    neurons = [uid for uid in circuit.uids.tolist() if uid[0] == "n" and uid[1].isdigit()]
    shared = random_inputs(circuit)
    rng = np.random.default_rng(6)
    rows = rng.uniform(0.0, 3.0, (3, STEPS, len(neurons)))
    own = [
        [nd.ArrayInput({"I": (neurons, rows[b])}), nd.NoiseInput("I", neurons, seed=b)]
        for b in range(3)
    ]
    with batched(circuit, nd.Batch(3, seeds=[5, 6, 7], inputs=own), shared) as lpu:
        recording: Any = lpu.run(STEPS).recording
    for copy in range(3):
        lone = alone(circuit, copy + 5, [*random_inputs(circuit), *own[copy]])
        assert_equal(lone, recording[copy])


def test_synapses_of_each_copy_learn() -> None:
    """Each copy has weights of its own, and the bits of its lone run."""
    source = nd.Population(MODELS["PoissonSource"], 30, name="source", rate=400.0)
    cells = nd.Population(MODELS["LeakyIAFExpCurrent"], COUNT, name="cells", initV=-60.0, **CELL)
    rule = nd.PairSTDP(w_max=1500.0)
    learning = nd.Projection(source, cells, nd.FixedInDegree(10), receptor="exc", weight=900.0,
                             delay=5e-4, plasticity=rule, name="learning")  # fmt: skip
    circuit = nd.Circuit([source, cells], [learning], seed=1)
    with batched(circuit, 3, [], seed=[1, 2, 3]) as lpu:
        lpu.run(100)
        recording: Any = lpu.run(STEPS - 100).recording
    for copy in range(3):
        assert_equal(alone(circuit, copy + 1, []), recording[copy])
    with pytest.raises(nd.NeurodriverError, match="they learn within bounds of their own"):
        nd.LPU(circuit, DT, batch=nd.Batch(2, weight_scale=[1.0, 2.0]))


def test_a_user_input_is_asked_once_for_all_copies() -> None:
    class Counted(nd.UserInput):
        calls = 0

        def is_input_available(self) -> bool:
            return True

        def update_input(self) -> None:
            Counted.calls += 1
            self.variables["I"]["input"][:] = 0.1 * Counted.calls

    circuit = noisy_graph(4)
    with batched(circuit, 3, [Counted([("I", ["n0", "n1"])])]) as lpu:
        recording: Any = lpu.run(40).recording
    assert Counted.calls in (40, 41)
    assert np.array_equal(recording[0].V[:], recording[2].V[:])


# -- between calls ---------------------------------------------------------------------------------


def test_values_of_all_copies_and_of_one() -> None:
    """``get`` and ``set`` have a leading axis; ``copies[b]`` are like a lone LPU."""
    circuit = network()
    with batched(circuit, 3, [], seed=[1, 2, 3]) as lpu:
        lpu.run(50)
        V = lpu["exc"].V
        assert V.shape == (3, 2 * COUNT) and not np.array_equal(V[0], V[1])
        assert lpu.get("V").shape == (3, 3 * COUNT)
        assert np.array_equal(lpu.copies[2]["exc"].V, V[2])
        assert np.array_equal(lpu.copies[2].get("V")[: 2 * COUNT], V[2])
        lpu["exc"].V = np.array([[-60.0], [-61.0], [-62.0]])
        assert (lpu["exc"].V == np.array([[-60.0], [-61.0], [-62.0]])).all()
        lpu["inh"].V = np.linspace(-65.0, -60.0, COUNT)
        assert (lpu["inh"].V == np.linspace(-65.0, -60.0, COUNT)).all()
        lpu.copies[1]["exc"].V = -55.0
        assert lpu["exc"].V[:, 0].tolist() == [-60.0, -55.0, -62.0]
        assert lpu.copies[1].seed == 2 and "copy 1" in repr(lpu.copies[1])


@pytest.mark.parametrize("whole", [True, False])
def test_a_parameter_set_in_a_copy_shows_in_this_copy_alone(whole: bool) -> None:
    """Before the first step: the bits of a circuit that was built with it."""
    circuit = network()
    values = 9.0 if whole else np.linspace(8.0, 11.0, 3 * COUNT)
    with batched(circuit, 3, [], seed=[1, 2, 3]) as lpu:
        lpu.copies[1]["LeakyIAFExpCurrent"].time_constant = values
        found = lpu.get("time_constant")
        assert np.array_equal(found[1], np.broadcast_to(values, 3 * COUNT))
        assert (found[[0, 2]] == 10.0).all()
        recording: Any = lpu.run(STEPS).recording
    assert_equal(alone(circuit, 1, []), recording[0])
    assert_equal(alone(network(time_constant=values), 2, []), recording[1])
    assert_equal(alone(circuit, 3, []), recording[2])


def test_a_shared_column_is_not_written_through() -> None:
    """A column that all copies share becomes one copy's own when it is set."""
    threshold = np.linspace(-52.0, -48.0, 3 * COUNT)
    circuit = network(threshold=threshold)
    with batched(circuit, 3, [], seed=[1, 2, 3]) as lpu:
        lpu.run(30)
        lpu.copies[1].set("threshold", threshold - 1.0)
        assert np.array_equal(lpu.get("threshold")[0], threshold)
        assert np.array_equal(lpu.get("threshold")[1], threshold - 1.0)
        lpu.set("threshold", threshold)
        assert (lpu.get("threshold") == threshold).all()
        recording: Any = lpu.run(STEPS - 30).recording
    for copy in range(3):
        assert_equal(alone(circuit, copy + 1, []), recording[copy])


def test_values_that_do_not_fit() -> None:
    with batched(network(), 3, []) as lpu:
        with pytest.raises(nd.NeurodriverError, match=r"broadcasts to \(copies, n\) = \(3, 37\)"):
            lpu["inh"].V = np.zeros(3)
        with pytest.raises(nd.NeurodriverError, match="must be finite"):
            lpu["inh"].V = np.array([[-60.0], [np.nan], [-60.0]])
        assert np.isfinite(lpu["inh"].V).all()
        with pytest.raises(nd.NeurodriverError, match="each copy lies elsewhere"):
            lpu["inh"].shared("V")
        lpu.copies[1]["inh"].shared("V")[:] = -51.0
        assert lpu["inh"].V[:, 3].tolist().count(-51.0) == 1


def test_weights_set_between_calls() -> None:
    """Connections are those of all copies."""
    circuit = network()
    name = "exc -> inh, exc"
    with batched(circuit, 2, [], seed=[1, 2]) as lpu:
        lpu.run(100)
        lpu.connections[name].set("weight", 40.0)
        recording: Any = lpu.run(STEPS - 100).recording
    for copy in range(2):
        with nd.LPU(circuit, DT, [], [recorder()], seed=copy + 1) as lone:
            lone.run(100)
            lone.connections[name].set("weight", 40.0)
            assert_equal(lone.run(STEPS - 100).recording, recording[copy])


# -- recordings ------------------------------------------------------------------------------------


def test_a_recording_in_a_file(tmp_path: Path) -> None:
    """The file of a batch opens as the recordings of its copies."""
    circuit, path = noisy_graph(12), tmp_path / "batch.h5"
    with nd.LPU(
        circuit,
        DT,
        random_inputs(circuit),
        [nd.HDF5Recorder(path, RECORD)],
        batch=3,
        seed=[4, 5, 6],
    ) as lpu:
        lpu.run(STEPS)
        assert len(lpu.recording) == 3
    with nd.open(path) as found:
        recording: Any = found
        assert recording.complete and recording.path == path
        assert "3 copies" in repr(recording) and "3 copies" in recording._repr_html_()
        for copy in range(3):
            assert_equal(alone(circuit, copy + 4), recording[copy], 5)
            assert recording[copy].attributes["seed"] == copy + 4
    assert not recording.is_open


def test_arrays_of_all_copies() -> None:
    circuit = noisy_graph(12)
    with batched(circuit, 3, seed=[4, 5, 6]) as lpu:
        recording: Any = lpu.run(STEPS).recording
    assert recording.V.shape == (3, STEPS, 12) and recording["V"].dtype == np.float64
    assert np.array_equal(recording.V[1], recording[1].V[:])
    assert [len(e) for e in recording.spike_state] == [len(one.spike_state) for one in recording]
    table = recording.to_xarray()
    assert table.V.dims == ("copy", "time", "uid") and table.V.attrs["units"] == "mV"
    assert np.array_equal(table.V.sel(copy=2).values, recording[2].V[:])
    counts = np.bincount(table.spike_state_copy, minlength=3)
    assert counts.tolist() == [len(e) for e in recording.spike_state]
    with pytest.raises(nd.NeurodriverError, match="copy 3: there are 0 to 2"):
        recording[3]
    with pytest.raises(AttributeError, match="no variable or attribute 'v'"):
        recording.v  # noqa: B018


def test_a_sample_interval() -> None:
    circuit = noisy_graph(9)
    kept = nd.MemoryRecorder([("V", None)], 7)
    with nd.LPU(circuit, DT, random_inputs(circuit), [kept], batch=2, seed=[1, 2]) as lpu:
        lpu.simulation.length.fixed = 5
        recording: Any = lpu.run(STEPS).recording
    for copy in range(2):
        other = nd.MemoryRecorder([("V", None)], 7)
        with nd.LPU(circuit, DT, random_inputs(circuit), [other], seed=copy + 1) as lpu:
            assert_equal(lpu.run(STEPS).recording, recording[copy])


# -- checkpoints -----------------------------------------------------------------------------------


def test_a_checkpoint_of_a_batch(tmp_path: Path) -> None:
    """Parameters, scales, seeds and what has been set are saved; the bits go on."""
    circuit, path = network(), tmp_path / "a.h5"
    batch = nd.Batch(
        3,
        seeds=[1, 2, 3],
        parameters={("inh", "threshold"): [-50.0, -51.0, -49.0]},
        weight_scale=[1.0, 1.1, 0.9],
    )

    def changed(lpu: nd.LPU) -> None:
        lpu.copies[2]["exc"].time_constant = np.linspace(9.0, 11.0, 2 * COUNT)

    with batched(circuit, batch, []) as lpu:
        lpu.run(90)
        changed(lpu)
        lpu.save(path)
        expected: Any = lpu.run(STEPS - 90).recording
    kept = recorder()
    with nd.LPU.restore(path, [], [kept], threads=3) as lpu:
        assert lpu.step == 90 and len(lpu.copies) == 3
        assert [one.seed for one in lpu.copies] == [1, 2, 3]
        assert lpu["inh"].threshold[:, 0].tolist() == [-50.0, -51.0, -49.0]
        lpu.run(STEPS - 90)
    found: Any = kept.recording
    for copy in range(3):
        assert np.array_equal(found[copy].V[:], expected[copy].V[90:])
        time, index = expected[copy].events()
        late = time >= 89.5 * DT
        assert late.sum() > 5
        assert np.array_equal(found[copy].events()[0], time[late])
        assert np.array_equal(found[copy].events()[1], index[late])
    with pytest.raises(nd.NeurodriverError, match="3 copies were saved, batch= has 2"):
        nd.LPU.restore(path, batch=2)
    with pytest.raises(nd.NeurodriverError, match="stay as they were saved"):
        nd.LPU.restore(path, batch=nd.Batch(3, seeds=[1, 2, 3]))


def test_restoring_a_batch_that_is_none(tmp_path: Path) -> None:
    with nd.LPU(network(), DT) as lpu:
        lpu.save(tmp_path / "one.h5")
    with pytest.raises(nd.NeurodriverError, match="no batch was saved"):
        nd.LPU.restore(tmp_path / "one.h5", batch=2)


def test_a_recording_goes_on_after_a_checkpoint(tmp_path: Path) -> None:
    """``resume`` goes on with the file, as without a batch."""
    circuit, path, state = noisy_graph(9), tmp_path / "r.h5", tmp_path / "s.h5"

    def made() -> nd.LPU:
        given = [nd.HDF5Recorder(path, RECORD, overwrite=True)]
        return nd.LPU(circuit, DT, random_inputs(circuit), given, batch=2, seed=[1, 2])

    with made() as lpu:
        lpu.run(100)
        lpu.save(state)
        lpu.run(30)
    with made() as lpu:
        lpu.resume(state)
        lpu.run(STEPS - 100)
    with nd.open(path) as found:
        for copy, one in enumerate(found):
            assert_equal(alone(circuit, copy + 1), one, 3)  # type: ignore[arg-type]


def test_reset() -> None:
    """Back to step 0 with the first parameters, or those that were set."""
    circuit = network()
    with batched(circuit, 2, [], seed=[1, 2]) as lpu:
        lpu.run(60)
        lpu.copies[0].set("time_constant", 9.0)
        lpu.reset(keep=["parameters"])
        assert lpu.step == 0 and lpu.get("time_constant")[:, 0].tolist() == [9.0, 10.0]
        lpu.reset()
        assert (lpu.get("time_constant") == 10.0).all()
        recording: Any = lpu.run(STEPS).recording
    for copy in range(2):
        assert_equal(alone(circuit, copy + 1, []), recording[copy])


# -- memory and messages ---------------------------------------------------------------------------


def test_connections_are_stored_once() -> None:
    """The arrays of connections have one address in all copies; bytes say so."""
    circuit = network(threshold=np.linspace(-52.0, -48.0, 3 * COUNT))
    with batched(circuit, 4, [], seed=range(4)) as lpu:
        backend: Any = lpu.backend
        programs = [one.program for one in backend.copies]
        shared, own = shared_bytes(programs)
        edges = sum(gather.nbytes(8) for gather in programs[0].gathers.values())
        assert shared > 0.9 * edges
        large = [row for row in programs[0].arrays.values() if row.nbytes > 500]
        same = [
            row
            for row in large
            if len({one.memory.array(row.key).ctypes.data for one in backend.copies}) == 1
        ]
        assert sum(row.nbytes for row in same) == pytest.approx(
            sum(row.nbytes for row in large if row.role.value in ("constant", "settable"))
        )
        assert "threshold" in {row.key.name for row in same}
        assert own > 0
        assert backend.threads <= 4


def test_a_value_that_is_not_finite_names_its_copy() -> None:
    circuit = network()
    with batched(circuit, 3, []) as lpu:
        lpu.run(10)
        with pytest.raises(nd.NeurodriverError, match="must be finite"):
            lpu.copies[1]["exc"].V = np.inf
        lpu.copies[1]["exc"].shared("V")[4] = np.nan
        with pytest.raises(NonFiniteError, match=r"^copy 1: V of 'exc/4'"):
            lpu.run(10)


def test_progress_counts_steps_once() -> None:
    done: list[int] = []
    with batched(network(), 3, []) as lpu:
        lpu.run(100, progress=done.append)
    assert sum(done) == 100


BAD: list[tuple[Any, str]] = [
    (0, r"whole number of copies >= 1, got 0"),
    (2.5, r"whole number of copies >= 1, got 2\.5"),
    ("3", r"whole number of copies >= 1, got '3'"),
    (True, r"whole number of copies >= 1, got True"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_numbers_of_copies_that_are_none(given: Any, message: str) -> None:
    with pytest.raises(nd.NeurodriverError, match=message):
        nd.LPU(network(), DT, batch=given)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"seeds": [1, 2]}, r"seeds: 3 are needed, one for each copy, got 2"),
    ({"seeds": [1, -2, 3]}, r"seeds: 0 to 2\^64 - 1, got -2"),
    ({"seeds": 4}, r"seeds: 3 are needed"),
    ({"weight_scale": [1.0, 2.0]}, r"weight_scale: 3 numbers are needed, got shape \(2,\)"),
    ({"weight_scale": [1.0, 0.0, 2.0]}, r"weight_scale: finite numbers > 0, got 0"),
    ({"weight_scale": "much"}, r"weight_scale: 3 numbers are needed, got 'much'"),
    ({"inputs": [[], []]}, r"inputs: one or a list of them for each of 3, got 2"),
    ({"parameters": {"V_th": [1, 2, 3]}}, r"keys are \(who, name of a parameter\), got 'V_th'"),
    ({"parameters": [1]}, r"parameters: a mapping of \(who, name\) to values"),
    (
        {"parameters": {("exc", "threshold"): np.zeros((2, 4))}},
        r"'threshold' of exc: \(3,\) or \(3, n\) numbers, got shape \(2, 4\)",
    ),
    (
        {"parameters": {("exc", "threshold"): np.zeros((3, 4))}},
        r"'threshold' of exc: expected \(3,\) or \(3, 74\) numbers, got shape \(3, 4\)",
    ),
    ({"parameters": {("exc", "threshhold"): [1, 2, 3]}}, r"no such parameter; it has"),
    ({"parameters": {("ex", "threshold"): [1, 2, 3]}}, r"called 'ex'"),
    (
        {"parameters": {("exc", "time_constant"): [1.0, -1.0, 2.0]}},
        r"copy 1:.*\n?.*time_constant",
    ),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_batches_that_do_not_fit(given: dict[str, Any], message: str) -> None:
    with pytest.raises(nd.NeurodriverError, match=message):
        nd.LPU(network(), DT, batch=nd.Batch(3, **given))


def test_all_faults_of_a_batch_come_at_once() -> None:
    with pytest.raises(nd.NeurodriverError) as error:
        nd.Batch(3, seeds=[1], weight_scale=[1.0], inputs=[[]])
    assert all(name in str(error.value) for name in ("seeds", "weight_scale", "inputs"))


def test_seeds_without_a_batch() -> None:
    with pytest.raises(nd.NeurodriverError, match="one number, or batch= with one for each"):
        nd.LPU(network(), DT, seed=range(3))
    with pytest.raises(nd.NeurodriverError, match="either as seed= or in the Batch"):
        nd.LPU(network(), DT, seed=range(3), batch=nd.Batch(3, seeds=[1, 2, 3]))


def test_inputs_at_other_places() -> None:
    own = [[nd.StepInput("I", ["exc/0"], 1.0)], [nd.StepInput("I", ["exc/1", "exc/2"], 1.0)]]
    with pytest.raises(nd.NeurodriverError, match="copy 0: I of 1; copy 1: I of 2"):
        nd.LPU(network(), DT, batch=nd.Batch(2, inputs=own))


def test_merged_synapses_have_no_parameters_of_copies() -> None:
    circuit = noisy_graph(8)
    batch = nd.Batch(2, parameters={("SynapseAMPA", "gmax"): [0.02, 0.03]})
    with pytest.raises(nd.NeurodriverError, match=r"make the LPU with keep=\['SynapseAMPA.gmax'\]"):
        nd.LPU(circuit, DT, batch=batch)
    for more in ({"merge": False}, {"keep": "SynapseAMPA.gmax"}):
        recorder = nd.MemoryRecorder([("g", None)])
        with nd.LPU(circuit, DT, [], [recorder], batch=batch, **more) as lpu:
            recording: Any = lpu.run(STEPS).recording
        assert not np.array_equal(recording[0].g[:], recording[1].g[:])


def test_a_class_with_code_of_its_own_has_no_copies() -> None:
    class Stepper(nd.NDComponent):
        updates = ("x",)

        def run_step(self, update_pointers: Any, st: Any = None) -> None:
            """Do nothing."""

    circuit = nd.Circuit.from_arrays([(Stepper, 3, {}, None)])
    with pytest.raises(nd.NeurodriverError, match="Stepper: a class with code of its own"):
        nd.LPU(circuit, DT, batch=2)


def test_an_lpu_of_a_manager_has_no_batch() -> None:
    manager = nd.Manager()
    with pytest.raises(nd.NeurodriverError, match="an LPU of a Manager has no batch"):
        manager.add(nd.LPU, "a", network(), DT, batch=2)
        manager.spawn()


def test_validation_is_for_lone_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    with pytest.raises(nd.NeurodriverError, match="NEURODRIVER_VALIDATE"):
        nd.LPU(network(), DT, batch=2)


class Decaying(nd.NDComponent):
    """Explicit Euler, whose time constant may be too short."""

    updates = ("V",)
    params = {"tau": nd.Parameter("ms"), "goal": nd.Parameter("mV", default=-60.0)}
    states = {"V": nd.State("mV", "goal")}
    update = "V += dt_ms / tau * (goal - V);"


def test_a_step_that_is_too_long_in_a_copy_is_told() -> None:
    """What is warned of for a circuit is warned of for its copies."""

    def told(tau: float, batch: Any = None) -> list[str]:
        circuit = nd.Circuit.from_arrays([(Decaying, 3, {"tau": tau}, None)])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            nd.LPU(circuit, DT, batch=batch).close()
        return [str(one.message) for one in found if issubclass(one.category, CircuitWarning)]

    batch = nd.Batch(2, parameters={("Decaying", "tau"): [20.0, 0.01]})
    assert told(0.01) and not told(20.0)
    assert told(20.0, batch) == told(0.01)


def test_a_batch_is_drawn_copy_by_copy(tmp_path: Path) -> None:
    circuit, path = noisy_graph(5), tmp_path / "batch.h5"
    with nd.LPU(circuit, DT, [], [nd.HDF5Recorder(path, RECORD)], batch=2) as lpu:
        lpu.run(50)
    figure = str(tmp_path / "copy.png")
    with pytest.raises(nd.NeurodriverError, match="holds 2 copies of a batch; choose one"):
        nd.plot_recording(path, figure)
    assert main(["plot", str(path), "-o", figure]) != 0
    assert main(["plot", str(path), "-o", figure, "--copy", "1"]) == 0
    assert Path(figure).stat().st_size > 1000
    assert main(["info", str(path)]) == 0
