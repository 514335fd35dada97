"""Circuits in HDF5 files: what is read is what was saved, and nothing damaged passes for it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from support import build, chain, every_feature, model, node, simulate, spiking_network

from neurodriver import (
    AllToAll,
    Circuit,
    CircuitError,
    Connections,
    Exponential,
    FixedInDegree,
    FixedOutDegree,
    FixedProbability,
    FixedTotal,
    Lattice,
    LogNormal,
    Normal,
    OneToOne,
    Projection,
    StepInput,
    Uniform,
)
from neurodriver.__main__ import main
from neurodriver.circuit.distributions import Value
from neurodriver.circuit.drawn import Drawn
from neurodriver.circuit.rules import Rule
from neurodriver.errors import NeurodriverError
from neurodriver.io.columns import shown_name, stored_name
from neurodriver.io.hdf5 import write_hdf5
from neurodriver.io.write import complete_or_none

Capture = pytest.CaptureFixture[str]
QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BIG = 5000
"""Components or connections whose columns take several forms of storage."""


def large(seed: int = 0) -> Circuit:
    """Return a circuit whose columns are kept in chunks."""
    rng = np.random.default_rng(seed)
    uids = np.array([f"{'x' * (i % 7)}{i}" for i in range(BIG)])
    ends = rng.integers(0, BIG, (2, BIG)).astype(np.int32)
    data = {"weight": rng.normal(size=BIG)}
    links = Connections("spike_state", "exc", *ends, rng.uniform(0, 2e-2, BIG), data)
    given = {"tau_exc": 2.0, "tau_inh": rng.uniform(1, 9, BIG), "capacitance": 250.0}
    given |= {"resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0}
    columns = {"type": np.array(["é", "", "T4a"])[ends[0] % 3], "x": rng.normal(size=BIG)}
    columns |= {"population": np.array(["a", "b"])[ends[1] % 2], "left": ends[0] > BIG // 2}
    columns |= {"layer": ends[1].astype(np.int16), "a/b": "one for all"}
    neurons = model("LeakyIAFExpCurrent"), BIG, {**given, "time_constant": 10.0}, uids, columns
    return Circuit.from_arrays([neurons, (model("PoissonSource"), 3, {}, None)], [links])


def same(one: Circuit, other: Circuit) -> None:
    """Assert that two circuits hold the same, in the same order, of the same types."""
    assert one.digest == other.digest
    assert [list(g.params) for g in one.groups] == [list(g.params) for g in other.groups]
    for a, b in zip(one.groups, other.groups, strict=True):
        assert (a.model, a.count, a.hidden, a.scopes) == (b.model, b.count, b.hidden, b.scopes)
        assert (a.given_uids is None, a.keys is None) == (b.given_uids is None, b.keys is None)
        assert_array_equal(a.uids, b.uids)
        assert a.keys is None or (a.keys == b.keys).all()
        for name, column in {**a.params, **a.labels}.items():
            assert column.dtype == {**b.params, **b.labels}[name].dtype
        assert list(a.columns) == list(b.columns)
        for name, column in a.columns.items():
            assert column.dtype == b.columns[name].dtype
            assert_array_equal(column, b.columns[name])
    for kind in ("connections", "replaced"):
        for a, b in zip(getattr(one, kind), getattr(other, kind), strict=True):
            assert (a.variable, a.access, list(a.data)) == (b.variable, b.access, list(b.data))
            columns = {"source": a.source, "target": a.target, "delay": a.delay, **a.data}
            for name, column in columns.items():
                found = b.data[name] if name in b.data else getattr(b, name)
                assert found.dtype == column.dtype
                assert_array_equal(found, column)
    for (a, *first), (b, *second) in zip(one.held, other.held, strict=True):
        assert a == b and all(map(np.array_equal, first, second))


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("make", [chain, every_feature, large, lambda: spiking_network(60, 9, 5)])
def test_the_same_circuit(make: Callable[[], Circuit], compress: bool, tmp_path: Path) -> None:
    """Ports, labels, initial values, delays, weights and names come back, type by type."""
    circuit, path = make(), tmp_path / "circuit.h5"
    circuit.save(path, compress)
    made = Circuit.from_file(path)
    same(made, circuit)
    assert made.name == str(path) and [*tmp_path.iterdir()] == [path]
    with pytest.raises(ValueError):
        made.groups[0].uids.dtype and made.connections[0].source.__setitem__(0, 1)


def test_compression_shrinks(tmp_path: Path) -> None:
    """Compressed numbers take less room; text is compressed in both."""
    circuit = large()
    sizes = []
    for compress in (False, True):
        circuit.save(tmp_path / "a.h5", compress)
        sizes.append((tmp_path / "a.h5").stat().st_size)
    assert sizes[1] < 0.9 * sizes[0]
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["groups/0/uids"].compression == "gzip"


def test_joined_circuits(tmp_path: Path) -> None:
    """A circuit joined from several keeps scopes, keys, hidden components and what ports hold."""
    circuit = every_feature()
    groups = []
    for group in circuit.groups:
        keys = np.arange(group.count, dtype=np.uint64) + np.uint64(2**63)
        scopes = (("a", group.count), ("bé", 0))
        groups.append(replace(group, scopes=scopes, keys=keys, hidden=True))
    held = (("spike_state", np.array([1]), np.array([0])),)
    circuit = circuit.changed(groups=tuple(groups), held=held, replaced=circuit.connections[:1])
    circuit.save(tmp_path / "joined.h5")
    same(Circuit.from_file(tmp_path / "joined.h5"), circuit)
    with pytest.raises(NeurodriverError, match="joined from several"):
        circuit.save(tmp_path / "joined.gexf")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
NUMBER = st.floats(-1e6, 1e6)


@st.composite
def circuits(draw: st.DrawFn) -> Circuit:
    """Draw a circuit with ports, receptors, odd names and numbers on some edges only."""
    names = draw(st.lists(TEXT.map(lambda t: t[:256]), min_size=5, max_size=9, unique=True))
    given = {"class": "LeakyIAFExpCurrent", "resting_potential": -60.0, "threshold": -50.0}
    given |= {"reset_potential": -60.0, "capacitance": 200.0, "time_constant": 20.0}
    given |= {"tau_exc": draw(st.floats(0.1, 10)), "tau_inh": 10.0}
    port = {"class": "Port", "port_type": "spike"}
    nodes: dict[str, Any] = {name: {**given} for name in names[2:]}
    nodes[names[0]] = {**port, "selector": draw(st.sampled_from(["/ä/0", "/a"])), "port_io": "in"}
    nodes[names[1]] = {**port, "selector": "/b/1", "port_io": "out"}
    for name in draw(st.lists(st.sampled_from(names[2:]))):
        nodes[name]["initV"] = draw(NUMBER)
    numbers = st.dictionaries(TEXT | st.sampled_from(["weight", ".", "..", "a/b", "%"]), NUMBER)
    extra = numbers.map(lambda d: {k: v for k, v in d.items() if k not in _TAKEN})
    receptor = st.sampled_from([{"receptor": "exc"}, {"receptor": "inh"}])
    delay = st.sampled_from([{}, {"delay": 1e-3}, {"delay": 2.5e-3}])
    edges: list[tuple[Any, ...]] = [(names[2], names[1])]
    for _ in range(draw(st.integers(1, 12))):
        source = draw(st.sampled_from([names[0], *names[2:]]))
        data = {**draw(extra), **draw(receptor), **draw(delay)}
        edges.append((source, draw(st.sampled_from(names[2:])), data))
    return build(nodes, edges)


_TAKEN = {*"id key label variable receptor tag delay class weights plasticity".split()}


@pytest.mark.filterwarnings("ignore::neurodriver.errors.CircuitWarning")
@QUICK
@given(circuit=circuits(), compress=st.booleans())
def test_any_circuit(circuit: Circuit, compress: bool, tmp_path: Path) -> None:
    """Whatever a circuit holds comes back."""
    circuit.save(tmp_path / "any.h5", compress)
    same(Circuit.from_file(tmp_path / "any.h5"), circuit)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_names_of_columns(name: str) -> None:
    """Every name has one of its own in a file, which is no path."""
    stored = stored_name(name)
    assert shown_name(stored) == name
    assert stored.isascii() and stored not in ("", ".", "..") and not set(stored) & set("/\0")


RULES: list[Rule] = [
    AllToAll(autapses=False),
    FixedProbability(np.float64(0.1)),
    FixedInDegree(np.int64(3), multapses=False),
    FixedOutDegree(2, autapses=False),
    FixedTotal(400),
    OneToOne(),
    Lattice(
        [[0, 1], [1, 0], [-1, 2]], [1.0, -2.0, 0.5], *[np.indices((6, 5)).reshape(2, -1).T] * 2
    ),
]
LAWS: list[Value] = [
    Normal(1.0, 0.2, low=0.0, high=3.0),
    LogNormal(0.0, 0.5, factor=-1.0),
    Exponential(2.0, high=9.0, outside="clip"),
    Uniform(1, 2),
    np.float64(0.25),
    3,
    0.5,
]


def projected(rule: Rule, law: Value, seed: int = 5) -> Circuit:
    """Return a circuit with a rule between columns."""
    groups = [(model("LeakyIAFDelta"), 60, {**_DELTA}, None), (model("SpikeSource"), 1, {}, None)]
    ends = np.array([60]), np.array([3])
    columns = Connections("spike_state", "spike_state", *ends, np.array(1e-3), {"weight": 2.0})
    given = "spike_state", "spike_state", (30, 60), range(0, 30), rule, law
    rules = [Projection(*given, Uniform(1e-3, 2e-3), "é"), Projection(*given, 1e-3)]
    return Circuit.from_arrays(groups, [rules[0], columns, rules[1]], seed=seed)


_DELTA = {"resting_potential": 0.0, "threshold": 20.0, "reset_potential": 0.0}
_DELTA |= {"time_constant": 20.0}


@pytest.mark.parametrize(("rule", "law"), list(zip(RULES, LAWS, strict=True)))
def test_rules_are_kept_as_rules(
    rule: Rule, law: Value, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Projections come back as what they are, and draw the same."""
    path = tmp_path / "rules.h5"
    circuit = projected(rule, law)
    circuit.save(path)
    made = Circuit.from_file(path)
    assert made.digest == circuit.digest != projected(rule, law, 6).digest
    assert [isinstance(c, Drawn) for c in made.connections] == [True, False, True]
    same(made, circuit)
    assert made.edges > 10
    assert main(["check", str(path)]) == 0
    capsys.readouterr()
    assert main(["info", str(path)]) == 0
    said = capsys.readouterr().out
    assert "61 components, 1 connections and what rules draw;" in said
    assert said.count("\n                 spike_state -> spike_state: by the rule {") == 2


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("rule", '{"type": "FixedProbability", "p": 1.5, "autapses": true}', ["'é'", "0 to 1"]),
        ("rule", '{"type": "FixedProbabilty", "p": 0.5}', ["'rule': not known", "FixedTotal"]),
        ("rule", '{"type": "FixedProbability"}', ["consists of p, autapses; got nothing"]),
        ("rule", "{", ["'rule': not known"]),
        ("weight", '"x"', ["'weight': not known", "LogNormal"]),
        ("delay", "-1.0", ["'delay'", "at least 0"]),
        ("key", "x", ["'key'", "whole number"]),
        ("ends", [[0, 10], [5, 62]], ["neighbours from 0 to 60"]),
        ("ends", [0, 10], ["attribute 'ends'"]),
        ("variable", "V_x", ["'V_x' -> 'spike_state'"]),
    ],
)
def test_bad_rules(name: str, value: Any, words: list[str], tmp_path: Path) -> None:
    """A rule that is not known, or does not fit the components, is refused."""
    path = tmp_path / "rules.h5"
    projected(RULES[1], 1.0).save(path)
    with h5py.File(path, "r+") as file:
        file["connections/0"].attrs[name] = value
    with pytest.raises(CircuitError) as caught:
        Circuit.from_file(path)
    for word in words:
        assert word in str(caught.value)


