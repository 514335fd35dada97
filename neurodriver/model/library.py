"""Finds component models by name: the shipped library and what the caller adds."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

from .component import NDComponent, table
from .loading import load_models

Models = dict[str, type[NDComponent]]


@cache
def shipped() -> Models:
    """Return all models of ``neurodriver.components``, by class name."""
    package = importlib.import_module("neurodriver.components")
    found = []
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(info.name)
        for _, item in inspect.getmembers(module, inspect.isclass):
            if issubclass(item, NDComponent) and item.__module__ == module.__name__:
                found.append(item)
    return dict(sorted(table(found).items()))


def models(extra: Any = ()) -> Models:
    """Return the shipped models and ``extra`` ones; an extra model replaces its namesake.

    Parameters
    ----------
    extra : NDComponent subclass, module, path, or nested sequence of these
        As `loading.load_models` takes it.

    Raises
    ------
    ModelError
        Where something is none of these, or cannot be loaded.
    """
    return {**shipped(), **table(load_models(extra))}
