"""Units of physical quantities: a text such as ``mS/cm^2`` -> powers of the seven base units.

    dimension("mV") * dimension("nS") == dimension("pA")

It is small on purpose: quantities that users give are converted by their own packages
(`neurodriver.quantities`). Here the units of texts are compared, and no number is changed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache

from ..errors import near

_BASES = ("kg", "m", "s", "A", "K", "mol", "cd")
_PREFIXES = {
    "f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "c": 1e-2,
    "d": 1e-1, "k": 1e3, "M": 1e6, "G": 1e9,
}  # fmt: skip
_UNITS: dict[str, tuple[float, tuple[int, ...]]] = {
    "1": (1.0, ()),
    "m": (1.0, (0, 1)),
    "s": (1.0, (0, 0, 1)),
    "g": (1e-3, (1,)),
    "A": (1.0, (0, 0, 0, 1)),
    "K": (1.0, (0, 0, 0, 0, 1)),
    "mol": (1.0, (0, 0, 0, 0, 0, 1)),
    "Hz": (1.0, (0, 0, -1)),
    "V": (1.0, (1, 2, -3, -1)),
    "Ohm": (1.0, (1, 2, -3, -2)),
    "S": (1.0, (-1, -2, 3, 2)),
    "F": (1.0, (-1, -2, 4, 2)),
    "C": (1.0, (0, 0, 1, 1)),
    "N": (1.0, (1, 1, -2)),
    "J": (1.0, (1, 2, -2)),
    "W": (1.0, (1, 2, -3)),
    "Pa": (1.0, (1, -1, -2)),
    "M": (1e3, (0, -3, 0, 0, 0, 1)),
    "l": (1e-3, (0, 3)),
}
"""Name -> its size in base units, and their powers."""

_ALIASES = {
    "metre": "m", "meter": "m", "second": "s", "gram": "g", "amp": "A", "ampere": "A",
    "kelvin": "K", "mole": "mol", "hertz": "Hz", "volt": "V", "ohm": "Ohm", "siemens": "S",
    "farad": "F", "coulomb": "C", "newton": "N", "joule": "J", "watt": "W", "pascal": "Pa",
    "molar": "M", "liter": "l", "litre": "l",
}  # fmt: skip
_LONG = tuple(
    f"{prefix}{name}"
    for name in _ALIASES
    for prefix in ("", "milli", "micro", "nano", "pico", "femto", "kilo", "mega", "giga", "centi")
)
"""Names that are written out, which are known to packages of units."""

MISSPELLED = 6
"""Least letters of a word that is compared with them."""

_WORD = re.compile(r"\s*([A-Za-zµμ]+|1(?![.\d])|\*\*|[*/^()]|-?\d+(?:\.\d+)?)")
_USUAL = ("1", "mV", "ms", "pA", "nS", "pF", "uA/cm^2", "mS/cm^2", "uF/cm^2", "Hz", "MOhm",
          "kOhm cm^2", "V", "s", "A", "S", "F", "Ohm", "mM", "nA", "uS", "uA")  # fmt: skip
_ALONE = ("mA", "uV", "mS", "nF", "uF", "us", "kOhm", "GOhm")
"""Names of units that are told where nothing stands beside them."""
_WITH = ("{}", "{}/ms", "{} ms", "1/{}", "{}^2", "{}/ms^0.5", "1/{}^2", "1/{}/ms", "{} Hz")


@dataclass(frozen=True)
class Dimension:
    """What a quantity is, and the size of its unit.

    Attributes
    ----------
    scale : float
        Size of the unit in base units of SI.
    powers : tuple of float
        Powers of kg, m, s, A, K, mol and cd.
    """

    scale: float
    powers: tuple[float, ...]

    def __mul__(self, other: Dimension) -> Dimension:
        powers = tuple(a + b for a, b in zip(self.powers, other.powers, strict=True))
        return Dimension(self.scale * other.scale, powers)

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other**-1.0

    def __pow__(self, power: float) -> Dimension:
        return Dimension(self.scale**power, tuple(power * one for one in self.powers))

    def alike(self, other: Dimension) -> bool:
        """Whether both are quantities of one kind."""
        pairs = zip(self.powers, other.powers, strict=True)
        return all(math.isclose(a, b, abs_tol=1e-9) for a, b in pairs)

    def same(self, other: Dimension) -> bool:
        """Whether both are one unit."""
        return self.alike(other) and math.isclose(self.scale, other.scale, rel_tol=1e-9)

    def __str__(self) -> str:
        """Return a usual name; for what has none, powers of base units."""
        for form in _WITH:
            for name in _USUAL:
                known = dimension(form.format(name))
                if known is not None and self.same(known):
                    return "no unit" if name == "1" and form == "{}" else form.format(name)
        for name in _ALONE:
            if self.same(dimension(name) or NONE):
                return name
        powers = [(n, p) for n, p in zip(_BASES, self.powers, strict=True) if p]
        parts = [n if p == 1 else f"{n}^{p:g}" for n, p in powers]
        return " ".join([f"{self.scale:g}", *parts])


NONE = Dimension(1.0, (0.0,) * len(_BASES))
"""Of plain numbers."""


@cache
def dimension(unit: str) -> Dimension | None:
    """Return what a unit says; None where it is not a unit that is known.

    Parameters
    ----------
    unit : str
        Such as ``"mS/cm^2"``, ``"kOhm cm^2"``, ``"1/ms"`` or ``"siemens/meter**2"``.
    """
    words, position = [], 0
    while position < len(unit.rstrip()):
        match = _WORD.match(unit, position)
        if match is None:
            return None
        words.append(match[1])
        position = match.end()
    try:
        value, rest = _product(words)
    except (ValueError, IndexError):
        return None
    return None if rest else value


@cache
def misspelled(unit: str) -> str:
    """Return what is meant by a unit that is not known, as a hint; empty where that is not clear.

    Units that are not known are allowed: nothing is compared with them.
    """
    if dimension(unit) is not None:
        return ""
    for word in re.findall(r"[A-Za-zµμ]+", unit):
        if _known(word) is None:
            usual = {one.lower(): one for one in _USUAL if one.isalpha()}
            if word.lower() in usual:
                return f" (did you mean '{usual[word.lower()]}'?)"
            hint = near(word, _LONG) if len(word) >= MISSPELLED and word not in _LONG else ""
            if hint:
                return hint
    return ""


def unit_name(name: str) -> bool:
    """Whether a word in an equation is a unit, such as ``mV``: letters such as V are names."""
    return len(name) > 1 and name.isalpha() and _known(name) is not None


def _known(name: str) -> Dimension | None:
    name = _ALIASES.get(name, name)
    if name not in _UNITS:
        for prefix in _PREFIXES:
            rest = name.removeprefix(prefix)
            rest = _ALIASES.get(rest, rest)
            if name.startswith(prefix) and rest in _UNITS and rest not in ("1", ""):
                inner = _known(rest)
                assert inner is not None
                return Dimension(_PREFIXES[prefix] * inner.scale, inner.powers)
        return None
    scale, powers = _UNITS[name]
    return Dimension(scale, tuple(map(float, powers)) + (0.0,) * (len(_BASES) - len(powers)))


def _product(words: list[str]) -> tuple[Dimension, list[str]]:
    value, words = _factor(words)
    while words and words[0] != ")":
        divides = words[0] == "/"
        factor, words = _factor(words[1:] if words[0] in "*/" else words)
        value = value / factor if divides else value * factor
    return value, words


def _factor(words: list[str]) -> tuple[Dimension, list[str]]:
    if words[0] == "(":
        value, words = _product(words[1:])
        if not words or words[0] != ")":
            raise ValueError
        words = words[1:]
    else:
        known = _known(words[0])
        if known is None:
            raise ValueError
        value, words = known, words[1:]
    if words and words[0] in ("^", "**"):
        return value ** float(words[1]), words[2:]
    return value, words
