"""Sums by the 32 threads of a warp -> CUDA text, for lattices and for many connections.

Values are copied to shared memory asynchronously while earlier connections are added. So a value in
flight needs no register.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.text import block
from ..cpu.stored_inputs import DATUM

if TYPE_CHECKING:
    from .thread_sums import ThreadSum

KEPT_ROUNDS = 16
"""Rounds of 32 connections whose indices stay in registers."""

EVENT_ROUNDS = 8
"""Rounds of 32 connections that are tested for events together."""

_UNROLL = "ND_UNROLL"


def lattice(one: ThreadSum) -> list[str]:
    """Return the sum over the records of a slice, whose values half a warp reads together.

    Records lie in rounds of ``ND_LANES``. In a round each thread has one record copied to
    shared memory, for 2 A rounds later, and the values of 16 records, for A rounds later: then
    they arrive before they are needed, and a copy in flight takes no register. Where shared
    memory has room for all records of all warps (``ND_STAY``), they stay there from step to step.
    """
    columns = _columns(one)
    each = "for (int nd_b = 0; nd_b < ND_LANES; ++nd_b)"

    def ask(round_: str, slot: str) -> list[str]:
        """Have the values of a round copied."""
        get = f"nd_sixteen({_record(one, 'element', 'int', round_)}, nd_e);"
        to = f"nd_slot<real>({slot} * ND_LANES + nd_b)"
        body = ["int nd_e[ND_LANES];", get, _UNROLL,
                *block(each, [f"nd_ask({to}, nd_row0 + nd_e[nd_b]);"])]  # fmt: skip
        return block(f"if ({round_} < nd_n)", body)

    add = [
        f"const real {one.s.access.variable} = nd_h[nd_b];",
        *one.data("nd_h_{}[nd_b]"),
        f"const nd_sum_t nd_more = nd_acc + {one.s.each()};",
        "nd_acc = nd_h_mask[nd_b] & nd_mine ? nd_more : nd_acc;",
    ]
    loop = [
        "nd_await<nd_ahead - 1>();", "__syncwarp();",
        "real nd_h[ND_LANES];", *[f"{kind} nd_h_{c}[ND_LANES];" for c, kind in columns[1:]],
        *[f"nd_sixteen({_record(one, c, k, 'nd_c')}, nd_h_{c});" for c, k in columns[1:]],
        "const int nd_q = nd_c % nd_ahead, nd_mine = nd_c < nd_n ? 1 << nd_l : 0;",
        _UNROLL, *block(each, ["nd_h[nd_b] = *nd_slot<real>(nd_q * ND_LANES + nd_b);"]),
        *ask("nd_c + nd_ahead", "nd_q"), *_fetch(one, "nd_c + 2 * nd_ahead", "!nd_stay"),
        "nd_asked();",
        _UNROLL, *block(each, add),
    ]  # fmt: skip
    fetch = _fetch(one, "nd_c", "true")
    first = [_UNROLL, *block(_ROUNDS.format("2 * nd_ahead"), fetch),
             "nd_asked();", "nd_await<0>();", "__syncwarp();"]  # fmt: skip
    begin = [
        *block("if (!nd_stay)", first),
        _UNROLL, *block(_ROUNDS.format("nd_ahead"), [*ask("nd_c", "nd_c"), "nd_asked();"]),
    ]  # fmt: skip
    head = [
        *_offsets_of_warp(one),
        "const int nd_l = nd_at % ND_LANES, nd_most = nd_largest(nd_n);",
        f"const real *nd_row0 = nd_in_{one.name} + nd_l * nd_by_{one.name}[nd_i];",
        "ND_OPAQUE(nd_row0);",
    ]
    body = [*begin, *block(_ROUNDS.format("nd_most"), loop)]
    return [*head, *block("if (nd_most > 0)", body), "__syncwarp();"]


_ROUNDS = "for (int nd_c = 0; nd_c < {}; ++nd_c)"


def all_records(one: ThreadSum) -> list[str]:
    """Return what copies all records of a component's slice to where they stay."""
    copy = [*block(_ROUNDS.format("nd_n"), _fetch(one, "nd_c", "true")), "nd_asked();"]
    body = [*_offsets_of_warp(one), *copy, "nd_await<0>();", "__syncwarp();"]
    return ["#if ND_STAY", *block("", body), "#endif"]


def _columns(one: ThreadSum) -> list[tuple[str, str]]:
    """Return the columns of a record with their types."""
    return [("element", "int"), ("mask", "int"), *[(DATUM.format(n), "real") for n in one.s.varied]]


def _record(one: ThreadSum, column: str, kind: str, round_: str) -> str:
    """Return where a column of a round's records lies in shared memory."""
    before = [k for c, k in _columns(one)[: [c for c, _ in _columns(one)].index(column)]]
    place = " + ".join(["0", *[f"sizeof({k})" for k in before]])
    turn = f"(nd_stay ? ({round_}) : ({round_}) % nd_rounds)"
    at = f"{turn} * nd_bytes + ({place}) * ND_LANES"
    return f"({kind} *)(nd_ring + {at})"


def _fetch(one: ThreadSum, round_: str, when: str) -> list[str]:
    """Have the records of a round copied."""
    body = [
        f"nd_ask({_record(one, c, k, round_)} + nd_half, "
        f"nd_{c}_{one.name}.at + nd_r + ({round_}) * ND_LANES + nd_half);"
        for c, k in _columns(one)
    ]
    return block(f"if ({when} && {round_} < nd_n)", body)


