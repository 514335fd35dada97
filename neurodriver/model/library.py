"""Finds models and rules by name: the shipped library and what the caller adds."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any

from .component import NDComponent, table
from .loading import load_models, load_rules
from .plasticity import Plasticity

Models = dict[str, type[NDComponent]]
Rules = dict[str, type[Plasticity]]


@cache
def shipped() -> Models:
    """Return all models of ``neurodriver.components``, by class name."""
    found = table(item for item in _classes() if issubclass(item, NDComponent))
    return dict(sorted(found.items()))


@cache
def shipped_rules() -> Rules:
    """Return all rules of plasticity of ``neurodriver.components``, by class name."""
    found = {item.__name__: item for item in _classes() if issubclass(item, Plasticity)}
    return dict(sorted(found.items()))


def _classes() -> Iterator[type]:
    """Yield the classes that the modules of ``neurodriver.components`` define."""
    package = importlib.import_module("neurodriver.components")
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(info.name)
        for _, item in inspect.getmembers(module, inspect.isclass):
            if item.__module__ == module.__name__:
                yield item


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


def rules(extra: Any = ()) -> Rules:
    """Return the shipped rules of plasticity and those among ``extra``, as `models` takes it."""
    return {**shipped_rules(), **{rule.__name__: rule for rule in load_rules(extra)}}
