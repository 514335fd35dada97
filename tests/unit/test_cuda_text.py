"""Every text that a GPU runs compiles, on a machine without a GPU and without a toolkit."""

from __future__ import annotations

import inspect
import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import layered
import numpy as np
import pytest
from device_code import check_no_spills, check_text, told_resources
from launch import environment
from support import AMPA, HH2, IAF, all_to_all, converging, model, spiking_network

from neurodriver import (
    Circuit,
    Connections,
    FixedProbability,
    NDComponent,
    Population,
    Projection,
    State,
)
from neurodriver.backends.cuda import schedule
from neurodriver.backends.cuda.spike_delivery import parts_of, plan_delivery
from neurodriver.circuits import optic_lobe
from neurodriver.codegen import synapse_texts
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt import device
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.error_driven.learning_texts import TEXTS
from neurodriver.model.component import Access, Parameter
from neurodriver.model.library import shipped
from neurodriver.native.headers import header
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.passes.draft import Recorded
from neurodriver.plan.program import Program
from neurodriver.plan.spikes.weights import has_integer_weights
from neurodriver.plan.target import CUDA

pytestmark = pytest.mark.needs("NVRTC")

ARCHITECTURES = ("sm_80", "sm_90")
FUNCTION = re.compile(r"^ND_FN (?P<type>[\w ]+?) (?P<name>nd_\w+)\((?P<arguments>[^)]*)\)", re.M)


def argument(declared: str, number: int) -> str:
    """Return an expression of an argument's type, out of memory that no compiler can foresee."""
    kind = re.sub(r"\[\d+\]|\bconst\b", "", declared).strip()
    words = kind.split()
    if len(words) > 1 and words[-1] not in ("int", "long", "double", "float"):
        words.pop()  # the name
    value = f"(({' '.join(words)} *)(in + {number * 64}))"
    return value if "[" in declared else f"*{value}"


def kernel(function: re.Match[str], number: int) -> str:
    """Return a kernel that does nothing but call a function."""
    arguments = ", ".join(
        argument(" ".join(one.split()), i) for i, one in enumerate(function["arguments"].split(","))
    )
    call = f"{function['name']}({arguments});"
    if function["type"] != "void":
        call = f"*({function['type']} *)out = {call}"
    name = f"k{number}_{function['name']}"
    return f'extern "C" __global__ void {name}(char *in, char *out) {{ {call} }}'


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_each_function_of_the_headers_is_device_code(arch: str) -> None:
    """Elementary functions, random numbers and divisions compile without a warning or a spill."""
    headers = (
        header("native/math.h"),
        header("native/philox.h"),
        header("codegen/simt/division.cuh"),
    )
    functions = [found for text in headers for found in FUNCTION.finditer(text)]
    assert len(functions) == sum(text.count("\nND_FN ") for text in headers) > 80
    kernels = [kernel(function, i) for i, function in enumerate(functions)]
    prelude = (
        "/* math.h, philox.h and division.cuh */\n#define ND_FN static __device__ __forceinline__"
    )
    told = told_resources("\n".join([prelude, *headers, *kernels]), arch)
    assert len(told) == len(kernels)
    for line in told:
        assert ", 0 bytes stack, 0 + 0 bytes spilled" in line


def test_parts_of_a_text_have_names_of_their_own() -> None:
    """However many models a circuit has."""
    text = "".join(
        header(name)
        for name in (
            "native/math.h",
            "native/philox.h",
            "codegen/simt/device.cuh",
            "codegen/simt/spike_delivery.cuh",
        )
    )
    assert not re.search(r"\bnd_part_\d", text) and "nd_part_" in inspect.getsource(device)


# ---- every model with every form of sum ------------------------------------------------------

COUNT, SOURCES = 37, 60
FORMS = ("none", "aligned", "single", "lattice", "sliced", "delayed", "rows")
LONG, SHORT = 1e-3, 1e-6
"""Steps that are divided where a model has a longest one, and that are not."""


class Anything(NDComponent):
    """Updates all that shipped models read."""

    updates = ("I", "g", "V", "spike_state", "photon", "rate", "r")
    states = {"x": 0.0}
    outputs = dict.fromkeys(updates, "x")
    update = "x = x + 1.0;"
    reference = "A test (no DOI)."


def values(rule: Parameter, varied: bool) -> Any:
    """Return what a parameter may be: for all components, or for each."""
    low = max(rule.above, rule.at_least)
    low = low if low > -np.inf else min(rule.at_most - 2.0, 1.0)
    room = min(rule.at_most - low, 2.0)
    if rule.whole:
        return np.minimum(low + np.arange(COUNT) % 3, rule.at_most) if varied else low
    return low + room * (np.linspace(0.25, 0.75, COUNT) if varied else 0.5)


