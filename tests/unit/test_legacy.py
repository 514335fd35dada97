"""The legacy form: what becomes of nodes, edges and numbers, and that the dynamics stay."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import h5py
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from legacy_reference import (
    ALPHA,
    LEAKY,
    MONOPOLAR,
    PHOTORECEPTOR,
    POWER,
    Legacy,
    mixed,
    neuron,
    synapse,
)
from numpy.testing import assert_allclose, assert_array_equal

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    CircuitError,
    LegacyInput,
    Manager,
    MemoryRecorder,
)
from neurodriver.__main__ import main
from neurodriver.compat.legacy.graphs import convert_graph
from neurodriver.errors import CircuitWarning, InputError

Capture = pytest.CaptureFixture[str]
IN = {"model": "port_in_gpot", "selector": "/a/in", "spiking": False, "public": True}


def two(**more: Any) -> nx.MultiDiGraph:
    """Return a graded neuron and another that it inhibits; ``more`` changes the edge."""
    graph = nx.MultiDiGraph()
    graph.add_node(0, **neuron("MorrisLecar", PHOTORECEPTOR))
    graph.add_node(1, **neuron("MorrisLecar", MONOPOLAR))
    graph.add_edge(0, 1, **{**synapse("power_gpot_gpot", POWER, -0.08), **more})
    return graph


def circuit(graph: nx.MultiDiGraph) -> Circuit:
    """Return the circuit of a legacy graph, without the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CircuitWarning)
        return Circuit.from_graph(graph)


def refused(graph: nx.MultiDiGraph, *words: str) -> str:
    """Show that a graph is refused with all the words; return the message."""
    with pytest.raises(CircuitError) as caught:
        convert_graph(graph)
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


def test_structure() -> None:
    """Synapses are nodes between two edges; public neurons lead to ports; ids count on."""
    graph = mixed()
    graph.add_node(9, **IN, extern=False)
    graph.add_node(8, model="port_in_spk", selector="/a/spk", name="dropped")
    graph.add_edge(9, 3, **synapse("power_gpot_gpot", POWER, 0.0))
    graph.add_edge(8, 3, **synapse("AlphaSynapse", ALPHA, 0.0))
    made = convert_graph(graph)
    assert list(made) == [0, 1, 2, 3, 7, 8, 9, *range(10, 20)]
    assert made.nodes[9] == {
        "class": "Port", "selector": "/a/in", "port_type": "gpot", "port_io": "in"
    }  # fmt: skip
    assert made.nodes[8]["port_type"] == "spike"
    out = {"class": "Port", "port_io": "out"}
    assert made.nodes[10] == {**out, "selector": "/lam/L1", "port_type": "gpot"}
    assert made.nodes[11] == {**out, "selector": "/lam/s", "port_type": "spike"}
    assert made.has_edge(1, 10) and made.has_edge(2, 11)
    synapses = [
        n for n, d in made.nodes(data=True) if d["class"] in ("PowerGPotGPot", "AlphaSynapse")
    ]
    assert synapses == list(range(12, 20))
    ends = [(*made.predecessors(n), *made.successors(n)) for n in synapses]
    assert ends == sorted((a, b) for a, b in graph.edges())
    assert made.number_of_edges() == 2 * 8 + 2
    assert made.nodes[0]["name"] == "R1" and made.nodes[0]["extern"] is True
    gone = {"model", "public", "spiking"}
    assert not any(gone & d.keys() for _, d in made.nodes(data=True))
    assert [n for n, d in made.nodes(data=True) if "extern" in d] == [0, 2]


