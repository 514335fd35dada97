"""Options that several commands share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..errors import CircuitError, CircuitWarning

circuit_file = click.argument("file", type=click.Path(path_type=Path))
strict = click.option("--strict", is_flag=True, help="Turn every warning into an error.")
own_models = click.option(
    "--models",
    "model_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Python file or folder with NDComponent subclasses; may be repeated.",
)


@contextmanager
def strictly(strict: bool) -> Iterator[None]:
    """Turn warnings into an error where the user asks for it.

    Raises
    ------
    CircuitError
        For the first warning.
    """
    with warnings.catch_warnings():
        if strict:
            warnings.simplefilter("error", CircuitWarning)
        try:
            yield
        except CircuitWarning as warning:
            raise CircuitError(f"{warning} [an error because of --strict]") from None


def positive(unit: str) -> Callable[[click.Context, click.Parameter, float | None], float | None]:
    """Return a check for finite numbers above zero, or none."""

    def check(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
        if value is not None and not 0 < value < float("inf"):
            raise click.BadParameter(f"must be positive {unit}, got {value}")
        return value

    return check


UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Return a time such as 60s, 5min or 2h in seconds."""
    if value is None:
        return None
    number = value.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        time = float(number) * UNITS[value[len(number) :] or "s"]
    except (ValueError, KeyError):
        time = 0.0
    if not 0 < time < float("inf"):
        raise click.BadParameter(f"must be a time such as 60s, 5min or 2h, got {value!r}")
    return time


def refuse_options(allowed: Iterable[str]) -> None:
    """Refuse options that an experiment file tells itself."""
    context = click.get_current_context()
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    for parameter in context.command.params:
        if parameter.name in given - {*allowed, "file"}:
            message = f"{parameter.opts[-1]} is for circuits; an experiment tells it in its file"
            raise click.UsageError(message)


def need_options(given: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse a circuit without the options that it needs."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in names and given[parameter.name] is None:
            raise click.MissingParameter(ctx=context, param=parameter)
