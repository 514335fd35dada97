"""Threads that add the values of their components to pools -> CUDA text, see `plan.member_sums`."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.text import block
from ...plan.member_sums import ROWS
from ..component import ComponentText
from ..member_sums import MemberSumText
from .shared_texts import SharedText, cases_of
from .thread_events import each
from .thread_pace import ThreadPace


class ThreadPools:
    """Writes what the threads of the members of some pools do.

    Parameters
    ----------
    component : ComponentText
        Of the members.
    """

    def __init__(self, component: ComponentText, pace: ThreadPace) -> None:
        self.component, self.pace = component, pace
        self.pools = [MemberSumText(component, one) for one in component.spec.adds]

    def step(self, given: list[str]) -> list[str]:
        """Add the new values, and clear the sums of the row after them."""
        lines = []
        for one in self.pools:
            name = one.pool.variable
            clear = f"{_each_group(one, one.groups)} {one.row('nd_k + 2')}[nd_g] = 0;"
            value = self.pace.output(name, self.component.row(name))
            lines += [clear, self._add(one, "nd_k + 1", value)]
        return each([*given, *lines]) if lines else []

    def methods(self, own: list[str]) -> dict[str, list[str]]:
        """Return what is done before the first step of a call: clear (phase 0), then add."""
        lines: list[str] = []
        for one in self.pools:
            clear = f"{_each_group(one, f'{ROWS} * {one.groups}')} {one.sums}[nd_g] = 0;"
            value = f"({self.component.row(one.pool.variable)})[nd_at]"
            add = [] if one.pool.ahead else [self._add(one, "nd_k", value)]
            lines += [*block("if (nd_phase == 0)", [clear]), *block("if (nd_phase == 1)", add)]
        head = "open(long long nd_k, int nd_first, int nd_end, int nd_phase)"
        return {head: [*own, *each(lines)]} if lines else {}

    @staticmethod
    def _add(one: MemberSumText, step: str, value: str) -> str:
        units = f"nd_live[nd_i] ? {one.units(value)} : 0"
        return f"nd_add_members({one.row(step)}, {one.group('nd_at')}, {units});"


def _each_group(one: MemberSumText, count: str) -> str:
    """Return a loop over groups that all members share."""
    return f"for (int nd_g = nd_at; nd_live[nd_i] && nd_g < {count}; nd_g += {one.members})"


def opening_text(texts: Sequence[SharedText]) -> list[str]:
    """Return the function that opens the pools of an item's components."""
    adds = [text for text in texts if text.part.kernel.adds]
    if not adds:
        return ["#define ND_ADDS 0"]
    calls = [f"{cases_of(t)} nd_open_of<{t.space}::unit>(item, k, phase); break;" for t in adds]
    head = "ND_FN void nd_open_unit(const nd_item &item, long long k, int phase)"
    body = block(head, block("switch (item.what)", [*calls, "default: break;"]))
    return ["#define ND_ADDS 1", *body]
