"""The old LPU: its constructor, life cycle, errors and the names that users read."""

from __future__ import annotations

import inspect
from typing import Any

import networkx as nx
import numpy as np
import pytest
from support import ALPHA, FEATURE_EDGES, HH2, IAF, every_feature, graph, node, simulate

import neurodriver
from neurodriver import (
    Circuit,
    MemoryRecorder,
    NDComponent,
    NoiseInput,
    Parameter,
    PoissonInput,
    State,
    StepInput,
)
from neurodriver.compat.lpu import LPU, UnknownModelError
from neurodriver.errors import CircuitError, InputError, NeurodriverError, RecordingError

SIGNATURE = (
    ("dt", inspect.Parameter.empty),
    ("graph_type", inspect.Parameter.empty),
    ("graph_dict", inspect.Parameter.empty),
    ("device", 0),
    ("input_processors", []),
    ("output_processors", []),
    ("ctrl_tag", 1),
    ("gpot_tag", 2),
    ("spike_tag", 3),
    ("manager", True),
    ("rank_to_id", None),
    ("routing_table", None),
    ("uid_key", "id"),
    ("debug", False),
    ("columns", ["io", "type", "interface"]),
    ("cuda_verbose", False),
    ("time_sync", False),
    ("default_dtype", np.double),
    ("control_inteface", None),
    ("id", None),
    ("extra_comps", []),
    ("print_timing", False),
)


