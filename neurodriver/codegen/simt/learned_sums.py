"""Sums of graded values whose weights learn, by a thread of a GPU, as text.

A thread has the components, and so their synapses, to itself. Threads beyond the end of a group
repeat its last component: they add as it does, and store nothing.
"""

from __future__ import annotations

from ...model.text import block
from ..component import ComponentText
from ..cpu.sums import SumText
from ..learned_sums import LearnedSumText
from .slice_sums import BATCH
from .thread_sums import ThreadSum

_WEIGHT = "const real weight = nd_state[0];"
_LIVE = "if (!nd_live[nd_i]) continue;"


class LearnedThreadSum(ThreadSum):
    """Writes how a thread sums and changes one set of connections of its component ``nd_i``."""

    s: LearnedSumText

    def __init__(
        self, component: ComponentText, sums: list[SumText], number: int, varied: list[str]
    ) -> None:
        super().__init__(component, sums, number, varied)
        self.form, self.kept = "sliced", 0

    @property
    def part(self) -> bool:
        """It is a part of a sum, of real numbers: no integers."""
        return False

    def write(self) -> list[str]:
        """Return the lines that add all connections to ``nd_acc`` and let them learn."""
        name, own = self.name, len(self.s.plan.own)
        place = f"const long long nd_p = nd_a_{name}[nd_i] + nd_m * ND_LANES;"
        last = "const int nd_m = nd_j + nd_b < nd_n ? nd_j + nd_b : nd_n - 1;"
        each = f"for (int nd_b = 0; nd_b < {BATCH}; ++nd_b)"
        kept = [f"nd_o[{i}][nd_b] = {at};" for i, at in enumerate(self.s.stored("nd_p"))]
        ask = [last, place, f"nd_h[nd_b] = {self.s.read('nd_p')};", *kept]
        state = ", ".join(f"nd_o[{i}][nd_b]" for i in range(own))
        one = self._one("nd_h[nd_b]", [f"real nd_state[{own}] = {{{state}}};", _WEIGHT])
        loop = [f"real nd_h[{BATCH}], nd_o[{own}][{BATCH}];", "ND_UNROLL", *block(each, ask)]
        loop += [*self._together(), "ND_UNROLL"]
        learn = block("if (nd_j + nd_b < nd_n)", ["const int nd_m = nd_j + nd_b;", place, *one])
        lines = [f"const int nd_n = nd_n_{name}[nd_i];", *self._intervals()]
        head = f"for (int nd_j = 0; nd_j < nd_n; nd_j += {BATCH})"
        lines += block(head, [*loop, *block(each, learn)])
        if self.s.gather.tail:
            head = (f"for (long long nd_p = nd_tail_{name}[nd_at], "
                    f"nd_q = nd_tail_{name}[nd_at + 1]; nd_p < nd_q; ++nd_p)")  # fmt: skip
            numbers = [*self.s.numbers("nd_p"), *self._together()]
            lines += block(head, self._one(self.s.read("nd_p"), numbers))
        return lines

    def _intervals(self) -> list[str]:
        """Return the lines that run the texts of intervals that are due."""
        each = [
            line
            for i in self.s.texts
            for line in self.s.interval(i, self._walk, "nd_at", [*self._together(), _LIVE])
        ]
        return block(f"if (nd_learns_{self.name})", each) if each else []

    def _walk(self, body: list[str]) -> list[str]:
        """Return a loop over the connections of the component, at ``nd_p``."""
        place = f"const long long nd_p = nd_a_{self.name}[nd_i] + nd_m * ND_LANES;"
        lines = block("for (int nd_m = 0; nd_m < nd_n; ++nd_m)", [place, *body])
        if self.s.gather.tail:
            head = (f"for (long long nd_p = nd_tail_{self.name}[nd_at], "
                    f"nd_q = nd_tail_{self.name}[nd_at + 1]; nd_p < nd_q; ++nd_p)")  # fmt: skip
            lines += block(head, body)
        return lines

    def _together(self) -> list[str]:
        """Return the wait for all threads that share a component to have read what one stores."""
        return ["__syncwarp();"] if self.component.spec.shared_by_warp else []

    def _one(self, value: str, numbers: list[str]) -> list[str]:
        """Return the lines that add the connection at ``nd_p`` and let it learn."""
        stored = [f"{at} = nd_state[{i}];" for i, at in enumerate(self.s.stored("nd_p"))]
        return [
            f"const real {self.s.access.variable} = {value};",
            *numbers,
            f"nd_acc = nd_acc + {self.s.each()};",
            *self.s.change("nd_p", "nd_at"),
            *block(f"if (nd_live[nd_i] && nd_learns_{self.name})", stored),
        ]
