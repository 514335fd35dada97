# ruff: noqa: E501
"""Odd and bad experiment files: each key with odd values, unknown keys, and lines that are lost."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import experiment_files
from isolated import CLEAR, LEGAL, WARNED, Case

from neurodriver.experiment import load_experiment
from neurodriver.experiment.check import check

WHOLE = experiment_files.WHOLE

VALUES = (
    "1.5", "-1", "0", '"x"', '""', "nan", "inf", "-inf", "[]", "[1, 2]", '["a", "b"]', "{}",
    "{ a = 1 }", "true", "2026-11-23", "9223372036854775807", "1e400", '"../../etc/passwd"',
    '"\\u0000"', '"os:system"', "[[[[]]]]",
)  # fmt: skip
"""Values that few keys admit."""

KEYS = (
    "dt", "duration", "steps", "seed", "dtype", "threads", "merge", "nonfinite", "backend",
    "device", "executor", "output", "overwrite", "models", "debug",
    "lpu.left.circuit", "lpu.left.function", "lpu.left.arguments", "lpu.left.models",
    "lpu.left.record", "lpu.left.sample_interval", "lpu.left.rank", "lpu.left.random_namespace",
    "lpu.left.input.0.class", "lpu.left.input.0.variable", "lpu.left.input.0.uids",
    "lpu.left.input.0.value", "lpu.left.input.0.start", "lpu.left.input.0.stop",
    "lpu.left.input.0.function", "pattern.0.between", "pattern.0.from", "pattern.0.to",
    "pattern.0.type", "pattern.0.delay", "pattern.0.file", "pattern.0.function",
    "pattern.0.interfaces",
)  # fmt: skip
"""Keys of an experiment."""


def cases() -> Iterator[Case]:
    """Yield the cases of this class."""
    yield Case("the good file", _checked(WHOLE), (LEGAL, WARNED))
    for key in KEYS:
        for value in VALUES:
            yield Case(f"{key} = {value}", _checked(with_key(key, value)), ANY)
        yield Case(
            f"{key}x", _checked(with_key(f"{key}x", "1")), (CLEAR,), (f"{key}x".split(".")[-1],)
        )
    for seed in range(120):
        yield Case(f"damaged {seed}", _checked(damaged(seed)), ANY)
    for value in ('"os:system"', '"subprocess:getoutput"', '"posixpath:join"', '"builtins:eval"'):
        for key in ("lpu.left.function", "lpu.left.input.0.function", "pattern.0.function"):
            yield Case(f"{key} calls {value}", _checked(with_key(key, value)), (CLEAR,))


ANY = (CLEAR, WARNED, LEGAL)


def _checked(text: str) -> Callable[[Path], object]:
    """Return what reads an experiment and makes all of it, without a run."""

    def run(folder: Path) -> None:
        path = experiment_files.write(folder, text)
        for _ in check(load_experiment(path)):
            pass

    return run


def with_key(key: str, value: str) -> str:
    """Return the text of an experiment with a key that has this value, in its place."""
    *table, name = key.split(".")
    lines = WHOLE.splitlines()
    heads = {
        "": -1,
        "lpu.left": lines.index("[lpu.left]"),
        "lpu.left.input.0": lines.index("[[lpu.left.input]]"),
        "pattern.0": lines.index("[[pattern]]"),
    }
    first = heads[".".join(table)] + 1
    last = next((i for i in range(first, len(lines)) if lines[i].startswith("[")), len(lines))
    for i in range(first, last):
        if lines[i].split("=")[0].strip() == name:
            lines[i] = f"{name} = {value}"
            break
    else:
        lines.insert(first, f"{name} = {value}")
    return "\n".join(lines) + "\n"


def damaged(seed: int) -> str:
    """Return the text with some characters lost, doubled or exchanged, or lines in another order."""
    draw = random.Random(f"experiment {seed}")
    text = list(WHOLE)
    lines = WHOLE.splitlines()
    if seed % 3 == 0:
        draw.shuffle(lines)
        return "\n".join(lines) + "\n"
    if seed % 3 == 1:
        del lines[draw.randrange(len(lines))]
        return "\n".join(lines) + "\n"
    for _ in range(draw.choice((1, 2, 8))):
        at = draw.randrange(len(text))
        text[at] = draw.choice(("", text[at] * 2, chr(draw.randrange(1, 300)), '"', "[", "=", "\n"))
    return "".join(text)
