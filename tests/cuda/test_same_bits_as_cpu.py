"""A GPU gives the bits of the CPU: every model, type, plan, executor, width and order of work."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cuda_zoo as zoo
import numpy as np
import pytest
from support import (
    DT,
    HH2,
    Recorded,
    all_to_all,
    assert_same_bits,
    build,
    converging,
    every_feature,
    node,
    recorded,
    simulate,
    spiking_network,
    started,
)

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    Input,
    Manager,
    MemoryRecorder,
    Pattern,
    StepInput,
    UserInput,
)
from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.items import WARP, tiles
from neurodriver.circuits import optic_lobe
from neurodriver.inputs import BernoulliInput, NoiseInput, PoissonInput, PulseInput, RampInput

STEPS = 200


def same(cpu: Recorded, gpu: Recorded) -> None:
    """Fail unless all bits are equal; what stands still on both is equal, too."""
    moving = {v: rows for v, rows in cpu.items() if np.ptp(rows) > 0}
    assert moving
    assert_same_bits(moving, {v: gpu[v] for v in moving})
    for variable in cpu.keys() - moving.keys():
        assert np.array_equal(cpu[variable], gpu[variable])


# ---- every model ------------------------------------------------------------------------------


@cache
def model_on_cpu(name: str, dtype: str) -> Recorded:
    return model_on("cpu", name, dtype)


def model_on(backend: str, name: str, dtype: str, **settings: Any) -> Recorded:
    circuit = zoo.alone(name)
    record = [(v, None) for v in circuit.groups[0].model.updates]
    inputs = zoo.driven(circuit)
    return simulate(
        circuit, DT, zoo.STEPS, inputs, record, dtype=dtype, backend=backend, **settings
    )


@pytest.mark.parametrize("plans", [True, False])
@pytest.mark.parametrize("name", zoo.names())
def test_every_model(name: str, dtype: str, plans: bool, executor: str) -> None:
    """77 components with inputs into all that they read."""
    got = model_on("cuda", name, dtype, plans=plans, executor=executor)
    same(model_on_cpu(name, dtype), got)


# ---- circuits ---------------------------------------------------------------------------------


def gaps() -> Circuit:
    """Return a ring of neurons with gap junctions."""
    rng = np.random.default_rng(8)
    cells = {f"n{i}": node("HodgkinHuxley2", HH2, initV=float(rng.uniform(-70, -60)), initn=0.3,
                           initm=0.05, inith=0.6) for i in range(53)}  # fmt: skip
    edges = [
        (f"n{i}", f"n{(i * 7 + 1) % 53}", {"variable": "V", "conductance": 0.02 + 0.001 * i})
        for i in range(53)
    ]
    return build(cells, edges)


CIRCUITS: dict[str, tuple[Callable[[], Circuit], float, float]] = {
    "random delays": (lambda: spiking_network(605, 3, seed=1), 2.0, DT),
    "all to all": (lambda: all_to_all(37, seed=2), 20.0, DT),
    "converging": (lambda: converging(603, seed=3), 4.0, DT),
    "gap junctions": (gaps, 20.0, DT),
    "optic lobe": (lambda: optic_lobe.circuit(5), 1.0, 5e-3),
}


def run(name: str, dtype: str, backend: str = "cuda", **settings: Any) -> Recorded:
    """Run a circuit with a random current into its first group."""
    make, high, dt = CIRCUITS[name]
    circuit = make()
    uids = circuit.groups[0].uids.tolist()
    rows = np.random.default_rng(4).uniform(0.6 * high, high, (STEPS, len(uids)))
    known = {v for g in circuit.groups for v in g.model.updates}
    record = [(v, None) for v in ("V", "spike_state", "g", "r") if v in known]
    given: list[Input] = [ArrayInput({"I": (uids, rows)})]
    return simulate(circuit, dt, STEPS, given, record, dtype=dtype, backend=backend, **settings)


@cache
def on_cpu(name: str, dtype: str, merge: bool = True) -> Recorded:
    return run(name, dtype, "cpu", merge=merge)


@pytest.mark.parametrize("plans", [True, False])
@pytest.mark.parametrize("name", CIRCUITS)
def test_circuits(name: str, dtype: str, plans: bool, executor: str) -> None:
    """Delays, lattices, long sums, gap junctions."""
    same(on_cpu(name, dtype, plans), run(name, dtype, plans=plans, executor=executor))


@pytest.mark.parametrize("chunk", [1, 2, 7, 64])
def test_any_length_of_a_launch(chunk: int, executor: str) -> None:
    """A run may be cut anywhere."""
    same(
        on_cpu("random delays", "float64"),
        run("random delays", "float64", chunk=chunk, executor=executor),
    )


@pytest.mark.parametrize("interval", [1, 3, 64])
@pytest.mark.parametrize("chunk", [5, 1000])
def test_sampled_recordings(interval: int, chunk: int, executor: str) -> None:
    """Every interval-th row, wherever launches end."""
    circuit = all_to_all(7, seed=2)
    current = StepInput("I", circuit.groups[0].uids.tolist(), 20.0, 0.0, 1.0)
    found = []
    for backend in ("cpu", "cuda"):
        more = {"chunk": chunk, "interval": interval, "executor": executor}
        found.append(simulate(circuit, DT, STEPS, current, backend=backend, **more))
    same(*found)


# ---- widths ----------------------------------------------------------------------------------


def wide(width: str) -> Callable[..., schedule.LaunchPlan]:
    """Return what chooses a plan of one width, for circuits that fit a block."""
    blocks = {"block": 1, "cluster": 8, "grid": 20}[width]

    def choose(
        units: Any, processors: int, clusters: bool, word: int, *_: Any
    ) -> schedule.LaunchPlan:
        total = sum(tiles(unit, 1) for unit in units)
        threads = (-(-total // blocks) + 1) * WARP
        assert threads <= 1024 and blocks <= processors
        shape = schedule.Shape(threads, 1, True)
        return schedule.LaunchPlan(width, blocks, shape, tuple(1 for _ in units))

    return choose


@pytest.mark.parametrize(
    "width",
    ["block", pytest.param("cluster", marks=pytest.mark.needs("clusters of blocks")), "grid"],
)
def test_any_width(monkeypatch: pytest.MonkeyPatch, dtype: str, width: str, executor: str) -> None:
    """One block, a cluster, or many blocks that meet on the grid."""
    monkeypatch.setattr(schedule, "choose", wide(width))
    circuit = spiking_network(61, 3, seed=1)
    uids = circuit.groups[0].uids.tolist()
    rows = np.random.default_rng(4).uniform(1.2, 2.0, (STEPS, len(uids)))
    record = [("V", None), ("spike_state", None), ("g", None)]
    found = [
        simulate(circuit, DT, STEPS, [ArrayInput({"I": (uids, rows)})], record, dtype=dtype,
                 backend=backend, executor=executor, chunk=33)
        for backend in ("cpu", "cuda")
    ]  # fmt: skip
    same(*found)


def test_a_shadow_agrees(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], executor: str
) -> None:
    """Every row, state and recording, compared while it runs."""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    run("all to all", "float64", executor=executor)
    told = capsys.readouterr().err
    assert told.startswith(f"cuda ({executor}) beside the CPU: 200 steps of ")
    assert told.endswith("all bits equal\n")


# ---- inputs -----------------------------------------------------------------------------------


class Wave(UserInput):
    """Is asked at every step."""

    def __init__(self, uids: list[str]) -> None:
        super().__init__([("I", uids)])
        self.calls = 0

    def update_input(self) -> None:
        self.calls += 1
        self.variables["I"]["input"][:] = 3.0 + np.sin(0.05 * self.calls)


def inputs_of(kind: str, uids: list[str]) -> Input:
    """Return an input of each kind."""
    rng = np.random.default_rng(6)
    match kind:
        case "array":
            return ArrayInput({"I": (uids, rng.uniform(0, 4, (60, len(uids))))})
        case "repeated row":
            return ArrayInput({"I": (uids, rng.uniform(2, 4, (3, len(uids))))}, mode=1)
        case "step":
            return StepInput("I", uids, 3.0, 2e-3, 9e-3)
        case "ramp":
            return RampInput("I", uids, 1e-3, 15e-3, 0.0, 5.0)
        case "pulse":
            return PulseInput("I", uids, [1e-3, 4e-3], [3e-3, 9e-3], [4.0, 3.0])
        case "noise":
            return NoiseInput("I", uids, 3.0, 1.0)
        case "poisson":
            return PoissonInput("spike_state", uids, 400.0)
        case "bernoulli":
            return BernoulliInput("spike_state", uids, 0.05)
    return Wave(uids)


@pytest.mark.parametrize(
    "kind",
    ["array", "repeated row", "step", "ramp", "pulse", "noise", "poisson", "bernoulli", "user"],
)
def test_inputs_of_every_kind(kind: str, executor: str) -> None:
    """Tables, closed forms, random trains, Python at each step."""
    circuit = spiking_network(61, 3, seed=1)
    group = 1 if kind in ("poisson", "bernoulli") else 0
    uids = circuit.groups[group].uids.tolist()[:50]
    found = [
        simulate(circuit, DT, STEPS, inputs_of(kind, uids), [("V", None), ("g", None)],
                 backend=backend, executor=executor, chunk=1 if kind == "user" else 41, seed=9)
        for backend in ("cpu", "cuda")
    ]  # fmt: skip
    same(*found)


# ---- several LPUs -----------------------------------------------------------------------------


def two(backend: str, executor: str) -> dict[str, np.ndarray]:
    """Run two LPUs whose potentials cross by ports, with a delay."""
    from support import IAF, POWER

    port = {"class": "Port", "port_type": "gpot"}
    first = build(
        {"n": node("LeakyIAF", IAF), "out": {**port, "selector": "/a/v", "port_io": "out"}},
        [("n", "out", {"variable": "V"})],
    )
    second = build(
        {
            "in": {**port, "selector": "/b/v", "port_io": "in"},
            "s": node("PowerGPotGPot", POWER, reverse=0.0, threshold=-70.0),
            "m": node("LeakyIAF", IAF),
        },
        [("in", "s"), ("s", "m")],
    )
    recorders = [MemoryRecorder([("V", None)]), MemoryRecorder([("V", None), ("g", None)])]
    man = Manager()
    drive = [StepInput("I", ["n"], 4.0, 0.0, 1.0)]
    settings = {"backend": backend, "executor": executor}
    man.add(LPU, "a", first, DT, drive, [recorders[0]], **settings)
    man.add(LPU, "b", second, DT, [], [recorders[1]], **settings)
    ports = "/a/v", "/b/v"
    pattern = Pattern.from_concat(*ports, from_sel=ports[0], to_sel=ports[1], data=1)
    man.connect("a", "b", pattern, delay=5e-4)
    man.spawn()
    man.start(steps=STEPS)
    man.wait()
    return {
        "a/V": recorders[0].get("V"),
        "b/V": recorders[1].get("V"),
        "b/g": recorders[1].get("g"),
    }


def test_several_lpus_in_one_process(executor: str) -> None:
    """What crosses by ports is the same."""
    same(two("cpu", executor), two("cuda", executor))


def test_every_feature_of_the_format(executor: str) -> None:
    """Ports, delays, parallel receptors."""
    given = [StepInput("I", ["n0"], 8.0, 0.0, 1.0)]
    record = [("V", None), ("spike_state", None), ("g", None)]
    found = [
        simulate(every_feature(), DT, 600, given, record, backend=backend, executor=executor)
        for backend in ("cpu", "cuda")
    ]
    same(*found)


def test_rows_in_the_middle_of_a_run(executor: str) -> None:
    """`LPU.get` returns the current row, as on the CPU."""
    rows = []
    for backend in ("cpu", "cuda"):
        circuit = all_to_all(7, seed=2)
        current = StepInput("I", circuit.groups[0].uids.tolist(), 20.0, 0.0, 1.0)
        where = {"backend": backend, "executor": executor, "merge": False}
        with started(circuit, DT, current, (), **where) as lpu:
            seen = []
            for steps in (1, 40, 13):
                lpu.advance(steps)
                seen.append(np.concatenate([lpu.get("V"), lpu.get("g")]))
            rows.append(np.array(seen))
    assert np.ptp(rows[0], axis=0).min() > 0
    assert np.array_equal(rows[0].view(np.uint64), rows[1].view(np.uint64))


def test_recordings_hold_the_last_row(executor: str) -> None:
    """The row of the last step and what `get` says then belong together."""
    circuit = all_to_all(7, seed=2)
    current = StepInput("I", circuit.groups[0].uids.tolist(), 20.0, 0.0, 1.0)
    with started(circuit, DT, current, chunk=9, backend="cuda", executor=executor) as lpu:
        lpu.start(30)
        lpu.advance(29)
        before = lpu.get("V")
        lpu.advance(1)
        lpu.finish()
        assert np.array_equal(recorded(lpu, 30)["V"][-1], before)
