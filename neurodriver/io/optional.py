"""Packages that are optional."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import NeurodriverError


def needed(package: str, extra: str = "results") -> Any:
    """Import an optional package, or say how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        raise NeurodriverError(
            f'{name} cannot be imported ({error}); pip install "neurodriver[{extra}]"'
        ) from error
