"""The language of models: its grammar, its faults, and that compiled texts do what they say."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from device_code import check_text
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_same_bits, build, simulate

from neurodriver import NDComponent, PairSTDP, Parameter, State
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, device_text
from neurodriver.codegen.simt.shape import Shape
from neurodriver.errors import ModelError
from neurodriver.model.language import (
    Symbol,
    assigned,
    check,
    declared,
    parse,
    parse_expression,
    parse_functions,
    raise_faults,
    renamed_text,
    to_text,
    tree,
    used,
)
from neurodriver.model.language.evaluate import Evaluator
from neurodriver.model.library import shipped
from neurodriver.model.texts import texts_of
from neurodriver.model.units import dimension
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

# ---- trees ----------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "V"])
NUMBERS = st.sampled_from(["1", "2", "0.5", "3e-1", "7"])
SIGNS = ["+", "-", "*", "/", "<", "<=", "==", "&&", "||"]


def above(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return trees that have trees as parts."""
    return st.one_of(
        st.builds(tree.Binary, st.sampled_from(SIGNS), inner, inner),
        st.builds(tree.Unary, st.sampled_from(["-", "!", "+"]), inner),
        st.builds(tree.Ternary, inner, inner, inner),
        st.builds(tree.Call, st.just("fmax"), st.tuples(inner, inner)),
        st.builds(tree.Cast, st.sampled_from(["int", "real", "bool"]), inner),
    )


EXPRESSIONS = st.recursive(
    st.one_of(st.builds(tree.Name, NAMES), st.builds(tree.Number, NUMBERS)), above, max_leaves=20
)


@given(EXPRESSIONS)
def test_a_printed_tree_is_read_as_the_same_tree(node: tree.Expression) -> None:
    """Brackets are where they are needed."""
    assert parse_expression(to_text(node)) == node


def test_every_text_of_the_library_is_printed_and_read_again() -> None:
    """And none has a fault."""
    count = 0
    for model in shipped().values():
        assert texts_of(model).faults == []
        for part in texts_of(model).parts.values():
            read = parse if part.name == "update" else parse_expression
            assert read(to_text(part.tree)) == part.tree
            count += 1
    assert count > 300


STATEMENTS = """
    // a comment
    real sum = 0, twice = 2 * V;
    const int n = 3;
    real kept[4] = {1, 2};
    for (int i = 0, j = 1; i < n; ++i) { kept[i] += i % 2; if (j) continue; else break; }
    while (sum < 3) sum += 1;
    do { sum -= 1; } while (sum > 2);
    if (V > 3) V = 1; else if (V < 2) V = 2; else { V = kept[0]; }
    PRINT("V %g", V);
"""


def test_statements_are_printed_and_read_again() -> None:
    """Every kind of statement; what governs one statement gets braces."""
    body = parse(STATEMENTS)
    assert parse(to_text(body)) == body
    assert declared(body) == {"sum", "twice", "n", "kept", "i", "j"}
    assert assigned(body) == {"V"}
    assert {"V", "n", "kept"} <= used(body)
    functions = parse_functions("real f(real x, int n) { if (n > 1) return x; return 2 * x; }")
    assert parse_functions(to_text(functions)) == functions
    assert renamed_text(parse("V = V + exp(V);"), {"V": "W"}) == "W = W + exp(W);"


def test_a_table_of_names_is_all_that_a_check_needs() -> None:
    """Other texts than those of models have other names."""
    table = {"w": Symbol("weight", writable=True), "pre": Symbol("trace")}
    source = "w += pre;\npre = 0;\nw = prree;"
    found = check(parse(source, "Rule.on_spike"), table, source, "Rule.on_spike")
    with pytest.raises(ModelError) as caught:
        raise_faults(found.faults)
    assert str(caught.value) == (
        "Rule.on_spike, line 2, column 1: 'pre' is a trace, which the text cannot change\n"
        "    pre = 0;\n    ^\n"
        "Rule.on_spike, line 3, column 5: unknown name 'prree' (did you mean 'pre'?)\n"
        "    w = prree;\n        ^"
    )


# ---- faults ---------------------------------------------------------------------------------


