"""Circuits handed over in the old forms: dictionaries, objects, pickles, files, functions."""

from __future__ import annotations

import copy
import functools
import gzip
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ALPHA, IAF, graph, node

from neurodriver import CircuitError, MemoryRecorder, StepInput
from neurodriver.compat.graphs import GraphTypeError
from neurodriver.compat.lpu import LPU
from neurodriver.compat.outputs import OutputRecorder
from neurodriver.errors import CircuitWarning, NeurodriverError
from neurodriver.run.lpu import LPU as NativeLPU

STEPS = 400


def port(selector: str, kind: str, io: str) -> dict[str, Any]:
    """Return the attributes of a port."""
    return {"class": "Port", "selector": selector, "port_type": kind, "port_io": io}


def circuit() -> nx.MultiDiGraph:
    """Return the smallest circuit with every feature of the format."""
    return graph(
        {
            "n0": node("LeakyIAF", IAF, initV=-65.0),
            "n1": node("LeakyIAF", IAF, initV=-60.0),
            "s": node("AlphaSynapse", ALPHA, reverse=65.0),
            "pi": port("/lpu_0/in/spk/0", "spike", "in"),
            "s2": node("AlphaSynapse", ALPHA, reverse=0.0),
            "po": port("/lpu_0/out/spk/0", "spike", "out"),
            "pv": port("/lpu_0/out/gpot/0", "gpot", "out"),
        },
        [
            ("n0", "s", {"delay": 0.0015, "id": "7", "tag": 3}),
            ("s", "n1"),
            ("pi", "s2"),
            ("s2", "n1", {"delay": 0.0002}),
            ("n1", "po"),
            ("n1", "pv", {"variable": "V"}),
        ],
    )


def run(graph_type: Any, graph_dict: Any, uids: Any = ("n0",), **more: Any) -> np.ndarray:
    """Run a circuit of two neurons with a current into ``uids`` and return V by sorted uid."""
    recorder = MemoryRecorder([("V", None)])
    current = StepInput("I", uids, 10.0)
    LPU(
        1e-4,
        graph_type,
        graph_dict,
        input_processors=[current],
        output_processors=[recorder],
        manager=False,
        **more,
    ).run(steps=STEPS)
    values: np.ndarray = recorder.get("V")[:, np.argsort(recorder.uids("V"))]
    return values


@pytest.fixture(scope="module")
def native() -> np.ndarray:
    """What the native LPU makes of the circuit."""
    recorder = MemoryRecorder([("V", ["n0", "n1"])])
    with NativeLPU(circuit(), 1e-4, [StepInput("I", ["n0"], 10.0)], [recorder]) as lpu:
        lpu.run(steps=STEPS)
    values: np.ndarray = recorder.get("V")
    assert np.ptp(values[:, 1]) > 1  # the synapse has an effect
    return values


def as_function(make: Callable[[], Any]) -> Any:
    """Return a graph; something that `functools.partial` can call."""
    return make()


def write_pickle(folder: Path, packed: bool = False) -> Path:
    """Write the circuit as a pickle."""
    path = folder / "c.gpickle"
    raw = pickle.dumps(circuit())
    path.write_bytes(gzip.compress(raw) if packed else raw)
    return path


def write_gexf(folder: Path, made: Any = None) -> Path:
    """Write a circuit as GEXF."""
    path = folder / "c.gexf.gz"
    nx.write_gexf(made or circuit(), path)
    return path