@pytest.fixture
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let circuits run there, whatever the other tests use."""
    monkeypatch.setenv("NEURODRIVER_BACKEND", "cpu")


class Leak(NDComponent):
    """A neuron that forgets."""

    accesses = ["I"]
    updates = ["V"]
    params = {"rate": Parameter("1/ms", at_least=0.0)}
    states = {"V": State("mV", 1.0)}
    update = "V = V - dt_ms * rate * V + I;"


def two() -> nx.MultiDiGraph:
    """Return two neurons and a delayed synapse between them."""
    return graph(
        {
            "n0": node("LeakyIAF", IAF, initV=-65.0),
            "n1": node("LeakyIAF", IAF, initV=-60.0),
            "s": node("AlphaSynapse", ALPHA, reverse=65.0),
        },
        [("n0", "s", {"delay": 0.0015}), ("s", "n1")],
    )


def make(given: Any = None, steps: int | None = None, **more: Any) -> tuple[LPU, MemoryRecorder]:
    """Return an LPU of a graph with a current into ``n0``, and its recorder; run it if asked."""
    recorder = MemoryRecorder([("V", None), ("spike_state", None)])
    current = StepInput("I", ["n0"], 10.0)
    lpu = LPU(
        1e-4,
        "obj",
        two() if given is None else given,
        input_processors=[current],
        output_processors=[recorder],
        manager=False,
        **more,
    )
    if steps is not None:
        lpu.run(steps=steps)
    return lpu, recorder


def test_constructor() -> None:
    """Names, order and defaults are the old ones: callers fill them by name and by place."""
    parameters = inspect.signature(LPU).parameters.values()
    assert tuple((p.name, p.default) for p in parameters) == SIGNATURE
    assert all(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in parameters)
    assert issubclass(LPU, neurodriver.LPU)


def test_the_defaults_are_not_shared() -> None:
    """The lists among the defaults never change."""
    make(steps=3)
    assert tuple(p.default for p in inspect.signature(LPU).parameters.values()) == tuple(
        default for _, default in SIGNATURE
    )


def test_run_is_pre_run_steps_post_run(capsys: pytest.CaptureFixture[str]) -> None:
    """``run`` gives the bits of its parts, and time and step tell where it stands."""
    whole, expected = make(steps=300)
    capsys.readouterr()
    parts, recorder = make(id="x")
    assert (parts.step, parts.time, parts.dt) == (0, 0.0, 1e-4)
    parts.pre_run()
    for k in range(300):
        parts.run_step() if k % 2 else parts.do_work()
    parts.post_run()
    assert parts.step == whole.step == 300 and parts.time == 300 * 1e-4
    np.testing.assert_array_equal(recorder.get("V"), expected.get("V"))
    assert np.ptp(expected.get("V")[:, 1]) > 1e-3
    out = capsys.readouterr().out
    assert "x: Number of LeakyIAF: 2" in out and "Number of Input: {'I': 1}" in out
    assert "Compilation of executable circuit completed in" in out


def test_print_timing(capsys: pytest.CaptureFixture[str]) -> None:
    """``print_timing`` prints what building and running took."""
    make(steps=2, print_timing=True, id="timed")
    assert "timed: build" in capsys.readouterr().out


def test_an_overridden_run_step_is_called_at_every_step() -> None:
    """A subclass may add to each step, and sees the state before and after it."""

    class Watching(LPU):
        """Notes a potential after each step."""

        seen: list[float]

        def pre_run(self) -> None:
            self.seen = []
            super().pre_run()

        def run_step(self) -> None:
            super().run_step()
            self.seen.append(float(self.get("V")[0]))

    _, expected = make(steps=101)
    recorder = MemoryRecorder([("V", None)])
    current = StepInput("I", ["n0"], 10.0)
    lpu = Watching(1e-4, "obj", two(), 0, [current], [recorder])
    lpu.run(steps=100)
    np.testing.assert_array_equal(lpu.seen, expected.get("V")[1:, 0])


def test_the_step_loop_stays_out_of_python() -> None:
    """Without such a subclass, one call advances many steps."""
    lpu, _ = make()
    calls = []
    run = lpu.backend.run
    lpu.backend.run = lambda first, steps: calls.append(steps) or run(first, steps)  # type: ignore[func-returns-value,method-assign]
    lpu.run(steps=2000)
    assert sum(calls) == 2000 and len(calls) < 200


@pytest.mark.parametrize("device", [0, 3, None])
def test_any_device_runs_on_the_cpu(device: int | None) -> None:
    """The number of a GPU changes nothing where circuits run on the CPU."""
    lpu, recorder = make(device=device, steps=50)
    assert lpu.device == device
    np.testing.assert_array_equal(recorder.get("V"), make(steps=50)[1].get("V"))


@pytest.mark.parametrize("dtype", [np.float32, "float32", np.dtype(np.float64), np.double])
def test_default_dtype(dtype: Any) -> None:
    """Variables and recordings have the type that is asked for, whatever types are given."""
    whole = graph({"n0": {"class": "LeakyIAF", **{k: int(v) for k, v in IAF.items()}}})
    lpu, recorder = make(whole, steps=20, default_dtype=dtype)
    assert recorder.get("V").dtype == np.dtype(dtype) == lpu.memory_manager.get_buffer("V").dtype
    assert -70 < recorder.get("V")[-1, 0] < -45


@pytest.mark.parametrize("dtype", [np.int32, "float16"])
def test_wrong_dtype(dtype: Any) -> None:
    """Other types are refused."""
    with pytest.raises(NeurodriverError, match="'float64' or 'float32'"):
        make(default_dtype=dtype)


def test_unknown_model() -> None:
    """An unknown model is a NotImplementedError with the old words, a hint and every fault."""
    made = graph({"a": node("LeakyIF", IAF), "b": node("LeakyIAF", {**IAF, "threshold": "x"})})
    with pytest.raises(NotImplementedError) as caught:
        make(made)
    assert isinstance(caught.value, UnknownModelError) and isinstance(caught.value, CircuitError)
    text = str(caught.value)
    assert text.startswith("Model LeakyIF: Can not find implementation (did you mean 'LeakyIAF'?)")
    assert "extra_comps" in text and "'b' (LeakyIAF), attribute 'threshold'" in text


def test_other_faults_are_no_unknown_model() -> None:
    """Only an unknown model is a NotImplementedError."""
    with pytest.raises(CircuitError) as caught:
        make(graph({"b": node("LeakyIAF", {**IAF, "threshold": "x"})}))
    assert not isinstance(caught.value, NotImplementedError)


@pytest.mark.parametrize("listed", [True, False])
def test_extra_comps(listed: bool) -> None:
    """Models of one's own are given by their class, alone or in a list."""
    made = graph({"n0": {"class": "Leak", "rate": 0.5}})
    recorder = MemoryRecorder([("V", None)])
    extra: Any = [Leak] if listed else Leak
    LPU(1e-4, "obj", made, output_processors=recorder, extra_comps=extra).run(steps=4)
    np.testing.assert_allclose(recorder.get("V")[:, 0], 0.95 ** np.arange(4))


