"""Checks of the arguments of public classes and functions: a wrong one gives one sentence."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .errors import NeurodriverError

MANY_STEPS = 2**53
"""Longest run in steps."""


class ArgumentError(NeurodriverError, TypeError, ValueError):
    """An argument has a wrong type or a wrong value."""


Check = Callable[[Any, str], Any]
"""Takes a value and the name of its argument; returns the value, or raises `ArgumentError`."""

Function = TypeVar("Function", bound=Callable[..., Any])


def checked_arguments(**checks: Check) -> Callable[[Function], Function]:
    """Check arguments before a function is called.

    Parameters
    ----------
    checks : callable
        Argument -> its check. An argument that is not given is not checked.

    Examples
    --------
    >>> @checked_arguments(count=whole_number, name=optional(text))
    ... def repeat(count, name=None):
    ...     return count
    >>> repeat("x")
    Traceback (most recent call last):
    neurodriver.arguments.ArgumentError: repeat: count must be a whole number, ...
    """

    def decorate(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)
        who = function.__qualname__.removesuffix(".__init__")
        wanted = [(one, names.index(one), check) for one, check in checks.items()]

        @functools.wraps(function)
        def checking(*args: Any, **given: Any) -> Any:
            every = list(args)
            for name, place, check in wanted:
                if name in given:
                    given[name] = check(given[name], f"{who}: {name}")
                elif place < len(every):
                    every[place] = check(every[place], f"{who}: {name}")
            return function(*every, **given)

        return checking  # type: ignore[return-value]

    return decorate


def optional(check: Check) -> Check:
    """Return a check that lets None pass."""
    return lambda value, name: None if value is None else check(value, name)


def text(value: Any, name: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise _wrong(name, "a text", value)
    return value


def texts(value: Any, name: str) -> Any:
    """Return a text, or a sequence of texts as a list."""
    if isinstance(value, str) and value:
        return value
    found = (
        None if isinstance(value, str | bytes) or not isinstance(value, Iterable) else list(value)
    )
    if found is None or not all(isinstance(one, str) for one in found):
        raise _wrong(name, "a text or a list of texts", value)
    return found


def instance(kind: type) -> Check:
    """Return a check for an object of a class."""

    def check(value: Any, name: str) -> Any:
        if not isinstance(value, kind):
            raise _wrong(name, _a(kind), value)
        return value

    return check


def callback(value: Any, name: str) -> Any:
    """Return a function, or an object that can be called as one."""
    if not callable(value) or isinstance(value, type):
        raise _wrong(name, "a function", value)
    return value


def keyed(value: Any, name: str) -> Any:
    """Return a mapping."""
    if not isinstance(value, Mapping):
        raise _wrong(name, "a mapping", value)
    return value


def whole_number(value: Any, name: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """Return a whole number within bounds; a float such as 3.0 is one."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if type(number) is not int or not least <= number <= most:
        raise _wrong(name, f"a whole number, {least:,} to {most:,}", value)
    return number


def from_one_on(value: Any, name: str) -> int:
    """Return a whole number, at least 1."""
    return whole_number(value, name, 1)


def truth(value: Any, name: str) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise _wrong(name, "True or False", value)
    return bool(value)


def number(value: Any, name: str, want: str = "a finite number") -> float:
    """Return a finite number."""
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        if real and math.isfinite(value):
            return float(value)
    except (TypeError, OverflowError):
        pass
    raise _wrong(name, want, value)


def one_or_several(value: Any, kind: Any, name: str) -> list[Any]:
    """Return one object of a class, or a sequence of them, as a list."""
    if isinstance(value, kind):
        return [value]
    found = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else None
    if found is None or not all(isinstance(one, kind) for one in found):
        raise _wrong(name, f"{_a(kind)} or a list of them", value)
    return found


def some(value: Any, name: str) -> list[Any]:
    """Return a sequence as a list."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise _wrong(name, "a list", value)
    return list(value)


def mapping(value: Any, name: str) -> dict[str, Any]:
    """Return a mapping with texts as keys; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _wrong(name, "a mapping of names to values", value)
    return dict(value)


def file_path(value: Any, name: str) -> Path:
    """Return a path."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise _wrong(name, "a path", value)
    return Path(value)


def _a(kind: type) -> str:
    return f"an {kind.__name__}" if kind.__name__[0] in "AEIO" else f"a {kind.__name__}"


def _wrong(name: str, want: str, got: Any) -> ArgumentError:
    return ArgumentError(f"{name} must be {want}, got {got!r:.60}")
