"""A circuit in several parts: the bits of the whole, by threads; its clusters and its mistakes."""

from __future__ import annotations

import json
import os
import pickle
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutting import network
from learning_networks import RULES, Rewarded, trains
from learning_networks import network as learning_network
from numpy.typing import NDArray
from support import DT, model, weighted_network
from test_digests import script

import neurodriver as nd
from neurodriver.backends.cpu.backend import CPUBackend
from neurodriver.circuit.cut import cut
from neurodriver.circuit.partition import CONNECTION_COST, clusters, partition, work_of
from neurodriver.circuit.share import shares
from neurodriver.errors import InputError, RecordingError, TargetError
from neurodriver.inputs.user import UserInput
from neurodriver.model.plasticity import Plasticity
from neurodriver.parallel.parts import seconds_of_slice
from neurodriver.parallel.window import least_crossing
from neurodriver.recorders.base import LateNames
from neurodriver.run.simulation import Simulation

STEPS = 200
WORDS = ("model HodgkinHuxley", "model Alpha", "model Photoreceptor", "model LeakyIAF",
         "delays of 1 to 20 steps", "rule in-degree", "weighted input")  # fmt: skip
"""A small part of the zoo: graded and spiking models, sub-units, delays, rules, inputs."""


LIF: dict[str, Any] = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
              "time_constant": 20.0, "refractory_period": 0.5, "initV": -55.0}  # fmt: skip


