"""What may be done with an LPU, an input and a recorder more than once, and in what order."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from support import IAF

import neurodriver as nd
from neurodriver.circuit.validate import check
from neurodriver.errors import CircuitWarning, Faults, InputError, ModelError, RecordingError
from neurodriver.model.library import shipped
from neurodriver.plan.passes.aggregate import insert_aggregators

DT = 1e-4
MODELS = shipped()


def neurons(count: int = 3) -> nd.Circuit:
    """Some LeakyIAF neurons without connections."""
    uids = [f"n{i}" for i in range(count)]
    return nd.Circuit.from_arrays([(MODELS["LeakyIAF"], count, IAF, uids)])


def test_a_closed_lpu_refuses() -> None:
    """Running or asking after close() is an error, not a crash; closing twice is not."""
    with nd.LPU(neurons(), DT) as lpu:
        lpu.run(10)
    lpu.close()
    for call in (lambda: lpu.run(10), lambda: lpu.backend.worked(), lambda: lpu.get("V")):
        with pytest.raises(nd.NeurodriverError, match="closed"):
            call()


def test_recordings_go_on(tmp_path: Any) -> None:
    """Runs of one LPU give one recording, equal to that of a single run; in memory and in files."""
    whole = nd.MemoryRecorder([("V", None)], 3)
    source = nd.StepInput("I", ["n0", "n1"], 20.0, start=0.3e-3, stop=2.1e-3)
    with nd.LPU(neurons(), DT, [source], [whole]) as lpu:
        lpu.run(38)
    parts = nd.MemoryRecorder([("V", None)], 3)
    file = nd.HDF5Recorder(tmp_path / "v.h5", [("V", None), ("spike_state", None)], 3)
    given = nd.RecordedInput(source, tmp_path / "i.h5", 2)
    with nd.LPU(neurons(), DT, [given], [parts, file]) as lpu:
        for steps in (10, 1, 20, 7):
            lpu.run(steps)
            assert len(parts.get("V")) == lpu.step // 3
            with nd.open_recording(tmp_path / "v.h5") as found:
                assert found.complete and len(found["V"]) == lpu.step // 3
    assert lpu.step == 38 and np.ptp(whole.get("V")) > 0
    assert np.array_equal(parts.get("V"), whole.get("V"))
    assert np.array_equal(parts.time(), whole.time())
    with nd.open_recording(tmp_path / "v.h5") as found:
        assert np.array_equal(found["V"][:], whole.get("V"))
        assert np.array_equal(found.time("V"), whole.time())
    with nd.open_recording(tmp_path / "i.h5") as found:
        steps = np.arange(0, 38, 2)
        on = ((steps * DT >= 0.3e-3) & (steps * DT < 2.1e-3)) * 20.0
        assert np.array_equal(found["I"][:], np.stack([on, on], axis=1))


def test_a_recorder_that_does_not_open_is_not_forgotten(tmp_path: Any) -> None:
    """After a failed start nothing runs unrecorded."""
    recorder = nd.HDF5Recorder(tmp_path / "missing" / "x.h5", [("V", None)])
    with nd.LPU(neurons(), DT, recorders=[recorder]) as lpu:
        for _ in range(2):
            with pytest.raises(RecordingError):
                lpu.run(10)
        assert lpu.step == 0


class BreaksAt3(nd.MemoryRecorder):
    """Fails at step 3 or soon after it; like a data class, it has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def _append(self, block: Any, rows: int) -> None:
        if block.step >= 3:
            raise OSError("broken disk")
        super()._append(block, rows)


