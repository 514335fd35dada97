"""Sums of a thread over connections that are stored nowhere -> CUDA text.

A thread goes through the entries of its component's row in batches. It loads the entries of the
next batch before it adds up the values of this one. The threads of a warp mostly have components of
one row. Then an entry is one load for all of them, and their values lie side by side.
"""

from __future__ import annotations

from ...model.text import block
from ...plan.sums.by_place import TOGETHER
from .. import reductions
from ..cpu.by_place import UnstoredText
from ..cpu.stored_inputs import DATUM
from .thread_sums import ThreadSum

_EACH = f"for (int nd_b = 0; nd_b < {TOGETHER}; ++nd_b)"
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
        name, varied = self.name, [DATUM.format(n) for n in self.s.varied]
        entry = f"nd_entry_at(nd_entry_{name}, nd_p + {{}})"
        values = [
            *[f"nd_h_{n}[nd_b] = nd_{n}_{name}[nd_p + nd_b];" for n in varied],
            *self._row("(nd_p + nd_b)"),
            f"nd_is[nd_b] = {self._plain()}nd_within(nd_e[nd_b], nd_o.index);",
            "nd_h[nd_b] = nd_is[nd_b] ? nd_past[nd_e[nd_b].x + nd_o.index] : 0;",
        ]
        add = [
            f"const real {self.s.access.variable} = nd_h[nd_b];",
            *self.data("nd_h_{}[nd_b]"),
            *block("if (nd_is[nd_b])", [*self.taken("nd_rank"), "nd_rank += 1;"]),
            *self._with_kind(),
        ]
        declared = "".join(f", nd_h_{n}[{TOGETHER}]" for n in varied)
        loop = [
            f"real nd_h[{TOGETHER}]{declared}; bool nd_is[{TOGETHER}];",
            _UNROLL, *block(_EACH, values),
            f"int4 nd_f[{TOGETHER}];",
            f"const int nd_next = nd_p + {TOGETHER} < nd_o.end ? {TOGETHER} : 0;",
            _UNROLL, *block(_EACH, [f"nd_f[nd_b] = {entry.format('nd_next + nd_b')};"]),
            *self._load_lists(),
            _UNROLL, *block(_EACH, add),
            _UNROLL, *block(_EACH, ["nd_e[nd_b] = nd_f[nd_b];"]),
        ]  # fmt: skip
        head = f"for (int nd_p = nd_o.begin; nd_p < nd_o.end; nd_p += {TOGETHER})"
        ask = f"nd_e[nd_b] = {entry.format('nd_b')};"
        first = ["const int nd_p = nd_o.begin;", _UNROLL, *block(_EACH, [ask])]
        return block(
            "if (nd_o.begin < nd_o.end)",
            [f"int4 nd_e[{TOGETHER}];", *block("", first), *block(head, loop)],
        )

    def _plain(self) -> str:
        """Return a test that leaves out entries in which sources do not follow each other."""
        kinds = {"kind", "list"} & {*self.s.gather.arrays}
        return "nd_e[nd_b].w == -1 && " if kinds else ""

    def _row(self, entry: str) -> list[str]:
        """Declare the row that an entry reads."""
        name = self.name
        late = f"nd_late_{name}[{entry}]" if "late" in self.s.gather.arrays else self.s.back
        row = f"nd_row_index(nd_k - {late}, nd_depth_{name}) * nd_width_{name}"
        return [f"const real *nd_past = nd_ring_{name} + {row};"]

    def _load_lists(self) -> list[str]:
        """Return the loads of entries in which a list gives the source of each component."""
        if "list" not in self.s.gather.arrays:
            return []
        source = f"nd_list_{self.name}[-2 - nd_e[nd_b].w + nd_o.index]"
        found = [
            "const int nd_from = nd_source[nd_b];",
            "const bool nd_some = nd_from >= 0 && nd_within(nd_e[nd_b], nd_from);",
            "if (nd_some) nd_h[nd_b] = nd_past[nd_e[nd_b].x + nd_from], nd_is[nd_b] = true;",
        ]
        lines = [
            f"int nd_source[{TOGETHER}];",
            _UNROLL, *block(_EACH, [f"nd_source[nd_b] = nd_e[nd_b].w < -1 ? {source} : -1;"]),
            _UNROLL, *block(_EACH, [*self._row("(nd_p + nd_b)"), *found]),
        ]  # fmt: skip
        some = " || ".join(f"nd_e[{b}].w < -1" for b in range(TOGETHER))
        return block(f"if ({some})", lines)

    def _with_kind(self) -> list[str]:
        """Return what adds an entry that has a kind."""
        name, variable = self.name, self.s.access.variable
        if "kind" not in self.s.gather.arrays:
            return []
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
        return block("if (nd_e[nd_b].w >= 0)", other)