def ran(circuit: nd.Circuit, inputs: list[nd.Input], parts: Any, **given: Any) -> Any:
    """Return what is recorded of two runs, all values and some in another order."""
    neurons = circuit.groups[0].uids
    every = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    some = nd.MemoryRecorder([("V", neurons[[5, 3, 9, 0]].tolist())], sample_interval=3)
    with nd.LPU(circuit, DT, inputs, [every, some], parts=parts, backend="cpu", **given) as lpu:
        lpu.run(steps=STEPS // 4)
        lpu.run(steps=STEPS - STEPS // 4)
    return every, some


def assert_alike(one: Any, other: Any) -> None:
    """Compare all bits of recordings."""
    for mine, its in zip(one, other, strict=True):
        assert list(mine.output) == list(its.output)
        for name in mine.output:
            assert mine.uids(name) == its.uids(name)
            a, b = mine.get(name), its.get(name)
            if isinstance(a, dict):
                assert len(a["time"]) > 20
                assert all(np.array_equal(a[key], b[key]) for key in a)
            else:
                assert np.array_equal(a, b) and (a[0] != a[-1]).any()


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
@pytest.mark.parametrize("least", [1, 3])
def test_bits_of_the_whole(parts: int, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that cross take no step more, from a latency of one step on.

    Spikes go as lists or as rows.
    """
    monkeypatch.setattr("neurodriver.parallel.routes.LISTED", 1 if parts % 2 else 1 << 30)
    circuit = weighted_network(60, least)
    uids = circuit.groups[0].uids
    inputs: list[nd.Input] = [
        nd.StepInput("I", uids, np.linspace(5.0, 30.0, 60)),
        nd.NoiseInput("I", uids[::2], 0.0, 1.0, seed=3),
        nd.PoissonInput("spike_state", uids[::3], 300.0, seed=1),
    ]
    of = partition(circuit, parts)
    assert np.ptp(np.bincount(of, work_of(circuit))) < 0.1 * work_of(circuit).sum()
    if parts > 1:
        assert least_crossing(circuit, of, DT) == least
    assert_alike(ran(circuit, inputs, None), ran(circuit, inputs, parts))


def test_work_of_all_incoming_connections() -> None:
    """Those of several projections into the same components, and of some of these."""
    ends = [((0, 10), 4), ((0, 10), 3), ((0, 5), 2)]
    links = [
        nd.Projection(
            "spike_state", "spike_state", (0, 10), target, nd.FixedInDegree(n), name=f"{n}"
        )
        for target, n in ends
    ]
    cell = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
            "time_constant": 20.0}  # fmt: skip
    circuit = nd.Circuit.from_arrays([(model("LeakyIAFDelta"), 10, cell, None)], links)
    expected = 1.0 + CONNECTION_COST * np.repeat([9.0, 7.0], 5)
    assert np.allclose(work_of(circuit), expected, rtol=1e-12)


def test_random_parts(dtype: str) -> None:
    """Synapses go with their targets, whichever parts somebody has chosen."""
    circuit, inputs = network(50, 1)
    part = np.random.default_rng(1).integers(0, 3, circuit.count)
    cluster = clusters(circuit)
    of = part[np.unique(cluster, return_index=True)[1]][cluster]
    assert_alike(ran(circuit, inputs, None, dtype=dtype), ran(circuit, inputs, of, dtype=dtype))


def test_odd_populations() -> None:
    """One neuron, one that only reaches itself, none that is reached; no delay and a long one.

    Several projections join the same populations; some learn, some carry graded values.
    """
    lif, graded = model("LeakyIAFDelta"), model("GradedNeuron")
    one, two, many = (nd.Population(lif, n, name=f"of {n}", **LIF) for n in (1, 2, 23))
    alone = nd.Population(lif, 1, name="alone", **LIF)
    level = {"time_constant": 3.0, "bias": nd.Uniform(0.1, 1.0)}
    a, b = (nd.Population(graded, n, name=f"graded {n}", **level) for n in (1, 5))
    learns = nd.PairSTDP(w_max=9.0, A_plus=0.1)
    given: list[tuple[Any, Any, Any, Any, float, Any]] = [
        (one, many, nd.AllToAll(), 3.0, 0.0, None),
        (one, many, nd.FixedTotal(9), 4.0, 50 * DT, None),
        (two, many, nd.FixedInDegree(4), nd.Uniform(1.0, 5.0), 3 * DT, learns),
        (many, one, nd.FixedProbability(0.0), 1.0, DT, None),
        (many, two, nd.FixedOutDegree(2), 2.0, 4000 * DT, None),
        (many, many, nd.OneToOne(), 2.0, nd.Uniform(DT, 9 * DT), None),
        (alone, alone, nd.OneToOne(), 1.0, 2 * DT, None),
        (a, b, nd.AllToAll(), 0.5, 2 * DT, None),
        (b, a, nd.AllToAll(), -0.5, 7 * DT, None),
    ]
    links = [
        nd.Projection(pre, post, rule, weight=weight, delay=delay, name=f"l{i}",
                      receptor="r" if post in (a, b) else "spike_state", plasticity=learned)
        for i, (pre, post, rule, weight, delay, learned) in enumerate(given)
    ]  # fmt: skip
    circuit = nd.Circuit([one, two, many, alone, a, b], links, seed=1)
    inputs = [nd.StepInput("I", pop.uids, 12.0) for pop in (one, two, many, alone)]
    assert_alike(ran(circuit, inputs, None), ran(circuit, inputs, 3))
    with pytest.raises(nd.CircuitError, match=r"got 34, .* take at most 33"):
        nd.LPU(circuit, DT, parts=34, backend="cpu")


@pytest.mark.usefixtures("quick_kernels")
def test_a_zoo_in_parts(tmp_path: Path) -> None:
    """No digest depends on the number of parts."""
    files = [tmp_path / name for name in ("whole.json", "parts.json")]
    for path, more in zip(files, ((), ("--parts", "3")), strict=True):
        done = script(*WORDS, "-o", path, "--jobs", "2", "--dtype", "float32", *more)
        assert done.returncode == 0, done.stdout + done.stderr
    equal = script("--compare", *files)
    assert equal.returncode == 0, equal.stdout
    found = json.loads(files[1].read_text())
    assert len(found["digests"]) > 20 and " 0 differences" in equal.stdout


@pytest.mark.parametrize("rule", [RULES[0], RULES[-1], Rewarded])
@pytest.mark.parametrize("parts", [2, 3])
def test_circuits_that_learn(rule: type[Plasticity], parts: int) -> None:
    """Synapses learn with their targets; those that a modulator reaches are in one part."""
    circuit = learning_network(rule())
    found = []
    for given in (None, partition(circuit, parts)):
        recorder = nd.MemoryRecorder([("V", None)])
        with nd.LPU(circuit, 1e-3, trains(circuit), recorder, parts=given, backend="cpu") as lpu:
            lpu.run(STEPS)
        found.append(recorder.get("V"))
    assert np.array_equal(*found) and (found[0][0] != found[0][-1]).any()


def test_few_bytes_cross(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of spikes take as much as there are spikes, and what a window has of heads."""
    monkeypatch.setattr("neurodriver.parallel.routes.LISTED", 1)
    circuit = weighted_network(600, 3)
    uids = circuit.groups[0].uids
    recorder = nd.MemoryRecorder([("spike_state", None)])
    inputs = [nd.StepInput("I", uids, 12.0)]
    with nd.LPU(circuit, DT, inputs, recorder, parts=2, backend="cpu") as lpu:
        lpu.run(steps=STEPS)
        parts = lpu.simulation._parts  # type: ignore[attr-defined]
        received = sum(part.exchange.received for part in parts)
    spikes, windows = len(recorder.get("spike_state")["time"]), STEPS // 3
    assert spikes > 500
    assert 12 * spikes * 0.9 < received < 12 * spikes + 2 * windows * (8 * 4 + 2 * 8)
    assert received < 0.2 * 8 * 600 * STEPS


def test_the_least_delay_is_the_window() -> None:
    """Values cross once a window; a part computes it without a barrier."""
    circuit = weighted_network(60, 5)
    with nd.LPU(circuit, DT, parts=2, backend="cpu") as lpu:
        for part in lpu.simulation._parts:  # type: ignore[attr-defined]
            assert part.exchange.window == 5 == part.simulation.program.window
            assert part.exchange.timing.lag == 0


def test_windows_begin_where_a_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """At any step: after the first window of a run, one call takes all others."""
    calls: list[tuple[int, int]] = []
    run = CPUBackend.run

    def counted(self: CPUBackend, first: int, steps: int) -> int:
        calls.append((first, run(self, first, steps)))
        return calls[-1][1]

    monkeypatch.setattr(CPUBackend, "run", counted)
    for limit in ("parallel.parts.LONG_SLICE_SECONDS", "run.call_length.CALL_SECONDS"):
        monkeypatch.setattr(f"neurodriver.{limit}", 1e6)  # else slow steps shorten a call
    for name in ("SPIN", "PATIENCE"):  # a call that waits long for another part returns
        monkeypatch.setattr(f"neurodriver.parallel.native_exchange.{name}", 60_000_000_000)
    circuit = weighted_network(60, 5)
    inputs = [nd.StepInput("I", circuit.groups[0].uids, 12.0)]
    found = []
    for given in ({}, {"parts": 2}, {"devices": [0, 0]}):
        recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
        calls.clear()
        with nd.LPU(circuit, DT, inputs, recorder, backend="cpu", **given) as lpu:  # type: ignore[arg-type]
            for steps in (7, 14, 1, 58):
                lpu.run(steps=steps)
            assert not given or all(p.exchange.gated for p in lpu.simulation._parts)  # type: ignore[attr-defined]
        found.append(recorder.get("V"))
        if given:
            assert sorted({first for first, _ in calls}) == [0, 5, 7, 12, 21, 22, 27]
    assert all(np.array_equal(found[0], one) for one in found[1:])


def test_how_long_a_slice_is() -> None:
    """In one process a second: recordings are joined meanwhile. Ranks join them at its end."""
    with nd.LPU(weighted_network(60, 5), DT, parts=2, backend="cpu") as lpu:
        lpu.simulation._steps_a_second = 3000.0  # type: ignore[attr-defined]
        assert lpu.simulation._slice() == 3000  # type: ignore[attr-defined]
    assert seconds_of_slice(2) == 0.25


@pytest.mark.parametrize("parts", [None, 2])
def test_names_of_many_columns_are_made_late(
    parts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When somebody reads them, and not before a run."""
    monkeypatch.setattr("neurodriver.run.requests.LATE", 30)
    circuit = weighted_network(60, 1)
    recorder = nd.MemoryRecorder([("spike_state", None)])
    source = nd.StepInput("I", circuit.groups[0].uids, 20.0)
    with nd.LPU(circuit, DT, [source], recorder, backend="cpu", parts=parts) as lpu:
        lpu.run(steps=50)
        names = recorder._columns("spike_state").uids
        assert isinstance(names, LateNames) and len(names) == 60 and "made" not in vars(names)
        assert recorder.uids("spike_state") == circuit.groups[0].uids.tolist()
        assert (
            np.array_equal(pickle.loads(pickle.dumps(names)), names) and names[1] == names.made[1]
        )


def test_each_part_owns_what_leads_to_it() -> None:
    """All connections into its components, in their order, and no others."""
    circuit = weighted_network(40, 2)
    of = partition(circuit, 3)
    (links,) = circuit.connections
    for share in shares(circuit, of):
        (mine,) = share.circuit.connections
        rows = np.flatnonzero(of[links.target] == share.part)
        assert np.array_equal(mine.data["weight"], links.data["weight"][rows])
        assert np.array_equal(np.broadcast_to(mine.delay, len(rows)), links.delay[rows])
        own = np.flatnonzero(of == share.part)
        sources = np.concatenate([own, *(one.sources for one in share.incoming)])
        assert np.array_equal(sources[mine.source], links.source[rows])
        assert np.array_equal(own[mine.target], links.target[rows])


def populations() -> nd.Circuit:
    """Return two populations, of which one gets many connections."""
    a = nd.Population(model("LeakyIAFDelta"), 40, name="a", **LIF)
    b = nd.Population(model("LeakyIAFDelta"), 9, name="b", **LIF)
    links = nd.Projection(a, b, nd.FixedInDegree(20), weight=1.0, delay=2 * DT)
    return nd.Circuit([a, b], [links])


@pytest.mark.parametrize("parts", [2, 3])
def test_populations_are_dealt_over_all_parts(parts: int) -> None:
    """Each part has the same share of each population; those of equal work stay side by side."""
    of = partition(populations(), parts)
    for first, last in ((0, 40), (40, 49)):
        each = np.bincount(of[first:last], minlength=parts)
        assert each.max() - each.min() <= 1 and (np.diff(of[first:last]) >= 0).all()


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1, 1), (1, 5, 1), (1,) * 12])
def test_no_part_is_empty(sizes: tuple[int, ...]) -> None:
    """Small populations are distributed one after the other, so all parts get some of them."""
    cells = [nd.Population(model("LeakyIAFDelta"), n, name=f"p{i}", **LIF)
             for i, n in enumerate(sizes)]  # fmt: skip
    for parts in range(1, min(sum(sizes), 6) + 1):
        each = np.bincount(partition(nd.Circuit(cells), parts), minlength=parts)
        assert each.min() > 0 and each.max() - each.min() <= 1


def test_random_connections_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neurons that a rule joins at random are dealt out: columns are not drawn for pymetis."""
    monkeypatch.setattr("neurodriver.circuit.partition._cut", None)
    rule = nd.FixedProbability(0.1)
    links = nd.Projection("spike_state", "spike_state", (0, 90), (0, 90), rule, name="random")
    neurons = (model("LeakyIAFDelta"), 90, LIF, None)
    of = partition(nd.Circuit.from_arrays([neurons], [links], seed=1), 3)
    assert np.bincount(of).tolist() == [30, 30, 30]


def test_a_graph_is_cut_where_few_connections_are() -> None:
    """Two halves with one connection between them, where pymetis is installed."""
    pytest.importorskip("pymetis", reason="pymetis is not installed")
    rng = np.random.default_rng(1)
    half = rng.integers(0, 30, (2, 400))
    ends = np.concatenate([half, half + 30, [[0], [45]]], axis=1).astype(np.int32)
    links = nd.Connections("spike_state", "spike_state", *ends, DT, {"weight": np.asarray(1.0)})
    circuit = nd.Circuit.from_arrays([(model("LeakyIAFDelta"), 60, LIF, None)], [links])
    of = partition(circuit, 2)
    assert (of[:30] == of[0]).all() and (of[30:] == 1 - of[0]).all()


def test_synapses_are_with_their_targets() -> None:
    """A conductance is a current where the potential of its target is known."""
    circuit, _ = network(50, 3)
    cluster = clusters(circuit)
    found = 0
    for links in circuit.connections:
        if links.variable == "g":
            assert (cluster[links.source] == cluster[links.target]).all()
            found += len(links)
    assert found > 100 and len(np.unique(cluster)) == 50


def wrong(count: int) -> NDArray[np.int64]:
    """Return parts that put the first synapse of a network elsewhere than its target."""
    out = np.arange(count) % 2
    out[:50] = 0
    return out


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (0, "a whole number from 1 on, got 0"),
        (2.5, "a whole number from 1 on, got 2.5"),
        (51, "got 51, of 350 components; .* take at most 50"),
        ("two", "'auto', a number, or the part of each, got 'two'"),
        ([0, 1], r"one whole number for each of \d+ components is needed, got int64 \(2,\)"),
        (np.zeros(350) + 0.5, "one whole number for each"),
        (wrong, "belong together"),
        (lambda count: np.zeros(count, int) + 1, "each one needs components; got parts 1$"),
        (lambda count: np.arange(count) - 1, "counted from 0 on, .* got parts -1, 0, 1, "),
        (lambda count: np.append(np.zeros(count - 1, int), 10**12), "got parts 0, 1000000000000$"),
    ],
)
def test_mistakes(parts: Any, says: str) -> None:
    """What is wrong, and what to do."""
    circuit, _ = network(50, 1)
    given = parts(circuit.count) if callable(parts) else parts
    with pytest.raises(nd.CircuitError, match=says):
        nd.LPU(circuit, DT, parts=given, backend="cpu")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"devices": 0}, r"devices: expected how many GPUs, or the GPU of each part.*got 0"),
        ({"devices": [0, -1]}, r"such as \[0, 1\]; got \[0, -1\]"),
        ({"devices": "two"}, "got 'two'"),
        ({"devices": 2, "device": 0}, "devices: 'device' is given, too"),
        ({"devices": [0, 1], "parts": 3}, "GPUs for 2 parts are given, but the circuit has 3"),
        ({"devices": 2, "batch": 3}, "devices: an LPU with a batch is whole; leave out devices="),
    ],
)
def test_mistakes_in_devices(given: dict[str, Any], says: str) -> None:
    """Each part needs a GPU, and nothing else does."""
    with pytest.raises(nd.NeurodriverError, match=says):
        nd.LPU(weighted_network(20, 2), DT, backend="cpu", **given)