def declare(update: str, **parts: Any) -> type[NDComponent]:
    """Return a model with a text."""
    body = {
        "accesses": ["I"],
        "updates": ["V", "r"],
        "params": {"tau": "ms", "E": "mV", "rate": "Hz"},
        "states": {"V": "mV", "w": "pA"},
        "functions": "real twice(real x) { return 2 * x; }",
        "update": update,
        **parts,
    }
    return type("Broken", (NDComponent,), body)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("V = E\nw = 1;", 1, 5, "a ';' is missing after 'E'"),
        ("V = 2 E;", 1, 5, "a ';' is missing after '2'"),
        ("V = E; }", 1, 8, "'}' closes nothing that is open"),
        ("V = E;\nif (V > 3) { V = 1;", 2, 12, "the '{' that stands here is not closed"),
        ("if (V > 3 { V = 2; }", 1, 4, "the '(' that stands here is not closed"),
        ("V = (E + 1]) * 2;", 1, 11, "')' is expected, and ']' stands here"),
        ("V = slop;", 1, 5, "unknown name 'slop'"),
        ("V = E + ta;", 1, 9, "unknown name 'ta' (did you mean 'tau'?)"),
        ("V = x; real x = 1;", 1, 5, "unknown name 'x' (it is declared further down, in line 1)"),
        ("V = twise(1);", 1, 5, "unknown name 'twise' (did you mean 'twice'?)"),
        ("V = mod(V, 2);", 1, 5, "unknown name 'mod'; write fmod(x, y)"),
        ("V = exp;", 1, 5, "'exp' is a function; call it: exp(...)"),
        ("V = tau(2);", 1, 5, "'tau' is a parameter and no function; is a '*' missing?"),
        ("V = fmax(1);", 1, 5, "'fmax' takes 2 arguments, 1 given"),
        ("V = twice();", 1, 5, "'twice' takes 1 argument, none given"),
        ("V = normal(1);", 1, 5, "'normal' takes no arguments, 1 given"),
        ("V = V % 3;", 1, 7, "'%' is for integers; for real numbers write x - y * floor(x / y)"),
        ("int n = 3; n &= 1.5;", 1, 12, "'&=' is for integers"),
        ("real a[3]; V = a;", 1, 16, "'a' is an array; say which element: a[0]"),
        ("real a[3]; V = a[3];", 1, 16, "'a' has the elements 0 to 2"),
        ("real a[3]; V = a[w];", 1, 18, "the index of an array is an integer; write (int)(...)"),
        ("real a[2] = {1, 2, 3};", 1, 6, "'a' has 2 elements, 3 are given"),
        (
            "real a[k];",
            1,
            6,
            "the size of an array is a whole number, or one of the 'numbers'",
        ),
        ("real a[0];", 1, 8, "the size of an array is a whole number, such as 4"),
        ("V = w[0];", 1, 5, "'w' is a state and no array; it has no elements"),
        ("tau = 3;", 1, 1, "'tau' is a parameter, which the text cannot change; declare a state"),
        ("I += 1;", 1, 1, "'I' is an input, which the text cannot change; copy it first"),
        ("substep = 1;", 1, 1, "'substep' is a number of the sub-step, which the text cannot"),
        ("const real k = 1; k = 2;", 1, 19, "'k' is a constant, which the text cannot change"),
        ("exp(1) = 2;", 1, 1, "only a name, or an element of an array, can be assigned to"),
        ("V = w = 1;", 1, 7, "'=' has to follow a name"),
        ("if (V = 3) w = 1;", 1, 7, "'=' assigns; compare with '=='"),
        ("V > 3;", 1, 1, "nothing takes the value of this; assign it: x = ...;"),
        ("real V = 1;", 1, 6, "'V' is the name of a state already; choose another"),
        ("real x = 1; real x = 2;", 1, 18, "'x' is declared twice in this block"),
        ("real exp = 1;", 1, 6, "the name 'exp' is reserved; choose another"),
        ("real co_await = 1;", 1, 6, "the name 'co_await' is reserved; choose another"),
        ("real ND_LANES = 1;", 1, 6, "the name 'ND_LANES' is reserved; choose another"),
        ("real __int128 = 1;", 1, 6, "the name '__int128' is reserved; choose another"),
        ("real _Complex = 1;", 1, 6, "the name '_Complex' is reserved; choose another"),
        ("real threadIdx = 1;", 1, 6, "the name 'threadIdx' is reserved; choose another"),
        ("real cudaFree = 1;", 1, 6, "the name 'cudaFree' is reserved; choose another"),
        ("for (int i = 0; i < 2; ++i) { int i = 1; }", 1, 35, "'i' is the variable of a loop"),
        ("bool b = V > 0; b++;", 1, 17, "'++' counts, and this is a bool; declare it as int"),
        ("double x = 1;", 1, 1, "'double' is no type; write 'real'"),
        ("rael x = 1;", 1, 1, "'rael' is no type (did you mean 'real'?)"),
        ("switch (w) { }", 1, 1, "'switch' is not part of the language here; write if"),
        ("break;", 1, 1, "'break' stands in no loop"),
        ("return 1;", 1, 1, "'return' is not part of the language here"),
        ("else V = 1;", 1, 1, "'else' is not part of the language here; it has no if"),
        ("V = 2**3;", 1, 6, "'**' is not part of the language; write pow(x, y)"),
        ("V = 1 @ 2;", 1, 7, "'@' is not part of the language"),
        ("V = 3..5;", 1, 7, "'.' is not part of the language"),
        ("V = 3E;", 1, 6, "'3' and 'E' have nothing between them"),
        ("V = 1; /* no end", 1, 8, "the comment that begins here does not end; write */"),
        ("V = 1 + ;", 1, 9, "a value is missing after '+'; ';' stands here"),
        ("V = E + tau;", 1, 7, "'E + tau': '+' between mV and ms"),
        ("w = E;", 1, 1, "'w = ...' takes pA, and is given mV"),
        ("V = tau > E ? E : V;", 1, 9, "'tau > E' compares ms and mV"),
        ("V = exp(E);", 1, 9, "exp() takes a number without unit, 'E' is in mV"),
        ("V = E * (rate + 1 * rate + E / (E * tau));", 1, 26, "1 1/ms is 1000 Hz: bring both to"),
        ("V = E;\n\n  w = pow(E, 2) / E;", 3, 3, "'w = ...' takes pA, and is given mV"),
    ],
)
def test_faults(text: str, line: int, column: int, message: str) -> None:
    """Each is told with class, line, column and a caret, and no compiler is asked."""
    with pytest.raises(ModelError) as caught:
        texts_of(declare(text)).check()
    said = str(caught.value)
    assert said.startswith(f"Broken.update, line {line}, column {column}: ")
    assert message in said
    shown, caret = said.splitlines()[1:3]
    whole = text.splitlines()[line - 1]
    assert shown == "    " + whole.strip()
    assert caret == " " * (4 + column - 1 - len(whole) + len(whole.lstrip())) + "^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("real f(real x) { return tau; }", "unknown name 'tau'; a function knows its parameters"),
        ("real f(real x) { if (x > 0) return 1; }", "'f' does not return a value on every way"),
        ("f(x) { return 1; }", "a function begins with the type of its value"),
        ("real f(x) { return 1; }", "a parameter needs a type: real x"),
        ("real f(real x) { return f(x); }", "'f' calls itself, which a function cannot"),
        ("real f(real x) return x;", "'{' is expected: the body of 'f' stands in braces"),
        ("real exp(real x) { return x; }", "the name 'exp' is taken"),
        (
            "real f(real x) { return g(x); } real g(real x) { return x; }",
            "'f' calls 'g', which stands further down; put it above",
        ),
        ("real f(real x) { real x = 1; return x; }", "'x' is declared twice in this block"),
        ('real f(real x) { PRINT("%f", x); return x; }', "PRINT, ERROR and ENSURE stand in"),
        ("real f(real x) { return x * normal(); }", "normal() draws a random number"),
    ],
)
def test_faults_of_functions(text: str, message: str) -> None:
    """They have the class in whose body they stand."""
    with pytest.raises(ModelError, match=re.escape(message)) as caught:
        texts_of(declare("V = E;", functions=text)).check()
    assert str(caught.value).startswith("Broken.functions, line 1, column ")