def test_an_extra_model_replaces_a_shipped_one() -> None:
    """A model given under a shipped name takes its place, for this LPU alone."""
    other = type("LeakyIAF", (Leak,), {"__doc__": "Another model of that name."})
    made = graph({"n0": {"class": "LeakyIAF", "rate": 0.5}})
    assert LPU(1e-4, "obj", made, extra_comps=[other]).components["LeakyIAF"] is other
    assert make()[0].components["LeakyIAF"] is not other


def test_single_processors() -> None:
    """A processor may be given without a list."""
    recorder = MemoryRecorder([("V", None)])
    current = StepInput("I", ["n0"], 10.0)
    lpu = LPU(1e-4, "obj", two(), input_processors=current, output_processors=recorder)
    lpu.run(steps=50)
    assert lpu.inputs == [current] and lpu.recorders == [recorder]
    np.testing.assert_array_equal(recorder.get("V"), make(steps=50)[1].get("V"))


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"input_processors": [3]}, InputError),
        ({"output_processors": ["a file"]}, RecordingError),
        ({"columns": ["io", "type"]}, NeurodriverError),
    ],
)
def test_wrong_arguments(more: dict[str, Any], kind: type[Exception]) -> None:
    """What cannot be a processor, and columns without the three names, are refused."""
    with pytest.raises(kind):
        LPU(1e-4, "obj", two(), **more)


@pytest.mark.parametrize("steps", [None, -1, 2.5])
def test_wrong_steps(steps: Any) -> None:
    """A run needs a whole number of steps."""
    with pytest.raises(NeurodriverError, match="steps"):
        make()[0].run(steps=steps)


def test_an_exception_reaches_the_caller_and_the_recordings_are_closed() -> None:
    """What a user's own code raises comes out as it is."""

    class Broken(LPU):
        """Fails at step 3."""

        def run_step(self) -> None:
            if self.step == 3:
                raise KeyError("mine")
            super().run_step()

    recorder = MemoryRecorder([("V", None)])
    with pytest.raises(KeyError, match="mine"):
        Broken(1e-4, "obj", two(), output_processors=recorder).run(steps=9)
    assert len(recorder.get("V")) == 3


def test_names_that_users_read() -> None:
    """Models and components are listed in the order of the circuit."""
    lpu, _ = make(id="lpu_0")
    assert (lpu.id, lpu.LPU_id, lpu.manager) == ("lpu_0", "lpu_0", False)
    assert lpu.models == {"LeakyIAF": 0, "AlphaSynapse": 1, "Aggregator": 2}
    assert lpu.model_num == [2, 1, 1]
    assert [name for name, _ in lpu.comp_list] == list(lpu.models)
    assert lpu.comp_list[0][1]["id"] == ["n0", "n1"]
    assert lpu.comp_list[0][1]["threshold"] == [-45.0, -45.0]
    assert list(lpu.components) == list(lpu.models)
    assert LPU(1e-4, "obj", two()).id == "LPU"


def test_conn_dict() -> None:
    """Connections are listed by uid and variable with rows back, Aggregators among them."""
    lpu, _ = make()
    conns = lpu.conn_dict
    assert conns["s"] == {"spike_state": {"pre": ["n0"], "delay": [14]}}
    assert conns["n1"] == {"I": {"pre": ["auto_0"], "delay": [0]}}
    g = conns["auto_0"]["g"]
    assert (g["pre"], g["delay"], g["reverse"]) == (["s"], [0], [65.0])
    assert conns["auto_0"]["V"]["pre"] == ["n1"]
    assert conns["n0"] == {}
    assert set(conns) == {"n0", "n1", "s", "auto_0"} and len(conns) == 4
    with pytest.raises(KeyError):
        conns["gone"]


