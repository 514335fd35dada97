"""Generated text: readable, complete, and vectorised by the compiler. Nothing here runs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import (
    ALPHA,
    AMPA,
    HH2,
    IAF,
    ML,
    POWER,
    all_to_all,
    alone,
    build,
    converging,
    node,
    spiking_network,
)

from neurodriver import Circuit, NDComponent
from neurodriver.circuits import optic_lobe
from neurodriver.codegen.generate import generate
from neurodriver.codegen.kernel import Kernel
from neurodriver.codegen.source import source
from neurodriver.model.language.words import FUNCTIONS
from neurodriver.native.compiler import find_compiler
from neurodriver.plan.arrays import Kind
from neurodriver.plan.compile import compile_circuit

LONGEST_LINE = 240
"""Characters: a delayed read of a connection is the longest thing that is generated."""

MODELS = {
    "LeakyIAF": IAF,
    "HodgkinHuxley2": HH2,
    "MorrisLecar": ML,
    "AlphaSynapse": ALPHA,
    "SynapseAMPA": AMPA,
    "PowerGPotGPot": POWER,
    "GradedNeuron": {"time_constant": 10.0, "bias": 0.0},
}


def kernels(circuit: Circuit, dtype: str = "float64", dt: float = 1e-4) -> list[Kernel]:
    """Return the kernels of a circuit."""
    return [task.kernel for task in generate(compile_circuit(circuit, dt, dtype)).tasks]


def kernel(name: str, dtype: str = "float64") -> Kernel:
    """Return the kernel of one component of a shipped model."""
    return kernels(alone(name, MODELS[name]), dtype)[0]


def every_kernel(dtype: str) -> list[Kernel]:
    """Return kernels with every form of sum, fused and with sub-steps."""
    circuits = [spiking_network(50, 3, 1), converging(50, 1), all_to_all(17, 1)]
    circuits += [optic_lobe.circuit(2), *(alone(name, given) for name, given in MODELS.items())]
    return [k for circuit in circuits for k in kernels(circuit, dtype)]


def body(text: str, function: str) -> str:
    """Return the text of one function."""
    start = text.index(f" {function}(")
    return text[start : text.index("\n}", start)]


def test_arguments_are_listed_once(dtype: str) -> None:
    """Each key has one place in its table, and the text uses no place beyond the tables."""
    found = every_kernel(dtype)
    assert len(found) > 10
    for one in found:
        tables = {"p": one.pointers, "n": one.integers, "u": one.scalars}
        for letter, keys in tables.items():
            assert len(set(keys)) == len(keys), f"{one.name}: {keys}"
            used = {int(i) for i in re.findall(rf"nd_a->{letter}\)?\[(\d+)\]", one.text)}
            assert used <= set(range(len(keys)))
        pointers = {int(i) for i in re.findall(r"nd_a->p\[(\d+)\]", one.text)}
        assert pointers == set(range(len(one.pointers))), one.name


def test_text_is_readable(dtype: str) -> None:
    """Indented by blocks, no endless lines, every brace closed, every function once."""
    for one in every_kernel(dtype):
        depth = 0
        for line in one.text.splitlines():
            assert len(line) <= LONGEST_LINE
            assert "\t" not in line
            assert line == line.rstrip() or line.strip() == "{"
            depth += line.count("{") - line.count("}")
            assert depth >= 0
        assert depth == 0
        for name in ("nd_constants", "nd_initial", "nd_update"):
            assert one.text.count(f"void {name}(") == 1


@pytest.mark.parametrize("name", MODELS)
def test_mathematics_is_recognisable(name: str) -> None:
    """Parameters, states and terms keep their names; loads and stores are generated."""
    one = kernel(name)
    update = body(one.text, "nd_update")
    model = compile_circuit(alone(name, MODELS[name]), 1e-4).circuit.groups[0].model
    constants = body(one.text, "nd_constants")
    for word in [*model.params, *model.constants]:
        assert re.search(rf"\bconst real {word} = ", constants + update), word
    for word in model.terms:
        assert f"const real {word} = " in update
    for word in model.states:
        assert f"real {word} = nd_" in update
    assert "ND_SIMD" in update
    before = re.findall(r"if \(.*\)", update.split("ND_SIMD")[0])
    assert before == (["if (power == 1)"] if name == "PowerGPotGPot" else [])


@pytest.mark.parametrize("name", MODELS)
def test_functions_are_our_own(name: str, dtype: str) -> None:
    """Every mathematical function has the prefix, so that no libm decides a bit."""
    text = kernel(name, dtype).text
    names = "|".join(FUNCTIONS)
    assert not re.search(rf"(?<!nd_)\b(?:{names})\s*\(", text)
    assert "std::" not in text
    called = set(re.findall(rf"\bnd_({names})\(", text))
    expected = {
        "LeakyIAF": {"exp"}, "HodgkinHuxley2": {"exp", "fabs"}, "MorrisLecar": {"tanh", "cosh"},
        "AlphaSynapse": {"fmax"}, "SynapseAMPA": {"exp"}, "PowerGPotGPot": {"pow", "fmax", "fmin"},
        "GradedNeuron": {"fmax"},
    }  # fmt: skip
    assert called == expected[name]


@pytest.mark.parametrize("name", ["HodgkinHuxley2", "MorrisLecar", "PowerGPotGPot"])
def test_numbers_have_the_working_type(name: str) -> None:
    """float32 text holds no double constant, float64 text no float constant."""
    number = r"(?<![\w.])\d+\.\d*(?:[eE][-+]?\d+)?(f?)"
    double = re.findall(number, kernel(name, "float64").text)
    single = re.findall(number, kernel(name, "float32").text)
    assert len(double) == len(single) > 0
    assert set(double) == {""}
    assert set(single) == {"f"}


def test_whole_numbers_become_real_ones() -> None:
    """What a model writes as 1 is 1.0 in the text."""
    text = kernel("HodgkinHuxley2").text
    assert "(1.0 - n) * a_n" in text
    assert "b_h = 1.0 / (nd_exp(-(V + 35.0) / 10.0) + 1.0)" in text


def test_constants_are_computed_once() -> None:
    """The decay of the neuron is no part of the step."""
    one = kernel("LeakyIAF")
    assert "nd_exp" in body(one.text, "nd_constants")
    assert "nd_exp" not in body(one.text, "nd_update")
    assert "decay" in {key.name for key in one.scalars if key.kind is Kind.CONSTANT}


def test_what_differs_is_loaded_and_what_is_shared_is_a_number() -> None:
    """A parameter of its own becomes a pointer, and so does a constant that depends on it."""
    nodes = {f"n{i}": node("LeakyIAF", IAF, resistance=10.0 + i) for i in range(3)}
    one = kernels(build(nodes))[0]
    assert {"resistance", "decay"} <= {key.name for key in one.pointers}
    assert {"threshold", "capacitance"} <= {key.name for key in one.scalars}
    assert not set(one.pointers) & set(one.scalars)


def test_text_knows_no_circuit() -> None:
    """Uids, values and sizes are arguments: circuits of one structure share the compiled code."""
    small, large = kernels(converging(50, 1)), kernels(converging(270, 2))
    assert len(small) == 2
    assert [k.text for k in small] == [k.text for k in large]
    evil = '"); system("x'
    named = kernels(build({evil: node("LeakyIAF", IAF)}))[0]
    assert named.text == kernel("LeakyIAF").text


def test_each_draw_has_a_stream() -> None:
    """Streams are counted over terms, update and outputs."""

    class Noisy(NDComponent):
        updates = ("V",)
        terms = {"first": "uniform()"}
        update = "V = first + normal( ) * uniform();"

    text = body(kernels(build({"n": {"class": "Noisy"}}, models=[Noisy]))[0].text, "nd_update")
    assert re.findall(r"= nd_unit_of\(nd_w(\d)\[nd_i\]", text) == ["0"]
    assert re.findall(r"\(\(real\)nd_z(\d)\[nd_i\]\) \* nd_unit_of\(nd_w(\d)", text) == [("1", "2")]
    drawn = re.findall(r"nd_tile_blocks\(nd_keys, nd_seed, nd_k >> (\d), (\d), nd_words(\d)", text)
    assert drawn == [("1", "0", "0"), ("2", "1", "1"), ("1", "2", "2")]

    class Divided(Noisy):
        maximum_dt = 1e-5

    text = body(kernels(build({"n": {"class": "Divided"}}, models=[Divided]))[0].text, "nd_update")
    draws = re.findall(r"nd_(uniform|normal)\(nd_key, nd_seed, nd_k, \(int\)substep, (\d)", text)
    assert draws == [("uniform", "0"), ("normal", "1"), ("uniform", "2")]


def test_source_is_whole(dtype: str) -> None:
    """A source begins with its kernel's name and brings all it calls."""
    real = {"float64": "double", "float32": "float"}[dtype]
    text = source(kernel("LeakyIAF", dtype), dtype)
    assert text.startswith(f"/* LeakyIAF, {dtype} */")
    assert f"typedef {real} real;" in text
    assert "nd_exp(" in text
    assert "#include" not in text
    assert "nd_philox" not in text


