"""The text of cells that read others by their position, as `plan.cells_by_thread` divides them.

A thread executes each statement for all of its cells, one after the other. The cells share each
loop. What does not differ between the cells is computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...model.language import tree, used
from ...model.language.names import assigned, declared
from ...model.text import block
from ...plan.cells_by_thread import SideBySide, nested
from ...plan.places import HERE
from ..component import ComponentText
from .thread_events import OWN

_LEAST = {"fmax": "-(real)ND_INF_D", "fmin": "(real)ND_INF_D"}
"""Neutral value of each function."""


class SideBySideText:
    """Writes the text of all cells of a thread together.

    Parameters
    ----------
    where : callable
        Returns where the thread keeps a state or an updated variable of cell ``nd_i``.
    """

    def __init__(
        self, component: ComponentText, side: SideBySide, where: Callable[[str], str]
    ) -> None:
        self.component, self.side, self.where = component, side, where
        self.translator = component.translator
        assert component.spec.place is not None
        self.own = component.spec.place.reached[HERE]
        self.kept = {*component.model.states, *component.flags()}
        self.types: dict[str, str] = {}  # of the text's own names that differ between the cells

    def cells(self) -> list[str]:
        """Return the lines that find out which cells are the thread's."""
        side = self.side
        return [
            f"enum {{ nd_cells = {side.cells}, nd_groups = (nd_cells + ND_OWN - 1) / ND_OWN }};",
            "const int nd_turn = nd_first + nd_lane();",
            "const int nd_mine = nd_turn < nd_end ? nd_turn : nd_end - 1;",
            f"const int nd_group = nd_mine / {side.stride}, nd_within = nd_mine % {side.stride};",
            f"const int nd_begin = nd_group / nd_groups * nd_cells * {side.stride} + nd_within;",
            "ND_UNROLL",
            *block(OWN, [
                "const int nd_j = nd_group % nd_groups * ND_OWN + nd_i;",
                "nd_live[nd_i] = nd_turn < nd_end && nd_j < nd_cells;",
                f"nd_c[nd_i] = nd_begin + (nd_j < nd_cells ? nd_j : nd_cells - 1) * {side.stride};",
            ]),
        ]  # fmt: skip

    def lines(self) -> list[str]:
        """Return the text of one step, for all cells."""
        c, name = self.component, f"nd_h_{self.side.axis}"
        start = [
            "const int nd_at = nd_c[0]; (void)nd_at;",
            *c.here("nd_at"),
            f"const int nd_h_first = {name};",
        ]
        old = c.old_terms()
        assert self.translator.places is not None
        self.translator.writer, self.translator.places.beside = self.statement, self.side.axis
        lines = self.translator.lines()
        self.translator.writer, self.translator.places.beside = None, ""
        return block("", [*start, *old, *lines])

    def statement(self, node: tree.Statement) -> list[str] | None:
        """Return the lines of a statement that has no loop; None for others."""
        if isinstance(node, tree.Body | tree.For | tree.While | tree.Each) or _has_loops(node):
            return None
        writer, self.translator.writer = self.translator.writer, None
        lines = self.translator.statement(node)
        self.translator.writer = writer
        target = node.name if isinstance(node, tree.Declaration) else ""
        varied = self.side.varied & (used(node) | assigned(node) | {target})
        if not varied and not self.side.differs(node):
            return lines
        before, after = [], []
        if target in self.side.varied:
            assert isinstance(node, tree.Declaration)
            self.types[target] = node.type
            before = [f"{node.type} nd_l_{target}[ND_OWN];"]
            after = [f"nd_l_{target}[nd_i] = {target};"]
        inner = declared(node)
        names = [n for n in sorted(varied - inner) if n != target]
        own = f"nd_h_{self.side.axis}"
        count = self.side.cells
        known = f"{count} % ND_OWN == 0 || nd_h_first + nd_i < {count}"
        here = [
            f"const int nd_o = {known} ? nd_i : {count - 1} - nd_h_first;",
            f"const int {own} = nd_h_first + nd_o; (void){own};",
        ]
        given = [*here, *(line for n in names for line in self._given(n))]
        return [*before, "ND_UNROLL", *block(OWN, [*given, *lines, *after])]

    def _given(self, name: str) -> list[str]:
        """Give a name what it stands for in cell ``nd_i``."""
        if name in self.kept:
            return [f"real &{name} = {self.where(name)};"]
        if name in self.types:
            return [f"{self.types[name]} &{name} = nd_l_{name}[nd_i];"]
        if name in self.component.numbers and name not in self.component.spec.uniform:
            return [f"const real {name} = nd_v_{name}[nd_i];"]
        return []


class SplitText:
    """Writes loops that a warp shares: each thread takes a part of the outermost one, in order."""

    def __init__(self, component: ComponentText) -> None:
        self.translator = component.translator
        assert self.translator.places is not None
        self.places = self.translator.places

    def lines(self) -> list[str]:
        """Return the text of one step of a cell."""
        self.translator.writer = self.statement
        lines = self.translator.lines()
        self.translator.writer = None
        return lines

    def statement(self, node: tree.Statement) -> list[str] | None:
        """Return the lines of a loop that is shared; None for other statements."""
        found = nested(node)
        if found is None:
            return None
        assert isinstance(found.value, tree.Call) and isinstance(found.target, tree.Name)
        name, taken = found.target.name, found.value.name
        writer, self.translator.writer = self.translator.writer, None
        lines = self._each(node) if isinstance(node, tree.Each) else self._for(node)
        self.translator.writer = writer
        begin = f"if (nd_lane()) {name} = {_LEAST[taken]};"
        across = [f"{name} = nd_{taken}({name}, nd_down({name}, nd_d));"]
        end = ["ND_UNROLL", *block("for (int nd_d = 1; nd_d < 32; nd_d *= 2)", across)]
        return [begin, *lines, *end, f"{name} = nd_from({name}, 0);"]

    def _for(self, node: tree.Statement) -> list[str]:
        assert isinstance(node, tree.For) and isinstance(node.condition, tree.Binary)
        (begin,) = node.begin
        assert isinstance(begin, tree.Declaration)
        name, count = begin.name, self.translator.expression(node.condition.right)
        body = self.places.inside(self.places.counted(node), node.body)
        head = f"for (int {name} = nd_share(0, nd_count); {name} < nd_share(1, nd_count); ++{name})"
        return block("", [f"const int nd_count = {count};", *block(head, body)])

    def _each(self, node: tree.Each) -> list[str]:
        loop, places = self.places.loop(node), self.places
        body = partial(places.inside, {node.name: loop}, node.body)
        return places.loop_lines(node, loop, body, shared=True)


def _has_loops(node: tree.Node) -> bool:
    return any(isinstance(one, tree.For | tree.While | tree.Each) for one in node.walk())