def test_what_parts_do_not_have() -> None:
    """Phases are not advanced one by one; batches and inputs that answer are whole."""
    circuit = weighted_network(20, 2)
    with nd.LPU(circuit, DT, parts=2, backend="cpu") as lpu:
        with pytest.raises(
            nd.NeurodriverError, match=r"of several parts has no single phases; leave"
        ):
            lpu.advance_phase()
    with pytest.raises(nd.NeurodriverError, match="with a batch is whole"):
        nd.LPU(circuit, DT, parts=2, batch=3, backend="cpu")
    answer = Answer([("I", circuit.groups[0].uids)])
    with pytest.raises(InputError, match="Answer: is asked right before each step"):
        nd.LPU(circuit, DT, [answer], parts=2, backend="cpu")


class Answer(UserInput):
    """Is asked at each step."""

    def update_input(self) -> None:
        """Keep the values."""


def test_a_part_that_fails_ends_all() -> None:
    """The error is that of the part; the others leave."""
    circuit = weighted_network(20, 2)
    uids = circuit.groups[0].uids
    inputs = [Broken("I", uids[3:4], 1.0)]
    with nd.LPU(circuit, DT, inputs, parts=3, backend="cpu") as lpu:
        with pytest.raises(ValueError, match="broken on purpose"):
            lpu.run(steps=STEPS)