@pytest.mark.parametrize(
    "text", ["V = " + "(" * 999 + "V" + ")" * 999 + ";", "V = " + "V + " * 3000 + "V;"]
)
def test_texts_that_are_nested_too_deeply(text: str) -> None:
    """They have line and column, and a part of their line, also in a rule."""
    with pytest.raises(ModelError, match="always possible") as caught:
        declare(text)
    first, shown, caret = str(caught.value).splitlines()
    assert first.startswith("Broken.update, line 1, column ") and len(shown) < 250
    assert caret.endswith("^") and len(caret) <= len(shown)
    with pytest.raises(ModelError, match=r"^Deep\.on_spike, line 1, column .* always possible"):
        type("Deep", (PairSTDP,), {"on_spike": text.replace("V", "weight")})
    with pytest.raises(ModelError, match=r"^Broken: in a text, .* always possible"):
        texts_of(declare("V = " + "V + " * 300 + "V;")).check()


CPP_WORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
    "char32_t class compl concept const consteval constexpr constinit const_cast continue co_await "
    "co_return co_yield decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq"
).split()
"""Keywords and alternative tokens of C++20, [lex.key] of the standard."""


@pytest.mark.parametrize("word", [*CPP_WORDS, "NULL", "__global__", "blockIdx", "warpSize"])
def test_words_of_cpp_and_cuda_are_no_names(word: str) -> None:
    """Of a local variable and of a parameter, in a model."""
    with pytest.raises(ModelError, match=f"Broken.*'{word}'"):
        texts_of(declare(f"real {word} = 1;")).check()
    with pytest.raises(ModelError, match=f"Broken: .*'{word}'"):
        declare("V = E;", params={word: "mV", "E": "mV"})


