"""LPUs of one Manager draw independent numbers; parts of a circuit draw those of the whole."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from cutting import assert_equal_bits, managed, random_parts, whole, with_crossings
from noisy import (
    NEURONS,
    RECORD,
    Values,
    assert_independent,
    digest,
    echoed,
    echoes,
    noisy_arrays,
    noisy_graph,
    random_inputs,
    side_by_side,
)
from support import DT, assert_same_bits, model, simulate

from neurodriver import (
    LPU,
    Circuit,
    CircuitError,
    FixedProbability,
    Manager,
    Projection,
    RecordedInput,
)
from neurodriver.circuit.cut import cut
from neurodriver.errors import CircuitWarning

STEPS = 400
MAKE: dict[str, Callable[[], Circuit]] = {"uids": noisy_graph, "numbers": noisy_arrays}

BEFORE = {
    ("uids", "float64"): "3bf35a7a9cec0221a46de7e4dbdb08bea4bf1e3550049c0478f5ec6ef6fe6da6",
    ("uids", "float32"): "85ec821389cc6619575a717f25799e9451ce691d07eb0e13b962bb1d71abab24",
    ("numbers", "float64"): "682d1b11fe1b2f73efdac5e6225110240c7bd68251ef51204e1421b95f3b6cd6",
    ("numbers", "float32"): "9cce72ba9f0b839300f30609810809762696cc3de62092d1ec68eebb93c10fc1",
}
"""What the circuits with their inputs gave before there were namespaces."""


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """Nothing warns unless a test expects it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", CircuitWarning)
        yield


def lone(circuit: Circuit, steps: int = STEPS, **settings: object) -> Values:
    """Return what an LPU without a Manager gives."""
    return simulate(circuit, DT, steps, random_inputs(circuit), RECORD, **settings)


@pytest.mark.parametrize(("name", "dtype"), BEFORE)
def test_a_lone_lpu_draws_what_it_always_did(name: str, dtype: str) -> None:
    """The empty namespace changes no bit, whether it is given or not."""
    for circuit in (MAKE[name](), MAKE[name]().in_random_namespace("")):
        assert digest(lone(circuit, seed=7, dtype=dtype)) == BEFORE[name, dtype]


@pytest.mark.parametrize("name", MAKE)
def test_models_of_two_lpus_are_independent(name: str) -> None:
    """The same circuit in two LPUs has other numbers in each, and others than alone."""
    steps, circuit = 3000, MAKE[name]()
    found = side_by_side({"left": (circuit, []), "right": (MAKE[name](), [])}, steps)
    alone = simulate(circuit, DT, steps, record=RECORD)
    assert np.ptp(found["left"]["I"]) > 1.0
    spikes = [data["spike_state"][:, -NEURONS:] for data in (*found.values(), alone)]
    currents = [data["I"] for data in (*found.values(), alone)]
    for rows in (currents, spikes):
        for a, b in ((0, 1), (0, 2), (1, 2)):
            assert_independent(rows[a], rows[b])


@pytest.mark.parametrize("shared", [False, True])
def test_inputs_of_two_lpus_are_independent(shared: bool) -> None:
    """Also where both LPUs are given one and the same input."""
    steps, circuit = 3000, echoes(10)
    inputs = echoed(circuit)
    other = inputs if shared else echoed(circuit)
    record = [("x", None), ("spike_state", None)]
    lpus = {"left": (circuit, inputs), "right": (circuit, other)}
    found = side_by_side(lpus, steps, record)
    alone = simulate(circuit, DT, steps, echoed(circuit), record)
    for variable, _ in record:
        rows = [data[variable] for data in (*found.values(), alone)]
        for a, b in ((0, 1), (0, 2), (1, 2)):
            assert_independent(rows[a], rows[b])
    again = side_by_side(dict(reversed(lpus.items())), steps, record)
    for name, data in found.items():
        assert_same_bits(data, again[name])


def test_recorded_inputs_keep_to_the_namespace(tmp_path: Path) -> None:
    """What is recorded of an input is what entered, in the namespace of its LPU."""
    circuit = echoes(4)
    noise = echoed(circuit)[0]
    lpus = {name: (circuit, [RecordedInput(noise, tmp_path / f"{name}.h5")]) for name in ("a", "b")}
    found = side_by_side(lpus, STEPS, [("x", None)])
    bare = side_by_side({name: (circuit, [noise]) for name in lpus}, STEPS, [("x", None)])
    for name in lpus:
        assert_same_bits(found[name], bare[name])
        assert (tmp_path / f"{name}.h5").stat().st_size > 0
    assert (found["a"]["x"] != found["b"]["x"]).any()


