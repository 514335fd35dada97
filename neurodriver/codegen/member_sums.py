"""Members that add their values to pools -> text, see `plan.member_sums`; on a CPU by ranges."""

from __future__ import annotations

from ..model.text import block
from ..plan.member_sums import ROWS, MemberSum
from .component import ComponentText


class MemberSumText:
    """Writes what the members of one pool do.

    Parameters
    ----------
    component : ComponentText
        Of the members.
    """

    def __init__(self, component: ComponentText, pool: MemberSum) -> None:
        self.component, self.pool = component, pool

    @property
    def groups(self) -> str:
        """Number of groups of the pool."""
        return f"(int){self.component.arguments.integer(self.pool.size('groups'))}"

    @property
    def members(self) -> str:
        """Number of members."""
        return f"(int){self.component.arguments.integer(self.pool.size('members'))}"

    @property
    def sums(self) -> str:
        """The integers of all rows."""
        return self.component.arguments.pointer(self.pool.sums, "long long")

    def row(self, step: str) -> str:
        """Return where the integers of a row begin."""
        return f"nd_sums_of({self.sums}, {step}, {self.groups})"

    def units(self, value: str) -> str:
        """Return a value in multiples."""
        return f"nd_in_multiples({value}, (real){1 / self.pool.multiple!r})"

    def group(self, member: str) -> str:
        """Return the group of a member, -1 for none."""
        if self.pool.together:
            return "0"
        of = self.component.arguments.pointer(self.pool.group_of_member, "const int")
        return f"{of}[{member}]"

    def range(self) -> list[str]:
        """Return what a thread does when it has computed its members in a step."""
        each = f"for (int nd_g = 0; nd_begin == 0 && nd_g < {self.groups}; ++nd_g)"
        clear = f"{each} {self.row('nd_k + 2')}[nd_g] = 0;"
        return block("", [clear, *self._add("nd_k + 1", "nd_begin", "nd_end")])

    def opened(self) -> list[str]:
        """Return what is done before the first step of a call."""
        whole = f"for (int nd_g = 0; nd_g < {ROWS} * {self.groups}; ++nd_g)"
        lines = [f"{whole} {self.sums}[nd_g] = 0;"]
        if not self.pool.ahead:
            lines += self._add("nd_k", "0", self.members)
        return block("", lines)

    def _add(self, step: str, begin: str, end: str) -> list[str]:
        values = self.component.row(self.pool.variable, step)
        head = [
            f"const real *nd_values = {values};",
            f"long long *nd_to = {self.row(step)}, nd_total = 0;",
            f"const long long nd_past = {end} < {self.members} ? {end} : {self.members};",
        ]
        loop = f"for (long long nd_i = {begin}; nd_i < nd_past; ++nd_i)"
        add = f"nd_total += {self.units('nd_values[nd_i]')};"
        if self.pool.together:
            return [*head, *block(loop, [add]), "nd_add_to_sum(nd_to, nd_total);"]
        return [
            *head,
            "int nd_g = -1;",
            *block(loop, [
                f"const int nd_mine = {self.group('nd_i')};",
                *block("if (nd_mine != nd_g)", [
                    "if (nd_g >= 0) nd_add_to_sum(nd_to + nd_g, nd_total);",
                    "nd_g = nd_mine, nd_total = 0;",
                ]),
                add,
            ]),
            "if (nd_g >= 0) nd_add_to_sum(nd_to + nd_g, nd_total);",
        ]  # fmt: skip
