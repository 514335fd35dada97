# ruff: noqa: E501
"""Odd and bad experiment files: each key with odd values, unknown keys, and lines that are lost."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import contents
import experiment_files
from isolated import CLEAR, LEGAL, WARNED, Case, Unnoticed

from neurodriver.experiment import load_experiment
from neurodriver.experiment.check import check

NOISE = """
[[lpu.left.input]]
class = "NoiseInput"
variable = "I"
uids = ["n0"]
mean = 1.0
sigma = 0.5
"""

WHOLE = (
    experiment_files.HEAD
    + experiment_files.LEFT
    + NOISE
    + experiment_files.RIGHT
    + experiment_files.PATTERN
)
"""An experiment with random numbers."""

WITHOUT_EFFECT = {
    "threads", "merge", "nonfinite", "debug", "backend", "device", "executor", "overwrite",
    "models", "rank",
    "seed",  # no model of it draws numbers
    "type",  # of a pattern: the ports have it, too
}  # fmt: skip
"""Keys that do not change what is recorded."""

DEFAULTS = {"lpu.left.arguments = {}"}
"""Edits that say what holds without them."""

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
        used = key.split(".")[-1] not in WITHOUT_EFFECT
        for value in VALUES:
            name = f"{key} = {value}"
            noticed = used and name not in DEFAULTS
            yield Case(name, _checked(with_key(key, value), noticed), ANY)
        yield Case(
            f"{key}x", _checked(with_key(f"{key}x", "1")), (CLEAR,), (f"{key}x".split(".")[-1],)
        )
    for seed in range(120):
        yield Case(f"damaged {seed}", _checked(damaged(seed), True), ANY)
    for value in ('"os:system"', '"subprocess:getoutput"', '"posixpath:join"', '"builtins:eval"'):
        for key in ("lpu.left.function", "lpu.left.input.0.function", "pattern.0.function"):
            yield Case(f"{key} calls {value}", _checked(with_key(key, value)), (CLEAR,))


ANY = (CLEAR, WARNED, LEGAL)


def _checked(text: str, noticed: bool = False) -> Callable[[Path], object]:
    """Return what reads an experiment and makes all of it.

    Where an edit is to be ``noticed``, it is also run, and something else has to come of it.

    Raises
    ------
    Unnoticed
        Where the same comes of it as of the good experiment.
    """

    def run(folder: Path) -> None:
        path = experiment_files.write(folder, text)
        for _ in check(load_experiment(path)):
            pass
        if noticed and _said(text) != _said(WHOLE) and _recorded(folder, path) == _good():
            raise Unnoticed("the edit has no effect")

    return run


def _said(text: str) -> object:
    """Return what an experiment says, but for keys without effect."""

    def used(value: object) -> object:
        if isinstance(value, dict):
            return {k: used(v) for k, v in value.items() if k not in WITHOUT_EFFECT}
        return [used(one) for one in value] if isinstance(value, list) else value

    return used(tomllib.loads(text))


@cache
def _good() -> str:
    """Return what comes of the good experiment."""
    with TemporaryDirectory() as folder:
        return _recorded(Path(folder), experiment_files.write(Path(folder), WHOLE))


def _recorded(folder: Path, path: Path) -> str:
    """Run an experiment; return the digest of its recordings."""
    given = {str(one.relative_to(folder)) for one in folder.rglob("*")}
    load_experiment(path).run()
    return contents.digest_of_run(folder, given)


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