@pytest.mark.parametrize("name", MAKE)
def test_a_namespace_can_be_given(name: str) -> None:
    """An LPU of a Manager is repeated alone in the namespace of its id, by the name it records."""
    circuit = MAKE[name]()
    found = side_by_side({n: (circuit, random_inputs(circuit)) for n in ("left", "right")}, STEPS)
    for lpu, data in found.items():
        assert_same_bits(lone(circuit.in_random_namespace(lpu)), data)
    given = circuit.in_random_namespace("left")
    (again,) = side_by_side({"another id": (given, random_inputs(given))}, STEPS).values()
    assert_same_bits(again, found["left"])
    with LPU(given, DT) as one:
        assert one.random_namespace == one.attributes["random_namespace"] == "left"


def test_the_empty_id() -> None:
    """An LPU may have the empty name, which is the namespace of a lone LPU."""
    circuit = noisy_graph()
    (found,) = side_by_side({"": (circuit, [])}, STEPS).values()
    assert_same_bits(found, simulate(circuit, DT, STEPS, record=RECORD))


@pytest.mark.parametrize("namespace", [None, "", "left"])
@pytest.mark.parametrize("name", MAKE)
def test_parts_draw_the_numbers_of_the_whole(name: str, namespace: str | None) -> None:
    """A circuit that is cut, and whose parts are cut again, gives its bits with noise, too."""
    circuit = MAKE[name]().in_random_namespace(namespace)
    part = random_parts(circuit, 2, 5)
    inputs = random_inputs(circuit)
    expected = whole(with_crossings(circuit, part), inputs, STEPS, seed=3)
    parts = cut(circuit, part, ["a", "b"])
    assert {one.random_namespace for one in parts.circuits.values()} == {namespace or ""}
    _, found = managed(parts, inputs, STEPS, seed=3)
    assert assert_equal_bits(expected, found, all_of=True) > NEURONS
    assert sum(map(len, found["spike_state"].values())) > NEURONS


def test_a_cut_of_a_cut() -> None:
    """Parts of a part draw what the whole draws, also those without uids of their own."""
    for make in MAKE.values():
        circuit = make()
        part = np.repeat(np.arange(len(circuit.groups)) % 2, [g.count for g in circuit.groups])
        noise = circuit.starts[[g.name for g in circuit.groups].index("NoisyCurrent")]
        part[:] = 0
        part[noise : noise + 5] = 1
        rest = cut(circuit, part, ["a", "b"]).circuits["b"]
        rest = cut(rest, np.arange(rest.count) % 2, ["c", "d"]).circuits["d"]
        first = circuit.uids[noise : noise + 5].tolist()
        mine = [first.index(uid) for uid in rest.group("NoisyCurrent").uids]
        assert 0 < len(mine) < 5
        expected = simulate(circuit, DT, STEPS, record=[("I", first)])["I"][:, mine]
        uids = [first[i] for i in mine]
        found = simulate(rest, DT, STEPS, record=[("I", uids)])["I"]
        np.testing.assert_array_equal(found, expected)


def test_two_circuits_cut_alike() -> None:
    """Each in a namespace of its own, they are independent; in one namespace, a warning says so."""
    part = random_parts(noisy_graph(), 2, 5)

    def eyes(**namespaces: str | None) -> dict[str, tuple[Circuit, list]]:
        out = {}
        for side, namespace in namespaces.items():
            circuit = noisy_graph().in_random_namespace(namespace)
            for name, one in cut(circuit, part, ["a", "b"]).circuits.items():
                out[f"{side} {name}"] = one, random_inputs(one)
        return out

    apart = side_by_side(eyes(left="left", right="right"), 3000)
    for name in "ab":
        assert_independent(apart[f"left {name}"]["I"], apart[f"right {name}"]["I"])
    text = "manager: LPUs 'left ([ab])', 'right \\1' draw the same random numbers in one namespace"
    with pytest.warns(CircuitWarning, match=text):
        same = side_by_side(eyes(left=None, right=None), STEPS)
    assert_same_bits(same["left a"], same["right a"])
    with pytest.raises(CircuitError, match="in_random_namespace"):
        side_by_side(eyes(left=None, right=None), STEPS, strict=True)


def test_inputs_of_one_namespace_are_told() -> None:
    """Also where no model draws, but what is injected would be the same."""
    circuit = echoes(40).in_random_namespace("both")
    record = [("x", None)]
    with pytest.warns(CircuitWarning, match="LPUs 'a', 'b' draw the same random numbers"):
        found = side_by_side({n: (circuit, echoed(circuit)) for n in "ab"}, STEPS, record)
    assert_same_bits(found["a"], found["b"])
    side_by_side({"a": (circuit, echoed(circuit)), "b": (circuit, [])}, STEPS, record)