class Broken(nd.StepInput):
    """Has no values from step 100 on."""

    def chunk(self, number: int, first: int, steps: int) -> Any:
        """Return values, or fail."""
        if first + steps > 100:
            raise ValueError("broken on purpose")
        return super().chunk(number, first, steps)


def test_an_unknown_uid_is_reported() -> None:
    """By inputs and recorders alike."""
    circuit = weighted_network(20, 2)
    with pytest.raises(TargetError, match="nobody"):
        nd.LPU(circuit, DT, [nd.StepInput("I", ["nobody"], 1.0)], parts=2, backend="cpu")
    with pytest.raises(nd.NeurodriverError, match="nobody"):
        recorder = nd.MemoryRecorder([("V", ["nobody"])])
        nd.LPU(circuit, DT, recorders=recorder, parts=2, backend="cpu")


def at_step_16(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], None], after: bool = False
) -> None:
    """Do something in the thread of the first part that has done 16 steps, the first slice.

    ``after``: not before the second slice, but after it.
    """
    once, plain = iter([True]), Simulation.advance

    def advance(self: Simulation, steps: int, *given: Any) -> None:
        works = self.step == 16 and next(once, False)
        if works and not after:
            work()
        plain(self, steps, *given)
        if works and after:
            work()

    monkeypatch.setattr(Simulation, "advance", advance)


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts have done the same steps then; the next run goes on, and nothing is lost."""

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)

    circuit = weighted_network(60, 2)
    uids = circuit.groups[0].uids
    inputs: list[nd.Input] = [nd.StepInput("I", uids, np.linspace(5.0, 30.0, 60))]
    steps, recordings = 100_000, []
    for parts in (None, 2):
        recordings.append(nd.MemoryRecorder([("V", uids[:5]), ("spike_state", None)]))
        with nd.LPU(circuit, DT, inputs, recordings[-1:], parts=parts, backend="cpu") as lpu:
            if parts:
                before = signal.signal(signal.SIGINT, signal.default_int_handler)
                at_step_16(monkeypatch, press)
                try:
                    with pytest.raises(KeyboardInterrupt):
                        lpu.run(steps=steps)
                finally:
                    signal.signal(signal.SIGINT, before)
                assert 16 < lpu.step < steps and len(recordings[-1].get("V")) == lpu.step
            lpu.run(steps=steps - lpu.step)
    assert_alike(recordings[:1], recordings[1:])


@pytest.mark.parametrize("after", [False, True])
def test_parts_at_different_steps(after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error in one part nothing goes on from what the others have done."""

    def fail() -> None:
        raise ValueError("no more light")

    monkeypatch.setattr("neurodriver.parallel.exchange.LEAVE_SECONDS", 0.05)
    at_step_16(monkeypatch, fail, after)
    given: dict[str, Any] = {"recorders": [nd.MemoryRecorder([("V", None)])], "parts": 2}
    with nd.LPU(weighted_network(60, 2), DT, backend="cpu", **given) as lpu:
        with pytest.raises(ValueError, match="no more light"):
            lpu.run(steps=STEPS)
        for work in (lambda: lpu.run(steps=1), lpu.state):
            with pytest.raises(nd.NeurodriverError, match="make a new LPU"):
                work()