def test_a_whole_number_may_begin_with_zeros() -> None:
    """In C++ 010 would be 8, and 09 no number."""
    model = declare("int n = 010; V = n + 09 % n;")
    node = {"class": "Broken", "tau": 1.0, "E": 1.0, "rate": 1.0}
    assert simulate(build({"n": node}, models=[model]), steps=2)["V"][-1] == 19.0


def test_whole_parameters_are_indices() -> None:
    """They are integers where these are needed; the size of an array may be a number's name."""
    update = "real a[n]; a[m] = 7; a[m - 1] = 1; V = a[m] + a[m - 1] + m / 4 + m % 2;"
    params = {"m": Parameter("1", 3.0, whole=True)}
    model = declare(update, params=params, numbers={"n": 4})
    assert simulate(build({"n": {"class": "Broken"}}, models=[model]), steps=2)["V"][-1] == 9.75
    with pytest.raises(ModelError, match=r"whole number from 1 on, 'n' is 2\.5"):
        declare(update, params=params, numbers={"n": 2.5})


def test_all_faults_of_a_model_are_told_at_once() -> None:
    """Those of grammar where the class is made, the others where it is used."""
    with pytest.raises(ModelError) as caught:
        declare("V = E", terms={"x": "1 +"}, outputs={"r": "2 2"})
    assert [line.split(",")[0] for line in str(caught.value).splitlines()[::3]] == [
        "Broken.terms['x']", "Broken.update", "Broken.outputs['r']",
    ]  # fmt: skip
    model = declare("V = unknwon; w = also;", terms={"x": "nothing"})
    with pytest.raises(ModelError) as caught:
        given = {"class": "Broken", "tau": 1.0, "E": 1.0, "rate": 1.0}
        simulate(build({"n": given}, models=[model]))
    assert str(caught.value).count("unknown name") == 3


def test_units_are_read() -> None:
    """As the models write them, and as Brian2 does."""
    pairs = [("mV/ms", "V/s"), ("siemens/meter**2", "S/m^2"), ("mS/cm^2", "uF/cm^2/ms"),
             ("kOhm cm^2 * uA/cm^2", "mV"), ("pA", "nS mV"), ("Hz", "1/s"), ("msecond", "ms"),
             ("mV/ms^0.5", "mV/(ms^0.5)")]  # fmt: skip
    for one, other in pairs:
        left, right = dimension(one), dimension(other)
        assert left is not None and right is not None and left.same(right), (one, other)
    for text in ("mV^power", "furlong", "mV/", "(mV", "10 mV", ""):
        assert dimension(text) is None


# ---- what compiled texts do -----------------------------------------------------------------

FUNCTIONS = """
    real square(real x) { return x * x; }
    real smooth(real x, int n) {
        real out = x;
        for (int i = 0; i < n; ++i) out = square(out) / (1 + square(out));
        return out;
    }
    int parity(int n) { if (n % 2 == 0) return 0; return 1; }
    bool between(real x, real low, real high) { return x > low && x < high; }
"""


class Counting(NDComponent):
    """Uses integers, arrays, functions and every loop."""

    accesses = ["I"]
    updates = ("r", "V")
    params = {"a": Parameter(""), "shift": Parameter("", whole=True, default=2)}
    constants = {"goal": "square(a) + 1 / 2"}
    terms = {"near": "between(a, 1, 4) ? smooth(a, 2) : 0"}
    states = {"n": State(""), "V": State("")}
    functions = FUNCTIONS
    update = """
        int step_number = (int)n;
        int odd = parity(step_number);
        real kept[5] = {1, 2.5, step_number};
        int sizes[3];
        sizes[step_number % 3] = step_number * 2 + 1;
        for (int i = 0; i < 5; ++i) {
            if (i == 3 && odd != 0) continue;
            kept[i] += i / 2 + kept[(i + 1) % 5];
        }
        int bits = (step_number << 2 | 1) ^ 3;
        while (bits > 9) bits -= 7;
        do { bits += 2; } while (bits < 4);
        bits /= 2;
        V = 0;
        for (int i = 0; i < 5; ++i) V += kept[i] * (i + 1);
        V += 100 * sizes[0] + 10 * sizes[1] + sizes[2] + bits / 4 + ~odd + near + goal;
        bool late = n > 2;
        n += late ? 1 : 1;
        n++;
    """
    outputs = {"r": "smooth(V, 1) + square(shift)"}