def projected(seed: int, count: int = 50) -> Circuit:
    """Return neurons whose connections are drawn."""
    lif = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
           "time_constant": 20.0}  # fmt: skip
    neuron = model("LeakyIAFDelta")
    ends = ("LeakyIAFDelta", "LeakyIAFDelta")
    drawn = Projection("spike_state", "spike_state", *ends, FixedProbability(0.1), 1.0, DT)
    return Circuit.from_arrays([(neuron, count, lif, None)], [drawn], seed=seed)


def test_projections_belong_to_their_circuit() -> None:
    """A namespace changes no connection; LPUs that draw the same ones are told."""
    circuit = projected(1)
    other = circuit.in_random_namespace("left")
    np.testing.assert_array_equal(circuit.connections[0].target, other.connections[0].target)
    record = [("V", None)]
    text = "LPUs 'a', 'c' draw a projection by one name and seed.*different seeds"
    with pytest.warns(CircuitWarning, match=text):
        lpus = {"a": (circuit, []), "b": (projected(2), []), "c": (projected(1, 40), [])}
        side_by_side(lpus, 5, record)
    side_by_side({"a": (circuit, []), "b": (projected(2), [])}, 5, record)


@pytest.mark.parametrize("namespace", [None, "", "left", "ä b/"])
def test_copies_keep_the_namespace(namespace: str | None, tmp_path: Path) -> None:
    """HDF5 files and pickles hold it; the digest of a circuit takes it in."""
    circuit = noisy_arrays().in_random_namespace(namespace)
    circuit.save(tmp_path / "circuit.h5")
    for one in (
        Circuit.from_file(tmp_path / "circuit.h5"),
        pickle.loads(pickle.dumps(circuit)),
        copy.deepcopy(circuit),
    ):
        assert one.random_namespace == namespace and one.digest == circuit.digest
    assert (circuit.digest == noisy_arrays().digest) == (namespace is None)
    (found,) = side_by_side(
        {"lpu": (Circuit.from_file(tmp_path / "circuit.h5"), [])}, STEPS
    ).values()
    name = "lpu" if namespace is None else namespace
    bare = simulate(noisy_arrays().in_random_namespace(name), DT, STEPS, record=RECORD)
    assert_same_bits(found, bare)


def test_a_part_from_a_file_is_still_a_part(tmp_path: Path) -> None:
    """Parts that were saved draw the numbers of the whole; a graph cannot hold that."""
    circuit = noisy_graph()
    part = random_parts(circuit, 2, 5)
    parts = cut(circuit, part, ["a", "b"])
    for name, one in parts.circuits.items():
        one.save(tmp_path / f"{name}.h5")
        parts.circuits[name] = Circuit.from_file(tmp_path / f"{name}.h5")
    expected = whole(with_crossings(circuit, part), [], STEPS)
    _, found = managed(parts, [], STEPS)
    assert_equal_bits(expected, found, all_of=True)
    with pytest.warns(CircuitWarning, match="namespace '' of random numbers is not kept"):
        parts.circuits["a"].save(tmp_path / "a.gexf")
    circuit.save(tmp_path / "whole.gexf")


@pytest.mark.parametrize("wrong", [3, b"left", "le\0ft"])
def test_what_is_no_namespace(wrong: object) -> None:
    """A namespace is a text."""
    with pytest.raises(CircuitError, match="namespace of random numbers must be None or a text"):
        noisy_graph().in_random_namespace(wrong)  # type: ignore[arg-type]


def test_old_inputs_of_two_lpus() -> None:
    """Old processors with one seed draw for each LPU on its own, also where LPUs share one."""
    from neurodriver.compat.inputs import BernoulliInputProcessor

    def one() -> BernoulliInputProcessor:
        return BernoulliInputProcessor("spike_state", [f"s{i}" for i in range(10)], 0.5, 0, 1, 4)

    circuit, record, shared = echoes(10), [("spike_state", None)], one()
    first, second, alone = one(), one(), one()
    apart = side_by_side({"a": (circuit, [first]), "b": (circuit, [second])}, 3000, record)
    together = side_by_side({"a": (circuit, [shared]), "b": (circuit, [shared])}, 3000, record)
    for name in "ab":
        assert_same_bits(apart[name], together[name])
    rows = simulate(circuit, DT, 3000, [alone], record)["spike_state"]
    assert_independent(apart["a"]["spike_state"], apart["b"]["spike_state"])
    assert_independent(apart["a"]["spike_state"], rows)


def test_a_managers_lpu_knows_its_namespace() -> None:
    """Before a run, and whatever the circuit is given as."""
    man = Manager()
    man.add(LPU, "left", noisy_graph(), DT)
    man.add(LPU, "right", noisy_graph().in_random_namespace("mine"), DT)
    man.spawn()
    assert {n: lpu.random_namespace for n, lpu in man.lpus.items()} == {
        "left": "left",
        "right": "mine",
    }
    assert man.lpus["left"].circuit.random_namespace is None
    man.start(steps=1)
    man.wait()