class Unopened(nd.MemoryRecorder):
    """Cannot be opened the first time."""

    tries = 0

    def _open(self, plan: Any) -> None:
        self.tries += 1
        if self.tries == 1:
            raise RecordingError("no space")
        super()._open(plan)


@pytest.mark.parametrize("parts", [None, 2])
def test_a_recording_that_begins_later(parts: int | None) -> None:
    """A run whose recordings cannot be opened leaves nothing behind; the next one records all."""
    circuit = weighted_network(60, 2)
    recorders = [Unopened([("V", None)]), nd.MemoryRecorder([("V", None)])]
    with nd.LPU(circuit, DT, recorders=recorders, parts=parts, backend="cpu") as lpu:
        with pytest.raises(RecordingError, match="no space"):
            lpu.run(steps=10)
        lpu.run(steps=10)
    for one in recorders:
        assert one.get("V").shape == (10, 60)


def test_a_closed_lpu_says_so() -> None:
    lpu = nd.LPU(weighted_network(20, 1), DT, parts=2)
    lpu.close()
    for call in (lpu.run, lpu.advance, lambda steps: lpu.get("V"), lambda steps: lpu.save("x.h5")):
        with pytest.raises(nd.NeurodriverError, match="LPU: closed; "):
            call(1)


class Shifted(nd.NDComponent):
    """Reads a layer by place."""

    axes, updates, sources = ("y", "x"), {"val": "1"}, {"image": nd.Source("val")}
    update = "val = image.val[here.y, here.x] + 2 * here.y;"


