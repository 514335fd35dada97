"""Synapses that learn, against a loop in plain Python over the events of each synapse."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from learning import learned

import neurodriver as nd
from neurodriver.errors import CircuitWarning, LPUExecutionError
from neurodriver.model.library import shipped
from neurodriver.model.plasticity import Plasticity
from neurodriver.model.traces import Doses, Trace

DT = 1e-3


class Pairs(Plasticity):
    """Additive pairs, with large steps so that bounds are reached."""

    params = {
        "tau_plus": nd.Parameter("ms", default=20.0, above=0.0),
        "tau_minus": nd.Parameter("ms", default=30.0, above=0.0),
        "up": nd.Parameter("", default=0.05),
        "down": nd.Parameter("", default=0.06),
        "w_min": nd.Parameter("", default=0.0),
        "w_max": nd.Parameter("", default=1.0),
    }
    pre = {"x": Trace("tau_plus")}
    post = {"y": Trace("tau_minus")}
    bounds = ("w_min", "w_max")
    on_arrival = "weight = clip(weight - down * y); send(weight);"
    on_spike = "weight = clip(weight + up * x);"


class Listener(nd.NDComponent):
    """Spikes when it is told to; V is what arrives through synapses that learn."""

    accesses = (nd.Weighted("spike_state", "learned"), nd.Weighted("spike_state", "teach"))
    updates = ("spike_state", "V")
    update = "V = learned; spike_state = teach > 0.5 ? 1 : 0;"


@dataclass(frozen=True)
class Case:
    """A random circuit: trains of sources and targets, and synapses anywhere on their way."""

    rule: type[Plasticity] = Pairs
    seed: int = 0
    sources: int = 7
    targets: int = 5
    synapses: int = 60
    steps: int = 400
    rate: float = 0.08

    def drawn(self) -> dict[str, np.ndarray]:
        """Return trains (steps, neurons) and columns of the synapses, by source, then target."""
        rng = np.random.default_rng(self.seed)
        out = {
            "pre": rng.random((self.steps, self.sources)) < self.rate,
            "post": rng.random((self.steps, self.targets)) < self.rate,
        }
        latency = rng.integers(1, 8, self.synapses)
        columns = {
            "source": rng.integers(0, self.sources, self.synapses),
            "target": rng.integers(0, self.targets, self.synapses),
            "latency": latency,
            "forward": np.minimum(rng.integers(0, 8, self.synapses), latency - 1),
            "back": rng.integers(0, 6, self.synapses),
            "weight": rng.random(self.synapses),
        }
        order = np.lexsort((columns["target"], columns["source"]))
        return out | {name: column[order] for name, column in columns.items()}


def simulated(
    case: Case, chunk: int | None = None, dtype: str = "float64", doses: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what arrives at each target in each step, and the weights at the end.

    One more source releases a modulator; it spikes one step after each of the ``doses``.
    """
    d = case.drawn()
    ends = case.sources + case.targets
    given = {} if doses is None else {"n": (ends, ends + 1)}
    releases = np.zeros((case.steps, 1))
    releases[[] if doses is None else doses] = 1.0
    ends += 1
    groups = [
        (shipped()["SpikeSource"], ends, {}, [f"s{i}" for i in range(ends)]),
        (Listener, case.targets, {}, [f"l{i}" for i in range(case.targets)]),
    ]
    numbers = np.arange(case.targets)
    data = {"weight": d["weight"], "dendritic": d["forward"] * DT, "back": d["back"] * DT}
    teach = nd.Connections("spike_state", "teach", case.sources + numbers, ends + numbers, DT)
    ways = d["source"], ends + d["target"], d["latency"] * DT
    learned = nd.Connections("spike_state", "learned", *ways, data, case.rule(**given), "learning")
    circuit = nd.Circuit.from_arrays(groups, [teach, learned], name="listeners")
    trains = np.concatenate([d["pre"], d["post"], releases], axis=1).astype(float)
    inputs = nd.ArrayInput({"spike_state": (circuit.uids[:ends].tolist(), trains)})
    recorder = nd.MemoryRecorder([("V", None)])
    with nd.LPU(circuit, DT, [inputs], [recorder], dtype=dtype, backend="cpu") as lpu:
        while lpu.simulation.step < case.steps:
            lpu.run(steps=min(chunk or case.steps, case.steps - lpu.simulation.step))
        arrived = np.asarray(lpu.recording.V)
        return arrived, learned_weights(lpu, case.synapses)


