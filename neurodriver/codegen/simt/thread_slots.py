"""The sum of the spikes that arrive at a component, from its slots, by a thread of a GPU, as text.

A thread reads the slots of its components, multiplies the integers by their units, and clears the
slots. During a window nothing is added to the slots that its steps read. So a thread requests those
of the next step before it needs them.
"""

from __future__ import annotations

from ...model.text import block
from ...plan.sums.gather import outside
from .spike_delivery import SlotText
from .thread_events import each
from .thread_sums import ThreadSum


class ThreadSlots(ThreadSum):
    """Writes how a thread takes the slots of one access of its component ``nd_i``."""

    s: SlotText

    @property
    def other(self) -> str:
        """Expression of the other part of a sum of slots, where there is one."""
        name = outside(self.name)
        return f" + ({self.s.slot})nd_x_{name}[nd_i]" if name in self.component.spec.gathers else ""

    def members(self) -> list[str]:
        name = self.name
        units = [f"real nd_w_{name}[ND_OWN];"] if self.varies else []
        own = f"{self.s.slot} nd_b_{name}[ND_OWN], nd_soon_{name}[ND_OWN];"
        return [f"unsigned nd_r_{name};", own, *units, *self.reached(f"bool {self.some};")]

    @property
    def varies(self) -> bool:
        """Whether the units differ between components."""
        return "unit" in self.s.gather.arrays

    def begin(self) -> list[str]:
        """Return the line that finds the row of slots from which it goes on from step to step."""
        return [f"nd_r_{self.name} = {self.s.row()};"]

    def load(self) -> list[str]:
        name = self.name
        some = f"ND_HOLDS || nd_ballot(nd_reached_{name}[nd_at / ND_LANES] != 0)"
        lines = self.reached(f"{self.some} = {some} || (nd_i && {self.some});")
        return lines + [f"nd_w_{name}[nd_i] = nd_unit_{name}[nd_at];"] * self.varies

    def sum(self) -> list[str]:
        """Return the lines that give ``nd_x_<access>[nd_i]`` its value, or 0 in a window."""
        name = self.name
        read = f"nd_b_{name}[nd_i] = {self.some} ? __ldcg({self.slot('now')}) : 0;"
        return ["#if ND_WINDOW > 1",
                f"nd_b_{name}[nd_i] = nd_soon_{name}[nd_i];",
                self.converted() if self.other else f"nd_x_{name}[nd_i] = 0;",
                "#else", read, self.converted(), "#endif"]  # fmt: skip

    def next(self) -> list[str]:
        """Return the line that goes on to the next row of slots."""
        return [f"nd_r_{self.name} = nd_then_{self.name};"]

    def prefetch(self) -> list[str]:
        """Return the request to the L2 cache for the slots of a window."""
        rows, width = self.s.size("depth"), self.s.size("ahead")
        given = f"nd_slots_{self.name}, nd_r_{self.name}, {rows} * {width}, {width}"
        asked = [f"nd_prefetch_rows({given}, nd_first, nd_end);"]
        return block(f"if (!ND_HOLDS && {self.some})", asked)

    def converted(self) -> str:
        """Return the line that multiplies the slot that was read by its unit, which is above 0."""
        name = self.name
        unit = f"nd_one_{name}"
        if self.varies:
            unit = f"(ND_HOLDS ? nd_w_{name}[nd_i] : nd_unit_{name}[nd_at])"
        slots = f"(nd_b_{name}[nd_i]{self.other})" if self.other else f"nd_b_{name}[nd_i]"
        return f"nd_x_{name}[nd_i] = (real){slots} * {unit};"

    def ask(self, row: str) -> list[str]:
        """Return the loads of the slots of a row, ``now`` or ``then``, of all components.

        Where a warp has all its components, the addresses differ by constants.
        """
        name = self.name
        kind = f"const {self.s.slot} *const"
        lines = [f"{kind} nd_first_slot = {self.slot(row, 'nd_c[0]')};"]
        full, any_ = [each([f"nd_soon_{name}[nd_i] = __ldcg({at});"])
                      for at in ("nd_first_slot + 32 * nd_i", self.slot(row))]  # fmt: skip
        if self.component.spec.shared_by_warp:
            lines += any_
        else:  # the wait keeps a compiler from asking for both under predicates
            lines += block("if (!ND_HOLDS && nd_full)", full)
            lines += block("else", [*any_, "if (!ND_HOLDS) __syncwarp();"])
        if self.some == "true":
            return block("", lines)
        none = each([f"nd_soon_{name}[nd_i] = 0;"]) if row == "now" else []
        return [*none, *block(f"if ({self.some})", lines)]

    def clear(self) -> list[str]:
        """Return the lines that clear the slots that were read, after all loads."""
        name = self.name
        return [f"if ({self.some} && nd_live[nd_i] && nd_b_{name}[nd_i] != 0) "
                f"__stcg({self.slot('now')}, ({self.s.slot})0);"]  # fmt: skip

    @property
    def some(self) -> str:
        """Whether spikes reach any component of the warp."""
        return f"nd_some_{self.name}" if "reached" in self.s.gather.arrays else "true"

    def reached(self, line: str) -> list[str]:
        """Return a line where spikes do not reach all components."""
        return [line] if "reached" in self.s.gather.arrays else []

    def slot(self, row: str, place: str = "nd_at") -> str:
        """Return the place of a component's slot, of the row ``now`` or ``then``."""
        return f"nd_slots_{self.name} + (nd_{row}_{self.name} + (unsigned){place})"
