"""The text of a port selector into blocks.

::

    selector = sum { "," sum }              union, order and repeats kept
    sum      = path { ("+" | ".+") path }   product, or one by one; from left to right
    path     = (level | "(" selector ")") { level }
    level    = "/name" | "/7" | "[a,b]" | "[0,2]" | "[0:3]" | "[5:]" | "/*"

A slash before a bracket means nothing; an integer needs none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..errors import SelectorError
from .blocks import ANY, EMPTY, Blocks, Level, TermBlock, merged, pairwise, product
from .tokens import LARGEST, encode

SHORT = 200
"""Texts below this length are remembered; longer ones may be plain lists, which are quick."""

DEEPEST = 100
"""Parentheses may be nested so deep."""

_FIRST = r"[^*/\[\]():,.\d]"
_REST = r"[^+*/\[\]():,.]*"
_NAME = rf"(?!\+){_FIRST}{_REST}"
_TOKEN = re.compile(
    rf"""(?P<STRING>/{_FIRST}{_REST})
    |(?P<INTEGER>/?\d+)
    |(?P<INTERVAL>/?\[\d*:\d*\])
    |(?P<INTEGER_SET>/?\[\d+(?:,\d+)*\])
    |(?P<STRING_SET>/?\[{_NAME}(?:,{_NAME})*\])
    |(?P<ASTERISK>/\*)
    |(?P<DOTPLUS>\.\+)
    |(?P<PLUS>\+)
    |(?P<COMMA>,)
    |(?P<LPAREN>\()
    |(?P<RPAREN>\))""",
    re.VERBOSE,
)
_LEVELS = frozenset(["STRING", "INTEGER", "INTERVAL", "INTEGER_SET", "STRING_SET", "ASTERISK"])


class Lexeme(NamedTuple):
    """One token of a selector: its kind, its value and its place in the text."""

    type: str
    value: Any
    lexpos: int


def fault(beginning: str, message: str, text: str, place: int) -> SelectorError:
    """Return an error that shows the place in the text."""
    begin = max(0, place - 60)
    shown = text[begin : place + 60]
    shown = "".join(c if c.isprintable() else "?" for c in shown)
    return SelectorError(
        f"{beginning} selector - {message}, at character {place + 1}\n"
        f"    {'...' if begin else ''}{shown}\n"
        f"    {' ' * (place - begin + (3 if begin else 0))}^"
    )


def tokenize(text: str) -> list[Lexeme]:
    """Split the text of a selector into tokens.

    Parameters
    ----------
    text : str
        The selector.

    Returns
    -------
    list of Lexeme
        ``value`` is a string, an integer, a list (set), a slice (interval) or the sign.

    Raises
    ------
    SelectorError
        'Cannot tokenize selector - ...' with the place of the fault.
    """
    out, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise fault("Cannot tokenize", _reason(text, place), text, place)
        kind = match.lastgroup or ""
        out.append(Lexeme(kind, _value(kind, match[0], text, place), place))
        place = match.end()
    return out


def _value(kind: str, said: str, text: str, place: int) -> Any:
    """Return what a token stands for."""
    if kind == "STRING":
        return said[1:]
    if kind == "ASTERISK":
        return "*"
    if kind not in _LEVELS:
        return said
    inner = said.lstrip("/").strip("[]")
    if kind == "STRING_SET":
        return inner.split(",")
    if kind == "INTERVAL":
        begin, end = inner.split(":")
        return slice(
            _integer(begin or "0", text, place), _integer(end, text, place) if end else None
        )
    numbers = [_integer(n, text, place) for n in inner.split(",")]
    return numbers if kind == "INTEGER_SET" else numbers[0]


def _integer(digits: str, text: str, place: int) -> int:
    if len(digits) > 18 and (len(digits) > 30 or int(digits) >= LARGEST):
        raise fault("Cannot tokenize", "integers are smaller than 2**62", text, place)
    return int(digits)


def _reason(text: str, place: int) -> str:
    """Return why no token begins here."""
    sign = text[place]
    said = f"illegal character: {sign!r}"
    inside = re.match(r"/?\[([^\]]*)(\]?)", text[place:])
    if inside:
        if not inside[2]:
            return f"{said}: the bracket is not closed"
        parts = inside[1].split(",")
        if ":" in inside[1]:
            return f"{said}: an interval is [n:m], without step and without commas"
        if "" in parts:
            return f"{said}: a member of the set is missing"
        if any(p[0].isdigit() for p in parts):
            return f"{said}: a set holds integers or names, not both"
        return f"{said}: a name in brackets may not hold any of + * / [ ( ) : ."
    if sign == "/":
        return f"{said}: a name or an integer has to follow the slash"
    if sign == ".":
        return f"{said}: '.' stands only before '+'"
    if sign == "*":
        return f"{said}: '*' stands for a whole level, as '/*'"
    if sign == "[" or sign == "]" or sign == ":":
        return f"{said}: no bracket is open"
    return f"{said}: a name begins with '/'"


class _Parser:
    """Reads tokens from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.place = 0
        self.depth = 0

    def kind(self) -> str:
        return self.tokens[self.place].type if self.place < len(self.tokens) else "END"

    def error(self, expected: str) -> SelectorError:
        if self.place < len(self.tokens):
            token = self.tokens[self.place]
            said = f"syntax error: {expected} expected, not {token.value!r}"
            return fault("Cannot parse", said, self.text, token.lexpos)
        said = f"syntax error: {expected} expected, not the end"
        return fault("Cannot parse", said, self.text, len(self.text))

    def selector(self) -> Blocks:
        terms = list(self.sum())
        while self.kind() == "COMMA":
            self.place += 1
            terms += self.sum()
        return merged(terms)

    def sum(self) -> Blocks:
        total = self.path()
        while self.kind() in ("PLUS", "DOTPLUS"):
            sign = self.tokens[self.place]
            self.place += 1
            other = self.path()
            if sign.type == "PLUS":
                total = product(total, other)
                continue
            try:
                total = pairwise(total, other)
            except SelectorError as error:
                raise fault("Cannot parse", str(error), self.text, sign.lexpos) from None
        return total

    def path(self) -> Blocks:
        start: Blocks = EMPTY
        if self.kind() == "LPAREN":
            begin = self.tokens[self.place].lexpos
            self.depth += 1
            if self.depth > DEEPEST:
                raise fault("Cannot parse", "parentheses are nested too deep", self.text, begin)
            self.place += 1
            start = self.selector()
            if self.kind() != "RPAREN":
                raise self.error("')'")
            self.depth -= 1
            self.place += 1
        elif self.kind() not in _LEVELS:
            raise self.error("a level or '('")
        levels: list[Level] = []
        while self.kind() in _LEVELS:
            levels.append(level_of(self.tokens[self.place].value))
            self.place += 1
        return product(start, (TermBlock(1, tuple(levels)),)) if levels else start


