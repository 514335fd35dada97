"""Names of ``past.builtins``: the built-in functions of Python 2."""

from __future__ import annotations

import builtins
import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = [
    "apply",
    "basestring",
    "chr",
    "cmp",
    "dict",
    "execfile",
    "filter",
    "intern",
    "long",
    "map",
    "raw_input",
    "reduce",
    "reload",
    "str",
    "unichr",
    "unicode",
    "xrange",
    "zip",
]

chr, dict, str = builtins.chr, builtins.dict, builtins.str
unicode, long, xrange = builtins.str, int, builtins.range
unichr, raw_input = builtins.chr, builtins.input
intern, reload, reduce = sys.intern, importlib.reload, functools.reduce


class _Text(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, builtins.str | bytes)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, builtins.str | bytes)


class basestring(metaclass=_Text):
    """What text and bytes are instances of."""


def cmp(x: Any, y: Any) -> int:
    """Return -1, 0 or 1 as ``x`` is less than, equal to or greater than ``y``."""
    return int(x > y) - int(x < y)


def apply(f: Callable[..., Any], args: Any = (), kw: Any = None) -> Any:
    """Call a function."""
    return f(*args, **(kw or {}))


def filter(function: Any, items: Any) -> list[Any]:
    """Return the items that a function, or their truth, chooses."""
    return list(builtins.filter(function, items))


def map(function: Any, *items: Any) -> list[Any]:
    """Return what a function makes of the items; None makes tuples."""
    return zip(*items) if function is None else list(builtins.map(function, *items))


def zip(*items: Any) -> list[Any]:
    """Return the items of several sequences side by side."""
    return list(builtins.zip(*items, strict=False))


def execfile(filename: Any, myglobals: Any = None, mylocals: Any = None) -> None:
    """Run a file in the given name spaces, by default those of the caller."""
    caller = sys._getframe(1)
    spaces = caller.f_globals if myglobals is None else myglobals
    local = (caller.f_locals if myglobals is None else spaces) if mylocals is None else mylocals
    exec(compile(Path(filename).read_bytes(), filename, "exec"), spaces, local)
