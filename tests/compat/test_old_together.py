"""The parts of the old interface together: processors by name, side graphs, hooks, legacy."""

from __future__ import annotations

import importlib
import inspect
import pickle
from pathlib import Path
from typing import Any

import h5py
import networkx as nx
import numpy as np
import pytest
from support import ALPHA, HH2, IAF, graph, node

import neurodriver.compat.old
from neurodriver.compat.lpu import LPU
from neurodriver.errors import CircuitWarning, NeurodriverError

assert neurodriver.compat.old is not None  # makes the old paths importable

NEURONS = ["n0", "n1", "n2"]


def circuit() -> nx.DiGraph:
    """Return three neurons and a synapse."""
    nodes = {uid: node("LeakyIAF", IAF, initV=-65.0) for uid in NEURONS}
    nodes["s"] = node("AlphaSynapse", ALPHA, gmax=0.05, reverse=65.0)
    return nx.DiGraph(graph(nodes, [("n0", "s", {"delay": 1e-3}), ("s", "n1")]))


def by_name(kind: str, name: str, **arguments: Any) -> Any:
    """Make a processor as a server does: module and class by name, arguments by inspection."""
    made = getattr(importlib.import_module(f"neurokernel.LPU.{kind}.{name}"), name)
    known = inspect.signature(made).parameters
    return made(**{key: value for key, value in arguments.items() if key in known})


def test_a_server_that_knows_names_alone(tmp_path: Path) -> None:
    """A pickled graph with sub-dictionaries and processors by name run and leave their files."""
    made = circuit()
    made.nodes["n2"]["params"] = {"threshold": "-50.0"}
    inputs = [
        by_name(
            "InputProcessors", "StepInputProcessor", variable="I", uids=NEURONS, val=8.0,
            start=0.0, stop=0.1, input_file=str(tmp_path / "in.h5"), color="red",
        ),
        by_name(
            "InputProcessors", "BernoulliInputProcessor", variable="spike_state", uids=["s"],
            p=0.1, start=0.0, stop=0.1, seed=3,
        ),
    ]  # fmt: skip
    records = [("V", NEURONS), ("spike_state", None), ("g", ["s"])]
    output = by_name(
        "OutputProcessors", "FileOutputProcessor", var_list=records, sample_interval=2,
        filename=str(tmp_path / "out.h5"),
    )  # fmt: skip
    LPU(
        1e-4,
        "pickle",
        pickle.dumps(made),
        device=1,
        input_processors=inputs,
        output_processors=[output],
        extra_comps=[],
        debug=False,
        manager=False,
    ).run(steps=1000)
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["metadata"].attrs["sample_interval"] == 2
        assert file["V/data"].shape == (500, 3)
        assert file["g/data"][()].max() > 1e-3
        assert [u.decode() for u in file["V/uids"][()]] == NEURONS
        index = file["spike_state/data/index"][()]
        assert set(index.tolist()) == {0, 1, 2} and len(index) > 10
    with h5py.File(tmp_path / "in.h5") as file:
        np.testing.assert_array_equal(file["I/data"][()], np.full((1000, 3), 8.0))


def test_processors_see_the_old_lpu() -> None:
    """Hooks of a user's own processors find the LPU, its memory, step and time."""
    base_in = importlib.import_module("neurokernel.LPU.InputProcessors.BaseInputProcessor")
    base_out = importlib.import_module("neurokernel.LPU.OutputProcessors.BaseOutputProcessor")
    seen: list[Any] = []

    class Feedback(base_in.BaseInputProcessor):  # type: ignore[name-defined,misc]
        """Injects what pulls a neuron to -55 mV."""

        def __init__(self) -> None:
            super().__init__([("I", ["n0"])], mode=0)

        def pre_run(self) -> None:
            variable = self.LPU_obj.memory_manager.variables["V"]
            self.element, self.buffer = variable["uids"]["n0"], variable["buffer"]
            seen.append(("in", self.LPU_obj.id, self.LPU_obj.conn_dict["s"]["spike_state"]["pre"]))

        def is_input_available(self) -> bool:
            return True

        def update_input(self) -> None:
            potential = self.buffer.parr.get()[self.buffer.current, self.element]
            self.variables["I"]["input"][:] = 0.2 * (-55.0 - potential) + 1.5

    class Watch(base_out.BaseOutputProcessor):  # type: ignore[name-defined,misc]
        """Keeps the last value."""

        def pre_run(self) -> None:
            seen.append(("out", self.LPU_obj.LPU_id))

        def process_output(self) -> None:
            self.last = float(self.get_output("V")[0])

    watch = Watch([("V", ["n0"])])
    lpu = LPU(1e-4, "obj", circuit(), 0, Feedback(), watch, id="x", manager=False)
    lpu.run(steps=3000)
    assert sorted(seen) == [("in", "x", ["n0"]), ("out", "x")]
    assert watch.last == pytest.approx(-55.0, abs=0.01)


