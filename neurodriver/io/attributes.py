"""Attributes as a GEXF file declares them: their names, types and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import Faults, quoted


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


def _whole(text: str) -> int | float:
    """Return a number; networkx calls an attribute ``long`` when only its first value is one."""
    try:
        return int(text)
    except ValueError:
        return float(text)


TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("integer", "long", "int", "short", "byte", "biginteger"), _whole),
    **dict.fromkeys(("float", "double", "bigdecimal"), float),
    **dict.fromkeys(("string", "anyURI", "char", "date", "dateTime"), str),
    "boolean": _boolean,
}


@dataclass
class Declared:
    """Attributes that a file declares for its nodes, or for its edges."""

    title: dict[str, str] = field(default_factory=dict)
    type: dict[str, str] = field(default_factory=dict)
    convert: dict[str, Callable[[str], Any]] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)


def convert_each(
    values: dict[str, str], declared: Declared, name: Callable[[], str], faults: Faults
) -> dict[str, Any]:
    """Decode value by value, so that each bad one is named and the others are kept."""
    out = {}
    for key, text in values.items():
        if key not in declared.title:
            faults.add(f"{name()}: {quoted(key)} is not declared in the file's <attributes>")
            continue
        try:
            out[declared.title[key]] = declared.convert[key](text)
        except (KeyError, ValueError):
            message = f"must be of type {quoted(declared.type[key])} (got {quoted(text)})"
            faults.add(f"{name()}, attribute {quoted(declared.title[key])}: {message}")
    return out
