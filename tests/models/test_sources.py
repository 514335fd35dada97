"""Sources of noise: their laws, and that they are reproducible."""

from __future__ import annotations

import numpy as np
import pytest
from support import AMPA, IAF, Recorded, assert_same_bits, build, node, simulate

from neurodriver import LPU, Circuit, MemoryRecorder, StepInput
from neurodriver.errors import CircuitError
from neurodriver.model.library import shipped

SIGMAS = 4.5
"""Standard deviations that a mean may be off; with a fixed seed a test passes always or never."""


def many(name: str, count: int, **given: float) -> Circuit:
    """Return components of one model."""
    return Circuit.from_arrays([(shipped()[name], count, given, None)])


def spread(values: np.ndarray, variance: float) -> None:
    """Check a variance of normal numbers: its standard deviation is ``variance sqrt(2 / n)``."""
    n = values.size
    assert abs(values.var() - variance) < SIGMAS * variance * np.sqrt(2 / n)


# ---- PoissonSource --------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "dt"), [(20.0, 1e-4), (200.0, 1e-4), (200.0, 1e-3), (3e3, 1e-3)])
def test_poisson_counts(rate: float, dt: float) -> None:
    """Counts are binomial with ``1 - exp(-rate dt)``: mean and variance."""
    count, steps = 400, 1001
    p = -np.expm1(-rate * dt)
    spikes = simulate(many("PoissonSource", count, rate=rate), dt, steps,
                      record=[("spike_state", None)])["spike_state"]  # fmt: skip
    assert not spikes[0].any()
    drawn = spikes[1:]
    assert abs(drawn.mean() - p) < SIGMAS * np.sqrt(p * (1 - p) / drawn.size)
    spread(drawn.sum(axis=0), 1000 * p * (1 - p))
    spread(drawn.sum(axis=1), count * p * (1 - p))


def test_poisson_spikes_are_independent() -> None:
    """No correlation from step to step, nor between sources; intervals are geometric."""
    steps, count, p = 4001, 100, -np.expm1(-0.05)
    circuit = many("PoissonSource", count, rate=500.0)
    spikes = simulate(circuit, 1e-4, steps, record=[("spike_state", None)])["spike_state"][1:]
    centred = spikes - p
    for lag in (1, 2, 7):
        found = (centred[lag:] * centred[:-lag]).mean() / (p * (1 - p))
        assert abs(found) < SIGMAS / np.sqrt(centred[lag:].size)
    for apart in (1, 16, 17):
        found = (centred * np.roll(centred, apart, axis=1)).mean() / (p * (1 - p))
        assert abs(found) < SIGMAS / np.sqrt(centred.size)
    intervals = np.concatenate([np.diff(np.flatnonzero(column)) for column in spikes.T])
    assert intervals.size > 10000
    for longest in (1, 5, 20, 60):
        share = 1 - (1 - p) ** longest
        off = abs((intervals <= longest).mean() - share)
        assert (
            off < SIGMAS * np.sqrt(share * (1 - share) / intervals.size) + 0.002
        )  # cut at the end


def test_poisson_rate_is_modulated() -> None:
    """A rate that is injected adds to the parameter; a negative sum is none."""
    circuit = many("PoissonSource", 1000, rate=50.0)
    rates = [StepInput("rate", circuit.uids, 450.0, 0.02, 0.04),
             StepInput("rate", circuit.uids, -1e3, 0.04, 0.06)]  # fmt: skip
    spikes = simulate(circuit, 1e-3, 61, rates, [("spike_state", None)])["spike_state"]
    for rows, rate in ((slice(1, 21), 50.0), (slice(21, 41), 500.0), (slice(41, 61), 0.0)):
        p = -np.expm1(-rate * 1e-3)
        found = spikes[rows]
        assert abs(found.mean() - p) <= SIGMAS * np.sqrt(p * (1 - p) / found.size)