def test_units() -> None:
    """Every number has the unit of today; the delay is in seconds on the edge to the synapse."""
    made = convert_graph(mixed())
    fixed = {"V_L": -50.0, "V_Ca": 100.0, "V_K": -70.0, "g_L": 0.5, "g_Ca": 1.1, "g_K": 2.0}
    numbers = {k: v for k, v in made.nodes[1].items() if k not in ("class", "name")}
    volts = {k: MONOPOLAR[k] * 1e3 for k in ("V1", "V2", "V3", "V4", "offset", "initV")}
    assert numbers == pytest.approx({**fixed, **volts, "phi": 0.0025, "initn": 0.5}, rel=1e-15)
    assert made.nodes[2] == {
        "class": "LeakyIAF", "resting_potential": 0.0, "initV": -50.0, "extern": True,
        "reset_potential": pytest.approx(-67.5489770451), "capacitance": 0.0067,
        "threshold": pytest.approx(25.1355161007), "resistance": pytest.approx(1020.0),
    }  # fmt: skip
    # 8 and 9 are ports; synapses from 10: 0 -> 1 twice, 0 -> 7, 1 -> 0, 2 -> 3, 2 -> 7
    steep, onto, alpha = made.nodes[11], made.nodes[12], made.nodes[15]
    assert steep["power"] == 1.5 and steep["slope"] == pytest.approx(9.0 * 1e-3**1.5)
    assert steep["saturation"] == 0.032 and steep["reverse"] == pytest.approx(-80.0)
    assert onto["slope"] == pytest.approx(40e-6) and onto["saturation"] == pytest.approx(1.1e-3)
    assert alpha["ar"] == pytest.approx(0.11) and alpha["ad"] == pytest.approx(0.19)
    assert alpha["gmax"] == pytest.approx(0.003)  # onto LeakyIAF
    assert made.nodes[14]["gmax"] == pytest.approx(2.0)  # onto MorrisLecar
    into = {b: d for _, b, d in made.edges(data=True) if b >= 10}
    delays = {b: d.get("delay") for b, d in into.items()}
    assert delays == {10: 0.001, 11: 0.0005, 12: 0.0007, 13: 0.0, 14: None, 15: 0.001}
    assert not any("delay" in d for _, d in made.nodes(data=True))


def outside(graph: nx.MultiDiGraph, steps: int, dt: float) -> np.ndarray:
    """Return legacy currents: a pulse into the extern neurons, (steps, neurons)."""
    time = np.arange(steps) * dt
    rows = np.zeros((steps, len(graph)))
    rows[:, 0] = np.where((time > 0.01) & (time < 0.04), 0.016, 0.0)
    rows[:, 2] = np.where(time > 0.005, 0.05, 0.0)
    return rows


def simulate(made: Circuit, inputs: list[Any], steps: int, dt: float) -> dict[str, np.ndarray]:
    """Return the potentials (V) and the spike counts of the neurons by increasing id."""
    names = ["0", "1", "2", "3", "7"]
    recorder = MemoryRecorder([("V", names), ("spike_state", ["2", "7"])])
    with LPU(made, dt, inputs, [recorder]) as lpu:
        lpu.run(steps)
    spikes = recorder.get("spike_state")
    return {"V": recorder.get("V") / 1e3, "time": spikes["time"], "index": spikes["index"]}


@pytest.mark.parametrize("dt", [1e-4, 5e-5])
def test_equations_in_volts_and_seconds(dt: float) -> None:
    """The converted circuit is the legacy one: its equations in V and s give the same rows."""
    steps = round(0.06 / dt)
    graph = mixed()
    rows = outside(graph, steps, dt)
    want = Legacy(graph, dt).today(rows)
    inputs = [ArrayInput({"I": (["0", "2"], rows[:, [0, 2]] * [1e3, 1.0])})]
    got = simulate(circuit(graph), inputs, steps, dt)
    V, spikes = np.array(want.V[:steps]), np.array(want.spikes[:steps])
    assert spikes[:, 2].sum() >= 3 and spikes[:, 4].sum() >= 1
    assert (np.ptp(V, axis=0) > 1e-3).all()
    assert_allclose(got["V"], V, rtol=0, atol=1e-11)
    step, which = np.nonzero(spikes[:, [2, 4]])
    assert_array_equal(got["index"], which)
    assert_allclose(got["time"], step * dt, atol=1e-12)


