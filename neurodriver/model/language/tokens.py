"""A text -> its words, each with its place."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...errors import ModelError

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<mark>(?!/\*)(?:\*\*|<<=|>>=|&&|\|\||[-+*/%<>=!&|^]=|\+\+|--|<<|>>|[-+*/%<>=!?:;,(){}\[\]&|^~]|\.(?=[A-Za-z_])))",
    re.DOTALL | re.ASCII,
)


class Token(NamedTuple):
    """A word of a text.

    Attributes
    ----------
    kind : {"number", "name", "string", "mark", "end"}
    text : str
        Empty at the end.
    at : int
        Where it begins.
    end : int
        Where it ends.
    """

    kind: str
    text: str
    at: int
    end: int


WORD_SIGNS = {"and": "&&", "or": "||", "not": "!"}
"""Words that equations may use in place of signs."""


def tokens(
    source: str, where: str, span: tuple[int, int] | None = None, signs: bool = False
) -> list[Token]:
    """Return the words of a text, without spaces and comments; the last one is the end.

    Parameters
    ----------
    source, where : str
        The text, and what messages call it.
    span : (int, int), optional
        The part of it that is read.
    signs : bool
        Whether ``and``, ``or`` and ``not`` are signs.

    Raises
    ------
    ModelError
        For a character that is no part of the language.
    """
    found: list[Token] = []
    position, last = span or (0, len(source))
    while position < last:
        match = _TOKEN.match(source, position, last)
        if match is None:
            raise fault(source, where, position, _stranger(source, position))
        kind, begin, position = str(match.lastgroup), position, match.end()
        if kind == "number" and re.match(r"[\w.]", source[position : position + 1]):
            said = f"'{match.group()}' and '{source[position]}' have nothing between them"
            if source[position] == ".":
                said = "'.' is not part of the language"
            raise fault(source, where, position, said)
        if signs and match.group() in WORD_SIGNS:
            found.append(Token("mark", WORD_SIGNS[match.group()], begin, position))
        elif kind != "space":
            found.append(Token(kind, match.group(), begin, position))
    return [*found, Token("end", "", len(source[:last].rstrip()), last)]


def _stranger(source: str, position: int) -> str:
    if source.startswith("/*", position):
        return "the comment that begins here does not end; write */"
    if source[position] == '"':
        return "'\"' is not part of the language, or the text in quotes does not end"
    return f"'{source[position]}' is not part of the language"


LONGEST = 200
"""Characters of a line that messages show, at most."""


def place(source: str, at: int) -> tuple[int, int]:
    """Return line and column of a position, both from 1."""
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)


def message(source: str, where: str, at: int, said: str) -> str:
    """Return a message with line and column, and below it the line with a caret."""
    line, column = place(source, at)
    shown = source.splitlines()[line - 1] if source.strip() else ""
    if len(shown) > LONGEST:  # its part around the place, in whole
        begin = max(column - 1 - LONGEST // 2, 0)
        shown, column_shown = shown[begin : begin + LONGEST], column - begin
    else:
        column_shown = column
    margin = len(shown) - len(shown.lstrip())
    caret = " " * (4 + column_shown - 1 - margin) + "^"
    marked = f"\n    {shown.strip()}\n{caret}" if shown.strip() else ""
    return f"{where}, line {line}, column {column}: {said}{marked}"


def fault(source: str, where: str, at: int, said: str) -> ModelError:
    """Return the error for a fault of a text at a position."""
    return ModelError(message(source, where, at, said))