def ends(form: str, access: Access) -> tuple[list[int], list[int], Any]:
    """Return sources, targets and delays in steps that ask for a form."""
    if form == "none":
        return [], [], 0
    if form == "aligned":
        return list(range(COUNT)), list(range(COUNT)), 1
    turned = [(7 * i) % COUNT for i in range(COUNT)]
    if access.single or form == "single":
        return turned, list(range(COUNT)), 2 if form == "single" else 1 + np.arange(COUNT) % 3
    if form == "lattice":
        pairs = [(i + j, i) for i in range(COUNT) for j in range(18)]
    elif form == "rows":
        pairs = [(s, i) for i in range(COUNT) for s in range(SOURCES)]
    else:  # one component has many more than its neighbours
        pairs = [(turned[(i + j) % COUNT], i) for i in range(COUNT) for j in range(3)]
        pairs += [(s, 5) for s in turned]
    source, target = (list(column) for column in zip(*pairs, strict=True))
    return source, target, 1 + np.arange(len(source)) % 4 if form == "delayed" else 1


def program(model: type[NDComponent], form: str, dtype: str) -> Program:
    """Return components of a model whose accesses are all summed in one form."""
    varied, dt = form in ("single", "sliced"), LONG if form in ("aligned", "sliced") else SHORT
    given = {name: values(rule, varied) for name, rule in model.params.items()}
    groups = [(model, COUNT, given, None), (Anything, SOURCES, {}, None)]
    links = []
    for access in model.accesses:
        source, target, steps = ends(form, access)
        data = {
            name: np.linspace(1.0, 2.0, len(source)) if form == "sliced" else 1.0
            for name in access.connection
        }
        columns = np.array([COUNT + s for s in source]), np.array(target), np.asarray(steps) * dt
        if source:
            links.append(Connections(access.variable, access.name, *columns, data))
    return compile_circuit(Circuit.from_arrays(groups, links), dt, dtype, target=CUDA)


MODELS = sorted(shipped())


BOTH = ("HodgkinHuxley2", "LeakyIAFDelta", "MorrisLecar")
"""Models that are compiled to machine code, in either precision: with all forms of sum.

The texts of others differ in the lines of the model alone. They are in one precision, by turns.
"""


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, ("float64", "float32")[i % 2]) for i, name in enumerate(MODELS)]
    + [(name, ("float32", "float64")[MODELS.index(name) % 2]) for name in BOTH],
)
def test_every_model_with_every_form(name: str, dtype: str) -> None:
    """Divided and whole steps, shared and varied parameters, in one text."""
    model = shipped()[name]
    made = [program(model, form, dtype) for form in FORMS]
    kernels = [next(u.kernel for u in generate(one).tasks if u.groups == (0,)) for one in made]
    for access in model.accesses:
        found = [one.gathers[0, access.name].form for one in made]
        plain = not access.connection or has_integer_weights(model, access)
        assert found[0] == "none" and found[1] == ("aligned" if plain else "sliced")
        assert found[2] == ("single" if plain else "sliced")
        assert found[3] == ("lattice" if not access.single else "single")
        assert found[4:6] == ["sliced" if not access.single else "single"] * 2
        assert found[6] == ("rows" if not access.single else "single")
    parts = [Part(kernel) for kernel in {kernel.text: kernel for kernel in kernels}.values()]
    assert len(parts) > 1
    check_text(device_text(parts, dtype, Shape(128)), whole=name in BOTH)


CIRCUITS = {
    "spiking": spiking_network(50, 3, 1),
    "converging": converging(50, 1),
    "all to all": all_to_all(17, 1),
    "optic lobe": optic_lobe.circuit(2),
    **{name: make() for name, make in layered.CIRCUITS.items() if name != "extremes"},
}


WAYS = [("sm_80", False, 1), ("sm_90", True, 1), ("sm_90", False, 2)]
"""Architecture, whether components are held, and how many a thread has."""

EXTRAS = [(False, False), (True, False), (False, True), (True, True)]
"""With timers, and with gates."""


def combinations() -> list[Any]:
    """Return every pair of a way, an extra and a precision for one circuit; two ways for others.

    Each takes seconds. Among the others each way, each extra and each precision occurs.
    """
    precisions = ("float32", "float64")
    out = [
        ("spiking", way, (timers, timers != (i == 1)), precisions[timers != (i > 0)])
        for (i, way), timers in itertools.product(enumerate(WAYS), (False, True))
    ]
    for i, name in enumerate(n for n in CIRCUITS if n != "spiking"):
        for j, extra in enumerate((EXTRAS[i % 2], EXTRAS[3 - i % 2])):
            out.append((name, WAYS[(i + j) % 3], extra, precisions[j]))
    return out


