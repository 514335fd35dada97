"""Synapses that read potentials: against NEST for given potentials, and against a plain loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_networks import equal, state_of
from support import assert_same_bits, model, recorded, started

import neurodriver as nd
from neurodriver import ArrayInput, Circuit, Connections
from neurodriver.errors import CircuitError
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

FILE = Path(__file__).parents[3] / "shared" / "data" / "plasticity" / "nest_clopath.npz"
TOLERANCE = {"float64": 1e-11, "float32": 1e-5}
"""Of the largest weight."""


class Potentials(nd.NDComponent):
    """Has the potentials that it is told, and spikes where V is above 0."""

    accesses = (nd.Weighted("spike_state", "learned"), "V_told", "plus", "minus")
    updates = {"spike_state": "1", "V": "mV", "u_plus": "mV", "u_minus": "mV", "sent": "1"}
    states = {"V": nd.State("mV", -70.6), "u_plus": nd.State("mV", -70.6),
              "u_minus": nd.State("mV", -70.6)}  # fmt: skip
    update = """
        V = V_told; u_plus = plus; u_minus = minus; sent = learned;
        spike_state = V > 0 ? 1 : 0;
    """


class InNEST(nd.ClopathSTDP):
    """NEST potentiates at the beginning of a step, with the trace of that time."""

    synapse = {"carried": nd.State("", 0.0)}
    constants = {"decay": "exp(-dt_ms / tau_x)"}
    on_arrival = nd.ClopathSTDP.on_arrival.replace("send", "carried = weight; send")
    on_step = nd.ClopathSTDP.on_step.replace("gain * x", "gain * x * decay")


def test_weights_of_nest(dtype: str) -> None:
    """What each spike carries, for the potentials of NEST's neuron."""
    if not FILE.exists():
        pytest.skip(f"{FILE} is not there")
    f = dict(np.load(FILE))
    meta = json.loads(str(f["meta"]))
    p, dt = meta["parameters"], meta["dt_ms"] * 1e-3
    sources = int(f["syn_pre"].max()) + 1
    steps = int(f["out_step"].max()) + 2
    signals = np.stack([f["post_V"], f["post_u_plus"], f["post_u_minus"]])
    # row r is that of row r in the file; u_minus is one row late, as NEST's arrivals come last
    told = np.stack([signals[0, 1:], signals[1, 1:], signals[2, :-1]])[:, :steps]
    spikes = np.zeros((steps, sources))
    spikes[f["pre_step"] - 1, f["pre_index"]] = 1.0
    uids = [f"s{i}" for i in range(sources)]
    given = {"spike_state": (uids, spikes)}
    given |= {n: (["t"], told[i][:, None]) for i, n in enumerate(("V_told", "plus", "minus"))}
    rule = InNEST(
        A_LTP=p["A_LTP"], A_LTD=p["A_LTD"], theta_plus=p["theta_plus"], tau_x=p["tau_x"],
        theta_minus=p["theta_minus"], delay_u=p["delay_u_bars"], w_max=p["w_max"],
    )  # fmt: skip
    back = (f["syn_delay"] - 1) * dt
    data = {"weight": f["syn_weight"], "back": back}
    ends = f["syn_pre"].astype(int) + 1, np.zeros(sources, int), np.asarray(dt)
    links = Connections("spike_state", "learned", *ends, data, rule, "learning")
    groups: list[Any] = [(Potentials, 1, {}, ["t"]), (model("SpikeSource"), sources, {}, uids)]
    circuit = Circuit.from_arrays(groups, [links])
    tolerance = TOLERANCE[dtype] * np.abs(f["out_weight"]).max()
    with started(circuit, dt, ArrayInput(given), None, dtype=dtype, backend="cpu") as lpu:
        for n in np.unique(f["out_step"]):
            lpu.run(steps=int(n) + 1 - lpu.simulation.step)
            mine = f["out_step"] == n
            got = lpu["learning"].get("carried")[f["out_synapse"][mine]]
            np.testing.assert_allclose(got, f["out_weight"][mine], rtol=0, atol=tolerance)
    assert len(f["out_step"]) > 100 and np.ptp(f["out_weight"]) > 0.5


