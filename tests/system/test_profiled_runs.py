"""Profiles of real runs: the same bits, a row for every kernel, parts that fit the whole."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from old_style import RawLeaky
from support import (
    IAF,
    Recorded,
    assert_same_bits,
    converging,
    model,
    recorded,
    spiking_network,
    started,
)

import neurodriver as nd
from neurodriver import ArrayInput, Circuit, HDF5Recorder, Manager, StepInput
from neurodriver.profiling.phases import OFF, Profile

EVERYTHING = [("V", None), ("spike_state", None), ("g", None)]
STEPS = 600
CHUNK = 50
REST = ["recording", "inputs", "barrier"]


def run(circuit: Circuit, **settings: Any) -> Recorded:
    """Run with a random current and record."""
    uids = circuit.groups[0].uids.tolist()
    current = np.random.default_rng(4).uniform(1.2, 2.0, (STEPS, len(uids)))
    given = [ArrayInput({"I": (uids, current)})]
    with started(circuit, inputs=given, record=EVERYTHING, chunk=CHUNK, **settings) as lpu:
        lpu.run(steps=STEPS)
        return recorded(lpu, STEPS)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_same_bits(threads: int) -> None:
    """Measuring changes no value, and a trace none either."""
    circuit = spiking_network(405, 3, seed=1)
    plain = run(circuit, threads=threads)
    for trace in (False, True):
        with Profile(trace=trace) as profile:
            measured = run(circuit, threads=threads)
        assert_same_bits(plain, measured)
        (found,) = profile.measured
        assert found.steps == STEPS
        assert found.threads == threads or (found.worker == "warp" and found.threads >= 4)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_kernel_has_a_row(threads: int) -> None:
    """Rows are the units of the program and three more; together they are the step loop."""
    circuit = converging(2003, seed=3)
    with Profile() as profile, started(circuit, record=EVERYTHING[:2], threads=threads) as lpu:
        lpu.run(steps=STEPS)
        units, backend = lpu.backend.generated.tasks, lpu.backend
        times, ahead = backend.profile_times(), lpu.simulation.calls.ahead
    (found,) = profile.measured
    rest = ["spikes", *REST] if found.worker == "warp" else REST
    assert [r.name for r in found.rows] == [u.kernel.name for u in units] + rest
    assert [(r.name, r.seconds) for r in found.rows] == times
    assert [r.count for r in found.kernels] == [u.count for u in units]
    assert len(units) >= 2 and found.peak > 0
    none = ("inputs", "spikes")  # to be injected, to be dealt out
    assert all(row.seconds > 0 for row in found.rows if row.name not in none)
    assert all(r.traffic is not None and r.traffic.total > 0 for r in found.kernels)
    loop, staged = profile.spent["step loop",], profile.spent["stage inputs",]
    if found.worker == "warp":  # a launch goes on after the call that begins it
        assert found.seconds == pytest.approx(found.threads * backend.device_seconds)
        assert found.seconds <= found.threads * profile.total
    else:
        assert found.threads == threads and found.seconds <= threads * loop.seconds * 1.001
        if threads == 1:  # no thread sleeps: the parts leave no gap
            assert found.seconds >= 0.5 * loop.seconds
    assert loop.passes == (1 if ahead is None else 2) * staged.passes
    assert staged.passes == profile.spent["hand over",].passes


def test_phases_of_a_run(tmp_path: Path) -> None:
    """Reading, compiling, building, steps and recording are told apart, and fit in the total."""
    path = Path(__file__).parents[2] / "data" / "circuits" / "one_neuron.gexf"
    with Profile() as profile:
        recorder = HDF5Recorder(tmp_path / "out.h5", [("V", None)])
        current = StepInput("I", ["neuron"], 10.0)
        with nd.LPU(path, 1e-4, [current], [recorder]) as lpu:
            lpu.run(steps=1000)
    paths = list(profile.spent)
    first = [("read file",), ("digest",), ("make ready",)]
    assert paths[:5] == [*first, ("make ready", "compile"), ("make ready", "build kernels")]
    late = {
        "open recordings",
        "stage inputs",
        "step loop",
        "hand over",
        "write",
        "close recordings",
    }
    assert {p[0] for p in paths[5:]} == late and all(s.seconds > 0 for s in profile.spent.values())
    top = [s.seconds for p, s in profile.spent.items() if len(p) == 1 and not s.beside]
    assert sum(top) <= profile.total
    inside = sum(s.seconds for p, s in profile.spent.items() if p[0] == "make ready" and len(p) > 1)
    assert inside <= profile.spent["make ready",].seconds
    report = profile.report()
    assert all(p[-1] in report for p in paths) and "LeakyIAF" in report


def test_off_measures_nothing() -> None:
    """An LPU outside a profile asks its threads for no times, also while another is profiled."""
    plain = started(spiking_network(30, 2, 1))
    with Profile() as profile:
        plain.run(steps=5)
    plain.close()
    assert plain.simulation.profile is OFF and not any(s for _, s in plain.backend.profile_times())
    assert profile.measured == []


def nested(events: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the names inside each name; fail where events of a thread overlap otherwise."""
    inside = defaultdict(set)
    threads = defaultdict(list)
    for event in events:
        begin = round(event["ts"] * 1e3)
        threads[event["pid"], event["tid"]].append(
            (begin, -round(event["dur"] * 1e3), event["name"])
        )
    for rows in threads.values():
        open_: list[tuple[int, str]] = []
        for begin, length, name in sorted(rows):
            while open_ and open_[-1][0] <= begin:
                open_.pop()
            assert not open_ or begin - length <= open_[-1][0], f"{name} outlasts {open_[-1][1]}"
            for _, outer in open_:
                inside[outer].add(name)
            open_.append((begin - length, name))
    return inside


