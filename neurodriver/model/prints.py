"""``PRINT`` and ``ERROR`` in the mathematics of a model: found, checked, taken out, translated.

    PRINT("V %f, left %d", V, left);
    if (V > 100) ERROR("V is %g", V);

Without ``debug`` these statements are taken out of the text, so a kernel is the same as without
them. With it each becomes a call of ``nd_printed_<number>``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ModelError
from .words import DRAWS

MOST_VALUES = 8
"""Values of a statement at most."""

_STATEMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\b(PRINT|ERROR)\b", re.DOTALL)
_STRING = re.compile(r'\s*"((?:[^"\\\n]|\\.)*)"')
_CONVERSION = re.compile(r"%(?:%|[-+ 0#]*\d*(?:\.\d+)?[difg])")
_DRAWS = re.compile(rf"\b(?:{'|'.join(DRAWS)})\s*\(")
_ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}


@dataclass(frozen=True)
class Print:
    """One statement.

    Attributes
    ----------
    error : bool
        Whether it ends the run.
    format : str
        Text with ``%d``, ``%i``, ``%f`` and ``%g``.
    """

    error: bool
    format: str

    def text(self, values: Sequence[float]) -> str:
        """Return what is printed for some values."""
        given = iter(values)

        def one(match: re.Match[str]) -> str:
            conversion = match.group()
            if conversion == "%%":
                return "%"
            value = next(given)
            if not math.isfinite(value):
                return str(value)
            return conversion % (int(value) if conversion[-1] in "di" else value)

        return _CONVERSION.sub(one, self.format)


@dataclass(frozen=True)
class Printing:
    """What the mathematics of a model prints.

    Attributes
    ----------
    prints : tuple of Print
        The statements, in the order of the text.
    text : str
        The mathematics, with a call for each of them.
    """

    prints: tuple[Print, ...] = ()
    text: str = ""


def parted(source: str, where: str) -> tuple[str, Printing]:
    """Return the mathematics without its statements, and with them.

    Parameters
    ----------
    source : str
        As the model declares it.
    where : str
        Part of the declaration, for messages.

    Raises
    ------
    ModelError
        For a statement that is written wrongly, with its line and column.
    """
    prints: list[Print] = []
    plain, printed, position = [], [], 0
    for match in _STATEMENT.finditer(source):
        if match[1] is None or match.start() < position:
            continue
        place = f"{where}, {_place(source, match.start())}: {match[1]}"
        form, given, end = _read(source, match.end(), place)
        _check(form, given, place)
        before = source[position : match.start()]
        alone = re.search(r"(?:\A|[;{}])\s*\Z", _uncommented(source[: match.start()]))
        plain += [before, "" if alone else "{}"]
        printed += [before, f"nd_printed_{len(prints)}({', '.join(given)});"]
        prints.append(Print(match[1] == "ERROR", form))
        position = end
    if not prints:
        return source, Printing()
    rest = source[position:]
    return "".join([*plain, rest]), Printing(tuple(prints), "".join([*printed, rest]))


def refuse(source: str, where: str) -> None:
    """Raise ModelError where a text that is an expression has such a statement."""
    for match in _STATEMENT.finditer(source):
        if match[1] is not None:
            place = _place(source, match.start())
            raise ModelError(f"{where}, {place}: {match[1]} is for statements, in 'update'")


def _uncommented(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def _place(source: str, position: int) -> str:
    line = source.count("\n", 0, position) + 1
    return f"line {line}, column {position - source.rfind(chr(10), 0, position)}"


def _read(source: str, position: int, place: str) -> tuple[str, list[str], int]:
    """Return the format and the values of a statement, and where it ends."""
    opening = re.compile(r"\s*\(").match(source, position)
    string = _STRING.match(source, opening.end()) if opening else None
    if string is None:
        raise ModelError(f'{place} needs a text in quotes first: PRINT("V %f", V);')
    form = re.sub(r"\\.", lambda m: _ESCAPES.get(m.group(), m.group()), string[1])
    given, depth, begin, at = [], 0, -1, string.end()
    while at < len(source):
        mark = source[at]
        if depth == 0 and mark in ",)":
            if begin >= 0:
                given.append(source[begin:at].strip())
            elif source[string.end() : at].strip():
                raise ModelError(f"{place}: a comma has to follow the text in quotes")
            begin = at + 1
            if mark == ")":
                break
        depth += {"(": 1, ")": -1}.get(mark, 0)
        at += 1
    end = re.compile(r"\)\s*;").match(source, at)
    if end is None:
        raise ModelError(f"{place} needs a closing bracket and a semicolon")
    return form, given, end.end()


def _check(form: str, given: list[str], place: str) -> None:
    """Raise ModelError where format and values do not fit together."""
    if bad := re.search(r"%.?", _CONVERSION.sub("", form)):
        raise ModelError(f"{place}: '{bad.group()}' is unknown; use %d, %i, %f, %g, or %% for %")
    wanted = len([one for one in _CONVERSION.findall(form) if one != "%%"])
    if wanted != len(given):
        raise ModelError(f"{place}: the text has {wanted} values, {len(given)} are given")
    if wanted > MOST_VALUES:
        raise ModelError(f"{place}: {wanted} values, {MOST_VALUES} are allowed; use two statements")
    if "" in given:
        raise ModelError(f"{place}: a value is missing between two commas")
    if drawing := next((one for one in given if _DRAWS.search(one)), None):
        raise ModelError(f"{place}: '{drawing}' draws a random number; give it a name before")
    if nested := next((one for one in given if _STATEMENT.search(one) or '"' in one), None):
        raise ModelError(f"{place}: '{nested}' is no number")
