"""The multi-area model against its published numbers, and what its scales keep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support import example

import neurodriver as nd
from neurodriver.circuit.partition import partition
from neurodriver.circuit.share import shares
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.spikes import due
from neurodriver.plan.target import CUDA
from neurodriver.results import activity

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "multi_area"
published = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the model's numbers have a licence of their own"
)


@pytest.fixture(scope="module")
def model() -> ModuleType:
    return example("schmidt_2018")


@pytest.fixture(scope="module")
def made(model: ModuleType) -> Any:
    """Three areas that are not the macaque's."""
    return model.synthetic(areas=3, seed=1)


@pytest.fixture(scope="module")
def macaque(model: ModuleType) -> Any:
    return model.read(FOLDER)


@published
def test_the_published_size(macaque: Any) -> None:
    assert macaque.size.sum() == 4_129_924 and macaque.synapses.sum() == 24_126_516_728
    target, source = np.unravel_index(macaque.synapses.argmax(), macaque.synapses.shape)
    assert macaque.synapses.max() == 199_447_049
    assert (macaque.names[source], macaque.names[target]) == ("V4-23E", "CITd-4E")


@published
def test_mean_field_theory_gives_the_published_rates(model: ModuleType, macaque: Any) -> None:
    """So every in-degree and weight of the ground state is right."""
    with np.load(FOLDER / "rates.npz") as rates:
        np.testing.assert_allclose(model.mean_field(macaque), rates["ground_meanfield"], 1e-4)


@published
def test_delays_between_areas_are_the_published_ones(macaque: Any) -> None:
    """From 1.71 to 17.98 ms; 4.43 ms for the mean synapse."""
    between = (macaque.area[:, None] != macaque.area) & (macaque.synapses > 0)
    late, weight = macaque.delays()[between], macaque.synapses[between]
    assert late.min() == pytest.approx(1.71e-3, abs=5e-6)
    assert late.max() == pytest.approx(17.98e-3, abs=5e-6)
    assert np.average(late, weights=weight) == pytest.approx(4.43e-3, abs=5e-6)


def test_weights_of_both_states(model: ModuleType, made: Any) -> None:
    """Signs by source; twice from 4E to 23E; between areas the factors of the state."""
    ground, high = made.weights("ground"), made.weights("metastable")
    assert (ground[:, 0::2] == model.WEIGHT).sum() == 24 * 12 - 3
    assert (ground[:, 1::2] == -11 * model.WEIGHT).all()
    assert ground[0, 2] == 2 * model.WEIGHT and ground[0, 10] == model.WEIGHT
    inside = made.area[:, None] == made.area
    np.testing.assert_array_equal(high[inside], ground[inside])
    np.testing.assert_allclose(high[0, 8:], 1.9 * ground[0, 8:])
    np.testing.assert_allclose(high[1, 8:], 3.8 * ground[1, 8:])


@pytest.mark.parametrize("areas", [(), ("A0", "A2")])
@pytest.mark.parametrize("indegrees", [0.1, 0.5, 1.0])
def test_scales_keep_the_mean_input(
    model: ModuleType, made: Any, areas: tuple[str, ...], indegrees: float
) -> None:
    """Also that from areas which are left out; of all areas the variance, too."""
    at = model.scaled(made, 1.0, indegrees, "ground", areas)
    rates, tau = made.rates["ground"], model.NEURON["tau_exc"] * 1e-3
    outside = model.BACKGROUND * made.outside[at.kept]
    weight = made.weights("ground")[at.kept]
    whole = (made.indegree[at.kept] * weight) @ rates + model.WEIGHT * outside
    arriving = at.synapses / at.sizes[:, None] * rates[at.kept]
    mean = (arriving * at.weight).sum(1) + at.drive_weight * at.drive_rate
    np.testing.assert_allclose(tau * mean + at.current, tau * whole, rtol=1e-3, atol=0.02)
    if not areas:
        square = (made.indegree * weight**2) @ rates + model.WEIGHT**2 * outside
        found = (arriving * at.weight**2).sum(1) + at.drive_weight**2 * at.drive_rate
        np.testing.assert_allclose(found, square, rtol=1e-3)


def test_rounding_loses_no_synapses(model: ModuleType, made: Any) -> None:
    """At a scale where rounding down would lose each tenth one."""
    scale = 1e-7
    found = sum(model.scaled(made, scale, 1.0, seed=i).synapses.sum() for i in range(20)) / 20
    exact = scale * made.synapses.sum()
    down = np.floor(scale * made.synapses).sum()
    assert down < 0.9 * exact and found == pytest.approx(exact, rel=0.02)
    assert not model.scaled(made, scale).synapses[made.synapses == 0].any()