@pytest.mark.usefixtures("on_the_cpu")
def test_delays_of_the_minimal_circuit() -> None:
    """Rows back and ring lengths are those that the format's smallest full example gives."""
    made = graph(
        {uid: dict(data) for uid, data in _nodes_of(every_feature())},
        FEATURE_EDGES,
    )
    lpu = LPU(1e-4, "obj", made, manager=False)
    g = lpu.conn_dict["auto_0"]["g"]
    assert (g["pre"], g["delay"], g["reverse"]) == (["s", "s2"], [0, 1], [65.0, 0.0])
    assert lpu.conn_dict["po"]["spike_state"]["pre"] == ["n1"]
    assert lpu.conn_dict["pv"]["V"]["pre"] == ["n1"]
    lengths = {v: lpu.memory_manager.get_buffer(v).buffer_length for v in ("spike_state", "g", "V")}
    assert lengths == {"spike_state": 16, "g": 3, "V": 2}
    assert {v: lpu.memory_manager.variables[v]["delay"] for v in ("spike_state", "g")} == {
        "spike_state": 14,
        "g": 1,
    }


def _nodes_of(circuit: Circuit) -> list[tuple[str, dict[str, Any]]]:
    out = []
    for group in circuit.groups:
        for i, uid in enumerate(group.uids.tolist()):
            data = {k: float(v[i]) for k, v in group.params.items()}
            data.update({k: str(v[i]) for k, v in group.labels.items()})
            data.update({"reverse": 65.0 if uid == "s" else 0.0} if uid in ("s", "s2") else {})
            out.append((uid, {"class": group.name, **data}))
    return out


@pytest.mark.usefixtures("on_the_cpu")
@pytest.mark.parametrize("steps", [0, 1, 7, 50])
def test_memory_manager(steps: int) -> None:
    """``variables`` leads from a uid to its element, ``current`` to the row of the step."""
    lpu, _ = make(steps=steps)
    memory = lpu.memory_manager
    assert set(memory.variables) == {"V", "spike_state", "g", "I"}
    v = memory.variables["V"]
    assert set(v) == {"buffer", "models", "len", "delay", "cumlen", "uids"}
    assert (v["models"], v["len"], v["delay"]) == (["LeakyIAF"], [2], 0)
    buffer = v["buffer"]
    rows = buffer.parr.get()
    assert rows.shape == (buffer.buffer_length, buffer.size)
    assert buffer.ld == buffer.size and buffer.gpudata == buffer.parr.gpudata
    row = [rows[buffer.current, v["uids"][uid]] for uid in ("n0", "n1")]
    np.testing.assert_array_equal(row, lpu.get("V"))
    assert v["cumlen"][0] == 0 and v["cumlen"][-1] == buffer.size
    currents = memory.variables["I"]
    assert currents["models"] == ["Aggregator", "Input"] and currents["len"] == [1, 1]
    assert memory.variables["I"] is currents
    np.testing.assert_array_equal(memory.parameters["AlphaSynapse"]["ar"], [ALPHA["ar"]])


def test_memory_manager_of_unknown_variables() -> None:
    """An unknown variable is a KeyError with the nearest name."""
    lpu, _ = make()
    with pytest.raises(KeyError, match="did you mean 'spike_state'"):
        lpu.memory_manager.variables["spike_stat"]


def test_port_mappers() -> None:
    """``pm`` maps selectors to what the last step published: the last row of a recording."""
    made = two()
    for uid, kind, selector in (("pv", "gpot", "/l/v"), ("ps", "spike", "/l/s")):
        made.add_node(uid, **{"class": "Port"}, selector=selector, port_type=kind, port_io="out")
    made.add_node("pi", **{"class": "Port"}, selector="/l/i", port_type="spike", port_io="in")
    made.add_edge("n0", "pv", variable="V")
    made.add_edge("n0", "ps")
    made.add_edge("pi", "s")
    assert (make(made)[0].pm["gpot"]["/l/v"] == 0).all()
    spiked = []
    for steps in range(44, 53):
        lpu, recorder = make(made, steps=steps)
        assert lpu.pm["gpot"]["/l/v"] == recorder.get("V")[-1, 0]
        spiked.append(bool(lpu.pm["spike"]["/l/s"] == 1))
        expected = (steps - 1) * 1e-4 in recorder.get("spike_state")["time"]
        assert spiked[-1] == expected and lpu.pm["spike"]["/l/i"] == 0
        assert lpu.pm["spike"].ports_to_inds("/l/i,/l/s").tolist() == [0, 1]
    assert sum(spiked) == 1


