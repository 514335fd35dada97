"""Old output processors: signatures, samples, columns, file layout (with bare h5py), readers."""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import ALPHA, AMPA, DT, IAF, build, graph, node, recorded, started

from neurodriver import LPU, Circuit, PoissonInput, StepInput
from neurodriver.compat.inputs import BaseInputProcessor, FileInputProcessor
from neurodriver.compat.lpu import LPU as OldLPU
from neurodriver.compat.outputs import (
    BaseOutputProcessor,
    FileOutputProcessor,
    FileOutputReader,
    OutputRecorder,
)
from neurodriver.errors import CircuitWarning, RecordingError, RequestError
from neurodriver.recorders import Recorder

NEURONS = ["n0", "n1", "n2"]
STEPS = 400
ALL = [("V", None), ("g", None), ("spike_state", None)]


def network() -> Circuit:
    """Return three neurons, one of them driven through a synapse and an Aggregator."""
    nodes: dict[str, Any] = {u: node("LeakyIAF", IAF) for u in NEURONS}
    nodes["s"] = node("AlphaSynapse", ALPHA, gmax=0.3, reverse=0.0)
    port = {"class": "Port", "selector": "/l/in/0", "port_type": "spike", "port_io": "in"}
    return Circuit.from_graph(graph({**nodes, "p": port}, [("n0", "s"), ("s", "n1"), ("p", "s")]))


def drive() -> list[Any]:
    """Return what makes the neurons fire, in different steps."""
    return [StepInput("I", NEURONS, [60.0, 0.0, 90.0])]


def run(recorder: Recorder, steps: int = STEPS, **settings: Any) -> LPU:
    """Run the network with a recorder."""
    with LPU(network(), DT, drive(), [recorder], **settings) as lpu:
        return lpu.run(steps=steps)


def truth(steps: int = STEPS) -> dict[str, NDArray[Any]]:
    """Return all rows, spikes as rows too, from the native recorder."""
    with started(network(), DT, drive(), ALL) as lpu:
        lpu.run(steps=steps)
        out = recorded(lpu, steps)
    assert out["spike_state"].sum() > 20
    return out


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (BaseOutputProcessor, "var_list, sample_interval=1"),
        (FileOutputProcessor, "var_list, filename, sample_interval=1, cache_length=1000"),
        (OutputRecorder, "var_list, sample_interval=1, cache_length=1000"),
        (OutputRecorder.get_output, "self, var=None, uids=None"),
        (FileOutputReader, "filename"),
        (FileOutputReader.get_output, "self, var=None, uids=None"),
        (FileOutputReader.get_uids, "self, var=None"),
    ],
)
def test_signatures(kind: Any, expected: str) -> None:
    """Names, order and defaults of arguments are the old ones."""
    parameters = inspect.signature(kind).parameters.values()
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    assert ", ".join(map(str, plain)) == expected


# ---- E.6, the base -------------------------------------------------------------------------


class Own(BaseOutputProcessor):
    """Keeps what its hooks see."""

    def pre_run(self) -> None:
        """Make the lists."""
        assert self.LPU_obj is not None and self.memory_manager is not None
        self.calls: list[str] = ["pre_run"]
        self.samples: list[tuple[float, dict[str, Any]]] = []
        self.spikes: list[tuple[float, Any]] = []
        self.copies = {v: np.zeros(len(d["uids"])) for v, d in self.variables.items()}

    def process_output(self) -> None:
        """Keep a sample."""
        assert threading.current_thread() is threading.main_thread()
        dense = [v for v in self.variables if v != "spike_state"]
        values = {v: self.get_output(v).copy() for v in dense}
        for v in dense:
            np.testing.assert_array_equal(self.copies[v], values[v])
        self.samples.append((self.time, values))

    def process_spike_output(self) -> None:
        """Keep a row of spikes."""
        self.spikes.append((self.time, self.get_output("spike_state").copy()))

    def get_output_array(self, var: str) -> Any:
        """Give room of its own."""
        return self.copies[var]

    def post_run(self) -> None:
        """Note the end."""
        assert threading.current_thread() is threading.main_thread()
        self.calls.append("post_run")


@pytest.mark.parametrize("interval", [1, 7, 400, 401])
@pytest.mark.parametrize("spikes", [True, False])
def test_hooks(interval: int, spikes: bool) -> None:
    """Samples are x[(j + 1) s - 1] with their true times; spikes are seen at every step."""
    var_list = ALL if spikes else ALL[:2]
    one = Own(var_list, interval)
    run(one)
    expected = truth()
    assert one.calls == ["pre_run", "post_run"]
    assert len(one.samples) == STEPS // interval
    for j, (time, values) in enumerate(one.samples):
        k = (j + 1) * interval - 1
        assert time == k * DT
        for v in ("V", "g"):
            np.testing.assert_array_equal(values[v], expected[v][k])
    if spikes:
        assert [t for t, _ in one.spikes] == [k * DT for k in range(STEPS)]
        np.testing.assert_array_equal([s for _, s in one.spikes], expected["spike_state"])
    else:
        assert not one.spikes


