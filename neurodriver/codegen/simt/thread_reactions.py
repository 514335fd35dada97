"""Sub-units that jump by reactions -> the form of ``threads``: a warp has one component.

Its threads share the sub-units. Each one is advanced through its sub-step by one thread, with the
expressions of ``reactions`` and the draws of its own number, and totals are integers: the bits
are those of the form for the CPU. Where that gives up, after a batch with a sub-unit that reacts
without an end, so does this one.
"""

from __future__ import annotations

from dataclasses import replace

from ...model.text import block
from ...plan.unit import KernelSpec
from ..cpu.update import finish_with
from ..kernel import Kernel
from ..reactions import BATCH, MOST_REACTIONS, TICK_BITS, SubUnitText
from .thread_events import each
from .threads import ThreadText


def thread_reactions(spec: KernelSpec) -> Kernel:
    """Return the kernel that advances one group of components with sub-units by one step."""
    text = ReactionText(spec)
    component = text.component
    once = component.constants(), [*component.initial(), *text.units.initial()]
    kernel = finish_with(spec.model.__name__, text.arguments, once, text.unit())
    return replace(kernel, record=text.record)


class ReactionText(ThreadText):
    """Writes the struct of one model with sub-units."""

    def __init__(self, spec: KernelSpec) -> None:
        super().__init__(spec)
        self.units = SubUnitText(self.component)
        self.totals = list(self.units.units.totals)

    def head(self) -> list[str]:
        return [*super().head(), *self.units.head()]

    def members(self) -> list[str]:
        """Declare what a thread keeps: all of a warp know the totals."""
        one = 'static_assert(ND_OWN == 1, "a warp has one component");'
        return [one, *super().members(), *[f"long long nd_v_{t}[ND_OWN];" for t in self.totals]]

    def load(self) -> list[str]:
        """Return the loads of what no step changes, of states and of totals."""
        body = [f"nd_v_{t}[nd_i] = nd_z_{t}[nd_at];" for t in self.totals]
        return [*super().load(), *each(body)]

    def save(self) -> list[str]:
        """Put states back that have no row, and totals."""
        body = [f"if (nd_live[nd_i]) nd_z_{t}[nd_at] = nd_v_{t}[nd_i];" for t in self.totals]
        return [*super().save(), *body]

    def advance(self) -> list[str]:
        """Return one sub-step: the sub-units before the component, from the same old states."""
        given = [*self.numbers(), *self.inputs(), *self.states()]
        own = [*given, *self.component.old_terms(), *self.units.begin("nd_at"), *self.batches()]
        totals = [f"const real {t} = nd_t_{t}; (void){t};" for t in self.totals]
        return [
            *[f"real nd_t_{t};" for t in self.totals],
            *block("", own),
            *given,
            *totals,
            *self.component.mathematics(),
            *self.keep(),
        ]

    def batches(self) -> list[str]:
        """Return the loop over the sub-units of a component, and its totals."""
        each = "for (long long nd_u = nd_b + nd_lane(); nd_u < nd_end; nd_u += 32)"
        batch = [
            f"const long long nd_more = nd_b + {BATCH};",
            "const long long nd_end = nd_more < nd_count ? nd_more : nd_count;",
            *block(each, self.one()),
            "nd_failed = nd_ballot(nd_failed) != 0;",
        ]
        head = f"for (long long nd_b = 0; nd_b < nd_count && !nd_failed; nd_b += {BATCH})"
        lines = ["ND_ROLLED", *block(head, batch)]
        for name in self.totals:
            lines.append(f"nd_v_{name}[nd_i] += nd_total(nd_d_{name});")
            value = f"nd_failed ? (real)ND_NAN_D : (real)nd_v_{name}[nd_i]"
            lines.append(f"nd_t_{name} = {value};")
        return lines

    def one(self) -> list[str]:
        """Return the sub-step of one sub-unit."""
        units = self.units
        lines = ["const long long nd_row_index = nd_first + nd_u;"]
        for name in units.units.species:
            lines.append(f"const float nd_b_{name} = (float)nd_y_{name}[nd_row_index];")
        clock = [*units.rates("nd_b_{}"), *units.clock("nd_row_index")]
        clock += ["nd_time = nd_on;", "nd_due = nd_on < nd_off;"]
        return [
            *lines, "int nd_time;", "bool nd_due;", *block("", clock),
            *block("if (nd_due)", self.rounds()),
        ]  # fmt: skip

    def rounds(self) -> list[str]:
        """Let a sub-unit react until its sub-step is over."""
        units = self.units
        enter = [f"float nd_w_{name} = nd_b_{name};" for name in units.units.species]
        enter += [
            f"float nd_wleft = nd_span, nd_wtime = (float)nd_time * 0x1p-{TICK_BITS}f;",
            "int nd_wticks = 0, nd_wmore = 1;",
            "unsigned int nd_w0 = 0, nd_w1 = 0, nd_w2 = 0, nd_w3 = 0;",
            "bool nd_endless = false;",
        ]
        draw = "const nd_block nd_r = nd_unit_draw(nd_own, nd_k, substep, nd_u, nd_round >> 1);"
        words = [f"nd_w{i} = nd_r.w{i};" for i in range(4)]
        round_ = [
            *block("if (nd_round & 1)", ["nd_w0 = nd_w2;", "nd_w1 = nd_w3;"]),
            *block("else", [draw, *words]),
            *block("", units.reaction("")),
            f"nd_endless = nd_round == {MOST_REACTIONS};",
        ]
        leave = ["nd_clock[nd_row_index] = nd_wticks;"]
        for name in units.moving:
            leave.append(f"nd_y_{name}[nd_row_index] = ({units.kind(name)})nd_w_{name};")
        for total, name in units.units.totals.items():
            leave.append(f"nd_d_{total} += (int)(nd_w_{name} - nd_b_{name});")
        return [
            *enter,
            "ND_ROLLED",
            *block("for (int nd_round = 0; nd_wmore && !nd_endless; ++nd_round)", round_),
            *block("if (!nd_wmore)", leave),
            "nd_failed |= nd_endless;",
        ]
