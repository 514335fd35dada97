"""Equations as docstrings write them -> LaTeX.

``tau_w dw/dt = a (V - E_L) - w`` becomes a formula. Names that stand beside each other are
multiplied, and a parenthesis right behind a name holds the arguments of a function. A text that is
no equation stays as it is.
"""

from __future__ import annotations

import re
from typing import Any

GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "kappa", "lambda", "mu", "nu",
    "xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Delta", "Theta",
)  # fmt: skip
FUNCTIONS = ("exp", "log", "ln", "sin", "cos", "cosh", "tanh", "max", "min", "sqrt")
SIGNS = {"inf": r"\infty", "plus": "+", "minus": "-"}
WORDS = {"of", "the", "is", "all"}
"""What an equation has no name for; a text with one of them is a sentence."""
RELATIONS = {"=": "=", ">=": r"\geq", "<=": r"\leq", ">": ">", "<": "<", "->": r"\to",
             "+=": r"\mathrel{+}=", "-=": r"\mathrel{-}="}  # fmt: skip

TOKEN = re.compile(
    r"\s*(?P<number>\d+\.?\d*(?:e[-+]?\d+)?|\.\d+)"
    r"|\s*(?P<name>[A-Za-z]\w*'*)"
    r"|(?P<call>(?<=\w)\()"
    r"|\s*(?P<sign>->|\+=|-=|>=|<=|[-+*/^()=<>,])"
)
LITERAL = re.compile(r"``([^`]+)``")


class NoFormula(ValueError):
    """A text is no equation."""


def latex(text: str) -> str:
    """Return an equation as LaTeX.

    Raises
    ------
    NoFormula
        For a text that has no relation, or cannot be read.
    """
    reader = _Reader(text)
    found = reader.relation()
    if reader.kind or not reader.related:
        raise NoFormula(text)
    return found


def typeset(text: str, form: str) -> str:
    """Return a text with formulas for the literals that are equations.

    ``form`` is what encloses a formula, which stands for its ``%``.
    """

    def one(found: re.Match[str]) -> str:
        words = " ".join(found.group(1).split())
        try:
            return form.replace("%", latex(words))
        except NoFormula:
            return found.group()

    return LITERAL.sub(one, text)


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens = []
        at = 0
        while at < len(text.rstrip()):
            found = TOKEN.match(text, at)
            if not found:
                raise NoFormula(text)
            if found.group().strip() in WORDS:
                raise NoFormula(text)
            self.tokens.append((str(found.lastgroup), found.group().strip()))
            at = found.end()
        self.at = 0
        self.related = False

    @property
    def kind(self) -> str:
        """Kind of the next token; empty at the end."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    @property
    def word(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.at][1] if self.kind else ""

    def take(self) -> str:
        """Return the next token and go on."""
        word = self.word
        if not word:
            raise NoFormula("the end")
        self.at += 1
        return word

    def relation(self) -> str:
        """Read sums between relations."""
        found = self.sum()
        while self.word in RELATIONS:
            found += f" {RELATIONS[self.take()]} {self.sum()}"
            self.related = True
        return found

    def sum(self) -> str:
        """Read products between plus and minus."""
        found = "-" if self.word == "-" and self.take() else ""
        found += self.product()
        while self.word in ("+", "-"):
            found += f" {self.take()} {self.product()}"
        return found

    def product(self) -> str:
        """Read factors that are multiplied or divided."""
        factors = [self.power()]
        while self.kind in ("number", "name") or self.word in ("*", "/", "("):
            if self.word == "/":
                self.take()
                factors[-1] = rf"\frac{{{_bare(factors[-1])}}}{{{_bare(self.power())}}}"
                continue
            if self.word == "*":
                self.take()
            elif self.kind == "number":
                raise NoFormula("a number behind a factor")
            factors.append(self.power())
        return r" \, ".join(factors)

    def power(self) -> str:
        """Read a factor with its exponent."""
        base = self.factor()
        if self.word != "^":
            return base
        self.take()
        sign = self.take() if self.word == "-" else ""
        return f"{base}^{{{sign}{_bare(self.factor())}}}"

    def factor(self) -> str:
        """Read a number, a name, a call or a parenthesis."""
        kind, word = self.kind, self.take()
        if kind == "number":
            return _number(word)
        if kind == "name":
            return self.called(word) if self.kind == "call" else name(word)
        if word in ("(", "["):
            return self.closed(self.sum())
        raise NoFormula(word)

    def called(self, function: str) -> str:
        """Read the arguments of a function."""
        self.take()
        inside = self.sum()
        while self.word == ",":
            inside += f"{self.take()} {self.sum()}"
        if function == "sqrt":
            self.closed(inside)
            return rf"\sqrt{{{inside}}}"
        return name(function) + self.closed(inside)

    def closed(self, inside: str) -> str:
        """Read the closing parenthesis."""
        if self.take() != ")":
            raise NoFormula("a parenthesis stays open")
        found = _Closed(rf"\left({inside}\right)")
        found.inside = inside
        return found


def name(word: str) -> str:
    """Return a name as LaTeX; what follows the first underscore is its index."""
    plain = word.rstrip("'")
    marks = word[len(plain) :]
    base, _, index = plain.partition("_")
    if base in (*FUNCTIONS, "sum") and word != "sum":
        return rf"\{base}" + (f"_{{{index}}}" if index else "")
    short = re.fullmatch(r"(d?)([A-Za-z])(\d*)", base)
    greek = re.fullmatch(rf"(d?)({'|'.join(GREEK)})()", base)
    if base in ("gmax", "ar", "ad"):
        short = re.fullmatch(r"()(\w)()", base[0])
        index = base[1:]
    found = greek or short
    if not found:
        escaped = plain.replace("_", r"\_")
        return rf"\mathrm{{{escaped}}}{marks}"
    change, letter, digits = found.groups()
    shown = change + (rf"\{letter}" if greek else letter)
    parts = [digits] if digits else []
    if index:
        parts.append(_index(index))
    return shown + (f"_{{{','.join(parts)}}}" if parts else "") + marks


def _index(word: str) -> str:
    if word in SIGNS:
        return SIGNS[word]
    if len(word) == 1:
        return word
    if word in GREEK:
        return rf"\{word}"
    return rf"\mathrm{{{word.replace('_', ',')}}}"


def _number(word: str) -> str:
    mantissa, e, exponent = word.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else word


class _Closed(str):
    """LaTeX in one pair of parentheses."""

    inside: str


def _bare(text: str) -> str:
    """Return LaTeX without its pair of parentheses: a bar or an index encloses it."""
    return text.inside if isinstance(text, _Closed) else text


def docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Typeset the equations of models and rules in the reference of the API."""
    from neurodriver import NDComponent, Plasticity

    if isinstance(obj, type) and issubclass(obj, (NDComponent, Plasticity)):
        lines[:] = typeset("\n".join(lines), ":math:`%`").split("\n")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", docstring)
    return {"parallel_read_safe": True}