def test_schedule_of_the_old_library() -> None:
    """Its loop is a step shorter: the two differ by a share of a millivolt that falls with dt."""
    graph = mixed()
    graph.remove_nodes_from([2, 3, 7])  # its spiking synapses ignored delays
    graph.edges[1, 0, 0]["delay"] = 1.0
    far = []
    for dt in (1e-4, 5e-5, 2e-5):
        steps = round(0.06 / dt)
        rows = outside(mixed(), steps, dt)[:, :2]
        want = np.array(Legacy(graph, dt).then(rows).V)
        with LPU(
            circuit(graph), dt, [ArrayInput({"I": (["0"], rows[1:, :1] * 1e3)})],
            [recorder := MemoryRecorder([("V", ["0", "1"])])],
        ) as lpu:  # fmt: skip
            lpu.run(steps)
        far.append(np.abs(recorder.get("V") / 1e3 - want).max(axis=0).max())
    assert far[0] < 1e-4
    assert 1.8 < far[0] / far[1] < 2.2 and 2.2 < far[1] / far[2] < 2.8


def test_delay_is_the_latency_of_the_first_edge() -> None:
    """A delay of D ms shows in the target's potential after round(D / dt) + 2 steps."""
    for delay, latency in ((0.0, 3), (0.1, 3), (0.3, 5), (1.0, 12)):
        graph = two(delay=delay)
        recorder = MemoryRecorder([("V", ["1"])])
        traces = []
        for first in (0.0, 300.0):
            data = np.zeros((40, 1))
            data[5] = first
            with LPU(circuit(graph), 1e-4, [ArrayInput({"I": (["0"], data)})], [recorder]) as lpu:
                lpu.run(40)
            traces.append(recorder.get("V")[:, 0])
            recorder = MemoryRecorder([("V", ["1"])])
        first_row = int(np.flatnonzero(traces[0] != traces[1])[0])
        assert first_row == 6 + latency  # row 6 of the source is the first that differs


def test_graph_is_only_read_and_order_does_not_matter() -> None:
    """The given graph stays as it was; nodes and edges in another order give the same circuit."""
    graph = mixed()
    before = copy.deepcopy(graph)
    first = convert_graph(graph)
    assert nx.utils.graphs_equal(graph, before)
    other = nx.MultiDiGraph()
    other.add_nodes_from(reversed(list(graph.nodes(data=True))))
    keyed = sorted(graph.edges(keys=True, data=True), key=lambda e: (-e[0], e[1], e[2]))
    other.add_edges_from((a, b, d) for a, b, _, d in keyed)
    again = convert_graph(other)
    assert list(again.nodes(data=True)) == list(first.nodes(data=True))
    assert list(again.edges(data=True)) == list(first.edges(data=True))
    assert circuit(graph).digest == circuit(other).digest
    first.nodes[1]["V1"] = 0.0
    assert graph.nodes[1] == before.nodes[1]


def test_ids() -> None:
    """Ids stay integers where all are; text otherwise; nothing else is taken."""
    assert all(type(n) is int for n in convert_graph(two()))
    text = nx.relabel_nodes(two(), str)
    assert list(convert_graph(text)) == ["0", "1", "2"]
    for bad in ("a", "1.5", 2.5, "", "१", "9" * 19):
        said = refused(nx.relabel_nodes(two(), {1: bad}), "node id must be an integer")
        assert repr(str(bad)) in said
    with pytest.raises(ValueError, match="node id must be an integer"):
        convert_graph(nx.relabel_nodes(two(), {1: "L1"}))
    refused(nx.relabel_nodes(two(), {1: "00"}), "node id 0 stands 2 times")


