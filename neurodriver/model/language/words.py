"""Words of the model language: what a text may use, and what no name may be."""

from __future__ import annotations

import re

FUNCTIONS = (
    "exp", "expm1", "log", "log1p", "tanh", "cosh", "sinh", "pow", "sqrt", "fabs", "fmin", "fmax",
    "floor", "fma", "sin", "cos",
)  # fmt: skip
"""Functions that the mathematics of a model may call."""

EXACT = ("ceil", "round", "fmod", "isnan", "abs")
"""Functions without rounding."""

ARCS = ("asin", "acos", "atan", "atan2")
"""Angles, in radians."""

MORE = (*EXACT, *ARCS)
"""More functions; a model may have these names for something else."""

ARGUMENTS = {"pow": 2, "fmin": 2, "fmax": 2, "fma": 3, "fmod": 2, "atan2": 2}
"""Functions of more than one argument -> how many."""

TYPES = ("real", "int", "bool")
"""Types of variables."""

DRAWS = ("uniform", "normal", "poisson")
"""Random draws: ``uniform()`` in (0, 1), ``normal()`` and ``poisson(mean)``, a whole number; one
stream for each place in the text."""

GIVEN = ("dt_ms", "substep", "substeps")
"""Names every text can use: length of a sub-step in ms, its number from 0, how many a step has."""

STEP = "step"
"""Name of the number of the step, from 0; also a function of an axis."""

LIMITS = ("least_real", "greatest_real", "least_int", "greatest_int")
"""The least and the greatest numbers that are finite, by the names that texts have for them."""

C_WORDS = frozenset(
    "real int long float double bool char short unsigned signed const if else for while do switch "
    "case default break continue return struct union enum typedef sizeof static void true "
    "false".split()
)
_CPP_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor catch char8_t char16_t char32_t class "
    "co_await co_return co_yield compl concept const_cast consteval constexpr constinit decltype "
    "delete dynamic_cast explicit export extern friend goto inline mutable namespace new noexcept "
    "not not_eq nullptr operator or or_eq private protected public register reinterpret_cast "
    "requires static_assert static_cast template this thread_local throw try typeid typename "
    "using virtual volatile wchar_t xor xor_eq".split()
)
_CUDA_WORDS = ("blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize", "NULL")
RESERVED = C_WORDS.union(_CPP_WORDS, _CUDA_WORDS, FUNCTIONS, DRAWS, GIVEN, (STEP, "lane", "nd"))
"""Names that nothing in a model may have."""

_BEGINS = re.compile("(?i:nd_)|__|_[A-Z]|cuda[A-Z]|CUDA")


def is_reserved(name: str) -> bool:
    """Whether a name is one of the language, or begins as those of generated text or compilers."""
    return name in RESERVED or _BEGINS.match(name) is not None
