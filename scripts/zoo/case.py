"""A case of the zoo: how it is run, that it moves, and the digest of what it gives."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.circuit.partition import clusters, partition
from neurodriver.run.given import as_circuit

DT, STEPS = 1e-4, 200

COUNT = 333
"""Components of a group: three tiles of 128, the last one not full."""

MOVES, ENOUGH = 0.2, 300
"""Share of the columns of a variable that change at least; how many are enough of many."""

Values = dict[str, tuple[Any, int]]
"""Variable -> rows (steps, n), or events as ``time`` and ``index``; and the number of columns n."""

Wanted = Sequence[str | tuple[str, Sequence[str] | None]]
"""Variables to record, of all components or of some."""


@dataclass(frozen=True)
class How:
    """On what a case is run; no digest depends on it, but for the type.

    Attributes
    ----------
    dtype : {"float64", "float32"}
    backend, executor : str or None
        The package's defaults where they are None.
    threads : int or None
    resumed : sequence of dict
        Options of LPUs that go on, one after the other, from the state that the last one left, each
        after an equal share of the steps; empty: one LPU does all steps.
    copies : int
        Not 0: the run is the last copy of a batch; the others have other seeds.
    parts : int
        Not 0: the LPU has so many parts, or as many as can be apart.
    """

    dtype: str = "float64"
    backend: str | None = None
    executor: str | None = None
    threads: int | None = None
    resumed: Sequence[dict[str, Any]] = ()
    copies: int = 0
    parts: int = 0

    @property
    def options(self) -> dict[str, Any]:
        """Options of an LPU within a Manager, which has the threads."""
        return {"dtype": self.dtype, "backend": self.backend, "executor": self.executor}


@dataclass(frozen=True)
class Case:
    """A circuit and a run of it.

    Attributes
    ----------
    run : callable
        Runs it; returns what was recorded.
    host : bool
        Whether models of it read the host's memory, so that no GPU can run it.
    """

    name: str
    run: Callable[[How], Values]
    host: bool = False


def recorder(wanted: Wanted, interval: int = 1) -> nd.MemoryRecorder:
    """Return a recorder of some variables."""
    return nd.MemoryRecorder([(v, None) if isinstance(v, str) else v for v in wanted], interval)


def recorded(one: nd.MemoryRecorder, head: str = "") -> Values:
    """Return all that a recorder holds, under names that begin with ``head``."""
    return {head + name: (one.get(name), len(one.uids(name))) for name in one.output}


def simulated(
    how: How,
    circuit: Any,
    inputs: Sequence[nd.Input] = (),
    wanted: Wanted = ("V", "spike_state"),
    *,
    dt: float = DT,
    steps: int = STEPS,
    interval: int = 1,
    pieces: Iterable[int] = (),
    **options: Any,
) -> Values:
    """Run a circuit as one LPU and return what was recorded.

    ``pieces`` are lengths of the first calls of ``advance``; the rest is advanced at once.
    """
    options = {**how.options, "threads": how.threads, **options}
    if how.resumed:
        return resumed(how, circuit, inputs, wanted, dt, steps, interval, options)
    one = recorder(wanted, interval)
    if how.copies:
        seed = options.pop("seed", 0)
        seeds = [*range(seed + 1, seed + how.copies), seed]
        options["batch"] = nd.Batch(how.copies, seeds=seeds)
    if how.parts:
        circuit = as_circuit(circuit, options.pop("models", ()))
        options["parts"] = partition(circuit, min(how.parts, clusters(circuit).max() + 1))
    with nd.LPU(circuit, dt, inputs, [one], **options) as lpu:
        lpu.start(steps)
        for piece in pieces:
            lpu.advance(piece)
        lpu.advance(steps - lpu.step)
        lpu.finish()
    return recorded(one) if not how.copies else of_copy(one, how.copies - 1)


def of_copy(one: nd.MemoryRecorder, copy: int) -> Values:
    """Return all that a recorder holds of one copy of a batch."""
    part, out = one.recording.copies[copy], {}
    for name in one.output:
        values: Any = part[name]
        events = isinstance(values, nd.Events)
        data = dict(zip(("time", "index"), values.read(), strict=True)) if events else values[:]
        out[name] = data, len(one.uids(name))
    return out


def resumed(
    how: How,
    circuit: Any,
    inputs: Sequence[nd.Input],
    wanted: Wanted,
    dt: float,
    steps: int,
    interval: int,
    options: dict[str, Any],
) -> Values:
    """Run a circuit in several LPUs, each of which goes on from a checkpoint of the last one."""
    parts: list[Values] = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.h5"
        for number, more in enumerate(how.resumed, 1):
            one, given = recorder(wanted, interval), {**options, **more}
            if number == 1:
                lpu = nd.LPU(circuit, dt, inputs, [one], **given)
                models = [group.model for group in lpu.circuit.groups]
            else:
                for name in ("dtype", "seed", "models"):
                    given.pop(name, None)
                lpu = nd.LPU.restore(path, inputs, [one], models=models, **given)
            with lpu:
                end = steps * number // len(how.resumed)
                lpu.run(end - lpu.step)
                lpu.save(path)
            parts.append(recorded(one))
    return {name: (joined([p[name][0] for p in parts]), parts[0][name][1]) for name in parts[0]}


def joined(parts: list[Any]) -> Any:
    """Return recordings of one variable as one."""
    if not isinstance(parts[0], dict):
        return np.concatenate(parts)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def managed(
    how: How,
    circuits: dict[str, nd.Circuit],
    patterns: dict[tuple[str, str], Any],
    inputs: dict[str, list[nd.Input]],
    wanted: dict[str, Wanted],
    *,
    dt: float = DT,
    steps: int = STEPS,
    delay: float = 0.0,
    **options: Any,
) -> Values:
    """Run circuits as LPUs of one process and return what was recorded, by LPU and variable."""
    man = nd.Manager(threads=how.threads)
    recorders = {name: recorder(wanted[name]) for name in circuits}
    for name, circuit in circuits.items():
        given = inputs.get(name, []), [recorders[name]]
        man.add(nd.LPU, name, circuit, dt, *given, **how.options, **options)
    for (source, target), pattern in patterns.items():
        man.connect(source, target, pattern, delay=delay)
    man.spawn()
    man.start(steps=steps)
    man.wait()
    return {k: v for name, one in recorders.items() for k, v in recorded(one, f"{name}/").items()}


def digest(data: Any) -> str:
    """Return the SHA-256 of an array, or of the arrays of events: type, shape and bytes."""
    arrays = [data["time"], data["index"]] if isinstance(data, dict) else [data]
    state = hashlib.sha256()
    for array in arrays:
        state.update(f"{array.dtype.str} {array.shape};".encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def still(data: Any, columns: int) -> str:
    """Return what is wrong with a variable that shows no activity; empty where there is some."""
    if isinstance(data, dict):
        times, moving = len(np.unique(data["time"])), len(np.unique(data["index"]))
        if times < 3:
            return f"{len(data['time'])} events at {times} times"
    elif not data.size or not np.isfinite(data).all():
        return f"values of shape {data.shape} that are missing or not finite"
    else:
        moving = int(np.count_nonzero(np.ptp(data, axis=0)))
    enough = moving >= min(MOVES * columns, ENOUGH)
    return "" if enough else f"{moving} of {columns} columns move"


def digests(case: Case, how: How) -> dict[str, str]:
    """Run a case and return the digest of each variable.

    Raises
    ------
    RuntimeError
        Where a variable does not move: its digest would show nothing.
    """
    values = case.run(how)
    if not values:
        raise RuntimeError(f"{case.name}, {how.dtype}: nothing was recorded")
    for variable, (data, columns) in values.items():
        if fault := still(data, columns):
            raise RuntimeError(f"{case.name}, {how.dtype}: '{variable}' is still: {fault}")
    return {variable: digest(data) for variable, (data, _) in values.items()}


def drawn(rng: np.random.Generator, ranges: dict[str, Any], count: int) -> dict[str, Any]:
    """Return parameters: numbers as they are, and uniform ones between two bounds."""
    return {
        name: rng.uniform(*given, count) if isinstance(given, tuple) else given
        for name, given in ranges.items()
    }


def named(head: str, count: int) -> list[str]:
    """Return uids."""
    return [f"{head}_{i}" for i in range(count)]


def ends(rng: np.random.Generator, sources: int, targets: int, edges: int) -> Any:
    """Return random sources and targets of connections, (edges,) int32 each."""
    pair = rng.integers(0, sources, edges), rng.integers(0, targets, edges)
    return [end.astype(np.int32) for end in pair]


def delays(rng: np.random.Generator, longest: int, edges: int) -> NDArray[np.float64]:
    """Return latencies of 1 to ``longest`` steps in seconds."""
    steps: NDArray[np.float64] = rng.integers(1, longest + 1, edges) * DT
    return steps