def learned_weights(lpu: nd.LPU, count: int) -> np.ndarray:
    """Return the weights of all synapses, in the order of the circuit."""
    out = learned(lpu)
    assert out.shape == (count,)
    return out


def expected(case: Case, doses: frozenset[int] = frozenset()) -> tuple[np.ndarray, np.ndarray]:
    """Return the same by a loop over the events of each synapse; `Jolted` acts at doses.

    A train of step k is row k + 1 of a source, and row k + 2 of a target that is told to spike.
    """
    d, p = case.drawn(), case.rule().values
    arrived = np.zeros((case.steps + 20, case.targets))
    weights = d["weight"].copy()
    for s in range(case.synapses):
        axonal = d["latency"][s] - 1 - d["forward"][s]
        arrivals = {int(k) + 1 + axonal for k in np.flatnonzero(d["pre"][:, d["source"][s]])}
        spikes = {int(k) + 2 + d["back"][s] for k in np.flatnonzero(d["post"][:, d["target"][s]])}
        x, y, level, last = [0.0, 0], [0.0, 0], [0.0, 0], -math.inf
        for n in sorted(arrivals | spikes | doses):
            if n >= case.steps:
                break
            if n in doses:
                before = (
                    _read(one, n, p[f"tau_{of}"])
                    for one, of in ((x, "plus"), (y, "minus"), (level, "n"))
                )
                weights[s] += jolt(*before, min((n - last) * DT * 1e3, 30.0))
                weights[s] = min(max(weights[s], p["w_min"]), p["w_max"])
                _jump(level, p["tau_n"], n)
            here = [k for k, steps in (("arrival", arrivals), ("spike", spikes)) if n in steps]
            if case.rule.first == "spike":
                here.reverse()
            late = []
            for kind in here:
                if kind == "arrival":
                    weights[s] -= p["down"] * _read(y, n, p["tau_minus"])
                else:
                    weights[s] += p["up"] * _read(x, n, p["tau_plus"])
                weights[s] = min(max(weights[s], p["w_min"]), p["w_max"])
                if kind == "arrival":
                    arrived[n + d["forward"][s], d["target"][s]] += weights[s]
                    last = n
                late.append((x, p["tau_plus"]) if kind == "arrival" else (y, p["tau_minus"]))
                while late and case.rule.same_step == "pair":
                    _jump(*late.pop(), n)
            for trace, tau in late:
                _jump(trace, tau, n)
    return arrived[: case.steps], weights


def _read(trace: list, n: int, tau: float) -> float:
    return trace[0] * math.exp(-(n - trace[1]) * DT * 1e3 / tau)


def _jump(trace: list, tau: float, n: int) -> None:
    trace[:] = [_read(trace, n, tau) + 1.0, n]


@pytest.mark.parametrize("same_step", ["apart", "pair"])
@pytest.mark.parametrize("first", ["arrival", "spike"])
@pytest.mark.parametrize("seed", [0, 1])
def test_events_in_any_order(first: str, same_step: str, seed: int) -> None:
    """Weights and what arrives are those of the plain loop, whatever the delays."""
    case = Case(type("Rule", (Pairs,), {"first": first, "same_step": same_step}), seed)
    arrived, weights = simulated(case, chunk=[None, 7][seed])
    loop, last = expected(case)
    assert np.abs(last - case.drawn()["weight"]).mean() > 0.1
    assert np.allclose(weights, last, atol=1e-13)
    # row k + 1 of V is what was read in step k; a sum is whole multiples of a unit of 2^-30
    assert np.allclose(arrived[1:], loop[:-1], atol=1e-7)


