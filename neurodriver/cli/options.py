"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

circuit_file = click.argument("file", type=click.Path(path_type=Path))
strict = click.option("--strict", is_flag=True, help="Turn every warning into an error.")
own_models = click.option(
    "--models",
    "model_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Python file or folder with NDComponent subclasses; may be repeated.",
)


def positive(unit: str) -> Callable[[click.Context, click.Parameter, float | None], float | None]:
    """Return a check for finite numbers above zero, or none."""

    def check(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
        if value is not None and not 0 < value < float("inf"):
            raise click.BadParameter(f"must be positive {unit}, got {value}")
        return value

    return check
