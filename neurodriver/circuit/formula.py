"""Formulas: weights and delays as functions of the distance between source and target."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, near, quoted
from ..model.language import Printer, Symbol, check, parse_expression, tree, used
from ..model.language.words import ARCS, FUNCTIONS, RESERVED
from ..native.compiler import build
from ..native.headers import INLINE, header
from .numbers import real

KIND = 5
"""Kind of the law of a formula."""

KNOWN = (tree.Number, tree.Name, tree.Call, tree.Binary, tree.Unary, tree.Ternary)


@dataclass(frozen=True, init=False)
class Formula:
    """A number for each connection, computed from where its ends are.

    Parameters
    ----------
    text : str
        An expression of the model language. It knows ``d``, the distance from source to target,
        ``d2``, its square, and for each axis the way along it: ``dy``, ``dx``, ... It may read
        fields of the populations at both ends (`place_formula`).
    **numbers
        Further names, and what they stand for.

    Examples
    --------
    >>> Formula("a * exp(-d2 / 8)", a=1.2)
    Formula('a * exp(-d2 / 8)', a=1.2)
    """

    text: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    indexed: ClassVar[bool] = False
    """Whether it reads where the ends are on their axes, or fields."""

    def __init__(self, text: str, /, **numbers: float) -> None:
        vars(self).update(text=text, numbers=numbers)

    def __repr__(self) -> str:
        more = "".join(f", {name}={value!r}" for name, value in self.numbers.items())
        return f"Formula({self.text!r}{more})"

    def __hash__(self) -> int:
        return hash((self.text, *sorted(self.numbers.items())))

    def faults(self, axes: tuple[str, ...]) -> Iterator[str]:
        """Yield what is wrong with the text, for connections along some axes."""
        text: object = self.text
        if not isinstance(text, str):
            yield f"a formula must be a text (got {self.text!r:.60})"
            return
        yield from self.number_faults(names_of(axes))
        try:
            node = parse_expression(self.text, "formula")
        except ModelError as error:
            yield f"{self}: {error}"
            return
        strange = [one for one in node.walk() if not isinstance(one, KNOWN)]
        if strange:
            yield f"{self}: a formula consists of numbers, names, signs and functions"
            return
        known = [*names_of(axes), *self.numbers]
        for name in sorted(used(node) - {*known, *functions_known()}):
            among = ", ".join(known)
            yield f"{self}: unknown name {quoted(name)}{near(name, known)}; there are {among}"
            return
        symbols = {name: Symbol("name") for name in known}
        yield from check(node, symbols, self.text, "formula", draws=False).faults

    def number_faults(self, taken: Sequence[str]) -> Iterator[str]:
        """Yield what is wrong with the numbers; ``taken`` are names with a meaning."""
        for name, value in self.numbers.items():
            number = real(value)
            if number - number != 0:
                yield f"{self}: {quoted(name)} must be a finite number (got {value!r:.40})"
            elif name in taken or name in RESERVED:
                yield f"{self}: {quoted(name)} has a meaning already; take another name"

    @property
    def arrays(self) -> Sequence[NDArray[np.float64]]:
        """Fields that it reads, as compiled code takes them."""
        return ()

    def c_text(self) -> str:
        """Return the expression as C, in double precision; its names are those of `names_of`."""
        return CDouble(self.numbers).expression(parse_expression(self.text, "formula"))

    def values(
        self,
        axes: tuple[str, ...],
        squared: NDArray[np.float64],
        along: Sequence[NDArray[np.float64]],
        places: Sequence[NDArray[np.int64]] = (),
    ) -> NDArray[np.float64]:
        """Return the values, (n,), for squared distances and the ways along the axes, (n,) each.

        ``places`` are the indices along the axes, then the places, where it is ``indexed``.
        """
        columns = [np.ascontiguousarray(one, np.float64) for one in (squared, *along, *places)]
        columns += self.arrays
        at = (ct.c_void_p * len(columns))(*(one.ctypes.data for one in columns))
        out = np.empty(len(squared))
        compute = self.compiled(axes).nd_formula
        compute(ct.c_longlong(len(out)), at, ct.c_void_p(out.ctypes.data))
        return out

    def compiled(self, axes: tuple[str, ...]) -> ct.CDLL:
        """Return the library of ``nd_formula(count, columns, out)``.

        Columns are the squared distance and the ways along the axes.
        """
        names = ["d2", *(f"d{axis}" for axis in axes)]
        ways = [f"const double {n} = at[{i}][i]; (void){n};" for i, n in enumerate(names)]
        return library(tuple(ways), self.c_text())


@lru_cache(64)
def library(lines: tuple[str, ...], text: str) -> ct.CDLL:
    """Return the library of ``nd_formula`` that computes an expression after some declarations."""
    head = "\n        ".join([*lines, "const double d = nd_sqrt(d2); (void)d;"])
    source = f"""/* formula */
#define ND_FN {INLINE}
{header("native/math.h")}
extern "C" void nd_formula(long long count, const double *const *at, double *out)
{{
    _Pragma("omp simd")
    for (long long i = 0; i < count; ++i) {{
        {head}
        out[i] = {text};
    }}
}}
"""
    return build([(source, ())])[0]


def functions_known() -> tuple[str, ...]:
    """Return the functions that formulas may call."""
    return *FUNCTIONS, *ARCS, "ceil", "round", "fmod"


def names_of(axes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that formulas know."""
    return "d", "d2", *(f"d{axis}" for axis in axes)


class CDouble(Printer):
    """Writes an expression as C in double precision."""

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self.numbers = numbers

    def number(self, node: tree.Number) -> str:
        return node.text + ".0" if node.whole else node.text

    def binary(self, node: tree.Binary) -> str:
        if node.sign not in ("%", "<<", ">>", "&", "|", "^"):
            return super().binary(node)
        left, right = self.expression(node.left), self.expression(node.right)
        if node.sign == "%":
            return f"nd_fmod((double)({left}), (double)({right}))"  # NaN where a divisor is 0
        return f"((long long)({left}) {node.sign} (long long)({right}))"

    def call(self, node: tree.Call) -> str:
        return f"nd_{super().call(node)}"

    def name(self, name: str) -> str:
        return f"({float(self.numbers[name])!r})" if name in self.numbers else name
