"""Synapses that read potentials, against a plain loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_networks import equal, state_of
from learning_on_cpu import LearningOnCPU
from learning_values import (
    DT,
    SOURCES,
    STEPS,
    TARGETS,
    Counter,
    Everything,
    Modulated,
    Potentials,
    Sampled,
    everything,
)
from support import assert_same_bits, recorded, started

import neurodriver as nd
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA


def by_loops(way: dict[str, Any], rule: type[nd.Plasticity]) -> dict[str, Any]:
    """Return the numbers of the synapses and what arrives in each row, in plain Python."""
    interval = 4 if rule is Sampled else STEPS
    first = np.full((1, 3, TARGETS), -70.6)
    rows = np.concatenate([first, way["told"].transpose(1, 0, 2)])
    count = np.zeros((STEPS + 1, SOURCES))
    for n in range(STEPS):
        count[n + 1] = 0.9 * count[n] + way["go"][n]
    spikes = np.vstack([np.zeros((1, SOURCES)), way["go"]]) > 0.5
    fires = rows[:, 0] > 0
    fires[0] = False
    weights, seen, sent = [], [], np.zeros((STEPS + 6, TARGETS))
    decay = np.exp(-1.0 / 7.0)
    for i, j, late, f, b, w in zip(
        *(way[n] for n in ("source", "target", "late", "forward", "back", "weight")), strict=True
    ):
        x = y = s = 0.0
        a = late - 1 - f
        for n in range(STEPS):
            x, y = x * decay, y * decay
            row = max(n - b, 0)
            arrives, spike = n >= a and spikes[n - a, i], n >= b and fires[n - b, j]
            counted, plus = count[max(n - a - 2, 0), i], rows[max(n - b - 2, 0), 1, j]
            if n > 0 and n % interval == 0:
                w = np.clip(w + 0.02 * counted * plus - 0.03 * spikes[max(n - a, 0), i], -2, 2)
                s += 0.1 * rows[row, 0, j]
            if arrives:
                w = np.clip(w - 0.1 * y + 0.01 * rows[row, 2, j], -2, 2)
                sent[n + f + 1, j] += w
            if spike:
                w = np.clip(w + 0.2 * x, -2, 2)
            x, y = x + arrives, y + spike
            w = np.clip(w + 0.01 * x * rows[row, 0, j] - 0.02 * y * plus, -2, 2)
            s = 0.5 * s + counted + 0.1 * spikes[max(n - a, 0), i]
        weights.append(w)
        seen.append(s)
    return {"weight": np.array(weights), "seen": np.array(seen), "sent": sent[:STEPS]}


@pytest.mark.parametrize("rule", [Everything, Sampled])
def test_events_and_values_in_one_rule(rule: type[nd.Plasticity]) -> None:
    """Any place on the way of a spike; late values of both ends; threads and chunks."""
    circuit, inputs, way = everything(rule)
    expected = by_loops(way, rule)
    runs = []
    for options in ({"threads": 1}, {"threads": 3, "chunk": 1}, {"threads": 2, "chunk": 7}):
        with started(circuit, DT, inputs, [("sent", None)], backend="cpu", **options) as lpu:
            lpu.run(steps=STEPS)
            own = {name: lpu["learning"].get(name) for name in ("weight", "seen")}
            runs.append({**own, "sent": recorded(lpu, STEPS)["sent"]})
            assert_same_bits(runs[0], runs[-1])
    for name, column in expected.items():
        np.testing.assert_allclose(runs[0][name], column, rtol=0, atol=1e-7, err_msg=name)


def test_it_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """With the bits of a run without interruption."""
    circuit, inputs, _ = everything()
    with started(circuit, DT, inputs, None, backend="cpu") as lpu:
        lpu.run(steps=STEPS)
        whole = state_of(lpu)
    with started(circuit, DT, inputs, None, backend="cpu") as lpu:
        lpu.run(steps=31)
        lpu.save(tmp_path / "a.h5")
    models = [Potentials, Counter, Everything]
    options: dict[str, Any] = {"models": models, "backend": "cpu"}
    with nd.LPU.restore(tmp_path / "a.h5", [inputs], **options) as lpu:
        lpu.run(steps=STEPS - 31)
        assert equal(state_of(lpu), whole)


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize(("lanes", "dtype"), [(1, "float64"), (32, "float32")])
@pytest.mark.parametrize("rule", [Everything, Sampled, Modulated])
def test_text_of_a_gpu(rule: type[nd.Plasticity], lanes: int, dtype: str) -> None:
    """Its warps, on a CPU, have the bits of the CPU: in one call, and in several."""
    circuit, inputs, _ = everything(rule)
    record: Any = [("V", None), ("u_plus", None), ("u_minus", None), ("sent", None),
                   ("spike_state", None), ("count", None)]  # fmt: skip
    with started(circuit, DT, inputs, record, backend="cpu", dtype=dtype) as lpu:
        lpu.run(steps=STEPS)
        data = recorded(lpu, STEPS)
        synapses = lpu["learning"]._synapses()  # as they are stored: `get` adds what has drifted
        own = {name: synapses.read(name).astype(dtype) for name in ("weight", "seen")}
    program = compile_circuit(circuit, DT, dtype, target=CUDA)
    unit = float(program.gathers[0, "learned"].uniform["unit"])
    for calls in ([STEPS], [1, 1, 5, 30, STEPS - 37]):
        one = LearningOnCPU(program, lanes)
        read = one.play(stored(program, data), calls, unit, TARGETS)
        assert read[:-1].tobytes() == data["sent"][1:].astype(dtype).tobytes()
        one.catch_up(STEPS)
        for name, column in own.items():
            got = np.empty(len(column), dtype)
            got[one.plan.order] = one.of_plan(name)
            assert got.tobytes() == column.tobytes(), name
    assert program.window == 1 and np.ptp(own["weight"]) > 1


def stored(program: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return recorded rows as a program stores them; none is known after the last one."""
    owners = {"count": [1], "spike_state": [0, 1]}
    out = {}
    for variable in ("V", "u_plus", "u_minus", "count", "spike_state"):
        rows = np.zeros((STEPS + 1, program.layout.rings[variable].width), program.dtype)
        groups = owners.get(variable, [0])
        places = np.concatenate([program.layout.elements(g, variable) for g in groups])
        rows[:-1, places] = data[variable]
        out[variable] = rows
    return out