@pytest.mark.parametrize("key", ["class", "model"])
def test_presynaptic_inputs(key: str) -> None:
    """A processor brings synapses of its own under the model key of the graph."""
    made = circuit()
    if key == "model":
        for data in made.nodes.values():
            data["model"] = data.pop("class")
    times = {"time": np.array([1e-3, 2e-3]), "index": np.array([0, 0])}
    component = {key: "AlphaSynapse", **ALPHA, "gmax": 0.3, "reverse": 65.0}
    entry = {"uids": ["n2"], "data": times, "components": component}
    processor = by_name(
        "InputProcessors", "PresynapticInputProcessor", inputs={"spike_state": entry}
    )
    recorder = by_name("OutputProcessors", "OutputRecorder", var_list=[("V", NEURONS)])
    given = {"graph": made, "kwargs": {"class_key": key}}
    lpu = LPU(1e-4, "obj", given, 0, [processor], [recorder], manager=False)
    lpu.run(steps=400)
    v = {u: recorder.output["V"]["data"][:, i] for i, u in enumerate(recorder.output["V"]["uids"])}
    assert v["n2"].max() > -63 and v["n1"].max() <= -65
    assert len(lpu.comp_list[lpu.models["AlphaSynapse"]][1]["id"]) == 2


def test_retina_like_integer_ids() -> None:
    """Integer node ids are uids by their text, for inputs and outputs too."""
    made = nx.MultiDiGraph()
    made.add_node(7, **node("HodgkinHuxley2", HH2))
    current = by_name(
        "InputProcessors", "StepInputProcessor", variable="I", uids=[7], val=20.0, start=0, stop=1
    )
    recorder = by_name("OutputProcessors", "OutputRecorder", var_list=[("V", [7])])
    LPU(1e-5, *LPU.graph_to_dicts(made), 0, current, recorder).run(steps=2000)
    assert np.ptp(recorder.output["V"]["data"]) > 80


def test_wrong_uids_are_told() -> None:
    """A uid that no component has is an error for an input, a warning for an output."""
    current = by_name(
        "InputProcessors", "StepInputProcessor", variable="I", uids=["n9"], val=1.0, start=0, stop=1
    )
    with pytest.raises(NeurodriverError, match="n9"):
        LPU(1e-4, "obj", circuit(), 0, current)
    recorder = by_name("OutputProcessors", "OutputRecorder", var_list=[("V", ["n0", "n9"])])
    with pytest.warns(CircuitWarning, match="n9"):
        LPU(1e-4, "obj", circuit(), 0, [], recorder)


def test_legacy_graphs(tmp_path: Path) -> None:
    """A graph of before 2016 runs when it is handed over, converted by name or not at all."""
    made = nx.MultiDiGraph()
    old = {"V": -0.06, "Vr": -0.07, "Vt": -0.045, "R": 1.0, "C": 0.02}
    for i in range(2):
        data = {"model": "LeakyIAF", "spiking": True, "public": i == 1, "extern": i == 0}
        made.add_node(i, **data, **old, **({"selector": "/l/out/spk/0"} if i == 1 else {}))
    synapse = {"class": 0, "conductance": True, "reverse": 0.0, "delay": 2.0}
    made.add_edge(0, 1, model="AlphaSynapse", ar=400.0, ad=400.0, gmax=0.01, **synapse)

    def last(kind: Any, given: Any) -> np.ndarray:
        recorder = by_name("OutputProcessors", "OutputRecorder", var_list=[("V", ["0", "1"])])
        LPU(1e-4, kind, given, 0, [], recorder).run(steps=50)
        values: np.ndarray = recorder.output["V"]["data"]
        return values

    expected = last("obj", LPU.conv_legacy_graph(made))
    assert np.ptp(expected) > 0.1
    with pytest.warns(CircuitWarning, match="legacy"):
        np.testing.assert_array_equal(last("obj", made), expected)
    dicts = LPU.graph_to_dicts(LPU.conv_legacy_graph(made))
    np.testing.assert_array_equal(last(*dicts), expected)
    nx.write_gexf(made, tmp_path / "old.gexf.gz")
    parsed = LPU.lpu_parser_legacy(tmp_path / "old.gexf.gz")
    np.testing.assert_array_equal(last(*parsed), expected)
