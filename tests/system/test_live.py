"""What is read and set between calls: it shows from the next step on, and in nothing before."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import IAF

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.plan.arrays import Kind, Role

DT = 1e-4
MODELS = shipped()
COUNT = 37


def varied(name: str, low: float, high: float) -> dict[str, Any]:
    """Parameters of IAF neurons, one of which differs from neuron to neuron."""
    return {**IAF, name: np.linspace(low, high, COUNT)}


def network(**changes: Any) -> nd.Circuit:
    """Two groups of neurons, and synapses from the first to the second."""
    rng = np.random.default_rng(3)
    synapses = {"gmax": np.linspace(0.5, 2.0, COUNT), "st": 5.0, **changes}
    uids = [f"s{i}" for i in range(COUNT)]
    ends = rng.permutation(COUNT).astype(np.int32)
    every = np.arange(COUNT, dtype=np.int32)
    return nd.Circuit.from_arrays(
        [
            (MODELS["LeakyIAF"], COUNT, varied("resistance", 1.0, 1.4), None),
            (MODELS["SynapseAMPA"], COUNT, synapses, uids),
        ],
        [nd.Connections("spike_state", "spike_state", every, COUNT + ends, np.asarray(3e-4))],
    )


def drive() -> list[nd.Input]:
    """A current that lets all neurons fire."""
    return [nd.StepInput("I", [f"LeakyIAF/{i}" for i in range(COUNT)], 400.0)]


def simulated(circuit: nd.Circuit, **options: Any) -> nd.LPU:
    """An LPU of a circuit that records."""
    recorder = nd.MemoryRecorder([("V", None), ("g", None), ("spike_state", None)])
    return nd.LPU(circuit, DT, drive(), [recorder], **options)


def data(lpu: nd.LPU, name: str) -> Any:
    """What an LPU has recorded of a variable."""
    return lpu.recorders[0].get(name)  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_parameter_set_at_once_gives_the_circuit_built_with_it(dtype: str) -> None:
    """Before the first step, setting a parameter is the same as building the circuit with it."""
    gmax = np.linspace(3.0, 0.1, COUNT)
    with simulated(network(), dtype=dtype) as lpu:
        lpu.set("gmax", gmax)
        lpu["LeakyIAF"].set("resistance", 1.25)
        lpu.run(200)
        changed = {name: data(lpu, name) for name in ("V", "g", "spike_state")}
        assert np.array_equal(lpu.get("gmax"), gmax.astype(dtype))
    other = network(gmax=gmax)
    groups = [(g.model, g.count, dict(g.params), g.given_uids) for g in other.groups]
    groups[0][2]["resistance"] = 1.25
    with simulated(nd.Circuit.from_arrays(groups, other.connections), dtype=dtype) as lpu:
        lpu.run(200)
        assert np.array_equal(data(lpu, "V"), changed["V"])
        assert np.array_equal(data(lpu, "g"), changed["g"]) and np.ptp(changed["g"]) > 0
        for part in ("time", "index"):
            built, was = data(lpu, "spike_state")[part], changed["spike_state"][part]
            assert np.array_equal(built, was) and len(was) > COUNT


@pytest.mark.parametrize("name", ["gmax", "st"])
def test_a_change_shows_from_the_next_step_on(name: str) -> None:
    """The recording before is that of an unchanged run; one value for all may become many."""
    with simulated(network()) as lpu:
        lpu.run(200)
        unchanged = data(lpu, "g")
    with simulated(network()) as lpu:
        lpu.run(120)
        lpu.set(name, np.linspace(0.5, 8.0, COUNT))
        assert np.array_equal(data(lpu, "g"), unchanged[:120])
        lpu.run(80)
        assert np.array_equal(data(lpu, "g")[:120], unchanged[:120])
        assert (data(lpu, "g")[130:] != unchanged[130:]).any()


def test_a_state_that_is_set_is_read_by_the_next_step() -> None:
    """A simulation goes on from a state that is set as one that was always in it."""
    model = MODELS["LeakyIAF"]
    with nd.LPU(nd.Circuit.from_arrays([(model, 3, IAF, ["a", "b", "c"])]), DT) as lpu:
        lpu.run(50)
        view = lpu[["c", "a"]]
        view.V = [-51.0, -64.0]
        assert view.V.tolist() == [-51.0, -64.0] and lpu.get("V")[[0, 2]].tolist() == [-64.0, -51.0]
        lpu.run(1)
        after = lpu.get("V")
    started = {**IAF, "initV": np.array([-64.0, np.nan, -51.0])}
    with nd.LPU(nd.Circuit.from_arrays([(model, 3, started, None)]), DT) as lpu:
        lpu.run(1)
        assert lpu.get("V")[[0, 2]].tolist() == after[[0, 2]].tolist()


def test_an_output_of_a_state_follows_it() -> None:
    """A conductance is computed again from a state that is set, before anybody reads it."""
    with simulated(network()) as lpu:
        lpu.run(100)
        before = lpu.get("g").copy()
        lpu["s3"].s = 0.25
        now = lpu.get("g")
        assert now[3] == lpu["s3"].gmax[0] * 0.25
        assert np.array_equal(np.delete(now, 3), np.delete(before, 3)) and before.any()


def test_every_settable_row_is_set_and_read_back() -> None:
    """Set, then get, gives the same; setting what is there changes no bit of the run."""
    with simulated(network()) as lpu:
        lpu.run(200)
        whole = data(lpu, "V")
    with simulated(network()) as lpu:
        lpu.run(100)
        tried = 0
        for row in list(lpu.program.arrays.values()):
            if row.key.kind not in (Kind.STATE, Kind.PARAMETER):
                continue
            assert row.role in (Role.STATE, Role.SETTABLE)
            name = row.key.name
            values = lpu.get(name)
            lpu.set(name, values)
            assert np.array_equal(lpu.get(name), values)
            tried += 1
        lpu.run(100)
        assert tried >= 8 and np.array_equal(data(lpu, "V"), whole)


@pytest.mark.parametrize(
    ("name", "values", "match"),
    [
        ("gmax", np.nan, "finite"),
        ("gmax", [1.0, 2.0], "a number or 37"),
        ("gmax", "much", "a number or 37"),
        ("st", -1.0, "1 ms.; the same for 36 more"),
        ("gmax", np.zeros(99), r"a number or 37 of them, got an array of the shape \(99,\)"),
        ("gmx", 1.0, "gmax"),
        ("g", 1.0, "computed in each step"),
        ("spike_state", 1.0, "computed in each step"),
        ("s", np.inf, "finite"),
    ],
)
def test_what_cannot_be_set_is_refused(name: str, values: Any, match: str) -> None:
    """The error says why, and nothing has changed."""
    with simulated(network()) as lpu:
        lpu.run(40)
        before = [lpu.get(n) for n in ("gmax", "st", "s", "g", "V")]
        with pytest.raises(nd.NeurodriverError, match=match):
            lpu.set(name, values)
        after = [lpu.get(n) for n in ("gmax", "st", "s", "g", "V")]
        assert all(map(np.array_equal, before, after))


def test_components_are_found_by_what_users_have() -> None:
    """A uid, uids, a model; what is not there is named."""
    with simulated(network()) as lpu:
        assert len(lpu["SynapseAMPA"]) == COUNT and len(lpu["s7"]) == 1
        assert lpu[["s7", "LeakyIAF/3"]].uids.tolist() == ["s7", "LeakyIAF/3"]
        assert {"V", "resistance"} <= set(dir(lpu["LeakyIAF"]))
        assert "37 components of SynapseAMPA" in repr(lpu["SynapseAMPA"])
        with pytest.raises(nd.NeurodriverError, match="SynapseAMPA"):
            lpu["SynapsAMPA"]
        with pytest.raises(nd.NeurodriverError, match="s999"):
            lpu[["s1", "s999"]]
        with pytest.raises(nd.NeurodriverError, match="no component is named"):
            lpu[[]]
        with pytest.raises(AttributeError, match="gmax"):
            lpu["SynapseAMPA"].gmx  # noqa: B018
        with pytest.raises(nd.NeurodriverError, match="LeakyIAF have no 'gmax'"):
            lpu[["s7", "LeakyIAF/3"]].get("gmax")


def test_recorders_and_inputs_change_between_runs() -> None:
    """A new recording begins at its step; the run itself does not change."""
    with simulated(network()) as lpu:
        lpu.run(200)
        whole = {name: data(lpu, name) for name in ("V", "g")}
    with simulated(network()) as lpu:
        first = lpu.recorders[0]
        lpu.run(50)
        lpu.run(61, record=["g", ("V", ["LeakyIAF/2", "LeakyIAF/0"]), "s"])
        assert first.get("V").shape == (50, COUNT)  # type: ignore[attr-defined]
        g, v = lpu.recording.g, lpu.recording.V
        assert np.array_equal(g[:], whole["g"][50:111]) and np.ptp(g[:]) > 0
        assert np.array_equal(v[:], whole["V"][50:111, [2, 0]])
        assert np.allclose(g.time, np.arange(50, 111) * DT)
        assert np.array_equal(lpu.recording.s[:] * lpu.get("gmax"), g[:])
        lpu.run(20)  # the recording goes on
        assert np.array_equal(lpu.recording.g[:], whole["g"][50:131])
        lpu.run(10, inputs=[nd.StepInput("I", ["LeakyIAF/5"], 900.0)])
        now = lpu.recording.V[:]
        assert not np.array_equal(now[-5:], whole["V"][136:141, [2, 0]])
        with pytest.raises(nd.NeurodriverError, match="'gg'"):
            lpu.run(10, record=["gg"])


def test_a_failed_change_leaves_the_simulation_as_it_is() -> None:
    """After a recorder that does not fit, the run goes on with the old ones."""
    with simulated(network()) as lpu:
        lpu.run(200)
        whole = data(lpu, "V")
    with simulated(network()) as lpu:
        lpu.run(100)
        with pytest.raises(nd.NeurodriverError, match="no_such"):
            lpu.run(100, record=["no_such"])
        lpu.run(100)
        assert np.array_equal(data(lpu, "V"), whole)


@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"parts": 2}, {"batch": 2}])
def test_changes_that_compile_between_calls_of_advance(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """They end no recording, and a run of unknown length has the bits of runs."""

    def lengthened(lpu: nd.LPU) -> None:
        lpu["LeakyIAF/3"].set("capacitance", 0.2)

    def renumbered(lpu: nd.LPU) -> None:
        lpu.reset(step=lpu.step)

    record = [("V", None), ("spike_state", None)]
    for change in (lengthened, renumbered):
        names = [tmp_path / f"{change.__name__}{how}.h5" for how in "ar"]
        rows = []
        for name, stepwise in zip(names, (True, False), strict=True):
            recorders = [nd.MemoryRecorder(record), nd.HDF5Recorder(name, record, overwrite=True)]
            with nd.LPU(network(), DT, drive(), recorders, **options) as lpu:
                for turn in range(3):
                    lpu.advance(30) if stepwise else lpu.run(30)
                    if turn == 1:
                        change(lpu)
            rows.append([np.asarray(one.recording["V"]) for one in recorders])
        every = [one for pair in rows for one in pair]
        assert every[0].shape[-2] == (90 if change is lengthened else 30)
        assert all(np.array_equal(one, two) for one, two in zip(*rows, strict=True))


def test_changes_that_compile_within_a_call_are_refused() -> None:
    """Also by steps in another thread; the run goes on."""
    said = r"while run\(\) or advance\(\) does its steps"
    with simulated(network()) as lpu:
        for change in (lpu.reset, lambda: lpu["LeakyIAF/3"].set("capacitance", 0.2)):
            with pytest.raises(nd.NeurodriverError, match=said):
                lpu.run(10, progress=lambda done, change=change: change())
        lpu.run(10)
        assert len(data(lpu, "V")) == lpu.step > 10


def test_memory_is_shared() -> None:
    """What NumPy gets is the memory of the simulation: a value written there is read by steps."""
    model = MODELS["LeakyIAF"]
    circuit = nd.Circuit.from_arrays([(model, 3, varied3(), ["a", "b", "c"])])
    with nd.LPU(circuit, DT, backend="cpu") as lpu:
        lpu.run(7)
        shared = lpu[["b", "c"]].shared("V")
        assert np.array_equal(shared, lpu.get("V")[1:])
        shared[0] = -48.5
        assert lpu.get("V")[1] == -48.5
        assert np.from_dlpack(shared).ctypes.data == shared.ctypes.data
        given = lpu["LeakyIAF"].shared("resistance")
        for fixed in (given, np.from_dlpack(given), lpu["LeakyIAF"].shared("spike_state")):
            with pytest.raises(ValueError, match="read-only"):
                fixed[:] = 3.0
        assert set(lpu.get("resistance")) == {9.0, 10.0, 11.0}
        with pytest.raises(nd.NeurodriverError, match="one number"):
            lpu["LeakyIAF"].shared("capacitance")
        with pytest.raises(nd.NeurodriverError, match="not stored in this order"):
            lpu[["c", "a"]].shared("V")


def test_a_tensor_is_added_to_in_place() -> None:
    """``add_`` of PyTorch on shared memory shows in the next step."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    circuit = nd.Circuit.from_arrays([(MODELS["LeakyIAF"], 3, varied3(), ["a", "b", "c"])])
    with nd.LPU(circuit, DT, backend="cpu") as lpu, nd.LPU(circuit, DT, backend="cpu") as other:
        for one in (lpu, other):
            one.advance(5)
        torch.from_dlpack(lpu["LeakyIAF"].shared("V")).add_(4.0)
        other["LeakyIAF"].set("V", other.get("V") + 4.0)
        for one in (lpu, other):
            one.advance(1)
        assert np.array_equal(lpu.get("V"), other.get("V")) and np.ptp(lpu.get("V")) > 0