@pytest.mark.usefixtures("on_the_cpu")
def test_two_lpus_under_a_manager() -> None:
    """Old LPUs run under the Manager, wired by a pattern, and each knows its own components."""
    from neurodriver.compat.core import Manager
    from neurodriver.ports import Pattern

    def port(uid: str, io: str) -> dict[str, Any]:
        return {"class": "Port", "selector": f"/{uid}", "port_type": "spike", "port_io": io}

    sender, receiver = two(), two()
    sender.add_node("po", **port("a/o", "out"))
    sender.add_edge("n0", "po")
    receiver.add_node("pi", **port("b/i", "in"))
    receiver.add_edge("pi", "s")
    recorders = [MemoryRecorder([("V", ["n1"]), ("spike_state", ["n0"])]) for _ in range(2)]
    current = StepInput("I", ["n0"], 10.0)
    man = Manager()
    man.add(LPU, "a", 1e-4, "obj", sender, device=0, input_processors=[current],
            output_processors=[recorders[0]])  # fmt: skip
    man.add(LPU, "b", 1e-4, *LPU.graph_to_dicts(receiver), output_processors=[recorders[1]])
    pattern = Pattern("/a/o", "/b/i")
    pattern["/a/o", "/b/i"] = 1
    pattern.interface["/a/o", "type"] = pattern.interface["/b/i", "type"] = "spike"
    man.connect("a", "b", pattern)
    man.spawn()
    man.start(steps=300)
    man.wait()
    times = recorders[0].get("spike_state")["time"]
    assert len(times) > 3 and not len(recorders[1].get("spike_state")["time"])
    quiet = make(steps=300)[1]
    np.testing.assert_array_equal(recorders[0].get("V")[:, 0], quiet.get("V")[:, 1])
    # b's neurons relax alone until the first spike has crossed, and differ afterwards
    _, alone = _alone(receiver)
    first = round(float(times[0]) / 1e-4)
    b = recorders[1].get("V")[:, 0]
    np.testing.assert_array_equal(b[: first + 4], alone[: first + 4])
    assert b[-1] > alone[-1]
    lpus = man.lpus
    assert lpus["b"].model_num == [2, 1, 1, 1] and lpus["b"].id == "b"
    assert lpus["b"].conn_dict["auto_0"]["V"]["pre"] == ["n1"]
    assert set(lpus["a"].memory_manager.variables["V"]["uids"]) >= {"n0", "n1"}
    row = [lpus["b"].memory_manager.variables["V"]["uids"][u] for u in ("n0", "n1")]
    buffer = lpus["b"].memory_manager.get_buffer("V")
    np.testing.assert_array_equal(buffer.parr.get()[buffer.current, row], lpus["b"].get("V"))


def _alone(given: nx.MultiDiGraph) -> tuple[LPU, np.ndarray]:
    recorder = MemoryRecorder([("V", ["n1"])])
    lpu = LPU(1e-4, "obj", given, output_processors=recorder)
    lpu.run(steps=300)
    return lpu, recorder.get("V")[:, 0]


def test_initial_values_are_published() -> None:
    """Row 0 holds the internal initial value where the old library recorded 0 mV."""
    made = graph({"n0": node("HodgkinHuxley2", HH2)})
    _, recorder = make(made, steps=2)
    assert recorder.get("V")[0, 0] == -65.0


def test_the_native_lpu_gives_the_same() -> None:
    """The old LPU is the native one behind another constructor."""
    _, recorder = make(steps=300)
    expected = simulate(two(), 1e-4, 300, StepInput("I", ["n0"], 10.0))
    np.testing.assert_array_equal(recorder.get("V"), expected["V"])


def test_inputs_and_recorders_of_now() -> None:
    """They get to know the circuit: spikes warn of their weight, recorders name populations."""
    made = graph({"s": node("AlphaSynapse", ALPHA), "n": node("LeakyIAF", IAF)}, [("s", "n")])
    given = [PoissonInput("spike_state", ["s"], 500.0), NoiseInput("I", ["n"], 0.1, 0.2)]
    recorder = MemoryRecorder([("g", ["s"]), ("V", None)])
    lpu = LPU(1e-4, "obj", made, 0, given, [recorder], manager=False)
    lpu.run(steps=50)
    assert recorder.get("g").max() > 0 and np.ptp(recorder.get("V")) > 0