def loops_around(lines: list[str], marker: str) -> list[tuple[int, int]]:
    """Return first and last line number of the innermost loops that hold a marked line."""
    out = []
    for number, line in enumerate(lines):
        if marker not in line:
            continue
        first = next(i for i in range(number, 0, -1) if lines[i].strip().startswith("for ("))
        margin = len(lines[first]) - len(lines[first].lstrip())
        last = next(i for i in range(number, len(lines)) if lines[i].startswith(" " * margin + "}"))
        out.append((first + 1, last + 1))
    return out


VECTORISED = {
    "LeakyIAF": (lambda: spiking_network(50, 3, 1), 0, "V = V * decay"),
    "HodgkinHuxley2": (lambda: all_to_all(33, 1), 0, "real V_new = "),
    "Aggregator+AlphaSynapse": (lambda: all_to_all(33, 1), 1, "real z_new = "),
    "GradedNeuron": (lambda: optic_lobe.circuit(2), 0, "nd_acc[nd_l] = "),
}


@pytest.mark.needs("vectors that gather")
@pytest.mark.parametrize("name", VECTORISED)
def test_loops_are_vectorised(name: str, dtype: str, tmp_path: Path) -> None:
    """GCC says of the loop that holds a model's mathematics that it is vectorised."""
    compiler = find_compiler()
    macros = subprocess.run([*compiler.command, "-dM", "-E", "-x", "c++", "/dev/null"],
                            capture_output=True, text=True).stdout  # fmt: skip
    if "__GNUC__" not in macros or "__clang__" in macros:
        pytest.skip(f"{compiler.version} does not report vectorised loops as GCC does")
    made, number, marker = VECTORISED[name]
    one = kernels(made(), dtype)[number]
    assert one.name == name
    text = source(one, dtype)
    file = tmp_path / "kernel.cpp"
    file.write_text(text)
    run = subprocess.run(
        [*compiler.command, *compiler.flags, "-fopt-info-vec-optimized", str(file), "-o",
         str(tmp_path / "kernel.so")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = [
        int(n) for n in re.findall(r"kernel\.cpp:(\d+):\d+: optimized: loop vectorized", run.stderr)
    ]
    loops = loops_around(text.splitlines(), marker)
    assert loops
    for first, last in loops:
        near = np.array(told)
        assert ((near >= first) & (near <= last)).any(), f"lines {first} to {last}: {run.stderr}"