@pytest.mark.parametrize(("name", "way", "extra", "dtype"), combinations())
def test_circuits(
    name: str, way: tuple[str, bool, int], extra: tuple[bool, bool], dtype: str
) -> None:
    """Components that are streamed or held, one or two a thread; no kernel spills a register."""
    (arch, holds, own), (timers, gates) = way, extra
    units = generate(compile_circuit(CIRCUITS[name], 1e-4, dtype, target=CUDA)).tasks
    shape = Shape(256, 1, holds, timers=timers, gates=gates, caches_dirty=gates)
    told = check_no_spills(device_text([Part(u.kernel, own) for u in units], dtype, shape), arch)
    others = ["nd_count_events", "nd_enter_events", "nd_list_events", "nd_move", "nd_once"]
    assert sorted(line.split(":")[0] for line in told) == ["nd_advance", *others]


@pytest.mark.parametrize(
    ("name", "own", "word"), [("extremes", 1, "nd_share(0,"), ("windows", 4, "nd_groups")]
)
def test_threads_divide_cells(name: str, own: int, word: str) -> None:
    """A warp shares the loops of a cell, or a thread has cells side by side."""
    program = compile_circuit(layered.CIRCUITS[name](), 1e-4, "float32", target=CUDA)
    units = generate(program).tasks
    found = [unit for unit in units if word in unit.kernel.text]
    assert found and all(bool(u.side) != u.spread for u in found)
    text = device_text([Part(u.kernel, own) for u in units], "float32", Shape(256, 1, False))
    check_no_spills(text)


def test_connections_that_are_stored_nowhere(dtype: str) -> None:
    """Entries with and without a kind: no register is spilled."""
    one = optic_lobe.from_rules(3, stored=False)
    program = compile_circuit(one, 1e-3, dtype, target=CUDA)
    assert "by_place" in {gather.form for gather in program.gathers.values()}
    parts = [Part(unit.kernel) for unit in generate(program).tasks]
    check_no_spills(device_text(parts, dtype, Shape(256, 1, False)))