FORMS: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    "dict": lambda folder: LPU.graph_to_dicts(circuit()),
    "obj": lambda folder: ("obj", circuit()),
    "obj of one edge each": lambda folder: ("obj", nx.DiGraph(circuit())),
    "obj with kwargs": lambda folder: ("obj", {"graph": circuit(), "kwargs": {}}),
    "pickle": lambda folder: ("pickle", pickle.dumps(circuit())),
    "pickle with kwargs": lambda folder: (
        "pickle",
        {"stream": pickle.dumps(nx.DiGraph(circuit())), "kwargs": {"remove_edge_id": True}},
    ),
    "gpickle": lambda folder: ("gpickle", str(write_pickle(folder))),
    "gpickle, packed": lambda folder: ("gpickle", {"filename": write_pickle(folder, True)}),
    "gexf": lambda folder: ("gexf", str(write_gexf(folder))),
    "gexf of one edge each": lambda folder: (
        "gexf",
        {"filename": write_gexf(folder, nx.DiGraph(circuit())), "kwargs": {"class_key": "class"}},
    ),
    "function": lambda folder: ("function", functools.partial(as_function, circuit)),
    "function with kwargs": lambda folder: (
        "function",
        {"function": functools.partial(as_function, circuit), "kwargs": {"uid_key": None}},
    ),
    "dict of a file": lambda folder: LPU.lpu_parser(write_gexf(folder)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_native_bits(form: str, native: np.ndarray, tmp_path: Path) -> None:
    """A circuit has the same numbers in whatever form it is handed over."""
    np.testing.assert_array_equal(run(*FORMS[form](tmp_path)), native)


def test_nothing_given_is_changed(native: np.ndarray) -> None:
    """An LPU leaves graph, dictionaries and connections as they were; a second one can be made."""
    made = circuit()
    before = copy.deepcopy(dict(made.nodes(data=True))), copy.deepcopy(list(made.edges(data=True)))
    comp_dict, conns = LPU.graph_to_dicts(made)
    kept = copy.deepcopy((comp_dict, conns))
    for _ in range(2):
        np.testing.assert_array_equal(run("obj", made), native)
        np.testing.assert_array_equal(run(comp_dict, conns), native)
    assert (dict(made.nodes(data=True)), list(made.edges(data=True))) == before
    assert (comp_dict, conns) == kept
    conns[0][2]["delay"] = 99.0  # the dictionaries are copies
    assert list(made.edges(data=True)) == before[1]


def test_graph_to_dicts() -> None:
    """Lists by model, uids under ``id``; edges without ``id`` and ``tag`` unless asked for."""
    comp_dict, conns = LPU.graph_to_dicts(circuit())
    assert list(comp_dict) == ["LeakyIAF", "AlphaSynapse", "Port"]
    assert comp_dict["LeakyIAF"]["id"] == ["n0", "n1"]
    assert comp_dict["LeakyIAF"]["initV"] == [-65.0, -60.0]
    assert comp_dict["AlphaSynapse"]["reverse"] == [65.0, 0.0]
    assert "class" not in comp_dict["Port"]
    assert ("n0", "s", {"delay": 0.0015}) in conns and len(conns) == 6
    _, kept = LPU.graph_to_dicts(circuit(), remove_edge_id=False)
    assert ("n0", "s", {"delay": 0.0015, "id": "7", "tag": 3}) in kept


def test_graph_to_dicts_keeps_integer_ids() -> None:
    """Node ids keep their type in the dictionaries, as uids are passed on to inputs."""
    made = nx.convert_node_labels_to_integers(circuit())
    comp_dict, conns = LPU.graph_to_dicts(made)
    assert comp_dict["LeakyIAF"]["id"] == [0, 1]
    assert (0, 2, {"delay": 0.0015}) in conns


def test_class_key_and_uid_key(native: np.ndarray) -> None:
    """Model and uid may stand in other attributes, for graphs and for dictionaries."""
    made = nx.MultiDiGraph()
    names = {uid: f"node {i}" for i, uid in enumerate(circuit())}
    for uid, data in circuit().nodes(data=True):
        rest = {k: v for k, v in data.items() if k != "class"}
        made.add_node(names[uid], model=data["class"], uid=uid, **rest)
    for a, b, data in circuit().edges(data=True):
        made.add_edge(names[a], names[b], **data)
    kwargs = {"class_key": "model", "uid_key": "uid"}
    np.testing.assert_array_equal(run("obj", {"graph": made, "kwargs": kwargs}), native)
    comp_dict, conns = LPU.graph_to_dicts(made, **kwargs)
    assert comp_dict["LeakyIAF"]["id"] == ["n0", "n1"]
    np.testing.assert_array_equal(run(comp_dict, conns), native)
    other = {
        m: {("who" if k == "id" else k): v for k, v in t.items()} for m, t in comp_dict.items()
    }
    np.testing.assert_array_equal(run(other, conns, uid_key="who"), native)


@pytest.mark.parametrize("form", ["obj", "dict"])
def test_values_of_some_components(form: str) -> None:
    """Given initial values are used, the others are the default, and a warning says so."""
    made = graph({"a": node("LeakyIAF", IAF, initV=-50.0), "b": node("LeakyIAF", IAF)})
    with pytest.warns(CircuitWarning, match="1 of 2 LeakyIAF have 'initV'"):
        v = run(*(("obj", made) if form == "obj" else LPU.graph_to_dicts(made)), uids=("a", "b"))
    np.testing.assert_array_equal(v[0], [-50.0, IAF["resting_potential"]])


def test_values_of_all_components_are_no_warning() -> None:
    """Only a partial list is suspicious."""
    made = graph({"a": node("LeakyIAF", IAF, initV=-50.0), "b": node("LeakyIAF", IAF, initV=-60)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        v = run("obj", made, uids=("a", "b"))
    np.testing.assert_array_equal(v[0], [-50.0, -60.0])


@pytest.mark.parametrize("form", ["obj", "dict"])
def test_integers_are_numbers(form: str) -> None:
    """Integers, alone or mixed with floats, give the bits of the same floats."""
    whole = {k: int(v) for k, v in IAF.items()}

    def values(first: dict[str, Any]) -> np.ndarray:
        second = dict(IAF, resistance=2.7)
        made = graph({"a": {"class": "LeakyIAF", **first}, "b": {"class": "LeakyIAF", **second}})
        return run(*(("obj", made) if form == "obj" else LPU.graph_to_dicts(made)), uids=("a", "b"))

    np.testing.assert_array_equal(values(whole), values(IAF))
    assert np.ptp(values(whole)[:, 0]) > 5


def test_sub_dictionaries() -> None:
    """``params``, ``states``, ``attr_dict`` of nodes and edges are flattened, text is numbers."""
    made = nx.MultiDiGraph()
    for uid in ("n0", "n1"):
        params = {k: str(v) for k, v in IAF.items()}
        made.add_node(uid, **{"class": "LeakyIAF", "params": params, "states": {"V": "-61.5"}})
    made.add_node("s", attr_dict=node("AlphaSynapse", ALPHA, reverse=65.0))
    made.add_edge("n0", "s", attr_dict={"delay": 0.002})
    made.add_edge("s", "n1")
    flat = graph(
        {
            "n0": node("LeakyIAF", IAF, initV=-61.5),
            "n1": node("LeakyIAF", IAF, initV=-61.5),
            "s": node("AlphaSynapse", ALPHA, reverse=65.0),
        },
        [("n0", "s", {"delay": 0.002}), ("s", "n1")],
    )
    expected = run("obj", flat)
    assert expected[0, 0] == -61.5
    np.testing.assert_array_equal(run("pickle", pickle.dumps(made)), expected)
    np.testing.assert_array_equal(run(*LPU.graph_to_dicts(made)), expected)


@pytest.mark.parametrize("kind", ["graph", 3, None, "GEXF"])
def test_unknown_graph_type(kind: Any) -> None:
    """An unknown form is a TypeError that lists the known ones."""
    with pytest.raises(TypeError, match="'gpickle'") as caught:
        LPU(1e-4, kind, circuit())
    assert isinstance(caught.value, GraphTypeError | NeurodriverError)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("obj", {"Graph": 1}, "needs the entry 'graph'"),
        ("obj", {"graph": None, "kwargs": {"key": 1}}, "unknown kwargs"),
        ("obj", 7, "expected a networkx graph, got int"),
        ("pickle", "a text", "bytes of a pickled graph"),
        ("pickle", b"no pickle", "cannot be read"),
        ("pickle", pickle.dumps([1]), "expected a networkx graph, got list"),
        ("gpickle", "/no/such/file", "cannot be read"),
        ("gexf", "/no/such/file", "no such file"),
        ("function", 3, "a function that returns a graph"),
        ("function", list, "expected a networkx graph, got list"),
        ({"LeakyIAF": {"V": [1]}}, [], "'id'"),
        ({"LeakyIAF": {"id": ["a"], "initV": [1, 2]}}, [], "2 values for 1 uids"),
        ({"LeakyIAF": {"id": ["a"], "initV": 3.0}}, [], "a list is needed"),
        ({"LeakyIAF": {"id": ["a"], **{k: [v] for k, v in IAF.items()}}}, ["ab"], "connections"),
        ({}, [], "empty"),
    ],
)
def test_bad_forms(kind: Any, given: Any, message: str) -> None:
    """What is wrong with a form is told without a traceback from inside."""
    with pytest.raises(CircuitError, match=message):
        LPU(1e-4, kind, given)


def test_all_faults_of_a_dict_are_told() -> None:
    """Dictionaries get the same checks as files: every fault, with uid, attribute and value."""
    table = {"id": ["a", "b"], **{k: [v, v] for k, v in IAF.items()}}
    table["capacitance"] = [2.0, "much"]
    del table["resistance"]
    with pytest.raises(CircuitError) as caught:
        LPU(1e-4, {"LeakyIAF": table}, [])
    text = str(caught.value)
    assert "'b' (LeakyIAF), attribute 'capacitance'" in text and "got 'much'" in text
    assert "'a' (LeakyIAF): parameter 'resistance'" in text


def test_connections_to_nowhere_are_ignored(native: np.ndarray) -> None:
    """A connection whose end is unknown is left out with a counted warning."""
    comp_dict, conns = LPU.graph_to_dicts(circuit())
    lost = [("n0", "gone", {}), ("gone", "n1", {"delay": 1e-3})]
    with pytest.warns(CircuitWarning, match=r"'n0' -> 'gone' \(2 times\)"):
        v = run(comp_dict, iter([*lost, *conns]))
    np.testing.assert_array_equal(v, native)


def test_graph_to_dicts_tells_all_faults() -> None:
    """Nodes without a model, and ports without a selector, are named together."""
    made = graph({"a": {}, "p": {"class": "Port", "port_io": "in"}})
    with pytest.raises(CircuitError) as caught:
        LPU.graph_to_dicts(made)
    assert "node 'a' has no attribute 'class'" in str(caught.value)
    assert "node 'p' (Port), attribute 'selector'" in str(caught.value)


def test_selectors_of_ports() -> None:
    """Every helper for ports works, also those that never did."""
    made = circuit()
    made.add_node("gi", **port("/lpu_0/in/gpot/0", "gpot", "in"))
    made.add_node("po2", **port("/lpu_0/out/spk/1", "spike", "out"))
    comp_dict, _ = LPU.graph_to_dicts(made)
    assert LPU.extract_in_gpot(comp_dict, "id") == (("/lpu_0/in/gpot/0",), ("gi",))
    assert LPU.extract_in_spk(comp_dict, "id") == (("/lpu_0/in/spk/0",), ("pi",))
    assert LPU.extract_out_gpot(comp_dict, "id") == (("/lpu_0/out/gpot/0",), ("pv",))
    spikes = ("/lpu_0/out/spk/0", "/lpu_0/out/spk/1")
    assert LPU.extract_out_spk(comp_dict, "id") == (spikes, ("po", "po2"))
    assert LPU.extract_sel_in_gpot(comp_dict) == "/lpu_0/in/gpot/0"
    assert LPU.extract_sel_in_spk(comp_dict) == "/lpu_0/in/spk/0"
    assert LPU.extract_sel_out_gpot(comp_dict) == "/lpu_0/out/gpot/0"
    assert LPU.extract_sel_out_spk(comp_dict) == ",".join(spikes)
    assert set(LPU.extract_sel_in(comp_dict).split(",")) == {"/lpu_0/in/gpot/0", "/lpu_0/in/spk/0"}
    assert set(LPU.extract_sel_out(comp_dict).split(",")) == {*spikes, "/lpu_0/out/gpot/0"}
    assert len(set(LPU.extract_sel_all(comp_dict).split(","))) == 5


def test_selectors_without_ports() -> None:
    """A circuit without ports of a kind has an empty selector."""
    comp_dict, _ = LPU.graph_to_dicts(graph({"a": node("LeakyIAF", IAF)}))
    assert LPU.extract_in_spk(comp_dict, "id") == ("", [])
    assert LPU.extract_sel_all(comp_dict) == ""


def test_side_graphs_are_merged_except_into_dicts() -> None:
    """An input processor may bring nodes and edges of its own."""

    class Presynaptic(StepInput):
        """Injects spikes through a synapse of its own."""

        def __init__(self) -> None:
            super().__init__("spike_state", ["extra"], 1.0, 0.0, 1.0)

        def get_new_graph(self) -> nx.MultiDiGraph:
            return graph({"extra": node("AlphaSynapse", ALPHA, reverse=65.0)}, [("extra", "n1")])

    def last(kind: Any, given: Any) -> np.ndarray:
        recorder = MemoryRecorder([("V", ["n1"]), ("g", ["extra"])])
        LPU(1e-4, kind, given, input_processors=Presynaptic(), output_processors=recorder).run(
            steps=300
        )
        return np.concatenate([recorder.get("V")[-1], recorder.get("g")[-1]])

    made = circuit()
    v, g = last("obj", made)
    assert g > 1e-4 and v > -60
    assert "extra" not in made
    np.testing.assert_array_equal(last("pickle", pickle.dumps(nx.DiGraph(made))), [v, g])
    with pytest.raises(NeurodriverError, match="no component 'extra'"):
        last(*LPU.graph_to_dicts(made))


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["LeakyIAF", "Port", "Nothing", "AlphaSynapse"]),
        st.dictionaries(
            st.sampled_from(["id", "threshold", "selector", "gmax", "states"]),
            st.one_of(
                st.lists(st.one_of(st.none(), st.text(max_size=3), st.floats()), max_size=3),
                st.integers(),
                st.text(max_size=2),
            ),
            max_size=4,
        ),
        max_size=3,
    ),
    st.lists(st.tuples(st.text(max_size=2), st.text(max_size=2), st.just({})), max_size=3),
)
def test_malformed_dicts_are_refused_in_words(comp_dict: Any, conns: Any) -> None:
    """Whatever the dictionaries hold, the answer is an error of this library."""
    with pytest.raises(NeurodriverError):
        LPU(1e-4, comp_dict, conns)


