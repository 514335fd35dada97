"""The models of pools: what one component of each level of a reduction computes.

A component of the first level reads up to ``BLOCK`` members of one group, in their order. One of a
later level reads up to ``BLOCK`` components of the level before. Neighbouring sums of blocks are
added in pairs, and these sums in pairs, until one is left. So the result depends on the values
alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from ..model.component import NDComponent
from ..model.fields import Field, Source

POOLS = __name__
"""Module of these models."""

BLOCK = 256
"""Members of a component; a power of 2, so that later levels add the same pairs."""

AHEAD = 16
"""Values that are read before the first of them is taken: a GPU then waits for memory once."""

VALUE, WHICH = "pool__value", "pool__which"
"""Variables of pools: the result, and of ``argmax`` the number of the member."""

SIGN = {"sum": "+", "mean": "+", "count": "+", "product": "*", "max": ">", "argmax": ">",
        "any": ">", "min": "<"}  # fmt: skip
"""Reduction -> by what two values are joined, or by what one is better."""

TAKEN = {"count": "(v != 0 ? 1.0 : 0.0)", "any": "(v != 0 ? 1.0 : 0.0)"}
"""Reduction -> what counts of a member ``v``, where that is not the value."""


class MemberPool(NDComponent):
    """A pool whose members add to it: no kernel computes it.

    Attributes
    ----------
    pool : str
        Its name.
    """

    abstract = True
    pool: ClassVar[str] = ""


_FOLDED = """
    real pairs[9];
    int n = 0;
    for (int j = low[{at}]; j < high[{at}]; ++j) {{
        real x = cells.{value}[j];
        int level = 0;
        for (int k = n; (k & 1) == 1; k >>= 1) {{ x = pairs[level] {sign} x; level += 1; }}
        pairs[level] = x;
        n += 1;
    }}
    int level = 0, found = 0;
    for (int k = n; k > 0; k >>= 1) {{
        if ((k & 1) == 1) {{
            acc = found == 0 ? pairs[level] : pairs[level] {sign} acc;
            found = 1;
        }}
        level += 1;
    }}
"""

_AHEAD = """
    const int end = high[{at}];
    const int many = end - (end - low[{at}]) % {n};
    for (int from = low[{at}]; from < many; from += {n}) {{
        real some[{n}];
        for (int i = 0; i < {n}; ++i) {{ const int j = from + i; some[i] = {read}; }}
        for (int i = 0; i < {n}; ++i) {{ const int j = from + i; real v = some[i]; {takes} }}
    }}
    for (int j = many; j < end; ++j) {{ real v = {read}; {takes} }}
"""


@cache
def pool_model(
    reduce: str,
    variable: str,
    axes: tuple[str, ...],
    first: bool,
    last: bool,
    listed: bool,
    shown: str = "",
    unit: str = "",
) -> type[NDComponent]:
    """Return the model of one level of a pool.

    Parameters
    ----------
    variable : str
        What the first level reads.
    axes : tuple of str
        Names of the axes of its components.
    first, last : bool
        Whether it takes the members, and whether it has the result.
    listed : bool
        Whether the numbers of the members of each component are listed.
    shown : str
        Name of a variable that recorders read the result from; "" for none.
    unit : str
        Of that variable.
    """
    at = ", ".join(f"here.{name}" for name in axes)
    which = reduce == "argmax"
    text = f"real acc = {'1' if reduce == 'product' else '0'};\n"
    names = {"at": at, "sign": SIGN[reduce], "value": variable if first else VALUE}
    if first or SIGN[reduce] in "<>":
        text += _taken(reduce, names, first, listed)
    else:
        text += _FOLDED.format(**names)
    result = f"members[{at}] > 0 ? acc / members[{at}] : 0" if reduce == "mean" and last else "acc"
    text += f"{VALUE} = {result};" + f" {WHICH} = best;" * which
    text += f" {shown} = {WHICH if which else VALUE};" if shown else ""
    whole = {name: Field(axes=axes, whole=True, constant=True) for name in ("low", "high")}
    if listed:
        whole["list"] = Field(axes="place", whole=True, constant=True)
    if reduce == "mean" and last:
        whole["members"] = Field(axes=axes, whole=True, constant=True)
    reads = (variable,) if first else (VALUE, WHICH) if which else (VALUE,)
    body: dict[str, Any] = {
        "axes": axes,
        "updates": {
            **({shown: unit} if shown else {}),
            VALUE: "",
            **({WHICH: ""} if which else {}),
        },
        "sources": {"cells": Source(*reads, by_number=True)},
        "fields": whole,
        "update": text,
        "__module__": POOLS,
        "__doc__": "One level of a pool.",
    }
    return type(f"Pool_{reduce}", (NDComponent,), body)


@cache
def member_pool(pool: str, variable: str, axes: tuple[str, ...]) -> type[MemberPool]:
    """Return the model of a pool whose members add to it; see `plan.member_sums`.

    Parameters
    ----------
    pool : str
        Its name.
    variable : str
        What members add.
    axes : tuple of str
        Names of the axes of its components.
    """
    body: dict[str, Any] = {
        "axes": axes,
        "updates": {VALUE: ""},
        "sources": {"cells": Source(variable, by_number=True)},
        "update": f"{VALUE} = 0;",
        "__module__": POOLS,
        "__doc__": "A pool whose members add to it.",
        "pool": pool,
    }
    return type("Pool_of_members", (MemberPool,), body)


def _taken(reduce: str, names: dict[str, str], first: bool, listed: bool) -> str:
    """Return a loop that takes one value after the other."""
    read = f"cells.{names['value']}[{'list[j]' if listed else 'j'}]"
    takes = f"v = {TAKEN[reduce]}; " if first and reduce in TAKEN else ""
    sign, at = names["sign"], names["at"]
    if sign in "+*":
        takes += f"acc {sign}= v;"
    elif reduce == "argmax":
        number = ("list[j]" if listed else "j") if first else f"(int)(cells.{WHICH}[j])"
        takes += f"if (best < 0 || v > acc) {{ acc = v; best = {number}; }}"
    else:
        takes += f"if (j == low[{at}] || v {sign} acc) acc = v;"
    begin = "int best = -1;\n" if reduce == "argmax" else ""
    return begin + _AHEAD.format(at=at, n=AHEAD, read=read, takes=takes)
