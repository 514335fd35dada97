"""How spikes reach the slots of their targets, as text; and how these are read and cleared."""

from __future__ import annotations

from .kernel import block
from .sums import SumText

_C_TYPES = {"int8": "signed char", "int16": "short", "int32": "int"}


class FanoutText(SumText):
    """Writes how an access is read whose connections are stored by their sources.

    Before its components are updated each thread deals the spikes that are due out to them, so
    that they find the sum of a step in their slots. It is the only one that writes these.
    """

    @property
    def may_skip(self) -> bool:
        """Whether it is noted which slots something reached."""
        return "touched" in self.gather.blanks

    @property
    def loops(self) -> bool:
        """Whether sums wait for several sub-steps; a single one takes them from the slots."""
        return self.component.shape.substeps > 1

    def direct(self, component: str, lane: str) -> str:
        """Return the expression of the finished sum inside the loop over components."""
        if self.loops:
            return super().direct(component, lane)
        return "0" if self.silent else self.finished(f"nd_at_{self.access.name}[{lane}]", component)

    def tile(self) -> list[str]:
        """Declare where a tile's slots are, and whether something reached them."""
        name = self.access.name
        note = f"nd_touched_{name} + (nd_now_{name} + nd_t) / ND_LANES"
        slots = f"nd_slot_{name} *__restrict nd_at_{name} = nd_slots_{name} + nd_now_{name} + nd_t;"
        if not self.may_skip:
            return [slots]
        return [
            slots,
            f"unsigned char *nd_note_{name} = {note};",
            f"const int nd_notes_{name} = (nd_m + ND_LANES - 1) / ND_LANES;",
            f"const bool nd_silent_{name} = !nd_noted(nd_note_{name}, nd_notes_{name});",
            f"if (!nd_silent_{name}) nd_forget(nd_note_{name}, nd_notes_{name});",
        ]

    def after(self) -> list[str]:
        """Clear the slot of a component."""
        return [] if self.loops or self.silent else [f"nd_at_{self.access.name}[nd_i] = 0;"]

    def head(self) -> list[str]:
        """Declare the slots."""
        name = self.access.name
        return [
            f"typedef {self.slot} nd_slot_{name};",
            *self.units(),
            f"nd_slot_{name} *__restrict nd_slots_{name} = "
            f"{self._pointer('slots', f'nd_slot_{name}')};",
            *self._notes(),
            f"const int nd_ahead_{name} = {self._limit('ahead')};",
            f"const int nd_turns_{name} = {self._limit('depth')};",
            f"const int nd_now_{name} = (int)(nd_k % nd_turns_{name}) * nd_ahead_{name};",
        ]

    def _notes(self) -> list[str]:
        name = self.access.name
        if not self.may_skip:
            return []
        notes = self._pointer("touched", "unsigned char")
        return [f"unsigned char *__restrict nd_touched_{name} = {notes};"]

    def deal(self) -> list[str]:
        """Return the lines that deal out the spikes that are due at step ``nd_k``."""
        name = self.access.name
        kinds = {"block": "long long", "listed": "int", "parts": "long long", "code": "int"}
        kinds |= {
            n: _C_TYPES[self.gather.arrays[n].dtype.name]
            for n in ("multiple", "of_source")
            if n in self.gather.arrays
        }
        lines = [line for line in self.head() if "nd_one_" not in line and "nd_unit_" not in line]
        lines += [self._array(n, kind) for n, kind in kinds.items()]
        if "weight" not in self.gather.arrays and "weight" in self.gather.uniform:
            number = self.component.arguments.scalar(self.component.key(f"data:{name}:weight"))
            lines.append(f"const int nd_all_{name} = (int){number};")
        return block("", [*lines, *self._deal_out()])

    def _limit(self, name: str) -> str:
        place = self.component.arguments.integer(self.component.key(f"{self.access.name}:{name}"))
        return f"(int){place}"

    def _deal_out(self) -> list[str]:
        """Find the spikes of each block's row, and add what each brings to its targets."""
        name, variable, a = self.access.name, self.access.variable, self.component.arguments
        depth, width = a.integer(f"depth:{variable}"), a.integer(f"width:{variable}")
        active = a.pointer(f"active:{variable}", "const long long")
        noted = a.pointer(f"noted:{variable}", "const unsigned char")
        ring = a.pointer(f"ring:{variable}", "real")
        cuts, threads = a.pointer("cuts", "const long long"), a.integer("threads")
        deal = [
            "const int nd_count = nd_spikes(nd_row_b[nd_e]);",
            f"const long long *nd_part = nd_parts_{name} + nd_source * ({threads} + 1) + nd_u;",
            *self._edges(),
        ]
        slice_ = [
            "unsigned nd_bits = nd_nonzero(nd_row_b + nd_s * ND_LANES);",
            *block(
                "for (; nd_bits; nd_bits &= nd_bits - 1)",
                [
                    "const long long nd_e = nd_s * ND_LANES + __builtin_ctz(nd_bits);",
                    "const long long nd_source = nd_of[3] + nd_e - nd_of[1];",
                    *deal,
                ],
            ),
        ]
        every = [
            f"const unsigned char *nd_note = {noted} + nd_place(nd_past, {depth}) "
            f"* ({width} / ND_LANES);",
            *block(
                "for (long long nd_s = nd_of[1] / ND_LANES; "
                "(nd_s = nd_next(nd_note, nd_s, nd_of[2] / ND_LANES)) < nd_of[2] / ND_LANES; "
                "++nd_s)",
                slice_,
            ),
        ]
        some = block(
            "for (long long nd_i = nd_of[1]; nd_i < nd_of[2]; ++nd_i)",
            [
                f"const long long nd_e = nd_listed_{name}[nd_i];",
                "if (nd_row_b[nd_e] == 0) continue;",
                "const long long nd_source = nd_of[3] + nd_i - nd_of[1];",
                *deal,
            ],
        )
        each = [
            f"const long long *nd_of = nd_block_{name} + 5 * nd_b, nd_past = nd_k - nd_of[0];",
            f"if (nd_past < 0 || nd_silent({active}, nd_past, {depth})) continue;",
            f"const real *nd_row_b = nd_row({ring}, nd_past, {depth}, {width});",
            *block("if (nd_of[4])", some),
            *block("else", every),
        ]
        return [
            f"const int nd_u = nd_mine({cuts}, {threads}, nd_begin);",
            *block(f"for (int nd_b = 0; nd_b < {self._limit('blocks')}; ++nd_b)", each),
        ]

    def _edges(self) -> list[str]:
        """Return the loop over one source's connections to components of this thread."""
        name, gather = self.access.name, self.gather
        lines = []
        more = f"nd_multiple_{name}[nd_p]"
        if "of_source" in gather.arrays:
            more = f"nd_of_source_{name}[nd_source]"
        elif "multiple" not in gather.arrays:
            more = f"nd_all_{name}"
        if "multiple" not in gather.arrays:
            lines.append(f"const nd_slot_{name} nd_more = (nd_slot_{name}){more} * nd_count;")
            more = "nd_more"
        else:
            more = f"(nd_slot_{name}){more} * nd_count"
        place = [f"unsigned nd_q = nd_code_{name}[nd_p];"]
        if gather.limits["depth"] > 1:
            place = [
                f"unsigned nd_q = nd_now_{name} + nd_code_{name}[nd_p];",
                f"nd_q -= nd_q >= nd_end_{name} ? nd_end_{name} : 0;",
            ]
            lines.append(f"const unsigned nd_end_{name} = nd_turns_{name} * nd_ahead_{name};")
        lines.append("const long long nd_past_last = nd_part[1];")
        loop = "for (long long nd_p = nd_part[0]; nd_p < nd_past_last; ++nd_p)"
        add = [f"nd_slots_{name}[nd_q] += {more};"]
        if self.may_skip:
            add.append(f"nd_touched_{name}[nd_q / ND_LANES] = 1;")
        return [*lines, *block(loop, [*place, *add])]

    def loop(self, earlier: list[SumText]) -> list[str]:
        """Return the loop that takes one tile's sums out of the slots that something reached."""
        name = self.access.name
        each = "for (int nd_i = 0; nd_i < nd_m; ++nd_i)"
        take = [
            f"nd_sum_{name}[nd_i] = {self.finished(f'nd_at_{name}[nd_i]', 'nd_t + nd_i')};",
            f"nd_at_{name}[nd_i] = 0;",
        ]
        if not self.may_skip:
            return [f"real nd_sum_{name}[ND_TILE];", "ND_SIMD", *block(each, take)]
        return [
            f"real nd_sum_{name}[ND_TILE];",
            *block(f"if (!nd_silent_{name})", ["ND_SIMD", *block(each, take)]),
            f"else {each} nd_sum_{name}[nd_i] = 0;",
        ]
