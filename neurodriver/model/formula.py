"""The mathematics of a model -> functions of NumPy arrays, to look at a model without compiling it.

Each name stands for a column of float64, one value for each component. Where a condition holds for
some of them only, both branches are computed and each component keeps its own. Random draws give
their mean. What few models use (``switch``, ``do``, ``break``) is refused with `NotReadError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]
Names = dict[str, Column]
Value = Callable[[Names], Column]
Action = Callable[[Names, NDArray[np.bool_]], None]

_LOOPS = 1000
"""Rounds of a loop at most."""

_TOKEN = re.compile(
    r"(?:\s+|//[^\n]*|/\*.*?\*/)*"
    r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[A-Za-z_]\w*"
    r"|&&|\|\||[-+*/%<>=!]=|\+\+|--|[-+*/%<>=!?:;,(){}&|^]|\Z)",
    re.DOTALL,
)
_TYPES = ("real", "int", "bool", "float", "double", "const", "unsigned", "long", "short")

_BINARY: list[dict[str, Callable[[Any, Any], Any]]] = [
    {"||": lambda a, b: (a != 0) | (b != 0)},
    {"&&": lambda a, b: (a != 0) & (b != 0)},
    {"|": lambda a, b: a.astype(np.int64) | b.astype(np.int64)},
    {"^": lambda a, b: a.astype(np.int64) ^ b.astype(np.int64)},
    {"&": lambda a, b: a.astype(np.int64) & b.astype(np.int64)},
    {"==": np.equal, "!=": np.not_equal},
    {"<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal},
    {"+": np.add, "-": np.subtract},
    {"*": np.multiply, "/": np.divide, "%": np.fmod},
]
"""Operators, those that bind least first."""

_ARITHMETIC = {sign: one for level in _BINARY[-2:] for sign, one in level.items()}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{n: getattr(np, n) for n in ("exp", "expm1", "log", "log1p", "tanh", "cosh", "sinh", "sqrt")},
    **{n: getattr(np, n) for n in ("fabs", "fmin", "fmax", "floor", "sin", "cos")},
    "pow": np.power,
    "fma": lambda a, b, c: a * b + c,
    "uniform": lambda: np.asarray(0.5),
    "normal": lambda: np.asarray(0.0),
    "poisson": lambda mean: mean,
}


class NotReadError(Exception):
    """A text uses what this module does not know."""


class Formula:
    """An expression, or statements, that can be computed.

    Parameters
    ----------
    source : str
        As a model has it.
    """

    def __init__(self, source: str) -> None:
        self._words = _words(source)
        self._at = 0

    def expression(self) -> Value:
        """Return the value of the whole text."""
        value = self._ternary()
        self._expect("")
        return value

    def statements(self) -> Action:
        """Return what the whole text does to names."""
        actions = []
        while self._next():
            actions.append(self._statement())
        return _all(actions)

    # -- words ----------------------------------------------------------------------------------

    def _next(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._words[place] if place < len(self._words) else ""

    def _take(self, *wanted: str) -> str:
        """Return the next word and go on behind it, if it is one of those wanted."""
        word = self._next()
        if word in wanted and word:
            self._at += 1
            return word
        return ""

    def _expect(self, word: str) -> None:
        if self._next() != word:
            raise NotReadError(f"'{self._next()}' where '{word}' is expected")
        self._at += 1

    # -- statements -----------------------------------------------------------------------------

    def _statement(self) -> Action:
        if self._take(";"):
            return _all([])
        if self._take("{"):
            actions = []
            while not self._take("}"):
                actions.append(self._statement())
            return _all(actions)
        if self._take("if"):
            return self._choice()
        if self._take("while"):
            return _loop(_all([]), self._condition(), _all([]), self._statement())
        if self._take("for"):
            return self._for()
        action = self._simple()
        self._expect(";")
        return action

    def _condition(self) -> Value:
        self._expect("(")
        value = self._ternary()
        self._expect(")")
        return value

    def _choice(self) -> Action:
        condition, then = self._condition(), self._statement()
        other = self._statement() if self._take("else") else _all([])

        def run(names: Names, where: NDArray[np.bool_]) -> None:
            holds = condition(names) != 0
            then(names, where & holds)
            other(names, where & ~holds)

        return run

    def _for(self) -> Action:
        self._expect("(")
        begin = _all([]) if self._next() == ";" else self._simple()
        self._expect(";")
        condition = self._ternary()
        self._expect(";")
        after = _all([]) if self._next() == ")" else self._simple()
        self._expect(")")
        return _loop(begin, condition, after, self._statement())

    def _simple(self) -> Action:
        """Return a declaration, an assignment or a change by one."""
        kind = ""
        while word := self._take(*_TYPES):
            kind = word if word != "const" else kind or word
        actions = [self._assignment(kind)]
        while self._take(","):
            actions.append(self._assignment(kind))
        return _all(actions)

    def _assignment(self, kind: str) -> Action:
        change = self._take("++", "--")
        name = self._next()
        if not name.isidentifier():
            raise NotReadError(f"'{name}' is no name")
        self._at += 1
        change = change or self._take("++", "--")
        if change:
            return _assign(name, lambda n: n[name] + (1.0 if change == "++" else -1.0))
        sign = self._take("=", "+=", "-=", "*=", "/=", "%=")
        if not sign and kind:
            return _assign(name, lambda n: np.asarray(0.0))
        if not sign:
            raise NotReadError(f"'{self._next()}' after '{name}'")
        value, whole = self._ternary(), kind in ("int", "unsigned", "long", "short")
        if sign != "=":
            operator = _ARITHMETIC[sign[0]]
            return _assign(name, lambda n: operator(n[name], value(n)))
        return _assign(name, (lambda n: np.trunc(value(n))) if whole else value)

    # -- expressions ----------------------------------------------------------------------------

    def _ternary(self) -> Value:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        first = self._ternary()
        self._expect(":")
        second = self._ternary()
        return lambda n: np.where(condition(n) != 0, first(n), second(n))

    def _binary(self, level: int) -> Value:
        if level == len(_BINARY):
            return self._unary()
        value = self._binary(level + 1)
        while sign := self._take(*_BINARY[level]):
            value = _combined(_BINARY[level][sign], value, self._binary(level + 1))
        return value

    def _unary(self) -> Value:
        sign = self._take("-", "+", "!")
        if sign:
            value = self._unary()
            if sign == "!":
                return lambda n: (value(n) == 0).astype(float)
            return (lambda n: -value(n)) if sign == "-" else value
        if self._next() == "(" and self._next(1) in _TYPES:
            return self._cast()
        return self._primary()

    def _cast(self) -> Value:
        self._expect("(")
        kinds = []
        while kind := self._take(*_TYPES):
            kinds.append(kind)
        self._expect(")")
        value = self._unary()
        whole = not {"real", "float", "double", "bool"} & set(kinds)
        return (lambda n: np.trunc(value(n))) if whole else value

    def _primary(self) -> Value:
        word = self._next()
        self._at += 1
        if word == "(":
            value = self._ternary()
            self._expect(")")
            return value
        if word[:1].isdigit() or word[:1] == ".":
            number = np.asarray(float(word))
            return lambda n: number
        if word in ("true", "false"):
            truth = np.asarray(float(word == "true"))
            return lambda n: truth
        if not word.isidentifier():
            raise NotReadError(f"'{word}' in an expression")
        if self._next() != "(":
            return lambda n: n[word]
        return self._call(word)

    def _call(self, name: str) -> Value:
        function = _FUNCTIONS.get(name)
        if function is None:
            raise NotReadError(f"function '{name}'")
        self._expect("(")
        given: list[Value] = []
        while not self._take(")"):
            given.append(self._ternary())
            if self._next() != ")":
                self._expect(",")
        return lambda n: np.asarray(function(*(one(n) for one in given)), dtype=float)


def _words(source: str) -> list[str]:
    words: list[str] = []
    position = 0
    while match := _TOKEN.match(source, position):
        position = match.end()
        if not match[1]:
            return words
        words.append(match[1])
    raise NotReadError(f"'{source[position : position + 10]}'")


def _combined(operator: Callable[[Any, Any], Any], a: Value, b: Value) -> Value:
    return lambda n: np.asarray(operator(a(n), b(n)), dtype=float)


def _assign(name: str, value: Value) -> Action:
    def run(names: Names, where: NDArray[np.bool_]) -> None:
        names[name] = np.where(where, value(names), names.get(name, 0.0))

    return run


def _all(actions: list[Action]) -> Action:
    def run(names: Names, where: NDArray[np.bool_]) -> None:
        for action in actions:
            action(names, where)

    return run


def _loop(begin: Action, condition: Value, after: Action, body: Action) -> Action:
    def run(names: Names, where: NDArray[np.bool_]) -> None:
        begin(names, where)
        for _ in range(_LOOPS):
            where = where & (condition(names) != 0)
            if not where.any():
                return
            body(names, where)
            after(names, where)
        raise NotReadError("a loop without an end")

    return run