def level_of(value: Any) -> Level:
    """Return a level from a token, a set, a slice or '*'.

    Raises
    ------
    SelectorError
        When it is none of them.
    """
    if isinstance(value, str):
        return ANY if value == "*" else encode(value)
    if isinstance(value, slice):
        begin, end = value.start or 0, value.stop
        numbers = [n for n in (begin, end) if n is not None]
        if value.step is not None or not all(isinstance(n, int | np.integer) for n in numbers):
            raise SelectorError(f"invalid selector: an interval is slice(n, m) (got {value})")
        for n in numbers:
            encode(n)
        return slice(begin, None) if end is None else range(begin, max(begin, end))
    if isinstance(value, list):
        if not value or "*" in value:
            raise SelectorError(
                f"invalid selector: a set holds integers and names, one at least (got {value!r})"
            )
        return tuple(encode(token) for token in value)
    return encode(value)


@lru_cache(maxsize=1024)
def _parse_short(text: str) -> Blocks:
    return parse_exactly(text)


def parse_exactly(text: str) -> Blocks:
    """Return the blocks of a text with every set and interval as it was written."""
    if not text.strip():
        return EMPTY
    parser = _Parser(text)
    blocks = parser.selector()
    if parser.kind() != "END":
        raise parser.error("',', '+', '.+' or the end")
    return blocks


def parse_text(text: str) -> Blocks:
    """Return the blocks of a selector's text; short texts are remembered.

    Raises
    ------
    SelectorError
        'Cannot tokenize ...' or 'Cannot parse ...' with the place of the fault.
    """
    if len(text) < SHORT:
        return _parse_short(text)
    return parse_list(text) or parse_exactly(text)


def parse_list(text: str) -> Blocks:
    """Return the blocks of a long list of plain identifiers; nothing when it holds more."""
    plain = re.sub(r"/?\[(\d+)\](?=[/,\[]|$)", r"/\1", text)
    if re.search(r"[\[\](+).*:]", plain) or not plain.startswith("/"):
        return EMPTY
    terms = plain[1:].split(",/")
    codes: dict[str, int] = {}
    for token in set("/".join(terms).split("/")):
        if token.isdecimal() and len(token) < 18:
            codes[token] = int(token)
            continue
        match = _TOKEN.fullmatch("/" + token)
        if match is None:
            return EMPTY
        codes[token] = encode(_value(match.lastgroup or "", match[0], text, 0))
    blocks = []
    for slashes, run in groupby(terms, lambda term: term.count("/")):
        flat = "/".join(run).split("/")
        column = np.fromiter(map(codes.__getitem__, flat), np.int64, len(flat))
        levels = np.ascontiguousarray(column.reshape(-1, slashes + 1).T)
        count = levels.shape[1]
        blocks.append(TermBlock(count, tuple(levels)).part(0, count))
    return merged(blocks)