def test_poisson_limits() -> None:
    """Never at a rate of 0, at every step at a rate far above 1 / dt; a negative one is refused."""
    nodes = {"never": node("PoissonSource", {}), "ever": node("PoissonSource", {"rate": 1e6})}
    spikes = simulate(build(nodes), 1e-4, 500, record=[("spike_state", None)])["spike_state"]
    assert spikes.sum(axis=0).tolist() == [0.0, 499.0]
    with pytest.raises(CircuitError, match="'rate': must be finite and at least 0"):
        build({"n": node("PoissonSource", {"rate": -1.0})})


def trains(uids: list[str], seed: int = 0, threads: int = 1) -> dict[str, list[float]]:
    """Return the train of each source of a circuit."""
    circuit = build({uid: node("PoissonSource", {"rate": 300.0}) for uid in uids})
    recorder = MemoryRecorder([("spike_state", uids)])
    with LPU(circuit, 1e-3, (), [recorder], seed=seed, threads=threads) as lpu:
        lpu.run(steps=300)
    events = recorder.output["spike_state"]["data"]
    return {u: events["time"][events["index"] == i].tolist() for i, u in enumerate(uids)}


def test_poisson_trains_belong_to_their_uids() -> None:
    """Order, number and threads of the sources change no train; another seed changes all."""
    some = trains(["a", "b", "c"])
    assert all(len(train) > 50 for train in some.values())
    assert some["a"] != some["b"]
    more = trains(["x", "c", "b", "y", "a", *[f"n{i}" for i in range(60)]], threads=2)
    assert {u: more[u] for u in some} == some
    assert all(train != some[u] for u, train in trains(["a", "b", "c"], seed=1).items())


def test_poisson_source_drives_a_synapse() -> None:
    """Each spike of the source adds ``gmax`` to the conductance one step later."""
    nodes = {
        "p": node("PoissonSource", {"rate": 200.0}),
        "s": node("SynapseAMPA", AMPA, reverse=0.0),
        "n": node("LeakyIAF", IAF),
    }
    record = [("spike_state", ["p"]), ("g", ["s"]), ("V", ["n"])]
    data = simulate(build(nodes, [("p", "s"), ("s", "n")]), 1e-4, 1000, (), record)
    s, expected = 0.0, [0.0]
    for spike in data["spike_state"][:-1, 0]:
        s = s * np.exp(-0.1 / AMPA["st"]) + spike
        expected.append(AMPA["gmax"] * s)
    assert data["spike_state"].sum() > 5
    np.testing.assert_allclose(data["g"][:, 0], expected, rtol=1e-12)
    assert data["V"].max() > -69.9


# ---- OrnsteinUhlenbeckCurrent ---------------------------------------------------------------

OU = {"mean": 2.0, "sigma": 1.5, "time_constant": 5.0}


@pytest.mark.parametrize("dt", [1e-4, 2e-3])
def test_ornstein_uhlenbeck_moments(dt: float) -> None:
    """Mean, variance and covariance at any two steps are those of the process, at any step."""
    count, h = 4000, 1000 * dt
    i = simulate(many("OrnsteinUhlenbeckCurrent", count, **OU), dt, 101, record=[("I", None)])["I"]
    assert np.all(i[0] == 2.0)
    for row in (1, 10, 100):
        variance = 1.5**2 * -np.expm1(-2 * row * h / 5.0)
        assert abs(i[row].mean() - 2.0) < SIGMAS * np.sqrt(variance / count)
        spread(i[row], variance)
        for later in (row + 1, row + 30):
            if later < len(i):
                rho = np.exp(-(later - row) * h / 5.0)
                found = (i[later] - 2.0 - rho * (i[row] - 2.0)) * (i[row] - 2.0)
                rest = 1.5**2 * -np.expm1(-2 * (later - row) * h / 5.0)
                assert abs(found.mean()) < SIGMAS * np.sqrt(variance * rest / count)


