"""Finds component models by name: the shipped library and what the caller adds."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from functools import cache

from .component import NDComponent, table
from .errors import ModelError

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


def models(extra: Iterable[type[NDComponent]] = ()) -> Models:
    """Return the shipped models and ``extra`` ones; an extra model replaces its namesake.

    Parameters
    ----------
    extra : iterable of NDComponent subclasses

    Raises
    ------
    ModelError
        When an entry is not an NDComponent subclass.
    """
    extra = list(extra)
    for item in extra:
        if not (inspect.isclass(item) and issubclass(item, NDComponent)):
            raise ModelError(f"models: expected NDComponent subclasses, got {item!r}")
    return {**shipped(), **table(extra)}
