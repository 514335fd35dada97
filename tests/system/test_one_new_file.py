"""Something new is one new file: each test writes one, loads it, and runs a circuit with it."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from device_code import check_text
from support import (
    DT,
    ML,
    POWER,
    all_to_all,
    alone,
    assert_same_bits,
    graph,
    model,
    simulate,
    started,
    weighted_network,
)

from neurodriver import LPU, Circuit, Connections, MemoryRecorder, StepInput
from neurodriver.backends import choice
from neurodriver.codegen.cpu import events
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt import threads
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.plan import passes, target
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.sums import choice as sum_choice

STEPS = 60
LEAK = {"n": {"class": "Leak", "tau": 5.0}}

MODEL = '''\
from neurodriver import NDComponent, Parameter, State


class Leak(NDComponent):
    """A leaky potential."""

    accesses = ("I",)
    updates = ("V",)
    params = {"tau": Parameter("ms", above=0.0, doc="time constant")}
    states = {"V": State("mV", doc="potential")}
    update = "V = V + dt_ms / tau * (I - V);"
'''

INPUT = '''\
import numpy as np

from neurodriver import Input
from neurodriver.inputs.base import Chunk


class Ladder(Input):
    """Injects the number of the step."""

    def chunk(self, number, first, steps):
        count = len(self.targets[number][1])
        values = np.arange(first, first + steps, dtype=self.dtype)[:, None]
        return Chunk(np.tile(values, count), np.arange(steps, dtype=np.int32))
'''

RECORDER = '''\
from neurodriver.recorders.base import Recorder


class Largest(Recorder):
    """Keeps the largest value of each variable."""

    def _open(self, plan):
        self.found = {}

    def _append(self, block, rows):
        for name, values in block.rows.items():
            if rows:
                self.found[name] = max(self.found.get(name, values.max()), values.max())

    def _close(self):
        pass
'''

SUM_PLAN = '''\
"""The plan ``shared``: all components read one element."""

import numpy as np

from neurodriver.codegen.cpu.events import SUM_TEXTS
from neurodriver.codegen.cpu.sums import SumText
from neurodriver.codegen.simt.thread_sums import ThreadSum
from neurodriver.codegen.simt.threads import THREAD_SUMS
from neurodriver.native.buffers import LANES
from neurodriver.plan.sums.choice import PLANS
from neurodriver.plan.sums.gather import Gather


def shared(wanted):
    edges = wanted.edges
    same = (edges.element == edges.element[0]).all() and not edges.back.ndim
    if not same or edges.data or (wanted.degree != 1).any():
        return None
    cost = np.full(wanted.slices, 0.1 * LANES)
    return Gather("shared", wanted.count, {"first": edges.element[:1]}, int(edges.back), cost=cost)


class SharedText(SumText):
    def direct(self, component, lane):
        return f"nd_in_{self.access.name}[0]"


class SharedSum(ThreadSum):
    def sum(self):
        return [f"nd_x_{self.name}[nd_i] = nd_in_{self.name}[0];"]


PLANS.insert(0, shared)
SUM_TEXTS["shared"] = SharedText
THREAD_SUMS["shared"] = SharedSum
'''

PASS = '''\
"""The pass that leaves out connections of weight 0: nothing arrives along them."""

from dataclasses import replace

import numpy as np

from neurodriver.plan import passes


def apply(draft):
    circuit = draft.circuit
    kept = [links.taken(np.flatnonzero(links.data["weight"])) for links in circuit.connections]
    return replace(draft, circuit=circuit.with_parts(circuit.groups, kept))


passes.PASSES = (apply, *passes.PASSES)
'''

DIALECT = '''\
"""C++ for compilers without OpenMP: the dialect, its target and its backend."""

from dataclasses import replace

from neurodriver.backends.choice import BACKENDS
from neurodriver.backends.cpu.backend import CPUBackend
from neurodriver.codegen.source import CPU
from neurodriver.plan.target import CPU as CPU_TARGET
from neurodriver.plan.target import TARGETS

PLAIN = replace(CPU, simd="", simd_any="", fixed="const kind *")


class PlainBackend(CPUBackend):
    dialect = PLAIN


TARGETS["plain"] = replace(CPU_TARGET, name="plain")
BACKENDS["plain"] = lambda program, options: PlainBackend(program, options.threads)
'''


def written(text: str, folder: Path, name: str) -> Path:
    """Write the new file."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path


def loaded(text: str, folder: Path, name: str) -> ModuleType:
    """Write the new file and import it."""
    spec = spec_from_file_location(name, written(text, folder, name))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert name not in sys.modules  # nothing else can find it
    return module


def test_a_model(tmp_path: Path) -> None:
    """A file with a class, named where the circuit is run."""
    path = written(MODEL, tmp_path, "leak")
    circuit = Circuit.from_graph(graph(LEAK), models=path)
    data = simulate(circuit, DT, STEPS, StepInput("I", ["n"], 3.0), [("V", None)])
    steps = np.arange(STEPS)  # row j is the state before step j
    np.testing.assert_allclose(
        data["V"][:, 0], 3.0 * (1 - (1 - 0.1 / 5.0) ** steps), rtol=1e-12, atol=1e-15
    )