def test_bad_lattice(tmp_path: Path) -> None:
    """A filter without one of its columns is refused."""
    path = tmp_path / "rules.h5"
    projected(RULES[-1], 1.0).save(path)
    with h5py.File(path, "r+") as file:
        del file["connections/0/columns/offsets"]
        file["connections/2/columns/target"][:] = 2**30
    with pytest.raises(CircuitError, match="got source, target, weights"):
        Circuit.from_file(path)


def test_graph_file_and_back(tmp_path: Path) -> None:
    """HDF5 -> GEXF -> HDF5 by the command line gives the circuit of the first file."""
    first, graph, last = (tmp_path / n for n in ("a.h5", "b.gexf.gz", "c.HDF5"))
    for circuit in (every_feature(), chain()):
        circuit.save(first)
        assert main(["convert", str(first), str(graph)]) == 0
        assert main(["convert", "--compress", str(graph), str(last)]) == 0
        for path in (graph, last):
            assert Circuit.from_file(path).digest == circuit.digest


def test_receptors_in_a_graph_file(tmp_path: Path) -> None:
    """Edges into two receptors keep theirs in GEXF, and weights of some edges only."""
    given = node("LeakyIAFExpConductance", {}, resting_potential=-60.0, threshold=-50.0)
    given |= {"reset_potential": -60.0, "capacitance": 200.0, "leak_conductance": 10.0}
    given |= {"tau_exc": 5.0, "tau_inh": 10.0}
    links = [("a", "b", {"receptor": "inh", "weight": 2.0, "delay": 1e-3}), ("b", "a", {})]
    circuit = build({"a": given, "b": {**given, "initV": -61.0}}, links)
    assert [c.access for c in circuit.connections] == ["inh", "exc"]
    circuit.save(tmp_path / "a.gexf")
    assert Circuit.from_file(tmp_path / "a.gexf").digest == circuit.digest