def test_ornstein_uhlenbeck_without_noise_decays() -> None:
    """From ``initI`` to the mean, exactly exponential."""
    circuit = build({"n": node("OrnsteinUhlenbeckCurrent", {**OU, "sigma": 0.0}, initI=7.0)})
    i = simulate(circuit, 1e-4, 500, record=[("I", None)])["I"][:, 0]
    np.testing.assert_allclose(i, 2.0 + 5.0 * np.exp(-np.arange(500) * 0.1 / 5.0), rtol=1e-12)


def test_ornstein_uhlenbeck_is_a_current() -> None:
    """A neuron integrates it like any current, one step later."""
    nodes = {"i": node("OrnsteinUhlenbeckCurrent", OU), "n": node("LeakyIAF", IAF)}
    record = [("I", ["i"]), ("V", ["n"])]
    data = simulate(build(nodes, [("i", "n")]), 1e-4, 500, (), record)
    v, decay, expected = -70.0, np.exp(-0.1 / 20.0), [-70.0]
    for current in data["I"][:-1, 0]:
        v = v * decay + (10.0 * current - 70.0) * (1 - decay)
        expected.append(v)
    assert np.ptp(expected) > 5.0
    np.testing.assert_allclose(data["V"][:, 0], expected, rtol=1e-12)


# ---- NoisyCurrent ---------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [1e-4, 1e-3])
def test_noisy_current_is_white(dt: float) -> None:
    """The charge of 20 ms has the variance ``sigma^2 t`` at any step; no step knows another."""
    steps = round(0.02 / dt)
    circuit = many("NoisyCurrent", 3000, mean=1.0, sigma=0.7)
    i = simulate(circuit, dt, steps + 1, record=[("I", None)])["I"][1:]
    h = 1000 * dt
    charge = h * i.sum(axis=0)
    assert abs(charge.mean() - 20.0) < SIGMAS * 0.7 * np.sqrt(20.0 / 3000)
    spread(charge, 0.7**2 * 20.0)
    spread(i, 0.7**2 / h)
    product = (i[1:] - 1.0) * (i[:-1] - 1.0) * h / 0.7**2
    assert abs(product.mean()) < SIGMAS / np.sqrt(product.size)


def test_noisy_current_into_membranes() -> None:
    """V of a leaky membrane has the stationary variance ``R^2 s^2 (1 - b) / (1 + b) / dt``."""
    count = 1500
    iaf = {**IAF, "threshold": 1e6}
    nodes = {f"i{k}": node("NoisyCurrent", {"sigma": 1.2}) for k in range(count)}
    nodes |= {f"n{k}": node("LeakyIAF", iaf) for k in range(count)}
    edges = [(f"i{k}", f"n{k}") for k in range(count)]
    uids = [f"n{k}" for k in range(count)]
    v = simulate(build(nodes, edges), 1e-3, 150, (), [("V", uids)])["V"][-1]
    b = np.exp(-1.0 / 20.0)
    assert abs(v.mean() + 70.0) < SIGMAS * v.std() / np.sqrt(count)
    spread(v, 10.0**2 * 1.2**2 * (1 - b) / (1 + b))


# ---- all ------------------------------------------------------------------------------------


def noisy(dtype: str, **settings: object) -> Recorded:
    """Return a run of all sources."""
    circuit = Circuit.from_arrays(
        [
            (shipped()["PoissonSource"], 37, {"rate": np.linspace(10, 900, 37)}, None),
            (shipped()["OrnsteinUhlenbeckCurrent"], 21, OU, None),
            (shipped()["NoisyCurrent"], 50, {"sigma": 1.0}, None),
        ]
    )
    record = [("spike_state", None), ("I", None)]
    return simulate(circuit, 1e-3, 200, (), record, dtype=dtype, **settings)


def test_sources_give_the_same_bits(dtype: str) -> None:
    """For any number of threads and any chunks."""
    assert_same_bits(noisy(dtype), noisy(dtype, threads=2, chunk=7))
