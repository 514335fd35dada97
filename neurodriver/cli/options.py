"""Options that several commands share."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..component import NDComponent
from ..errors import ModelError

circuit_file = click.argument("file", type=click.Path(path_type=Path))
strict = click.option("--strict", is_flag=True, help="Turn every warning into an error.")
own_models = click.option(
    "--models",
    "model_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Python file with NDComponent subclasses; may be repeated.",
)


def positive(unit: str) -> Callable[[click.Context, click.Parameter, float], float]:
    """Return a check for finite numbers above zero."""

    def check(ctx: click.Context, param: click.Parameter, value: float) -> float:
        if not 0 < value < float("inf"):
            raise click.BadParameter(f"must be positive {unit}, got {value}")
        return value

    return check


def load_models(files: tuple[Path, ...]) -> list[type[NDComponent]]:
    """Return the NDComponent subclasses that some Python files define.

    Raises
    ------
    ModelError
        When a file cannot be imported or defines none.
    """
    found: list[type[NDComponent]] = []
    for file in files:
        spec = importlib.util.spec_from_file_location(f"neurodriver_user_{file.stem}", file)
        if spec is None or spec.loader is None or not file.exists():
            raise ModelError(f"{file}: no such Python file")
        module: Any = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except ModelError as error:
            raise ModelError(f"{file}: {error}") from None
        except (Exception, SystemExit) as error:
            raise ModelError(f"{file}: cannot be imported ({error!r})") from error
        own = [
            item
            for _, item in inspect.getmembers(module, inspect.isclass)
            if issubclass(item, NDComponent) and item.__module__ == module.__name__
        ]
        if not own:
            raise ModelError(f"{file}: defines no subclass of NDComponent")
        found += own
    return found
