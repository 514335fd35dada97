"""Circuits cut into LPUs, and the whole with the extra step of each crossing as delay."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support import DT, Record, Recorded, spiking_network, started

from neurodriver import (
    LPU,
    Circuit,
    Input,
    Manager,
    MemoryRecorder,
    NoiseInput,
    PoissonInput,
    StepInput,
)
from neurodriver.circuit.cut import Parts
from neurodriver.plan.delays import steps_of

EVERYTHING: Record = (("V", None), ("spike_state", None), ("g", None))


def with_crossings(
    circuit: Circuit, part: NDArray[np.int64], dt: float = DT, more: int = 0
) -> Circuit:
    """Return the circuit with one step (and ``more``) added to every connection that crosses."""
    links = []
    for one in circuit.connections:
        across = part[one.source] != part[one.target]
        steps = np.broadcast_to(steps_of(one, dt), (len(one),)) + across * (1 + more)
        links.append(dataclasses.replace(one, delay=steps * dt))
    return circuit.with_parts(circuit.groups, links)


def random_parts(circuit: Circuit, parts: int, seed: int) -> NDArray[np.int64]:
    """Return a random part for each component; a synapse goes with its target."""
    rng = np.random.default_rng(seed)
    part = rng.integers(0, parts, circuit.count)
    for links in circuit.connections:
        if links.variable == "g":
            part[links.source] = part[links.target]
    return part


def network(neurons: int, seed: int) -> tuple[Circuit, list[Input]]:
    """Return a random spiking network and currents into its neurons."""
    circuit = spiking_network(neurons, 6, seed)
    currents = np.random.default_rng(seed).uniform(0.0, 3.0, neurons)
    return circuit, [StepInput("I", circuit.uids[:neurons], currents, 0.002, 0.05)]


def whole(circuit: Circuit, inputs: Sequence[Input], steps: int, **settings: Any) -> Recorded:
    """Return variable -> {uid: (steps,) values} of the circuit as one LPU."""
    with started(circuit, DT, inputs, _recordable(circuit), **settings) as lpu:
        lpu.run(steps=steps)
        recorder: Any = lpu.recorders[0]
        return by_uid(recorder, steps)


def _recordable(circuit: Circuit) -> list[tuple[str, Sequence[str] | None]]:
    variables = {v for group in circuit.groups for v in group.model.updates}
    return [(v, u) for v, u in EVERYTHING if v in variables]


def by_uid(recorder: MemoryRecorder, steps: int) -> dict[str, dict[str, NDArray[Any]]]:
    """Return variable -> uid -> values; of spikes, their times."""
    out: dict[str, dict[str, NDArray[Any]]] = {}
    for variable in recorder.output:
        data, uids = recorder.get(variable), recorder.uids(variable)
        if isinstance(data, dict):
            out[variable] = {u: data["time"][data["index"] == i] for i, u in enumerate(uids)}
        else:
            assert data.shape == (steps, len(uids))
            out[variable] = {u: data[:, i] for i, u in enumerate(uids)}
    return out


def managed(
    parts: Parts,
    inputs: Sequence[Input],
    steps: int,
    delay: float = 0.0,
    ranks: Mapping[str, int] | None = None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
    **settings: Any,
) -> tuple[Manager, dict[str, dict[str, NDArray[Any]]]]:
    """Run the parts as LPUs; return the manager and what the LPUs of this rank recorded."""
    man = Manager(timeout=60.0)
    for name, circuit in parts.circuits.items():
        mine = [_within(one, circuit) for one in inputs]
        arguments = [i for i in mine if i is not None], [MemoryRecorder(_recordable(circuit))]
        rank = (ranks or {}).get(name)
        man.add(LPU, name, circuit, DT, *arguments, rank=rank, **settings)
    for (source, target), pattern in parts.patterns().items():
        man.connect(source, target, pattern, delay=delay)
    man.spawn()
    if resume is not None:
        man.resume(resume)
    man.start(steps=steps, checkpoint=checkpoint)
    man.wait()
    out: dict[str, dict[str, NDArray[Any]]] = {}
    for lpu in man.lpus.values():
        for variable, columns in by_uid(lpu.recorders[0], steps).items():  # type: ignore[arg-type]
            out.setdefault(variable, {}).update(columns)
    return man, out


def after(recorded: Mapping[str, Any], step: int) -> dict[str, dict[str, NDArray[Any]]]:
    """Return what was recorded from a step on."""
    return {
        variable: {
            uid: data[data >= (step - 0.5) * DT] if variable == "spike_state" else data[step:]
            for uid, data in columns.items()
        }
        for variable, columns in recorded.items()
    }


def _within(one: Any, circuit: Circuit) -> Input | None:
    """Return an input restricted to the components of a part."""
    ((variable, uids),) = one.targets
    rows = np.flatnonzero(circuit.find(uids) >= 0)
    if not len(rows):
        return None
    names = np.asarray(uids)[rows]
    if isinstance(one, PoissonInput):
        return PoissonInput(variable, names, one.rate[rows], one.start, one.stop, one.seed)
    if isinstance(one, NoiseInput):
        span = one.start, one.stop, one.seed
        sizes = one.mean[rows], one.sigma[rows]
        return NoiseInput(variable, names, *sizes, *span, tau=one.tau)
    return StepInput(variable, names, one.value[rows], one.start, one.stop)


def assert_equal_bits(expected: Mapping[str, Any], found: Mapping[str, Any], all_of: bool) -> int:
    """Fail unless the columns found have the bits expected; return how many were compared."""
    compared = 0
    for variable, columns in found.items():
        for uid, values in columns.items():
            if uid.startswith("auto_"):
                continue
            np.testing.assert_array_equal(values, expected[variable][uid], f"{variable} of {uid}")
            compared += 1
    if all_of:
        assert compared == sum(len(columns) for columns in expected.values())
    assert compared
    return compared
