"""Rules of plasticity in files: graphs and HDF5, there and back, and what is wrong in them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from learning_networks import DT, RULES, Cell, Counting, Pairs, Rewarded, equal, network, trains

import neurodriver as nd
from neurodriver.errors import CircuitWarning
from neurodriver.model.plasticity import Plasticity


def run(circuit: nd.Circuit) -> tuple[Any, Any]:
    """Return the potentials of a run, and the synapses."""
    recorder = nd.MemoryRecorder([("V", [f"c{i}" for i in range(9)])])
    with nd.LPU(circuit, DT, trains(circuit), recorder, backend="cpu") as lpu:
        lpu.run(150)
        part = lpu["learning"]
        return recorder.get("V"), {name: part.get(name) for name in part.names}


@pytest.mark.parametrize("ending", [".gexf", ".gexf.gz", ".h5"])
@pytest.mark.parametrize("rule", RULES)
def test_a_saved_circuit_learns_as_before(
    tmp_path: Path, rule: type[Plasticity], ending: str
) -> None:
    """Rule, name, places on the way and numbers come back; the bits of a run are equal."""
    circuit = network(rule(**{next(iter(rule.params)): 33.0}))
    path = tmp_path / f"c{ending}"
    circuit.save(path)
    again = nd.Circuit.from_file(path, [Cell, rule])
    before, after = (c.connections[1] for c in (circuit, again))
    rules = [one.plasticity.digest_input() for one in (before, after)]
    assert after.name == "learning" and rules[0] == rules[1]
    assert again.connections[0].plasticity is None
    assert again.uids.tolist() == circuit.uids.tolist()
    # a graph keeps the edges of a node together
    orders = [np.lexsort((*columns_of(one).values(),)) for one in (before, after)]
    for key, column in columns_of(before).items():
        assert np.array_equal(column[orders[0]], columns_of(after)[key][orders[1]])
    (v, synapses), (same, learned) = run(circuit), run(again)
    assert np.array_equal(v, same)
    ours, theirs = ({n: c[o] for n, c in one.items()} for one, o in
                    zip((synapses, learned), orders, strict=True))  # fmt: skip
    assert equal(ours, theirs)


def columns_of(links: nd.Connections) -> dict[str, Any]:
    """Return all numbers of connections."""
    data = {key: links.data[key] for key in ("dendritic", "back", "weight")}
    return {"source": links.source, "target": links.target, "delay": links.delay, **data}


def test_the_digest_tells_rules_apart() -> None:
    """Of another rule, another number of it, another place on the way."""
    digests = {network(rule()).digest for rule in RULES}
    digests |= {network(Pairs(up=0.06)).digest, network(Pairs(), seed=1).digest}
    assert len(digests) == len(RULES) + 2


def test_a_projection_in_a_file_keeps_its_rule(tmp_path: Path) -> None:
    """The rule is stored, not what it draws; columns begin when they are looked at."""
    cells = nd.Population(Cell, 20, name="cells")
    ends = "spike_state", "learned", cells, cells, nd.FixedProbability(0.3)
    numbers = {"delay": 5e-3, "dendritic": 2e-3, "back": 1e-3, "largest": 3.0}
    weight = nd.Uniform(0.2, 0.8)
    loop = nd.Projection(*ends, weight=weight, plasticity=Pairs(), name="loop", **numbers)
    circuit = nd.Circuit([cells], [loop], seed=4)
    circuit.save(tmp_path / "c.h5")
    again = nd.Circuit.from_file(tmp_path / "c.h5", [Cell, Pairs])
    assert again.digest == circuit.digest
    given = again.connections[0].projection
    assert (given.dendritic, given.back, given.largest) == (2e-3, 1e-3, 3.0)


def graph(edge: dict[str, Any] | None = None, rule: dict[str, Any] | None = None) -> nx.DiGraph:
    """Return two cells, the first of which learns to drive the second, and a rule."""
    made = nx.MultiDiGraph()
    made.add_node("a", **{"class": "Cell"})
    made.add_node("b", **{"class": "Cell"})
    made.add_node("stdp", **{"class": "Counting", **(rule or {})})
    first = {"variable": "spike_state", "plasticity": "stdp", "weight": 0.5, "delay": 3e-3}
    made.add_edge("a", "b", **{**first, **(edge or {})})
    return made


def test_attributes_of_edges_mean_what_they_say() -> None:
    """First values of variables, parts of the delay; what is left out has its default."""
    made = graph({"dendritic": 1e-3, "initlag": 7.0})
    made.add_edge("b", "a", variable="spike_state", plasticity="stdp", delay=2e-3, back=1e-3)
    (links,) = nd.Circuit.from_graph(made, [Cell, Counting]).connections
    assert links.name == "stdp" and links.plasticity.values["tau_plus"] == 20.0
    assert links.data["dendritic"].tolist() == [1e-3, 0.0]
    assert links.data["back"].tolist() == [1e-3, 1e-3]
    assert links.data["initlag"].tolist() == [7.0, 3.0]
    with nd.LPU(nd.Circuit.from_graph(made, [Cell, Counting]), DT, backend="cpu") as lpu:
        assert lpu["stdp"].get("lag").tolist() == [7.0, 3.0]
        assert lpu["stdp"].get("weight").tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("edge", "rule", "said"),
    [
        ({"plasticity": "stpd"}, {}, "edge 'a' -> 'b', attribute 'plasticity': .*'stpd'.*'stdp'"),
        ({"plasticity": "a"}, {}, "edge 'a' -> 'b'.*node 'a' is no rule of plasticity"),
        ({}, {"tau_plus": -1.0}, "node 'stdp' .Counting.: parameter 'tau_plus'.*got -1"),
        ({}, {"tau_plus": "soon"}, "node 'stdp' .Counting.: parameter 'tau_plus'.*number"),
        ({}, {"class": "Countnig"}, "node 'stdp'.*unknown model 'Countnig'"),
        ({"dendritic": 4e-3}, {}, "edge 'a' -> 'b', attribute 'dendritic'.*longer than the delay"),
        ({"dendritic": -1e-3}, {}, "edge 'a' -> 'b', attribute 'dendritic': must be at least 0"),
        (
            {"back": -1e-3},
            {},
            "edge 'a' -> 'b', attribute 'back': must be at least 0 s .got -0.001",
        ),
        ({"back": "late"}, {}, "edge 'a' -> 'b', attribute 'back'.*'late'"),
        ({"initlga": 1.0}, {}, "'initlga'.*no variable of synapses.*'initlag'"),
        ({"tau_plus": 5.0}, {}, "'tau_plus': must be one number of the rule"),
        ({"largest": 0.0}, {}, "'largest': must be finite and above 0"),
        ({"weight": 2.0}, {"class": "Pairs"}, "edge 'a' -> 'b', attribute 'weight'.*Pairs, 0 to 1"),
    ],
)
def test_what_is_wrong_in_a_graph_is_told(
    edge: dict[str, Any], rule: dict[str, Any], said: str
) -> None:
    """With node or edge, attribute, what was got and what is allowed."""
    with pytest.raises(nd.CircuitError, match=said) as told:
        nd.Circuit.from_graph(graph(edge, rule), [Cell, Counting, Pairs], name="g")
    assert str(told.value).startswith("g")


def test_an_attribute_that_looks_like_a_parameter_of_the_rule() -> None:
    """A warning tells that it is not used; parameters themselves are."""
    with pytest.warns(CircuitWarning, match="edges have no attribute 'w_mxa'.*'w_max'"):
        nd.Circuit.from_graph(graph({"w_mxa": 0.75}, {"class": "Pairs"}), [Cell, Pairs])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nd.Circuit.from_graph(graph({"w_max": 0.75}, {"class": "Pairs"}), [Cell, Pairs])


def test_edges_to_and_from_rules() -> None:
    """An edge to a rule feeds a modulator that it names; none leads away from it."""
    made = graph(rule={"class": "Rewarded"})
    made.add_edge("b", "stdp", receptor="dopamine", weight=1.0, delay=0.0)
    (links,) = nd.Circuit.from_graph(made, [Cell, Rewarded]).connections
    assert links.plasticity.released_by["dopamine"].tolist() == ["b"]
    for ends, data, said in (
        (("a", "stdp"), {"receptor": "dopamnie"}, "no modulator 'dopamnie'.*'dopamine'"),
        (("a", "stdp"), {}, "edge 'a' -> 'stdp': 'receptor' must name a modulator of Rewarded"),
        (("stdp", "a"), {}, "edge 'stdp' -> 'a': a rule of plasticity sends nothing"),
        (("a", "stdp"), {"receptor": "dopamine", "delay": 2e-3}, "'delay': a dose .*got 0.002"),
        (("a", "stdp"), {"receptor": "dopamine", "weight": "0.5"}, "'weight': all doses .*'0.5'"),
    ):
        bad = made.copy()
        bad.add_edge(*ends, **data)
        with pytest.raises(nd.CircuitError, match=said):
            nd.Circuit.from_graph(bad, [Cell, Rewarded])


class Plain(nd.NDComponent):
    """Takes spikes without weights, and has none of its own."""

    accesses = ("spike_state", nd.Weighted("spike_state", "weighted"))
    updates = ("V",)
    update = "V = spike_state + weighted;"


def linked(access: str, rule: Any, **data: Any) -> nd.Circuit:
    """Return a cell that is connected to a component without spikes."""
    groups = [(Cell, 1, {}, ["a"]), (Plain, 1, {}, ["b"])]
    ends = np.array([0]), np.array([1])
    links = nd.Connections("spike_state", access, *ends, DT, data, plasticity=rule, name="x")
    return nd.Circuit.from_arrays(groups, [links], name="t")


@pytest.mark.parametrize(
    ("access", "rule", "said"),
    [
        ("spike_state", Counting(), "'spike_state' of Plain takes no weights.*learned by Counting"),
        ("weighted", Counting(), "Counting has a text 'on_spike'.*Plain updates no events"),
        ("weighted", Counting, "'plasticity': must be a rule with its numbers"),
        ("weighted", "stdp", "'plasticity': must be a rule with its numbers"),
    ],
)
def test_targets_that_cannot_learn(access: str, rule: Any, said: str) -> None:
    """A rule without 'on_spike' takes targets that never spike."""
    with pytest.raises(nd.CircuitError, match=f"connections 'x'.*{said}"):
        linked(access, rule)


def test_names_of_what_learns_are_unique() -> None:
    """They are how it is read."""
    circuit = network(Pairs())
    fixed, learns = circuit.connections
    groups = [(g.model, g.count, {}, g.uids.tolist()) for g in circuit.groups]
    with pytest.raises(nd.CircuitError, match="connections 'learning': others that learn have"):
        nd.Circuit.from_arrays(groups, [fixed, learns, learns])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"dendritic": 6e-3}, "'dendritic' must not be longer than the delay.*0.006 s.*0.005 s"),
        ({"back": -1e-3}, "'back' must be finite and at least 0 .got -0.001"),
        ({"largest": -1.0}, "circuit: connections 'loop': 'largest' must be finite and above 0"),
        ({"dendritic": "1 ms"}, "'dendritic' must be a finite number"),
        ({"weight": nd.Uniform(0.5, 1.5)}, "bounds of Pairs, 0 to 1 .got 0.5 to 1.5"),
    ],
)
def test_projections_that_cannot_learn(more: dict[str, Any], said: str) -> None:
    """Told without drawing."""
    cells = nd.Population(Cell, 20, name="cells")
    given = {"weight": 0.5, "delay": 5e-3, "plasticity": Pairs(), "name": "loop", **more}
    ends = "spike_state", "learned", cells, cells, nd.FixedProbability(0.3)
    with pytest.raises(nd.CircuitError, match=said):
        nd.Circuit([cells], [nd.Projection(*ends, **given)], seed=4)


def test_times_of_what_does_not_learn_are_not_used() -> None:
    """A warning tells."""
    circuit = network(Pairs())
    fixed, learns = circuit.connections
    ends = fixed.source, fixed.target
    data = {"weight": 0.5, "dendritic": 1e-3}
    groups = [(g.model, g.count, {}, g.uids.tolist()) for g in circuit.groups]
    plain = nd.Connections("spike_state", "fixed", *ends, 2e-3, data)
    with pytest.warns(CircuitWarning, match="'dendritic' is not used, as they do not learn"):
        nd.Circuit.from_arrays(groups, [plain, learns])
    cells = nd.Population(Cell, 20, name="cells")
    links = nd.Projection(
        "spike_state", "learned", cells, cells, nd.AllToAll(), weight=0.5, dendritic=1e-3, name="a"
    )
    with pytest.warns(CircuitWarning, match="connections 'a': 'dendritic' is not used"):
        nd.Circuit([cells], [links])


def test_edges_of_a_table_learn(tmp_path: Path) -> None:
    """Columns say where the synapses are; one that lies behind the delay is told with its edge."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "e.csv"
    path.write_text("pre,post,w,d,f\n1,2,0.5,3.0,1.0\n2,1,0.25,4.0,2.0\n")
    given = {"model": Cell, "source": "pre", "target": "post", "weight": "w", "delay": "d"}
    given |= {"delay_scale": 1e-3, "plasticity": Counting()}
    accessed = {**given, "receptor": Cell.accesses[0].receptor}
    circuit = nd.Circuit.from_tables(path, **accessed, dendritic="f", back=0.5)
    (links,) = circuit.connections
    assert isinstance(links.plasticity, Counting) and links.name == "spike_state -> learned"
    assert np.allclose(links.data["dendritic"], [1e-3, 2e-3])
    assert links.data["back"] == pytest.approx(5e-4)
    with pytest.raises(nd.CircuitError, match=r"edge '2' -> '1', attribute 'dendritic'.*delay"):
        nd.Circuit.from_tables(path, **{**accessed, "delay": 1.5}, dendritic="f")
    with pytest.raises(nd.CircuitError, match="no column 'g'"):
        nd.Circuit.from_tables(path, **accessed, dendritic="g")


