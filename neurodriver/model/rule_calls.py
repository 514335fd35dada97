"""Texts of rules that run when Python calls them.

``on_call = {"reward(r)": "weight = clip(weight + r * c); c = 0;"}`` declares a text that is called
``reward`` and is given one number, ``r``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_NAME = r"[A-Za-z_]\w*"
_CALL = re.compile(rf"\s*({_NAME})\s*\(\s*((?:{_NAME}(?:\s*,\s*{_NAME})*)?)\s*\)\s*", re.ASCII)


class TextCall(NamedTuple):
    """How a text is called: its name, and the names of the numbers that it is given."""

    name: str
    given: tuple[str, ...]


def call_of(declared: str) -> TextCall | None:
    """Return how a text is called, ``reward(r)``; None where this is not how it is written."""
    match = _CALL.fullmatch(declared) if isinstance(declared, str) else None
    if match is None:
        return None
    return TextCall(match[1], tuple(re.findall(_NAME, match[2])))


def calls_of(declared: Iterable[str]) -> dict[str, tuple[str, TextCall]]:
    """Return the name of each text -> what it is declared as, and how it is called."""
    found = ((one, call_of(one)) for one in declared)
    return {call.name: (one, call) for one, call in found if call is not None}