class Everything(nd.Plasticity):
    """Events, traces of both ends, and values, in one rule."""

    params = {"tau": nd.Parameter("ms", default=7.0), "lag": nd.Parameter("ms", default=2.0)}
    synapse = {"seen": nd.State("1", 0.0)}
    pre = {"x": nd.Trace("tau")}
    post = {"y": nd.Trace("tau")}
    late = {"post.u_plus": "lag", "pre.count": "lag"}
    bounds = (-2.0, 2.0)
    on_arrival = "weight = clip(weight - 0.1 * y + 0.01 * post.u_minus); send(weight);"
    on_spike = "weight = clip(weight + 0.2 * x);"
    on_step = """
        weight = clip(weight + 0.01 * x * post.V - 0.02 * y * post.u_plus);
        seen = 0.5 * seen + pre.count + 0.1 * pre.value;
    """


class Counter(nd.NDComponent):
    """Spikes when told to, and counts its steps."""

    accesses = ("go",)
    updates = {"spike_state": "1", "count": "1"}
    states = {"count": nd.State("1", 0.0)}
    update = "spike_state = go > 0.5 ? 1 : 0; count = 0.9 * count + go;"


SOURCES, TARGETS, SYNAPSES, STEPS, DT = 6, 30, 120, 80, 1e-3


def everything() -> tuple[Circuit, ArrayInput, dict[str, Any]]:
    """Return a circuit of `Everything`, its input, and what they are made of."""
    rng = np.random.default_rng(3)
    ends = rng.integers(0, SOURCES, SYNAPSES), rng.integers(0, TARGETS, SYNAPSES)
    order = np.lexsort(ends[::-1])
    late = rng.integers(1, 5, SYNAPSES)
    way = {"source": ends[0][order], "target": ends[1][order], "late": late,
           "forward": rng.integers(0, 4, SYNAPSES) % late, "back": rng.integers(0, 3, SYNAPSES),
           "weight": rng.uniform(-1, 1, SYNAPSES)}  # fmt: skip
    go = (rng.random((STEPS, SOURCES)) < 0.2).astype(float)
    told = rng.normal(0.0, 1.0, (3, STEPS, TARGETS))
    told[0] -= 1.0
    data = {"weight": way["weight"], "dendritic": way["forward"] * DT, "back": way["back"] * DT}
    links = Connections("spike_state", "learned", way["source"] + TARGETS, way["target"],
                        way["late"] * DT, data, Everything(), "learning")  # fmt: skip
    targets, sources = [f"t{i}" for i in range(TARGETS)], [f"s{i}" for i in range(SOURCES)]
    groups: list[Any] = [(Potentials, TARGETS, {}, targets), (Counter, SOURCES, {}, sources)]
    given = {name: (targets, told[i]) for i, name in enumerate(("V_told", "plus", "minus"))}
    given["go"] = sources, go
    return Circuit.from_arrays(groups, [links]), ArrayInput(given), way | {"go": go, "told": told}


def by_loops(way: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of the synapses and what arrives in each row, in plain Python."""
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
            if arrives:
                w = np.clip(w - 0.1 * y + 0.01 * rows[row, 2, j], -2, 2)
                sent[n + f + 1, j] += w
            if spike:
                w = np.clip(w + 0.2 * x, -2, 2)
            x, y = x + arrives, y + spike
            gain = 0.01 * x * rows[row, 0, j] - 0.02 * y * rows[max(n - b - 2, 0), 1, j]
            w = np.clip(w + gain, -2, 2)
            s = 0.5 * s + count[max(n - a - 2, 0), i] + 0.1 * spikes[max(n - a, 0), i]
        weights.append(w)
        seen.append(s)
    return {"weight": np.array(weights), "seen": np.array(seen), "sent": sent[:STEPS]}


def test_events_and_values_in_one_rule() -> None:
    """Any place on the way of a spike; late values of both ends; threads and chunks."""
    circuit, inputs, way = everything()
    expected = by_loops(way)
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


def test_a_gpu_refuses_it() -> None:
    """With the connections, the reason and what to do."""
    circuit, *_ = everything()
    said = r"'learning'.*Everything has a text that reads values.*take backend='cpu'"
    with pytest.raises(CircuitError, match=said):
        compile_circuit(circuit, DT, target=CUDA)