def test_trace(tmp_path: Path) -> None:
    """The trace is JSON; kernels lie inside steps, steps inside calls, for every CPU thread."""
    circuit = spiking_network(405, 3, seed=1)
    with Profile(trace=True) as profile:
        run(circuit, threads=3, backend="cpu")
    profile.write_trace(tmp_path / "trace.json")
    read = json.loads((tmp_path / "trace.json").read_text())
    whole = [e for e in read["traceEvents"] if e["ph"] == "X"]
    assert all(e["dur"] >= 0 and e["ts"] >= 0 and e["pid"] == 0 for e in whole)
    inside = nested(whole)
    assert all(e["dur"] > 0 for e in whole if e["name"] in ("one step", "LeakyIAF", "Aggregator"))
    kernels = {row.name for row in profile.measured[0].kernels}
    assert kernels > {"LeakyIAF", "Aggregator"}
    assert inside["one step"] == {*kernels, *REST}
    assert inside["step loop"] == {*kernels, *REST, "one step"}
    assert {"compile", "build kernels"} == inside["make ready"]
    names = {e["tid"]: e["args"]["name"] for e in read["traceEvents"] if e["name"] == "thread_name"}
    calls = STEPS // CHUNK
    for thread in ("MainThread", "worker 1", "worker 2"):
        mine = [e["name"] for e in whole if names[e["tid"]] == thread]
        assert mine.count("one step") == mine.count("LeakyIAF") == calls
    writes = [e for e in whole if names[e["tid"]] == "neurodriver-writer"]
    assert {e["name"] for e in writes} == {"write"} and len(writes) == calls


def test_own_code(tmp_path: Path) -> None:
    """A model with a run_step of its own is a phase by its name, beside the kernels."""
    current = StepInput("I", [f"n{i}" for i in range(4)], 3.0)
    groups = [(RawLeaky, 4, IAF, [f"n{i}" for i in range(4)])]
    with Profile() as profile:
        with started(Circuit.from_arrays(groups), inputs=[current], backend="cpu") as lpu:
            lpu.run(steps=20)
    assert profile.spent["run_step",].passes == profile.spent["run_step", "RawLeaky"].passes == 20
    assert [row.name for row in profile.measured[0].rows] == REST


def test_manager() -> None:
    """The thread in which a manager runs belongs to the profile in which it was started."""
    with Profile() as profile:
        man = Manager()
        for name in ("one", "two"):
            circuit = spiking_network(30, 2, 1)
            man.add(nd.LPU, name, circuit, 1e-4, recorders=[nd.MemoryRecorder([("V", None)])])
        man.spawn()
        man.start(steps=40)
        man.wait()
    assert ("spawn", "make ready", "compile") in profile.spent
    assert {("open recordings",), ("step loop",), ("close recordings",)} <= set(profile.spent)
    assert [m.steps for m in profile.measured] == [40]
    assert {row.name for row in profile.measured[0].kernels} > {"LeakyIAF"}


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_that_own_code_launches(threads: int) -> None:
    """A kernel that a run_step launches has its row at its place; its time is no one else's."""

    def run_step(self: Any, update_pointers: Any) -> None:
        super(type(self), self).run_step(update_pointers)

    stepped = type("Stepped", (model("LeakyIAF"),), {"run_step": run_step, "__doc__": "LeakyIAF."})
    groups = [(stepped, 400, IAF, None), (model("LeakyIAF"), 3, IAF, None)]
    circuit = Circuit.from_arrays(groups)
    with Profile() as profile, started(circuit, threads=threads) as lpu:
        lpu.run(steps=20)
    rows, threads = profile.measured[0].rows, profile.measured[0].threads
    assert [(r.name, r.count) for r in rows[:2]] == [("Stepped", 400), ("LeakyIAF", 3)]
    assert 0 < rows[0].seconds <= threads * profile.spent["run_step", "Stepped"].seconds
    assert 0 < sum(r.seconds for r in rows[1:]) <= threads * profile.spent["step loop",].seconds
