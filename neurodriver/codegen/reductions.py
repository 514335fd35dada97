"""What an access makes of the values of its connections: their sum, greatest, least, mean, ...

A reduction is written as statements that take one value into ``nd_acc``. ``rank`` is the place of
the connection among those of its component, from 0: so nothing has to be known of the first value.
Without any connection a product is 1, ``argmax`` is -1, and all others are 0.
"""

from __future__ import annotations

EMPTY = {"product": "1", "argmax": "-1"}
"""Reduction -> what it is without a connection, where that is not 0."""

RANKED = ("argmax",)
"""Reductions that keep the rank of a value, in ``nd_which``, beside the value."""


def begin(reduce: str) -> str:
    """Return the number with which ``nd_acc`` begins."""
    return "1" if reduce == "product" else "0"


def taken(reduce: str, lane: str, value: str, live: str, rank: str) -> list[str]:
    """Return statements that take a value into ``nd_acc`` where ``live`` holds.

    ``lane`` is an index in brackets where accumulators are arrays.
    """
    acc = f"nd_acc{lane}"
    if reduce in ("sum", "mean"):
        return [f"{acc} = {live} ? {acc} + {value} : {acc};"]
    if reduce == "product":
        return [f"{acc} = {live} ? {acc} * {value} : {acc};"]
    lines = [f"const nd_sum_t nd_v = {value};"]
    if reduce == "any":
        return [*lines, f"{acc} = {live} && nd_v != 0 ? 1 : {acc};"]
    sign = "<" if reduce == "min" else ">"
    better = f"({live}) & (({rank} == 0) | (nd_v {sign} {acc}))"
    lines.append(f"const bool nd_better = {better};")
    if reduce in RANKED:
        lines.append(f"nd_which{lane} = nd_better ? (int)({rank}) : nd_which{lane};")
    return [*lines, f"{acc} = nd_better ? nd_v : {acc};"]


def finished(reduce: str, acc: str, which: str, degree: str, division: str) -> str:
    """Return the result in the working type; ``degree`` is the number of connections."""
    if reduce in RANKED:
        return f"(real){which}"
    if reduce == "mean":
        return f"({degree} ? (real){acc} {division} (real){degree} : 0)"
    return f"(real){acc}"
