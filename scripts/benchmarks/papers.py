"""What the cases of published spiking networks share: the examples, ours and the peers in turn."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.results import Activity, activity

from .measure import barrier, median, peer, triad

EXAMPLES = Path(__file__).parents[2] / "examples" / "papers"
THREADS = 2


@cache
def example(name: str) -> ModuleType:
    """Return an example of ``examples/papers``."""
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def brain(path: Path, neurons: int, kicked: int, seed: int) -> None:
    """Write the synthetic table of a brain for the peers."""
    shiu = example("shiu_2024")
    table = shiu.synthetic(neurons, seed=seed)
    columns = {"source": table.source, "target": table.target, "count": table.count}
    np.savez(path, **columns, neurons=neurons, kicked=shiu.some(table, kicked, seed))


@dataclass(frozen=True, slots=True)
class Peer:
    """How a simulator runs the case.

    Attributes
    ----------
    script : str
        In ``scripts/peers``.
    seconds : float
        Simulated; short where it is far behind, as its time a step is what counts.
    """

    script: str
    arguments: tuple[str, ...]
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The same circuit with less to do, which tells what bounds a case.

    Attributes
    ----------
    params : dict
        Of all components that have them, instead of the example's.
    update : str
        The mathematics of the first group, instead of its model's; terms that it does not use are
        left out by the compiler, unless they call functions.
    """

    told: str
    params: Mapping[str, Any]
    update: str = ""

    def of(self, made: Any) -> Any:
        """Return the network with less to do."""
        circuit, *rest = made
        groups = []
        for group in circuit.groups:
            given = {n: np.asarray(v) for n, v in self.params.items() if n in group.model.params}
            groups.append(replace(group, params={**group.params, **given}))
        if self.update:
            model = groups[0].model
            less = {"update": self.update, "__doc__": "Does less."}
            groups[0] = replace(groups[0], model=type(model.__name__, (model,), less))
        return circuit.with_parts(groups, circuit.connections), *rest


@dataclass(frozen=True, slots=True)
class Case:
    """A network at one size.

    Attributes
    ----------
    network : dict
        Arguments of the example's ``network``.
    target : float
        Times the fastest peer; 0 where only the time counts.
    most_seconds : float
        Target for a second of simulated time; infinite where only the ratio counts.
    """

    title: str
    example: str
    network: Mapping[str, Any]
    peers: tuple[Peer, ...]
    target: float = 0.0
    most_seconds: float = math.inf
    ceilings: tuple[Ceiling, ...] = ()
    seed: int = 1


