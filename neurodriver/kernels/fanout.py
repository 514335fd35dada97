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

    loops = True

    def head(self) -> list[str]:
        """Declare the slots."""
        name = self.access.name
        slot = "long long" if self.gather.limits["wide"] else "int"
        return [
            f"typedef {slot} nd_slot_{name};",
            *self.units(),
            f"nd_slot_{name} *__restrict nd_slots_{name} = "
            f"{self._pointer('slots', f'nd_slot_{name}')};",
            f"unsigned char *__restrict nd_touched_{name} = "
            f"{self._pointer('touched', 'unsigned char')};",
            f"const int nd_ahead_{name} = {self._limit('ahead')};",
            f"const int nd_turns_{name} = {self._limit('depth')};",
            f"const int nd_now_{name} = (int)(nd_k % nd_turns_{name}) * nd_ahead_{name};",
        ]

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
            *(["if (nd_count == 0) continue;"]),
            *self._edges(),
        ]
        slice_ = [
            "if (!nd_note[nd_s]) continue;",
            *block(
                "for (long long nd_e = nd_s * ND_LANES; nd_e < (nd_s + 1) * ND_LANES; ++nd_e)",
                ["const long long nd_source = nd_of[3] + nd_e - nd_of[1];", *deal],
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
        place = [f"int nd_q = nd_code_{name}[nd_p];"]
        if gather.limits["depth"] > 1:
            place = [
                f"int nd_q = nd_now_{name} + nd_code_{name}[nd_p];",
                f"nd_q -= nd_q >= nd_end_{name} ? nd_end_{name} : 0;",
            ]
            lines.append(f"const int nd_end_{name} = nd_turns_{name} * nd_ahead_{name};")
        loop = "for (long long nd_p = nd_part[0]; nd_p < nd_part[1]; ++nd_p)"
        add = [f"nd_slots_{name}[nd_q] += {more};", f"nd_touched_{name}[nd_q / ND_LANES] = 1;"]
        return [*lines, *block(loop, [*place, *add])]

    def loop(self, earlier: list[SumText]) -> list[str]:
        """Return the loop that takes one tile's sums out of the slots that something reached."""
        name = self.access.name
        each = "for (int nd_i = 0; nd_i < nd_m; ++nd_i)"
        take = [
            f"nd_slot_{name} *nd_at = nd_slots_{name} + nd_now_{name} + nd_t + nd_i;",
            f"nd_sum_{name}[nd_i] = {self.finished('*nd_at', 'nd_t + nd_i')};",
            "*nd_at = 0;",
        ]
        note = f"nd_touched_{name} + (nd_now_{name} + nd_t) / ND_LANES"
        some = [
            f"for (int nd_s = 0; nd_s * ND_LANES < nd_m; ++nd_s) ({note})[nd_s] = 0;",
            "ND_SIMD",
            *block(each, take),
        ]
        return [
            f"real nd_sum_{name}[ND_TILE];",
            *block(f"if (nd_noted({note}, (nd_m + ND_LANES - 1) / ND_LANES))", some),
            f"else {each} nd_sum_{name}[nd_i] = 0;",
        ]
