# ruff: noqa: E501
"""Odd and bad models of users: declarations, and texts in which something is lost or exchanged."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import contents
from isolated import CLEAR, LEGAL, WARNED, Case, Unnoticed

import neurodriver as nd
from neurodriver.codegen.generate import generate
from neurodriver.plan.compile import compile_circuit

ANY = (CLEAR, WARNED, LEGAL)

GOOD = '''
import neurodriver as nd


class Mine(nd.NDComponent):
    """A leaky integrator with a threshold."""

    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = {"tau": nd.Parameter("ms", default=10.0), "threshold": nd.Parameter("mV", default=-50.0)}
    states = {"V": nd.State("mV", -60.0), "w": nd.State("mV", 0.0)}
    update = """
        V += dt_ms / tau * (I - V - 60.0) + 0.1 * w;
        w = w * exp(-dt_ms / tau);
        if (V > threshold) {
            V = -60.0;
            w += 1.0;
            spike_state = 1;
        }
    """
'''

VALUES = ("None", "1", "-1.5", '"x"', '""', "[]", "{}", '{"": ""}', '{1: 2}', '{"V": None}',
          '{"V": "no such kind"}', '{"a b": "current"}', '{"for": "current"}', '{"V" * 3: 1}',
          "object()", "lambda: 1", "nd.Parameter", "nd.State('mV', float('nan'))", '{"V": nd.State("mV", "x")}',
          '{"dt": nd.Parameter("ms", default=1.0)}', '{"tau": nd.Parameter("ms", default=-1e400)}', "set()", "b'x'")  # fmt: skip
"""Values that few declarations admit."""

TEXTS = (
    "", ";", "V = ;", "V = = 1;", "V = 1", "V += I", "{", "}", "if (V) V = 1; else", "x = 1;",
    "V = unknown;", "V = f(1);", "V = V.x;", "V = V[0];", "V = 1 / 0;", "V = sqrt(-1.0);",
    "V = exp(1e9);", "int V;", "double I = 1; I = 2;", "return;", "goto end;", "#include <x>",
    "asm(\"nop\");", "system(\"touch mark\");", "while (1) {}", "for (;;) {}", "do {} while (1);",
    "V = (double)(long)V;", "*(int*)0 = 1;", "V = &V;", "V = \"x\";", "V = 'x';", "/* ", "// V",
    "V = 0x1p3;", "V = 1e400;", "V = 1.0f;", "V = 9999999999999999999;", "V ? V = 1 : V = 2;",
    "V = V++ + ++V;", "tau = 1;", "threshold += 1;", "I = 1;", "spike_state = V > 0", "\0", "é = 1;",
    "template<int> V;", "static double s; s = 1;", "throw 1;", "V = pow(V);", "V = pow(V, 2, 3);",
    "V = random();", "PRINT(V)", "ERROR(V)", "V = \\\n 1;", "??=", "V = V" + " + V" * 3000 + ";",
    "{" * 300 + "}" * 300, "V = " + "(" * 300 + "V" + ")" * 300 + ";",
)  # fmt: skip
"""Texts in place of the good one."""


def cases() -> Iterator[Case]:
    """Yield the cases of this class."""
    yield Case("the good model", _made(GOOD), ANY)
    for name in ("accesses", "updates", "params", "states", "update"):
        for value in VALUES:
            yield Case(f"{name} = {value}", _made(edited(name, value)), ANY)
        yield Case(f"without {name}", _made(edited(name, None)), ANY)
    for number, text in enumerate(TEXTS):
        yield Case(f"text {number}: {text[:20]!r}", _made(edited("update", repr(text))), ANY)
    for seed in range(150):
        yield Case(f"damaged {seed}", _made(damaged(seed)), ANY)


def edited(name: str, value: str | None) -> str:
    """Return the good model with another declaration, or without it."""
    head, mark, rest = GOOD.partition(f"    {name} = ")
    assert mark
    end = rest.index('"""', rest.index('"""') + 3) + 4 if name == "update" else rest.index("\n") + 1
    line = "" if value is None else f"    {name} = {value}\n"
    return head + line + rest[end:]


def damaged(seed: int) -> str:
    """Return the good model, some characters of whose text are lost, doubled or exchanged."""
    draw = random.Random(f"model {seed}")
    first = GOOD.index('update = """') + 12
    text = list(GOOD[first : GOOD.rindex('"""')])
    for _ in range(draw.choice((1, 1, 2, 6))):
        at = draw.randrange(len(text))
        text[at] = draw.choice(("", text[at] * 2, draw.choice("();{}=+-*/.Vw1 "), "I", "\n"))
    return (
        GOOD[:first]
        + "".join(text).replace("\\", "").replace('"""', "")
        + GOOD[GOOD.rindex('"""') :]
    )


def _made(text: str) -> Callable[[Path], object]:
    """Return what loads a model and generates the text of a circuit of it, which is not compiled.

    Raises
    ------
    Unnoticed
        Where other words than those of the good model give what these give.
    """

    def run(folder: Path) -> None:
        if _meaning(folder, text) == _good_meaning() and _words(text) != _words(GOOD):
            raise Unnoticed("the edit has no effect")

    return run


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|\S", text)


def circuit_of(folder: Path, text: str) -> nd.Circuit:
    """Return a circuit of three components of the model that a program declares."""
    path = folder / "own.py"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    (kind,) = nd.model.loading.load_classes([path])
    return nd.Circuit.from_arrays([(kind, 3, {}, ["a", "b", "c"])])


@cache
def _good_meaning() -> str:
    with TemporaryDirectory() as folder:
        return _meaning(Path(folder), GOOD)


def _meaning(folder: Path, text: str) -> str:
    """Return the digest of all that a model brings into compiled code."""
    program = compile_circuit(circuit_of(folder, text), 1e-4, "float64")
    texts = [task.kernel.text for task in generate(program).tasks]
    values = [(str(one.key), one.value) for one in program.arrays.values()]
    return contents.digest_of([texts, values])