class Smoothed(nd.NDComponent):
    axes, updates, accesses = ("y", "x"), {"val": "1"}, [nd.Access("val", "inp")]
    update = "val = 0.5 * val + inp + here.x;"


@pytest.mark.parametrize("order", [None, "listed"])
def test_layers_keep_their_positions(order: str | None) -> None:
    """Texts that read axes and other layers compute in a part what they compute in the whole."""
    axes = {"y": nd.Axis.span(7, 0, 1), "x": nd.Axis.span(5, 0, 1)}
    image = nd.Population(Smoothed, name="image", axes=axes)
    moved = nd.Population(Shifted, name="moved", axes=axes, image=image)
    last = nd.Population(Smoothed, name="last", axes=axes)
    near, given = nd.Near(y=3, x=3), {"variable": "val", "receptor": "inp"}
    links = [
        nd.Projection(moved, last, near, delay=2e-3, name="forth", **given),
        nd.Projection(last, image, near, delay=3e-3, name="back", **given),
    ]
    circuit, found = nd.Circuit([image, moved, last], links, order=order), []
    for parts in (None, 2):
        recorder = nd.MemoryRecorder([("val", None)])
        with nd.LPU(circuit, 1e-3, [], [recorder], parts=parts) as lpu:
            lpu.run(steps=20)
            found.append(recorder.get("val"))
            assert parts is None or set(lpu.simulation.of) == {0, 1}  # type: ignore[attr-defined]
    assert np.array_equal(*found) and len(np.unique(found[0][-1])) > 30


