"""Sums over connections that are stored nowhere -> C++ text; the loops are in ``by_place.h``."""

from __future__ import annotations

from ...model.text import block
from ...plan.arrays import depth, width
from .. import reductions
from .sums import SumText

TABLES = ("segment", "slice", "begin", "entry", "late", "kind", "table", "list")
"""Arrays of the plan; the last four are there where they are needed."""

COUNTED = ("max", "min", "mean", *reductions.RANKED)
"""Reductions that ask how many values came before."""


class UnstoredText(SumText):
    """Writes the sum of an access that rules of place reach."""

    @property
    def may_skip(self) -> bool:
        return False

    @property
    def loops(self) -> bool:
        return True

    def head(self) -> list[str]:
        """Declare the ring and the tables."""
        a, name, variable = self.component.arguments, self.access.name, self.access.variable
        ring = a.pointer(self.component.spec.ring(variable), "real")
        lines = [f"const real *__restrict nd_ring_{name} = {ring};",
                 f"const long long nd_depth_{name} = {a.integer(depth(variable))};",
                 f"const long long nd_width_{name} = {a.integer(width(variable))};"]  # fmt: skip
        lines += [self._array(one, "int") for one in TABLES if one in self.gather.arrays]
        return lines + self.data_arrays()

    @property
    def back(self) -> str:
        """Expression of the rows back that all connections have, 0 where they differ."""
        return "0" if self.gather.back is None else f"(int){self.size('back')}"

    def loop(self, earlier: list[SumText]) -> list[str]:
        name, reduce = self.access.name, self.access.reduce
        counted, first = reduce in COUNTED, reductions.begin(reduce)
        ranked = reduce in reductions.RANKED
        each = "for (int nd_l = 0; nd_l < ND_TOGETHER; ++nd_l)"
        lines = [f"typedef {self.kind} nd_sum_t;", "alignas(64) nd_sum_t nd_acc[ND_TOGETHER];",
                 f"for (int nd_i = 0; nd_i < ND_TILE; ++nd_i) nd_sum_{name}[nd_i] = {first};",
                 *(["alignas(64) int nd_degree[ND_TOGETHER];"] if counted else []),
                 *(["alignas(64) int nd_which[ND_TOGETHER];"] if ranked else [])]  # fmt: skip
        begin = [f"{each} nd_acc[nd_l] = {first};"]
        take = [
            "(void)nd_e;",
            *self.data("nd_e"),
            *reductions.taken(reduce, "[nd_l]", self.each(), "nd_live", "nd_degree[nd_l]"),
        ]
        if counted:
            begin.append(f"{each} nd_degree[nd_l] = 0;")
            take.append("nd_degree[nd_l] += nd_live;")
        if ranked:
            begin.append(f"{each} nd_which[nd_l] = {reductions.EMPTY[reduce]};")
        done = "(real)nd_acc[nd_l]"
        if self.reduced:
            division = self.component.translator.division
            done = reductions.finished(
                reduce, "nd_acc[nd_l]", "nd_which[nd_l]", "nd_degree[nd_l]", division
            )
        end = [f"for (int nd_l = 0; nd_l < nd_n; ++nd_l) nd_sum_{name}[nd_at + nd_l] = {done};"]
        value = f"int nd_l, real {self.access.variable}, int nd_e, bool nd_live"
        parts = {"begin_": ("", begin), "take": (value, take),
                 "end_": ("long long nd_at, int nd_n", end)}  # fmt: skip
        for what, (given, body) in parts.items():
            head = f"const auto nd_{what} = [&]({given}) __attribute__((always_inline))"
            lines += [*block(head, body), ";"]
        arrays = self.gather.arrays
        tables = [f"nd_{one}_{name}" if one in arrays else "nullptr" for one in TABLES]
        tables += [f"nd_ring_{name}", self.size("segments"), "nd_k", self.back, f"nd_depth_{name}"]
        lines.append(f"const nd_place_tables nd_n = {{{', '.join(tables)}, nd_width_{name}}};")
        kinds = "true" if {"kind", "list"} & {*arrays} else "false"
        lines.append(f"nd_by_place<{kinds}>(nd_n, nd_t, nd_m, nd_begin_, nd_take, nd_end_);")
        return [f"real nd_sum_{name}[ND_TILE];", *block("", lines)]