def few_synapses(neurons: int) -> Circuit:
    """Return neurons with ten SynapseAMPA each."""
    ends = np.arange(10 * neurons, dtype=np.int32)
    links = [
        Connections("spike_state", "spike_state", ends % neurons, neurons + ends),
        Connections("g", "I", neurons + ends, ends // 10, data={"reverse": 0.0}),
    ]
    groups = [
        (model("LeakyIAF"), neurons, IAF, None),
        (model("SynapseAMPA"), len(ends), AMPA, None),
    ]
    return Circuit.from_arrays(groups, links)


WIDE: dict[str, Callable[[], Circuit]] = {
    "a block": lambda: few_synapses(91),
    "a cluster": lambda: few_synapses(909),
    "streamed": lambda: Circuit.from_arrays([(model("LeakyIAF"), 3_000_000, IAF, None)]),
    "streamed, five states": lambda: Circuit.from_arrays(
        [(model("HodgkinHuxley2"), 3_000_000, HH2, None)]
    ),
    "lattice": lambda: all_to_all(200, 1),
}


@pytest.mark.parametrize("name", WIDE)
def test_registers_suffice(name: str, dtype: str) -> None:
    """In blocks as wide as the schedule makes them: what spills costs more than anything else."""
    units = generate(compile_circuit(WIDE[name](), 1e-4, dtype, target=CUDA)).tasks
    plan = schedule.choose(units, 132, True, 4 if dtype == "float32" else 8)
    parts = [Part(unit.kernel, own) for unit, own in zip(units, plan.own, strict=True)]
    check_no_spills(device_text(parts, dtype, replace(plan.shape, marks=True)))


class Paced(NDComponent):
    """What a step may leave out: sums, random numbers, values with and without a state."""

    accesses = ("V",)
    updates = ("V", "spike_state", "u")
    states = {"V": State("mV", 0.0)}
    update = "V += 0.5 * input_V + normal(); u = 2 * V; spike_state = V > 1;"


def test_groups_that_leave_out_steps(dtype: str) -> None:
    """At other steps they take their values from the row before, and have no events."""
    paced = Population(Paced, 100, name="paced", every=4, first=2)
    circuit = Circuit([paced], [Projection(paced, paced, FixedProbability(0.1))])
    units = generate(compile_circuit(circuit, 1e-3, dtype, target=CUDA)).tasks
    text = units[0].kernel.text
    assert text.count("nd_k >= 2 && (nd_k - 2) % 4 == 0") == 1 and text.count("if (nd_due)") == 3
    for shape in (Shape(128), Shape(128, 1, False)):
        check_text(device_text([Part(u.kernel) for u in units], dtype, replace(shape, marks=True)))


def test_divisions_have_no_branches(dtype: str) -> None:
    """What a model divides goes without the compiler's subroutine, on a GPU alone."""
    circuit = Circuit.from_arrays([(model("HodgkinHuxley2"), 64, HH2, None)])
    (unit,) = generate(compile_circuit(circuit, 1e-5, dtype, target=CUDA)).tasks
    assert "(V + 55.0" in unit.kernel.text and unit.kernel.text.count("/ nd_by() /") == 9
    for crowd, way in ((False, "nd_straight"), (True, "nd_branching")):
        text = device_text([Part(unit.kernel, crowd=crowd)], dtype, Shape(128))
        assert f"typedef {way} nd_by;" in text
    (unit,) = generate(compile_circuit(circuit, 1e-5, dtype)).tasks
    assert "nd_by" not in unit.kernel.text


def test_records_stay_in_shared_memory() -> None:
    """All records of a lattice, where a warp has the same components at every step."""
    program = compile_circuit(optic_lobe.circuit(10), 5e-3, "float32", target=CUDA)
    units = generate(program).tasks
    chosen = schedule.choose(units, 132, True, 4)
    plan = schedule.with_ahead(chosen, units, 4)
    assert plan.shape.stay == units[0].kernel.rounds > 8 and plan.shape.ahead >= 32
    assert plan.shape.scratch(4) <= schedule.SHARED
    streamed = replace(chosen, shape=replace(chosen.shape, holds=False))
    assert schedule.with_ahead(streamed, units, 4).shape.stay == 0
    tight = replace(chosen, shape=replace(chosen.shape, threads=1024))
    assert schedule.with_ahead(tight, units, 4).shape.stay == 0
    text = device_text([Part(units[0].kernel)], "float32", plan.shape)
    assert f"#define ND_STAY {plan.shape.stay}\n" in text
    check_no_spills(text)


def test_idle_warps_have_several_components() -> None:
    """Sums that are mostly nothing do not make blocks so wide that registers are few."""
    program = compile_circuit(all_to_all(450, 1), 1e-5, "float64", target=CUDA, merging=Recorded())
    units = generate(program).tasks
    plan = schedule.choose(units, 132, True, 8)
    assert [unit.idle for unit in units] == [own > 1 for own in plan.own] != [False] * len(units)
    assert plan.shape.threads <= device.ROOMY


@pytest.mark.parametrize("blocks", [1, 4])
def test_copies_of_a_batch_have_tables_in_shared_memory(blocks: int) -> None:
    """The text of a batch compiles; nothing of a copy is in constant memory."""
    program = compile_circuit(spiking_network(200, 5, 1), 1e-4, target=CUDA)
    generated = generate(program, {})
    delivery = plan_delivery(program, False)
    plan = schedule.choose(generated.tasks, blocks, False, 8, delivery.load)
    shape = replace(plan.shape, window=delivery.window, copies=30)
    known = SimpleNamespace(known=lambda kernel: (None,) * len(kernel.integers))
    parts = parts_of(generated, plan, known)  # type: ignore[arg-type]
    plan = schedule.finished(replace(plan, shape=shape), generated.tasks, 8)
    text = device_text(parts, "float64", plan.shape)
    assert "__shared__ nd_args::of_copy nd_table_0;" in text
    assert "__constant__ nd_args" not in text
    check_no_spills(text)
    lone = device_text(parts, "float64", replace(plan.shape, copies=0))
    assert "__constant__ nd_args" in lone and "__shared__ nd_args::" not in lone


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_texts_over_synapses(dtype: str) -> None:
    """Those of error-driven learning, which are all that a GPU runs between two trials."""
    check_text(synapse_texts.device_text(TEXTS, dtype), "sm_90")


def test_without_a_toolkit() -> None:
    """Texts compile where no nvcc is on the path, no variable names one, and PyCUDA is refused."""
    program = Path(__file__).parents[1] / "cuda" / "without_toolkit.py"
    done = subprocess.run(
        [sys.executable, str(program), "compile"],
        capture_output=True, text=True, timeout=300, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("spiking\ndrawn\nlearning\nNVRTC ")
