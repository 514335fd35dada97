"""Sums of a thread over connections that are stored nowhere -> CUDA text.

A thread has ``ND_OWN`` components of one row, which lie 32 apart. It goes through the entries of
the row in batches: an entry and its weight are loaded once for all of them. The loads of the next
batch begin before the values of this one are added up. The threads of a warp mostly have components
of one row. Then an entry is one load for all of them, and their values lie side by side.
"""

from __future__ import annotations

from ...model.text import block
from .. import reductions
from ..cpu.by_place import UnstoredText
from .thread_events import OWN, each
from .thread_sums import ThreadSum

BATCH = 4
"""Entries whose values are loaded together."""

APART = 32
"""Places between the components of a thread."""

_EACH = f"for (int nd_b = 0; nd_b < {BATCH}; ++nd_b)"
_UNROLL = "ND_UNROLL"


class PlaceThreadSum(ThreadSum):
    """Writes how a thread sums an access of its component ``nd_i`` that rules of place reach."""

    s: UnstoredText

    across = True

    def members(self) -> list[str]:
        """Declare the entries of a row, and the index of the first component."""
        return [f"nd_row_of nd_o_{self.name};"]

    def load(self) -> list[str]:
        """Return the search of the row: all components of a thread are in that of the first."""
        name = self.name
        tables = ", ".join(f"nd_{one}_{name}" for one in ("slice", "segment", "begin"))
        count = f"(int){self.s.size('segments')}"
        return [f"if (nd_i == 0) nd_o_{name} = nd_find_row({tables}, {count}, nd_at, nd_end);"]

    def sum(self) -> list[str]:
        """Return the lines that give ``nd_x_<access>`` its values, for all components."""
        name, reduce = self.name, self.s.access.reduce
        ranked = reduce in reductions.RANKED
        first = [f"nd_acc[nd_i] = {reductions.begin(reduce)}, nd_rank[nd_i] = 0;"]
        first += [f"nd_which[nd_i] = {reductions.EMPTY[reduce]};"] if ranked else []
        division = self.component.translator.division
        parts = "nd_acc[nd_i]", "nd_which[nd_i]", "nd_rank[nd_i]"
        done = reductions.finished(reduce, *parts, division)
        done = done if self.s.reduced else "(real)nd_acc[nd_i]"
        body = [
            f"typedef {self.s.kind} nd_sum_t;",
            "nd_sum_t nd_acc[ND_OWN]; int nd_rank[ND_OWN]; (void)nd_rank;",
            *(["int nd_which[ND_OWN];"] if ranked else []),
            *each(first),
            f"const nd_row_of nd_o = nd_o_{name};",
            *self.write(),
            *each([f"nd_x_{name}[nd_i] = {done};"]),
        ]
        return block("", body)

    def write(self) -> list[str]:
        """Return the lines that add all that the components read to ``nd_acc``."""
        name, varied = self.name, self.s.varied
        entry = f"nd_entry_at(nd_entry_{name}, {{}})"
        last = "(nd_p + {} < nd_o.end ? nd_p + {} : nd_o.end - 1)"
        ask = f"nd_e[nd_b] = {entry.format(last.format('nd_b', 'nd_b'))};"
        after = last.format(f"{BATCH} + nd_b", f"{BATCH} + nd_b")
        numbers = [f"nd_h_{n}[nd_b] = nd_{n}_{name}[nd_q];" for n in varied]
        bit = "1u << (nd_b * ND_OWN + nd_i)"
        values = [
            f"const int nd_q = {last.format('nd_b', 'nd_b')};",
            *numbers,
            *self._row("nd_q"),
            "const int nd_low = nd_o.index - nd_e[nd_b].y;",
            f"const unsigned nd_many = {self._plain()} ? nd_length(nd_e[nd_b], nd_o.stop) : 0;",
            "const real *nd_from = nd_past + nd_e[nd_b].x + nd_o.index;",
            _UNROLL, *block(OWN, [
                f"const bool nd_is = (unsigned)(nd_low + {APART} * nd_i) < nd_many;",
                f"nd_h[nd_b][nd_i] = nd_is ? nd_from[{APART} * nd_i] : 0;",
                f"nd_there |= nd_is ? {bit} : 0;",
            ]),
        ]  # fmt: skip
        taken = [
            f"const real {self.s.access.variable} = nd_h[nd_b][nd_i];",
            *self.data("nd_h_{}[nd_b]"),
            *block(f"if (nd_there & {bit})", [*self._taken(), "nd_rank[nd_i] += 1;"]),
        ]
        add = [_UNROLL, *block(OWN, taken), *self._with_kind()]
        declared = "".join(f", nd_h_{n}[{BATCH}]" for n in varied)
        loop = [
            f"real nd_h[{BATCH}][ND_OWN]{declared};",
            "unsigned nd_there = 0;",
            _UNROLL, *block(_EACH, values),
            *self._with_list(bit),
            f"int4 nd_f[{BATCH}];",
            _UNROLL, *block(_EACH, [f"nd_f[nd_b] = {entry.format(after)};"]),
            _UNROLL, *block(_EACH, add),
            _UNROLL, *block(_EACH, ["nd_e[nd_b] = nd_f[nd_b];"]),
        ]  # fmt: skip
        head = f"for (int nd_p = nd_o.begin; nd_p < nd_o.end; nd_p += {BATCH})"
        first = ["const int nd_p = nd_o.begin;", _UNROLL, *block(_EACH, [ask])]
        return block(
            "if (nd_o.begin < nd_o.end)",
            [f"int4 nd_e[{BATCH}];", *block("", first), *block(head, loop)],
        )

    def _taken(self) -> list[str]:
        """Return the lines that take a value into the sum of component ``nd_i``."""
        each_value, place = self.s.each(), "[nd_i]"
        if self.s.reduced:
            reduce = self.s.access.reduce
            return reductions.taken(reduce, place, each_value, "true", f"nd_rank{place}")
        return [f"nd_acc{place} = nd_acc{place} + {each_value};"]

    def _plain(self) -> str:
        """Return whether there is an entry, in which each component has one source at most."""
        kinds = {"kind", "list"} & {*self.s.gather.arrays}
        return "nd_p + nd_b < nd_o.end" + (" && nd_e[nd_b].w == -1" if kinds else "")

    def _row(self, entry: str) -> list[str]:
        """Declare the row that an entry reads."""
        name = self.name
        late = f"nd_late_{name}[{entry}]" if "late" in self.s.gather.arrays else self.s.back
        row = f"nd_row_index(nd_k - {late}, nd_depth_{name}) * nd_width_{name}"
        return [f"const real *nd_past = nd_ring_{name} + {row};"]

    def _with_list(self, bit: str) -> list[str]:
        """Return the loads of entries in which a list gives the source of each component."""
        name = self.name
        if "list" not in self.s.gather.arrays:
            return []
        place = f"nd_o.index + {APART} * nd_i"
        listed = "nd_p + nd_b < nd_o.end && nd_e[nd_b].w < -1"
        source = f"nd_list_{name}[-2 - nd_e[nd_b].w + {place}]"
        ask = f"nd_source[nd_b][nd_i] = {listed} && {place} < nd_o.stop ? {source} : -1;"
        found = [
            "const int nd_from = nd_source[nd_b][nd_i];",
            "const bool nd_is = nd_from >= nd_e[nd_b].y && nd_from < nd_e[nd_b].z && nd_from >= 0;",
            f"if (nd_is) nd_h[nd_b][nd_i] = nd_past[nd_e[nd_b].x + nd_from], nd_there |= {bit};",
        ]
        lines = [
            f"int nd_source[{BATCH}][ND_OWN];",
            _UNROLL, *block(_EACH, [_UNROLL, *block(OWN, [ask])]),
            _UNROLL, *block(_EACH, [*self._row("(nd_p + nd_b)"), _UNROLL, *block(OWN, found)]),
        ]  # fmt: skip
        some = " || ".join(f"nd_e[{b}].w < -1" for b in range(BATCH))
        return block(f"if ({some})", lines)

    def _with_kind(self) -> list[str]:
        """Return what adds an entry that has a kind."""
        name, variable = self.name, self.s.access.variable
        if "kind" not in self.s.gather.arrays:
            return []
        body = [
            f"const real {variable} = nd_past[nd_element];",
            *self.data("nd_h_{}[nd_b]"),
            *self._taken(),
            "nd_rank[nd_i] += 1;",
        ]
        place, tables = f"nd_o.index + {APART} * nd_i", f"nd_kind_{name}.at, nd_table_{name}.at"
        mine = [
            *block("const auto nd_take = [&](int nd_element)", body), ";",
            f"nd_kind_by_place(nd_e[nd_b], {place}, {tables}, nd_take);",
        ]  # fmt: skip
        own = block(f"if ({place} < nd_o.stop)", mine)
        other = [*self._row("(nd_p + nd_b)"), _UNROLL, *block(OWN, own)]
        return block("if (nd_e[nd_b].w >= 0 && nd_p + nd_b < nd_o.end)", other)