class Watch(BaseOutputProcessor):
    """Keeps V at hand for an input."""

    def process_output(self) -> None:
        """Keep V."""
        self.last = self.get_output("V").copy()


class Answer(BaseInputProcessor):
    """Injects what the output saw in the step before."""

    watch: Watch

    def update_input(self) -> None:
        """Pull V to -62 mV."""
        last = getattr(self.watch, "last", np.array([-70.0]))
        self.variables["I"]["input"] = 2.0 * (-62.0 - last)


def test_closed_loop() -> None:
    """The run waits for an output processor, so an input may use what it has just seen."""
    watch, answer = Watch([("V", ["n0"])]), Answer([("I", ["n0"])])
    answer.watch = watch
    with LPU(network(), DT, [answer], [watch]) as lpu:
        lpu.run(steps=5000)
    np.testing.assert_allclose(watch.last, (20 * -62.0 - 70.0) / 21, rtol=1e-9)


class Failing(BaseOutputProcessor):
    """Fails in its tenth step."""

    def process_output(self) -> None:
        """Fail."""
        if self.time > 8.5 * DT:
            raise ZeroDivisionError("mine")


def test_an_error_of_a_hook_ends_the_run() -> None:
    """A user's error comes out of run as it is, at its step."""
    with pytest.raises(ZeroDivisionError, match="mine"):
        run(Failing([("V", None)]))


@pytest.mark.parametrize("uids", [None, []])
def test_everything_that_is_not_hidden(uids: Any) -> None:
    """uids None or empty: all but input slots, Aggregators and ports."""
    one = OutputRecorder([("V", uids), ("g", uids)])
    run(one)
    assert one.output["V"]["uids"] == NEURONS and one.output["g"]["uids"] == ["s"]
    assert one.variables["V"]["uids"] == NEURONS


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(NEURONS), min_size=1, max_size=5))
def test_columns_keep_the_order_asked_for(uids: list[str]) -> None:
    """Columns are in the requested order."""
    one = OutputRecorder([("V", uids)])
    run(one, 100)
    expected = truth()["V"][:100][:, [NEURONS.index(u) for u in uids]]
    assert one.output["V"]["uids"] == uids
    np.testing.assert_array_equal(one.output["V"]["data"], expected)


def test_unknown_uids_are_left_out_with_a_warning() -> None:
    """Unknown uids do not end a run, but are named and counted; none known is an error."""
    one = OutputRecorder([("V", ["lost", "n2", "s", "n0"])])
    with pytest.warns(CircuitWarning, match=r"'lost', 's': .*'V'; 2 of 4 uids are left out"):
        run(one, 50)
    assert one.output["V"]["uids"] == ["n2", "n0"]
    np.testing.assert_array_equal(one.output["V"]["data"], truth()["V"][:50][:, [2, 0]])
    with pytest.raises(RecordingError, match="'lost'"):
        run(OutputRecorder([("V", ["lost"])]))


@pytest.mark.parametrize("kind", [AssertionError, KeyError, RecordingError])
def test_unknown_variable(kind: type[Exception]) -> None:
    """An unknown variable is an AssertionError, among others, with what could be meant."""
    with pytest.raises(
        kind, match=r"no component updates 'spike_stat'.*did you mean 'spike_state'"
    ):
        run(OutputRecorder([("spike_stat", None)]))


# ---- E.7, files ----------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [1, 3])
def test_file_layout(tmp_path: Path, interval: int, dtype: str) -> None:
    """Bare h5py finds the documented paths, shapes, types and attributes."""
    path = tmp_path / "out.h5"
    run(FileOutputProcessor(ALL, path, interval), dtype=dtype)
    rows = STEPS // interval
    with h5py.File(path, "r") as file:
        told = file["metadata"].attrs
        assert file["metadata"].shape == () and file["metadata"].dtype == np.int32
        assert isinstance(float(told["start_time"]), float) and told["dt"] == DT
        assert told["start_time"] == (interval - 1) * DT and told["sample_interval"] == interval
        assert isinstance(told["DateCreated"], str)
        for v, uids in (("V", NEURONS), ("g", ["s"])):
            assert file[f"{v}/data"].shape == (rows, len(uids))
            assert file[f"{v}/data"].dtype == dtype
            assert file[f"{v}/data"].maxshape == (None, len(uids))
            assert file[f"{v}/uids"].dtype.kind == "S"
            assert [u.decode() for u in file[f"{v}/uids"][()]] == uids
        index, time = (file[f"spike_state/data/{n}"] for n in ("index", "time"))
        assert index.dtype == np.int32 and time.dtype == np.float64
        assert index.maxshape == time.maxshape == (None,) and index.shape == time.shape
        assert [u.decode() for u in file["spike_state/uids"][()]] == NEURONS
        if dtype == "float64":
            expected = truth()
            np.testing.assert_array_equal(
                file["V/data"][()], expected["V"][interval - 1 :: interval]
            )
            row, column = np.nonzero(expected["spike_state"])
            np.testing.assert_array_equal(time[()], row * DT)
            np.testing.assert_array_equal(index[()], column)