def _offsets_of_warp(one: ThreadSum) -> list[str]:
    """Declare where the records of half a warp lie, and how many rounds there are."""
    name, words = one.name, " + ".join(f"sizeof({kind})" for _, kind in _columns(one))
    return [
        f"constexpr int nd_stay = {'ND_STAY' if one.stays else 0};",
        "constexpr int nd_ahead = ND_AHEAD / ND_LANES;",
        "constexpr int nd_rounds = nd_stay ? nd_stay : 2 * nd_ahead + 1;",
        f"constexpr int nd_bytes = ({words}) * ND_LANES;",
        "static_assert(nd_rounds * nd_bytes <= ND_TEAM * ND_LANES);",
        "unsigned char *nd_ring = nd_team<unsigned char>();",
        "nd_ring += nd_lane() / ND_LANES * nd_rounds * nd_bytes;",
        f"const int nd_r = nd_a_{name}[nd_i], nd_n = (nd_z_{name}[nd_i] - nd_r) / ND_LANES;",
        "const int nd_half = nd_lane() % ND_LANES;",
    ]


def rows(one: ThreadSum) -> list[str]:
    """Return the sum over the connections of one component, 32 of which a warp reads at once.

    Values travel to shared memory, many rounds ahead; their indices stay in registers.
    """
    name = one.name
    places, data = one.places, one.columns[len(one.places) :]

    def read(columns: list[tuple[str, str]], round_: str) -> list[str]:
        at = f"({round_}) * 32 + nd_lane()"
        place = f"nd_r + ({at} < nd_n ? {at} : nd_n - 1)"
        return [f"nd_h_{c} = nd_{c}_{name}[{place}];" for c, _ in columns]

    def ask(round_: str, slot: str, given: str) -> str:
        at = f"({round_}) * 32 + nd_lane()"
        indices = [given.format(c) for c, _ in places]
        if "element" not in one.s.gather.arrays:
            indices.insert(0, f"(nd_r + ({at} < nd_n ? {at} : nd_n - 1))")
        value = one.value(*indices)
        return f"if (({round_}) * 32 < nd_n) nd_ask(nd_slot<real>({slot}), &{value});"

    each = [
        f"const real {one.s.access.variable} = *nd_slot<real>(nd_q);",
        *one.data("nd_h_{}"),
        f"nd_team<nd_sum_t>()[nd_lane()] = {one.s.each()};",
    ]
    add = "nd_acc = nd_acc + nd_team<nd_sum_t>()[nd_b];"
    left = "nd_n - nd_c * 32"
    loop = [
        f"const int nd_q = nd_c % {KEPT_ROUNDS};", f"nd_await<{KEPT_ROUNDS - 1}>();",
        *block("", each),
        ask(f"nd_c + {KEPT_ROUNDS}", "nd_q", "nd_h_{}"), "nd_asked();",
        *read(places, f"nd_c + {KEPT_ROUNDS + 1}"), *read(data, "nd_c + 1"),
        "__syncwarp();",
        *block(f"if ({left} >= 32)",
               [_UNROLL, *block("for (int nd_b = 0; nd_b < 32; ++nd_b)", [add])]),
        *block("else", block(f"for (int nd_b = 0; nd_b < {left}; ++nd_b)", [add])),
        "__syncwarp();",
    ]  # fmt: skip
    first = ask("nd_c", "nd_c", f"nd_k_{{}}_{name}[nd_i][nd_c]")
    body = [
        *[f"{kind} nd_h_{c};" for c, kind in one.columns], _UNROLL,
        *block(f"for (int nd_c = 0; nd_c < {KEPT_ROUNDS}; ++nd_c)", [first, "nd_asked();"]),
        *read(data, "0"), *read(places, f"{KEPT_ROUNDS}"),
        *block("for (int nd_c = 0; nd_c * 32 < nd_n; ++nd_c)", loop),
    ]  # fmt: skip
    return [*_row(name), *block("if (nd_n > 0)", body)]


def event_rows(one: ThreadSum) -> list[str]:
    """Return the same sum where nearly all values are zero: the others are broadcast one by one.

    No registers are kept for it, as most steps have no event at all.
    """
    name, variable = one.name, one.s.access.variable
    place = [
        "const int nd_l = nd_j + nd_c * 32 + nd_lane();",
        "const long long nd_p = nd_r + (nd_l < nd_n ? nd_l : nd_n - 1);",
    ]
    column = f"nd_{{}}_{name}[nd_p]"
    where = [column.format(c) for c, _ in one.places]
    if "element" not in one.s.gather.arrays:
        where.insert(0, "nd_p")
    value = [f"const real nd_x = {one.value(*where)};", "nd_h[nd_c] = nd_l < nd_n ? nd_x : 0;"]
    hand = "nd_acc = nd_acc + nd_from(nd_mine, __ffs((int)nd_some) - 1);"
    found = [
        *place, f"const real {variable} = nd_h[nd_c];", *one.data(column),
        f"const nd_sum_t nd_mine = {one.s.each()};",
        *block("for (; nd_some; nd_some &= nd_some - 1)", [hand]),
    ]  # fmt: skip
    add = ["unsigned nd_some = nd_ballot(nd_h[nd_c] != 0);", *block("if (nd_some)", found)]
    each = f"for (int nd_c = 0; nd_c < {EVENT_ROUNDS}; ++nd_c)"
    body = [f"real nd_h[{EVENT_ROUNDS}];", _UNROLL, *block(each, [*place, *value]),
            _UNROLL, *block(each, add)]  # fmt: skip
    rounds = f"for (int nd_j = 0; nd_j < nd_n; nd_j += 32 * {EVENT_ROUNDS})"
    return [*_row(name), *block(rounds, body)]


def _row(name: str) -> list[str]:
    """Declare where the connections of a component begin, and how many there are."""
    return [
        f"const long long nd_r = nd_a_{name}[nd_i];",
        f"const int nd_n = (int)(nd_z_{name}[nd_i] - nd_r);",
    ]
