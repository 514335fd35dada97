"""Sums of a thread over connections that are stored nowhere -> CUDA text.

A thread goes through the entries of its component's row in batches. It loads the entries of the
next batch, and then the values that they point to. The threads of a warp mostly have components of
one row. Then an entry is one load for all of them, and their values lie side by side.
"""

from __future__ import annotations

from ...model.text import block
from .. import reductions
from ..cpu.by_place import UnstoredText
from .thread_sums import ThreadSum

BATCH = 4
"""Entries whose values are loaded together."""

_EACH = f"for (int nd_b = 0; nd_b < {BATCH}; ++nd_b)"
_UNROLL = "ND_UNROLL"


class PlaceThreadSum(ThreadSum):
    """Writes how a thread sums an access of its component ``nd_i`` that rules of place reach."""

    s: UnstoredText

    def members(self) -> list[str]:
        """Declare the entries of a component's row, and its index."""
        return [f"nd_row_of nd_o_{self.name}[ND_OWN];"]

    def load(self) -> list[str]:
        """Return the search of a component's row."""
        name = self.name
        tables = ", ".join(f"nd_{one}_{name}" for one in ("slice", "segment", "begin"))
        count = f"(int){self.s.size('segments')}"
        return [f"nd_o_{name}[nd_i] = nd_find_row({tables}, {count}, nd_at);"]

    def sum(self) -> list[str]:
        """Return the lines that give ``nd_x_<access>[nd_i]`` its value."""
        name, reduce = self.name, self.s.access.reduce
        ranked = reduce in reductions.RANKED
        body = [
            f"typedef {self.s.kind} nd_sum_t;",
            f"nd_sum_t nd_acc = {reductions.begin(reduce)}; int nd_rank = 0; (void)nd_rank;",
            *([f"int nd_which = {reductions.EMPTY[reduce]};"] if ranked else []),
            f"const nd_row_of nd_o = nd_o_{name}[nd_i];",
            *self.before(),
            *self.write(),
        ]
        division = self.component.translator.division
        done = reductions.finished(reduce, "nd_acc", "nd_which", "nd_rank", division)
        done = done if self.s.reduced else "(real)nd_acc"
        return block("", [*body, f"nd_x_{name}[nd_i] = {done};"])

    def write(self) -> list[str]:
        """Return the lines that add all that a component reads to ``nd_acc``."""
        name, varied = self.name, self.s.varied
        entry = f"nd_entry_at(nd_entry_{name}, {{}})"
        last = "(nd_p + {} < nd_o.end ? nd_p + {} : nd_o.end - 1)"
        ask = f"nd_e[nd_b] = {entry.format(last.format('nd_b', 'nd_b'))};"
        after = last.format(f"{BATCH} + nd_b", f"{BATCH} + nd_b")
        numbers = [f"nd_h_{n}[nd_b] = nd_{n}_{name}[nd_q];" for n in varied]
        values = [
            f"const int nd_q = {last.format('nd_b', 'nd_b')};",
            *numbers,
            "nd_is[nd_b] = nd_p + nd_b < nd_o.end && nd_o.index >= nd_e[nd_b].y "
            "&& nd_o.index < nd_e[nd_b].z;",
            *self._row("nd_q"),
            "nd_h[nd_b] = nd_is[nd_b] ? nd_past[nd_e[nd_b].x + nd_o.index] : 0;",
        ]
        add = [
            f"const real {self.s.access.variable} = nd_h[nd_b];",
            *self.data("nd_h_{}[nd_b]"),
            *block("if (nd_is[nd_b])", [*self.taken("nd_rank"), "nd_rank += 1;"]),
        ]
        if "kind" in self.s.gather.arrays:
            values, add = self._with_kinds(values, add)
        declared = "".join(f", nd_h_{n}[{BATCH}]" for n in varied)
        loop = [
            f"real nd_h[{BATCH}]{declared}; bool nd_is[{BATCH}];",
            _UNROLL, *block(_EACH, values),
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

    def _row(self, entry: str) -> list[str]:
        """Declare the row that an entry reads."""
        name = self.name
        late = f"nd_late_{name}[{entry}]" if "late" in self.s.gather.arrays else self.s.back
        row = f"nd_row_index(nd_k - {late}, nd_depth_{name}) * nd_width_{name}"
        return [f"const real *nd_past = nd_ring_{name} + {row};"]

    def _with_kinds(self, values: list[str], add: list[str]) -> tuple[list[str], list[str]]:
        """Return the same for entries of which some have a kind."""
        name, variable = self.name, self.s.access.variable
        plain = "nd_is[nd_b] = nd_e[nd_b].w < 0 && nd_p"
        values = [line.replace("nd_is[nd_b] = nd_p", plain) for line in values]
        body = [
            f"const real {variable} = nd_past[nd_element];",
            *self.data("nd_h_{}[nd_b]"),
            *self.taken("nd_rank"),
            "nd_rank += 1;",
        ]
        tables = f"nd_kind_{name}.at, nd_table_{name}.at"
        head = "const auto nd_take = [&](int nd_element)"
        call = f"nd_kind_by_place(nd_e[nd_b], nd_o.index, {tables}, nd_take);"
        other = [*self._row("(nd_p + nd_b)"), *block(head, body), ";", call]
        return values, [
            *add,
            *block("if (nd_e[nd_b].w >= 0 && nd_p + nd_b < nd_o.end)", other),
        ]