def test_spikes_of_a_file_can_be_injected(tmp_path: Path) -> None:
    """A file of spike_state alone drives synapses, in the steps of the spikes."""
    path = tmp_path / "spikes.h5"
    nodes = {u: node("LeakyIAF", IAF) for u in NEURONS}
    with LPU(build(nodes), DT, drive(), [FileOutputProcessor([("spike_state", None)], path)]) as r:
        r.run(steps=STEPS)
    synapses = build({u: node("SynapseAMPA", {"gmax": 1.0, "st": 1e-3}) for u in NEURONS})
    one = OutputRecorder([("g", NEURONS)])
    with LPU(synapses, DT, FileInputProcessor(path), [one]) as lpu:
        lpu.run(steps=STEPS)
    spikes = truth()["spike_state"]
    # n1 is not driven through the synapse here
    opened = one.output["g"]["data"][1:] > 0.5
    np.testing.assert_array_equal(opened[:, [0, 2]], spikes[:-1, [0, 2]] > 0)


# ---- E.7 and E.8, readers ------------------------------------------------------------------


@pytest.fixture(params=["memory", "file", "to_file"])
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Something with get_output: a recorder, a reader of its file, a reader of a recorder's."""
    if request.param == "file":
        run(FileOutputProcessor(ALL, tmp_path / "out.h5", 4))
        return FileOutputReader(tmp_path / "out.h5")
    one = OutputRecorder(ALL, 4)
    run(one)
    if request.param == "memory":
        return one
    one.to_file(tmp_path / "out.h5")
    return FileOutputReader(tmp_path / "out.h5")


def test_get_output(reader: Any) -> None:
    """All; by variable; by uid; by both. A list or tuple of uids gives an ordered dict."""
    rows = truth()
    time = (np.arange(100) * 4 + 3) * DT
    spikes = {u: np.flatnonzero(rows["spike_state"][:, i]) * DT for i, u in enumerate(NEURONS)}
    everything = reader.get_output()
    assert everything.keys() == {"V", "g", "spike_state"}
    np.testing.assert_array_equal(everything["V"]["data"], rows["V"][3::4])
    assert everything["V"]["uids"] == NEURONS
    assert everything["spike_state"]["data"].keys() == {"time", "index"}
    by_variable = reader.get_output("V")
    assert list(by_variable) == NEURONS
    np.testing.assert_allclose(by_variable["n1"]["time"], time, rtol=1e-12)
    np.testing.assert_array_equal(by_variable["n1"]["data"], rows["V"][3::4, 1])
    for uid, entry in reader.get_output("spike_state").items():
        np.testing.assert_array_equal(entry["data"], spikes[uid])
    by_uid = reader.get_output(uids="n2")
    assert type(by_uid) is dict and by_uid["n2"].keys() == {"V", "spike_state"}
    np.testing.assert_array_equal(by_uid["n2"]["spike_state"]["data"], spikes["n2"])
    for kind in (list, tuple, set):
        got = reader.get_output(uids=kind(["s", "n0"]))
        assert isinstance(got, OrderedDict) == (kind is not set)
        assert got["s"].keys() == {"g"} and got["n0"].keys() == {"V", "spike_state"}
        both = reader.get_output("V", kind(["n2", "n0"]))
        assert kind is set or list(both) == ["n2", "n0"]
        np.testing.assert_array_equal(both["n0"]["data"], rows["V"][3::4, 0])
    assert reader.get_output(var="spike_state", uids="n0")["n0"]["data"].size > 3
    assert reader.get_output("V", "lost") == {"lost": None}
    assert reader.get_output(uids="lost") == {"lost": {}}
    with pytest.raises(KeyError, match="'v' was not recorded"):
        reader.get_output("v")


def test_reader_attributes(tmp_path: Path) -> None:
    """Metadata, times, uids by variable or all; nothing known is told."""
    path = tmp_path / "out.h5"
    run(FileOutputProcessor([("V", ["n1", "n0"]), ("spike_state", None)], path, 5))
    one = FileOutputReader(str(path))
    assert one.dt == DT and one.sample_interval == 5 and one.start_time == 4 * DT
    assert one.get_metadata() is one.metadata and one.metadata["dt"] == DT and one.DateCreated
    assert one.get_uids("V") == ["n1", "n0"]
    assert one.get_uids() == {"V": ["n1", "n0"], "spike_state": NEURONS}
    with pytest.raises(KeyError, match="no variable 'v'"):
        one.get_uids("v")
    with pytest.raises(RecordingError, match="no such file"):
        FileOutputReader(tmp_path / "no.h5")