def test_an_input_kind(tmp_path: Path) -> None:
    """A subclass of ``Input``, given to the LPU."""
    ladder = loaded(INPUT, tmp_path, "ladder").Ladder([("I", ["n"])])
    circuit = Circuit.from_graph(graph(LEAK), models=written(MODEL, tmp_path, "leak"))
    data = simulate(circuit, DT, STEPS, ladder, [("V", None)], chunk=7)
    expected = [0.0]
    for step in range(STEPS):
        expected.append(expected[-1] + 0.1 / 5.0 * (step - expected[-1]))
    np.testing.assert_allclose(data["V"][:, 0], expected[:-1], rtol=1e-12)


def test_a_recorder(tmp_path: Path) -> None:
    """A subclass of ``Recorder``, given to the LPU."""
    largest = loaded(RECORDER, tmp_path, "largest").Largest([("V", None)])
    whole = MemoryRecorder([("V", None)])
    circuit = alone("MorrisLecar", ML)
    given = StepInput("I", ["n"], 60.0)
    with LPU(circuit, DT, given, recorders=[largest, whole]) as lpu:
        lpu.run(steps=STEPS)
    assert largest.found == {"V": whole.get("V").max()}
    assert np.ptp(whole.get("V")) > 0


def one_to_many() -> Circuit:
    """Return a neuron whose potential 50 synapses read."""
    groups = [(model("MorrisLecar"), 1, ML, None), (model("PowerGPotGPot"), 50, POWER, None)]
    links = Connections("V", "V", np.zeros(50, np.int32), 1 + np.arange(50, dtype=np.int32), 3e-4)
    return Circuit.from_arrays(groups, [links])


def test_a_plan_for_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that makes its arrays, with the text for a CPU and for a GPU."""
    circuit = one_to_many()
    given = StepInput("I", circuit.uids.tolist()[:1], 60.0)
    before = simulate(circuit, DT, STEPS, given, [("V", None), ("g", None)])
    monkeypatch.setattr(sum_choice, "PLANS", [*sum_choice.PLANS])
    monkeypatch.setattr(events, "SUM_TEXTS", {**events.SUM_TEXTS})
    monkeypatch.setattr(threads, "THREAD_SUMS", {**threads.THREAD_SUMS})
    loaded(SUM_PLAN, tmp_path, "shared")
    with started(circuit, DT, given, [("g", None)]) as lpu:
        assert "shared" in {gather.form for gather in lpu.program.gathers.values()}
    assert_same_bits(before, simulate(circuit, DT, STEPS, given, [("V", None), ("g", None)]))
    assert np.ptp(before["g"]) > 0
    program = compile_circuit(circuit, DT, target=target.CUDA)
    kernels = [task.kernel for task in generate(program).tasks]
    assert any("nd_x_V[nd_i] = nd_in_V[0];" in kernel.text for kernel in kernels)
    text = device_text([Part(kernel) for kernel in kernels], "float64", Shape(128))
    check_text(text)


def test_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that takes a draft of a circuit and returns another one."""
    circuit = weighted_network(2000, 1)
    (links,) = circuit.connections
    weight = np.where(np.arange(len(links)) % 3, links.data["weight"], 0.0)
    circuit = circuit.with_parts(circuit.groups, [replace(links, data={"weight": weight})])
    record = [("V", None), ("spike_state", None)]
    before = simulate(circuit, DT, STEPS, (), record)
    assert compile_circuit(circuit, DT).gathers[0, "spike_state"].edges == len(links)
    monkeypatch.setattr(passes, "PASSES", passes.PASSES)
    loaded(PASS, tmp_path, "silent")
    left = compile_circuit(circuit, DT).gathers[0, "spike_state"].edges
    assert left == np.count_nonzero(weight) < len(links)
    assert_same_bits(before, simulate(circuit, DT, STEPS, (), record))


def test_a_dialect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dialect for a host, with the target and the backend that use it."""
    circuit = all_to_all(9, 1)
    given = StepInput("I", circuit.uids.tolist()[:4], 20.0)
    before = simulate(circuit, 1e-5, STEPS, given, [("V", None)], backend="cpu")
    monkeypatch.setattr(choice, "BACKENDS", {**choice.BACKENDS})
    monkeypatch.setattr(choice, "TARGETS", {**target.TARGETS})
    monkeypatch.setattr(target, "TARGETS", choice.TARGETS)
    module = loaded(DIALECT, tmp_path, "plain")
    with started(circuit, 1e-5, given, [("V", None)], backend="plain", threads=1) as lpu:
        assert isinstance(lpu.backend, module.PlainBackend)
    found = simulate(circuit, 1e-5, STEPS, given, [("V", None)], backend="plain", threads=1)
    assert_same_bits(before, found)
    assert np.ptp(before["V"]) > 0