def test_histories_overflow() -> None:
    """A target that spikes in every other step has more spikes than its history keeps."""
    case = Case(rate=0.6, steps=1500, seed=3)
    assert np.allclose(simulated(case)[1], expected(case)[1], atol=1e-13)


def test_silent_source() -> None:
    """A source that is silent for long learns all that its targets did meanwhile."""
    case = Case(seed=5, steps=900)
    quiet = replace(case, rate=0.02)
    assert np.allclose(simulated(quiet)[1], expected(quiet)[1], atol=1e-13)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("chunk", [None, 1])
def test_same_bits(threads: int, chunk: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither threads nor chunks change a bit."""
    case = Case(targets=70, synapses=900, steps=150)
    alone = simulated(case)
    monkeypatch.setenv("NEURODRIVER_THREADS", str(threads))
    for mine, other in zip(simulated(case, chunk), alone, strict=True):
        assert np.array_equal(mine, other)


def test_single_precision() -> None:
    """Single precision is near double precision, and arrives in the same steps."""
    case = Case(seed=4)
    (arrived, weights), (loop, last) = simulated(case, dtype="float32"), expected(case)
    assert np.allclose(weights, last, atol=1e-5)
    assert np.allclose(arrived[1:], loop[:-1], atol=1e-4)


class Other(Listener):
    """Another model, so that a projection may reach two groups."""


@pytest.mark.parametrize("delay", [3e-3, nd.Uniform(1e-3, 5e-3)])
def test_drawn_connections_are_those_of_columns(delay: float | nd.Uniform) -> None:
    """A projection that is drawn into its place learns as its columns do, in two groups as well."""
    groups = [
        (shipped()["PoissonSource"], 40, {"rate": 60.0}, None),
        (Listener, 30, {}, None),
        (Other, 20, {}, None),
    ]
    rule = {"plasticity": Pairs(), "dendritic": 1e-3, "back": 2e-3, "name": "learning"}
    links = [
        nd.Projection(
            "spike_state", "learned", (0, 40), (40, 90), nd.FixedProbability(0.3),
            weight=nd.Uniform(0.0, 1.0), delay=delay, **rule,
        ),
        nd.Projection("spike_state", "teach", (0, 20), (40, 60), nd.OneToOne(), delay=DT),
        nd.Projection("spike_state", "teach", (0, 20), (60, 80), nd.OneToOne(), delay=DT),
        nd.Projection("spike_state", "learned", (0, 40), (40, 90), nd.FixedProbability(0.1)),
    ]  # fmt: skip
    drawn = nd.Circuit.from_arrays(groups, links, name="drawn", seed=3)
    columns = drawn.with_parts(drawn.groups, [one.expanded() for one in drawn.connections])
    found = []
    for circuit in (drawn, columns):
        with nd.LPU(circuit, DT, [], [nd.MemoryRecorder([("V", None)])], backend="cpu") as lpu:
            lpu.run(steps=300)
            count = len(circuit.connections[0])
            found.append((np.asarray(lpu.recording.V), learned_weights(lpu, count)))
    (arrived, weights), (others, weights_of_columns) = found
    assert arrived.any() and len(np.unique(weights)) > 100
    assert np.array_equal(weights, weights_of_columns)
    assert np.array_equal(arrived, others)


class Rewarded(Pairs):
    """Pairs fill an eligibility; the weight follows it times a third factor."""

    params = {
        "tau_c": nd.Parameter("ms", default=1000.0, above=0.0),
        "tau_n": nd.Parameter("ms", default=200.0, above=0.0),
        "dose": nd.Parameter("", default=0.5),
        "base": nd.Parameter("", default=-0.002),
        "w_max": nd.Parameter("", default=4.0),
    }
    constants = {"q": "1 / tau_c + 1 / tau_n"}
    synapse = {"c": nd.State("")}
    modulators = {"n": Doses("tau_n", "dose")}
    between = """
        real grown = base * tau_c * expm1(-since_event / tau_c) - n * expm1(-since_event * q) / q;
        weight = clip(weight + c * grown);
        c = c * exp(-since_event / tau_c);
    """
    on_spike = "c = c + up * x;"
    on_arrival = "c = c - down * y; send(weight);"


def drifted(case: Case, doses: np.ndarray) -> np.ndarray:
    """Return the weights of `Rewarded` by Euler's method in a hundred parts of each step."""
    d, p = case.drawn(), case.rule().values
    weights, parts = d["weight"].copy(), 100
    for s in range(case.synapses):
        axonal = d["latency"][s] - 1 - d["forward"][s]
        arrivals = {int(k) + 1 + axonal for k in np.flatnonzero(d["pre"][:, d["source"][s]])}
        spikes = {int(k) + 2 + d["back"][s] for k in np.flatnonzero(d["post"][:, d["target"][s]])}
        last = max((n for n in arrivals | spikes | {*doses.tolist()} if n < case.steps), default=0)
        x, y, c, level = [0.0, 0], [0.0, 0], 0.0, 0.0
        for n in range(last + 1):
            level += p["dose"] * np.count_nonzero(doses == n)
            before = _read(y, n, p["tau_minus"]), _read(x, n, p["tau_plus"])
            if n in arrivals:
                c -= p["down"] * before[0]
                _jump(x, p["tau_plus"], n)
            if n in spikes:
                c += p["up"] * before[1]
                _jump(y, p["tau_minus"], n)
            for _ in range(parts if n < last else 0):
                h = DT * 1e3 / parts
                weights[s] += h * c * (level - p["base"])
                c -= h * c / p["tau_c"]
                level -= h * level / p["tau_n"]
    return weights


def test_doses_of_a_third_factor() -> None:
    """Weights follow eligibility and doses, which spikes of some components give."""
    wide = {"w_min": nd.Parameter("", default=-1e3), "w_max": nd.Parameter("", default=1e3)}
    case = Case(type("Free", (Rewarded,), {"params": wide}), synapses=12, steps=200)
    given = np.array([20, 21, 90])
    arrived, weights = simulated(case, doses=given)
    assert arrived.any()
    expected_weights = drifted(case, given + 1)
    assert np.abs(weights - case.drawn()["weight"]).max() > 1.0
    assert np.allclose(weights, expected_weights, rtol=2e-3, atol=2e-3)


class Jolted(Pairs):
    """Pairs; doses change weights at once, by what the synapse knows then."""

    params = {"tau_n": nd.Parameter("ms", default=40.0, above=0.0)}
    modulators = {"n": Doses("tau_n")}
    on_dose = {"n": """
        weight = clip(weight + 0.2 * x - 0.3 * y + 0.1 * n
                      - 0.002 * fmin(since_arrival, 30) * count);
    """}  # fmt: skip


def jolt(x: float, y: float, n: float, since_arrival: float) -> float:
    """Return what a dose of `Jolted` adds to a weight."""
    return 0.2 * x - 0.3 * y + 0.1 * n - 0.002 * since_arrival


@pytest.mark.parametrize("first", ["arrival", "spike"])
def test_texts_of_doses(first: str) -> None:
    """They come before the events of their step, and know the level before the dose."""
    case = Case(type("First", (Jolted,), {"first": first}), seed=2, steps=200)
    given = np.array([20, 21, 60, 61, 90, 150])
    arrived, weights = simulated(case, doses=given)
    loop, last = expected(case, frozenset((given + 1).tolist()))
    assert np.allclose(weights, last, atol=1e-13)
    assert np.allclose(arrived[1:], loop[:-1], atol=1e-7)
    assert np.abs(last - expected(replace(case, rule=Pairs))[1]).max() > 0.2


class Kept(Pairs):
    """Pairs; the weights of each target keep their sum."""

    params = {
        "interval": nd.Parameter("ms", default=50.0, above=0.0),
        "goal": nd.Parameter("", default=3.0),
    }
    every = {"interval": "total = sum(weight); weight = weight * goal / total;"}


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_over_the_synapses_of_a_target(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interval the weights of a target sum to what the rule says."""
    monkeypatch.setenv("NEURODRIVER_THREADS", str(threads))
    case = Case(Kept, targets=40, synapses=600, steps=151, rate=0.05)
    quiet = replace(case, steps=150)
    target = case.drawn()["target"]
    one = simulated(replace(case, rate=0.0))[1]
    sums = np.bincount(target, one)
    assert np.allclose(sums[np.bincount(target) > 0], 3.0, atol=1e-6)
    assert not np.allclose(simulated(quiet)[1], simulated(case)[1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_where_units_differ(dtype: str) -> None:
    """Other weights of a target decide of which size the parts are that its sums count."""
    sources = nd.Population("SpikeSource", 6, name="sources")
    cells = nd.Population(Listener, 3, name="cells")
    learned = nd.Projection(
        sources,
        cells,
        nd.AllToAll(),
        receptor="learned",
        weight=nd.Uniform(0.1, 1.0),
        plasticity=Kept(),
        name="learning",
    )
    fixed = [
        nd.Projection(sources[i : i + 1], cells[i : i + 1], nd.OneToOne(), receptor="learned",
                      weight=weight, name=f"fixed {i}")
        for i, weight in enumerate((1e-3, 1e4, 1.0))
    ]  # fmt: skip
    with nd.LPU(nd.Circuit([sources, cells], [learned, *fixed], seed=1), DT, dtype=dtype) as lpu:
        before = lpu["learning"].get().reshape(6, 3).sum(axis=0)
        lpu.run(steps=51)
        after = lpu["learning"].get().reshape(6, 3).sum(axis=0)
    assert (np.abs(before - 3.0) > 0.05).all()
    assert np.allclose(after, 3.0, atol=1e-4)


class Divided(Pairs):
    """Weights of 0.5 become no number at the first arrival."""

    on_arrival = "weight = (weight - 0.5) / (weight - 0.5); send(weight);"
    bounds, on_spike = None, ""


class SentAlone(Pairs):
    """What is sent is no number, and weights stay."""

    on_arrival = "send((weight - 0.5) / (weight - 0.5));"


class Counted(Pairs):
    """Counts the synapses of a target."""

    params = {"interval": nd.Parameter("ms", default=5.0, above=0.0)}
    synapse = {"number": nd.State("1", 0.0)}
    every = {"interval": "n = sum(1); number = n;"}


UNDEFINED = {
    "weight": (Divided(), "'learning': 60 values .* a number .*'sources/0' -> 'cells/0' is nan"),
    "sent": (SentAlone(), "'learning': 60 values .* a number .* on_arrival of SentAlone"),
    "sum": (
        Counted(w_max=1e-6),
        r"'learning': Counted.every\['interval'\]: n = sum\(1\) reaches .* between -1 and 1:",
    ),
}


@pytest.mark.parametrize("case", UNDEFINED)
@pytest.mark.parametrize("batch", [None, 2])
def test_values_that_are_no_numbers_are_told(case: str, batch: int | None) -> None:
    """The run ends with an error that names the connections, or goes on; targets get nothing."""
    rule, said = UNDEFINED[case]
    sources = nd.Population("SpikeSource", 6, name="sources")
    cells = nd.Population(Listener, 2, name="cells")
    links = nd.Projection(
        sources, cells, nd.AllToAll(), receptor="learned", plasticity=rule, name="learning",
        weight=0.5 if case != "sum" else 1e-6,
    )  # fmt: skip
    spikes = np.zeros((20, 6))
    spikes[2:7] = 1.0
    given = nd.ArrayInput({"spike_state": ([f"sources/{i}" for i in range(6)], spikes)})
    for policy in ("raise", "warn", "off", "steps"):
        recorder = nd.MemoryRecorder([("V", None)])
        nonfinite = policy if policy != "steps" else "raise"
        options = {"nonfinite": nonfinite, "batch": batch, "backend": "cpu"}
        circuit = nd.Circuit([sources, cells], [links])
        with nd.LPU(circuit, DT, given, recorder, **options) as lpu:
            if policy == "raise":
                wanted = LPUExecutionError if case == "sum" else nd.NonFiniteError
                with pytest.raises(wanted, match=said):
                    lpu.run(steps=20)
            elif policy == "steps":
                lpu.start()
                for _ in range(20):
                    lpu.advance(1)
                with pytest.warns(CircuitWarning, match=said):
                    lpu.finish()
            elif policy == "warn" or case == "sum":
                with pytest.warns(CircuitWarning, match=said):
                    lpu.run(steps=20)
            else:
                lpu.run(steps=20)
            assert np.abs(recorder.get("V")).max() <= (0.0 if case != "sum" else 1e-5)


@pytest.mark.parametrize("policy", ["raise", "warn"])
def test_all_connections_with_faults_are_named(policy: str) -> None:
    """An error names the first ones, and warnings all others: of sums, too."""
    sources = nd.Population("SpikeSource", 6, name="sources")
    cells = [nd.Population(Listener, 2, name=name) for name in ("a", "b")]
    links = [
        nd.Projection(
            sources, one, nd.AllToAll(), receptor="learned", plasticity=rule, name=f"to {one.name}",
            weight=1e-6 if one.name == "b" else 0.5,
        )
        for one, rule in zip(cells, (Divided(), Counted(w_max=1e-6)), strict=True)
    ]  # fmt: skip
    spikes = np.zeros((20, 6))
    spikes[2:7] = 1.0
    given = nd.ArrayInput({"spike_state": ([f"sources/{i}" for i in range(6)], spikes)})
    circuit = nd.Circuit([sources, *cells], links)
    with nd.LPU(circuit, DT, given, nonfinite=policy, backend="cpu") as lpu:
        with pytest.warns(CircuitWarning) as told:
            if policy == "raise":
                with pytest.raises(nd.NonFiniteError, match="'to a': 60 values"):
                    lpu.run(steps=20)
            else:
                lpu.run(steps=20)
        found = [str(one.message) for one in told]
        assert sum("'to b': Counted.every" in one for one in found) == 1
        assert sum("'to a': 60 values" in one for one in found) == (policy == "warn")


@pytest.mark.parametrize("rule", [nd.NormalisedSTDP(total=8.0), nd.DiehlCookSTDP()])
def test_weights_of_zero_are_not_scaled(rule: Plasticity) -> None:
    """Their sum is no divisor."""
    sources = nd.Population("PoissonSource", 6, rate=30.0)
    cells = nd.Population(Listener, 2)
    links = nd.Projection(
        sources, cells, nd.AllToAll(), receptor="learned", weight=0.0, plasticity=rule, name="p"
    )
    with nd.LPU(nd.Circuit([sources, cells], [links]), DT, backend="cpu") as lpu:
        lpu.run(steps=1100)
        assert (lpu["p"].get() == 0).all()


def test_too_many_steps() -> None:
    """Rows of spikes are counted in 4 bytes: longer runs are refused before they begin."""
    sources = nd.Population("PoissonSource", 2, rate=10.0)
    listener = nd.Population(Listener, 1)
    learned = {"receptor": "learned", "plasticity": Pairs(), "weight": 0.5}
    circuit = nd.Circuit(
        [sources, listener], [nd.Projection(sources, listener, nd.AllToAll(), **learned)]
    )
    with nd.LPU(circuit, DT, backend="cpu") as lpu:
        with pytest.raises(
            nd.CircuitError, match="at most 1,073,741,824 steps, which are 1,073,742 s"
        ):
            lpu.advance(2**30 + 1)
        lpu.advance(3)
        assert lpu.simulation.step == 3
