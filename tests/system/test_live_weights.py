"""Weights are read and set between calls; what is on its way keeps the weight it was sent with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.model.library import shipped

DT, COUNT = 1e-4, 60
MODELS = shipped()


def spiking(weight: Any, delay: Any = 1.5e-3, drawn: bool = False) -> nd.Circuit:
    """Neurons that spike on their own, each with weighted connections to others."""
    rng = np.random.default_rng(1)
    model = MODELS["LeakyIAFExpCurrent"]
    params = {
        "resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0,
        "time_constant": 10.0, "capacitance": 250.0, "tau_exc": 0.5, "tau_inh": 0.5,
        "initV": rng.uniform(-65.0, -51.0, COUNT),
    }  # fmt: skip
    groups = [(model, COUNT, params, None)]
    if drawn:
        every = range(COUNT)
        rule = nd.FixedInDegree(10)
        links: Any = nd.Projection("spike_state", "exc", every, every, rule, weight, delay, "loop")
    else:
        source, target = (rng.integers(0, COUNT, 600).astype(np.int32) for _ in range(2))
        links = nd.Connections(
            "spike_state", "exc", source, target, np.asarray(delay), {"weight": np.asarray(weight)}
        )
    return nd.Circuit.from_arrays(groups, [links])


def run(circuit: nd.Circuit, *parts: Any, **options: Any) -> tuple[Any, nd.LPU]:
    """Potentials of a run in parts: numbers of steps, and what is called between them."""
    recorder = nd.MemoryRecorder([("V", None)])
    drive = nd.StepInput("I", [f"LeakyIAFExpCurrent/{i}" for i in range(COUNT)], 600.0)
    with nd.LPU(circuit, DT, drive, recorder, **options) as lpu:
        for part in parts:
            if isinstance(part, int):
                lpu.run(part)
            else:
                part(lpu)
    return recorder.get("V"), lpu


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_weights_set_before_the_first_step(drawn: bool, dtype: str) -> None:
    """Setting all weights first is the same as building the circuit with them."""
    name = "loop" if drawn else "spike_state -> exc"
    expected, _ = run(spiking(3.25, drawn=drawn), 600, dtype=dtype)
    other, _ = run(spiking(0.5, drawn=drawn), 600, dtype=dtype)
    assert not np.array_equal(other, expected)
    found: list[np.ndarray] = []
    values, _ = run(
        spiking(0.5, drawn=drawn),
        lambda lpu: lpu.connections[name].set("weight", 3.25),
        600,
        lambda lpu: found.append(lpu.connections[name].get()),
        dtype=dtype,
    )
    assert np.array_equal(values, expected)
    assert len(found[0]) == 600 and set(found[0]) == {3.25}


def test_what_is_there_changes_nothing() -> None:
    """Setting the weights that are there, in the middle of the run, changes no bit."""
    rng = np.random.default_rng(2)
    circuit = spiking(rng.uniform(0.0, 2.0, 600), rng.integers(1, 30, 600) * DT)
    expected, _ = run(circuit, 600)

    def same(lpu: nd.LPU) -> None:
        one = lpu.connections["spike_state -> exc"]
        one.set("weight", one.get("weight"))

    values, _ = run(circuit, 111, same, 89, same, 400)
    assert np.array_equal(values, expected) and np.ptp(expected) > 0


def test_spikes_on_their_way_keep_their_weight() -> None:
    """With weights of zero from step k on, what arrives within the delay after k still counts."""
    delay = 40
    circuit = spiking(2.0, delay * DT)
    expected, _ = run(circuit, 600)
    silent, _ = run(spiking(0.0, delay * DT), 600)
    first = int(np.flatnonzero((expected != silent).any(axis=1))[0])
    cut = first + delay // 2
    values, _ = run(
        circuit, cut, lambda lpu: lpu.connections["spike_state -> exc"].set("weight", 0.0), 300
    )
    assert np.array_equal(values[: cut + delay], expected[: cut + delay])
    assert not np.array_equal(values, expected[: cut + 300])


@pytest.mark.parametrize(
    ("name", "what", "values", "match"),
    [
        ("spike_state -> ecx", "weight", 1.0, "exc"),
        ("spike_state -> exc", "wait", 1.0, "weight"),
        ("spike_state -> exc", "weight", [1.0], "a number or 600"),
        ("spike_state -> exc", "weight", np.nan, "finite"),
        ("spike_state -> exc", "weight", "x", "a number or 600"),
    ],
)
def test_bad_weights_are_refused(name: str, what: str, values: Any, match: str) -> None:
    """Nothing changes, and the error says what is allowed."""
    circuit = spiking(1.0)
    expected, _ = run(circuit, 200)

    def wrong(lpu: nd.LPU) -> None:
        with pytest.raises(nd.NeurodriverError, match=match):
            lpu.connections[name].set(what, values)

    found, _ = run(circuit, 100, wrong, 100)
    assert np.array_equal(found, expected)


def test_weights_are_saved(tmp_path: Any) -> None:
    """A restored run has the weights that were set; reset() gives the first ones back."""
    path = tmp_path / "w.h5"

    def change(lpu: nd.LPU) -> None:
        lpu.connections["spike_state -> exc"].set("weight", np.linspace(0.1, 3.0, 600))
        lpu.save(path)

    expected, lpu = run(spiking(1.0), 200, change, 200)
    recorder = nd.MemoryRecorder([("V", None)])
    with nd.LPU.restore(path, lpu.inputs, [recorder]) as other:
        other.run(200)
        assert np.array_equal(recorder.get("V"), expected[200:])
        other.reset(keep=["weights"])
        assert other.connections["spike_state -> exc"].get()[-1] == 3.0
    with nd.LPU(spiking(1.0), DT) as fresh:
        fresh.connections["spike_state -> exc"].set("weight", 2.0)
        fresh.reset(keep=["weights"])
        assert set(fresh.connections["spike_state -> exc"].get()) == {2.0}
        fresh.reset()
        assert set(fresh.connections["spike_state -> exc"].get()) == {1.0}


def test_weights_change_again_and_again() -> None:
    """One object serves a loop; parameters that were set in between stay."""
    with nd.LPU(spiking(16.0), DT) as lpu:
        links = lpu.connections["spike_state -> exc"]
        for _ in range(3):
            links.set("weight", 0.5 * links.get())
        assert set(links.get()) == {2.0}
        lpu.set("threshold", -40.0)
        links.set("weight", 5.0)
        assert set(lpu.get("threshold")) == {-40.0} and set(links.get()) == {5.0}


@pytest.mark.parametrize("small", [1e-6, 1e-12])
def test_arrivals_too_large_for_small_weights_are_refused(small: float) -> None:
    """Slots count in units that follow the weights; what they cannot hold is told."""

    def wrong(lpu: nd.LPU) -> None:
        with pytest.raises(nd.NeurodriverError, match="so small that spikes on their way"):
            lpu.connections["spike_state -> exc"].set("weight", small)

    expected, _ = run(spiking(1e6), 200)
    found, _ = run(spiking(1e6), 100, wrong, 100)
    assert np.array_equal(found, expected) and np.ptp(expected) > 1.0


def test_numbers_of_connections_are_attributes() -> None:
    """Reading and assigning does what get and set do; an unknown name is refused."""
    with nd.LPU(spiking(1.0), DT) as lpu:
        links = lpu.connections["spike_state -> exc"]
        links.weight *= 2.5
        assert set(lpu.connections["spike_state -> exc"].weight) == {2.5} and "weight" in dir(links)
        with pytest.raises(nd.NeurodriverError, match="these values are a copy"):
            links.weight[3] = 1.0
        with pytest.raises(nd.NeurodriverError, match=r"no 'wieght'.*mean 'weight'"):
            links.wieght = 1.0
        with pytest.raises(AttributeError, match=r"no 'wieght'.*mean 'weight'"):
            _ = links.wieght


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("bogus", "no attribute is called 'bogus'"),
        ("recorder", "mean 'recorders'"),
        ("inputs", r"run\(inputs=...\)"),
        ("dt", "make a new LPU"),
    ],
)
def test_attributes_that_an_lpu_does_not_have(name: str, match: str) -> None:
    """An assignment that would change nothing is refused; a class of a user may have its own."""

    class Own(nd.LPU):
        pass

    with nd.LPU(spiking(1.0), DT) as lpu, Own(spiking(1.0), DT) as own:
        with pytest.raises(AttributeError, match=match):
            setattr(lpu, name, 1)
        own.bogus = 1


def test_values_of_an_input_in_use() -> None:
    """They are not assigned, but for a class of a user."""

    class Own(nd.StepInput):
        pass

    step, own = (kind("I", ["LeakyIAFExpCurrent/0"], 1.0) for kind in (nd.StepInput, Own))
    with nd.LPU(spiking(1.0), DT, [step, own]) as lpu:
        with pytest.raises(AttributeError, match=r"'value' cannot be assigned.*run\(inputs"):
            lpu.inputs[0].value = 600.0
        lpu.inputs[1].gain, lpu.inputs[0].on = 2.0, False


@pytest.mark.parametrize("drawn", [False, True])
def test_some_connections_are_read_and_set(drawn: bool) -> None:
    """By numbers, by a mask, by their ends; tables have what each of them has."""
    name = "loop" if drawn else "spike_state -> exc"
    with nd.LPU(spiking(1.0, drawn=drawn), DT) as lpu:
        links = lpu.connections[name]
        links.set("weight", [2.0, 3.0], at=[0, -1])
        uid = links.sources[300]
        links.set("weight", 4.0, of=(uid, None))
        mine = links.sources == uid
        assert set(links.get(of=(uid, None))) == {4.0} and mine.sum() == (links.weight == 4.0).sum()
        expected = np.ones(len(links))
        expected[[0, -1]] = 2.0, 3.0
        expected[mine] = 4.0
        assert np.array_equal(links.weight, expected)
        columns = links.columns()
        assert list(columns) == ["pre", "post", "delay", "weight"]
        assert np.array_equal(columns["weight"], expected)
        assert links.histogram(4)[0].sum() == len(links)
        model = "LeakyIAFExpCurrent"
        assert links.means() == pytest.approx({(model, model): expected.mean()})
        with pytest.raises(nd.NeurodriverError, match="a number or 2 of them"):
            links.set("weight", [1.0, 2.0, 3.0], at=[0, 1])


def test_connections_are_no_components() -> None:
    """The error says where they are."""
    with nd.LPU(spiking(1.0, drawn=True), DT) as lpu:
        with pytest.raises(nd.NeurodriverError, match=r"write lpu.connections\['loop'\]"):
            lpu["loop"]
