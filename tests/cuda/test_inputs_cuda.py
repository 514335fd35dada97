"""Spikes and currents from outside on a GPU, in windows or not: the bits of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_same_bits, model, simulate

import neurodriver as nd
from neurodriver.backends.cuda.import_delivery import senders_of

DT, STEPS, N = 1e-4, 150, 331
RECORD: Any = [("V", None), ("spike_state", None)]
LIF = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
       "time_constant": 20.0, "refractory_period": 0.5}  # fmt: skip


def network(low: int, high: int, rule: bool = False) -> nd.Circuit:
    """Return neurons with random connections of ``low`` to ``high`` steps, by rule or not."""
    rng = np.random.default_rng(1)
    links: Any
    if rule:
        links = nd.Projection("spike_state", "spike_state", (0, N), (0, N),
                              nd.FixedProbability(0.1), nd.Normal(0.2, 0.3),
                              nd.Uniform(low * DT, high * DT))  # fmt: skip
    else:
        target = np.repeat(np.arange(N, dtype=np.int32), 23)
        source = rng.integers(0, N, len(target)).astype(np.int32)
        delay = rng.integers(low, high + 1, len(target)) * DT
        data = {"weight": rng.normal(0.2, 0.4, len(target))}
        links = nd.Connections("spike_state", "spike_state", source, target, delay, data)
    start = rng.uniform(-60.0, -49.9, N)
    groups: Any = [(model("LeakyIAFDelta"), N, {**LIF, "initV": start}, None)]
    return nd.Circuit.from_arrays(groups, [links], seed=2)


def poisson(uids: list[str]) -> list[nd.Input]:
    """Return rare events for all, in another order, and frequent ones for some."""
    return [nd.PoissonInput("spike_state", uids[::-1], 700.0, seed=3),
            nd.PoissonInput("spike_state", uids[5:40], 9e3, 2e-3, 12e-3, seed=4),
            nd.PoissonInput("spike_state", uids[50:], 900.0, 3e-3, 11e-3, 7, False)]  # fmt: skip


def rows(uids: list[str]) -> list[nd.Input]:
    """Return values at each step, some of them zero, twice for one neuron."""
    rng = np.random.default_rng(5)
    table = rng.poisson(0.2, (STEPS, 60)).astype(float)
    some = [*uids[:59], uids[3]]
    return [nd.ArrayInput({"spike_state": (some, table)})]


def currents(uids: list[str]) -> list[nd.Input]:
    """Return a current that comes and goes, one that stays, and events."""
    return [nd.StepInput("I", uids, 12.0, 3e-3, 9e-3), nd.StepInput("I", uids[7:300], 9.0),
            nd.PoissonInput("spike_state", uids, 500.0, seed=6)]  # fmt: skip


INPUTS: dict[str, Callable[[list[str]], list[nd.Input]]] = {
    "poisson": poisson, "rows": rows, "currents": currents,
}  # fmt: skip
DELAYS = [(1, 20), (5, 9), (15, 15)]


@pytest.mark.parametrize("rule", [False, True])
@pytest.mark.parametrize("delays", DELAYS)
@pytest.mark.parametrize("name", list(INPUTS))
def test_bits_of_the_cpu(
    name: str, delays: tuple[int, int], rule: bool, dtype: str, executor: str
) -> None:
    """In one call and in calls of odd lengths, which end within windows, and stepwise."""
    made = network(*delays, rule)
    uids = made.uids.tolist()
    given = {"dtype": dtype, "seed": 1}
    expected = simulate(made, DT, STEPS, INPUTS[name](uids), RECORD, backend="cpu", **given)
    assert expected["spike_state"].sum() > 100
    for chunk in (None, 7, 1) if executor == "resident" else (None,):
        more = {"chunk": chunk} if chunk else {}
        found = simulate(
            made, DT, STEPS, INPUTS[name](uids), RECORD,
            backend="cuda", executor=executor, **given, **more,
        )  # fmt: skip
        assert_same_bits(found, expected)


@pytest.mark.parametrize("delays", DELAYS)
def test_nothing_is_summed_by_target(delays: tuple[int, int]) -> None:
    """The window is that of the circuit, and all spikes of inputs have a sender."""
    made = network(*delays)
    uids = made.uids.tolist()
    with nd.LPU(made, DT, poisson(uids), backend="cuda") as lpu:
        program = lpu.simulation.backend.program
        assert program.window == delays[0] and program.listed == (True,) * 3
        assert list(senders_of(program)) == [("spike_state", True)]


@pytest.mark.parametrize("name", list(INPUTS))
def test_inputs_into_neurons_without_other_sources(name: str, dtype: str, executor: str) -> None:
    """One input reaches slots of some neurons and rows of others: each spike counts once."""
    rng = np.random.default_rng(8)
    some, others = 200, N - 200
    source = rng.integers(0, N, 4000).astype(np.int32)
    target = rng.integers(0, some, 4000).astype(np.int32)
    delay, data = rng.integers(1, 20, 4000) * DT, {"weight": rng.normal(0.2, 0.4, 4000)}
    links = nd.Connections("spike_state", "spike_state", source, target, delay, data)
    start, lif = rng.uniform(-60.0, -49.9, N), model("LeakyIAFDelta")
    groups: Any = [(lif, some, {**LIF, "initV": start[:some]}, None),
                   (lif, others, {**LIF, "initV": start[some:]}, None)]  # fmt: skip
    made = nd.Circuit.from_arrays(groups, [links], seed=2)
    uids, given = made.uids.tolist(), {"dtype": dtype, "seed": 1}
    expected = simulate(made, DT, STEPS, INPUTS[name](uids), RECORD, backend="cpu", **given)
    found = simulate(
        made, DT, STEPS, INPUTS[name](uids), RECORD, backend="cuda", executor=executor, **given
    )
    assert_same_bits(found, expected)
