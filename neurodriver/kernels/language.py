"""The mathematics of a model -> text of a kernel: numbers get the working type, names a prefix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..component import _C_WORDS, FUNCTIONS, GIVEN, NDComponent
from ..errors import ModelError, near

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<draw>\b(?:(?:uniform|normal)\s*\(\s*\)|poisson\s*\())"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark>&&|\|\||[-+*/%<>=!&|^]=|\+\+|--|<<|>>|[-+*/%<>=!?:;,(){}\[\]&|^~])",
    re.DOTALL,
)
_DECLARED = re.compile(r"\b(?:real|int|bool)\s+([A-Za-z_]\w*)")


class Translator:
    """Translates the texts of one model.

    Parameters
    ----------
    model : NDComponent subclass
    dtype : str
        ``float64`` or ``float32``.

    Notes
    -----
    Every number is of the working type, so ``1 / 2`` is 0.5. Each random draw in the text has a
    stream of its own, counted over all texts in order.
    """

    def __init__(self, model: type[NDComponent], dtype: str) -> None:
        self.model = model
        self.suffix = "f" if dtype == "float32" else ""
        self.streams = 0

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
            if match is None:
                bad = source[position]
                raise ModelError(f"{self._where(where)}: '{bad}' is not part of the language")
            position = match.end()
            out.append(self._token(match, allowed, where))
        return "".join(out).strip()

    def _token(self, match: re.Match[str], allowed: set[str], where: str) -> str:
        word = match.group()
        if match.lastgroup == "number":
            plain = word if re.search(r"[.eE]", word) else word + ".0"
            return plain + self.suffix
        if match.lastgroup == "draw":
            self.streams += 1
            name = word.split("(")[0].strip()
            last = "" if name == "poisson" else "(real)0)"  # its mean and the bracket follow
            return f"nd_{name}(nd_key, nd_seed, nd_k, (int)substep, {self.streams - 1}, {last}"
        if match.lastgroup != "name" or word in allowed or word in _C_WORDS:
            return word
        if word in FUNCTIONS:
            return f"nd_{word}"
        hint = near(word, allowed | set(FUNCTIONS))
        raise ModelError(f"{self._where(where)}: unknown name '{word}'{hint}")

    def _where(self, where: str) -> str:
        return f"{self.model.__name__}.{where}"


def used(names: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return those of ``names`` that occur in one of the texts."""
    words = set(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))
    return [name for name in names if name in words]


def texts_of(model: type[NDComponent]) -> Mapping[str, str]:
    """Return every text of a model that runs at each step: part -> text."""
    parts = {f"terms['{k}']": v for k, v in model.terms.items()}
    parts["update"] = model.update
    parts.update(model.sub_units.texts() if model.sub_units is not None else {})
    parts.update({f"outputs['{k}']": v for k, v in model.outputs.items()})
    return parts


def step_numbers(model: type[NDComponent]) -> list[str]:
    """Return the parameters and constants that a model reads at each step."""
    texts = [*texts_of(model).values(), *(a.each for a in model.accesses)]
    return used([*model.fixed_params(), *model.constants], texts)
