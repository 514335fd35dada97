"""The mathematics of a model -> text of a kernel: numbers get the working type, names a prefix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ModelError, near
from .words import C_WORDS, FUNCTIONS, GIVEN

if TYPE_CHECKING:
    from .component import NDComponent

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<draw>\b(?:(?:uniform|normal)\s*\(\s*\)|poisson\s*\())"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<power>\*\*)"
    r"|(?P<mark>&&|\|\||[-+*/%<>=!&|^]=|\+\+|--|<<|>>|[-+*/%<>=!?:;,(){}\[\]&|^~])",
    re.DOTALL,
)
_DECLARED = re.compile(r"\b(?:real|int|bool)\s+([A-Za-z_]\w*)")


_NAME = re.compile(r"[A-Za-z_]\w*")


class Draw(NamedTuple):
    """A random draw in a text: ``uniform``, ``normal`` or ``poisson``.

    ``mean`` is the translated mean of a Poisson number that may be drawn before the text runs.
    """

    kind: str
    stream: int
    mean: str = ""


class Translator:
    """Translates the texts of one model.

    Parameters
    ----------
    model : class
        The model, or the rule of plasticity.
    dtype : str
        ``float64`` or ``float32``.

    Notes
    -----
    Every number is of the working type, so ``1 / 2`` is 0.5. Each random draw in the text has a
    stream of its own, counted over all texts in order. It is a call that returns the number;
    where ``declared_before`` is set, numbers are drawn for a tile at once (``tile_draws.h``), and
    ``drawn`` says which. Then a mean of a Poisson number may be made of these names alone; of
    another mean only the random word is drawn first. ``division`` is what stands between the
    numbers that are divided.
    """

    def __init__(self, model: type, dtype: str) -> None:
        self.model = model
        self.suffix = "f" if dtype == "float32" else ""
        self.declared_before: frozenset[str] | None = None
        self.division = "/"
        self.restart()

    def restart(self) -> None:
        """Count the draws from 0: the same ones in every variant of a text."""
        self.streams = 0
        self.drawn: list[Draw] = []

    def text(self, source: str, known: Iterable[str], where: str) -> str:
        """Return the translation of an expression or of statements.

        Parameters
        ----------
        source : str
        known : iterable of str
            Names the text may use.
        where : str
            Part of the declaration, for messages.

        Raises
        ------
        ModelError
            For a name or a character that means nothing here.
        """
        allowed = {*known, *_DECLARED.findall(source), *GIVEN}
        out: list[str] = []
        position = 0
        while position < len(source):
            match = _TOKEN.match(source, position)
            if match is None or match.lastgroup == "power":
                bad = match.group() if match else source[position]
                hint = "; write pow(x, y)" if match else ""
                raise ModelError(f"{self._where(where)}: '{bad}' is not part of the language{hint}")
            position = match.end()
            if match.lastgroup == "draw":
                number, position = self._draw(match, allowed, where)
                out.append(number)
            else:
                out.append(self._token(match, allowed, where))
        return "".join(out).strip()

    def _token(self, match: re.Match[str], allowed: set[str], where: str) -> str:
        word = match.group()
        if match.lastgroup == "number":
            plain = word if re.search(r"[.eE]", word) else word + ".0"
            return plain + self.suffix
        if word == "/":
            return self.division
        if match.lastgroup != "name" or word in allowed or word in C_WORDS:
            return word
        if word in FUNCTIONS:
            return f"nd_{word}"
        hint = near(word, allowed | set(FUNCTIONS))
        raise ModelError(f"{self._where(where)}: unknown name '{word}'{hint}")

    def _draw(self, match: re.Match[str], allowed: set[str], where: str) -> tuple[str, int]:
        """Return the number of a draw, and where the text goes on after it."""
        kind, end = match.group().split("(")[0].strip(), match.end()
        n, self.streams = self.streams, self.streams + 1
        call = f"nd_{kind}(nd_key, nd_seed, nd_k, (int)substep, {n}, "
        mean = ""
        if kind == "poisson":
            inner = self._bracketed(match, where)
            end += len(inner) + 1
            mean = self.text(inner, allowed, where)
            call += f"(real)({mean}))"
        else:
            call += "(real)0)"
        if self.declared_before is None:
            return call, end
        if kind == "poisson":
            if self.declared_before.issuperset(set(_NAME.findall(inner)) - set(FUNCTIONS)):
                self.drawn.append(Draw(kind, n, mean))
                return f"nd_n{n}[nd_i]", end
            self.drawn.append(Draw(kind, n))
            return f"((real)nd_poisson_of(nd_w{n}[nd_i], (double)({mean})))", end
        self.drawn.append(Draw(kind, n))
        if kind == "normal":
            return f"((real)nd_z{n}[nd_i])", end
        return f"nd_unit_of(nd_w{n}[nd_i], nd_v{n}[nd_i], (real)0)", end

    def _bracketed(self, match: re.Match[str], where: str) -> str:
        """Return what stands between the bracket that a match ends with and its partner."""
        source, depth = match.string, 1
        for position in range(match.end(), len(source)):
            depth += {"(": 1, ")": -1}.get(source[position], 0)
            if depth == 0:
                return source[match.end() : position]
        raise ModelError(f"{self._where(where)}: the bracket of '{match.group()}' is not closed")

    def _where(self, where: str) -> str:
        return f"{self.model.__name__}.{where}"


def used(names: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return those of ``names`` that occur in one of the texts."""
    words = set(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))
    return [name for name in names if name in words]


def texts_of(model: type[NDComponent], prints: bool = False) -> Mapping[str, str]:
    """Return every text of a model that runs at each step: part -> text.

    With ``prints`` the calls that stand for ``PRINT`` and ``ERROR`` are in it.
    """
    parts = {f"terms['{k}']": v for k, v in model.terms.items()}
    parts["update"] = (prints and model.printing.text) or model.update
    parts.update(model.sub_units.texts() if model.sub_units is not None else {})
    parts.update({f"outputs['{k}']": v for k, v in model.outputs.items()})
    return parts


def step_numbers(model: type[NDComponent], prints: bool = False) -> list[str]:
    """Return the parameters and constants that a model reads at each step."""
    texts = [*texts_of(model, prints).values(), *(a.each for a in model.accesses)]
    return used([*model.fixed_params(), *model.constants], texts)
