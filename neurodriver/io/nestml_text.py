"""The text of a NESTML file as a tree of lines, and what a line declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_DOCUMENTATION = re.compile(r'"""(?:.|\n)*?"""')
_DECLARED = re.compile(
    r"(?:recordable\s+|inline\s+)*(?P<names>[A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)"
    r"\s+(?P<unit>[A-Za-z(1][^=]*?)\s*(?:(?<![<>=!])=(?!=)\s*(?P<value>.+))?"
)
_LIMITS = re.compile(r"\s*\[\[.*\]\]\s*$")
_PLAIN = {"real": "1", "integer": "1", "boolean": "1"}


@dataclass
class Line:
    """A line, and those below it that are indented further.

    Attributes
    ----------
    number : int
        From 1.
    text : str
        Without comment; a colon at the end is left out where lines follow.
    """

    number: int
    text: str
    inner: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class Declared:
    """A name with a unit, and its value as a text ("" for none)."""

    number: int
    name: str
    unit: str
    value: str


def lines_of(text: str) -> list[Line]:
    """Return the outermost lines of a text; indentation says what is below what."""
    top: list[Line] = []
    above: list[tuple[int, list[Line]]] = [(-1, top)]
    for number, indent, said in _whole_lines(text):
        while above[-1][0] >= indent:
            above.pop()
        line = Line(number, said)
        above[-1][1].append(line)
        above.append((indent, line.inner))
    return top


def _whole_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield number, indentation and text of each line; brackets and backslashes join lines."""
    blank = _DOCUMENTATION.sub(lambda m: "\n" * m.group().count("\n"), text)
    begun = ""
    first = indent = 0
    for number, raw in enumerate(blank.expandtabs(4).splitlines(), 1):
        said = raw.partition("#")[0].rstrip()
        if not said and not begun:
            continue
        if not begun:
            first, indent = number, len(said) - len(said.lstrip())
        begun = f"{begun} {said.strip()}".strip()
        if begun.endswith("\\"):
            begun = begun[:-1].rstrip()
        elif begun.count("(") <= begun.count(")"):
            yield first, indent, begun
            begun = ""
    if begun:
        yield first, indent, begun


def declared(line: Line) -> list[Declared] | None:
    """Return what a line declares, None if it declares nothing."""
    found = _DECLARED.fullmatch(_LIMITS.sub("", line.text))
    if found is None:
        return None
    unit = found["unit"].strip()
    unit = _PLAIN.get(unit, unit.replace("**", "^"))
    value = (found["value"] or "").strip()
    return [Declared(line.number, name.strip(), unit, value) for name in found["names"].split(",")]
