"""Circuits whose components draw random numbers, and random inputs for them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support import AMPA, DT, IAF, Record, build, model, node

from neurodriver import (
    LPU,
    Circuit,
    Connections,
    Input,
    Manager,
    MemoryRecorder,
    NDComponent,
    NoiseInput,
    PoissonInput,
)

NEURONS = 12
RECORD: Record = (("V", None), ("I", None), ("spike_state", None))

Values = dict[str, NDArray[Any]]


class Echo(NDComponent):
    """Shows the current that is injected into it."""

    accesses = ("I",)
    updates = ("x",)
    reference = "A test (no DOI)."
    update = "x = I;"


def echoes(count: int) -> Circuit:
    """Return components that show a current, and components that show injected spikes."""
    groups = [
        (Echo, count, {}, [f"e{i}" for i in range(count)]),
        (model("SpikeSource"), count, {}, [f"s{i}" for i in range(count)]),
    ]
    return Circuit.from_arrays(groups)


def echoed(circuit: Circuit) -> list[Input]:
    """Return noise, noise with a correlation time, and spikes for `echoes`."""
    currents, spikes = (group.uids.tolist() for group in circuit.groups)
    half = len(currents) // 2
    return [
        NoiseInput("I", currents[:half], seed=1),
        NoiseInput("I", currents[half:], seed=1, tau=1e-5),
        PoissonInput("spike_state", spikes, 3000.0, seed=1),
    ]


def noisy_graph(neurons: int = NEURONS, seed: int = 3) -> Circuit:
    """Return LeakyIAF neurons with uids, each with a source of noise and one of spikes.

    ``n<i>`` gets a current from ``noise<i>`` and spikes of ``train<i>`` through ``into<i>``.
    The neurons excite each other through synapses.
    """
    rng = np.random.default_rng(seed)
    nodes: dict[str, Mapping[str, Any]] = {}
    edges: list[tuple[Any, ...]] = []
    synapse = {**AMPA, "gmax": 0.02, "st": 5.0, "reverse": 0.0}
    for i in range(neurons):
        nodes[f"n{i}"] = node("LeakyIAF", IAF, threshold=-60.0)
        nodes[f"noise{i}"] = node("NoisyCurrent", {"mean": 1.0, "sigma": 1.0})
        nodes[f"train{i}"] = node("PoissonSource", {"rate": 300.0})
        nodes[f"into{i}"] = node("SynapseAMPA", synapse)
        nodes[f"s{i}"] = node("SynapseAMPA", synapse)
        other = int(rng.integers(0, neurons))
        edges += [(f"noise{i}", f"n{i}"), (f"train{i}", f"into{i}"), (f"into{i}", f"n{i}")]
        edges += [(f"n{other}", f"s{i}"), (f"s{i}", f"n{i}")]
    return build(nodes, edges)


def noisy_arrays(neurons: int = NEURONS) -> Circuit:
    """Return LeakyIAF neurons without uids, each with a source of noise of its own."""
    number = np.arange(neurons, dtype=np.int32)
    groups = [
        (model("LeakyIAF"), neurons, {**IAF, "threshold": -60.0}, None),
        (model("NoisyCurrent"), neurons, {"mean": 1.0, "sigma": 1.0}, None),
        (model("PoissonSource"), neurons, {"rate": 300.0}, None),
    ]
    return Circuit.from_arrays(groups, [Connections("I", "I", neurons + number, number)])


def random_inputs(circuit: Circuit) -> list[Input]:
    """Return white noise, noise with a correlation time, and trains of rates, by uid."""
    neurons = [g for g in circuit.groups if g.name == "LeakyIAF"]
    sources = [g for g in circuit.groups if g.name == "PoissonSource"]
    out: list[Input] = []
    for group in neurons:
        out.append(NoiseInput("I", group.uids, 0.5, 0.5, seed=1))
        out.append(NoiseInput("I", group.uids, 0.0, 0.5, seed=2, tau=2e-3))
    for group in sources:
        out.append(PoissonInput("rate", group.uids, 1000.0, seed=3))
    return out


def side_by_side(
    lpus: Mapping[str, tuple[Circuit, list[Input]]],
    steps: int,
    record: Record = RECORD,
    ranks: Mapping[str, int] | None = None,
    strict: bool = False,
    **settings: Any,
) -> dict[str, Values]:
    """Run LPUs that are not wired in one Manager; return the rows of those of this rank."""
    man = Manager(timeout=60.0, strict=strict)
    for name, (circuit, inputs) in lpus.items():
        rank = (ranks or {}).get(name)
        recorders = [MemoryRecorder(record)]
        man.add(LPU, name, circuit, DT, inputs, recorders, rank=rank, **settings)
    man.spawn()
    man.start(steps=steps)
    man.wait()
    return {name: rows_of(lpu.recorders[0], steps) for name, lpu in man.lpus.items()}


def rows_of(recorder: Any, steps: int) -> Values:
    """Return variable -> (steps, n); spikes as zeros and ones."""
    out: Values = {}
    for variable, entry in recorder.output.items():
        data = entry["data"]
        if isinstance(data, dict):
            rows = np.zeros((steps, len(entry["uids"])))
            rows[np.rint(data["time"] / DT).astype(int), data["index"]] = 1
            data = rows
        out[variable] = data
    return out


def assert_independent(one: NDArray[Any], other: NDArray[Any]) -> None:
    """Fail unless columns of white noise are uncorrelated, each with each of the other."""
    assert one.shape == other.shape and len(one) > 1000
    sides = [(x - x.mean(axis=0)) / x.std(axis=0) for x in (one[1:], other[1:])]
    correlation = sides[0].T @ sides[1] / len(sides[0])
    assert np.abs(correlation).max() < 6.0 / math.sqrt(len(sides[0])), correlation
    same = float(np.mean(np.diag(correlation)))
    assert abs(same) < 5.0 / math.sqrt(sides[0].size)


def digest(recorded: Mapping[str, Any]) -> str:
    """Return a hash of all that was recorded."""
    state = hashlib.sha256()
    for variable, rows in sorted(recorded.items()):
        state.update(variable.encode())
        state.update(np.ascontiguousarray(rows).tobytes())
    return state.hexdigest()