def test_malformed_pickles_are_refused_in_words() -> None:
    """A pickle that is cut anywhere gives an error of this library."""
    raw = pickle.dumps(circuit())
    for cut in range(0, len(raw) - 1, max(1, len(raw) // 40)):
        with pytest.raises(NeurodriverError):
            LPU(1e-4, "pickle", raw[:cut])


def test_free_attributes_change_nothing(native: np.ndarray) -> None:
    """Text, lists and numbers that no model asks for are ignored, also on some edges only."""
    made = circuit()
    for uid, data in made.nodes(data=True):
        data.update(name=uid, label="a text", circuit="left", place=[1.0, 2.0], flag=True)
    made.nodes["n0"]["volume"] = 3.5
    made.edges["n0", "s", 0].update(strength=4.0, note="strong")
    np.testing.assert_array_equal(run("obj", made), native)
    np.testing.assert_array_equal(run(*LPU.graph_to_dicts(made)), native)


def test_hidden_components() -> None:
    """A native recorder of everything leaves out inserted Aggregators, but not their names."""
    made = graph(
        {
            "n0": node("LeakyIAF", IAF),
            "n1": node("LeakyIAF", IAF),
            "s": node("AlphaSynapse", ALPHA, reverse=65.0),
            "mine": {"class": "Aggregator"},
        },
        [("n0", "s"), ("s", "n0"), ("s", "mine"), ("n1", "mine"), ("mine", "n1")],
    )
    for uids, expected in ((None, ["mine"]), (["auto_0", "mine"], ["auto_0", "mine"])):
        recorder = MemoryRecorder([("I", uids)])
        LPU(1e-4, "obj", made, output_processors=recorder).run(steps=2)
        assert recorder.uids("I") == expected
    old = OutputRecorder([("I", None), ("V", None)])
    LPU(1e-4, "obj", made, output_processors=old).run(steps=2)
    assert old.output["I"]["uids"] == ["mine", "auto_0"] and old.output["V"]["uids"] == ["n0", "n1"]
