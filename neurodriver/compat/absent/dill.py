"""Names of ``dill`` on top of pickle: the same calls for what pickle can do."""

from __future__ import annotations

import pickle
from pickle import DEFAULT_PROTOCOL, HIGHEST_PROTOCOL, PicklingError, UnpicklingError
from typing import Any

__all__ = [
    "DEFAULT_PROTOCOL",
    "HIGHEST_PROTOCOL",
    "Pickler",
    "PicklingError",
    "Unpickler",
    "UnpicklingError",
    "copy",
    "dump",
    "dumps",
    "extend",
    "load",
    "loads",
    "pickles",
    "settings",
]

settings: dict[str, Any] = {"protocol": DEFAULT_PROTOCOL, "byref": False, "recurse": False}
Pickler, Unpickler = pickle.Pickler, pickle.Unpickler


def dumps(obj: Any, protocol: int | None = None, *_: Any, **__: Any) -> bytes:
    """Return an object as bytes.

    Raises
    ------
    PicklingError
        For what only dill can do, such as functions without a name: install it.
    """
    try:
        return pickle.dumps(obj, protocol)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise PicklingError(f"{error}; dill is not installed here: pip install dill") from error


def dump(obj: Any, file: Any, protocol: int | None = None, *_: Any, **__: Any) -> None:
    """Write an object to a file; raises as `dumps`."""
    file.write(dumps(obj, protocol))


def loads(str: bytes, *_: Any, **__: Any) -> Any:
    """Return what `dumps` was given."""
    return pickle.loads(str)


def load(file: Any, *_: Any, **__: Any) -> Any:
    """Return what `dump` was given."""
    return pickle.load(file)


def copy(obj: Any, *_: Any, **__: Any) -> Any:
    """Return a copy."""
    return loads(dumps(obj))


def pickles(obj: Any, *_: Any, **__: Any) -> bool:
    """Tell whether an object can be written."""
    try:
        dumps(obj)
    except PicklingError:
        return False
    return True


def extend(use_dill: bool = True) -> None:
    """Do nothing: pickle is what it was."""