def row(case: Case, rounds: int, python: str | None) -> dict[str, Any]:
    """Return the row of a case: ours in both precisions, ceilings and the peers, in turn."""
    module = example(case.example)
    made = module.network(seed=case.seed, **case.network)
    spent: dict[str, list[float]] = {"float64": [], "float32": []}
    theirs: dict[tuple[Peer, int], list[float]] = {}
    less = [one.of(made) for one in case.ceilings]
    bounds: list[list[float]] = [[] for _ in less]
    shifts = [(p, t) for p in case.peers for t in (1, 2)] if python else []
    for turn in range(max(2, len(shifts))):
        for dtype, found in spent.items():
            found += [seconds_a_step(made, module.DT, dtype) for _ in range(max(1, rounds // 2))]
        for network, took in zip(less, bounds, strict=True):
            took.append(seconds_a_step(network, module.DT, "float64"))
        if turn < len(shifts):
            who, threads = shifts[turn]
            theirs[who, threads] = _timed(str(python), who, threads, case.seed, rounds)
    mine = {dtype: median(found) for dtype, found in spent.items()}
    spikes, own, window = fired(made, module)
    events = _events(made[0], spikes) * module.DT
    neurons = made[0].groups[0].count
    out = {
        "case": f"{case.title}, {neurons:,} neurons, {made[0].edges:,} connections, float64",
        "us a step": mine["float64"] * 1e6,
        "seconds": mine["float64"] / module.DT,
        "float32 us": mine["float32"] * 1e6,
        "target": _target(case),
        "floor": "; ".join(
            [
                _floor(made[0], window, mine["float64"], events),
                *(
                    f"{one.told} {median(took) * 1e6:.3g} us"
                    for one, took in zip(case.ceilings, bounds, strict=True)
                ),
            ]
        ),
    }
    if not theirs:
        met = {} if case.target else _met(case, math.inf, out["seconds"])
        return out | met | {"peer": "not run (--peers)", "activity": _told(own, None)}
    best = min(theirs, key=lambda key: median(theirs[key]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spikes.npz")
        more = (*best[0].arguments, "--spikes", str(path))
        _run(str(python), Peer(best[0].script, more), best[1], case.seed, 1)
        held = np.load(path)
        other = activity(held["time"], held["index"], made[2], 1.0, module.START)
    told = ", ".join(f"{_name(p)} {t}: {median(v) * 1e6:.3g} us" for (p, t), v in theirs.items())
    ratio = median(theirs[best]) / mine["float64"]
    met = _met(case, ratio, out["seconds"])
    return out | met | {"peer": told, "ratio": ratio, "activity": _told(own, other)}


def seconds_a_step(made: Any, dt: float, dtype: str, seconds: float = 1.0) -> float:
    """Return the mean time of a step over the first simulated seconds."""
    circuit, inputs, _ = made
    steps = round(seconds / dt)
    with nd.LPU(circuit, dt, inputs, dtype=dtype, threads=THREADS, seed=1) as lpu:
        begin = time.perf_counter()
        lpu.advance(steps)
        return (time.perf_counter() - begin) / steps


def first_steps(case: Case, steps: int, runs: int) -> dict[str, Any]:
    """Return the row of the first steps of a run, each on threads that have just begun."""
    module = example(case.example)
    made = module.network(seed=case.seed, **case.network)
    whole = seconds_a_step(made, module.DT, "float64")
    each = sorted(
        seconds_a_step(made, module.DT, "float64", steps * module.DT) for _ in range(runs)
    )
    said = f"{case.title}, {made[0].groups[0].count:,} neurons, the first {steps:,} steps"
    return {
        "case": f"{said} of {runs} runs, float64",
        "us a step": median(each) * 1e6,
        "floor": f"{whole * 1e6:.3g} us over the first second; runs {each[0] * 1e6:.3g} to "
        f"{each[-1] * 1e6:.3g} us",
    }


def fired(made: Any, module: ModuleType) -> tuple[dict[str, Any], list[Activity], int]:
    """Return the spikes of the first second, how the populations fire, and steps of a window."""
    circuit, inputs, populations = made
    recorder = nd.MemoryRecorder([("spike_state", circuit.groups[0].uids)])
    with nd.LPU(circuit, module.DT, inputs, [recorder], threads=THREADS, seed=1) as lpu:
        lpu.run(duration=1.0)
        window = lpu.program.window
    spikes = recorder.get("spike_state")
    own = activity(**spikes, populations=populations, stop=1.0, start=module.START)
    return spikes, own, window


def _timed(python: str, one: Peer, threads: int, seed: int, rounds: int) -> list[float]:
    """Return the seconds of a step of each repetition."""
    told = _run(python, one, threads, seed, rounds)
    return [seconds / told["steps"] for seconds in told["run_all"]]


def _run(python: str, one: Peer, threads: int, seed: int, repeat: int) -> dict[str, Any]:
    given = {"bio": one.seconds, "threads": threads, "seed": seed, "repeat": repeat}
    flags = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    told = peer(python, one.script, *one.arguments, *flags)
    print(f"{one.script} {threads}: {told['us_per_step']} us, others busy "
          f"{told['others_busy_cores']} cores", flush=True)  # fmt: skip
    return told


def _name(one: Peer) -> str:
    return "Brian2" if "brian2" in one.script else "NEST"


def _met(case: Case, ratio: float, seconds: float) -> dict[str, str]:
    """Return whether the targets are met, where there are any."""
    if not _target(case):
        return {}
    return {"met": "yes" if ratio >= case.target and seconds <= case.most_seconds else "no"}


def _target(case: Case) -> str:
    parts = [f">= {case.target:g} x the best peer"] if case.target else []
    if math.isfinite(case.most_seconds):
        parts.append(f"<= {case.most_seconds:g} s")
    return ", ".join(parts)


def _events(circuit: nd.Circuit, spikes: Mapping[str, Any]) -> float:
    """Return the number of synaptic events in a second: spikes times their connections."""
    fan_out = np.zeros(circuit.count)
    for links in circuit.connections:
        fan_out += np.bincount(links.source, minlength=circuit.count)
    return float(fan_out[spikes["index"]].sum())


def _floor(circuit: nd.Circuit, window: int, spent: float, events: float) -> str:
    """Return what a step has to do at least; states stay in a near cache for a window."""
    states = sum(2 * 8 * len(g.model.states) * g.count for g in circuit.groups)
    copied = states / window / triad(max(states, 1e6), "float64", THREADS)
    states /= window
    rest = max(spent - copied, 0.0) / max(events, 1e-9)
    return (
        f"states {states / 1e6:.2g} MB: {copied * 1e6:.2g} us by triad; {events:.3g} synaptic "
        f"events per step, the rest of the step is {rest * 1e9:.2g} ns per event; "
        f"barrier {barrier(THREADS) * 1e6:.2g} us"
    )


def _told(own: Sequence[Activity], other: Sequence[Activity] | None) -> str:
    """Return rates and irregularities, ours/the peer's, population by population."""

    def both(mine: float, yours: float | None, form: str) -> str:
        return f"{mine:{form}}" if yours is None else f"{mine:{form}}/{yours:{form}}"

    parts = []
    for i, a in enumerate(own):
        b = None if other is None else other[i]
        rate, cv = both(a.rate, b and b.rate, ".3g"), both(a.cv, b and b.cv, ".2f")
        parts.append(f"{a.population} {rate} Hz CV {cv}")
    return "; ".join(parts)
