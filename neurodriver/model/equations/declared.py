"""The lines of ``equations``: differential equations, expressions, and names with units.

dV/dt = (E_L - V + R * I + drive) / tau : mV (unless refractory)
drive = a * exp(-V / b) : mV
I : uA/cm^2
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...errors import ModelError, near
from ..language import parse_expression, tree
from ..language.tokens import fault
from ..units import dimension

FLAGS = ("unless refractory", "constant")
"""What may stand in brackets behind a unit; ``constant`` is how a name alone is meant anyway."""

_HEAD = re.compile(r"\s*(?:d\s*(?P<state>[A-Za-z_]\w*)\s*/\s*dt|(?P<name>[A-Za-z_]\w*))\s*")
_FLAGS = re.compile(r"\(([^()]*)\)\s*$")
_GOES_ON = re.compile(r"[-+*/=,<>&|?]\s*$")

_BEGINS_ON = re.compile(r"\s*[-+*/=,<>&|?:]")
"""A line that ends or begins with an operator is one with its neighbour."""


@dataclass(frozen=True)
class Equation:
    """One line.

    Attributes
    ----------
    kind : {"state", "expression", "name"}
    value : Expression or None
        The right side; None for a name alone.
    at : int
        Where the name stands in the text.
    """

    kind: str
    name: str
    unit: str
    flags: frozenset[str]
    value: tree.Expression | None
    at: int


def equations(text: str, where: str) -> tuple[list[Equation], list[str]]:
    """Return the lines of a text, and the faults of their grammar.

    Parameters
    ----------
    text : str
    where : str
        What messages call it.
    """
    found: list[Equation] = []
    faults: list[str] = []
    for begin, end in _lines(text):
        try:
            found.append(_equation(text, where, begin, end))
        except ModelError as error:
            faults.append(str(error))
    return found, faults


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each equation begins and ends; it goes on at open brackets and operators."""
    begin, depth, position = 0, 0, 0
    bare = re.sub(r"#[^\n]*", lambda m: " " * len(m.group()), text)
    for position, mark in enumerate(bare + "\n"):
        depth += {"(": 1, ")": -1}.get(mark, 0)
        line = bare[begin:position]
        more = _GOES_ON.search(line) or _BEGINS_ON.match(bare, position)
        if mark == "\n" and depth <= 0 and not more:
            if line.strip():
                yield begin, begin + len(line.rstrip())
            begin, depth = position + 1, 0
    if bare[begin:].strip():
        yield begin, len(bare.rstrip())


def _equation(text: str, where: str, begin: int, end: int) -> Equation:
    head = _HEAD.match(text, begin, end)
    first = begin + len(text[begin:end]) - len(text[begin:end].lstrip())
    if head is None:
        form = "dV/dt = ... : mV, x = ... : unit, or x : unit"
        raise fault(text, where, first, f"an equation has the form {form}")
    kind = "state" if head["state"] else "expression"
    name, at = head["state"] or head["name"], head.start("state" if head["state"] else "name")
    body = head.end()
    unit, unit_at, flags, last = _ending(text, where, body, end)
    if text[body:last].strip() == "" and kind == "expression" and text[body] != "=":
        return Equation("name", name, unit, flags, None, at)
    if not text.startswith("=", body):
        hint = f" (d{name[1:]}/dt?)" if text[body] == "/" and name[:1] == "d" else ""
        raise fault(text, where, body, f"'=' is expected after '{text[first:body].strip()}'{hint}")
    value = parse_expression(text, where, True, (body + 1, last))
    if dimension(unit) is None:
        raise fault(text, where, unit_at, f"'{unit}' is not a unit; write 1 for a plain number")
    return Equation(kind, name, unit, flags, value, at)


def _ending(text: str, where: str, begin: int, end: int) -> tuple[str, int, frozenset[str], int]:
    """Return unit, its place, flags, and where the right side ends."""
    colon = text.rfind(":", begin, end)
    asked = text.count("?", begin, end)
    if colon < 0 or text.count(":", begin, end) <= asked:
        raise fault(text, where, end - 1, "the unit is missing; write : mV, or : 1 for a number")
    unit = re.sub(r"#[^\n]*", "", text[colon + 1 : end])
    flags: frozenset[str] = frozenset()
    if given := _FLAGS.search(unit):
        words = [" ".join(one.split()) for one in given[1].split(",")]
        if dimension(given[1]) is None or not unit[: given.start()].strip():
            for word in words:
                if word not in FLAGS:
                    hint = near(word, FLAGS) or f"; known are {' and '.join(FLAGS)}"
                    at = colon + 1 + given.start() + 1
                    raise fault(text, where, at, f"'{word}' is no flag{hint}")
            flags, unit = frozenset(words), unit[: given.start()]
    at = colon + 1 + len(unit) - len(unit.lstrip())
    return unit.strip(), min(at, end - 1), flags, colon