def test_command_line(tmp_path: Path, capsys: Capture) -> None:
    """`info`, `check` and `run` take the file; its recording has the bits of the circuit's own."""
    path, out = tmp_path / "circuit.h5", tmp_path / "out.h5"
    circuit = spiking_network(30, 6, 2)
    circuit.save(path)
    assert main(["info", str(path)]) == 0
    said = capsys.readouterr().out
    assert "version 1" in said and f"{circuit.edges:,} connections" in said
    assert "LeakyIAF: " in said and "threshold" in said and "spike_state -> spike_state" in said
    assert main(["check", str(path)]) == 0
    assert f"digest {circuit.digest}" in capsys.readouterr().out
    words = ["run", str(path), "--dt", "1e-4", "--duration", "0.05", "-o", str(out), "-r", "V"]
    assert main(words) == 0
    want = simulate(circuit, 1e-4, 500)["V"]
    with h5py.File(out) as file:
        assert_array_equal(file["V/data"], want)
    assert np.ptp(want) > 0


def test_own_models(tmp_path: Path, capsys: Capture) -> None:
    """A model of the user's own is found by ``models``; without it the message names it."""
    code = tmp_path / "mine.py"
    code.write_text(
        "from neurodriver import NDComponent\n"
        "class Mine(NDComponent):\n"
        "    accesses, updates, params = ['I'], ['V'], {'tau': 'ms'}\n"
        "    update = 'V = I / tau;'\n"
    )
    path = tmp_path / "mine.h5"
    from neurodriver.model.loading import load_models

    (mine,) = load_models(code)
    circuit = Circuit.from_arrays([(mine, 3, {"tau": 2.0}, ["a", "b", "c"])])
    circuit.save(path)
    same_but_class = Circuit.from_file(path, models=code)
    assert same_but_class.digest == circuit.digest
    assert main(["check", str(path), "--models", str(code)]) == 0
    assert main(["check", str(path)]) == 1
    assert "/groups/0: unknown model 'Mine'" in capsys.readouterr().err


