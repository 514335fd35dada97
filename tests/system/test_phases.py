"""Phases of a step: what is read in the same step, by whom, and how it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from learning_circuits import Pairs
from phased import DT, STEPS, Cell, Counter, Graded, agrees, paced, plain, random_phased
from support import assert_same_bits, graph, node, simulate

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    CircuitError,
    Connections,
    FixedProbability,
    Manager,
    MemoryRecorder,
    NDComponent,
    OneToOne,
    PoissonInput,
    Population,
    Projection,
    State,
    Uniform,
)
from neurodriver.backends.cpu.backend import CPUBackend
from neurodriver.circuit.cut import cut
from neurodriver.errors import CircuitWarning, NeurodriverError


@pytest.mark.parametrize("seed", range(8))
def test_random_circuits(seed: int) -> None:
    """Rows are those of plain Python: spikes and values, any threads, chunks, plans, precision."""
    rng = np.random.default_rng([5, seed])
    made = random_phased(rng)
    circuit = made.circuit(order=made.order())
    assert np.nanmax(plain(made, STEPS)["spike_state"]) == 1
    agrees(made, circuit, threads=1, chunk=1000)
    for _ in range(3):
        threads, chunk = int(rng.integers(1, 4)), int(rng.choice([1, 7, 1000]))
        more = {"plans": bool(rng.random() < 0.5), "dtype": str(rng.choice(["float64", "float32"]))}
        agrees(made, circuit, threads=threads, chunk=chunk, **more)


def chain(**more: Any) -> Circuit:
    """Return three populations in a chain, without delays; the last one feeds the first, later."""
    a, b, c = (Population(Graded, 5, name=n, bias=float(n == "a")) for n in "abc")
    links = [Projection(a, b, OneToOne()), Projection(b, c, OneToOne())]
    links.append(Projection(c, a, OneToOne(), delay=DT, name="back"))
    return Circuit([a, b, c], links, **more)


def after(circuit: Circuit, steps: int, **settings: Any) -> list[float]:
    """Return the first value of each population after some steps."""
    with LPU(circuit, DT, **settings) as lpu:
        lpu.advance(steps)
        return [float(lpu[name].val[0]) for name in "abc"]


def test_a_feed_forward_network_computes_one_picture_a_step() -> None:
    """Without an order, a value takes as many steps as there are populations."""
    assert after(chain(), 1) == [1, 0, 0]
    assert after(chain(order="listed"), 1) == [1, 1, 1]
    assert after(chain(order="listed"), 2) == [2, 2, 2]
    assert after(chain(order=[["c"], ["b"], ["a"]]), 3) == after(chain(), 3) == [1, 1, 1]


def test_forms_of_an_order() -> None:
    """Names and populations, nested or not; what the order derives from the connections."""
    made = chain(order="derived")
    assert made.phases == (("a",), ("b",), ("c",)) == chain(order="listed").phases
    assert chain().phases == (("a", "b", "c"),) == chain(order=[["a", "b", "c"]]).phases
    a, b = (Population(Graded, 2, name=n) for n in "ab")
    assert Circuit([a, b], order=[b, ["a"]]).phases == (("b",), ("a",))
    assert chain().in_order(["a", ["b", "c"]]).phases == (("a",), ("b", "c"))


def test_the_order_is_part_of_the_digest() -> None:
    """One phase is what a circuit has without an order."""
    orders = (None, "listed", [["a"], ["b", "c"]], [["b", "c"], ["a"]], [["a", "b", "c"]])
    digests = [chain(order=order).digest for order in orders]
    assert len(set(digests)) == 4 and digests[0] == digests[4]
    assert chain(order="derived").digest == digests[1]


def test_neighbouring_phases_without_a_connection_of_delay_0_are_one_stage() -> None:
    """A barrier comes only where somebody reads what was written before it."""
    cells = [Population(Graded, 3, name=f"p{i}") for i in range(6)]
    links = [
        Projection(cells[0], cells[2], OneToOne()),
        Projection(cells[3], cells[5], OneToOne()),
        Projection(cells[4], cells[5], OneToOne(), delay=DT),
    ]
    with LPU(Circuit(cells, links, order="listed"), DT) as lpu:
        assert lpu.program.stages == 3
        assert [unit.stage for unit in lpu.program.units] == [0, 0, 1, 1, 1, 2]
        assert [unit.phase for unit in lpu.program.units] == list(range(6))
    with LPU(Circuit(cells[::-1], links, order="listed"), DT) as lpu:
        assert lpu.program.stages == 1


def test_drawn_connections_act_within_a_step() -> None:
    """What a projection draws has the rows of the same connections as columns."""
    drive = np.arange(30) % 3
    a = Population(Cell, 30, name="a", drive=drive.astype(float))
    b, c = Population(Cell, 20, name="b"), Population(Counter, 7, name="c")
    links = [
        Projection(a, b, FixedProbability(0.3), weight=Uniform(0, 4), receptor="exc"),
        Projection(b, c, FixedProbability(0.5)),
        Projection(b, b, FixedProbability(0.2), weight=2.0, receptor="exc", name="own"),
    ]
    circuit = Circuit([a, b, c], links, order="listed", seed=3)
    columns = circuit.with_parts(circuit.groups, [one.expanded() for one in circuit.connections])
    record = [("spike_state", None), ("level", None), ("val", None)]
    runs = [
        simulate(made, DT, STEPS, (), record, threads=threads, chunk=9)
        for made in (circuit, columns)
        for threads in (1, 3)
    ]
    assert runs[0]["spike_state"][:, 30:].any() and runs[0]["val"].any()
    for other in runs[1:]:
        assert_same_bits(runs[0], other)


def test_inputs_are_there_before_the_first_phase() -> None:
    """A value that is injected at step k reaches the last phase in step k."""
    given = np.arange(1.0, 6.0)[:, None] * np.ones(5)
    source = ArrayInput({"val": ([f"a/{i}" for i in range(5)], given)})
    data = simulate(chain(order="listed"), DT, 5, source, [("val", ["c/0"])], threads=2, chunk=2)
    assert data["val"][:, 0].tolist() == [0, 2, 5, 9, 14]


@pytest.mark.parametrize("seed", range(2))
def test_states_are_saved_and_restored(seed: int, tmp_path: Path) -> None:
    """A run that goes on from a file has the rows of an uninterrupted one."""
    made = random_phased(np.random.default_rng([6, seed]))
    circuit = made.circuit(order=made.order())
    expected = plain(made, 30)
    place = made.places()
    with LPU(circuit, DT, threads=2) as lpu:
        lpu.advance(11)
        lpu.save(tmp_path / "state.h5")
    models = [Cell, Counter, Graded]
    with LPU.restore(tmp_path / "state.h5", models=models, threads=3) as lpu:
        lpu.advance(18)
        for variable in ("spike_state", "level", "val"):
            for i, kind in enumerate(made.owner):
                if not np.isnan(expected[variable][0, i]):
                    got = lpu[[circuit.uids[place[i]]]].get(variable)[0]
                    assert got == expected[variable][29, i], (variable, kind)


def test_an_order_is_kept_in_hdf5_and_missed_in_a_graph(tmp_path: Path) -> None:
    """What a graph cannot hold is warned of."""
    made = chain(order="listed")
    made.save(tmp_path / "chain.h5")
    again = Circuit.from_file(tmp_path / "chain.h5", models=Graded)
    assert again.phases == made.phases and again.digest == made.digest
    with pytest.warns(CircuitWarning, match=r"order of its populations .* not kept in a graph"):
        made.save(tmp_path / "chain.gexf")
    graph = Circuit.from_file(tmp_path / "chain.gexf", models=Graded)
    assert graph.in_order("listed").phases == (("a",), ("b",), ("c",))


def test_parts_keep_their_order() -> None:
    """A connection of delay 0 cannot be cut, as a port takes a step; others can."""
    made = chain(order="listed")
    with pytest.raises(CircuitError, match=r"'b/0' -> 'c/0' has no delay .* a port takes a step"):
        cut(made, np.repeat([0, 0, 1], 5), ["one", "two"])
    a, b, c = (Population(Graded, 5, name=n, bias=float(n == "a")) for n in "abc")
    links = [Projection(a, b, OneToOne()), Projection(b, c, OneToOne(), delay=2 * DT)]
    made = Circuit([a, b, c], links, order="listed")
    links[1] = Projection(b, c, OneToOne(), delay=3 * DT)  # one step of them is that of the port
    later = Circuit([a, b, c], links, order="listed")
    parts = cut(made, np.repeat([0, 0, 1], 5), ["one", "two"])
    assert [group.phase for group in parts.circuits["one"].groups] == [0, 1, 0]
    record = [("val", None)]
    whole = simulate(later, DT, 12, (), record)["val"]
    manager = Manager(timeout=60.0)
    recorders = {name: MemoryRecorder(record) for name in parts.circuits}
    for name, part in parts.circuits.items():
        manager.add(LPU, name, part, DT, (), [recorders[name]])
    for (source, target), pattern in parts.patterns().items():
        manager.connect(source, target, pattern)
    manager.spawn()
    manager.start(steps=12)
    manager.wait()
    together = [one.output["val"]["data"] for one in recorders.values()]
    assert np.array_equal(np.hstack(together), whole) and whole[-1, -1] > 0


def test_circuits_without_an_order_have_the_text_that_they_had() -> None:
    """Nothing in a text tells of phases, and no kernel waits."""
    for circuit in (chain(), chain(order=[["a", "b", "c"]]), chain(order=[["c"], ["b"], ["a"]])):
        with LPU(circuit, DT, threads=2) as lpu:
            backend = lpu.backend
            assert isinstance(backend, CPUBackend)
            texts = {task.kernel.text for task in backend.generated.tasks}
            assert not [k for k in backend._bound if k.waits]
            assert not any("nd_k + 1, nd_depth" in text for text in texts)


ORDERS = {
    "left out": ([["a"], ["b"]], ["population 'c' is left out; add it"]),
    "twice": ([["a", "b"], ["b", "c"]], ["population 'b' is named twice; name it once"]),
    "unknown": (["a", "b", "c", "cc"], ["no population 'cc'; there are 'a', 'b', 'c'"]),
    "nobody": ([["a", "b", "c"], []], ["phase 1 names no population; leave it out"]),
    "a word": ("random", ["expected 'listed', 'derived', or a list of phases", "'random'"]),
    "a number": (3, ["expected 'listed', 'derived', or a list of phases", "got 3"]),
    "no name": ([["a", "b"], [3.5], "c"], ["expected a whole population or its name, got 3.5"]),
    "all at once": (
        [["a", "a"], ["x"]],
        ["4 faults", "'a' is named twice", "no population 'x'",
         "'b' is left out", "'c' is left out"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERS)
def test_bad_orders(case: str) -> None:
    """Each fault names the population, and all are told at once."""
    order, texts = ORDERS[case]
    with pytest.raises(CircuitError) as told:
        chain(order=order)
    for text in texts:
        assert text in str(told.value)


def test_a_slice_is_no_whole_population() -> None:
    """Phases have whole populations."""
    a = Population(Graded, 4, name="a")
    with pytest.raises(CircuitError, match="expected a whole population or its name"):
        Circuit([a], order=[a[:2], a[2:]])


def test_a_loop_has_no_derived_order() -> None:
    """The loop is told in its order."""
    cells = {n: Population(Graded, 3, name=n) for n in "abcd"}
    ways = ["ab", "bc", "cd", "db"]
    links = [Projection(cells[s], cells[t], OneToOne(), name=s + t) for s, t in ways]
    with pytest.raises(CircuitError, match=r"'b' -> 'c' -> 'd' -> 'b'; .* a delay, such as one"):
        Circuit(cells, links, order="derived")
    links[-1] = Projection(cells["d"], cells["b"], OneToOne(), delay=DT, name="db")
    assert Circuit(cells, links, order="derived").phases == (("a",), ("b",), ("c",), ("d",))
    with pytest.raises(CircuitError, match=r"'a' -> 'a'; no order fits"):
        Circuit(cells, [Projection(cells["a"], cells["a"], OneToOne())], order="derived")


def test_ports_have_no_phase() -> None:
    """They take a step, whatever an order says."""
    made = graph(
        {"in": {"class": "Port", "selector": "/x/in", "port_type": "gpot", "port_io": "in"},
         "n": node("GradedNeuron", {"time_constant": 1.0, "bias": 0.0})},
        [("in", "n", {"variable": "r"})],
    )  # fmt: skip
    circuit = Circuit.from_graph(made)
    with pytest.raises(CircuitError, match="'Port' is a port; a port takes a step"):
        circuit.in_order([["Port"], ["GradedNeuron"]])
    assert circuit.in_order(["GradedNeuron"]).phase_of is None


def test_connections_that_learn_take_a_step() -> None:
    """So they need a delay where they lead to a later phase."""
    a, b = Population(Cell, 3, name="a", drive=1.0), Population(Cell, 2, name="b", drive=2.0)
    for delay in (0.0, DT):
        more: Any = {"delay": delay, "plasticity": Pairs(), "name": "w", "receptor": "exc"}
        more["weight"] = 0.5
        links = [Projection(a, b, FixedProbability(0.9), **more)]
        if delay:
            with LPU(Circuit([a, b], links, order="listed"), DT) as lpu:
                lpu.advance(30)
                assert (lpu["w"].get("weight") != 0.5).all()
        else:
            with pytest.raises(CircuitError, match="'w': they learn, which takes a step"):
                Circuit([a, b], links, order="listed")


def test_single_phases() -> None:
    """What is there between two phases is read and set; inputs and recordings are as ever."""
    given = np.arange(6.0)[:, None]
    source, recorder = ArrayInput({"val": (["a/0"], given)}), MemoryRecorder([("val", None)])

    def now() -> list[float]:
        return [float(lpu[name].get("val")[0]) for name in "abc"]

    with LPU(chain(order="listed"), DT, source, recorder, threads=2) as lpu:
        seen = []
        for _ in range(4):
            lpu.advance_phase()
            seen.append((lpu.step, now()))
        assert seen == [(0, [1, 0, 0]), (0, [1, 1, 0]), (1, [1, 1, 1]), (1, [3, 1, 1])]
        with pytest.raises(NeurodriverError, match="1 of 3 phases of step 1 are done"):
            lpu.save("nowhere.h5")
        lpu.advance(2)
        assert (lpu.step, now()) == (3, [6, 6, 6])
        lpu.run(steps=2)
    assert recorder.output["val"]["data"][:, 0].tolist() == [0, 1, 3, 6, 10]
    assert recorder.output["val"]["data"][:, 10].tolist() == [0, 1, 3, 6, 10]
    with LPU(chain(), DT) as lpu:
        lpu.advance_phase()
        assert lpu.step == 1


def test_values_that_are_set_between_phases() -> None:
    """The next phase reads them, and they stay."""
    a, b = Population(Counter, 3, name="a"), Population(Graded, 3, name="b")
    circuit = Circuit([a, b], [Projection(a, b, OneToOne(), weight=2.0)], order="listed")
    for threads in (1, 2):
        with LPU(circuit, DT, threads=threads) as lpu:
            lpu.advance(3)
            lpu.advance_phase()
            lpu["a"].set("val", [5.0, 6.0, 7.0])
            assert lpu["a"].get("val").tolist() == [5, 6, 7] and not lpu["b"].get("val").any()
            lpu.advance_phase()
            assert lpu["b"].get("val").tolist() == [10, 12, 14] and lpu.step == 4
            lpu.advance(1)
            assert lpu["a"].get("val").tolist() == [5, 6, 7]


def test_batches() -> None:
    """Each copy has the rows that it has alone."""
    made = random_phased(np.random.default_rng([10, 0]))
    circuit = made.circuit(order=made.order())
    record = [("spike_state", None), ("level", None)]
    recorder, alone = MemoryRecorder(record), MemoryRecorder(record)
    with LPU(circuit, DT, recorders=[recorder], batch=3, threads=2) as lpu:
        copies = lpu.run(steps=STEPS).copies
        levels = [np.asarray(one[made.populations[0][0]].get("level")) for one in copies]
        with pytest.raises(NeurodriverError, match="without a batch or other processes"):
            lpu.advance_phase()
    with LPU(circuit, DT, recorders=[alone]) as lpu:
        lpu.run(steps=STEPS)
        expected = np.asarray(lpu[made.populations[0][0]].get("level"))
    assert len(levels) == 3 and all(np.array_equal(one, expected) for one in levels)


@pytest.mark.parametrize("seed", range(5))
def test_populations_that_leave_out_steps(seed: int) -> None:
    """Their values stay; any phases, threads, chunks and plans."""
    rng = np.random.default_rng([12, seed])
    made = paced(rng)
    circuit = made.circuit(order=made.order() if seed % 2 else None)
    for threads, chunk, dtype in ((1, 1000, "float64"), (3, 7, "float32")):
        more = {"dtype": dtype, "plans": bool(rng.random() < 0.5)}
        agrees(made, circuit, ordered=bool(seed % 2), threads=threads, chunk=chunk, **more)


def test_a_slow_population_has_long_steps(tmp_path: Path) -> None:
    """Its time constants mean what they mean; events are at its steps alone; files keep it."""

    class Clock(NDComponent):
        updates: ClassVar[Any] = {"t": "ms", "spike_state": ""}
        states: ClassVar[Any] = {"t": State("ms", 0.0)}
        update = "t = t + dt_ms; spike_state = 1;"

    slow, fast = Population(Clock, 2, name="slow", every=4, first=2), Population(Clock, 2, name="f")
    circuit = Circuit([slow, fast])
    data = simulate(circuit, DT, 12, (), [("t", None), ("spike_state", None)], threads=2, chunk=5)
    assert data["t"][:, 0].tolist() == [0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12]
    assert np.flatnonzero(data["spike_state"][:, 1]).tolist() == [3, 7, 11]
    assert data["t"][:, 3].tolist() == list(range(12))
    circuit.save(tmp_path / "slow.h5")
    again = Circuit.from_file(tmp_path / "slow.h5", models=Clock)
    assert (
        again.digest == circuit.digest != Circuit([Population(Clock, 2, name="slow"), fast]).digest
    )
    assert [(g.every, g.first) for g in again.groups] == [(4, 2), (1, 0)]


def test_a_slow_aggregator_leaves_synapses_to_themselves() -> None:
    """They are advanced at each step, whoever sums them."""
    n, numbers = 20, np.arange(20)
    cells = [
        Population("SpikeSource", n, name="pre"),
        Population("AlphaSynapse", n, name="synapses", gmax=0.05, ad=0.2, ar=0.3),
        Population("Aggregator", n, name="sums", every=3),
        Population("LeakyIAF", n, name="post", resting_potential=-70, reset_potential=-70,
                   threshold=-45, capacitance=2, resistance=10, initV=-70),
    ]  # fmt: skip
    pre, synapses, sums, post = cells
    reverse = {"reverse": np.zeros(n)}
    links = [
        Projection(pre, synapses, OneToOne(), variable="spike_state"),
        Connections("g", "g", n + numbers, 2 * n + numbers, np.zeros(n), data=reverse),
        Projection(post, sums, OneToOne(), variable="V"),
        Projection(sums, post, OneToOne(), variable="I"),
    ]
    trains = [PoissonInput("spike_state", pre, 100.0, seed=1)]
    found = [
        simulate(Circuit(cells, links), DT, 100, trains, [("V", None)], plans=plans, merge=False)[
            "V"
        ]
        for plans in (True, False)
    ]
    assert np.ptp(found[0]) > 5 and np.array_equal(*found)


def test_bad_paces() -> None:
    """Whole numbers, and models that no events reach."""
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (Graded, {"every": 0}, "'every' must be a whole number of steps from 1 to"),
        (Graded, {"every": 2.5, "first": -1}, "2 faults"),
        (Cell, {"every": 2}, "Cell reads events"),
    ]
    for model, given, text in wrong:
        with pytest.raises(CircuitError, match=text):
            Population(model, 3, **given)