@pytest.mark.parametrize("per_step", [False, True])
@pytest.mark.parametrize("parts", [None, 2])
def test_a_recorder_that_fails_takes_nothing_from_the_others(parts: Any, per_step: bool) -> None:
    """They have the rows of all steps that were done."""
    bad, before, after = (kind([("V", None)]) for kind in (BreaksAt3, *2 * [nd.MemoryRecorder]))
    bad.per_step = per_step
    current = nd.StepInput("I", ["n0", "n1"], 20.0)
    with nd.LPU(neurons(), DT, [current], [before, bad, after], parts=parts, backend="cpu") as lpu:
        with pytest.raises(OSError, match="broken disk"):
            for _ in range(100):
                lpu.advance(1)
        with pytest.raises(OSError, match="broken disk"):
            lpu.advance(1)
        lpu.finish()
        assert 3 <= lpu.step
        for one in (before, after):
            assert one.get("V").shape == (lpu.step, 3) and np.ptp(one.get("V")) > 0


@pytest.mark.parametrize("parts", [None, 2])
def test_what_failed_first_is_shown_with_a_recorder_that_fails_at_the_end(parts: Any) -> None:
    """The traceback has both the error of the program and that of the recorder."""

    class Full(nd.MemoryRecorder):
        def close(self) -> None:
            raise OSError("full disk")

    with (
        pytest.raises(OSError, match="full disk") as found,
        nd.LPU(neurons(), DT, recorders=[Full([("V", None)])], parts=parts) as lpu,
    ):
        lpu.advance(2)
        raise ValueError("wrong")
    assert repr(found.value.__context__) == "ValueError('wrong')"


def test_a_component_is_recorded_once() -> None:
    """A request for the same component twice is refused."""
    with pytest.raises(RecordingError, match="named twice"):
        nd.MemoryRecorder([("V", ["n0"]), ("V", ["n1", "n0"])])


def test_an_input_serves_another_step() -> None:
    """Events keep their times when their input is used again with another dt."""
    events = nd.ArrayInput({"spike_state": (["s"], (np.array([1e-3]), np.array([0])))})
    synapse = (MODELS["SynapseAMPA"], 1, {"gmax": 1.0, "st": 5.0}, ["s"])
    circuit = nd.Circuit.from_arrays([synapse])
    for dt in (1e-4, 5e-5):
        recorder = nd.MemoryRecorder([("g", None)])
        with nd.LPU(circuit, dt, [events], [recorder]) as lpu:
            lpu.run(duration=2e-3)
        g = recorder.get("g")[:, 0]
        assert g.max() == 1.0 and np.argmax(g > 0) == round(1e-3 / dt) + 1


class Wrong(nd.Input):
    """An input whose chunk is not what it should be."""

    def __init__(self, change: str) -> None:
        super().__init__([("I", ["n0"])])
        self.change = change

    def chunk(self, number: int, first: int, steps: int) -> Any:
        from neurodriver.inputs import Chunk

        table, rows = np.ones((1, 1), self.dtype), np.zeros(steps, np.int32)
        if self.change == "type":
            table = table.astype(np.float32)
        if self.change == "shape":
            table = np.ones((1, 2))
        if self.change == "steps":
            rows = rows[:-1]
        if self.change == "row":
            rows[0] = 7
        return Chunk(table, rows)


@pytest.mark.parametrize("change", ["type", "shape", "steps", "row"])
def test_what_compiled_code_cannot_read_is_refused(change: str) -> None:
    """A chunk of the wrong type, shape, length or row is an error of the input."""
    with nd.LPU(neurons(), DT, [Wrong(change)]) as lpu, pytest.raises(InputError, match="Wrong"):
        lpu.run(10)
    with nd.LPU(neurons(), DT, [Wrong("")]) as lpu:
        lpu.run(10)
        assert np.ptp(lpu.get("V")) > 0


def test_conductances_given_in_parts_share_an_aggregator() -> None:
    """Two sets of connections onto the same neurons make one Aggregator each, named once."""
    uids = ["n0", "n1", *[f"s{i}" for i in range(4)]]
    groups = [
        (MODELS["LeakyIAF"], 2, IAF, uids[:2]),
        (MODELS["SynapseAMPA"], 4, {"gmax": 1.0, "st": 5.0}, uids[2:]),
    ]
    source, target = np.arange(2, 6, dtype=np.int32), np.array([1, 0, 0, 1], dtype=np.int32)
    data = {"reverse": np.array([1.0, 2.0, 3.0, 4.0])}
    whole = nd.Circuit.from_arrays(groups, [nd.Connections("g", "I", source, target, data=data)])
    parts = [
        nd.Connections("g", "I", source[p], target[p], data={"reverse": data["reverse"][p]})
        for p in (slice(0, 2), slice(2, 4))
    ]
    made = [insert_aggregators(c) for c in (whole, nd.Circuit.from_arrays(groups, parts))]
    assert made[0].groups[-1].uids.tolist() == ["auto_1", "auto_0"]
    assert made[0].digest == made[1].digest