def varied3() -> dict[str, Any]:
    """Parameters of three IAF neurons."""
    return {**IAF, "resistance": np.array([9.0, 10.0, 11.0])}


def test_quantities_are_set() -> None:
    """A unit of the right dimension is converted, another one refused."""
    pint = pytest.importorskip("pint")
    unit = pint.UnitRegistry()
    with simulated(network()) as lpu:
        lpu["LeakyIAF"].threshold = -0.05 * unit.volt
        assert set(lpu.get("threshold")) == {-50.0}
        lpu["LeakyIAF/0"].V = -61_000 * unit.microvolt
        assert lpu["LeakyIAF/0"].V[0] == pytest.approx(-61.0)
        with pytest.raises(nd.NeurodriverError, match="mV"):
            lpu["LeakyIAF"].threshold = 3 * unit.second


def test_a_dropped_lpu_leaves_no_garbage() -> None:
    """Nothing that reads or changes an LPU keeps it, its simulation or its memory alive."""
    gc.collect()
    gc.disable()
    try:
        lpu = simulated(network())
        lpu.run(20)
        lpu["SynapseAMPA"].set("gmax", np.linspace(1.0, 2.0, COUNT))
        lpu.run(10, record=["V"])
        assert len(lpu.connections) == 1 and len(lpu.recording.V) == 10
        known = [weakref.ref(one) for one in (lpu, lpu.simulation, lpu.backend)]
        lpu.close()
        del lpu
        assert [one() for one in known] == [None, None, None]
    finally:
        gc.enable()


def test_values_that_were_read_are_copies() -> None:
    """An element cannot be set, which would be lost; what is computed is an array like others."""
    with simulated(network()) as lpu:
        lpu.run(20)
        view = lpu["LeakyIAF"]
        with pytest.raises(nd.NeurodriverError, match="a copy"):
            view.V[3] = -1.0
        before = np.array(view.V)
        view.V += 1.5
        assert np.array_equal(view.V, before + 1.5)
        for other in (2 * view.V, view.V.copy(), np.array(view.V)):
            assert type(other) is np.ndarray
            other[0] = 0.0
        assert isinstance(view.V.mean(), float) and view.V.dtype == np.float64


def test_connections_follow_changes() -> None:
    """What was looked up before a change reads and keeps it."""
    with simulated(network()) as lpu:
        links = lpu.connections["spike_state -> spike_state"]
        assert len(links) == COUNT and links.sources[0] == "LeakyIAF/0"
        lpu.set("gmax", 7.0)
        delay = links.delays
        assert set(delay) == {3e-4}
        lpu.run(10)
        assert set(lpu.get("gmax")) == {7.0}
