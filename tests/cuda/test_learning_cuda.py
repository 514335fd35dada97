"""Synapses that learn on a GPU: in any order of work, in windows or not, the bits of the CPU."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from learning import learned
from learning_circuits import DT, RULES, Pairs, told
from learning_networks import network, trains
from learning_values import STEPS as STEPS_WITH_VALUES
from learning_values import Everything, Modulated, Sampled, everything
from support import assert_same_bits, recorded, started

import neurodriver as nd
from neurodriver import (
    Circuit,
)
from neurodriver.backends.cuda import schedule
from neurodriver.circuit.plastic import learning_connections
from neurodriver.codegen.simt.shape import Shape
from neurodriver.model.plasticity import Plasticity

STEPS = 400
RECORD: Any = [("V", None), ("spike_state", None)]
CASES: dict[str, dict[str, Any]] = {
    "anywhere": {"sources": 40, "targets": 70, "synapses": 9000, "static": 500},
    "windows": {"least": 4, "longest": 12, "sources": 300, "targets": 900, "synapses": 30_000},
    "counts": {"counts": 5, "sources": 30, "synapses": 3000},
    "busy": {"rate": 0.6, "least": 2, "targets": 300, "synapses": 20_000},
}


def run(
    circuit: Circuit, inputs: Any, backend: str, dtype: str, dt: float = DT, **more: Any
) -> Any:
    """Return what is recorded, and the weights that learn, in the order of the connections."""
    with started(circuit, dt, inputs, RECORD, backend=backend, dtype=dtype, **more) as lpu:
        lpu.run(steps=STEPS)
        data = recorded(lpu, STEPS)
        for links in learning_connections(lpu.program.circuit):
            data[f"weight {links.name}"] = learned(lpu, projection=links.name)
    return data


@cache
def on_cpu(rule: type[Plasticity], case: str, dtype: str) -> Any:
    """Return what the CPU gives."""
    circuit, inputs, _ = told(rule(), **CASES[case], steps=STEPS)
    return run(circuit, inputs, "cpu", dtype)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rule", RULES)
def test_bits_of_the_cpu(rule: type[Plasticity], case: str, dtype: str, executor: str) -> None:
    """Resident in one call and in calls of odd lengths, and stepwise."""
    circuit, inputs, _ = told(rule(), **CASES[case], steps=STEPS)
    for chunk in (None, 7) if executor == "resident" else (None,):
        more = {"chunk": chunk} if chunk else {}
        got = run(circuit, inputs, "cuda", dtype, executor=executor, **more)
        assert_same_bits(on_cpu(rule, case, dtype), got)


@pytest.mark.parametrize("case", CASES)
def test_any_width_and_order_of_work(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block, a cluster, the grid; components held or streamed; warps that dawdle."""
    rule = RULES[4] if case == "anywhere" else RULES[0]
    circuit, inputs, _ = told(rule(), **CASES[case], steps=STEPS)
    shapes = [
        schedule.LaunchPlan("grid", 7, Shape(128, 1, False), (1, 1)),
        schedule.LaunchPlan("grid", 132, Shape(256, 1, False), (2, 2)),
        schedule.LaunchPlan("block", 1, Shape(512, 1, False), (2, 2)),
        schedule.LaunchPlan("cluster", 16, Shape(256, 1, True), (1, 1)),
        schedule.LaunchPlan("grid", 132, Shape(64, 1, True), (1, 1)),
    ]
    monkeypatch.setenv("NEURODRIVER_FUZZ", "5")
    for shape in shapes:
        monkeypatch.setattr(schedule, "choose", lambda *_, shape=shape: shape)
        got = run(circuit, inputs, "cuda", "float32")
        assert_same_bits(on_cpu(rule, case, "float32"), got)


@pytest.mark.parametrize("rule", [Everything, Sampled, Modulated])
def test_values_of_neurons(rule: type[Plasticity], dtype: str, executor: str) -> None:
    """Texts of each step, and arrivals that read potentials: resident, and stepwise."""
    circuit, inputs, _ = everything(rule)

    def weights(backend: str, chunk: int | None, **more: Any) -> Any:
        record: Any = [("sent", None), ("V", None)]
        with started(circuit, DT, inputs, record, chunk=chunk, backend=backend, dtype=dtype,
                     **more) as lpu:  # fmt: skip
            lpu.run(steps=STEPS_WITH_VALUES)
            own = {name: lpu["learning"].get(name) for name in ("weight", "seen")}
            return {**own, **recorded(lpu, STEPS_WITH_VALUES)}

    expected = weights("cpu", None)
    for chunk in (None, 7):
        assert_same_bits(expected, weights("cuda", chunk, executor=executor))


def test_numbers_of_each_synapse(dtype: str, executor: str) -> None:
    """A parameter of the rule differs between the synapses."""
    circuit, inputs, _ = told(Pairs(), **CASES["anywhere"], steps=STEPS)
    links = circuit.connections[1]
    numbers = np.random.default_rng(1).uniform(0.01, 0.1, len(links))
    varied = replace(links, data={**links.data, "A": numbers})
    every = tuple(varied if one is links else one for one in circuit.connections)
    circuit = circuit.changed(connections=every)
    expected = run(circuit, inputs, "cpu", dtype)
    assert_same_bits(expected, run(circuit, inputs, "cuda", dtype, executor=executor))


def test_traces_of_synapses(dtype: str) -> None:
    """They are read as they are now, between events."""
    circuit, found = network(nd.RewardedSTDP()), []
    for backend in ("cpu", "cuda"):
        with started(circuit, DT, [trains(circuit)], None, backend=backend, dtype=dtype) as lpu:
            lpu.run(steps=137)
            found.append({name: lpu["learning"].get(name) for name in ("weight", "c")})
    assert_same_bits(*found)
    assert np.ptp(found[0]["c"]) > 0.05


class Called(Modulated):
    """Modulated, with a text that Python calls."""

    on_call = {"reward(r)": "weight = clip(weight + r * seen * exp(-level)); seen = 0;"}


def test_texts_that_python_calls(dtype: str) -> None:
    """They run between two steps, and change what follows."""
    circuit, inputs, _ = everything(Called)

    def weights(backend: str) -> Any:
        with started(circuit, DT, inputs, None, backend=backend, dtype=dtype) as lpu:
            lpu.run(steps=STEPS_WITH_VALUES // 2)
            before = lpu["learning"].get()
            lpu["learning"].call("reward", r=0.5)
            after = lpu["learning"].get()
            assert not np.array_equal(before, after)
            lpu.run(steps=STEPS_WITH_VALUES // 2)
            return {"after": after, **{n: lpu["learning"].get(n) for n in ("weight", "seen")}}

    assert_same_bits(weights("cpu"), weights("cuda"))