NOT = "must be a finite number"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "LeakyIAf"}, ["node '1'", "unknown legacy model 'LeakyIAf'", "did you mean"]),
        (
            {"model": 3},
            ["node '1'", "legacy model '3'", "known are LeakyIAF, LeakyIAF_bias"],
        ),
        ({"model": None}, ["node '1' has no attribute 'model'"]),
        ({"V1": None}, ["node '1' (MorrisLecar)", "'V1' is missing"]),
        ({"V1": "x"}, ["node '1' (MorrisLecar), attribute 'V1'", NOT, "'x'"]),
        ({"V1": True}, ["'V1'", NOT]),
        ({"phi": float("nan")}, ["'phi'", NOT]),
        ({"offset": 10**400}, ["'offset'", NOT]),
        ({"spiking": True}, ["'spiking' must be False for this model"]),
        ({"public": "maybe"}, ["'public': must be True or False (got 'maybe')"]),
        ({"model": "port_in_gpot"}, ["(input port) has no 'selector'", "leads to an input port"]),
        ({**IN, "extern": True}, ["'extern' must be False"]),
        ({"class": "MorrisLecar"}, ["'class' is not of the legacy form"]),
    ],
)
def test_bad_nodes(change: dict[str, Any], words: list[str]) -> None:
    """A node that cannot be converted is named, with what was got and what is known."""
    graph = two()
    graph.nodes[1].update(change)
    refused(graph, *words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "DummySynapse"}, ["edge '0' -> '1'", "unknown legacy model 'DummySynapse'"]),
        ({"model": None}, ["edge '0' -> '1' has no attribute 'model'"]),
        ({"conductance": False}, ["edge '0' -> '1'", "current-based synapse", "write a model"]),
        ({"reverse": None}, ["attribute 'reverse' [V] is missing"]),
        ({"reverse": "low"}, ["'reverse'", NOT, "'low'"]),
        ({"slope": None}, ["edge '0' -> '1' (power_gpot_gpot)", "'slope' is missing"]),
        ({"power": -1.0}, ["attribute 'power': must be 0 to 100 (got -1)"]),
        ({"power": 1e9}, ["attribute 'power': must be 0 to 100"]),
        ({"delay": -1.0}, ["attribute 'delay' [ms]", "not negative (got -1.0)"]),
        ({"delay": "soon"}, ["attribute 'delay' [ms]", "(got 'soon')"]),
        ({"model": "AlphaSynapse", **ALPHA}, ["AlphaSynapse needs spikes", "graded potentials"]),
        ({"model": "ExpSynapse"}, ["'tau' is missing", "'a' is missing", "'gmax' is missing"]),
        ({"model": "exponential_with_stdp"}, ["needs spikes, its", "needs spikes of its target"]),
    ],
)
def test_bad_edges(change: dict[str, Any], words: list[str]) -> None:
    """A synapse that cannot be converted is named by its ends."""
    refused(two(**change), *words)


def test_all_faults_at_once() -> None:
    """Faults of nodes and edges are told together and counted rightly."""
    graph = two(reverse=None, delay=-1.0)
    graph.nodes[1].update(V1=None, V2="x")
    said = refused(graph, "4 faults")
    assert len(said.splitlines()) == 5
    graph = two()
    graph.nodes[1]["model"] = "Izhikevich"  # its edges are not blamed too
    assert len(refused(graph, "Izhikevich").splitlines()) == 1


def test_reversal_alias_and_flags_as_text() -> None:
    """``reversal_pot`` is ``reverse``; flags may be text, as old writers left them."""
    graph = two(reverse=None, reversal_pot=-0.07, conductance="True")
    graph.nodes[0].update(extern="True", spiking="False")
    made = convert_graph(graph)
    assert made.nodes[2]["reverse"] == pytest.approx(-70.0)
    assert made.nodes[0]["extern"] is True


def test_what_would_begin_to_mean_something() -> None:
    """A number that the legacy model did not read is left out with a warning, not taken."""
    graph = two()
    graph.nodes[0]["V_L"] = -0.06
    with pytest.warns(CircuitWarning, match="'V_L'; it is left out"):
        made = convert_graph(graph)
    assert made.nodes[0]["V_L"] == -50.0


def test_a_graph_of_today_by_model_is_told_so() -> None:
    """Parameters of today under ``model``: the message asks for ``class``."""
    graph = nx.MultiDiGraph()
    graph.add_node(0, model="LeakyIAF", threshold=-45.0, reset_potential=-70.0)
    refused(graph, "'Vt' is missing", "name its models by 'class'")