class Opened(nd.NDComponent):
    """Reads conductances itself, under the name of a receptor."""

    accesses = (nd.Access("g", receptor="exc"),)
    updates = ("V",)
    states = {"V": nd.State("mV")}
    update = "V = exc;"


def test_conductances_into_a_receptor() -> None:
    """A model that accesses g under another name gets it, without an Aggregator."""
    graph = nx.DiGraph()
    graph.add_node("s", **{"class": "SynapseAMPA"}, gmax=2.0, st=5.0)
    graph.add_node("o", **{"class": "Opened"})
    graph.add_edge("s", "o", reverse=0.0)
    events = nd.ArrayInput({"spike_state": (["s"], (np.array([0.0]), np.array([0])))})
    circuit = nd.Circuit.from_graph(graph, [Opened])
    recorder = nd.MemoryRecorder([("V", None)])
    with nd.LPU(circuit, DT, [events], [recorder]) as lpu:
        lpu.run(5)
        assert [g.name for g in lpu.program.circuit.groups] == ["SynapseAMPA", "Opened"]
    assert recorder.get("V")[2, 0] == 2.0


class Scaled(nd.NDComponent):
    """Needs a number of each connection."""

    accesses = (nd.Access("V", each="k * V", connection={"k": nd.Parameter("1")}),)
    updates = ("I",)
    update = "I = V;"


def test_a_required_number_of_connections() -> None:
    """That no edge has it is a fault, as that some have not."""
    ends = np.zeros(2, dtype=np.int32), np.array([2, 2], dtype=np.int32)
    groups = [(MODELS["LeakyIAF"], 2, IAF, None), (Scaled, 1, {}, None)]
    for data in ({}, {"k": np.array([1.0, np.nan])}):
        with pytest.raises(nd.CircuitError, match="'k'"):
            nd.Circuit.from_arrays(groups, [nd.Connections("V", "V", *ends, data=data)])
    good = nd.Connections("V", "V", *ends, data={"k": np.ones(2)})
    faults = Faults("good")
    check(nd.Circuit.from_arrays(groups, [good]), faults)
    assert not faults.count


def test_edges_that_old_scripts_have() -> None:
    """No common variable: a warning with a count for an LPU, an error for a circuit."""
    graph = nx.DiGraph()
    for name in ("a", "b"):
        graph.add_node(name, **{"class": "LeakyIAF"}, **IAF)
    graph.add_edge("a", "b")
    with pytest.raises(nd.CircuitError, match="no variable to carry"):
        nd.Circuit.from_graph(graph)
    with pytest.warns(CircuitWarning, match="no variable in common"), nd.LPU(graph, DT) as lpu:
        assert lpu.circuit.edges == 0


def test_constants_do_not_draw() -> None:
    """Random numbers belong to the update; elsewhere they are refused when the class is made."""
    with pytest.raises(ModelError, match="draws a random number; only update and terms may"):

        class Drawing(nd.NDComponent):
            constants = {"c": "uniform()"}
            updates = ("I",)
            update = "I = c;"


def test_what_is_not_kept_is_told() -> None:
    """Asking for a variable that holds inputs alone, or that fusion left out, says so."""
    with nd.LPU(neurons(), DT, [nd.StepInput("I", ["n0"], 1.0)]) as lpu:
        with pytest.raises(nd.NeurodriverError, match="inputs alone"):
            lpu.get("I")
        with pytest.raises(nd.NeurodriverError, match="no variable 'W'"):
            lpu.get("W")
