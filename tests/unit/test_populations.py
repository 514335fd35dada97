"""Populations: declared, sliced, connected, and found again in the circuit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuit.uids import uid_list
from neurodriver.errors import TargetError

NEURON = {
    "resting_potential": -65.0,
    "threshold": -50.0,
    "reset_potential": -65.0,
    "time_constant": 10.0,
    "capacitance": 250.0,
    "tau_exc": 0.5,
    "tau_inh": 0.5,
    "refractory_period": 2.0,
}
MODEL = "LeakyIAFExpCurrent"
GATED = {k: v for k, v in NEURON.items() if k != "time_constant"} | {"leak_conductance": 10.0}


def population(count: int = 8, name: str = "exc", **params: object) -> nd.Population:
    return nd.Population(MODEL, count, name=name, **{**NEURON, **params})


def two(seed: int = 0, **params: object) -> tuple[nd.Circuit, nd.Population, nd.Population]:
    exc, inh = population(**params), population(3, "inh")
    return nd.Circuit([exc, inh], seed=seed), exc, inh


def test_two_populations_of_a_model_are_one_group() -> None:
    circuit, exc, inh = two(tau_exc=np.arange(1.0, 9.0), initV=-60.0)
    (group,) = circuit.groups
    assert group.count == 11
    assert circuit.uids.tolist() == [f"exc/{i}" for i in range(8)] + [f"inh/{i}" for i in range(3)]
    assert group.params["tau_exc"].tolist() == [*range(1, 9), 0.5, 0.5, 0.5]
    assert group.params["threshold"].shape == ()  # the same for all
    assert group.params["initV"][:8].tolist() == [-60.0] * 8
    assert np.isnan(group.params["initV"][8:]).all()  # not given there
    assert {n: p.numbers.tolist() for n, p in circuit.populations.items()} == {
        "exc": [*range(8)],
        "inh": [8, 9, 10],
    }
    assert exc.numbers_in(circuit).tolist() == [*range(8)]
    assert inh[1:].numbers_in(circuit).tolist() == [9, 10]


def test_models_stand_in_the_order_of_their_first_population() -> None:
    source = nd.Population("PoissonSource", 2, name="drive", rate=10.0)
    circuit = nd.Circuit([population(2, "a"), source, population(3, "b")])
    assert [(g.name, g.count) for g in circuit.groups] == [(MODEL, 5), ("PoissonSource", 2)]
    assert circuit.populations["b"].numbers.tolist() == [2, 3, 4]
    assert circuit.populations["drive"].numbers.tolist() == [5, 6]
    assert circuit.populations["drive"].model.__name__ == "PoissonSource"


def test_names_of_a_mapping_and_names_by_number() -> None:
    a, b, c = (population(2, name) for name in ("", "", "mine"))
    with pytest.raises(nd.CircuitError, match=r"no name yet.*put it into a Circuit"):
        _ = a.uids
    circuit = nd.Circuit({"left": a, "": b, "mine": c})
    assert list(circuit.populations) == ["left", f"{MODEL}_0", "mine"]
    assert a.uids.tolist() == ["left/0", "left/1"]
    assert nd.Circuit([a, b]).uids.tolist()[2:] == [f"{MODEL}_0/0", f"{MODEL}_0/1"]
    with pytest.raises(nd.CircuitError, match="has the name 'left', so it cannot be 'right'"):
        nd.Circuit({"right": a})


def test_uids_of_the_user() -> None:
    one = population(2, "a", uids=["x", "y"])
    circuit = nd.Circuit([one])
    assert circuit.uids.tolist() == ["x", "y"]
    assert one[1].uids.tolist() == ["y"]
    assert one.numbers_in(circuit).tolist() == [0, 1]


def test_parts_of_a_population() -> None:
    exc = population(10)
    assert exc[3].uids.tolist() == ["exc/3"]
    assert exc[-1].index.tolist() == [9]
    assert exc[2:8:3].uids.tolist() == ["exc/2", "exc/5"]
    assert exc[np.arange(10) > 7].index.tolist() == [8, 9]
    assert exc[[4, 1]].uids.tolist() == ["exc/4", "exc/1"]
    assert exc[5:][1:3].index.tolist() == [6, 7]
    assert exc[5:][1:3].name == "exc[5:][1:3]"
    assert len(exc) == exc.count == 10
    assert len(exc[:0]) == 0
    assert exc[4:6].parent is exc
    assert list(exc[:2]) == ["exc/0", "exc/1"]
    assert repr(exc[:4]) == f"<PopulationView <Population exc: 10 {MODEL}>[:4]: 4>"


@pytest.mark.parametrize(
    ("index", "says"),
    [
        (10, "from -10 to 9.*got 10"),
        (-11, "got -11"),
        ([1, 10], "got 10"),
        (1.5, "got 1.5"),
        ("a", "got 'a'"),
        (True, "got True"),
        (None, "got None"),
        ([True, False], "mask of 10 booleans.*bool of shape"),
        ([[1, 2]], "int64 of shape"),
        ([1, [2]], "got"),
        ([1, 2, 1], "names 1 twice"),
        ([9, -1], "names 9 twice"),
        (slice(0.5, 2), "a slice of whole numbers"),
    ],
)
def test_indices_that_are_none(index: object, says: str) -> None:
    with pytest.raises(nd.CircuitError, match=says):
        population(10)[index]


def test_draws_depend_on_seed_and_names_alone() -> None:
    law = nd.Normal(10.0, 1.0, low=5.0)
    circuit, *_ = two(seed=5, time_constant=law, capacitance=nd.Uniform(200.0, 300.0))
    columns = circuit.groups[0].params
    drawn = columns["time_constant"][:8]
    assert len(set(drawn.tolist())) == 8
    assert ((drawn > 5.0) & (drawn < 18.0)).all()
    assert ((columns["capacitance"][:8] > 200.0) & (columns["capacitance"][:8] < 300.0)).all()
    assert columns["capacitance"][8:].tolist() == [250.0] * 3
    # whatever else there is, and in whatever order; a longer one begins alike
    longer = nd.Circuit([population(2, "first"), population(20, time_constant=law)], seed=5)
    numbers = longer.populations["exc"].numbers
    assert longer.groups[0].params["time_constant"][numbers][:8].tolist() == drawn.tolist()
    for other in (two(seed=6, time_constant=law)[0], two(seed=5, refractory_period=law)[0]):
        params = other.groups[0].params
        for name in ("time_constant", "refractory_period"):
            assert not np.isin(np.broadcast_to(params[name], 11)[:8], drawn).any()
    renamed = nd.Circuit([population(8, "other", time_constant=law)], seed=5)
    assert not np.isin(renamed.groups[0].params["time_constant"], drawn).any()


def test_what_is_drawn_has_its_law() -> None:
    circuit = nd.Circuit([population(20_000, initV=nd.Normal(-60.0, 2.0))])
    drawn = circuit.groups[0].params["initV"]
    assert abs(drawn.mean() + 60.0) < 0.1
    assert abs(drawn.std() - 2.0) < 0.1


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"tau_ex": 1.0}, "no parameter 'tau_ex'.*did you mean 'tau_exc'"),
        ({"colour": 1.0}, "no parameter 'colour'; there are .*threshold"),
        ({"V": 1.0}, "no parameter 'V'; the first value of a state is 'initV'"),
        ({"tau_exc": [1.0, 2.0]}, r"expected a number or 8 of them, got shape \(2,\)"),
        ({"tau_exc": np.nan}, "'tau_exc': must be finite and positive.*nan ms"),
        ({"tau_exc": np.inf}, "'tau_exc': must be finite"),
        ({"tau_exc": -1.0}, "must be finite and positive.*-1 ms"),
        ({"tau_exc": True}, "tau_exc: must be numbers.*got True"),
        ({"tau_exc": "1"}, "tau_exc: must be numbers.*got '1'"),
        ({"tau_exc": None}, "tau_exc: must be numbers.*got None"),
        ({"tau_exc": [[1.0] * 8]}, "got shape"),
        ({"tau_exc": nd.Normal(1.0, 1.0)}, "tau_exc must be positive.*give bounds"),
        ({"tau_exc": nd.Normal(1.0, -1.0)}, "tau_exc: .*'sd' must be finite and at least 0"),
        ({"tau_exc": nd.Normal("a", 1.0)}, "tau_exc: .*mean must be numbers"),
        ({"tau_ex": nd.Normal(1.0, 1.0)}, "no parameter 'tau_ex'.*did you mean 'tau_exc'"),
        ({"initV": np.inf}, "'initV': must be finite"),
        ({"uids": ["a"]}, r"expected 8 uids, got \(1,\)"),
        ({"columns": {"side": ["left"]}}, r"column 'side': expected one value or 8, got shape"),
        ({"columns": {"side": object()}}, "column 'side': must be text, numbers or booleans"),
        ({"columns": {"population": "x"}}, "'population' is no column here"),
        ({"columns": ["side"]}, "columns must be a mapping"),
        ({"columns": {"": 1}}, "the name of a column must be a text of 1 to 256"),
        ({"columns": {3: 1}}, "column '3': the name of a column must be a text"),
    ],
)
def test_parameters_that_are_wrong(params: dict[str, object], says: str) -> None:
    with pytest.raises(nd.CircuitError, match=f"(?s)population 'exc'.*{says}"):
        population(**params)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(nd.CircuitError, match="3 faults") as caught:
        population(tau_exc=[-1.0], x=1.0, tau_inh="a")
    assert "no parameter 'x'" in str(caught.value)
    with pytest.raises(nd.CircuitError, match=r"^population 'exc': .*tau_exc: must be numbers"):
        population(tau_exc="x")  # and nothing more
    with pytest.raises(nd.CircuitError, match="3 faults"):
        population(tau_exc=-1.0, threshold=[np.nan, *[1.0] * 6, np.inf])
    with pytest.raises(nd.CircuitError, match=r"parameter 'threshold' .mV. is missing"):
        nd.Population(MODEL, 3, resting_potential=-65.0)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("LeakyIAFExpCurent", 1), "did you mean 'LeakyIAFExpCurrent'"),
        ((int, 1), "expected an NDComponent subclass"),
        ((3, 1), "expected an NDComponent subclass"),
        ((MODEL, 0), "count must be a whole number, at least 1"),
        ((MODEL, True), "count must be a whole number"),
        ((MODEL, 2.0), "count must be a whole number"),
        ((MODEL, "2"), "count must be a whole number"),
    ],
)
def test_what_is_no_population(given: tuple[object, object], says: str) -> None:
    with pytest.raises(nd.CircuitError, match=says):
        nd.Population(*given, **NEURON)


@pytest.mark.parametrize("name", [3, None, "a\0b", "x" * 201, b"a"])
def test_names_that_are_none(name: object) -> None:
    with pytest.raises(nd.CircuitError, match="the name of a population must be a text"):
        nd.Population(MODEL, 1, name=name, **NEURON)


def test_what_makes_no_circuit() -> None:
    one = population()
    for wrong in (one, 3, None, "exc", [one, "inh"], {"exc": 3}):
        with pytest.raises(nd.CircuitError, match=r"[pP]opulation.*use Circuit.from_arrays"):
            nd.Circuit(wrong)
    with pytest.raises(nd.CircuitError, match=r"populations 0 .* and 1 .* have the name 'exc'"):
        nd.Circuit([one, population(2)])
    with pytest.raises(
        nd.CircuitError, match=r"is given several times: 0 .* and 1 .*; give it once"
    ):
        unnamed = population(2, "")
        nd.Circuit([unnamed, unnamed])
    with pytest.raises(nd.CircuitError, match="the circuit is empty"):
        nd.Circuit([])
    with pytest.raises(nd.CircuitError, match="seed must be a whole number"):
        nd.Circuit([one], seed=1.5)
    with pytest.raises(nd.CircuitError, match="expected Connections or a Projection"):
        nd.Circuit([one], ["exc"])
    with pytest.raises(nd.CircuitError, match="give the projections as a list"):
        nd.Circuit([one], nd.Projection(one, one, nd.AllToAll(), "exc"))
    with pytest.raises(nd.CircuitError, match="uids must be unique"):
        nd.Circuit([population(2, "a", uids=["x", "y"]), population(1, "b", uids=["x"])])


def test_projections_between_populations_are_those_between_ranges() -> None:
    exc, inh = population(), population(3, "inh")
    rule = nd.FixedProbability(0.5)
    parts = {"weight": nd.Uniform(1.0, 2.0), "delay": 1e-3}
    made = nd.Circuit(
        {"exc": exc, "inh": inh},
        [
            nd.Projection(exc, inh, rule, receptor="exc", name="p", **parts),
            nd.Projection(exc[2:5], "inh", rule, "inh", name="q", variable="spike_state", **parts),
            nd.Projection("spike_state", "exc", inh, exc[:4], rule, name="r", **parts),
        ],
        seed=2,
    )
    ends = [((0, 8), (8, 11)), ((2, 5), (8, 11)), ((8, 11), (0, 4))]
    given = [
        nd.Projection("spike_state", access, *pair, rule, name=name, **parts)
        for access, pair, name in zip(("exc", "inh", "exc"), ends, "pqr", strict=True)
    ]
    names = [*exc.uids, *inh.uids]
    shipped = exc.model
    same = nd.Circuit.from_arrays([(shipped, 11, NEURON, names)], given, seed=2)
    assert made.digest == same.digest
    for a, b in zip(made.connections, same.connections, strict=True):
        assert len(a) > 0
        assert a.source.tolist() == b.source.tolist()
        assert a.data["weight"].tolist() == b.data["weight"].tolist()


def test_the_name_of_a_projection_is_made_of_its_populations() -> None:
    exc, inh = population(), population(3, "inh")
    links = nd.Projection(exc[:4], inh, nd.AllToAll(), "exc", weight=1.0)
    circuit = nd.Circuit([exc, inh], [links])
    assert circuit.connections[0].projection.label == "exc[:4] -> inh, exc"
    with pytest.raises(nd.CircuitError, match="two projections have this name"):
        nd.Circuit([exc, inh], [links, links])


def test_the_variable_is_found() -> None:
    cells = nd.Population("LeakyIAFDelta", 3, name="cells", **_defaults("LeakyIAFDelta"))
    circuit = nd.Circuit([cells], [nd.Projection(cells, cells, nd.OneToOne(), weight=0.5)])
    (links,) = circuit.connections
    assert links.variable == "spike_state"
    assert links.access in {a.name for a in cells.model.accesses}
    assert links.source.tolist() == [0, 1, 2]


def _defaults(model: str) -> dict[str, float]:
    from neurodriver.model.library import shipped

    rules = shipped()[model].params.items()
    given = {"resting_potential": -65.0, "reset_potential": -65.0, "threshold": -50.0}
    return {n: given.get(n, rule.harmless) for n, rule in rules if rule.default is None}


@pytest.mark.parametrize(
    ("source", "target", "more", "says"),
    [
        (..., "inh", {}, "could carry spike_state -> exc, spike_state -> inh; say .*'receptor'"),
        (..., "inh", {"receptor": "exx"}, "'receptor' is 'exx', but .* has I, exc, inh"),
        (
            ...,
            "inh",
            {"receptor": "exc", "variable": "spikes"},
            "the source .* updates spike_state, V",
        ),
        (..., "inh", {"variable": "spikes"}, "'variable' is 'spikes', but .* updates spike_state"),
        (..., "inh", {"receptor": "I"}, "nothing flows from source to target: sources update"),
        ("exx", "inh", {"receptor": "exc"}, "no group is of 'exx'.*but exc, inh"),
        (3, "inh", {"receptor": "exc"}, "'source' must be a population, a range"),
        (..., [1, 2, 3], {"receptor": "exc"}, "'target' must be a population, a range"),
    ],
)
def test_projections_that_fit_nothing(
    source: object, target: object, more: dict[str, str], says: str
) -> None:
    exc, inh = population(), population(3, "inh")
    given = nd.Projection(exc if source is ... else source, target, nd.AllToAll(), **more)
    with pytest.raises(nd.CircuitError, match=says):
        nd.Circuit([exc, inh], [given])


def test_ends_that_are_no_neighbours() -> None:
    exc, inh = population(), population(3, "inh")
    for part in (exc[[0, 2]], exc[::-1], exc[np.arange(8) % 2 == 0]):
        given = nd.Projection(part, inh, nd.AllToAll(), "exc")
        with pytest.raises(nd.CircuitError, match=r"must be neighbours.*give Connections"):
            nd.Circuit([exc, inh], [given])
    with pytest.raises(nd.CircuitError, match=r"'source': exc.*has no components"):
        nd.Circuit([exc, inh], [nd.Projection(exc[:0], inh, nd.AllToAll(), "exc")])
    with pytest.raises(nd.CircuitError, match="there is no component 'other/0' and 1 more"):
        other = population(2, "other")
        nd.Circuit([exc, inh], [nd.Projection(other, inh, nd.AllToAll(), "exc")])


def test_rules_and_numbers_of_projections_are_checked() -> None:
    exc = population()
    for given, says in (
        (nd.Projection(exc, exc, 0.1, "exc"), "'rule' must be a rule"),
        (nd.Projection(exc, exc, nd.AllToAll(), "exc", weight=np.nan), "'weight': must be a"),
        (nd.Projection(exc, exc, nd.AllToAll(), "exc", delay=-1.0), "'delay' must be"),
        (nd.Projection(exc, exc, nd.AllToAll(), 3), "'receptor' must be a text .got 3"),
        (nd.Projection(exc, exc, nd.AllToAll(), variable=3), "'variable' must be a text"),
        (nd.Projection(exc, exc, nd.AllToAll(), "exc", name=None), "'name' must be a text"),
    ):
        with pytest.raises(nd.CircuitError, match=says):
            nd.Circuit([exc], [given])


def test_uids_of_whatever_names_components() -> None:
    circuit, exc, inh = two()
    assert uid_list(exc[:2]) == ["exc/0", "exc/1"]
    assert uid_list(circuit.populations["inh"][1]) == ["inh/1"]
    assert uid_list([exc[1], inh, "more"]) == ["exc/1", "inh/0", "inh/1", "inh/2", "more"]
    assert uid_list(circuit.groups[0])[-1] == "inh/2"
    assert uid_list(np.array(["a", "b"])) == ["a", "b"]
    assert uid_list([b"a", 3]) == ["a", "3"]
    assert uid_list("ab") == ["ab"]
    assert uid_list(None) == []
    with pytest.raises(nd.NeurodriverError, match=r"exc.*\[:0\].*has no components"):
        uid_list(exc[:0])


def test_inputs_and_recorders_take_populations() -> None:
    circuit, exc, inh = two()
    given = nd.PoissonInput("I", exc[:3], 20.0)
    assert given.targets == [("I", ("exc/0", "exc/1", "exc/2"))]
    assert nd.StepInput("I", circuit.populations["inh"], 1.0).targets[0][1] == tuple(inh.uids)
    recorder = nd.MemoryRecorder([("V", exc[:2]), ("spike_state", inh)])
    assert recorder.record[0][1].tolist() == ["exc/0", "exc/1"]
    assert recorder.record[1][1].tolist() == inh.uids.tolist()
    with pytest.raises(nd.NeurodriverError, match="has no components"):
        nd.MemoryRecorder([("V", circuit.select(population="nobody"))])


@pytest.mark.parametrize("asked", [["V"], "V", [("V", "exc")], [("V", ["exc", "inh"])]])
def test_recorders_take_names(asked: Any) -> None:
    """The name of a variable means all that have it, the name of a population its components."""
    exc, inh = population(), population(3, "inh")
    recorder = nd.MemoryRecorder(asked)
    with nd.LPU(nd.Circuit([exc, inh]), 1e-4, recorders=[recorder]) as lpu:
        lpu.run(3)
    both = [*exc.uids, *inh.uids]
    assert recorder.recording.V.uids == (both if asked != [("V", "exc")] else [*exc.uids])


def test_a_component_is_meant_before_a_population() -> None:
    """Where both are called so."""
    exc = population()
    one = nd.Circuit([nd.Population(exc.model, 2, uids=["a", "exc"], name="exc", **NEURON)])
    with nd.LPU(one, 1e-4) as lpu:
        assert lpu.run(3, record=[("V", "exc")]).recording.V.uids == ["exc"]


def test_one_fault_of_a_distribution_is_told_once() -> None:
    with pytest.raises(nd.CircuitError, match="'sd' must be finite") as told:
        population(initV=nd.Normal(-50.0, -60.0))
    assert "the bounds leave" not in str(told.value)
    with pytest.raises(nd.CircuitError, match=r"at least 0 \(got -3\)"):
        exc = nd.Population("LeakyIAFExpConductance", 2, **GATED)
        nd.Circuit([exc], [nd.Projection(exc, exc, nd.AllToAll(), "inh", weight=-3.0)])


def test_what_can_be_recorded_is_listed() -> None:
    """Variables, and states that a model does not update: they are recorded all the same."""
    with nd.LPU(nd.Circuit([population()]), 1e-4) as lpu:
        assert lpu.run(3, record=["I_exc"]).recording.I_exc.shape == (3, 8)
        with pytest.raises(AttributeError, match="attribute 'V'; recorded: I_exc"):
            _ = lpu.recording.V
        with pytest.raises(nd.NeurodriverError, match=r"mean 'I_exc'.*states I_exc, I_inh,"):
            lpu.run(3, record=["I_ex"])


def test_inputs_take_populations_and_not_their_names() -> None:
    """An input does not know the circuit when it is made; the error says what to give."""
    exc = population()
    with pytest.raises(TargetError, match="'exc'; it names a population: give the object"):
        nd.LPU(nd.Circuit([exc]), 1e-4, nd.StepInput("I", "exc", 1.0))


def test_populations_of_other_circuits() -> None:
    model = population().model
    plain = nd.Circuit.from_arrays([(model, 4, NEURON, None)])
    assert plain.populations[MODEL].numbers.tolist() == [0, 1, 2, 3]
    labels = ["a", "b", "a", ""]
    columns = {"population": labels}
    named = nd.Circuit.from_arrays([(model, 4, NEURON, None, columns)])
    found = {n: p.numbers.tolist() for n, p in named.populations.items()}
    assert found == {"a": [0, 2], "b": [1], MODEL: [3]}
    assert named.digest == plain.digest  # they change nothing that is computed


def test_a_circuit_goes_to_another_process() -> None:
    circuit, exc, _ = two()
    assert len(circuit.populations) == 2
    again = pickle.loads(pickle.dumps(circuit))
    assert again.digest == circuit.digest
    assert again.populations["exc"].uids.tolist() == exc.uids.tolist()


def test_wrong_arguments_of_a_projection() -> None:
    exc = population()
    with pytest.raises(TypeError, match=r"Projection\(\).*missing.*'rule'"):
        nd.Projection(exc, exc)
    with pytest.raises(TypeError, match=r"Projection\(\).*'weigth'"):
        nd.Projection(exc, exc, nd.AllToAll(), weigth=1.0)
    with pytest.raises(TypeError, match=r"Projection\(\).*missing"):
        nd.Projection("spike_state", "exc", nd.AllToAll)


def test_connections_between_uids() -> None:
    """They are those between numbers of components; an unknown uid is told of with a near one."""
    exc, inh = population(), population(3, "inh")

    def joined(source: Any, target: Any) -> nd.Circuit:
        links = nd.Connections("spike_state", "exc", source, target, 1e-3, {"weight": 3.0})
        return nd.Circuit([exc, inh], [links])

    named = joined(["exc/1", "inh/2"], np.array(["inh/0", "exc/0"]))
    assert named.digest == joined([1, 10], [8, 0]).digest
    with pytest.raises(nd.CircuitError, match=r"target: no component 'inh/3' .did you mean 'inh/"):
        joined(["exc/1"], ["inh/3"])


def test_wrong_arguments_of_connections() -> None:
    for given, more, says in (
        (("s", "exc", [0], [1]), {"weight": 3.0}, "data={'weight': 3.0}"),
        (("s", "exc", [0], [1]), {"dalay": 3.0}, "mean 'delay'"),
        (("s", "exc", [0], [1], 1e-3, 3.0), {}, "data must be a mapping"),
    ):
        with pytest.raises(nd.NeurodriverError, match=says):
            nd.Connections(*given, **more)
    exc = population()
    for name, says in (
        ("weight", r"\(8, 8\).*nd.Connections, or set by lpu"),
        ("delay", r"nd.Con"),
    ):
        with pytest.raises(nd.CircuitError, match=says):
            some = {name: np.ones((8, 8))}
            nd.Circuit([exc], [nd.Projection(exc, exc, nd.AllToAll(), "exc", **some)])


def test_a_population_that_is_not_there() -> None:
    circuit, *_ = two()
    assert circuit.populations.get("ex") is None
    with pytest.raises(nd.CircuitError, match="no population 'nobody'; there are exc, inh"):
        _ = circuit.populations["nobody"]
    with pytest.raises(KeyError, match=r"'excc'.*did you mean 'exc'"):
        _ = circuit.populations["excc"]


def test_quantities_of_parameters_weights_and_delays() -> None:
    pint = pytest.importorskip("pint")
    q = pint.UnitRegistry().Quantity
    law = nd.Normal(q(10.0, "ms"), q(1000.0, "us"), low=q(0.005, "s"))
    exc = population(threshold=q(-0.05, "V"), time_constant=law)
    plain = population(time_constant=nd.Normal(10.0, 1.0, low=5.0))
    given = {"weight": 3.0, "delay": q(1.5, "ms")}
    links = nd.Projection(exc, exc, nd.OneToOne(), "exc", **given)
    made = nd.Circuit([exc], [links])
    same = nd.Circuit([plain])
    assert made.groups[0].params["threshold"] == -50.0
    drawn = made.groups[0].params["time_constant"]
    assert drawn.tolist() == same.groups[0].params["time_constant"].tolist()
    assert made.connections[0].delay == 1.5e-3
    for wrong in (q(1.0, "mV"), nd.Uniform(q(1.0, "mV"), q(2.0, "mV"))):
        with pytest.raises(
            nd.CircuitError, match=r"^population .*time_constant.*: must be a quantity in ms"
        ):
            population(time_constant=wrong)
    with pytest.raises(nd.CircuitError, match=r"'delay'.*millivolt"):
        wrong_delay = nd.Projection(exc, exc, nd.OneToOne(), "exc", delay=q(1.0, "mV"))
        nd.Circuit([exc], [wrong_delay])


def test_names_of_some_of_the_components_are_made_when_asked_for() -> None:
    """Also of some of some; a part of a large circuit keeps no name for each neuron."""
    cells = [
        nd.Population("LeakyIAFShiu", count, name=name) for name, count in (("a", 5), ("b", 9))
    ]
    (group,) = nd.Circuit(cells).groups
    rows = np.array([1, 4, 5, 13])
    some = group.taken(rows)
    assert list(some.columns["population"]) == ["a", "a", "b", "b"]
    assert list(some.taken(np.array([2, 0])).columns["population"]) == ["b", "a"]
    assert not isinstance(some.columns, dict) and list(some.columns) == ["population"]