def test_a_number_of_a_source_is_that_in_the_whole() -> None:
    """Where a text reads it, the source's whole population is in the part of the text."""

    class Numbered(nd.NDComponent):
        updates, accesses = {"out": "1"}, [nd.Access("val", "exc")]
        update = "out = 0; for (s : exc) { out += s.index * s.val; }"

    class One(nd.NDComponent):
        updates, update = {"val": "1"}, "val = 1;"

    cells, to = nd.Population(One, 20, name="a"), nd.Population(Numbered, 20, name="b")
    other = nd.Population(One, 10, name="c")
    given = {"receptor": "exc", "variable": "val", "delay": 2e-3}
    circuit = nd.Circuit([cells, to, other], [nd.Projection(cells, to, nd.OneToOne(), **given)])
    name = np.array([uid[0] for uid in circuit.uids])
    of = partition(circuit, 2)
    assert len(np.unique(of[name != "c"])) == 1 and len(np.unique(of)) == 2
    recorder = nd.MemoryRecorder([("out", None)])
    with nd.LPU(circuit, 1e-3, [], [recorder], parts=2) as lpu:
        lpu.run(steps=6)
    assert np.array_equal(recorder.get("out")[-1], np.arange(20))
    apart = (name == "a").astype(int)
    with pytest.raises(nd.CircuitError, match="they belong together"):
        nd.LPU(circuit, 1e-3, parts=apart)
    with pytest.raises(nd.CircuitError, match="'b/0' reads the number of 'a/0' in its population"):
        cut(circuit, apart, ["one", "two"])