def expected(a: float, shift: float, steps: int) -> tuple[list[float], list[float]]:
    """Return V and r of Counting, computed in Python."""

    def smooth(x: float, times: int) -> float:
        for _ in range(times):
            x = x * x / (1 + x * x)
        return x

    rows, outputs = [0.0], [smooth(0.0, 1) + shift**2]
    for n in range(0, 2 * steps, 2):
        odd = n % 2
        kept = [1.0, 2.5, float(n), 0.0, 0.0]
        sizes = [0, 0, 0]
        sizes[n % 3] = 2 * n + 1
        for i in range(5):
            if not (i == 3 and odd):
                kept[i] += i / 2 + kept[(i + 1) % 5]
        bits = (n << 2 | 1) ^ 3
        while bits > 9:
            bits -= 7
        bits += 2
        while bits < 4:
            bits += 2
        bits = int(bits / 2)
        near = smooth(a, 2) if 1 < a < 4 else 0.0
        value = sum(k * (i + 1) for i, k in enumerate(kept)) + 100 * sizes[0] + 10 * sizes[1]
        value += sizes[2] + bits / 4 + ~odd + near + a * a + 0.5
        rows.append(value)
        outputs.append(smooth(value, 1) + shift**2)
    return rows, outputs


@pytest.mark.parametrize("a", [0.5, 2.25, 7.0])
def test_integers_arrays_functions_and_loops(a: float, dtype: str) -> None:
    """As the same lines in Python; an evaluation without a compiler refuses arrays."""
    circuit = build({"n": {"class": "Counting", "a": a, "shift": 3}}, models=[Counting])
    data = simulate(circuit, steps=9, record=[("V", None), ("r", None)], dtype=dtype)
    tolerance = 1e-13 if dtype == "float64" else 2e-6
    for name, column in zip(("V", "r"), expected(a, 3.0, 8), strict=True):
        np.testing.assert_allclose(data[name][:, 0], column, rtol=tolerance)


def test_sub_steps_call_functions_too() -> None:
    """The text of sub-steps, of outputs and of row 0 stand in places of their own."""

    class Finer(Counting):
        maximum_dt = 5e-5

    class Own(Counting):
        functions = "real square(real x) { return 3 * x; }"

    def run(model: type[NDComponent], dt: float, steps: int) -> Any:
        circuit = build({"n": {"class": model.__name__, "a": 2.0}}, models=[model])
        return simulate(circuit, dt, steps, record=[("V", None), ("r", None)])

    fine, plain = run(Finer, 1e-4, 5), run(Counting, 1e-4, 9)
    assert_same_bits(fine, {name: x[::2].copy() for name, x in plain.items()})
    row = run(Own, 1e-4, 2)["r"][0, 0]  # a subclass replaces one function, the others call it
    assert row == 0 / 1 + 3 * 2


@pytest.mark.needs("NVRTC")
def test_text_for_a_gpu_compiles() -> None:
    """Functions, arrays and integers are device code."""
    circuit = build({"n": {"class": "Counting", "a": 1.0}}, models=[Counting])
    program = compile_circuit(circuit, 1e-4, target=CUDA)
    parts = [Part(task.kernel) for task in generate(program).tasks]
    text = device_text(parts, "float64", Shape(128))
    check_text(text)


VALUES = st.floats(-3, 3).map(lambda x: round(x, 3))


@settings(max_examples=25, deadline=None)
@given(EXPRESSIONS, st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4))
def test_expressions_do_what_numpy_computes(node: tree.Expression, points: list[Any]) -> None:
    """For random expressions of numbers, names and all operators that real numbers have."""
    text = to_text(node).replace("V", "a")
    update = f"r = {text};"
    body = {"updates": ("r",), "params": ["a", "b"], "update": update}
    model = type("Random", (NDComponent,), body)
    columns = {"a": np.array([p[0] for p in points]), "b": np.array([p[1] for p in points])}
    nodes = {f"n{i}": {"class": "Random", "a": a, "b": b} for i, (a, b) in enumerate(points)}
    with np.errstate(all="ignore"):
        value = Evaluator().value(parse_expression(text), dict(columns))
        if not np.all(np.abs(value) < 2**30) or "(int)" in text:
            return
        data = simulate(build(nodes, models=[model]), steps=2, record=[("r", None)])
    np.testing.assert_allclose(data["r"][1], np.broadcast_to(value, len(points)), rtol=1e-12)
    assert math.isfinite(float(np.sum(data["r"])))
