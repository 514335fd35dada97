"""Sums over the connections of one thread's component, stored in slices -> CUDA text.

Many values are loaded before the first one is added, and the indices of the next connections before
that. So the loads are in flight together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.text import block

if TYPE_CHECKING:
    from .thread_sums import ThreadSum

BATCH = 8
"""Connections of a thread whose values are loaded together."""

_UNROLL = "ND_UNROLL"


def sliced(one: ThreadSum) -> list[str]:
    """Return the sum over a component's own connections: kept ones, batches, the tail."""
    name, variable = one.name, one.s.access.variable
    lines = [f"const int nd_n = nd_n_{name}[nd_i];"]
    if one.kept:
        place = [f"nd_k_{c}_{name}[nd_i][nd_j]" for c, _ in one.places]
        each = f"for (int nd_j = 0; nd_j < {one.kept}; ++nd_j)"
        add = [f"const real {variable} = nd_b[nd_j];",
               *one.data(f"nd_k_{{}}_{name}[nd_i][nd_j]"),
               *block(f"if (nd_j < {one.least} || nd_j < nd_n)", one.taken("nd_j"))]  # fmt: skip
        read = f"nd_b[nd_j] = {one.value(*place)};"
        lines += block("", [f"real nd_b[{one.kept}];", _UNROLL, *block(each, [read]),
                            _UNROLL, *block(each, add)])  # fmt: skip
    lines += _batches(one) if one.most > one.kept else []
    if one.s.gather.tail:
        add = [f"const real {variable} = {one.s.read('nd_p')};", *one.s.data("nd_p")]
        add += one.taken(f"(nd_n + nd_p - nd_tail_{name}[nd_at])")
        head = (f"for (long long nd_p = nd_tail_{name}[nd_at], "
                f"nd_q = nd_tail_{name}[nd_at + 1]; nd_p < nd_q; ++nd_p)")  # fmt: skip
        lines += ["ND_UNROLL_SUM", *block(head, add)]
    return lines


def _batches(one: ThreadSum) -> list[str]:
    """Return the sum over the connections that are not kept, several at a time.

    The indices of a batch are loaded while the values of the batch before are in flight.
    """
    name = one.name
    places, data = one.places, one.columns[len(one.places) :]
    each = f"for (int nd_b = 0; nd_b < {BATCH}; ++nd_b)"

    def ask(columns: list[tuple[str, str]], ahead: int) -> list[str]:
        at = f"nd_j + {ahead} + nd_b"
        where = f"nd_a_{name}[nd_i] + ({at} < nd_n ? {at} : nd_n - 1) * ND_LANES"
        lines = [f"nd_h_{c}[nd_b] = nd_{c}_{name}[nd_p];" for c, _ in columns]
        return [f"const long long nd_p = {where};", *lines]

    value = one.value(*[f"nd_h_{c}[nd_b]" for c, _ in places])
    add = [f"const real {one.s.access.variable} = nd_h[nd_b];", *one.data("nd_h_{}[nd_b]"),
           *block("if (nd_j + nd_b < nd_n)", one.taken("(nd_j + nd_b)"))]  # fmt: skip
    loop = [
        _UNROLL, *block(each, [f"nd_h[nd_b] = {value};", *(ask(data, 0) if data else [])]),
        _UNROLL, *block(each, ask(places, BATCH)),
        _UNROLL, *block(each, add),
    ]  # fmt: skip
    declared = [f"{kind} nd_h_{c}[{BATCH}];" for c, kind in one.columns]
    body = [f"real nd_h[{BATCH}];", *declared, f"int nd_j = {one.kept};",
            _UNROLL, *block(each, ask(places, 0)),
            *block(f"for (; nd_j < nd_n; nd_j += {BATCH})", loop)]  # fmt: skip
    return block(f"if (nd_n > {one.kept})", body)
