# ruff: noqa: E501
"""Odd and bad command lines: each option of each command with odd values, and odd files."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import click
import contents
import seeds
from isolated import CLEAR, LEGAL, WARNED, Case, Unnoticed

from neurodriver.__main__ import cli, main

ANY = (CLEAR, WARNED, LEGAL)

VALUES = ("1.5", "-1", "0", "x", "", "nan", "inf", "-inf", "1e400", "a\nb", "ä", "/dev/null", ".",
          "/", "no/such/file", "none.h5", "circuit.h5", "recording.h5", "x" * 300, "[0", "*", "1,2",
          "18446744073709551616", "--")  # fmt: skip
"""Values that few options admit."""

GOOD = {
    "run": ["circuit.gexf", "--dt", "1e-4", "--duration", "2e-3", "-o", "out.h5"],
    "check": ["circuit.gexf"],
    "convert": ["circuit.gexf", "out.h5"],
    "info": ["recording.h5"],
    "models": [],
    "rules": [],
}
"""A good command line of each command."""


WITHOUT_EFFECT = {"--threads", "--device", "--executor", "--backend", "--nonfinite", "--merge"}
"""Options that do not change what is written."""

DEFAULTS = {
    f"run circuit.gexf --dt 1e-4 --duration 2e-3 -o out.h5 {one}"
    for one in ("--seed 0", "--port 0")
}
"""Command lines that say what holds without the option."""


def cases() -> Iterator[Case]:
    """Yield the cases of this class."""
    context = click.Context(cli)
    for name, good in GOOD.items():
        yield Case(name, _called([name, *good]), (LEGAL, WARNED))
        command = cli.get_command(context, name)
        assert command is not None
        yield Case(f"{name} --no-such-option", _called([name, *good, "--no-such-option"]))
        for option in command.params:
            if isinstance(option, click.Option) and not option.is_flag:
                for value in VALUES:
                    words = [name, *good, option.opts[-1], value]
                    said = " ".join(words)
                    used = option.opts[-1] not in WITHOUT_EFFECT and said not in DEFAULTS
                    yield Case(said, _called(words, unlike=name if used else ""), ANY)
        for place in range(len(good)):
            for value in VALUES[:18]:
                words = [name, *good[:place], value, *good[place + 1 :]]
                yield Case(" ".join(words), _called(words), ANY)
            words = [name, *good[:place], *good[place + 1 :]]
            yield Case(" ".join([*words, "(one less)"]), _called(words), ANY)
    for name, value in (("CACHE", "/dev/null"), ("THREADS", "x"), ("BACKEND", "x"), ("FUZZ", "-1"),
                        ("DEVICE", "x"), ("EXECUTOR", "x"), ("VALIDATE", "2"), ("TIMEOUT", "nan"),
                        ("TIMEOUT", "-1"), ("CXX", "/bin/false"), ("CXX", "no-such"), ("DEBUG", "x")):  # fmt: skip
        key = f"NEURODRIVER_{name}"
        yield Case(f"{key}={value}", _called(["run", *GOOD["run"]], {key: value}), ANY)


@cache
def _good_files() -> str:
    """Return a folder with good files."""
    folder = tempfile.mkdtemp()
    seeds.make(Path(folder))
    return folder


@cache
def _result_of(name: str) -> str:
    """Return what comes of a good command line."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            return _result(Path(folder), [name, *GOOD[name]])
        finally:
            os.chdir(before)


def _result(folder: Path, words: list[str]) -> str:
    """Call a command in a folder with good files; return the digest of what comes of it."""
    shutil.copytree(_good_files(), folder, dirs_exist_ok=True)
    given = {str(one.relative_to(folder)) for one in folder.rglob("*")}
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(words)
    if code:
        raise click.ClickException(errors.getvalue().strip().split("\n\n")[-1])
    return contents.digest_of_run(folder, given, out.getvalue())


def _called(
    words: list[str], environment: dict[str, str] | None = None, unlike: str = ""
) -> Callable[[Path], object]:
    """Return what calls a command, of which something else has to come than of a good one.

    Raises
    ------
    Unnoticed
        Where the same comes of it.
    """

    def run(folder: Path) -> None:
        os.environ.update(environment or {})
        try:
            found = _result(folder, words)
        finally:
            for name in environment or {}:
                del os.environ[name]
        if unlike and found == _result_of(unlike):
            raise Unnoticed("the option has no effect")

    return run
