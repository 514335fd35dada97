"""The examples of published networks: spikes and potentials have the bits of the CPU, in any order.

``NEURODRIVER_TEST_SEEDS`` says how many orders of work are tried on each circuit (20 by default);
1,000 of them, dealt to processes: ``NEURODRIVER_TEST_SEEDS=1000 pytest -n 16 -k order_of_work``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import test_same_bits_as_cpu as circuits
from support import Recorded, assert_same_bits, example, simulate

SEEDS = int(os.environ.get("NEURODRIVER_TEST_SEEDS", "20"))
PART = 20
"""Orders of work that one test tries."""

NETWORKS: dict[str, tuple[str, dict[str, Any], int]] = {
    "kicked brain": ("shiu_2024", {"neurons": 4_000, "kicked": 150}, 600),
    "several kicks a step": ("shiu_2024", {"neurons": 500, "kicked": 90, "rate": 2e4}, 300),
    "brunel": ("brunel_2000", {"neurons": 1_000}, 400),
    "delays of one step": ("izhikevich_2003", {"neurons": 1_500}, 300),
    "all to all": ("izhikevich_2003", {}, 200),
    "coba": ("vogels_abbott_2005", {"neurons": 1_000}, 400),
    "cuba": ("vogels_abbott_2005", {"neurons": 1_000, "currents": True}, 400),
    "hodgkin huxley": ("brette_2007_hh", {"neurons": 500}, 300),
    "microcircuit": ("potjans_diesmann_2014", {"scale": 0.02}, 400),
}
"""Name -> example, arguments of its ``network``, steps."""

FUZZED: dict[str, Callable[..., Recorded]] = {
    **{
        name: lambda backend="cuda", name=name, **more: circuits.run(
            name, "float64", backend, chunk=50, **more
        )
        for name in ("random delays", "converging", "optic lobe")
    },
    **{
        name: lambda backend="cuda", name=name, **more: run(name, backend, "float32", **more)
        for name in ("several kicks a step", "delays of one step", "cuba")
    },
}


def run(name: str, backend: str, dtype: str, **settings: Any) -> Recorded:
    """Run a network."""
    source, arguments, steps = NETWORKS[name]
    module = example(source)
    circuit, inputs, _ = module.network(seed=3, **arguments)
    record = [("V", None), ("spike_state", circuit.groups[0].uids)]
    more = {"dtype": dtype, "backend": backend, "seed": 3, "chunk": 57}
    return simulate(circuit, module.DT, steps, inputs, record, **more, **settings)


@cache
def on_cpu(name: str, dtype: str) -> Recorded:
    return run(name, "cpu", dtype)


@pytest.mark.parametrize("plans", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, dtype: str, plans: bool, executor: str) -> None:
    """Rules, weights, delays of one step and many, Poisson sources, counts beyond one."""
    got = run(name, "cuda", dtype, plans=plans, executor=executor)
    assert_same_bits(on_cpu(name, dtype), got)


@cache
def in_order(name: str) -> Recorded:
    return FUZZED[name]("cpu")


@pytest.mark.parametrize("part", range(-(-SEEDS // PART)))
@pytest.mark.parametrize("name", FUZZED)
def test_any_order_of_work(monkeypatch: pytest.MonkeyPatch, name: str, part: int) -> None:
    """Warps that dawdle and take their work in other orders read nothing that is being written."""
    for seed in range(1 + part * PART, 1 + min(SEEDS, (part + 1) * PART)):
        monkeypatch.setenv("NEURODRIVER_FUZZ", str(seed))
        circuits.same(in_order(name), FUZZED[name]())
