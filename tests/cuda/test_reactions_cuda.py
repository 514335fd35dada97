"""Sub-units on a GPU have the bits of the CPU, whichever thread advances them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import DT, Recorded, assert_same_bits, build, node, simulate

from neurodriver import ArrayInput, Circuit, NDComponent, Parameter, SubUnits
from neurodriver.model.subunits import Species

UIDS = [f"R{i}" for i in range(37)]
WIDE = Parameter("1", default=1.0, at_least=0.0, at_most=1e9, whole=True)


class Flashes(NDComponent):
    """Counts up to 65535 in two bytes, with draws of its own and spikes."""

    updates = ("spike_state", "V")
    params = {"number": WIDE, "rate": Parameter("1/s"), "death": Parameter("1/s", default=50.0)}
    maximum_dt = 1e-4
    sub_units = SubUnits(
        "number",
        {"n": Species(0, 65535), "m": Species(3, 4)},
        [("rate", {"n": 1}), ("death * n", {"n": -1, "m": 1}), ("1e3 * m", {"m": -1})],
        totals={"N": "n", "M": "m"},
    )
    update = "V = N + 0.25 * M + uniform(); spike_state = N > 3 * number;"


def both(circuit: Circuit, executor: str, steps: int, inputs: Any = (), **more: Any) -> Recorded:
    """Return what the GPU records, which is what the CPU records."""
    expected = simulate(circuit, more.pop("dt", DT), steps, inputs, backend="cpu", **more)
    for chunk in (steps, 7):
        found = simulate(
            circuit, DT, steps, inputs, backend="cuda", executor=executor, chunk=chunk, **more
        )
        assert_same_bits(expected, found)
    return expected


def test_photoreceptors(executor: str, dtype: str) -> None:
    """Cells of 100 to 1,432 microvilli in light that flickers."""
    nodes = {
        uid: node("PhotoreceptorModel", {"num_microvilli": 100 + 37 * i, "init_V": -81.99})
        for i, uid in enumerate(UIDS)
    }
    values = 1e3 * np.random.default_rng(3).integers(0, 40, (150, len(UIDS)))
    data = both(build(nodes), executor, 150, ArrayInput({"photon": (UIDS, values)}), dtype=dtype)
    assert np.ptp(data["V"]) > 1


@pytest.mark.parametrize("count", [3, 500, 9000], ids=["block", "cluster", "grid"])
def test_wide_counts_draws_and_events(count: int, executor: str) -> None:
    """Many reactions a step, no sub-units at all in some, spikes, two sub-steps a step."""
    number = np.arange(count) % 5 * (150 if count < 9000 else 7)
    circuit = Circuit.from_arrays([(Flashes, count, {"number": number, "rate": 3e3}, None)])
    record = [("V", None), ("spike_state", None)]
    data = both(circuit, executor, 40, record=record)
    assert data["spike_state"].any() and not data["spike_state"].all()
    other = simulate(circuit, 2 * DT, 20, (), record, backend="cpu")
    found = simulate(circuit, 2 * DT, 20, (), record, backend="cuda", executor=executor)
    assert_same_bits(other, found)


def test_whole_cells() -> None:
    """Two cells of 30,000 microvilli beside a neuron."""
    cell = {"num_microvilli": 30_000, "init_V": -81.99}
    nodes = {"a": node("PhotoreceptorModel", cell), "b": node("PhotoreceptorModel", cell)}
    rates = np.random.default_rng(1).uniform(0, 1e6, (200, 2))
    both(build(nodes), "resident", 200, ArrayInput({"photon": (["a", "b"], rates)}))


def test_a_runaway_ends_where_that_of_the_cpu_ends(executor: str) -> None:
    """Sub-units of the batch that gives up are advanced, those after it are not."""
    given = {"number": [700, 40, 1100], "rate": [1e30, 2e3, 2e3], "death": 0.0}
    circuit = Circuit.from_arrays([(Flashes, 3, given, None)])
    expected, found = (
        simulate(circuit, DT, 4, (), [("V", None)], nonfinite="off", **where)["V"]
        for where in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor})
    )
    assert np.isnan(expected[1:, 0]).all() and np.isfinite(expected[:, 1:]).all()
    np.testing.assert_array_equal(expected, found)
