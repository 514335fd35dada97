"""Text that finds the spikes of a row, by its bitmap."""

from __future__ import annotations

from ...model.text import block
from ...plan.arrays import activity, depth, width
from ...plan.unit import KernelSpec
from ..kernel import Arguments

Blocks = tuple[str, int, str]
"""Expressions of the blocks of sources, numbers of each block, and how many there are."""


def each_spike(
    spec: KernelSpec,
    arguments: Arguments,
    variable: str,
    blocks: Blocks,
    call: str,
    first: list[str] | None = None,
) -> list[str]:
    """Return the lines that call something for each spike that is due at step ``nd_k``.

    What inputs inject has no lag. So in a window other threads may compute the same row, and mark
    it. This thread looks at the sources of the block alone, so the mark makes no difference.

    Parameters
    ----------
    variable : str
        The sources' events.
    blocks : Blocks
        The lag of a block, its elements and its first source are its first numbers
        (`plan.spikes.fanout`).
    call : str
        Statement for each spike, with ``{source}`` and ``{count}``.
    first : list of str, optional
        Lines for each block, which is ``nd_of``.
    """
    where, numbers, count = blocks
    a = arguments
    rows_of_ring, length = a.integer(depth(variable)), a.integer(width(variable))
    active = a.pointer(activity(variable, "active"), "const long long")
    rows = a.pointer(spec.ring(variable), "real")
    counted = a.pointer(activity(variable, "counted"), "const long long")
    found = [
        "const int nd_count = nd_ones ? 1 : nd_spikes(nd_row_b[nd_e]);",
        f"if (nd_count != 0) {call.format(source='nd_of[3] + nd_e - nd_of[1]', count='nd_count')}",
    ]
    every = [
        f"const bool nd_ones = __atomic_load_n({counted} + nd_at, __ATOMIC_RELAXED) < nd_past;",
        *_in_bitmap(
            arguments, variable, "nd_at", "nd_of[1] / ND_LANES * ND_LANES", "nd_of[2]", found
        ),
    ]
    each = [
        f"const long long *nd_of = {where} + {numbers} * nd_b, nd_past = nd_k - nd_of[0];",
        "if (nd_past < 0) continue;",
        f"const long long nd_at = nd_row_index(nd_past, {rows_of_ring});",
        f"const long long nd_last = __atomic_load_n({active} + nd_at, __ATOMIC_RELAXED);",
        "if (nd_past > 0 && nd_last != nd_past) continue;",
        f"const real *nd_row_b = {rows} + nd_at * {length};",
        *(first or []),
        *every,
    ]
    return block(f"for (int nd_b = 0; nd_b < (int){count}; ++nd_b)", each)


def each_event(
    spec: KernelSpec, arguments: Arguments, variable: str, begin: str, end: str, call: str
) -> list[str]:
    """Return the lines that call something for each element of row ``nd_k`` with an event.

    The elements are ``nd_e``, from ``begin`` to ``end``, multiples of ``ND_LANES``.
    """
    a = arguments
    active = a.pointer(activity(variable, "active"), "const long long")
    rows = a.pointer(spec.ring(variable), "real")
    at = f"const long long nd_at = nd_row_index(nd_k, {a.integer(depth(variable))});"
    row = f"const real *nd_row_b = {rows} + nd_at * {a.integer(width(variable))};"
    found = [f"if (nd_row_b[nd_e] != 0) {call}"]
    body = _in_bitmap(arguments, variable, "nd_at", begin, end, found)
    silent = f"if (nd_k == 0 || {active}[nd_at] == nd_k)"
    return block("", [at, row, *block(silent, body)])


def _in_bitmap(
    arguments: Arguments, variable: str, row: str, begin: str, end: str, found: list[str]
) -> list[str]:
    """Return the lines that go through the elements of a row whose bits are set."""
    bitmap = arguments.pointer(activity(variable, "dirty"), "const unsigned short")
    length = arguments.integer(width(variable))
    element = "const int nd_e = nd_events_here.at[nd_w] + __builtin_ctzll(nd_bits);"
    word = [
        "unsigned long long nd_bits = nd_events_here.bits[nd_w];",
        *block("for (; nd_bits; nd_bits &= nd_bits - 1)", [element, *found]),
    ]
    loop = [
        f"nd_first = nd_events_here.find(nd_dirty_words, nd_first, {end});",
        *block("for (int nd_w = 0; nd_w < nd_events_here.count; ++nd_w)", word),
    ]
    return [
        f"const unsigned short *nd_dirty_words = {bitmap} + {row} * {length} / ND_LANES;",
        "nd_events nd_events_here;",
        *block(f"for (long long nd_first = {begin}; nd_first < {end};)", loop),
    ]