def test_reader_of_an_older_file(tmp_path: Path) -> None:
    """Spikes stored as rows, and rows whose start_time is 0 at any interval, have true times."""
    path = tmp_path / "old.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("metadata", (), "i")
        file["metadata"].attrs.update({"start_time": 0.0, "sample_interval": 2, "dt": DT})
        file["V/uids"] = file["spike_state/uids"] = np.array([b"a", b"b"])
        file["V/data"] = np.arange(6.0).reshape(3, 2)
        file["spike_state/data"] = np.array([[0, 1], [0, 0], [1, 1]])
    one = FileOutputReader(path)
    np.testing.assert_allclose(one.get_output("V")["a"]["time"], [1 * DT, 3 * DT, 5 * DT])
    np.testing.assert_allclose(one.get_output("spike_state")["b"]["data"], [1 * DT, 5 * DT])


def test_recorder_before_the_end(tmp_path: Path) -> None:
    """Output is there after the run; before it the error says so."""
    one = OutputRecorder(ALL)
    for call in (one.get_output, lambda: one.to_file(tmp_path / "x.h5")):
        with pytest.raises(RecordingError, match="run and close first"):
            call()


def test_names_and_kinds() -> None:
    """Ready-made processors are output processors; they are recorders of the native LPU."""
    for one in (OutputRecorder(ALL), FileOutputProcessor(ALL, "x.h5")):
        assert isinstance(one, BaseOutputProcessor) and isinstance(one, Recorder)
        assert not one.per_step


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunk", [1, 17, 1000])
def test_chunks_and_threads(threads: int, chunk: int) -> None:
    """However the run is cut, an output processor sees the same steps."""
    train = [PoissonInput("I", NEURONS, 3000.0, seed=2)]
    seen = []
    for cut, count in ((chunk, threads), (1, 1)):
        one = Own(ALL, 5)
        with LPU(network(), DT, [*drive(), *train], [one], threads=count) as lpu:
            lpu.simulation.length.fixed = cut
            lpu.run(steps=200)
        seen.append(np.array([np.concatenate([*v.values()]) for _, v in one.samples]))
    assert seen[0].shape == (40, 4)
    np.testing.assert_array_equal(*seen)


def everything_of(path: Path, *variables: str) -> dict[str, Any]:
    """Record all of some variables of two neurons, a synapse onto the second, and an input."""
    made = graph(
        {"a": node("LeakyIAF", IAF, threshold=-69.0), "b": node("LeakyIAF", IAF),
         "s": node("SynapseAMPA", AMPA, gmax=0.1, reverse=0.0)},
        [("a", "s"), ("s", "b")],
    )  # fmt: skip
    one = FileOutputProcessor([(v, None) for v in variables], path)
    current = StepInput("I", ["a"], 10.0)
    with OldLPU(1e-4, "obj", made, input_processors=[current], output_processors=[one]) as lpu:
        lpu.run(steps=60)
    return FileOutputReader(path).output


def test_all_of_the_currents(tmp_path: Path) -> None:
    """The currents of synapses belong to Aggregators that nobody wrote into the graph."""
    data = everything_of(tmp_path / "I.h5", "I", "g", "V")
    assert data["I"]["uids"] == ["auto_0"]
    current, g, V = (data[v]["data"] for v in ("I", "g", "V"))
    assert current.max() > 1
    np.testing.assert_allclose(current[1:, 0], -g[:-1, 0] * V[:-1, 1], rtol=1e-12)


def test_all_of_what_nothing_updates(tmp_path: Path) -> None:
    """A variable that is only read is left out with a warning; an unknown one is an error."""
    recorder = OutputRecorder([("I", None), ("V", None)])
    own = Own([("I", None), ("V", None)], 1)
    lone = graph({"a": node("LeakyIAF", IAF)})
    with (
        pytest.warns(CircuitWarning, match="no component updates 'I'.* nothing of it is recorded"),
        OldLPU(1e-4, "obj", lone, output_processors=[recorder, own]) as lpu,
    ):
        lpu.run(steps=3)
    assert list(recorder.output) == ["V"]
    assert own.variables["I"]["uids"] == [] and own.get_output("I").shape == (0,)
    for wrong in (("g", None), ("I", ["a"])):
        with pytest.raises(RequestError, match="no component updates"):
            OldLPU(1e-4, "obj", lone, output_processors=[OutputRecorder([wrong])])
