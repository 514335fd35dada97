"""A function -> what tells it from another one, so that a stored sweep goes on with the same."""

from __future__ import annotations

import ast
import hashlib
import inspect
import pickle
import textwrap
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import CodeType
from typing import Any


def identity_of(build: Callable[..., Any]) -> dict[str, str]:
    """Return the name of a function, and a digest of its code and of what it is bound to.

    Comments and blank lines do not count, nor do functions that it calls.
    """
    bound: list[Any] = []
    while isinstance(build, partial):
        bound.append((build.args, sorted(build.keywords.items())))
        build = build.func
    if not hasattr(build, "__qualname__"):  # an object that can be called
        bound.append(vars(build) if hasattr(build, "__dict__") else ())
        build = type(build)
    bound.append(getattr(build, "__self__", None))
    with suppress(ValueError):  # a name that has no value yet
        bound += [cell.cell_contents for cell in getattr(build, "__closure__", None) or ()]
    digest = hashlib.sha256(_code(build).encode())
    for value in bound:
        with suppress(Exception):  # what cannot be pickled cannot be compared either
            digest.update(pickle.dumps(value, protocol=5))
    return {"name": build.__qualname__, "digest": digest.hexdigest()}


def _code(function: Callable[..., Any]) -> str:
    """Return the text of a function without comments, or its compiled code."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # typed in, or written in C
        code = getattr(function, "__code__", None)
        if code is None:
            return ""
        constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
        return repr((code.co_code, code.co_names, constants))
    try:
        return ast.unparse(ast.parse(text))
    except SyntaxError:  # a lambda within a longer line
        return text