TABLE = """pre,post,w,by,rate,high,start
1,2,0.5,stdp,0.02,0.9,
2,1,0.25,,,,
1,3,0.5,stdp,,,
3,1,0.5,slow,0.03,,7
2,3,0.1,slow,,,
"""


def test_rules_by_a_column_of_a_table(tmp_path: Path) -> None:
    """With bounds, parameters and first values of each edge; the same circuit as a graph."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "e.csv"
    path.write_text(TABLE)
    given: dict[str, Any] = {"model": Cell, "source": "pre", "target": "post", "weight": "w"}
    given |= {"receptor": Cell.accesses[0].receptor, "delay": 3e-3, "dendritic": 1e-3}
    given |= {"plasticity_column": "by"}
    rules = {"stdp": Pairs(), "slow": Counting(), "unused": Pairs()}
    columns = {"up": "rate", "w_max": "high", "initlag": "start"}
    circuit = nd.Circuit.from_tables(path, **given, plasticity=rules, synapse_params=columns)
    plain, stdp, slow = circuit.connections
    assert plain.plasticity is None and [*plain.data] == ["weight"] and len(plain) == 1
    assert (stdp.name, stdp.plasticity, slow.name) == ("stdp", rules["stdp"], "slow")
    assert stdp.data["up"].tolist() == [0.02, 0.05] and stdp.data["w_max"].tolist() == [0.9, 1.0]
    assert slow.data["initlag"].tolist() == [7.0, 3.0]
    assert slow.data["weight"].tolist() == [0.5, 0.1] and slow.data["dendritic"] == 1e-3
    circuit.save(tmp_path / "g.gexf")
    for one in (circuit, nd.Circuit.from_file(tmp_path / "g.gexf", [Cell, Pairs, Counting])):
        with nd.LPU(one, DT, backend="cpu") as lpu:
            pairs = zip(lpu["stdp"].get("w_max"), lpu["stdp"].get("up"), strict=True)
            assert sorted(pairs) == [(0.9, 0.02), (1.0, 0.05)]
            assert sorted(lpu["slow"].get("lag")) == [3.0, 7.0]
    for change, said in (
        (
            {"plasticity": {"stdp": Pairs(), "fast": Counting()}},
            r"column 'by', row 4: must be one of 'stdp', 'fast', or empty .got 'slow'",
        ),
        ({"plasticity": Pairs()}, "plasticity_column asks for rules by name"),
        ({"plasticity_column": None}, "name their column with plasticity_column="),
        ({"synapse_params": {"uup": "rate"}}, "synapse_params: no rule has a parameter 'uup'"),
        ({"synapse_params": {"up": "by"}}, "column 'by': must hold numbers"),
        ({"synapse_params": {"w_max": "rate"}}, r"edge '1' -> '2', attribute 'weight'.*to 0\.02"),
    ):
        wrong = {**given, "plasticity": rules, "synapse_params": columns, **change}
        with pytest.raises(nd.CircuitError, match=said):
            nd.Circuit.from_tables(path, **wrong)
