"""Texts of the constants with which linear synapses and membranes are integrated exactly.

All synapses of one receptor of a neuron share a time constant, so their sum obeys the equation of
a single one, and over a step h synapse and membrane together are a constant matrix (Rotter &
Diesmann 1999, Biol Cybern 81:381-402, doi:10.1007/s004220050570). Its entries are written so that
nothing cancels where the two time constants are equal, or nearly.
"""

from math import factorial

_TERMS = 14
"""Terms of the series below: the next one is below 1e-16 of the sum for |x| < 0.5."""


def mean_of_decay(x: str) -> str:
    """Return the text of ``(1 - exp(-x)) / x``, the mean of exp(-x u) over u in (0, 1).

    Parameters
    ----------
    x : str
        Name of a number that is not negative; 1 where it is 0.
    """
    return f"({x} == 0 ? 1 : -expm1(-{x}) / {x})"


def mean_of_ramp(x: str, first: str = "1", last: str = "") -> str:
    """Return the text of ``first (1 - (1 + x) exp(-x)) / x^2``: ``first`` times the mean of
    u exp(-x u) over u in (0, 1).

    Parameters
    ----------
    x : str
        Name of a number of any sign.
    first, last : str
        Names of a factor and of ``first exp(-x)``; by default 1 and its product.
    """
    series = ""
    for n in reversed(range(_TERMS)):
        term = f"1 / {factorial(n) * (n + 2)}"
        series = f"({term} - {x} * {series})" if series else f"({term})"
    whole = f"({first} - (1 + {x}) * {last or f'exp(-{x})'}) / ({x} * {x})"
    return f"(fabs({x}) < 0.5 ? {first} * {series} : {whole})"