def write(path: Path, graph: nx.MultiDiGraph) -> Path:
    """Write a graph as GEXF."""
    nx.write_gexf(graph, path)
    return path


def test_file_is_converted_with_a_warning(tmp_path: Path, capsys: Capture) -> None:
    """Reading, checking and running a legacy file work and say what is better; strict refuses."""
    path = write(tmp_path / "old.gexf", mixed())
    with pytest.warns(CircuitWarning, match="5 neurons, 0 input ports and 6 synapses"):
        made = Circuit.from_file(path)
    assert made.digest == circuit(mixed()).digest
    assert made.group("MorrisLecar").labels["extern"].tolist() == [True, False, False]
    assert main(["check", str(path)]) == 0
    assert "`neurodriver convert`" in capsys.readouterr().err
    out = tmp_path / "out.h5"
    words = ["run", str(path), "--dt", "1e-4", "--duration", "0.01", "-o", str(out)]
    assert main(words) == 0 and out.exists()
    assert main(["check", "--strict", str(path)]) == 1
    assert "legacy form" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["new.gexf", "new.gexf.gz"])
def test_convert_command(tmp_path: Path, capsys: Capture, name: str) -> None:
    """The written file is the circuit that reading the old one gives; networkx reads it too."""
    graph = mixed()
    graph.nodes[0].update(start=3, viz="x", mode="left", note=1)
    graph.nodes[1].update(note=1.5)
    old, new = write(tmp_path / "old.gexf", mixed()), tmp_path / name
    assert main(["convert", str(old), str(new)]) == 0
    said = capsys.readouterr()
    assert "3  MorrisLecar" in said.out and "2  neurons marked 'extern'" in said.out
    assert "5  delays ms -> s" in said.out and said.err == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["old.gexf", name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = Circuit.from_file(new)
    assert made.digest == circuit(mixed()).digest
    again = nx.read_gexf(new)
    assert again.nodes["0"]["extern"] is True and again.nodes["10"]["class"] == "PowerGPotGPot"
    assert new.read_bytes()[:2] == (b"\x1f\x8b" if name.endswith(".gz") else b"<?")


def test_attributes_of_many_types_are_written(tmp_path: Path) -> None:
    """Free attributes that GEXF cannot hold as they are do no harm to the file."""
    from neurodriver.circuit.records import from_networkx
    from neurodriver.compat.legacy.graphs import convert
    from neurodriver.io.write import write_gexf

    graph = mixed()
    graph.nodes[0].update(start=3, viz="x", id="me", note=1, kind="left", tags=["a"], nothing=None)
    graph.nodes[1].update(note=1.5, kind=2)
    made = convert(from_networkx(graph))
    write_gexf(made, tmp_path / "new.gexf")
    node = nx.read_gexf(tmp_path / "new.gexf").nodes["0"]
    assert (node["start_"], node["viz_"], node["id_"], node["note"]) == (3, "x", "me", 1.0)
    assert (node["kind"], node["tags"]) == ("left", "['a']")
    assert Circuit.from_file(tmp_path / "new.gexf").digest == circuit(graph).digest


def test_convert_command_refuses(tmp_path: Path, capsys: Capture) -> None:
    """Nothing is written for a file of today, a bad file, the same file or a missing folder."""
    old, new = write(tmp_path / "old.gexf", mixed()), tmp_path / "new.gexf"
    today, bad = tmp_path / "today.gexf", tmp_path / "bad.gexf"
    assert main(["convert", str(old), str(today)]) == 0
    write(bad, two(delay=-1.0))
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    for words, said in (
        ([today, new], "in the form of today already"),
        ([bad, new], "not negative (got -1.0)"),
        ([old, old], "would replace the file that is read"),
        ([old, tmp_path / "nowhere" / "new.gexf"], "cannot be written"),
        ([tmp_path / "none.gexf", new], "no such file"),
    ):
        assert main(["convert", *map(str, words)]) == 1
        error = capsys.readouterr().err
        assert said in error and "Traceback" not in error
    assert sorted(tmp_path.iterdir()) == before


def test_a_write_that_fails_leaves_nothing(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk is full, the file that was there stays and no part is left."""
    old, new = write(tmp_path / "old.gexf", mixed()), tmp_path / "new.gexf"
    new.write_text("before")

    def full(graph: Any, stream: Any, **more: Any) -> None:
        stream.write(b"<gexf")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(nx, "write_gexf", full)
    assert main(["convert", str(old), str(new)]) == 1
    assert "No space left" in capsys.readouterr().err
    assert new.read_text() == "before" and len(list(tmp_path.iterdir())) == 2


def test_joins_a_circuit_without_extern_neurons() -> None:
    """A converted circuit runs in one program with one that marks no neuron as ``extern``."""
    for parts in ((mixed(), two()), (two(), mixed())):
        man, recorders = Manager(), [MemoryRecorder([("V", None)]) for _ in parts]
        for name, part, recorder in zip("ab", parts, recorders, strict=True):
            man.add(LPU, name, circuit(part), 1e-4, recorders=[recorder])
        man.spawn()
        man.start(steps=3)
        man.wait()
        rows = [recorder.get("V") for recorder in recorders]
        assert sorted(one.shape for one in rows) == [(3, 2), (3, 5)]
        assert all(np.ptp(one, axis=0).any() for one in rows)


def legacy_input(path: Path, rows: Any) -> Path:
    """Write a legacy input file."""
    with h5py.File(path, "w") as file:
        file["array"] = rows
    return path


def test_legacy_input(tmp_path: Path, capsys: Capture) -> None:
    """Columns go to the extern neurons by increasing id, in the units of each; so does ``run``."""
    dt, steps = 1e-4, 400
    rows = outside(mixed(), steps, dt)[:, [0, 2]]
    path = legacy_input(tmp_path / "in.h5", rows)
    want = simulate(
        circuit(mixed()), [ArrayInput({"I": (["0", "2"], rows * [1e3, 1.0])})], steps, dt
    )
    assert np.ptp(want["V"][:, 0]) > 0.01
    got = simulate(circuit(mixed()), [LegacyInput(path, circuit(mixed()))], steps, dt)
    assert_array_equal(got["V"], want["V"])
    old, new = write(tmp_path / "old.gexf", mixed()), tmp_path / "new.gexf"
    assert main(["convert", str(old), str(new)]) == 0
    for file in (old, new):
        out = tmp_path / "out.h5"
        words = ["run", file, "--dt", dt, "--duration", steps * dt, "-i", path, "-f", "-o", out]
        assert main([str(word) for word in [*words, "-r", "V:0,1,2,3,7"]]) == 0
        with h5py.File(out) as recording:
            assert_array_equal(recording["V/data"][()] / 1e3, want["V"])


def test_ids_count_as_numbers(tmp_path: Path) -> None:
    """Nodes and columns are in the order of numbers, not of text or of models."""
    graph = nx.relabel_nodes(two(), {0: 10, 1: 9})
    graph.add_node(12, **neuron("MorrisLecar", MONOPOLAR))
    graph.add_node(11, **neuron("LeakyIAF", LEAKY))
    for node in graph:
        graph.nodes[node]["extern"] = True
    assert list(convert_graph(graph)) == [9, 10, 11, 12, 13]
    one = LegacyInput(legacy_input(tmp_path / "in.h5", np.ones((3, 4))), circuit(graph))
    one.open(1e-4, np.dtype(np.float64))
    assert one.targets == [("I", ("9", "10", "11", "12"))]
    assert one.chunk(0, 0, 3).table.tolist() == [[1000.0, 1000.0, 1.0, 1000.0]] * 3
    one.close()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.zeros((5, 3)), ["(steps, 2)", "got (5, 3)"]),
        (np.zeros(5), ["(steps, 2)", "got (5,)"]),
        (np.array([[b"a", b"b"]]), ["must be numbers"]),
        (np.full((5, 2), np.nan), ["must be finite"]),
    ],
)
def test_bad_legacy_input(tmp_path: Path, rows: np.ndarray, words: list[str]) -> None:
    """A file that does not fit is refused with its name and what is needed."""
    path = legacy_input(tmp_path / "in.h5", rows)
    made = circuit(mixed())
    with pytest.raises(InputError) as caught:
        simulate(made, [LegacyInput(path, made)], 5, 1e-4)
    for word in ("in.h5", *words):
        assert word in str(caught.value)


def test_legacy_input_needs_extern_neurons(tmp_path: Path) -> None:
    """Without a marked neuron, or without a file, there is nowhere or nothing to inject."""
    path = legacy_input(tmp_path / "in.h5", np.zeros((5, 2)))
    with pytest.raises(InputError, match="no neuron is 'extern'"):
        LegacyInput(path, circuit(two()))
    with pytest.raises(InputError, match="no such file"):
        LegacyInput(tmp_path / "none.h5", circuit(mixed()))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["I/data"] = np.zeros((5, 2))
    with pytest.raises(InputError, match="no data set '/array'"):
        LegacyInput(tmp_path / "other.h5", circuit(mixed()))


NODE_IDS = st.one_of(st.integers(-3, 6), st.sampled_from(["0", "7", "a", "", "3.0"]))
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=32),
    st.integers(-3, 3), st.booleans(), st.none(), st.text(max_size=3),
)  # fmt: skip
FLAGS = st.one_of(st.booleans(), st.none(), st.sampled_from(["True", "no", 1, 0, 2.5]))
MODELS = st.sampled_from(
    ["LeakyIAF", "MorrisLecar", "port_in_gpot", "port_in_spk", "Nobody", None, 3]
)
SYNAPSES = st.sampled_from(["AlphaSynapse", "power_gpot_gpot", "Nobody", None])


@st.composite
def graphs(draw: st.DrawFn) -> nx.MultiDiGraph:
    """Draw a legacy graph of which anything may be wrong."""
    graph = nx.MultiDiGraph()
    uids = draw(st.lists(NODE_IDS, unique=True, max_size=5))
    base = {**LEAKY, **PHOTORECEPTOR}
    for uid in uids:
        data = {
            **base,
            "model": draw(MODELS),
            "selector": draw(st.sampled_from(["", "/a", f"/{uid}"])),
        }
        for key in ("public", "extern", "spiking"):
            if draw(st.booleans()):
                data[key] = draw(FLAGS)
        if draw(st.integers(0, 3)) == 0:
            data[draw(st.sampled_from(sorted(base)))] = draw(NUMBERS)
        graph.add_node(uid, **data)
    for _ in range(draw(st.integers(0, 5)) if uids else 0):
        data = {**POWER, **ALPHA, "reverse": -0.08, "model": draw(SYNAPSES)}
        if draw(st.integers(0, 3)) == 0:
            keys = [*sorted(data), "delay", "conductance", "reversal_pot"]
            data[draw(st.sampled_from(keys))] = draw(NUMBERS)
        graph.add_edge(draw(st.sampled_from(uids)), draw(st.sampled_from(uids)), **data)
    return graph


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_anything_converts_or_is_refused(graph: nx.MultiDiGraph) -> None:
    """Whatever a graph holds: nodes for all neurons, ports and synapses, or a CircuitError."""
    before = copy.deepcopy(graph)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CircuitWarning)
            made = convert_graph(graph)
    except CircuitError as error:
        assert str(error).startswith("graph: ") and len(str(error)) < 4000
    else:
        public = sum(d.get("port_io") == "out" for _, d in made.nodes(data=True))
        assert len(made) == len(graph) + graph.number_of_edges() + public
        assert made.number_of_edges() == 2 * graph.number_of_edges() + public
        assert all(isinstance(d["class"], str) for _, d in made.nodes(data=True))
        try:
            circuit(graph)
        except CircuitError as error:  # two ports of one selector, a capacitance below zero, ...
            assert "legacy" not in str(error)
    assert repr(list(graph.nodes(data=True))) == repr(list(before.nodes(data=True)))
    assert repr(list(graph.edges(data=True))) == repr(list(before.edges(data=True)))