Damage = Callable[[h5py.File], None]


def _drop(*names: str) -> Damage:
    return lambda file: [file.__delitem__(name) for name in names] and None


def _put(name: str, values: Any) -> Damage:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = values

    return change


def _say(name: str, key: str, value: Any) -> Damage:
    return lambda file: file[name].attrs.__setitem__(key, value)


EDGE = "connections/0"
FAULTS: list[tuple[Damage, list[str]]] = [
    (_say("/", "format", "other"), ["holds no circuit", "'groups'", "Circuit.save"]),
    (_say("/", "version", 2), ["version 2", "reads 1"]),
    (_say("/", "version", [1, 2]), ["damaged"]),
    (_drop("groups"), ["/groups: a group of this name is expected"]),
    (_drop("groups/0"), ["/groups/0: a group"]),
    (_say("groups/0", "model", "LeakyIAFExpCurent"), ["/groups/0", "mean 'LeakyIAFExpCurrent'?"]),
    (_say("groups/0", "model", 3), ["'model'", "must be a text (got 3)"]),
    (_say("groups/0", "count", "x"), ["'count'", "must be a whole number (got 'x')"]),
    (_say("groups/0", "count", BIG + 1), [f"({BIG + 1},)", f"({BIG},)", "uids", "tau_inh"]),
    (_say("groups/0", "count", -1), ["/groups/0", "at least 0", "-1"]),
    (_say("groups/0", "hidden", "no"), ["'hidden'", "true or false"]),
    (_say("groups/0", "learning", "exc ex"), ["'learning'", "no access 'ex'", "mean 'exc'?"]),
    (_drop("groups/0/params/threshold"), ["'threshold' [mV] is missing"]),
    (_drop("groups/0/params", "groups/0/labels"), ["2 faults", "params", "labels"]),
    (_put("groups/0/params/threshold", "x"), ["params/threshold: must hold numbers"]),
    (_put("groups/0/params/threshold", [1.0, 2.0]), ["params/threshold: expected the shape"]),
    (_put("groups/0/params/capacitance", -1.0), ["'capacitance'", "positive", "all 5,000 nodes"]),
    (_put("groups/0/uids", np.zeros(BIG)), ["/groups/0/uids: must hold text"]),
    (_put("groups/0/uids", np.array([b"\xff"] * BIG)), ["/groups/0/uids: damaged", "utf-8"]),
    (_put("groups/0/uids", np.array([b"a"] * BIG)), ["two components", "'a'"]),
    (_say("groups/0/uids", "dtype", "<U2"), ["/groups/0/uids: damaged", "<U2"]),
    (_say("groups/0/uids", "dtype", "?!"), ["/groups/0/uids: damaged"]),
    (_drop(f"{EDGE}/source"), [f"/{EDGE}/source: this column is missing"]),
    (_drop(f"{EDGE}/target", f"{EDGE}/data"), ["target: this column", "data: a group", "2 faults"]),
    (_put(f"{EDGE}/source", np.zeros(BIG)), ["source: must hold whole numbers (got float64)"]),
    (_put(f"{EDGE}/source", np.zeros(BIG, np.int64)), ["source: must be int32 (got int64)"]),
    (_put(f"{EDGE}/target", np.full(BIG, BIG + 3, np.int32)), ["target is 5003", "0 to 5002"]),
    (_put(f"{EDGE}/target", np.full(BIG, BIG + 1, np.int32)), ["PoissonSource accesses rate"]),
    (_put(f"{EDGE}/target", np.zeros(9, np.int32)), ["target: expected the shape (5000,)"]),
    (_put(f"{EDGE}/delay", np.full(BIG, -1.0)), ["'delay'", "at least 0", "5000 faults"]),
    (_put(f"{EDGE}/data/weight", np.full(BIG, np.inf)), ["'weight'", "finite", "5000 faults"]),
    (_put(f"{EDGE}/data/weight", np.zeros((BIG, 2))), ["weight: expected the shape (5000,)"]),
    (_say(EDGE, "variable", "spike_stat"), ["updates spike_state", "mean 'spike_state'?"]),
    (_say(EDGE, "access", "ex"), ["-> 'ex'", "spike_state -> exc"]),
    (_put("held", 1), ["/held: a group of this name is expected"]),
]


