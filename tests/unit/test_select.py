"""Node columns of all kinds of circuits, and selections by them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import h5py
import networkx as nx
import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuit.cut import cut
from neurodriver.circuit.selection import population_names, population_runs
from neurodriver.errors import CircuitWarning
from neurodriver.experiment.build import selected
from neurodriver.experiment.schema import SelectionSection
from neurodriver.model.library import shipped

LEAKY = {
    "class": "LeakyIAF",
    "resting_potential": -65.0,
    "threshold": -50.0,
    "reset_potential": -65.0,
    "capacitance": 1.0,
    "resistance": 10.0,
}
PARAMS = {k: v for k, v in LEAKY.items() if k != "class"}
CELLS = {
    "a": {"type": "T4a", "side": "left", "x": 1.5, "layer": 3, "proofread": True},
    "b": {"type": "T4a", "side": "right", "x": 2.5, "layer": 4, "proofread": False},
    "c": {"type": "T4b", "side": "left", "layer": 4, "proofread": True},
    "d": {"type": "Mi1", "side": "left", "x": -1.0, "layer": 5, "proofread": True},
}


def graph(**more: dict[str, Any]) -> nx.MultiDiGraph:
    out = nx.MultiDiGraph()
    for uid, attributes in CELLS.items():
        out.add_node(uid, **LEAKY, **attributes, **more.get(uid, {}))
    out.add_node("s", **{"class": "SigmoidSynapse", "type": "T4a", **_given("SigmoidSynapse")})
    return out


def _given(model: str) -> dict[str, float]:
    rules = shipped()[model].params.items()
    return {n: rule.harmless for n, rule in rules if rule.default is None}


def circuit(**more: dict[str, Any]) -> nd.Circuit:
    return nd.Circuit.from_graph(graph(**more), strict=True)


def names(selection: nd.Selection) -> list[str]:
    return selection.uids.tolist()


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ({"type": "T4a"}, "abs"),
        ({"type": "T4a", "side": "left"}, "a"),
        ({"type": ["T4b", "Mi1"]}, "cd"),
        ({"type": {"T4b"}}, "c"),
        ({"layer": 4}, "bc"),
        ({"layer": [3, 5.0]}, "ad"),
        ({"layer": np.array([3, 4])}, "abc"),
        ({"x": lambda x: x > 0}, "ab"),
        ({"x": np.isnan}, "cs"),
        ({"side": ""}, "s"),
        ({"proofread": False}, "bs"),
        ({"model": "LeakyIAF", "type": "T4a"}, "ab"),
        ({"model": ["SigmoidSynapse", "Port"]}, "s"),
        ({"population": "LeakyIAF"}, "abcd"),
        ({"uid": ["d", "a"]}, "ad"),
        ({"threshold": -50.0}, "abcd"),
        ({"uid": np.array([True, False, False, False, True])}, "as"),
        ({}, "abcds"),
        ({"type": []}, ""),
        ({"type": "T5"}, ""),
    ],
)
def test_conditions(conditions: dict[str, Any], wanted: str) -> None:
    assert names(circuit().select(**conditions)) == list(wanted)


def test_models_are_given_as_classes_too() -> None:
    made = circuit()
    model = made.groups[0].model
    assert names(made.select(model=model)) == names(made.select(model=[model])) == list("abcd")


def test_selections_narrow() -> None:
    made = circuit()
    left = made.select(side="left")
    assert names(left.select(type="T4b")) == ["c"]
    assert names(left.select(np.array([True, False, True]))) == ["a", "d"]
    assert names(left[1:]) == ["c", "d"]
    assert names(left[-1]) == ["d"]
    assert names(left[::-1]) == ["d", "c", "a"]
    assert left.numbers.tolist() == [0, 2, 3]
    assert len(left) == left.count == 3
    assert left.model.__name__ == "LeakyIAF"
    assert repr(left) == "<select(side='left'): 3 of 5 components>"
    assert names(made.populations["LeakyIAF"].select(layer=5)) == ["d"]
    with pytest.raises(nd.CircuitError, match=r"several models or none .LeakyIAF, Sigmoid"):
        _ = made.select().model


def test_columns() -> None:
    everyone = circuit().select()
    assert {"uid", "model", "population", "type", "side", "x", "layer"} <= {*everyone.columns}
    assert everyone.column("type").tolist() == ["T4a", "T4a", "T4b", "Mi1", "T4a"]
    assert everyone.column("layer").tolist()[:4] == [3, 4, 4, 5]
    x = everyone.column("x")
    assert x[[0, 1, 3]].tolist() == [1.5, 2.5, -1.0]
    assert np.isnan(x[[2, 4]]).all()
    assert everyone[1:3].column("side").tolist() == ["right", "left"]
    assert everyone.column("model").tolist() == ["LeakyIAF"] * 4 + ["SigmoidSynapse"]


@pytest.mark.parametrize(
    ("conditions", "says"),
    [
        ({"tipe": "T4a"}, "no component has a column 'tipe'.*did you mean 'type'.*; there are uid"),
        ({"type": 3.5}, "'type': the column holds text; give a value, a list.*got 3.5"),
        ({"type": [None]}, "holds text.*got None"),
        ({"layer": "4"}, "'layer': the column holds numbers.*got '4'"),
        ({"x": lambda x: x[:1] > 0}, "function's result: 5 booleans are needed, got bool of shape"),
        ({"x": lambda x: x}, "5 booleans are needed, got float64"),
        ({"type": np.array([True])}, "5 booleans are needed"),
        ({"mask": np.array([1, 0, 0, 0, 0])}, "the mask: 5 booleans are needed, got int64"),
    ],
)
def test_conditions_that_fit_nothing(conditions: dict[str, Any], says: str) -> None:
    with pytest.raises(nd.CircuitError, match=says):
        circuit().select(**conditions)


def test_nothing_found_is_no_target() -> None:
    nobody = circuit().select(type="T5")
    assert len(nobody) == 0
    with pytest.raises(nd.NeurodriverError, match=r"select.type='T5'.*has no components"):
        nd.StepInput("I", nobody, 1.0)
    with pytest.raises(nd.NeurodriverError, match="has no components"):
        nd.MemoryRecorder([("V", nobody)])


def test_a_misspelt_parameter_is_told_of_as_before() -> None:
    given = graph()
    given.nodes["a"]["treshold"] = given.nodes["a"].pop("threshold")
    with pytest.raises(nd.CircuitError, match=r"'threshold' .mV. is missing .did you mean"):
        nd.Circuit.from_graph(given)
    given = graph(a={"initv": -60.0})
    with pytest.warns(CircuitWarning, match="no attribute 'initv'.*did you mean 'initV'"):
        made = nd.Circuit.from_graph(given)
    assert "initV" not in made.groups[0].params
    with pytest.raises(nd.CircuitError, match="did you mean 'initV'"):
        nd.Circuit.from_graph(given, strict=True)


def test_kinds_of_values() -> None:
    more = {
        "a": {"mixed": 1, "whole": 2**60, "flag": True, "list": [1], "some": 2, 5: "five"},
        "b": {"mixed": "x", "whole": 3, "flag": 1.0, "nothing": None, "some": 3.5},
    }
    everyone = circuit(**{k: {str(n): v for n, v in d.items()} for k, d in more.items()}).select()
    assert everyone.column("mixed").tolist()[:3] == ["1", "x", ""]
    assert everyone.column("whole").tolist()[:3] == [str(2**60), "3", ""]  # no digit is lost
    assert everyone.column("flag").tolist()[:3] == ["True", "1.0", ""]
    assert everyone.column("some").tolist()[:2] == [2.0, 3.5]
    assert everyone.column("5").tolist()[0] == "five"
    assert not {"list", "nothing"} & {*everyone.columns}


@pytest.mark.parametrize("text", ["x" * 257, "a\0b", "\ud800"])
def test_texts_that_no_column_holds(text: str) -> None:
    with pytest.warns(CircuitWarning, match="the node attribute 'note'.*it is not kept"):
        made = nd.Circuit.from_graph(graph(a={"note": text}))
    assert "note" not in made.select().columns
    assert names(made.select(type="Mi1")) == ["d"]


@pytest.mark.parametrize("ending", ["h5", "gexf", "gexf.gz"])
def test_columns_and_populations_are_saved(ending: str, tmp_path: Path) -> None:
    more: dict[str, dict[str, Any]] = {
        "a": {"population": "exc", "label": "neuron a", "start": 3, "region": "é"},
        "b": {"population": "inh"},
        "c": {"population": "exc"},
    }
    made = circuit(**more)
    path = tmp_path / f"c.{ending}"
    made.save(path)
    again = nd.Circuit.from_file(path, strict=True)
    assert again.digest == made.digest
    first, second = made.select(), again.select()
    assert {*second.columns} == {*first.columns}
    for name in first.columns:
        np.testing.assert_array_equal(second.column(name), first.column(name), err_msg=name)
    found = {n: p.uids.tolist() for n, p in again.populations.items()}
    assert found == {"exc": ["a", "c"], "inh": ["b"], "LeakyIAF": ["d"], "SigmoidSynapse": ["s"]}


def test_names_that_mean_something_else_to_a_file(tmp_path: Path) -> None:
    model = shipped()["LeakyIAF"]
    columns = {"class": ["sensory", "motor"], "type": "T4", "id": [7, 8], "threshold": "high"}
    made = nd.Circuit.from_arrays([(model, 2, PARAMS, ["a", "b"], columns)])
    assert names(made.select(class_="motor")) == ["b"]
    made.save(tmp_path / "c.gexf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CircuitWarning)
        again = nd.Circuit.from_file(tmp_path / "c.gexf")
    assert again.groups[0].params["threshold"].tolist() == [-50.0, -50.0]
    assert names(again.select(class_="motor", type="T4", id=8, threshold_="high")) == ["b"]
    nodes = nx.read_gexf(tmp_path / "c.gexf").nodes
    assert [nodes[uid]["class"] for uid in "ab"] == ["LeakyIAF"] * 2


def test_labels_of_a_gexf_file(tmp_path: Path) -> None:
    given = nx.MultiDiGraph()
    given.add_node("a", **LEAKY, label="neuron a")
    given.add_node("b", **LEAKY)
    nx.write_gexf(given, tmp_path / "c.gexf")
    made = nd.Circuit.from_file(tmp_path / "c.gexf", strict=True)
    assert names(made.select(label="neuron a")) == ["a"]
    assert made.select().column("label").tolist() == ["neuron a", ""]


def test_damaged_columns_of_a_file(tmp_path: Path) -> None:
    circuit().save(tmp_path / "c.h5")
    with h5py.File(tmp_path / "c.h5", "r+") as file:
        at = file["groups/0/columns"]
        del at["type"]
        at["type"] = np.zeros(3)
        at["population"] = np.zeros(4)
    with pytest.raises(nd.CircuitError) as caught:
        nd.Circuit.from_file(tmp_path / "c.h5")
    assert "/groups/0/columns/type: expected the shape (4,), got (3,)" in str(caught.value)
    assert "/groups/0/columns/population: must hold text" in str(caught.value)


def test_parts_keep_columns_and_populations() -> None:
    made = circuit(a={"population": "exc"}, b={"population": "exc"}, c={"population": "exc"})
    parts = cut(made, [0, 1, 0, 1, 1], ["one", "two"]).circuits
    assert names(parts["one"].populations["exc"]) == ["a", "c"]
    assert names(parts["two"].populations["exc"]) == ["b"]
    assert names(parts["two"].select(type="Mi1")) == ["d"]
    # a selection of the whole finds its components in a part
    assert made.select(layer=4, side="left").numbers_in(parts["one"]).tolist() == [1]
    with pytest.raises(nd.CircuitError, match="no component 'b'"):
        made.select(uid="b").numbers_in(parts["one"])


def test_names_of_populations_in_a_row() -> None:
    """Of populations that share a group, of a part of these, and of columns with names and gaps."""
    several = nd.Circuit([nd.Population("LeakyIAF", n, name=f"p{n}", **PARAMS) for n in (3, 1, 4)])
    column = {"population": ["x", "x", "", "", "y", "x"]}
    given = nd.Circuit.from_arrays([(shipped()["LeakyIAF"], 6, PARAMS, None, column)])
    part = cut(several, [0, 1, 0, 1, 0, 0, 1, 0], ["one", "two"]).circuits["one"]
    expected = {
        several: ("p3 p1 p4", [3, 1, 4]),
        part: ("p3 p4", [2, 3]),
        given: ("x LeakyIAF y x", [2, 2, 1, 1]),
    }
    for circuit, (names_in_a_row, counts) in expected.items():
        found = population_runs(circuit)
        assert found[0].tolist() == names_in_a_row.split() and found[1].tolist() == counts
        assert (
            population_names(circuit).tolist() == np.repeat(names_in_a_row.split(), counts).tolist()
        )


def test_columns_of_arrays_and_populations() -> None:
    model = shipped()["LeakyIAF"]
    x = np.arange(3.0)
    made = nd.Circuit.from_arrays([(model, 3, PARAMS, None, {"x": x, "side": "left"})])
    assert names(made.select(x=lambda x: x > 0, side="left")) == ["LeakyIAF/1", "LeakyIAF/2"]
    one = nd.Population(model, 2, name="p", columns={"x": [5, 6]}, **PARAMS)
    two = nd.Population(model, 2, name="q", columns={"side": ["l", None]}, **PARAMS)
    both = nd.Circuit([one, two])
    assert names(both.select(x=6)) == ["p/1"]
    assert names(both.select(side="l")) == ["q/0"]
    assert both.select().column("side").tolist() == ["", "", "l", ""]
    for wrong, says in (
        ({"x": [1, 2]}, "column 'x': expected one value or 3"),
        ({"x": [[1], 2, 3]}, "must be text, numbers or booleans"),
        ({"population": [1, 2, 3]}, "column 'population': must be text"),
        ({"x": "y" * 300}, "256 characters are allowed"),
        (["x"], "columns must be a mapping"),
    ):
        with pytest.raises(nd.CircuitError, match=says):
            nd.Circuit.from_arrays([(model, 3, PARAMS, None, wrong)])


def test_columns_of_tables(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    nodes = {
        "root": [11, 12, 13],
        "type": ["T4a", None, "Mi1"],
        "x": [1.0, None, 3.0],
        "synapses": [5, 6, 7],
        "population": ["left", "left", "right"],
        "tags": [["a"], ["b"], []],
    }
    parquet.write_table(pa.table(nodes), tmp_path / "nodes.parquet")
    parquet.write_table(pa.table({"a": [11, 12], "b": [12, 13]}), tmp_path / "edges.parquet")
    files = tmp_path / "edges.parquet", tmp_path / "nodes.parquet"
    given: dict[str, Any] = {"model": "LeakyIAFShiu", "source": "a", "target": "b"}
    given |= {"receptor": "syn"}
    made = nd.Circuit.from_tables(*files, **given, strict=True)
    assert names(made.select(type="T4a")) == ["11"]
    assert names(made.select(type="")) == ["12"]
    assert names(made.select(x=lambda x: x > 1)) == ["13"]
    assert names(made.select(synapses=[5, 6])) == ["11", "12"]
    assert {n: p.uids.tolist() for n, p in made.populations.items()} == {
        "left": ["11", "12"],
        "right": ["13"],
    }
    assert "tags" not in made.select().columns
    few = nd.Circuit.from_tables(*files, **given, columns=["type"])
    assert {"type", "x"} & {*few.select().columns} == {"type"}
    with pytest.raises(nd.CircuitError, match=r"has no column 'tipe'.*did you mean 'type'"):
        nd.Circuit.from_tables(*files, **given, columns=["tipe"])
    with pytest.raises(nd.CircuitError, match="columns asks for a table of nodes"):
        nd.Circuit.from_tables(files[0], **given, columns=["type"])


def test_recordings_hold_populations(tmp_path: Path) -> None:
    model = shipped()["LeakyIAF"]
    exc, inh = (nd.Population(model, n, name=k, **PARAMS) for n, k in ((3, "exc"), (2, "inh")))
    made = nd.Circuit([exc, inh])
    wanted = [("V", [inh, exc[2]]), ("spike_state", None)]
    memory = nd.MemoryRecorder(wanted)
    file = nd.HDF5Recorder(tmp_path / "r.h5", wanted)
    plain = nd.MemoryRecorder([("V", None)])
    with nd.LPU(made, dt=1e-4, inputs=[], recorders=[memory, file]) as lpu:
        lpu.run(steps=5)
    with nd.LPU(nd.Circuit.from_arrays([(model, 2, PARAMS, None)]), 1e-4, recorders=[plain]) as lpu:
        lpu.run(steps=5)
    assert memory.uids("V") == ["inh/0", "inh/1", "exc/2"]
    assert memory.output["V"]["population"].tolist() == ["inh", "inh", "exc"]
    assert memory.output["spike_state"]["population"].tolist() == ["exc"] * 3 + ["inh"] * 2
    with h5py.File(tmp_path / "r.h5") as stored:
        assert stored["V/population"][()].tolist() == [b"inh", b"inh", b"exc"]
    assert "population" not in plain.output["V"]  # nothing has a name there


def test_experiment_files_select_populations() -> None:
    made = circuit(a={"population": "exc"}, c={"population": "exc"})
    assert selected(made, SelectionSection(population="exc")) == ["a", "c"]
    assert selected(made, SelectionSection(population="LeakyIAF"), "V") == ["b", "d"]
    assert selected(made, SelectionSection(population="exc", match="[cd]")) == ["c"]
    assert selected(made, SelectionSection(population="SigmoidSynapse")) == ["s"]
    with pytest.raises(
        nd.NeurodriverError, match=r"no population 'ex'.*did you mean 'exc'.*; there are"
    ):
        selected(made, SelectionSection(population="ex"))


@pytest.mark.parametrize("name", ["", "\ud800", "a\0"])
def test_names_that_no_column_has(name: str) -> None:
    with pytest.warns(
        CircuitWarning, match="name of a node attribute.*cannot be stored; it is not kept"
    ):
        made = nd.Circuit.from_graph(graph(a={name: "x"}))
    assert name not in made.select().columns


@pytest.mark.parametrize("more", [{"note": "x\x01y"}, {"no\x1fte": "x"}])
def test_control_characters_are_no_gexf(more: dict[str, str], tmp_path: Path) -> None:
    made = circuit(a=more)
    with pytest.raises(nd.NeurodriverError, match=r"node 'a' holds a control character.*HDF5"):
        made.save(tmp_path / "c.gexf")
    assert not [*tmp_path.iterdir()]
    made.save(tmp_path / "c.h5")
    (name,) = more
    assert nd.Circuit.from_file(tmp_path / "c.h5").select().column(name)[0] == more[name]