def test_it_fires_as_theory_says(model: ModuleType, made: Any) -> None:
    """In the ground state, at a fiftieth of its size, within the noise of half a second."""
    circuit, inputs, populations = model.network(made, 1, sizes=0.02, indegrees=0.2)
    assert circuit.count == sum(map(len, populations.values())) and len(populations) == 24
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, model.DT, inputs, [recorder], dtype="float32", seed=1, threads=1) as lpu:
        lpu.run(duration=1.0)
    spikes = recorder.get("spike_state")
    found = activity(**spikes, populations=populations, stop=1.0, start=model.START)
    rates = model.by_layer(made, np.arange(24), np.array([one.rate for one in found]))
    theory = model.by_layer(made, np.arange(24), made.rates["ground"])
    for layer in ("23I", "4E", "4I", "5I", "6I"):
        assert rates[layer] == pytest.approx(theory[layer], rel=0.35), layer


@published
def test_the_metastable_state_of_a_small_network_is_the_published_one(
    model: ModuleType, macaque: Any
) -> None:
    """Sizes and in-degrees of 0.006, and currents from the rates of the low-activity state.

    The published implementation tests itself so, with NEST. Its numbers of synapses are rounded in
    another way, so layers differ by up to 6 %. One that had the weights of the ground state, or
    left out the factor of inhibitory neurons, would fire at other rates.
    """
    with np.load(FOLDER / "rates.npz") as rates:
        rates_of = {"metastable": rates["low_activity_meanfield"]}
        expected = model.by_layer(macaque, np.arange(254), rates["scaled_metastable_nest"])
    anatomy, found = replace(macaque, rates=rates_of), []
    for seed in (1, 2):
        scale = {"sizes": 0.006, "indegrees": 0.006, "state": "metastable"}
        circuit, inputs, populations = model.network(anatomy, seed, **scale)
        counts = nd.CountRecorder("spike_state", start=model.START)
        with nd.LPU(circuit, model.DT, inputs, [counts], dtype="float32", seed=seed) as lpu:
            lpu.run(duration=2.0)
        (each,) = counts.rates("spike_state")
        found.append([each[one.start : one.stop].mean() for one in populations.values()])
    mean = model.by_layer(macaque, np.arange(254), np.mean(found, axis=0))
    for layer, rate in expected.items():
        assert mean[layer] == pytest.approx(rate, rel=0.1), layer


@pytest.mark.parametrize(
    ("given", "say"),
    [
        (["--data", "nowhere"], "nowhere: network.npz and rates.npz"),
        (["--areas", "V9"], "no area V9"),
    ],
)
def test_what_a_wrong_argument_is_told(
    model: ModuleType, given: list[str], say: str, monkeypatch: pytest.MonkeyPatch, made: Any
) -> None:
    monkeypatch.setattr("sys.argv", ["schmidt_2018.py", *given])
    monkeypatch.setattr(model, "synthetic", lambda: made)
    with pytest.raises(SystemExit, match=say):
        model.main()


def test_rates_in_a_file(
    model: ModuleType, monkeypatch: pytest.MonkeyPatch, made: Any, tmp_path: Path
) -> None:
    """They are those of the spikes after the start, which are counted, not kept."""
    path, scale = tmp_path / "rates.csv", {"sizes": 0.01, "indegrees": 0.1}
    given = ["--seconds", "0.1", "--rates", str(path)]
    monkeypatch.setattr("sys.argv", ["schmidt_2018.py", *given])
    monkeypatch.setattr(model, "synthetic", lambda: made)
    model.main()
    lines = path.read_text().splitlines()
    circuit, inputs, populations = model.network(made, 0, 0, **scale)
    recorder = nd.MemoryRecorder(["spike_state"])
    with nd.LPU(circuit, model.DT, inputs, [recorder], dtype="float32", seed=0) as lpu:
        lpu.run(duration=0.6)
    spikes = recorder.get("spike_state")
    late = spikes["index"][np.rint(np.asarray(spikes["time"]) / model.DT) >= 5_000]
    assert len(late) > 100 and len(lines) == len(populations)
    for line, (name, members) in zip(lines, populations.items(), strict=True):
        rate = np.isin(late, members).sum() / len(members) / 0.1
        assert line.split(",")[0] == name and float(line.split(",")[1]) == pytest.approx(rate, 1e-4)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("grid", [0, 28])
def test_memory_is_predicted(
    grid: int, parts: int, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From sizes, synapses and delays alone, within a hundredth of what each GPU's plan takes."""
    monkeypatch.setattr(due, "BARRIER", -1.0)
    anatomy, scale = model.synthetic(4), {"sizes": 0.02, "indegrees": 0.1}
    circuit, _, _ = model.network(anatomy, 0, grid, **scale)
    predicted = model.memory(anatomy, model.scaled(anatomy, **scale), grid > 0, parts)
    shared = shares(circuit, partition(circuit, parts), sends=True)
    for one in [circuit] if parts == 1 else [share.circuit for share in shared]:
        program = compile_circuit(one, model.DT, "float32", target=CUDA)
        sums = [one for one in program.gathers.values() if due.is_due(one)]
        assert predicted == pytest.approx(sum(one.nbytes(4) for one in sums), rel=0.01)