@pytest.mark.parametrize(("damage", "words"), FAULTS)
def test_refused(damage: Damage, words: list[str], tmp_path: Path, capsys: Capture) -> None:
    """What does not fit is named with its place in the file, all faults in one message."""
    path = tmp_path / "bad.h5"
    large().save(path)
    with h5py.File(path, "r+") as file:
        damage(file)
    with pytest.raises(CircuitError) as caught:
        Circuit.from_file(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and len(message) < 4000
    for word in words:
        assert word in message
    assert main(["check", str(path)]) == 1
    assert f"error: {message}\n" in capsys.readouterr().err
    assert main(["info", str(path)]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


def test_ports_need_their_labels(tmp_path: Path) -> None:
    """Ports without selectors, and joined circuits with wrong numbers, are refused."""
    path = tmp_path / "ports.h5"
    circuit = every_feature()
    wrong = (("V", np.array([99]), np.array([-1])),)
    circuit.changed(held=wrong).save(path)
    with pytest.raises(CircuitError, match="2 faults"):
        Circuit.from_file(path)
    circuit.save(path)
    with h5py.File(path, "r+") as file:
        del file["groups/2/labels/selector"], file["groups/2/labels/port_io"]
    with pytest.raises(CircuitError, match=r"(?s)2 faults.*port_io.*selector: this column"):
        Circuit.from_file(path)


def test_port_to_port(tmp_path: Path) -> None:
    """A file that connects ports with ports is refused."""
    path = tmp_path / "ports.h5"
    circuit = every_feature()
    ports = np.array([4, 5], np.int32)
    links = Connections("spike_state", "", ports[:1], ports[1:])
    circuit.changed(connections=(*circuit.connections, links)).save(path)
    with pytest.raises(CircuitError, match="from ports to ports"):
        Circuit.from_file(path)


def test_foreign_files(tmp_path: Path) -> None:
    """Recordings and parts of SONATA circuits are told apart; so are files that are gone."""
    for name, word in (("metadata", "a recording"), ("nodes", "circuit_config.json")):
        path = tmp_path / f"{name}.h5"
        with h5py.File(path, "w") as file:
            file.create_group(name)
        with pytest.raises(CircuitError, match=word):
            Circuit.from_file(path)
    with pytest.raises(CircuitError, match="no such file"):
        Circuit.from_file(tmp_path / "none.h5")


@pytest.mark.parametrize("make", [every_feature, large])
def test_fuzzed(make: Callable[[], Circuit], tmp_path: Path) -> None:
    """A file with a changed byte, or cut short, is refused, or is the circuit that was saved."""
    circuit, path = make(), tmp_path / "fuzzed.h5"
    circuit.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for trial in range(250):
        data = bytearray(whole)
        if trial % 4:
            for at in rng.integers(0, len(data), int(rng.integers(1, 4))):
                data[at] ^= int(rng.integers(1, 256))
        else:
            del data[int(rng.integers(1, len(data))) :]
        path.write_bytes(data)
        try:
            made = Circuit.from_file(path)
        except CircuitError as error:
            refused += 1
            assert str(error).startswith(f"{path}: ") and len(str(error)) < 4000
        else:
            assert made.digest == circuit.digest
    assert refused > 120


def test_not_written(tmp_path: Path, capsys: Capture) -> None:
    """A file that cannot be written is told, what was there stays, and no part is left."""
    circuit, there = chain(), tmp_path / "there.h5"
    there.write_text("before")
    (tmp_path / "folder.h5").mkdir()
    names = ["nowhere/a.h5", "folder.h5", "there.h5/a.h5", "a.h5x"]
    for name, word in zip(names, ["cannot be", "regular", "cannot be", "ending"], strict=True):
        with pytest.raises(NeurodriverError, match=word):
            circuit.save(tmp_path / name)
    labels = {**every_feature().group("Port").labels}
    labels["selector"] = np.array(["\udc80", "b", "c"])
    groups = (*circuit.groups, replace(every_feature().group("Port"), labels=labels))
    with pytest.raises(NeurodriverError, match="half of a pair"):
        circuit.changed(groups=groups).save(there)
    assert there.read_text() == "before" and len(list(tmp_path.iterdir())) == 2


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The file behind a link is replaced."""
    goal, link = tmp_path / "goal.h5", tmp_path / "link.h5"
    goal.write_text("before")
    link.symlink_to(goal)
    chain().save(link)
    assert link.is_symlink() and Circuit.from_file(goal).digest == chain().digest


def _write_slowly(path: str) -> None:
    with complete_or_none(Path(path)) as part:
        write_hdf5(large(1), part)
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(60)


def test_a_killed_writer(tmp_path: Path) -> None:
    """A writer that is killed before the end leaves the file of before."""
    path = tmp_path / "circuit.h5"
    large().save(path)
    child = multiprocessing.get_context("spawn").Process(target=_write_slowly, args=(str(path),))
    child.start()
    assert child.pid is not None
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert len(list(tmp_path.iterdir())) == 2
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    same(Circuit.from_file(path), large())


def test_currents_flow_through_a_file(tmp_path: Path) -> None:
    """A circuit from a file answers an input as the one that was saved."""
    path = tmp_path / "circuit.h5"
    chain().save(path)
    current = StepInput("I", ["a"], 2.0)
    want = simulate(chain(), 1e-4, 400, current)["V"]
    assert_array_equal(simulate(Circuit.from_file(path), 1e-4, 400, current)["V"], want)
    assert np.ptp(want[:, 1]) > 1e-3
